// Functions of this program, and of a library, called by `cudf`.
#include "api.h"

#include <atomic>
#include <cstring>
#include <stdexcept>

using namespace test;

static std::atomic<int> calls{0};

// What the executable exports (target property ENABLE_EXPORTS).
extern "C" {
void test_add_five(std::int64_t* x, std::int64_t* result) { *result = *x + 5; }
void test_count(std::int64_t* x, std::int64_t* result) {
    ++calls;
    *result = *x;
}
void test_throw(std::int64_t* x, std::int64_t* result) {
    if (*x > 2) throw std::runtime_error("more than two");
    *result = *x;
}
void test_throw_int(std::int32_t*) { throw 1; }
struct TestMixed {
    std::int8_t a;
    double b;
    std::uint8_t c;
};
void test_mixed(TestMixed* m, std::uint8_t* flag, float* f, TestMixed* result) {
    *result = {std::int8_t(m->a + 1), m->b + double(*f), std::uint8_t(*flag && m->c)};
}
/// The buffer of the result is the function's to keep: here, for good.
void test_letters(std::int64_t* n, Vec<char>* result) {
    static char letters[27] = "abcdefghijklmnopqrstuvwxyz";
    *result = {letters, *n};
}
/// Rows of which not all can be: which ones stands in the argument.
struct TestRows {
    std::int8_t a;
    Vec<Vec<std::int64_t>> rows;
};
static std::int64_t ten[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
void test_rows(std::int64_t* which, Vec<Vec<std::int64_t>>* result) {
    using Row = Vec<std::int64_t>;
    static std::int64_t* const unaligned = reinterpret_cast<std::int64_t*>(reinterpret_cast<char*>(ten) + 1);
    static Row rows[][3] = {
        {{ten, 3}, {ten, 3}, {ten, 3}},           {{ten, 3}, {ten + 1, 2}, {nullptr, 0}},
        {{ten, 3}, {ten + 1, 2}, {ten, -1}},      {{ten, 3}, {nullptr, 5}, {ten + 1, 2}},
        {{ten, 3}, {unaligned, 2}, {ten + 1, 2}}, {{ten, 3}, {ten + 1, 2}, {ten, std::int64_t(1) << 45}}};
    *result = {rows[*which], 3};
}
void test_row_struct(std::int64_t* which, TestRows* result) {
    result->a = 1;
    test_rows(which, &result->rows);
}
void test_same(Vec<std::int64_t>* v, Vec<std::int64_t>* result) { *result = *v; }
void test_without_last(Vec<std::int64_t>* v, Vec<std::int64_t>* result) { *result = {v->data, v->len - 1}; }
void test_without_first(Vec<std::int64_t>* v, Vec<std::int64_t>* result) {
    *result = {v->data + 1, v->len - 1};
}
/// Both fields are the argument.
void test_twice(Vec<std::int64_t>* v, Vec<std::int64_t>* result) { result[0] = result[1] = *v; }
}

TEST_CASE("functions of the process") {
    CHECK(result<std::int64_t>("|x: i64| cudf[test_add_five,i64](x)", std::int64_t(10)) == 15);
    std::vector<std::int64_t> v = {1, 2, 3};
    const Context c = context();
    CHECK(json(run(compile("|v: vec[i64]| map(v, |x| cudf[test_add_five,i64](x))"), c, vec(v))) ==
          "[6, 7, 8]");
    CHECK(json(run(compile("cudf[test_mixed,{i8,f64,bool}]({1c, 2.5, true}, true, 0.5f)"), c)) ==
          "[2, 3.0, true]");
    CHECK(json(run(compile("cudf[test_mixed,{i8,f64,bool}]({1c, 2.5, true}, false, 0.5f)"), c)) ==
          "[2, 3.0, false]");
    const Value letters = run(compile("|n: i64| cudf[test_letters,vec[i8]](n)"), c, std::int64_t(3));
    const auto& text = as<Vec<char>>(letters);
    CHECK(std::string(text.data, text.len) == "abc");
}

TEST_CASE("a configuration says which functions programs may call") {
    const char* program = "cudf[test_add_five,i64](10L)";
    const auto code_with = [&](const char* allowed) {
        const Error e = error();
        const Module m(weld_module_compile(program, conf({{"weld.cudf.allow", allowed}}).get(), e.get()));
        CHECK(bool(m) == (weld_error_code(e.get()) == WELD_SUCCESS));
        if (!m) CHECK(std::string(weld_error_summary(e.get())) == "`cudf` may not call `test_add_five` here");
        return weld_error_code(e.get());
    };
    for (int round = 0; round < 2; ++round) {  // the second time, from what was compiled before
        CHECK(as<std::int64_t>(run(compile(program), context())) == 15);
        CHECK(code_with("none") == WELD_COMPILE_ERROR);
        CHECK(code_with("test_count") == WELD_COMPILE_ERROR);
        CHECK(code_with("test_count,test_add_five") == WELD_SUCCESS);
    }
}

TEST_CASE("a function is called as often as the program says") {
    calls = 0;
    const Context c = context();
    CHECK(as<std::int64_t>(run(
              compile("let a = cudf[test_count,i64](1L); let b = cudf[test_count,i64](1L); 7L"), c)) == 7);
    CHECK(calls == 2);
    calls = 0;
    std::vector<std::int64_t> v(10'000, 1);
    CHECK(as<std::int64_t>(
              run(compile("|v: vec[i64]| len(map(v, |x| cudf[test_count,i64](x)))"), c, vec(v))) == 10'000);
    CHECK(calls == 10'000);
}

TEST_CASE("an exception becomes a failure, and nothing is lost") {
    std::vector<std::int64_t> v = {1, 2, 3};
    const Context c = context();
    const Module m = compile("|v: vec[i64]|\n map(v, |x| cudf[test_throw,i64](x))");
    std::string message;
    CHECK(failure(m, c, vec(v), &message) == WELD_KERNEL_ERROR);
    CHECK(message.find("more than two") != std::string::npos);
    CHECK(message.find("<weld>:2:") == 0);
    CHECK(weld_context_memory_usage(c.get()) == 0);
    CHECK(failure(compile("cudf[test_throw_int,i32]()"), c, None{}) == WELD_KERNEL_ERROR);
    v = {1, 2};
    CHECK(json(run(m, c, vec(v))) == "[1, 2]");
}

TEST_CASE("a vector of a length that cannot be is a failure") {
    const Context c = context();
    const Module m = compile("|n: i64| len({0L, cudf[test_letters,vec[i8]](n)}.$1)");
    CHECK(as<std::int64_t>(run(m, c, std::int64_t(3))) == 3);
    std::string message;
    CHECK(failure(m, c, std::int64_t(-1), &message) == WELD_KERNEL_ERROR);
    CHECK(message.find("a user function gave a vector of length -1") != std::string::npos);
}

TEST_CASE("so it is inside of vectors and structs") {
    const Module nested = compile("|k: i64| sum(map(cudf[test_rows,vec[vec[i64]]](k), |r| sum(r)))");
    const Module field = compile("|k: i64| len(cudf[test_row_struct,{i8,vec[vec[i64]]}](k).$1)");
    const Module in_loop =
        compile("|k: i64| map([0L, k, 1L], |k| len(lookup(cudf[test_rows,vec[vec[i64]]](k), 2L)))");
    for (const char* threads : {"1", "4"}) {
        const Context c = context({{"weld.threads", threads}});
        CHECK(as<std::int64_t>(run(nested, c, std::int64_t(0))) == 3 + 3 + 3);
        CHECK(as<std::int64_t>(run(nested, c, std::int64_t(1))) == 3 + 3);
        CHECK(as<std::int64_t>(run(field, c, std::int64_t(1))) == 3);
        CHECK(json(run(in_loop, c, std::int64_t(0))) == "[3, 3, 0]");
        const char* const why[] = {"-1", "5 at NULL", "2, not aligned", "35184372088832"};
        for (std::int64_t k = 2; k < 6; ++k)
            for (const Module* m : {&nested, &field, &in_loop}) {
                std::string message;
                CHECK(failure(*m, c, k, &message) == WELD_KERNEL_ERROR);
                const std::string text = std::string("a user function gave a vector of length ") + why[k - 2];
                CHECK_MESSAGE(message.find(text) != std::string::npos, message);
            }
        CHECK(weld_context_memory_usage(c.get()) == 0);
    }
}

TEST_CASE("results that lie in an argument, or in one another, are changed nowhere else") {
    const std::string macros =
        "macro copied(v) = result(for(v, appender[i64], |b, i, x| merge(b, x + 0L)));"
        "macro set(v, k, x) = result(merge(vecsetter[i64](v), {k, x}));"
        "macro add(v, k, x) = result(merge(vecmerger[i64,+](v), {k, x}));";
    const struct {
        const char *text, *result;
    } programs[] = {
        {"let b = cudf[test_same,vec[i64]](a); {set(b, 0L, 9L), add(a, 1L, 5L), a, b}",
         "[[9, 2, 3], [1, 7, 3], [1, 2, 3], [1, 2, 3]]"},
        {"let p = cudf[test_twice,{vec[i64],vec[i64]}](a); "
         "let u = add(p.$0, 2L, 4L); {u, set(u, 0L, 9L), p.$1}",
         "[[1, 2, 7], [9, 2, 7], [1, 2, 3]]"},
        {"let x = cudf[test_without_last,vec[i64]](a); let y = cudf[test_without_first,vec[i64]](a); "
         "{result(for(x, vecmerger[i64,+](y), |m, i, e| merge(m, {1L - i, e}))), set(x, 1L, 9L), map(zip(x, "
         "y), |e| "
         "e.$0 - 10L * e.$1)}",
         "[[4, 4], [1, 9], [-19, -28]]"},
        {"let b = cudf[test_same,vec[i64]](a); let r = iterate({a, b, 0L}, |s| "
         "{{set(s.$1, s.$2, 9L), s.$0, s.$2 + 1L}, s.$2 < 2L}); {r.$0, r.$1, b}",
         "[[9, 2, 9], [1, 9, 3], [1, 2, 3]]"},
        {"let b = cudf[test_same,vec[i64]](a); let s = sort(b, |x| 0L - x); {s, set(s, 0L, 9L), a}",
         "[[3, 2, 1], [9, 2, 1], [1, 2, 3]]"},
        {"map([0L, 1L], |k| let b = cudf[test_same,vec[i64]](a); {add(b, k, 9L), a})",
         "[[[10, 2, 3], [1, 2, 3]], [[1, 11, 3], [1, 2, 3]]]"},
    };
    for (const char* level : {"0", "1", "2", "3"})
        for (const char* threads : {"1", "4"})
            for (const auto& [text, expected] : programs)
                for (const char* begin : {"|v: vec[i64]| let a = copied(v); ", "|v: vec[i64]| let a = v; "}) {
                    CAPTURE(text);
                    const Module m = compile(macros + begin + text, {{"weld.optimization.level", level}});
                    std::vector<std::int64_t> v = {1, 2, 3};
                    CHECK(json(run(m, context({{"weld.threads", threads}}), vec(v))) == expected);
                    CHECK(v == std::vector<std::int64_t>{1, 2, 3});
                }
}

static std::string noted;
extern "C" void test_note(std::int64_t* x, std::int64_t* result) {
    noted += std::to_string(*x) + ' ';
    *result = *x;
}

TEST_CASE("effects come in the order of the program, also inside expressions and loops") {
    const Context c = context();
    noted.clear();
    const Module m = compile(
        "macro note(x) = @(effect:true) cudf[test_note,i64](x);"
        "|v: vec[i64]| note(1L) + note(2L) * lookup(map(v, |x| note(x) + 1L), note(0L)) - note(3L)");
    std::vector<std::int64_t> v(3000, 7);
    CHECK(as<std::int64_t>(run(m, c, vec(v))) == 1 + 2 * 8 - 3);
    std::string expected = "1 2 ";
    for (int i = 0; i < 3000; ++i) expected += "7 ";
    CHECK(noted == expected + "0 3 ");
}

TEST_CASE("libraries") {
    const Error e = error();
    weld_load_library("/nowhere/libnothing.so", e.get());
    CHECK(weld_error_code(e.get()) == WELD_COMPILE_ERROR);
    CHECK(std::string(weld_error_message(e.get())).find("/nowhere/libnothing.so") != std::string::npos);
    for (int i = 0; i < 2; ++i) {
        weld_load_library(WELD_TEST_LIBRARY, e.get());
        CHECK_MESSAGE(weld_error_code(e.get()) == WELD_SUCCESS, weld_error_message(e.get()));
    }
    CHECK(result<std::int64_t>("|x: i64| cudf[library_square,i64](x)", std::int64_t(12)) == 144);
    weld_load_library("libm.so.6", e.get());  // as the system finds it
    CHECK_MESSAGE(weld_error_code(e.get()) == WELD_SUCCESS, weld_error_message(e.get()));
    CHECK_FALSE(Module(weld_module_compile("cudf[library_cube,i64](1L)", nullptr, e.get())));
    CHECK(std::string(weld_error_message(e.get())).find("library_cube") != std::string::npos);
}

/// A function that runs another program.
static weld_module_t inner;
extern "C" void test_nested(std::int64_t* x, std::int64_t* result) {
    const Context c(weld_context_new(nullptr));
    const Value input(weld_value_new(x));
    const Value output(weld_module_run(inner, c.get(), input.get(), nullptr));
    *result = output ? *static_cast<std::int64_t*>(weld_value_data(output.get())) : -1;
}

TEST_CASE("functions may run programs") {
    const Module square =
        compile("|x: i64| result(for(rangeiter(0L, x, 1L), merger[i64,+], |b, i, n| merge(b, x)))");
    inner = square.get();
    std::vector<std::int64_t> v(200);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::int64_t(i);
    const Context c = context();
    const Value out = run(compile("|v: vec[i64]| map(v, |x| cudf[test_nested,i64](x))"), c, vec(v));
    const auto& squares = as<Vec<std::int64_t>>(out);
    REQUIRE(squares.len == 200);
    for (std::int64_t i = 0; i < 200; ++i) CHECK(squares.data[i] == i * i);
}
