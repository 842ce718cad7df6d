// Printing of nodes that are built by hand. Reading back is tested by weld-test on every program it sees.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weldir/ir/build.h"
#include "weldir/ir/print.h"

using namespace weld;

namespace {
struct Fixture {
    Module m;
    const Type* i32 = m.types.scalar(Scalar::I32);
    const Type* i64 = m.types.i64();
    const Type* f64 = m.types.scalar(Scalar::F64);
    const Type* f32 = m.types.scalar(Scalar::F32);
    const Expr* num(std::int64_t n) { return int_literal(m, i32, n); }
    const Expr* longer(std::int64_t n) { return int_literal(m, i64, n); }
    const Expr* real(double x) { return float_literal(m, f64, x); }
    const Expr* op(Op o, const Expr* a, const Expr* b) { return scalar_op(m, o, {a, b}); }
    const Expr* neg(const Expr* a) { return scalar_op(m, Op::Neg, {a}); }
    std::string text(std::string_view bytes) {
        std::vector<const Expr*> elems;
        for (char c : bytes) elems.push_back(int_literal(m, m.types.scalar(Scalar::I8), c));
        return print(make_vec(m, m.types.scalar(Scalar::I8), elems));
    }
    /// sum of squares of `xs`
    const Expr* sum_of(const Expr* data, const Type* elem) {
        const Type* b = m.types.builder(BuilderKind::Merger, std::span(&elem, 1));
        const Symbol *bs = m.symbol("b", b), *i = m.symbol("i", i64), *x = m.symbol("x", elem);
        const Expr* body = merge(m, var(m, bs), op(Op::Mul, var(m, x), var(m, x)));
        return result(m, loop(m, std::span(&data, 1), new_builder(m, b), lambda(m, {bs, i, x}, body)));
    }
};
}  // namespace

TEST_CASE_FIXTURE(Fixture, "literals print with the suffix of their type") {
    CHECK(print_literal(Scalar::Bool, 1) == "true");
    CHECK(print_literal(Scalar::I8, 0x80) == "-128c");
    CHECK(print_literal(Scalar::I16, 0x8000) == "-32768si");
    CHECK(print_literal(Scalar::I32, 0x80000000) == "-2147483648");
    CHECK(print_literal(Scalar::I64, 0x8000000000000000) == "-9223372036854775808L");
    CHECK(print_literal(Scalar::U8, 255) == "255u8");
    CHECK(print_literal(Scalar::U64, ~std::uint64_t(0)) == "18446744073709551615u64");
    CHECK(print(real(1)) == "1.0");
    CHECK(print(real(-0.0)) == "-0.0");
    CHECK(print(real(1e300)) == "1e+300");
    CHECK(print(real(0.1)) == "0.1");
    CHECK(print(float_literal(m, f32, 0.1f)) == "0.1f");
    CHECK(print(float_literal(m, f32, 3)) == "3.0f");
    CHECK(print(real(std::numeric_limits<double>::infinity())) == "bits[f64](0x7ff0000000000000L)");
    CHECK(print(real(-std::numeric_limits<double>::infinity())) == "bits[f64](0xfff0000000000000u64)");
    CHECK(print_literal(Scalar::F32, 0x7fc00000) == "bits[f32](0x7fc00000)");
    CHECK(print_literal(Scalar::F32, 0xff800000) == "bits[f32](0xff800000u32)");
}

TEST_CASE_FIXTURE(Fixture, "parentheses are printed only where needed") {
    const Expr *a = num(1), *b = num(2), *c = num(3);
    CHECK(print(op(Op::Mul, op(Op::Add, a, b), c)) == "(1 + 2) * 3");
    CHECK(print(op(Op::Add, op(Op::Mul, a, b), c)) == "1 * 2 + 3");
    CHECK(print(op(Op::Sub, op(Op::Sub, a, b), c)) == "1 - 2 - 3");
    CHECK(print(op(Op::Sub, a, op(Op::Sub, b, c))) == "1 - (2 - 3)");
    CHECK(print(op(Op::Eq, op(Op::Lt, a, b), op(Op::Lt, b, c))) == "1 < 2 == 2 < 3");
    CHECK(print(op(Op::Eq, op(Op::Eq, a, b), op(Op::Eq, b, c))) == "(1 == 2) == (2 == 3)");
    CHECK(print(op(Op::Shl, a, op(Op::BitAnd, b, c))) == "1 << (2 & 3)");
    CHECK(print(neg(a)) == "-(1)");
    CHECK(print(neg(neg(op(Op::Add, a, b)))) == "-(-(1 + 2))");
    CHECK(print(op(Op::Sub, a, num(-2))) == "1 - -2");
    CHECK(print(op(Op::Max, op(Op::Add, a, b), c)) == "max(1 + 2, 3)");
    const Expr* pair = make_struct(m, {a, b});
    CHECK(print(neg(get_field(m, pair, 1))) == "-{1, 2}.$1");
    CHECK(print(op(Op::Eq, make_vec(m, i32, {}), make_vec(m, i32, {}))) == "[]: vec[i32] == []: vec[i32]");
}

TEST_CASE_FIXTURE(Fixture, "vectors of i8 print as strings if they read well") {
    CHECK(text("abc") == "\"abc\"");
    CHECK(text("") == "\"\"");
    CHECK(text("a\"b\\\n\t\r") == "\"a\\\"b\\\\\\n\\t\\r\"");
    CHECK(text(std::string_view("a\0b", 3)) == "\"a\\0b\"");
    CHECK(text("h\xc3\xa9") == "\"h\xc3\xa9\"");
    CHECK(text("\xc3") == "[-61c]");
    CHECK(text("\x01") == "[1c]");
}

TEST_CASE_FIXTURE(Fixture, "names are made unique, and words of the language avoided") {
    const Symbol *x = m.symbol("x", i32), *y = m.symbol("x", i32), *z = m.symbol("x2", i32),
                 *w = m.symbol("for", i32), *v = m.symbol("a.b", i32);
    const std::pair<const Symbol*, const Expr*> lets[] = {
        {x, num(1)}, {y, var(m, x)}, {z, var(m, y)}, {w, var(m, z)}, {v, var(m, w)}};
    const Expr* e = block(m, lets, op(Op::Add, var(m, v), var(m, x)));
    CHECK(print(e) == "let x = 1;\nlet x2 = x;\nlet x3 = x2;\nlet for2 = x3;\nlet a_b = for2;\na_b + x");
    CHECK(print(make_struct(m, {e})) ==
          "{(let x = 1; let x2 = x; let x3 = x2; let for2 = x3; let a_b = for2; a_b + x)}");
}

TEST_CASE_FIXTURE(Fixture, "loops, iterators and builders") {
    const Symbol* xs = m.symbol("xs", m.types.vec(f64));
    CHECK(print(lambda(m, {xs}, sum_of(var(m, xs), f64))) ==
          "|xs: vec[f64]| "
          "result(for(xs, merger[f64,+], |b: merger[f64,+], i: i64, x: f64| merge(b, x * x)))");
    const Expr* bounds[] = {longer(0), longer(8), longer(2)};
    const Expr* simd = iter(m, IterKind::Simd, var(m, xs), {}, 8);
    CHECK(print(simd) == "simditer[8](xs)");
    CHECK(print(iter(m, IterKind::Fringe, var(m, xs), bounds, 8)) == "fringeiter[8](xs, 0L, 8L, 2L)");
    CHECK(print(iter(m, IterKind::Scalar, var(m, xs), bounds)) == "iter(xs, 0L, 8L, 2L)");
    CHECK(print(range_iter(m, IterKind::Simd, bounds[0], bounds[1], bounds[2], 4)) ==
          "simditer[4](rangeiter(0L, 8L, 2L))");
    CHECK(print(broadcast(m, real(2), 8)) == "broadcast[8](2.0)");
    const Type* kv[] = {i32, f64};
    CHECK(print(new_builder(m, m.types.builder(BuilderKind::DictMerger, kv, MergeOp::Min))) ==
          "dictmerger[i32,f64,min]");
    CHECK(print(new_builder(m, m.types.builder(BuilderKind::Appender, std::span(&f64, 1)), longer(3))) ==
          "appender[f64](3L)");
    CHECK(print(kernel(m, {"f", true}, f64, std::span(bounds))) == "@(pure:true) cudf[f,f64](0L, 8L, 2L)");
    const Expr* field = get_field(m, make_struct(m, {num(1)}), 0);
    CHECK(print(annotate(m, field, AttrKey::Size, "1")) == "@(size:1) ({1}.$0)");
    CHECK(print(op(Op::Add, annotate(m, field, AttrKey::Size, "1"), num(2))) == "(@(size:1) ({1}.$0)) + 2");
    CHECK(print(annotate(m, sum_of(var(m, xs), f64), AttrKey::Fuse, "false")).substr(0, 21) ==
          "@(fuse:false) result(");
}

TEST_CASE_FIXTURE(Fixture, "long things are broken at 100 columns and indented") {
    const Expr* sum = real(0.125);
    for (int i = 0; i < 20; ++i) sum = op(Op::Add, sum, real(0.125));
    const std::string s = print(sum);
    for (std::size_t at = 0, end; at < s.size(); at = end + 1) {
        end = std::min(s.find('\n', at), s.size());
        CHECK(end - at <= 100);
    }
    std::vector<const Expr*> many(100, longer(1000000));
    const std::string v = print(make_vec(m, i64, many));
    CHECK(v.substr(0, 20) == "[1000000L, 1000000L,");
    CHECK(std::count(v.begin(), v.end(), '\n') == 9);
}

TEST_CASE_FIXTURE(Fixture, "module functions print before the main program") {
    const Type* type = m.types.function(std::span(&i32, 1), i32);
    Function* f = m.function("twice", type);
    const Symbol* x = m.symbol("x", i32);
    f->lambda = lambda(m, {x}, op(Op::Mul, var(m, x), num(2)));
    const Symbol* y = m.symbol("twice", i32);
    const Expr* arg = var(m, y);
    m.main = lambda(m, {y}, call(m, f, std::span(&arg, 1)));
    CHECK(print(m) == "def twice(x: i32): i32 = x * 2;\n|twice2: i32| twice(twice2)\n");
}

TEST_CASE_FIXTURE(Fixture, "long and deep programs print in linear time") {
    std::vector<std::pair<const Symbol*, const Expr*>> lets;
    const Expr* last = num(1);
    for (int i = 0; i < 50000; ++i) {
        const Symbol* s = m.symbol("x", i32);
        lets.emplace_back(s, op(Op::Add, last, num(i)));
        last = var(m, s);
    }
    CHECK(print(block(m, lets, last)).size() > 1000000);
    const Expr *left = num(1), *right = num(1), *both = num(1);
    for (int i = 0; i < 100000; ++i) {
        left = op(Op::Add, left, num(1));
        right = op(Op::Add, num(1), right);
        both = make_struct(m, {both});
        if (i > 2000) both = num(1);
    }
    CHECK(print(left).size() > 300000);
    CHECK(print(right).size() > 300000);
}
