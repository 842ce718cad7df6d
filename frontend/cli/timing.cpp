// Times are milliseconds with five decimals: 10 ns.
#include "frontend/cli/timing.h"

#include <algorithm>

#include <fmt/format.h>
#include <time.h>

namespace weld {

static double clock_ms(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return double(now.tv_sec) * 1e3 + double(now.tv_nsec) * 1e-6;
}

double wall_ms() { return clock_ms(CLOCK_MONOTONIC); }
double process_ms() { return clock_ms(CLOCK_PROCESS_CPUTIME_ID); }

static std::string list(const std::vector<double>& times) {
    std::string text = "[";
    for (double t : times)
        fmt::format_to(std::back_inserter(text), "{}{:.5f}", text.size() > 1 ? "," : "", t);
    return text + "]";
}

std::string timing_json(const CompileTimes& compile, const RunTimes& run) {
    std::string passes;
    for (const auto& [name, ms] : compile.passes)
        fmt::format_to(std::back_inserter(passes), "{}\"{}\":{:.5f}", passes.empty() ? "" : ",", name, ms);
    return fmt::format(
        "{{\"parse_ms\":{:.5f},\"type_ms\":{:.5f},\"passes\":{{{}}},\"llvm_optimize_ms\":{:.5f},"
        "\"llvm_emit_ms\":{:.5f},\"run_ms\":{},\"cpu_ms\":{},\"peak_bytes\":{},\"threads\":{}}}\n",
        compile.parse, compile.type, passes, compile.llvm_optimize, compile.llvm_emit, list(run.run_ms),
        list(run.cpu_ms), run.peak_bytes, run.threads);
}

static std::string in_words(std::int64_t bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = double(bytes);
    int unit = 0;
    for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
    return fmt::format("{:.{}f} {}", value, unit ? 1 : 0, units[unit]);
}

static double median(std::vector<double> values) {
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

std::string timing_table(const CompileTimes& compile, const RunTimes& run) {
    std::string text;
    const auto row = [&](std::string_view name, double ms) {
        fmt::format_to(std::back_inserter(text), "{:<24}{:>14.5f} ms\n", name, ms);
    };
    row("parse", compile.parse);
    row("type", compile.type);
    for (const auto& [name, ms] : compile.passes) row("  " + name, ms);
    row("LLVM optimise", compile.llvm_optimize);
    row("LLVM emit", compile.llvm_emit);
    if (run.run_ms.size() == 1) {
        row("run", run.run_ms[0]);
        row("run, processor", run.cpu_ms[0]);
    } else if (!run.run_ms.empty()) {
        row(fmt::format("run, best of {}", run.run_ms.size()), *std::ranges::min_element(run.run_ms));
        row("run, median", median(run.run_ms));
        row("run, worst", *std::ranges::max_element(run.run_ms));
        row("run, processor, median", median(run.cpu_ms));
    }
    if (!run.run_ms.empty())
        fmt::format_to(std::back_inserter(text), "{:<24}{:>14}\n{:<24}{:>14}\n", "threads", run.threads,
                       "peak memory", in_words(run.peak_bytes));
    return text;
}

}  // namespace weld
