// The comparisons, one after the other.
#include "tests/driver/check.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "runtime/vecmath/vecmath.h"

namespace weld::driver {

static double runtime_math(Op op, Scalar type, double x, double y) {
    if (type == Scalar::F32) return vecmath_f32(info(op).text, float(x), float(y));
    return vecmath_f64(info(op).text, x, y);
}

interp::Options interpreter_options() {
    interp::Options o;
    o.math = runtime_math;
    o.resolve = [](std::string_view name) { return dlsym(RTLD_DEFAULT, std::string(name).c_str()); };
    return o;
}

std::vector<Config> configs_for(const std::optional<std::vector<std::string>>& passes) {
    if (passes) return {{0, std::vector<std::string>()}, {2, passes}, {2, std::nullopt}};
    return {{0, std::nullopt}, {1, std::nullopt}, {2, std::nullopt}, {3, std::nullopt}};
}

std::string check_compiled(const std::vector<Config>& configs, const std::vector<Compiled>& programs,
                           const Module& m, std::span<const interp::Value> args,
                           const interp::Outcome& expected, const CompareOptions& options,
                           const Notes& noted) {
    for (std::size_t i = 0; i < configs.size(); ++i) {
        if (!programs[i].error.empty())
            return configs[i].name() + ": it does not compile: " + programs[i].error;
        // Without passes, what fails first is what is written first.
        CompareOptions of_config = options;
        of_config.exact_failures |= i == 0;
        for (int threads : {1, 4}) {
            reset_notes();
            const Ran ran = programs[i].run(args, threads);
            std::string wrong = compare_ran(ran, m, expected, of_config);
            if (wrong.empty() && ran.done && notes() != noted && !expected.decided)
                wrong = fmt::format("weld_test_note is called {} times, not {}, or with other numbers",
                                    notes().calls, noted.calls);
            if (!wrong.empty()) return fmt::format("{}, {} threads: {}", configs[i].name(), threads, wrong);
        }
    }
    return {};
}

std::string check_everything(const std::string& text, std::span<const interp::Value> args,
                             const interp::Options& limits) {
    const Text read(text);
    if (!read.ok()) return "it is rejected: " + read.error;
    const Module& m = read.module;
    if (std::string wrong = check_text(m); !wrong.empty()) return wrong;
    reset_notes();
    const interp::Outcome expected = interp::run(m, args, limits);
    if (expected.kind == interp::Outcome::GaveUp) return {};
    const Notes noted = notes();
    const std::vector<Config> configs = configs_for(std::nullopt);
    std::vector<Compiled> programs;
    for (const Config& c : configs) programs.emplace_back(text, c);
    return check_compiled(configs, programs, m, args, expected, {}, noted);
}

}  // namespace weld::driver
