// What scalar operations compute at the edges of their types.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "weldir/ir/scalar.h"

using namespace weld;

namespace {

template <class T>
std::uint64_t bits(T x) {
    return scalar::to_bits<T>(x);
}

template <class T>
T eval(Op op, Scalar s, T a, T b = T(0)) {
    std::uint64_t out = 0;
    REQUIRE(eval_scalar(op, s, bits(a), bits(b), &out));
    return scalar::from_bits<T>(out);
}
template <class T>
bool compare(Op op, Scalar s, T a, T b) {
    std::uint64_t out = 7;
    REQUIRE(eval_scalar(op, s, bits(a), bits(b), &out));
    REQUIRE(out <= 1);
    return out;
}
bool fails(Op op, Scalar s, std::uint64_t a, std::uint64_t b) {
    std::uint64_t out;
    return !eval_scalar(op, s, a, b, &out);
}
template <class To, class From>
To cast(Scalar from, Scalar to, From x) {
    return scalar::from_bits<To>(eval_cast(from, to, bits(x)));
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("integers wrap at their width") {
    CHECK(eval<std::int8_t>(Op::Add, Scalar::I8, 127, 1) == -128);
    CHECK(eval<std::int8_t>(Op::Mul, Scalar::I8, 100, 3) == 44);
    CHECK(eval<std::uint8_t>(Op::Sub, Scalar::U8, 0, 1) == 255);
    CHECK(eval<std::uint16_t>(Op::Mul, Scalar::U16, 65535, 65535) == 1);
    CHECK(eval<std::int32_t>(Op::Mul, Scalar::I32, 2147483647, 2147483647) == 1);
    CHECK(eval<std::int64_t>(Op::Add, Scalar::I64, INT64_MAX, 1) == INT64_MIN);
    CHECK(eval<std::int8_t>(Op::Neg, Scalar::I8, -128) == -128);
    CHECK(eval<std::uint32_t>(Op::Neg, Scalar::U32, 1) == 0xffffffffu);
}

TEST_CASE("division truncates; MIN / -1 is MIN; by zero fails") {
    CHECK(eval<std::int32_t>(Op::Div, Scalar::I32, -7, 2) == -3);
    CHECK(eval<std::int32_t>(Op::Rem, Scalar::I32, -7, 2) == -1);
    CHECK(eval<std::int32_t>(Op::Rem, Scalar::I32, 7, -2) == 1);
    CHECK(eval<std::int64_t>(Op::Div, Scalar::I64, INT64_MIN, -1) == INT64_MIN);
    CHECK(eval<std::int64_t>(Op::Rem, Scalar::I64, INT64_MIN, -1) == 0);
    CHECK(eval<std::int8_t>(Op::Div, Scalar::I8, -128, -1) == -128);
    CHECK(eval<std::uint64_t>(Op::Div, Scalar::U64, ~0ull, 10) == 1844674407370955161ull);
    CHECK(fails(Op::Div, Scalar::I32, 1, 0));
    CHECK(fails(Op::Rem, Scalar::U8, 1, 0));
    CHECK(eval<double>(Op::Div, Scalar::F64, 1.0, 0.0) == kInf);
    CHECK(eval<double>(Op::Rem, Scalar::F64, -5.5, 2.0) == -1.5);
}

TEST_CASE("shifts take the count modulo the width") {
    CHECK(eval<std::int32_t>(Op::Shl, Scalar::I32, 1, 33) == 2);
    CHECK(eval<std::int8_t>(Op::Shl, Scalar::I8, 1, 7) == -128);
    CHECK(eval<std::int8_t>(Op::Shl, Scalar::I8, 1, -1) == -128);
    CHECK(eval<std::int16_t>(Op::Shr, Scalar::I16, -32768, 15) == -1);
    CHECK(eval<std::uint16_t>(Op::Shr, Scalar::U16, 0x8000, 15) == 1);
    CHECK(eval<std::int64_t>(Op::Shr, Scalar::I64, -1, 64) == -1);
    CHECK(eval<std::uint8_t>(Op::BitNot, Scalar::U8, 0x0f) == 0xf0);
}

TEST_CASE("min and max of floats") {
    CHECK(eval<double>(Op::Min, Scalar::F64, kNaN, 3.0) == 3.0);
    CHECK(eval<double>(Op::Max, Scalar::F64, 3.0, kNaN) == 3.0);
    CHECK(std::isnan(eval<double>(Op::Max, Scalar::F64, kNaN, kNaN)));
    CHECK(std::signbit(eval<double>(Op::Min, Scalar::F64, 0.0, -0.0)));
    CHECK(std::signbit(eval<double>(Op::Min, Scalar::F64, -0.0, 0.0)));
    CHECK(!std::signbit(eval<double>(Op::Max, Scalar::F64, 0.0, -0.0)));
    CHECK(!std::signbit(eval<double>(Op::Max, Scalar::F64, -0.0, 0.0)));
    CHECK(eval<float>(Op::Max, Scalar::F32, 1.0f, 2.0f) == 2.0f);
    CHECK(eval<std::int8_t>(Op::Min, Scalar::I8, -1, 1) == -1);
    CHECK(eval<std::uint8_t>(Op::Min, Scalar::U8, 255, 1) == 1);
}

TEST_CASE("comparisons are those of IEEE 754") {
    CHECK(compare(Op::Ne, Scalar::F64, kNaN, kNaN));
    CHECK(!compare(Op::Eq, Scalar::F64, kNaN, kNaN));
    CHECK(!compare(Op::Le, Scalar::F64, kNaN, 1.0));
    CHECK(compare(Op::Eq, Scalar::F64, 0.0, -0.0));
    CHECK(compare(Op::Lt, Scalar::I8, std::int8_t(-1), std::int8_t(0)));
    CHECK(!compare(Op::Lt, Scalar::U8, std::uint8_t(255), std::uint8_t(0)));
    CHECK(compare(Op::Gt, Scalar::Bool, true, false));
}

TEST_CASE("arithmetic of f32 rounds to f32") {
    CHECK(eval<float>(Op::Add, Scalar::F32, 16777216.0f, 1.0f) == 16777216.0f);
    CHECK(eval<float>(Op::Sqrt, Scalar::F32, 2.0f) == std::sqrt(2.0f));
    CHECK(std::signbit(eval<double>(Op::Neg, Scalar::F64, 0.0)));
}

TEST_CASE("what the runtime decides is not folded") {
    CHECK(fails(Op::Exp, Scalar::F64, 0, 0));
    CHECK(fails(Op::Pow, Scalar::F64, 0, 0));
    CHECK(fails(Op::BitAnd, Scalar::F64, 0, 0));
    CHECK(fails(Op::Add, Scalar::Bool, 0, 0));
}

TEST_CASE("casts keep low bits, saturate and test for zero") {
    CHECK(cast<std::int8_t>(Scalar::I32, Scalar::I8, std::int32_t(511)) == -1);
    CHECK(cast<std::int64_t>(Scalar::I8, Scalar::I64, std::int8_t(-1)) == -1);
    CHECK(cast<std::uint64_t>(Scalar::I8, Scalar::U64, std::int8_t(-1)) == ~0ull);
    CHECK(cast<std::int64_t>(Scalar::U32, Scalar::I64, 0xffffffffu) == 4294967295);
    CHECK(cast<std::int32_t>(Scalar::F64, Scalar::I32, 1e10) == INT32_MAX);
    CHECK(cast<std::int32_t>(Scalar::F64, Scalar::I32, -1e10) == INT32_MIN);
    CHECK(cast<std::int32_t>(Scalar::F64, Scalar::I32, -1.9) == -1);
    CHECK(cast<std::int32_t>(Scalar::F32, Scalar::I32, 2147483648.0f) == INT32_MAX);
    CHECK(cast<std::int64_t>(Scalar::F64, Scalar::I64, 9223372036854775808.0) == INT64_MAX);
    CHECK(cast<std::uint8_t>(Scalar::F64, Scalar::U8, -0.5) == 0);
    CHECK(cast<std::uint8_t>(Scalar::F64, Scalar::U8, 255.9) == 255);
    CHECK(cast<std::uint8_t>(Scalar::F64, Scalar::U8, -5.0) == 0);
    CHECK(cast<std::uint64_t>(Scalar::F64, Scalar::U64, 18446744073709549568.0) == 18446744073709549568ull);
    CHECK(cast<std::int32_t>(Scalar::F64, Scalar::I32, kNaN) == 0);
    CHECK(cast<std::int32_t>(Scalar::F64, Scalar::I32, -kInf) == INT32_MIN);
    CHECK(cast<bool>(Scalar::F64, Scalar::Bool, kNaN));
    CHECK(!cast<bool>(Scalar::F64, Scalar::Bool, -0.0));
    CHECK(cast<bool>(Scalar::I64, Scalar::Bool, std::int64_t(1) << 40));
    CHECK(cast<float>(Scalar::F64, Scalar::F32, 0.1) == 0.1f);
    CHECK(cast<float>(Scalar::U64, Scalar::F32, 16777217ull) == 16777216.0f);
    CHECK(cast<double>(Scalar::Bool, Scalar::F64, true) == 1.0);
}

TEST_CASE("identities of builders are finite and of the type's own width") {
    CHECK(std::int8_t(identity_bits(MergeOp::Max, Scalar::I8)) == -128);
    CHECK(std::int32_t(identity_bits(MergeOp::Min, Scalar::I32)) == INT32_MAX);
    CHECK(identity_bits(MergeOp::Max, Scalar::U64) == 0);
    CHECK(scalar::from_bits<double>(identity_bits(MergeOp::Min, Scalar::F64)) == 1.7976931348623157e308);
    CHECK(scalar::from_bits<float>(identity_bits(MergeOp::Mul, Scalar::F32)) == 1.0f);
}
