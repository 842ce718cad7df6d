// Literals as arguments: what they become, and what is wrong with them.
#include "frontend/cli/read_value.h"

#include <ctime>

#include <doctest/doctest.h>

#include "runtime/csv/cell.h"
#include "tests/unit/cli_values.h"

using namespace weld;
using namespace weld::cli_test;

/// `text` read as `type` and printed as JSON, or what was wrong.
static std::string echo(std::string_view text, const WeldType* type) {
    Arena memory;
    std::vector<std::byte> to(std::size_t(type->size) + 1);
    const std::string error = read_literal(text, type, memory, to.data());
    return error.empty() ? printed(type, to.data(), {.json = true}) : error;
}

TEST_CASE("a number without a suffix takes the type that is asked for") {
    Kinds k;
    CHECK(echo("5", k(Scalar::I8)) == "5");
    CHECK(echo("5", k(Scalar::F64)) == "5.0");
    CHECK(echo("-5", k(Scalar::I64)) == "-5");
    CHECK(echo(" -128 ", k(Scalar::I8)) == "-128");
    CHECK(echo("18446744073709551615", k(Scalar::U64)) == "18446744073709551615");
    CHECK(echo("-9223372036854775808", k(Scalar::I64)) == "-9223372036854775808");
    CHECK(echo("007", k(Scalar::I32)) == "7");
    CHECK(echo("0x1c", k(Scalar::I8)) == "28");
    CHECK(echo("0b101", k(Scalar::U16)) == "5");
    CHECK(echo("1e-3", k(Scalar::F64)) == "0.001");
    CHECK(echo("1e+3", k(Scalar::F32)) == "1000.0");
    CHECK(echo("0.1", k(Scalar::F32)) == "0.1");
    CHECK(echo("-0.0", k(Scalar::F64)) == "-0.0");
    CHECK(echo("1e-400", k(Scalar::F64)) == "0.0");
    CHECK(echo("true", k(Scalar::Bool)) == "true");
    CHECK(echo("false", k(Scalar::Bool)) == "false");
}

TEST_CASE("numbers that are none, or do not fit") {
    Kinds k;
    CHECK(echo("300", k(Scalar::I8)) == "`300` does not fit `i8`");
    CHECK(echo("-1", k(Scalar::U32)) == "`-1` does not fit `u32`");
    CHECK(echo("-0", k(Scalar::U32)) == "0");
    CHECK(echo("18446744073709551616", k(Scalar::U64)) == "`18446744073709551616` does not fit `u64`");
    CHECK(echo("1e400", k(Scalar::F64)) == "`1e400` does not fit `f64`");
    CHECK(echo("1e39", k(Scalar::F32)) == "`1e39` does not fit `f32`");
    CHECK(echo("1.5", k(Scalar::I32)) == "`1.5` is not an integer; the type is `i32`");
    CHECK(echo("true", k(Scalar::I32)) == "expected a number of type `i32`, found `true`");
    CHECK(echo("1", k(Scalar::Bool)) == "expected `true` or `false`, found `1`");
    CHECK(echo("abc", k(Scalar::I32)) == "expected a number of type `i32`, found `abc`");
    CHECK(echo("", k(Scalar::I32)) == "expected a number of type `i32`, found the end");
    CHECK(echo("-", k(Scalar::I32)) == "expected a number of type `i32`, found `-`");
    CHECK(echo("1 2", k(Scalar::I32)) == "expected the end, found `2` at character 3");
    CHECK(echo("1.", k(Scalar::F64)) == "expected a digit, found the end");
    CHECK(echo("0x", k(Scalar::I32)) == "expected a digit, found the end");
    CHECK(echo("1q", k(Scalar::I32)).starts_with("expected a suffix"));
    CHECK(echo("\xff\x01", k(Scalar::I32)) == "expected a number of type `i32`, found `??`");
}

TEST_CASE("a number with a suffix must fit both types") {
    Kinds k;
    CHECK(echo("7si", k(Scalar::I64)) == "7");
    CHECK(echo("4000000000L", k(Scalar::U32)) == "4000000000");
    CHECK(echo("0x1ci8", k(Scalar::I32)) == "28");
    CHECK(echo("7u8", k(Scalar::F32)) == "7.0");
    CHECK(echo("2.5f", k(Scalar::F64)) == "2.5");
    CHECK(echo("0.1f", k(Scalar::F64)) == "0.10000000149011612");
    CHECK(echo("300c", k(Scalar::I64)) == "`300c` does not fit `i8`");
    CHECK(echo("300L", k(Scalar::U8)) == "`300L` does not fit `u8`");
    CHECK(echo("1f", k(Scalar::I64)) == "`1f` does not fit `i64`");
    CHECK(echo("1.5i8", k(Scalar::F64)) == "`1.5i8` does not fit `i8`");
}

TEST_CASE("floats that are no numbers") {
    Kinds k;
    CHECK(echo("NaN", k(Scalar::F64)) == "NaN");
    CHECK(echo("Infinity", k(Scalar::F32)) == "Infinity");
    CHECK(echo("-Infinity", k(Scalar::F64)) == "-Infinity");
    CHECK(echo("NaN", k(Scalar::I32)) == "expected a number of type `i32`, found `NaN`");
    CHECK(echo("NaNs", k(Scalar::F64)) == "expected a number of type `f64`, found `NaNs`");
}

TEST_CASE("vectors, structs, strings") {
    Kinds k;
    const Type *i64 = k.scalar(Scalar::I64), *f64 = k.scalar(Scalar::F64), *i8 = k.scalar(Scalar::I8);
    CHECK(echo("[1,2,3]", k.of(k.vec(i64))) == "[1, 2, 3]");
    CHECK(echo(" [ 1 , 2 , ] ", k.of(k.vec(i64))) == "[1, 2]");
    CHECK(echo("[]", k.of(k.vec(f64))) == "[]");
    CHECK(echo("[[1,2],[],[3]]", k.of(k.vec(k.vec(f64)))) == "[[1.0, 2.0], [], [3.0]]");
    CHECK(echo("{1, 2.5}", k.of(k.structure({i8, f64}))) == "[1, 2.5]");
    CHECK(echo("{}", k.of(k.structure({}))) == "[]");
    CHECK(echo("[{1, {2, 3}}, {4, {5, 6}},]", k.of(k.vec(k.structure({i8, k.structure({i64, f64})})))) ==
          "[[1, [2, 3.0]], [4, [5, 6.0]]]");
    CHECK(echo("[{}, {}]", k.of(k.vec(k.structure({})))) == "[[], []]");
    CHECK(echo(R"("a\n\x41\"\\\0")", k.of(k.vec(i8))) == "[97, 10, 65, 34, 92, 0]");
    CHECK(echo("\"\"", k.of(k.vec(i8))) == "[]");
    CHECK(echo("[\"ab\", \"\"]", k.of(k.vec(k.vec(i8)))) == "[[97, 98], []]");
    CHECK(echo("[1, 2] # a comment", k.of(k.vec(i8))) == "[1, 2]");

    CHECK(echo("1", k.of(k.vec(i64))) == "expected `[`: a value of type `vec[i64]`, found `1`");
    CHECK(echo("{1, 2}", k.of(k.vec(i64))) == "expected `[`: a value of type `vec[i64]`, found `{1, 2}`");
    CHECK(echo("[1, true]", k.of(k.vec(i64))) ==
          "expected a number of type `i64`, found `true]` at character 5");
    CHECK(echo("[1, 2", k.of(k.vec(i64))) == "expected `,` or `]`, found the end");
    CHECK(echo("{1}", k.of(k.structure({i8, i8}))) ==
          "expected `,`: `{i8,i8}` has 2 fields, found `}` at character 3");
    CHECK(echo("{1, 2, 3}", k.of(k.structure({i8, i8}))) ==
          "expected `}`: `{i8,i8}` has 2 fields, found `3}` at character 8");
    CHECK(echo("\"ab", k.of(k.vec(i8))) == "expected `\"` at the end of the string, found the end");
    CHECK(echo("\"\\q\"", k.of(k.vec(i8))).starts_with("expected `n t r 0"));
    CHECK(echo("\"ab\"", k.of(k.vec(k.scalar(Scalar::U8)))).starts_with("expected `[`"));
}

TEST_CASE("types that have no literals") {
    Kinds k;
    const Type* i64 = k.scalar(Scalar::I64);
    CHECK(no_literals_of(k.of(k.vec(k.structure({i64})))) == "");
    CHECK(no_literals_of(k.of(k.structure({i64, k.types.dict(i64, i64)}))) ==
          "values of type `dict[i64,i64]` cannot be written as arguments");
    CHECK(no_literals_of(k.of(k.types.simd(Scalar::F32, 8))) != "");
    CHECK(no_literals_of(k.of(k.types.builder(BuilderKind::Appender, {&i64, 1}))) != "");
}

TEST_CASE("elements are read in time proportional to their number") {
    Kinds k;
    const WeldType* type = k.of(k.vec(k.scalar(Scalar::F64)));
    const auto time_of = [&](int n) {
        std::string text = "[";
        for (int i = 0; i < n; ++i) text += std::to_string(i) + ".25, ";
        text += "]";
        Arena memory;
        WeldVec vec{};
        const std::clock_t start = std::clock();
        CHECK(read_literal(text, type, memory, &vec) == "");
        const double time = double(std::clock() - start);
        REQUIRE(vec.len == n);
        CHECK(static_cast<double*>(vec.data)[n - 1] == n - 1 + 0.25);
        return time;
    };
    time_of(50'000);
    CHECK(time_of(1'000'000) < 100 * (time_of(50'000) + 1));
}

TEST_CASE("deep literals need a deep type") {
    Kinds k;
    const Type* type = k.scalar(Scalar::I64);
    CHECK(echo(std::string(100'000, '['), k.of(k.vec(type))).starts_with("expected a number"));
    for (int i = 0; i < 1000; ++i) type = k.vec(type);
    CHECK(echo(std::string(1000, '[') + std::string(1000, ']'), k.of(type)) ==
          std::string(1000, '[') + std::string(1000, ']'));
}

TEST_CASE("cells of tables") {
    const auto cell = [](std::string_view text, WeldKind kind) {
        Kinds k;
        std::uint64_t to = 0;
        return runtime::read_cell(text, kind, &to) ? printed(k(Scalar(kind)), &to) : "no value";
    };
    CHECK(cell(" 5\r", kWeldI32) == "5");
    CHECK(cell("+5", kWeldI32) == "5");
    CHECK(cell("-5", kWeldI8) == "-5");
    CHECK(cell("1e3", kWeldF64) == "1000.0");
    CHECK(cell(".5", kWeldF64) == "0.5");
    CHECK(cell("", kWeldF64) == "NaN");
    CHECK(cell("nan", kWeldF32) == "NaN");
    CHECK(cell("-INF", kWeldF64) == "-Infinity");
    CHECK(cell("True", kWeldBool) == "true");
    CHECK(cell("0", kWeldBool) == "false");
    CHECK(cell("", kWeldI32) == "no value");
    CHECK(cell("5.0", kWeldI32) == "no value");
    CHECK(cell("--5", kWeldF64) == "no value");
    CHECK(cell("+", kWeldF64) == "no value");
    CHECK(cell("yes", kWeldBool) == "no value");
    CHECK(cell("1e400", kWeldF64) == "no value");
    CHECK(cell("1e-400", kWeldF64) == "0.0");
    CHECK(cell("128", kWeldI8) == "no value");
    CHECK(cell("-0", kWeldU8) == "0");
    CHECK(cell("-1", kWeldU8) == "no value");
    CHECK(cell("+-1", kWeldI64) == "no value");
}
