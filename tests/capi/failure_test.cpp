// Runs that fail, with the codes of Weld and ours, and the place in the program.
#include "api.h"

#include <cstring>
#include <stdexcept>

using namespace test;

namespace {

struct Two {
    Vec<std::int64_t> v;
    std::int64_t n;
};

std::uint64_t code_of(const char* program, std::vector<std::int64_t> v, std::int64_t n,
                      std::string* message = nullptr) {
    return failure(compile(program), context(), Two{vec(v), n}, message);
}

}  // namespace

TEST_CASE("every kind of failure has its code") {
    const std::vector<std::int64_t> v = {1, 2, 3};
    CHECK(code_of("|v: vec[i64], n: i64| lookup(v, n)", v, 3) == WELD_ARRAY_OUT_OF_BOUNDS);
    CHECK(code_of("|v: vec[i64], n: i64| lookup(v, n)", v, -1) == WELD_ARRAY_OUT_OF_BOUNDS);
    CHECK(code_of("|v: vec[i64], n: i64| slice(v, n, 1L)", v, 4) == WELD_ARRAY_OUT_OF_BOUNDS);
    CHECK(
        code_of("|v: vec[i64], n: i64| result(for(iter(v, 0L, n, 1L), merger[i64,+], |b, i, x| merge(b, x)))",
                v, 4) == WELD_BAD_ITERATOR_LENGTH);
    CHECK(code_of("|v: vec[i64], n: i64| result(for(zip(v, slice(v, n, 9L)), merger[i64,+], "
                  "|b, i, x| merge(b, x.$0 * x.$1)))",
                  v, 1) == WELD_MISMATCHED_ZIP_SIZE);
    CHECK(code_of("|v: vec[i64], n: i64| deserialize[vec[i64]](serialize(n))", v, 5) ==
          WELD_DESERIALIZATION_ERROR);
    CHECK(code_of("|v: vec[i64], n: i64| lookup(result(for(v, dictmerger[i64,i64,+], |b, i, x| merge(b, {x, "
                  "x}))), n)",
                  v, 9) == WELD_KEY_NOT_FOUND_ERROR);
    CHECK(code_of("|v: vec[i64], n: i64| assert(n == len(v))", v, 9) == WELD_ASSERTION_ERROR);
    CHECK(code_of("|v: vec[i64], n: i64| map(v, |x| x / n)", v, 0) == WELD_DIVISION_BY_ZERO);
    CHECK(code_of("|v: vec[i64], n: i64| map(v, |x| x % n)", v, 0) == WELD_DIVISION_BY_ZERO);
}

TEST_CASE("the message says where") {
    std::string message;
    CHECK(code_of("|v: vec[i64], n: i64|\n  map(v, |x| x / n)", {1}, 0, &message) == WELD_DIVISION_BY_ZERO);
    CHECK(message.find("<weld>:2:16: error: ") == 0);
    CHECK(message.find("  map(v, |x| x / n)") != std::string::npos);

    const Error e = error();
    const Module m = compile("|n: i64| lookup([1, 2, 3], n)");
    const std::int64_t n = 7;
    const Value input(weld_value_new(&n));
    CHECK_FALSE(Value(weld_module_run(m.get(), context().get(), input.get(), e.get())));
    CHECK(weld_error_line(e.get()) == 1);
    CHECK(weld_error_column(e.get()) == 10);
    CHECK(std::strstr(weld_error_summary(e.get()), "7") != nullptr);
}

TEST_CASE("a context that a run failed in is as good as before") {
    const Context c = context();
    const Module m = compile(
        "|n: i64| map(result(for(rangeiter(0L, 100000L, 1L), appender[i64], |b, i, x| merge(b, x))), "
        "|x| 100L / (x - n))");
    for (int i = 0; i < 3; ++i) {
        CHECK(failure(m, c, std::int64_t(99999)) == WELD_DIVISION_BY_ZERO);
        CHECK(weld_context_memory_usage(c.get()) == 0);
        const Value good = run(m, c, std::int64_t(-1));
        CHECK(as<Vec<std::int64_t>>(good).data[0] == 100);
    }
}

TEST_CASE("the first failure in the order of the program is told, for any number of threads") {
    std::vector<std::int64_t> v(1'000'000, 1);
    v[300'000] = 0;
    v[900'000] = -1;
    const Module m = compile("|v: vec[i64]| map(v, |x| if(x < 0L, lookup(v, x), 1L / x))");
    for (const char* threads : {"1", "2", "8"})
        CHECK(failure(m, context({{"weld.threads", threads}}), vec(v)) == WELD_DIVISION_BY_ZERO);
}

TEST_CASE("vectors without elements are refused where they should have some") {
    const Module m = compile("|v: vec[i64]| len(v)");
    CHECK(failure(m, context(), Vec<std::int64_t>{nullptr, 5}) == WELD_INVALID_ARGUMENT);
    std::int64_t one = 1;
    CHECK(failure(m, context(), Vec<std::int64_t>{&one, -5}) == WELD_INVALID_ARGUMENT);
    CHECK(as<std::int64_t>(run(m, context(), Vec<std::int64_t>{nullptr, 0})) == 0);
}

TEST_CASE("recursion that has no end is told") {
    // Programs have no recursion of their own; deep nesting of values and parentheses is all there is.
    std::string deep(3000, '(');
    deep += "1" + std::string(3000, ')');
    CHECK(result<std::int32_t>(deep) == 1);
}
