// The comparisons, one after the other.
#include "tests/driver/check.h"

#include <algorithm>

#include <dlfcn.h>

#include <fmt/format.h>

#include "runtime/vecmath/vecmath.h"
#include "tests/interp/compare.h"

namespace weld::driver {

interp::Options interpreter_options(Cpu cpu) {
    interp::Options o;
    const std::string_view isa = cpu == Cpu::Native ? vecmath_isa() : name_of(cpu);
    o.math = [isa](Op op, Scalar type, double x, double y) -> double {
        if (type == Scalar::F32) return vecmath_f32(info(op).text, float(x), float(y), isa);
        return vecmath_f64(info(op).text, x, y, isa);
    };
    o.resolve = [](std::string_view name) { return dlsym(RTLD_DEFAULT, std::string(name).c_str()); };
    return o;
}

std::vector<Config> configs_for(const std::optional<std::vector<std::string>>& passes) {
    std::vector<Config> all = {{0}, {1}, {2}, {3}};
    if (passes) all = {{0, std::vector<std::string>()}, {2, passes}, {2}};
    all.push_back({.passes = passes, .quick = true});
    const std::vector<Cpu> cpus = runnable_cpus();
    for (std::size_t i = 0; i + 2 < cpus.size(); ++i) {  // the last two are of one width
        all.push_back({2, passes, cpus[i]});
        if (!passes && cpus[i] != Cpu::Sse2)  // which has to agree with no other
            for (int level : {1, 3}) all.push_back({level, passes, cpus[i]});
    }
    return all;
}

std::vector<Config> some_configs(std::uint64_t choice) {
    const int level = 1 + int(choice % 3);
    const std::vector<Cpu> cpus = runnable_cpus();
    std::vector<Config> some;
    for (std::size_t i = 0; i < cpus.size(); ++i)
        if (i + 2 != cpus.size())
            some.push_back({level, std::nullopt, cpus[i]});  // the last two are of one width
    const Config more[] = {{0}, {.level = level, .quick = true}, {1 + level % 3}};
    some.push_back(more[choice / 3 % 3]);
    return some;
}

/// Where nothing is fused, math functions have other last bits.
static std::string compare_unfused(const Ran& ran, const Module& m, std::span<const interp::Value> args,
                                   const CompareOptions& options) {
    return compare_ran(ran, m, interp::run(m, args, interpreter_options(Cpu::Sse2)), options);
}

/// Where two runs that must agree in every bit do not.
static std::string compare_bits(const Ran& a, const Ran& b, const Module& m, bool unordered) {
    if (a.done && b.done) return interp::difference(m.main->type->result(), a.value, b.value, unordered);
    const bool same = !a.done && !b.done && a.code == b.code && a.line == b.line && a.column == b.column;
    return same ? ""
                : fmt::format("it gives {}, and not {}", b.done ? "a result" : b.message,
                              a.done ? "a result" : a.message);
}

static constexpr int kMostSeconds = 10;  ///< of a run that is to fail, on a busy machine

std::string check_compiled(const std::vector<Config>& configs, const std::vector<Compiled>& programs,
                           const Module& m, std::span<const interp::Value> args,
                           const interp::Outcome& expected, const CompareOptions& options,
                           const Notes& noted) {
    // What cannot fail may be moved before what fails, and may be long: the interpreter never came to it.
    const bool fails = expected.kind == interp::Outcome::Failed;
    std::vector<std::pair<const Config*, Ran>> firsts;  // of configurations that mean the same bits
    for (std::size_t i = 0; i < configs.size(); ++i) {
        if (!programs[i].error.empty())
            return configs[i].name() + ": it does not compile: " + programs[i].error;
        // Without passes, what fails first is what is written first.
        CompareOptions of_config = options;
        of_config.exact_failures |= configs[i].level == 0;
        for (int threads : {1, 4}) {
            if (threads > 1) programs[i].optimise();
            reset_notes();
            const Ran ran = programs[i].run(args, threads, fails ? kMostSeconds : 0);
            if (fails && ran.code == kWeldCancelled) continue;
            const Notes called = notes();
            std::string wrong = compare_ran(ran, m, expected, of_config);
            if (!wrong.empty() && configs[i].cpu == Cpu::Sse2)
                wrong = compare_unfused(ran, m, args, of_config);
            if (wrong.empty() && ran.done && called != noted && !expected.decided)
                wrong = fmt::format("weld_test_note is called {} times, not {}, or with other numbers",
                                    called.calls, noted.calls);
            const auto first = std::ranges::find_if(
                firsts, [&](const auto& one) { return one.first->same_bits(configs[i]); });
            if (first == firsts.end()) firsts.emplace_back(&configs[i], ran);
            else if (wrong.empty())
                if (wrong = compare_bits(first->second, ran, m, options.unordered); !wrong.empty())
                    wrong = "against " + first->first->name() + ": " + wrong;
            if (!wrong.empty()) return fmt::format("{}, {} threads: {}", configs[i].name(), threads, wrong);
        }
    }
    return {};
}

std::string check_everything(const std::string& text, std::span<const interp::Value> args,
                             const interp::Options& limits, const std::vector<Config>& configs) {
    const Text read(text);
    if (!read.ok()) return "it is rejected: " + read.error;
    const Module& m = read.module;
    if (std::string wrong = check_text(m); !wrong.empty()) return wrong;
    reset_notes();
    const interp::Outcome expected = interp::run(m, args, limits);
    if (expected.kind == interp::Outcome::GaveUp) return {};
    if (expected.kind == interp::Outcome::Broken) return expected.said;
    const Notes noted = notes();
    std::vector<Compiled> programs;
    for (const Config& c : configs) programs.emplace_back(text, c);
    return check_compiled(configs, programs, m, args, expected, {}, noted);
}

}  // namespace weld::driver
