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
