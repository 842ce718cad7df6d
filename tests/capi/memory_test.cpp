// Contexts: what they count, what they allow, what they give back.
#include "api.h"

#include <atomic>
#include <thread>

using namespace test;

namespace {
const char* const kRange = "|n: i64| result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, x)))";
}

TEST_CASE("memory of results is counted while they live") {
    const Context c = context();
    CHECK(weld_context_memory_usage(c.get()) == 0);
    Value a = run(compile(kRange), c, std::int64_t(100'000));
    const std::int64_t one = weld_value_memory_usage(a.get());
    CHECK(one >= 800'000);
    CHECK(one <= 1'700'000);
    CHECK(weld_context_memory_usage(c.get()) == one);
    Value b = run(compile(kRange), c, std::int64_t(50'000));
    CHECK(weld_context_memory_usage(c.get()) == one + weld_value_memory_usage(b.get()));
    CHECK(weld_context_memory_peak(c.get()) >= weld_context_memory_usage(c.get()));
    a.reset();
    CHECK(weld_context_memory_usage(c.get()) == weld_value_memory_usage(b.get()));
    b.reset();
    CHECK(weld_context_memory_usage(c.get()) == 0);
    weld_context_trim(c.get());
    CHECK(weld_context_memory_usage(c.get()) == 0);
}

TEST_CASE("straight-line code gives back what it no longer reads, whatever it is") {
    // Ten times some 8 MB, of which a number is left, through 40 MB.
    const std::pair<const char*, const char*> cases[] = {
        {"vectors in vectors",
         "let r = result(for(rangeiter(0L, n, 1L), appender[vec[i64]], |b, i, x| merge(b,"
         "  result(for(rangeiter(0L, 1000L, 1L), appender[i64], |c, j, y| merge(c, x + y + s))))));"
         "let s = lookup(lookup(r, 1L), 1L) - 1L;"},
        {"the same in a struct",
         "let p = {result(for(rangeiter(0L, n, 1L), appender[vec[i64]], |b, i, x| merge(b,"
         "  result(for(rangeiter(0L, 1000L, 1L), appender[i64], |c, j, y| merge(c, x + y + s)))))), [s, 1L]};"
         "let s = lookup(lookup(p.$0, 1L), lookup(p.$1, 1L)) - 1L;"},
        {"tovec",
         "let r = tovec(result(for(rangeiter(0L, 500L * n, 1L), dictmerger[i64,i64,+], |b, i, x|"
         "  merge(b, {x, x + s}))));"
         "let s = lookup(r, 1L).$1 - lookup(r, 1L).$0 + 1L;"},
        {"groups",
         "let r = result(for(rangeiter(0L, 1000L * n, 1L), groupmerger[i64,i64], |b, i, x|"
         "  merge(b, {x % 10L, x + s})));"
         "let s = lookup(lookup(r, 1L), 0L) - 1L + 1L;"},
        {"what a function gives", "let r = rows(n, s); let s = lookup(lookup(r, 1L), 1L) - 1L;"},
    };
    const std::string rows =
        "def rows(n: i64, s: i64): vec[vec[i64]] = result(for(rangeiter(0L, n, 1L), appender[vec[i64]], |b, "
        "i, x|"
        "  merge(b, result(for(rangeiter(0L, 1000L, 1L), appender[i64], |c, j, y| merge(c, x + y + s))))));";
    for (const auto& [what, step] : cases) {
        CAPTURE(what);
        std::string text = rows + "|n: i64| let s = n - n + 1L;";
        for (int k = 0; k < 10; ++k) text += step;
        const Module m = compile(text + "s");
        for (const char* threads : {"1", "4"}) {
            const Context c = context({{"weld.memory.limit", "40000000"}, {"weld.threads", threads}});
            const Value out = run(m, c, std::int64_t(1000));
            CHECK(as<std::int64_t>(out) >= 1);
        }
    }
}

TEST_CASE("the limit holds, and only for what lives") {
    const Context c = context({{"weld.memory.limit", "8000000"}});
    CHECK(weld_context_memory_limit(c.get()) == 8'000'000);
    const Module m = compile(kRange);
    std::string message;
    CHECK(failure(m, c, std::int64_t(10'000'000), &message) == WELD_OUT_OF_MEMORY);
    CHECK(message.find("limit") != std::string::npos);
    CHECK(weld_context_memory_usage(c.get()) == 0);
    // A thousand results of 400 kB, one at a time, go through 8 MB.
    for (int i = 0; i < 1000; ++i) {
        const Value out = run(m, c, std::int64_t(50'000));
        CHECK(as<Vec<std::int64_t>>(out).data[49'999] == 49'999);
    }
    CHECK(weld_context_memory_usage(c.get()) == 0);
    // Kept, they do not.
    std::vector<Value> all;
    const Error e = error();
    for (int i = 0; i < 100; ++i) {
        const std::int64_t n = 50'000;
        const Value input(weld_value_new(&n));
        Value out(weld_module_run(m.get(), c.get(), input.get(), e.get()));
        if (!out) break;
        all.push_back(std::move(out));
    }
    CHECK(weld_error_code(e.get()) == WELD_OUT_OF_MEMORY);
    CHECK(all.size() >= 8);
    CHECK(all.size() <= 20);
    for (const Value& v : all) CHECK(as<Vec<std::int64_t>>(v).data[1] == 1);
    all.clear();
    CHECK(weld_context_memory_usage(c.get()) == 0);
}

TEST_CASE("a program that throws away what it makes stays below a limit") {
    const Context c = context({{"weld.memory.limit", "64MiB"}});
    const Module m = compile(
        "|n: i64| iterate({0L, 0L}, |s| let v = result(for(rangeiter(0L, 100000L, 1L), appender[i64], "
        "|b, i, x| merge(b, x + s.$0))); {{s.$0 + 1L, s.$1 + lookup(v, 1L)}, s.$0 < n}).$1");
    CHECK(as<std::int64_t>(run(m, c, std::int64_t(2000))) == 2001L * 2002 / 2);
}

TEST_CASE("a dictionary is counted and given back") {
    const Context c = context();
    Value out = run(compile("|n: i64| result(for(rangeiter(0L, n, 1L), groupmerger[i64,i64], |b, i, x| "
                            "merge(b, {x % 1000L, x})))"),
                    c, std::int64_t(100'000));
    CHECK(weld_dict_size(as<weld_dict_t>(out)) == 1000);
    CHECK(weld_context_memory_usage(c.get()) >= 800'000);
    out.reset();
    CHECK(weld_context_memory_usage(c.get()) == 0);
}

TEST_CASE("values may be freed by another thread") {
    const Context c = context();
    const Module m = compile(kRange);
    for (int i = 0; i < 20; ++i) {
        Value out = run(m, c, std::int64_t(10'000));
        std::thread([&] { out.reset(); }).join();
    }
    CHECK(weld_context_memory_usage(c.get()) == 0);
}

TEST_CASE("compiling counts against the limit, and fails alone") {
    std::string large = "|n: i64| 0L";
    for (int i = 0; i < 20'000; ++i) large += " + n * " + std::to_string(i) + "L";
    const Conf small = conf({{"weld.memory.limit", "20MB"}});
    for (int i = 0; i < 3; ++i) {
        const Error e = error();
        CHECK_FALSE(Module(weld_module_compile(large.c_str(), small.get(), e.get())));
        CHECK(weld_error_code(e.get()) == WELD_OUT_OF_MEMORY);
        CHECK(std::string(weld_error_message(e.get())) ==
              "error: memory limit of 20000000 bytes exceeded while the program was compiled");
        CHECK(result<std::int64_t>("|n: i64| n + " + std::to_string(i) + "L", std::int64_t(1)) == i + 1);
    }
    // what is meant for data leaves enough to compile
    const Module m = compile("|n: i64| n * 3L", {{"weld.memory.limit", "1000"}});
    CHECK(as<std::int64_t>(run(m, context(), std::int64_t(5))) == 15);
}

TEST_CASE("several threads compile without memory") {
    std::string large = "|n: i64| 0L";
    for (int i = 0; i < 20'000; ++i) large += " + n * " + std::to_string(i) + "L";
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            const Conf small = conf({{"weld.memory.limit", "20MB"}});
            for (int i = 0; i < 3; ++i) {
                const Error e = error();
                const Module none(weld_module_compile(large.c_str(), small.get(), e.get()));
                wrong += none || weld_error_code(e.get()) != WELD_OUT_OF_MEMORY;
                const std::string text = "|n: i64| n * " + std::to_string(t * 3 + i) + "L";
                const Module m(weld_module_compile(text.c_str(), small.get(), e.get()));
                wrong += !m;
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
}
