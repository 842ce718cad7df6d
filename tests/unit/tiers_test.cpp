// Loops that are compiled the quick way at first: when they are optimised, and that the bits stay the same.
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "frontend/api/compile.h"

using namespace weld;

namespace {

constexpr std::int64_t kAllAtOnce = PassOptions::kAllAtOnce;

/// A sum and a vector of a nest, a dictionary whose keys are constants, and a loop in an iterate.
constexpr const char* kProgram =
    "|v: vec[f64]|"
    "let s = result(for(v, merger[f64,+], |b, i, x| merge(b, x * 0.1)));"
    "let w = result(for(v, appender[f64], |b, i, x| merge(b, x + s + "
    "  result(for([1.5, 2.5, x], merger[f64,*], |c, j, y| merge(c, y))))));"
    "let d = tovec(result(for(w, dictmerger[vec[i8],f64,+], |b, i, x|"
    "  merge(b, {if(x > 3.0, \"large\", \"small\"), x}))));"
    "let last = iterate({w, 0L}, |t|"
    "  {{result(for(t.$0, appender[f64], |b, i, x| merge(b, x * 0.5 - s))), t.$1 + 1L}, t.$1 < 3L}).$0;"
    "{s, result(for(last, merger[f64,+], |b, i, x| merge(b, x))), len(d), lookup(d, 0L).$1}";

struct Numbers {
    double sum, last;
    std::int64_t keys;
    double of_key;
    bool operator==(const Numbers& other) const { return std::memcmp(this, &other, sizeof *this) == 0; }
};

std::shared_ptr<const Program> compiled(CompileOptions options, std::int64_t most_optimised = 0) {
    static int number = 0;
    options.name = "program " + std::to_string(++number);  // which was not compiled before
    options.most_optimised = most_optimised;
    CompileReport report;
    auto program = compile(kProgram, options, &report);
    REQUIRE_MESSAGE(program, report.diagnostics);
    return program;
}

std::vector<double> numbers(std::size_t n) {
    std::vector<double> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = double(i % 1000) / 7;
    return all;
}

Numbers run(const Program& program, std::vector<double> data, int threads = 2) {
    const WeldVec v = {data.data(), std::int64_t(data.size())};
    const RunOutcome outcome = program.run(&v, {.threads = threads});
    REQUIRE(outcome.ok());
    return *static_cast<const Numbers*>(outcome.value());
}

std::int64_t num_optimised(const Program& program) {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < program.tiers()->size; ++i)
        n += program.tiers()->optimised[i].load() != nullptr;
    return n;
}

}  // namespace

TEST_CASE("a program whose loops are optimised before it runs has no tiers") {
    CHECK(!compiled({}, kAllAtOnce)->tiers());
}

TEST_CASE(
    "in a small program, rounds are not quick; loops are, and what is called where one of them is long") {
    CHECK(compiled({}, 4000)->tiers()->size == 5);
    CHECK(run(*compiled({}, 4000), numbers(10)) == run(*compiled({}, kAllAtOnce), numbers(10)));
}

TEST_CASE("loops with little data stay as they are; one with much is optimised before it begins") {
    const auto quick = compiled({}), optimised = compiled({}, kAllAtOnce);
    REQUIRE(quick->tiers());
    CHECK(quick->tiers()->size == 6);  // with the round
    CHECK(run(*quick, numbers(10)) == run(*optimised, numbers(10)));
    CHECK(num_optimised(*quick) == 0);
    CHECK(run(*quick, numbers(3'000'000)) == run(*optimised, numbers(3'000'000)));
    CHECK(num_optimised(*quick) >= 3);
    CHECK(run(*quick, numbers(3'000'000), 1) == run(*optimised, numbers(3'000'000)));
}

TEST_CASE("a loop that has little to do, but often, is optimised in the end") {
    const auto program = compiled({});
    const Numbers first = run(*program, numbers(100));
    int runs = 0;
    for (; num_optimised(*program) == 0 && runs < 1'000'000; ++runs)
        CHECK(run(*program, numbers(100)) == first);
    CHECK(runs > 2);
    CHECK(num_optimised(*program) > 0);
}

TEST_CASE("a program that runs again waits for loops that are worth optimising") {
    const auto program = compiled({}, 4000);
    const Numbers first = run(*program, numbers(50'000));
    CHECK(run(*program, numbers(50'000)) == first);
    CHECK(num_optimised(*program) > 0);
    CHECK(run(*program, numbers(50'000)) == first);
}

TEST_CASE("what is kept for later runs is worth optimising at a tenth of the work") {
    std::string folder = "/tmp/weld-tiers-XXXXXX";
    REQUIRE(::mkdtemp(folder.data()));
    {
        const auto once = compiled({}), kept = compiled({.cache = folder});
        const Numbers first = run(*once, numbers(8'000), 1);
        CHECK(num_optimised(*once) == 0);
        CHECK(run(*kept, numbers(8'000), 1) == first);
        for (int waited = 0; num_optimised(*kept) == 0 && waited < 10'000; ++waited)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        CHECK(num_optimised(*kept) > 0);
        CHECK(run(*kept, numbers(8'000), 1) == first);
    }
    std::filesystem::remove_all(folder);
}

/// Rounds, and calls of a function inside one another, that call one loop each.
constexpr const char* kCalls =
    "def deep(v: vec[i64], n: i64): i64 ="
    "  (let s = result(for(v, merger[i64,+], |b, i, x| merge(b, x ^ n)));"
    "   if(n < 1L, s, deep(v, n - 1L) * 3L + s));"
    "|n: i64|"
    "let v = iterate({[1L, 2L], 0L}, |s|"
    "  {{result(for(s.$0, appender[i64], |b, i, x| merge(b, x * 3L + s.$1))), s.$1 + 1L}, s.$1 < n}).$0;"
    "result(for(v, merger[i64,+], |b, i, x| merge(b, x))) + deep(v, n)";

std::int64_t by_calls(std::int64_t n) {
    std::uint64_t v[] = {1, 2}, all = 0;
    for (std::int64_t k = 0; k <= n; ++k)
        for (std::uint64_t& x : v) x = x * 3 + std::uint64_t(k);
    for (std::int64_t k = 0; k <= n; ++k)
        all = all * 3 + (v[0] ^ std::uint64_t(k)) + (v[1] ^ std::uint64_t(k));
    return std::int64_t(all + v[0] + v[1]);
}

TEST_CASE("rounds and functions that were called often are optimised") {
    CompileReport report;
    const auto program = compile(kCalls, {.name = "calls", .most_optimised = 0}, &report);
    REQUIRE_MESSAGE(program, report.diagnostics);
    REQUIRE(program->tiers());
    const auto is_right = [&](std::int64_t n) {
        const RunOutcome outcome = program->run(&n, {.threads = 2});
        REQUIRE(outcome.ok());
        return *static_cast<const std::int64_t*>(outcome.value()) == by_calls(n);
    };
    CHECK(is_right(10));
    CHECK(num_optimised(*program) == 0);
    int runs = 0;
    for (; num_optimised(*program) < 4 && runs < 10'000; ++runs) CHECK(is_right(5000));
    CHECK(num_optimised(*program) >= 4);
    CHECK(is_right(10));
}

TEST_CASE("no more threads optimise than there are loops to be optimised") {
    const auto num_threads = [] {
        const std::filesystem::directory_iterator all("/proc/self/task");
        return std::distance(begin(all), end(all));
    };
    const auto program = compiled({.threads = 16}, 4000);
    WeldTiers* tiers = program->tiers();
    const auto before = num_threads();
    tiers->optimise(tiers, tiers->size - 1, 0);
    CHECK(num_threads() <= before + 1);
    while (tiers->optimise(tiers, tiers->size - 1, 1000)) {}
}

TEST_CASE("a program may go while its loops are being optimised") {
    for (int i = 0; i < 20; ++i) {
        const auto program = compiled({});
        WeldTiers* tiers = program->tiers();
        for (std::int64_t k = 0; k < i % 3; ++k) tiers->optimise(tiers, k, 0);
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need address space themselves
TEST_CASE("where there can be no thread, who asks for a loop optimises it, and goes on") {
    const auto program = compiled({.threads = 2});
    long pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    REQUIRE(file);
    REQUIRE(std::fscanf(file, "%ld", &pages) == 1);
    std::fclose(file);
    rlimit before, tight;
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    tight = before;
    tight.rlim_cur = rlim_t(pages) * rlim_t(sysconf(_SC_PAGESIZE)) + (8 << 20);  // less than the least stack
    REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0);
    WeldTiers* tiers = program->tiers();
    for (std::int64_t i = 0; i < tiers->size; ++i)
        while (tiers->optimise(tiers, i, 1000)) {}
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(run(*program, numbers(3'000'000)) == run(*compiled({}, kAllAtOnce), numbers(3'000'000)));
}
#endif

TEST_CASE("several threads may run a program whose loops are being optimised") {
    const auto program = compiled({.threads = 2});
    const Numbers expected = run(*compiled({}, kAllAtOnce), numbers(200'000));
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int k = 0; k < 10; ++k) wrong += !(run(*program, numbers(200'000), 1 + k % 2) == expected);
        });
    for (std::thread& t : threads) t.join();
    CHECK(wrong == 0);
}

TEST_CASE("without memory to optimise in, the quick code goes on doing") {
    const auto program = compiled({.memory_limit = 1});  // 16 MiB, which is what compiling may take at least
    CHECK(run(*program, numbers(3'000'000)) == run(*compiled({}, kAllAtOnce), numbers(3'000'000)));
}
