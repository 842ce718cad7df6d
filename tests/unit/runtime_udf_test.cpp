// User functions; recursion that goes too deep.
#include <stdexcept>
#include <thread>

#include "runtime/udf.h"
#include "tests/unit/runtime_util.h"

using namespace weld::runtime;
using namespace weld::runtime::test;

namespace {

void add_two(const std::int64_t* a, const std::int64_t* b, std::int64_t* out) { *out = *a + *b; }
void nothing_in(std::int32_t* out) { *out = 42; }
void throws(std::int64_t*) { throw std::runtime_error("no luck"); }
void throws_an_int(std::int64_t*) { throw 3; }

template <std::size_t... I>
void sum_of_many(std::index_sequence<I...>, auto... args) {
    const std::int64_t* all[] = {args...};
    std::int64_t sum = 0;
    for (std::size_t i = 0; i + 1 < sizeof...(args); ++i) sum = sum * 3 + *all[i];
    *const_cast<std::int64_t*>(all[sizeof...(args) - 1]) = sum;
}

template <std::size_t>
using Pointer = std::int64_t*;

/// A function of N pointers that writes a mix of the first N - 1 to the last.
template <std::size_t... I>
void* many(std::index_sequence<I...> all) {
    (void)all;
    void (*f)(Pointer<I>...) = [](Pointer<I>... args) { sum_of_many(std::index_sequence<I...>(), args...); };
    return reinterpret_cast<void*>(f);
}

template <std::size_t N>
bool passes_all(WeldTask* t) {
    std::vector<std::int64_t> values(N);
    std::vector<void*> args;
    std::int64_t expected = 0;
    for (std::size_t i = 0; i < N; ++i) {
        values[i] = std::int64_t(i * i + 1);
        args.push_back(&values[i]);
        if (i + 1 < N) expected = std::int64_t(std::uint64_t(expected) * 3 + std::uint64_t(values[i]));
    }
    return weld_rt_call(t, many(std::make_index_sequence<N>()), args.data(), N, 0) == 0 &&
           values[N - 1] == expected;
}

}  // namespace

TEST_CASE("functions are called with any number of pointers") {
    const Ran ran = run(1, [&](WeldTask* t) {
        std::int64_t a = 3, b = 4, c = 0;
        std::int32_t d = 0;
        void* three[] = {&a, &b, &c};
        void* one[] = {&d};
        CHECK(weld_rt_call(t, reinterpret_cast<void*>(&add_two), three, 3, 0) == 0);
        CHECK(c == 7);
        CHECK(weld_rt_call(t, reinterpret_cast<void*>(&nothing_in), one, 1, 0) == 0);
        CHECK(d == 42);
        CHECK(passes_all<2>(t));
        CHECK(passes_all<7>(t));
        CHECK(passes_all<20>(t));
        CHECK(passes_all<40>(t));
        return 0;
    });
    CHECK(ran.good);
}

TEST_CASE("exceptions and too many arguments are failures") {
    auto failure_of = [](void* function, std::int64_t count) {
        const Ran ran = run(1, [&](WeldTask* t) {
            std::int64_t x = 0;
            std::vector<void*> args(std::size_t(count), &x);
            return weld_rt_call(t, function, args.data(), count, 8);
        });
        CHECK_FALSE(ran.good);
        CHECK(ran.failure.code == kWeldKernelError);
        CHECK(ran.failure.loc == 8);
        return ran.failure.message;
    };
    CHECK(failure_of(reinterpret_cast<void*>(&throws), 1) == "a user function threw an exception: no luck");
    CHECK(failure_of(reinterpret_cast<void*>(&throws_an_int), 1) == "a user function threw an exception");
    CHECK(failure_of(reinterpret_cast<void*>(&nothing_in), 500) ==
          "a user function takes 499 arguments; at most 127 can be passed");
}

TEST_CASE("functions are found in the process and in libraries") {
    UserLibraries libraries;
    CHECK(libraries.find("strlen") != nullptr);
    CHECK(libraries.find("no_such_function_anywhere") == nullptr);
    std::string error;
    CHECK_FALSE(libraries.load("/no/such/library.so", &error));
    CHECK(error.find("/no/such/library.so") != std::string::npos);
    CHECK(libraries.load("libm.so.6", &error));
    CHECK(libraries.find("cos") != nullptr);
}

namespace {

std::int64_t deepest = 0;

__attribute__((noinline)) std::int32_t recurse(WeldTask* t, const void* args, void* result) {
    volatile char frame[1000];
    const std::int64_t depth = *static_cast<const std::int64_t*>(args) + 1;
    frame[0] = char(depth);
    if (static_cast<const char*>(__builtin_frame_address(0)) < t->stack_end)
        return weld_rt_deeper(t, recurse, args, result, 11);
    deepest = depth;
    const std::int32_t status = recurse(t, &depth, result);
    frame[1] = frame[0];
    return status;
}

}  // namespace

TEST_CASE("deep recursion is a failure, on any thread") {
    auto check = [] {
        deepest = 0;
        const std::int64_t depth = 0;
        const Ran ran = run(1, [&](WeldTask* t) { return recurse(t, &depth, nullptr); });
        CHECK_FALSE(ran.good);
        CHECK(ran.failure.code == kWeldStackOverflow);
        CHECK(ran.failure.loc == 11);
        CHECK(deepest > 200'000);
    };
    check();
    std::thread(check).join();
}
