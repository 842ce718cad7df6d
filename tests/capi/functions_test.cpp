// Functions of a program: how deep they may call, on whatever stack the host runs them.
#include "api.h"

#include <chrono>
#include <functional>
#include <thread>

#include <pthread.h>

using namespace test;

namespace {

const char* const kDepth = "def depth(n: i64): i64 = if(n == 0L, 0L, 1L + depth(n - 1L)); |n: i64| depth(n)";

/// `work` on a thread whose stack has this many bytes.
void on_stack_of(std::size_t bytes, const std::function<void()>& work) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    pthread_t thread;
    const auto call = [](void* what) -> void* {
        (*static_cast<const std::function<void()>*>(what))();
        return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, call, const_cast<std::function<void()>*>(&work)) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("recursion is a million calls deep, on threads with whatever stack") {
    const Module depth = compile(kDepth);
    const auto check = [&] {
        const Context c = context();
        for (const std::int64_t n : {0, 1, 100'000, 1'000'000}) {
            CHECK(as<std::int64_t>(run(depth, c, n)) == n);
        }
    };
    check();
    std::thread(check).join();
    on_stack_of(128 << 10, check);
}

TEST_CASE("so it is on workers, in loops that run inside of recursion") {
    const std::string functions =
        "def depth(n: i64): i64 = if(n == 0L, 0L, 1L + depth(n - 1L)); "
        "def nest(n: i64, v: vec[i64]): i64 = if(n == 0L, 0L, "
        "nest(n - 1L, v) + result(for(v, merger[i64,+], |b, i, x| merge(b, depth(x)))));";
    const Module loops = compile(functions + "|v: vec[i64]| nest(3L, v)");
    std::vector<std::int64_t> v(64, 100'000);
    for (const char* threads : {"1", "2", "4"}) {
        const Context c = context({{"weld.threads", threads}});
        CHECK(as<std::int64_t>(run(loops, c, vec(v))) == 3 * 64 * 100'000);
    }
}

TEST_CASE("recursion without end is an error, and the next run is well") {
    const Module m = compile(
        "def deep(n: i64): i64 = if(n == 0L, 0L, 1L + deep(n - 1L)); |v: vec[i64]| map(v, |x| deep(x))");
    for (const char* threads : {"1", "4"}) {
        const Context c = context({{"weld.threads", threads}});
        std::vector<std::int64_t> endless = {1, -1, 2, -2}, good = {1, 10'000};
        CHECK(failure(m, c, vec(endless)) == WELD_STACK_OVERFLOW);
        CHECK(elements(as<Vec<std::int64_t>>(run(m, c, vec(good)))) == good);
    }
}

TEST_CASE("a tail call takes no stack, and what it leaves behind no memory") {
    const Module m = compile(
        "def churn(v: vec[i64], n: i64): i64 = if(n == 0L, lookup(v, 0L), other(map(v, |x| x + 1L), n - "
        "1L)); "
        "def other(v: vec[i64], n: i64): i64 = if(n == 0L, lookup(v, 0L), churn(map(v, |x| x + 1L), n - "
        "1L)); "
        "|n: i64| churn(result(for(rangeiter(0L, 1000000L, 1L), appender[i64], |b, i, x| merge(b, x))), n)");
    const Context c = context({{"weld.memory.limit", "64MiB"}});
    CHECK(as<std::int64_t>(run(m, c, std::int64_t(501))) == 501);
}

TEST_CASE("what a call allocates goes when it returns") {
    const Module m = compile(
        "def wide(n: i64): i64 = "
        "let v = result(for(rangeiter(0L, 1000000L, 1L), appender[i64], |b, i, x| merge(b, x * n))); "
        "let w = sort(v, |x| 0L - x); lookup(w, 0L); "
        "def many(n: i64, s: i64): i64 = if(n == 0L, s, let a = wide(n); let b = wide(a); many(n - 1L, s + a "
        "+ b)); "
        "|n: i64| many(n, 0L)");
    const Context c = context({{"weld.memory.limit", "128MiB"}});
    CHECK(as<std::int64_t>(run(m, c, std::int64_t(20))) != 0);
}

TEST_CASE("what a call is given goes before it calls on") {
    const std::string make =
        "result(for(rangeiter(0L, 1000000L, 1L), appender[f64], |b, i, x| merge(b, f64(x))))";
    const std::string step = "let w = result(for(v, appender[f64], |b, i, x| merge(b, x + 1.0))); ";
    const std::string texts[] = {
        "def f(n: i64, v: vec[f64]): f64 = if(n == 0L, lookup(v, 1L), (" + step +
            "let r = f(n - 1L, w); r + 0.0)); |n: i64| f(n, " + make + ")",
        "def f(n: i64, v: vec[f64]): f64 = if(n == 0L, lookup(v, 1L), (" + step +
            "g(n - 1L, w) + 0.0)); "
            "def g(n: i64, v: vec[f64]): f64 = if(n == 0L, lookup(v, 1L), (" +
            step +
            "f(n - 1L, w) + 0.0)); "
            "|n: i64| f(n, " +
            make + ")",
        // what a function gives is the caller's, as long as that reads it
        "def next(v: vec[f64], n: i64): {vec[f64],i64} = if(n == 0L, {result(for(v, appender[f64], |b, i, x| "
        "merge(b, x + 1.0))), n}, next(v, n - 1L)); "
        "def f(n: i64, m: {vec[f64],i64}): f64 = if(n == 0L, lookup(m.$0, 1L), "
        "(let w = next(m.$0, 2L); let r = f(n - 1L, {w.$0, m.$1}); r + 0.0)); |n: i64| f(n, {" +
            make + ", n})",
    };
    const Context c = context({{"weld.memory.limit", "64MiB"}});
    for (const std::string& text : texts) CHECK(as<double>(run(compile(text), c, std::int64_t(40))) == 41.0);
}

TEST_CASE("recursion is cancelled") {
    const Module m = compile(
        "def fib(n: i64): i64 = if(n < 2L, n, fib(n - 1L) + fib(n - 2L)); "
        "def endless(n: i64): i64 = if(n < 0L, n, endless(n + 1L)); "
        "|n: i64| if(n == 0L, endless(n), fib(n))");
    for (const std::int64_t n : {0, 70}) {
        const Context c = context();
        std::thread later([&] {
            wait_for_work(0.05);
            weld_context_cancel(c.get());
        });
        CHECK(failure(m, c, n) == WELD_CANCELLED);
        later.join();
    }
}
