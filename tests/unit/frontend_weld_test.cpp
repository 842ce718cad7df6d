// Programs: what they mean, and that everything that prints can be read.
#include <doctest/doctest.h>

#include <functional>

#include "frontend_reading.h"
#include "weldir/support/deep_stack.h"

using namespace weld;
using weld::test::Reading;
using weld::test::survives;
using weld::test::type_of;

TEST_CASE("types of expressions") {
    CHECK(type_of("1 + 2") == "i32");
    CHECK(type_of("{1, {2L, [true]}}") == "{i32,{i64,vec[bool]}}");
    CHECK(type_of("\"abc\"") == "vec[i8]");
    CHECK(type_of("[]: vec[f64]") == "vec[f64]");
    CHECK(type_of("let x: vec[u8] = []; x") == "vec[u8]");
    CHECK(type_of("1.0f < 2.0f") == "bool");
    CHECK(type_of("optlookup(result(dictmerger[i64,f64,+]), 1L)") == "{bool,f64}");
    CHECK(type_of("result(groupmerger[i64,f64])") == "dict[i64,vec[f64]]");
    CHECK(type_of("tovec(result(dictmerger[i8,{i32,f32},max]))") == "vec[{i8,{i32,f32}}]");
    CHECK(type_of("serialize(1)") == "vec[u8]");
    CHECK(type_of("deserialize[dict[i8,vec[u16]]](serialize(1))") == "dict[i8,vec[u16]]");
    CHECK(type_of("if(true, {1, []}, {2, [3]})") == "{i32,vec[i32]}");
    CHECK(type_of("iterate({1, 2.0}, |s| {{s.$0 + 1, s.$1}, false})") == "{i32,f64}");
    CHECK(type_of("sort([3, 1], |x| -x)") == "vec[i32]");
    CHECK(type_of("cudf[f,{i8,f64}](1)") == "{i8,f64}");
    CHECK(type_of("1 << 2 ^ ~3 & 7") == "i32");
    CHECK(type_of("{}") == "{}");
}

TEST_CASE("inference goes backwards too") {
    CHECK(type_of("|v: vec[i32]| result(for(v, appender, |b, i, x| merge(b, {i, [x]})))") ==
          "vec[{i64,vec[i32]}]");
    CHECK(type_of("|v: vec[i64]| result(for(v, merger[?,+], |b, i, x| merge(b, x)))") == "i64");
    CHECK(type_of("let b = appender; let c = merge(b, 2.5); result(c)") == "vec[f64]");
    CHECK(type_of("let e = []; let f = lookup(e, 0L); if(true, f, 1c)") == "i8");
    CHECK(type_of("let d = deserialize[?](serialize(1)); d + 1") == "i32");
    CHECK(type_of("|x| x + 1") == "i32");  // a parameter that is used as one thing
    CHECK(type_of("let e = []; let y = lookup(e, 0L).$1; if(true, e, [{1, 2.0}])") == "vec[{i32,f64}]");
    CHECK(type_of("result(groupmerger)") != "");
}

TEST_CASE("precedence") {
    auto same = [](const char* a, const char* b) { CHECK(Reading(a).printed() == Reading(b).printed()); };
    same("1 + 2 * 3", "1 + (2 * 3)");
    same("1 - 2 - 3", "(1 - 2) - 3");
    same("true || false && true", "true || (false && true)");
    same("1 << 2 + 3", "1 << (2 + 3)");
    same("1 < 2 << 3", "1 < (2 << 3)");
    same("3 > 2 != 2 > 1", "(3 > 2) != (2 > 1)");
    same("|x: {i32}| -x.$0", "|x: {i32}| -(x.$0)");
    same("|x: i32| -x: i32 + x", "|x: i32| ((-x): i32) + x");
    same("|x: bool| !x == x", "|x: bool| (!x) == x");
    same("(|x: i32| x)(1)", "let x = 1; x");
}

TEST_CASE("literals keep their bits") {
    const Reading r("{-2147483648, -0.0, 0x1c, bits[f64](0x7ff8000000000001), bits[i8](255), true}");
    REQUIRE(r.good);
    const auto fields = r.body()->as<MakeStruct>().fields();
    CHECK(fields[0]->as<Literal>().as_int() == INT32_MIN);
    CHECK(fields[1]->as<Literal>().bits() == 0x8000000000000000);
    CHECK(fields[2]->as<Literal>().as_int() == 28);
    CHECK(fields[3]->as<Literal>().bits() == 0x7ff8000000000001);
    CHECK(fields[4]->as<Literal>().as_int() == -1);
    CHECK(fields[5]->as<Literal>().as_int() == 1);
    ReadOptions old;
    old.nul_terminated_strings = true;
    CHECK(Reading("\"ab\"").body()->num_args == 2);
    CHECK(Reading("\"ab\"", old).body()->num_args == 3);
}

TEST_CASE("macros are hygienic") {
    CHECK(Reading("macro add(a, b) = (let t = a + 1; t + b); let t = 10; add(1, t)").printed() ==
          Reading("let t = 10; let t2 = 1 + 1; t2 + t").printed());
    // Each use of an argument is a copy, with symbols of its own.
    CHECK(survives("macro two(a) = {a, a}; two(let x = 1; x)") == "");
    // A function given to a macro sees what it saw where it was written.
    CHECK(survives("macro m(f, k) = f(|z| k + z); m(|h| m(|g| h(1) + g(2), 10), 20)") == "");
    CHECK(Reading("macro m(f, k) = f(|z| k + z); m(|h| m(|g| h(1) + g(2), 10), 20)").printed().find("20") !=
          std::string::npos);
    CHECK(type_of("macro adder(n) = |x| x + n; map([1], adder(2))") == "vec[i32]");
    CHECK(type_of("macro pairs(a, b) = zip(a, b); map(pairs([1], [2L]), |p| p.$1)") == "vec[i64]");
    // A value may have the name of a macro; what is called is the macro, unless a function is bound there.
    CHECK(type_of("let sum = sum([1]); sum + sum([2])") == "i32");
    CHECK(type_of("let sum = |v| 2.0; sum([2])") == "f64");
}

TEST_CASE("functions are inlined") {
    CHECK(type_of("let f = |x| x; {f(1), f(2.0)}") == "{i32,f64}");  // each call by itself
    CHECK(type_of("let f = |g, x| g(g(x)); f(|y| y + 1, 5)") == "i32");
    CHECK(type_of("let f = |x| x + 1; let g = f; map([1], g)") == "vec[i32]");
    CHECK(type_of("let c = |x, y| x - y; sort([2, 1], c)") == "vec[i32]");
    CHECK(type_of("let k = 1; let f = |x| x + k; let k = 2.0; f(3)") == "i32");  // sees the first `k`
    CHECK(Reading("let f = |x| x; 5").printed() == Reading("5").printed());
}

TEST_CASE("definitions") {
    CHECK(type_of("def f(x: i32): i64 = if(x > 0, f(x - 1), 0L); f(3)") == "i64");
    CHECK(type_of("def f(x: i32): i32 = g(x); def g(x: i32): i32 = f(x); map([1], f)") == "vec[i32]");
    CHECK(survives("def f(b: appender[i32], x: i32): appender[i32] = merge(b, x); "
                   "|v: vec[i32]| result(for(v, appender[i32], |b, i, x| f(b, x)))") == "");
    CHECK(type_of("let def = 1; def") == "i32");  // no reserved word
    const Reading r("def f(x: i32): i32 = x; f(1)");
    REQUIRE(r.good);
    CHECK(r.module->functions.size() == 1);
    CHECK(r.module->functions[0]->lambda != nullptr);
    CHECK(r.body()->as<Call>().function().name == "f");
}

TEST_CASE("aliases") {
    CHECK(type_of("type num = i64; type pair = {num, num}; |p: vec[pair]| p") == "vec[{i64,i64}]");
    CHECK(type_of("type a = i32; type b = a; type a = f64; |x: b, y: a| {x, y}") == "{i32,f64}");
    CHECK(type_of("type num = i64; num(5)") == "i64");
    CHECK(type_of("type int = i32; macro f(a) = cudf[g,int](a); f(1L)") == "i32");
}

TEST_CASE("lanes") {
    CHECK(type_of("broadcast(5)") == "simd[i32,16]");
    CHECK(type_of("broadcast[4](5)") == "simd[i32,4]");
    CHECK(type_of("f64(broadcast(5))") == "simd[f64,8]");  // all that must agree fit a register
    CHECK(type_of("|x: simd[f32]| x > broadcast(1.0f)") == "simd[bool,16]");
    CHECK(type_of("|x: simd[f32,4]| select(x > broadcast(1.0f), x, broadcast(0.0f))") == "simd[f32,4]");
    // Zipped iterators have the lanes of the widest element.
    CHECK(survives("|a: vec[i8], b: vec[i64]| result(for(zip(simditer(a), simditer(b)), merger[i64,+], "
                   "|m, i, p| merge(m, p.$1 + i64(p.$0))))") == "");
    const Reading fringe(
        "|a: vec[i8], b: vec[i64]| result(for(zip(fringeiter(a), fringeiter(b)), merger[i64,+], "
        "|m, i, p| merge(m, p.$1)))");
    REQUIRE(fringe.good);
    const Expr* loop = fringe.body()->as<Result>().builder();
    for (const Expr* d : loop->as<For>().data()) CHECK(d->as<Iter>().lanes() == 8);
    const Reading wide(
        "|v: vec[{i32,f32}], a: vec[i32], b: vec[f32]| result(for(zip(simditer(a), simditer(b)), "
        "appender[{i32,f32}], |c, i, p| merge(c, {p.$0, p.$1})))");
    CHECK(wide.type() == "vec[{i32,f32}]");
    CHECK(survives("|v: vec[i32]| result(for(simditer[8](v), merger[i32,+], |b, i, x| "
                   "merge(b, x, x > broadcast(0))))") == "");
    CHECK(survives("result(for(simditer(rangeiter(0L, 64L, 1L)), merger[i64,+], |b, i, x| merge(b, x)))") ==
          "");
    CHECK(survives(
              "result(for(fringeiter[4](rangeiter(0L, 63L, 1L)), merger[i64,+], |b, i, x| merge(b, x)))") ==
          "");
    CHECK(Reading("broadcast(1.0)").type() == "simd[f64,8]");
}

TEST_CASE("annotations stay on their nodes") {
    const Reading r(
        "|v: vec[i32]| result(@(parallel:false, size:64L) for(v, @(impl:local) appender[i32], "
        "|b, i, x| @(predicate:true) if(x > 0, merge(b, x), b)))");
    REQUIRE(r.good);
    CHECK(r.drawn() == "");
    const Expr* loop = r.body()->as<Result>().builder();
    CHECK(loop->says(AttrKey::Parallel, false));
    CHECK(loop->annotation(AttrKey::Size)->number == 64);
    CHECK(loop->as<For>().builder()->annotation(AttrKey::Impl)->text == "local");
    CHECK(loop->as<For>().body().body()->says(AttrKey::Predicate, true));
    CHECK(survives("|s: {i32}| @(size:1) (s.$0) + @(size:2) (1 + 2) + @(size:3) -5") == "");
    // Of a macro call, on its loop.
    const Reading m("@(vectorize:false) map([1], |x| x)");
    REQUIRE(m.good);
    CHECK(m.body()->as<Result>().builder()->says(AttrKey::Vectorize, false));
    const Reading k("@(pure:true) cudf[f,i32](1)");
    REQUIRE(k.good);
    CHECK(k.body()->as<Kernel>().ref().pure);
    CHECK(k.body()->annotations.empty());
    CHECK(Reading("@(nonsense:1) 5").first() == "p:1:3: warning: unknown annotation `nonsense` is ignored");
}

TEST_CASE("symbols of user functions are looked up") {
    ReadOptions options;
    options.has_symbol = [](std::string_view name) { return name == "known"; };
    options.searched = "libudf.so";
    const Reading good("cudf[known,i32](1)", options);
    REQUIRE(good.good);
    CHECK_FALSE(good.body()->as<Kernel>().ref().builtin);
    const Reading builtin("cudf[weld_contains,bool](\"ab\", \"b\")", options);
    REQUIRE(builtin.good);
    CHECK(builtin.body()->as<Kernel>().ref().builtin);
    CHECK(builtin.body()->as<Kernel>().ref().pure);
    const Reading bad("1 + cudf[unknown,i32](1)", options);
    CHECK_FALSE(bad.good);
    CHECK(bad.first() == "p:1:10: error: unknown function `unknown` for `cudf`");
    CHECK(bad.drawn().find("libudf.so") != std::string::npos);
}

TEST_CASE("the builder that was handed to a loop stands for the loop's own") {
    const Reading r(
        "|v: vec[vec[i32]]| result(for(v, appender[i32], |b, i, x| for(x, b, |c, j, y| merge(b, y))))");
    CHECK(r.good);
    CHECK(r.first() == "p:1:85: warning: `b` was handed to the loop; inside, it stands for `c`");
    CHECK(r.printed() ==
          Reading(
              "|v: vec[vec[i32]]| result(for(v, appender[i32], |b, i, x| for(x, b, |c, j, y| merge(c, y))))")
              .printed());
}

TEST_CASE("builders that are used rightly") {
    const char* programs[] = {
        "|v: vec[i32]| result(for(v, appender[i32], |b, i, x| if(x > 1, merge(b, x), b)))",
        "|v: vec[i32]| let r = for(v, {appender[i32], merger[i32,+]}, |b, i, x| {b.$0, merge(b.$1, x)}); "
        "{result(r.$0), result(r.$1)}",
        "|v: vec[i32]| result(iterate({appender[i32], 0}, |s| {{merge(s.$0, s.$1), s.$1 + 1}, s.$1 < 5}).$0)",
        "|v: vec[i32]| result(for(v, appender[i32], |b, i, x| iterate({b, x}, |s| "
        "{{merge(s.$0, s.$1), s.$1 - 1}, s.$1 > 0}).$0))",
        "|v: vec[i32]| result(for(v, appender[i32], |b, i, x| let n = b; let m = merge(n, x); m))",
        "|c: bool| let b = appender[i32]; if(c, result(b), result(merge(b, 1)))",
        "|b: appender[i32]| merge(b, 1)",
        "let s = {appender[i32], 5}; let t = s.$1 + s.$1; result(s.$0)",
        "let s = {{appender[i32], appender[i32]}, 1}; {result(s.$0.$1), result(s.$0.$0)}",
        "let b = appender[i32]; let f = |x| merge(b, x); result(f(1))",
    };
    for (const char* p : programs) CHECK(survives(p) == "");
}

TEST_CASE("run-time places") {
    const Reading r("|v: vec[i32]|\n  map(v,\n    |x| x / lookup(v, 0L))");
    REQUIRE(r.good);
    const Expr* merge = r.body()->as<Result>().builder()->as<For>().body().body();
    auto place = [&](const Expr* e) {
        const Position p = r.module->sources.position(e->loc);
        return fmt::format("{}:{}", p.line, p.column);
    };
    CHECK(place(merge) == "2:3");  // from a standard macro: the user's call
    std::function<void(const Expr*)> visit = [&](const Expr* e) {
        if (e->op == Op::Div) CHECK(place(e) == "3:11");
        if (e->op == Op::Lookup) CHECK(place(e) == "3:13");
        for (const Expr* a : e->args()) visit(a);
    };
    visit(r.module->main);
}

TEST_CASE("what the parser understood can be shown") {
    std::string parsed;
    ReadOptions options;
    options.parsed_text = &parsed;
    const Reading r("macro m(a) = a + 1; |x: i32| @(predicate:true) if(m(x) > -2, (1 + 2) * 3, -x.$0: i32)",
                    options);
    CHECK(parsed ==
          "macro m(a) = a + 1;\n|x: i32| @(predicate:true) if(m(x) > -2, (1 + 2) * 3, -x.$0: i32)\n");
    const Reading zeros("{- - -0, -0.0, -1}", options);  // no integer is -0
    CHECK(parsed == "{---0, -0.0, -1}\n");
}

TEST_CASE("lanes of look-ups are the optimiser's") {
    const char* text =
        "|v: vec[vec[f64]]| let g = optlookup[8](v, 0L); if(g.$0, lookup(g.$1, 0L), broadcast[8](0.0))";
    CHECK(!Reading(text).good);  // how many rows are found depends on its means
    ReadOptions options;
    options.is_printed_module = true;
    const Reading r(text, options);
    CHECK(r.good);
    CHECK(r.body()->type->str() == "simd[f64,8]");
}

TEST_CASE("types by themselves") {
    Module m;
    Diagnostics d;
    CHECK(read_type(m, "{i32, vec[f64]}", d)->str() == "{i32,vec[f64]}");
    CHECK(read_type(m, "dictmerger[i64,{f64,i32},min]", d)->str() == "dictmerger[i64,{f64,i32},min]");
    CHECK(read_type(m, "simd[f32]", d)->str() == "simd[f32,16]");
    CHECK_FALSE(d.has_errors());
    CHECK(read_type(m, "vec[?]", d) == nullptr);
    Diagnostics other;
    CHECK(read_type(m, "i32 i32", other) == nullptr);
    CHECK(other.has_errors());
}

static std::string repeat(std::string_view text, std::size_t n) {
    std::string out;
    for (std::size_t i = 0; i < n; ++i) out += text;
    return out;
}

TEST_CASE("large programs are read or refused") {
    on_deep_stack([] {
        auto good = [](const std::string& text) {
            const Reading r(text);
            CHECK_MESSAGE(r.good, r.first());
        };
        auto refused = [](const std::string& text) {
            const Reading r(text);
            CHECK_FALSE(r.good);
            CHECK(r.first().find("error") != std::string::npos);
        };
        for (std::size_t n : {1'000, 10'000}) {
            good(repeat("(", n) + "1" + repeat(")", n));
            good("|x: i32| x" + repeat(" + x", 10 * n));
            good("let a = 1;" + repeat("let a = a + 1;", 5 * n) + "a");
            good("[" + repeat("1,", 10 * n) + "]");
        }
        good("|x: i32| " + repeat("if(x == 1, 2, ", 4'000) + "x" + repeat(")", 4'000));
        good("|x: i32| " + repeat("(x + ", 3'000) + "x" + repeat(")", 3'000));
        good("|x: i32| " + repeat("(let y = ", 3'000) + "x" + repeat("; y)", 3'000));
        for (const char* open : {"(", "[", "{", "-", "!", "|x|", "@(", "if(", "map(", "vec["}) {
            refused(repeat(open, 100'000));
            refused(repeat(open, 100'000) + "1");
        }
        refused("|x: " + repeat("vec[", 50'000) + "i32" + repeat("]", 50'000) + "| 1");
        refused(repeat("{", 5'000) + "1" + repeat("}", 5'000));
        refused(std::string("let a0 = {1, 2}; ") + [] {
            std::string out;
            for (int i = 0; i < 60; ++i) out += fmt::format("let a{} = {{a{}, a{}}}; ", i + 1, i, i);
            return out;
        }() + "5");
        refused(std::string("let a0 = []; ") + [] {  // grows only when the element becomes known
            std::string out;
            for (int i = 0; i < 60; ++i)
                out += fmt::format("let a{} = map(zip(a{}, a{}), |p| p); ", i + 1, i, i);
            return out;
        }() + "let b = [a0, [1]]; 5");
    });
}
