// The comparisons, one after the other.
#include "tests/driver/check.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "codegen/engine.h"
#include "frontend/weld/weld.h"
#include "runtime/vecmath/vecmath.h"
#include "tests/driver/test_file.h"
#include "tests/interp/compare.h"
#include "weldir/ir/print.h"
#include "weldir/ir/verify.h"
#include "weldir/passes/pass.h"

namespace weld::driver {

Text::Text(const std::string& text) {
    module.simd_bytes = target_simd_bytes();
    Diagnostics diagnostics;
    if (!read_weld(module, "test", text, {}, diagnostics)) error = diagnostics.draw(module.sources, false);
}

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

std::string check_text(const Module& m) {
    if (std::string error = verify(m); !error.empty()) return "it does not verify: " + error;
    const std::string once = print(m);
    const Text again(once);
    if (!again.ok()) return "what it prints does not read back:\n" + again.error + once;
    const std::string twice = print(again.module);
    if (once != twice) return "what it prints reads back as another program:\n" + once + "--\n" + twice;
    return {};
}

std::string run_named_passes(Module& m, const std::vector<std::string>& passes) {
    PassOptions options;
    options.names = passes;
    options.verify = true;
    options.simd_bytes = target_simd_bytes();
    std::string error;
    return run_passes(m, options, &error) ? "" : error;
}

std::vector<Config> configs_for(const std::optional<std::vector<std::string>>& passes) {
    if (passes) return {{0, std::vector<std::string>()}, {2, passes}, {2, std::nullopt}};
    return {{0, std::nullopt}, {1, std::nullopt}, {2, std::nullopt}, {3, std::nullopt}};
}

// ---- outcomes

static std::string shown_failure(int code, std::uint32_t line, std::uint32_t column) {
    return fmt::format("{} {}:{}", name_of_code(code), line, column);
}

static std::string compare_failures(const interp::Outcome& expected, const Position& at, int code,
                                    std::uint32_t line, std::uint32_t column, bool exact) {
    if (!exact || (expected.code == code && at.line == line && at.column == column)) return {};
    return fmt::format("it fails with {}, not {}", shown_failure(code, line, column),
                       shown_failure(expected.code, at.line, at.column));
}

std::string check_interpreted(const Module& m, std::span<const interp::Value> args,
                              const interp::Outcome& expected, const Sources& sources,
                              const CheckOptions& options) {
    const interp::Outcome out = interp::run(m, args, interpreter_options());
    if (out.kind == interp::Outcome::GaveUp || expected.decided) return {};
    if (out.kind == interp::Outcome::Failed) {
        const Position at = m.sources.position(out.loc);
        if (expected.kind == interp::Outcome::Done)
            return "it fails with " + shown_failure(out.code, at.line, at.column);
        return compare_failures(expected, sources.position(expected.loc), out.code, at.line, at.column,
                                options.exact_failures);
    }
    if (expected.kind == interp::Outcome::Failed) return "it does not fail";
    return interp::difference(m.main->type->result(), expected.value, out.value, options.unordered);
}

static std::string compare_ran(const Ran& ran, const Module& m, const interp::Outcome& expected, bool exact,
                               bool unordered) {
    if (expected.decided) return {};
    if (!ran.done) {
        if (expected.kind == interp::Outcome::Done) return "it fails: " + ran.message;
        return compare_failures(expected, m.sources.position(expected.loc), ran.code, ran.line, ran.column,
                                exact);
    }
    if (expected.kind == interp::Outcome::Failed) return "it does not fail";
    return interp::difference(m.main->type->result(), expected.value, ran.value, unordered);
}

std::string check_compiled(const std::vector<Config>& configs, const std::vector<Compiled>& programs,
                           const Module& m, std::span<const interp::Value> args,
                           const interp::Outcome& expected, const CheckOptions& options) {
    for (std::size_t i = 0; i < configs.size(); ++i) {
        if (!programs[i].error.empty())
            return configs[i].name() + ": it does not compile: " + programs[i].error;
        // Without passes, what fails first is what is written first.
        const bool exact = options.exact_failures || i == 0;
        for (int threads : {1, 4}) {
            reset_notes();
            const Ran ran = programs[i].run(args, threads);
            std::string wrong = compare_ran(ran, m, expected, exact, options.unordered);
            if (wrong.empty() && ran.done && notes() != options.notes && !expected.decided)
                wrong = fmt::format("weld_test_note is called {} times, not {}, or with other numbers",
                                    notes().calls, options.notes.calls);
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
    CheckOptions options;
    options.notes = notes();
    const std::vector<Config> configs = configs_for(std::nullopt);
    std::vector<Compiled> programs;
    for (const Config& c : configs) programs.emplace_back(text, c);
    return check_compiled(configs, programs, m, args, expected, options);
}

}  // namespace weld::driver
