// Making code without memory: at whichever allocation of LLVM there is none, the work ends and says so, and
// later work gives the code that it always gave.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <malloc.h>

#include "codegen/engine.h"
#include "frontend/api/compile.h"
#include "frontend/weld/weld.h"
#include "weldir/passes/pass.h"
#include "weldir/support/deep_stack.h"
#include "weldir/support/diag.h"

using namespace weld;

// With sanitizers LLVM has the allocator of the process.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

std::unique_ptr<Module> optimized(const std::string& text) {
    auto m = std::make_unique<Module>();
    Diagnostics diagnostics;
    std::string error;
    REQUIRE(read_weld(*m, "test", text, {}, diagnostics));
    REQUIRE(run_passes(*m, {}, &error));
    return m;
}

struct Made {
    GenerateEnd end;
    std::vector<std::string> objects;
    std::int64_t allocations;
    std::string error;
};

Made make(const Module& m, int threads, std::int64_t fail_at = 0, std::int64_t bytes = INT64_MAX) {
    Budget budget(bytes);
    HeapProbe probe{.fail_at = fail_at};
    MachineCode code;
    Made made;
    const CodeOptions options{.threads = threads, .budget = &budget, .verify = true, .probe = &probe};
    on_deep_stack([&] { made.end = generate(m, options, &code, nullptr, &made.error); });
    made.objects.assign(code.objects.begin(), code.objects.end());
    made.allocations = probe.allocations;
    CHECK(budget.take(bytes));  // all was given back
    return made;
}

std::string many_loops() {
    std::string text = "|v: vec[i64]| 0L";
    for (int i = 1; i <= 12; ++i) {
        const std::string k = std::to_string(i);
        text += " + result(for(v, merger[i64,+], |b, i, x| if(x > " + k + "L, merge(b, x / " + k + "L * " +
                k + "L % 1001L), b)))";
    }
    return text;
}

const std::vector<std::string> programs = {
    "1 + 2",
    "|v: vec[f64]| map(filter(v, |x| x > 0.0), |x| sqrt(x) + sin(x))",
    "|v: vec[i64]| sort(tovec(result(for(v, dictmerger[i64,{i64,f32},+], |b, i, x| merge(b, {x, {1L, "
    "2.0f}})))), "
    "|a, b| compare(a.$0, b.$0))",
    "|v: vec[vec[i8]]| result(for(v, groupmerger[vec[i8],i64], |b, i, s| merge(b, {s, i})))",
    "|v: vec[{i16,bool}], w: vec[vec[u8]]| {serialize(v), deserialize[vec[i32]](serialize([1, 2])), w, "
    "\"text\"}",
    many_loops(),
};

/// How often each program is tried; WELD_FAULTS=all: at every allocation.
std::int64_t tries() {
    const char* faults = std::getenv("WELD_FAULTS");
    return faults && std::string(faults) == "all" ? INT64_MAX : 40;
}

}  // namespace

TEST_CASE("whichever allocation of LLVM finds no memory, the work ends with that, and later work is right") {
    for (const std::string& text : programs) {
        CAPTURE(text);
        const std::unique_ptr<Module> m = optimized(text);
        for (const int threads : {1, 4}) {
            make(*m, threads);  // what LLVM makes once in a process is there now
            const Made right = make(*m, threads);
            REQUIRE(right.end == GenerateEnd::Good);
            REQUIRE(right.allocations > 1000);
            const std::int64_t step = std::max<std::int64_t>(1, right.allocations / tries());
            for (std::int64_t n = 1; n < right.allocations * 9 / 10; n += step) {
                const Made failed = make(*m, threads, n);
                REQUIRE(failed.end == GenerateEnd::NoMemory);
                REQUIRE(failed.objects.empty());
                REQUIRE(failed.error == "");
            }
            CHECK(make(*m, threads).objects == right.objects);
        }
    }
}

TEST_CASE("LLVM's memory counts against a budget") {
    const std::unique_ptr<Module> m = optimized(programs[2]);
    const Made right = make(*m, 1);
    CHECK(make(*m, 1, 0, 1000).end == GenerateEnd::OverLimit);
    CHECK(make(*m, 1, 0, 1 << 20).end == GenerateEnd::OverLimit);
    const Made enough = make(*m, 1, 0, 64 << 20);
    CHECK(enough.end == GenerateEnd::Good);
    CHECK(enough.objects == right.objects);
}

TEST_CASE("work on a closed budget is left at its next allocation") {
    const std::unique_ptr<Module> m = optimized(programs[2]);
    Budget budget(INT64_MAX);
    budget.close();
    MachineCode code;
    std::string error;
    GenerateEnd end = GenerateEnd::Good;
    on_deep_stack([&] { end = generate(*m, {.budget = &budget}, &code, nullptr, &error); });
    CHECK(end == GenerateEnd::OverLimit);
    CHECK(code.objects.empty());
    CHECK(error == "");
}

TEST_CASE("work that was left leaves no memory behind") {
    const std::unique_ptr<Module> m = optimized(programs[2]);
    const std::int64_t all = make(*m, 1).allocations;
    const auto in_use = [] { return std::int64_t(::mallinfo2().uordblks + ::mallinfo2().hblkhd); };
    const std::int64_t before = in_use();
    for (int i = 0; i < 100; ++i) make(*m, 1, all * 3 / 4);
    CHECK(in_use() - before < 1 << 20);
}

#endif

TEST_CASE("compiling beyond the memory limit is a failure of its own kind") {
    std::string text = "|n: i64| 0L";
    for (int i = 0; i < 20'000; ++i) text += " + n * " + std::to_string(i) + "L";
    CompileReport report;
    CHECK_FALSE(compile(text, {.memory_limit = 1}, &report));
    CHECK(report.out_of_memory);
    CHECK(report.diagnostics == "error: memory limit of 16 MiB exceeded while the program was compiled\n");
    report = {};
    CHECK(compile("|n: i64| n + 1L", {.memory_limit = 1}, &report));
    CHECK_FALSE(report.out_of_memory);
}
