// One module from many threads, one context from many threads, and stopping.
#include "api.h"

#include <atomic>
#include <chrono>
#include <ctime>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace test;

static std::atomic<int> began{0}, waiting{0};

/// Goes on when the test has gone on to the next.
extern "C" void test_wait(const std::int64_t* n, std::int64_t* result) {
    const int number = began++;
    while (waiting <= number) std::this_thread::yield();
    *result = *n;
}

namespace {

template <class Work>
void on_threads(int n, const Work& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < n; ++i) threads.emplace_back([&, i] { work(i); });
    for (std::thread& t : threads) t.join();
}

/// Runs without doctest, which is for one thread. 0 if all went well.
template <class Args>
weld_value_t run_quietly(weld_module_t m, void* c, const Args& args) {
    const Value input(weld_value_new(&args));
    return weld_module_run(m, c, input.get(), nullptr);
}

/// Of a run's value; empty if the run failed. Without doctest, too.
std::string text_of(const Value& value) {
    const Owned<char> text(value ? weld_value_to_json(value.get(), nullptr) : nullptr);
    return text ? text.get() : "";
}

}  // namespace

TEST_CASE("8 threads run one module 4 times each over 10,000,001 elements") {
    std::vector<std::int32_t> v(10'000'001);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::int32_t(i % 7);
    const Module m = compile("|v: vec[i32]| result(for(v, merger[i64,+], |b, i, x| merge(b, i64(x) * 2L)))");
    std::int64_t expected = 0;
    for (std::int32_t x : v) expected += 2 * x;
    std::atomic<int> good{0};
    on_threads(8, [&](int) {
        for (int i = 0; i < 4; ++i) {
            const Context c(weld_context_new(nullptr));
            const Value out(run_quietly(m.get(), c.get(), vec(v)));
            if (out && as<std::int64_t>(out) == expected) ++good;
        }
    });
    CHECK(good == 32);
}

TEST_CASE("threads share a context") {
    const Context c = context({{"weld.threads", "2"}});
    const Module m = compile(
        "|n: i64| let d = result(for(rangeiter(0L, n, 1L), dictmerger[i64,i64,+], "
        "|b, i, x| merge(b, {x % 10L, x}))); {lookup(d, 3L), map([\"a\", \"b\"], |s| len(s))}");
    std::atomic<int> good{0};
    on_threads(8, [&](int thread) {
        for (int i = 0; i < 20; ++i) {
            const std::int64_t n = 10'000 * (thread + 1);
            const Value out(run_quietly(m.get(), c.get(), n));
            const std::int64_t expected = 3 * n / 10 + 10 * (n / 10) * (n / 10 - 1) / 2;
            if (out && as<std::int64_t>(out) == expected) ++good;
        }
    });
    CHECK(good == 160);
    CHECK(weld_context_memory_usage(c.get()) == 0);
}

TEST_CASE("threads run programs of every kind in one context and in many") {
    const char* programs[] = {
        "map(rangeiter(0L, n, 1L), |x| f64(x) * 0.1)",
        "result(for(rangeiter(0L, n, 1L), merger[{f64,i64},+], |b, i, x| merge(b, {1.0 / f64(x + 1L), x})))",
        "result(for(rangeiter(0L, n, 1L), dictmerger[vec[i8],i64,+], |b, i, x| merge(b, {serialize_key(x), "
        "x})))",
        "result(for(rangeiter(0L, n, 1L), groupmerger[i64,i64], |b, i, x| merge(b, {x % 7L, i})))",
        "result(for(rangeiter(0L, n, 1L), vecmerger[f64,+](map(rangeiter(0L, 100L, 1L), |x| 0.0)), "
        "|b, i, x| merge(b, {x % 100L, 0.1})))",
        "slice(sort(map(rangeiter(0L, n, 1L), |x| {x % 11L, x}), |a, b| compare(a.$0, b.$0)), 0L, 100L)",
        "sum(map(rangeiter(0L, n / 100L, 1L), |x| sum(map(rangeiter(0L, x % 300L, 1L), |y| exp(f64(y) / "
        "300.0)))))",
        "deserialize[vec[i64]](serialize(filter(rangeiter(0L, n, 1L), |x| x % 1000L == 0L)))",
        "map(rangeiter(0L, n, 1L), |x| 1L / (x - n + 1L))",  // fails at its end
    };
    const std::int64_t n = 20'000;
    const std::string macros =
        "macro serialize_key(x) = (map(serialize(x % 13L), |byte| i8(byte)));\n|n: i64| ";
    std::vector<Module> modules;
    std::vector<std::string> expected;  // empty: it fails
    for (const char* program : programs) {
        modules.push_back(compile(macros + program));
        const Context one = context({{"weld.threads", "1"}});
        expected.push_back(text_of(Value(run_quietly(modules.back().get(), one.get(), n))));
    }
    CHECK(expected.back().empty());
    const Context shared = context({{"weld.threads", "3"}});
    std::atomic<int> good{0};
    on_threads(6, [&](int thread) {
        const Context own = context({{"weld.threads", "2"}});
        for (std::size_t i = 0; i < 4 * modules.size(); ++i) {
            const std::size_t k = (i + std::size_t(thread)) % modules.size();
            const Value out(run_quietly(modules[k].get(), (i % 2 ? own : shared).get(), n));
            if (text_of(out) == expected[k]) ++good;
        }
    });
    CHECK(good == int(6 * 4 * modules.size()));
    CHECK(weld_context_memory_usage(shared.get()) == 0);
}

TEST_CASE("threads compile at the same time") {
    std::atomic<int> good{0};
    on_threads(4, [&](int thread) {
        for (int i = 0; i < 5; ++i) {
            const std::string code = "|x: i64| x + " + std::to_string(thread * 100 + i) + "L";
            const Module m(weld_module_compile(code.c_str(), nullptr, nullptr));
            const Context c(weld_context_new(nullptr));
            const Value out(run_quietly(m.get(), c.get(), std::int64_t(1)));
            if (out && as<std::int64_t>(out) == thread * 100 + i + 1) ++good;
        }
    });
    CHECK(good == 20);
}

TEST_CASE("a module may be freed while it runs") {
    weld_module_t m =
        compile("|n: i64| result(for(rangeiter(0L, n, 1L), merger[i64,+], |b, i, x| merge(b, x)))").release();
    const Context c = context();
    Value out;
    std::thread runner([&] { out.reset(run_quietly(m, c.get(), std::int64_t(100'000'000))); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    weld_module_free(m);
    runner.join();
    if (out)
        CHECK(as<std::int64_t>(out) == 4'999'999'950'000'000);  // it may have been freed before the run began
}

TEST_CASE("results do not depend on the number of threads") {
    std::vector<double> v(1'000'000);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1.0 / double(i + 1);
    const Module m = compile("|v: vec[f64]| result(for(v, merger[f64,+], |b, i, x| merge(b, x)))");
    const double one = as<double>(run(m, context({{"weld.threads", "1"}}), vec(v)));
    for (const char* threads : {"2", "3", "16"})
        CHECK(as<double>(run(m, context({{"weld.threads", threads}}), vec(v))) == one);
    const Module single = compile("|v: vec[f64]| result(for(v, merger[f64,+], |b, i, x| merge(b, x)))",
                                  {{"weld.compile.multithreadSupport", "false"}});
    CHECK(as<double>(run(single, context(), vec(v))) == one);
}

TEST_CASE("a run can be stopped") {
    const Module m = compile(
        "|n: i64| iterate({n, 0L}, |s| {{s.$0, s.$1 + result(for(rangeiter(0L, 1000L, 1L), "
        "merger[i64,+], |b, i, x| merge(b, x ^ s.$1)))}, true}).$1");
    for (const char* threads : {"1", "4"}) {
        const Context c = context({{"weld.threads", threads}});
        const Error e = error();
        Value out;
        std::thread runner([&] {
            const std::int64_t n = 1;
            const Value input(weld_value_new(&n));
            out.reset(weld_module_run(m.get(), c.get(), input.get(), e.get()));
        });
        wait_for_work(0.05);
        weld_context_cancel(c.get());
        runner.join();
        CHECK_FALSE(out);
        CHECK(weld_error_code(e.get()) == WELD_CANCELLED);
        CHECK(weld_context_memory_usage(c.get()) == 0);
        // and the context goes on
        CHECK(as<std::int32_t>(run(compile("1 + 1"), c)) == 2);
    }
}

TEST_CASE("a cancel stops the runs that are going on, and no other") {
    const Module waits = compile(
        "|n: i64| let a = cudf[test_wait,i64](n); sum(result(for(rangeiter(0L, a, 1L), "
        "appender[i64], |b, i, x| merge(b, x))))");
    const Module sums =
        compile("|n: i64| result(for(rangeiter(0L, n, 1L), merger[i64,+], |b, i, x| merge(b, x)))");
    const Context c = context({{"weld.threads", "2"}});
    const std::int64_t n = 3'000'000;  // enough for several chunks
    const auto run_waiting = [&](std::int64_t* code) {
        const Error e = error();
        const Value input(weld_value_new(&n));
        const Value out(weld_module_run(waits.get(), c.get(), input.get(), e.get()));
        *code = out ? 0 : std::int64_t(weld_error_code(e.get()));
    };
    // There is always a run going on: a cancelled one that goes on waits until the next has begun.
    constexpr int rounds = 20;
    std::int64_t codes[rounds + 1];
    std::vector<std::thread> runners;
    std::atomic<int> good{0}, runs{0};
    for (int i = 0; i <= rounds; ++i) {
        waiting = i;
        runners.emplace_back([&, i] { run_waiting(&codes[i]); });
        while (began <= i) std::this_thread::yield();
        if (i > 0) runners[std::size_t(i - 1)].join();  // after `waiting` let it go on
        if (i < rounds) weld_context_cancel(c.get());
        on_threads(8, [&](int) {
            ++runs;
            const Value out(run_quietly(sums.get(), c.get(), n));
            if (out && as<std::int64_t>(out) == n * (n - 1) / 2) ++good;
        });
    }
    waiting = rounds + 1;
    runners.back().join();
    CHECK(good == runs);
    for (int i = 0; i < rounds; ++i) CHECK(codes[i] == WELD_CANCELLED);
    CHECK(codes[rounds] == 0);
}

TEST_CASE("whatever goes on for long can be stopped") {
    const std::string range = "for(rangeiter(0L, n, 1L), ";
    const std::string vector =
        "let v = result(" + range + "appender[i64], |b, i, x| merge(b, x * 7919L % 1000003L))); ";
    const std::pair<std::string, std::int64_t> programs[] = {
        {"|n: i64| result(" + range + "merger[f64,+], |b, i, x| merge(b, sin(f64(x)))))", 1'000'000'000'000},
        {"|n: i64| result(" + range + "merger[i64,+], |b, i, x| merge(b, x ^ 5L)))", 100'000'000'000'000},
        {"|n: i64| result(@(parallel:false) " + range + "merger[f64,+], |b, i, x| merge(b, f64(x))))",
         1'000'000'000'000},
        {"|n: i64| let s = " + range +
             "{merger[f64,+], vecmerger[i64,+]([0L, 0L])}, |b, i, x| {merge(b.$0, "
             "f64(x)), merge(b.$1, {x & 1L, 1L})}); {result(s.$0), result(s.$1)}",
         1'000'000'000'000},
        {"|n: i64| result(" + range + "vecmerger[f64,+]([0.0, 0.0]), |b, i, x| merge(b, {x & 1L, 1.5})))",
         1'000'000'000'000},
        {"|n: i64| result(" + range + "dictmerger[i64,i64,+], |b, i, x| merge(b, {x % 100L, x})))",
         1'000'000'000'000},
        {"|n: i64| result(" + range + "dictmerger[i64,f64,+], |b, i, x| merge(b, {x & 3L, f64(x)})))",
         1'000'000'000'000},
        {"|n: i64| result(" + range + "topk[i64](1000L), |b, i, x| merge(b, n - x)))", 1'000'000'000'000},
        {"|n: i64| result(for([1L, 2L, 3L], merger[i64,+], |b, i, x| merge(b, result(" + range +
             "merger[i64,+], |c, j, y| merge(c, x ^ y))))))",
         100'000'000'000'000},
        {"|n: i64| result(" + range + "merger[i64,+], |b, i, x| " + range + "b, |c, j, y| merge(c, x ^ y))))",
         100'000'000},
        {"|n: i64| iterate(0L, |x| {x + n & 255L, x >= 0L})", 1},
        {"def fib(k: i64): i64 = if(k < 2L, k, fib(k - 1L) + fib(k - 2L)); |n: i64| fib(n)", 90},
        // these end by themselves, after some seconds
        {"|n: i64| " + vector + "lookup(sort(v, |x| sin(f64(x))), n / 2L)", 20'000'000},
        {"|n: i64| " + vector + "len(result(for(v, groupmerger[i64,i64], |b, i, x| merge(b, {x, i}))))",
         20'000'000},
        {"|n: i64| let v = result(for(rangeiter(0L, n * n, 1L), appender[f64], |b, i, x| merge(b, "
         "f64((x / n) * (x % n) % 1009L)))); len(cudf[weld_eigen,{vec[f64],vec[f64]}]({v, n, n}).$0)",
         3000},
    };
    for (const auto& [text, n] : programs) {
        CAPTURE(text);
        const std::clock_t before = std::clock();
        const Module m = compile(text.c_str());
        const std::clock_t compiling = std::clock() - before;
        for (const char* threads : {"1", "3"}) {
            const Context c = context({{"weld.threads", threads}});
            const Error e = error();
            Value out;
            std::thread runner([&] {
                const Value input(weld_value_new(&n));
                out.reset(weld_module_run(m.get(), c.get(), input.get(), e.get()));
            });
            wait_for_work(0.2);
            const std::clock_t begin = std::clock();
            weld_context_cancel(c.get());
            runner.join();
            // Time of processors, since others may have them, and by that of compiling, since they may be
            // slow: it was hundreds of times that. bench/latency.cpp measures it in ms.
            CHECK(std::clock() - begin < 100 * compiling);
            CHECK_FALSE(out);
            CHECK(weld_error_code(e.get()) == WELD_CANCELLED);
            CHECK(weld_context_memory_usage(c.get()) == 0);
        }
    }
}

TEST_CASE("stopping when nothing runs does nothing") {
    const Context c = context();
    weld_context_cancel(c.get());
    CHECK(as<std::int32_t>(run(compile("1 + 1"), c)) == 2);
}
