// Reading, printing, rewriting and interpreting programs, and comparing what comes of it.
#include "tests/driver/interpreted.h"

#include <fmt/format.h>

#include "tests/driver/test_file.h"
#include "tests/interp/compare.h"
#include "weldir/ir/print.h"
#include "weldir/ir/verify.h"
#include "weldir/ir/walk.h"

namespace weld::driver {

Text::Text(const std::string& text, decltype(&read_weld) read) {
    Diagnostics diagnostics;
    ReadOptions options;
    options.is_printed_module = true;  // programs of users may be read so too: only codegen believes it
    if (!read(module, "test", text, options, diagnostics)) error = diagnostics.draw(module.sources, false);
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

/// Comparisons of two numbers: a pass that asks this makes a branch that is never taken, or always.
static int known_guards(const Module& m) {
    int count = 0;
    visit(m.main, [&](const Expr* e) {
        const bool compares = is_scalar_op(e->op) && info(e->op).rule == TypeRule::Compare;
        count += compares && e->arg(0)->op == Op::Literal && e->arg(1)->op == Op::Literal;
    });
    return count;
}

std::string run_named_passes(Module& m, const std::vector<std::string>& passes,
                             std::optional<std::int64_t> most_optimised) {
    const int before = known_guards(m);
    PassOptions options;
    options.names = passes;
    options.verify = true;
    if (most_optimised) options.most_optimised = *most_optimised;
    std::string error;
    if (!run_passes(m, options, &error)) return error;
    return known_guards(m) > before ? "a pass asks for what it could know:\n" + print(m) : "";
}

// ---- outcomes

static std::string compare_failures(const Ran& ran, const Position& at, int code, bool exact) {
    if (!exact || (ran.code == code && ran.line == at.line && ran.column == at.column)) return {};
    return fmt::format("it fails with {} {}:{}, not {} {}:{}", name_of_code(ran.code), ran.line, ran.column,
                       name_of_code(code), at.line, at.column);
}

std::string compare_ran(const Ran& ran, const Module& m, const interp::Outcome& expected,
                        const CompareOptions& options) {
    if (expected.decided) return {};
    if (ran.output != expected.output)
        return fmt::format("it prints \"{}\", and not \"{}\"", ran.output, expected.output);
    if (!ran.done && ran.message.find(expected.said) == std::string::npos) return "it fails: " + ran.message;
    if (!ran.done) {
        if (expected.kind == interp::Outcome::Done) return "it fails: " + ran.message;
        return compare_failures(ran, m.sources.position(expected.loc), expected.code, options.exact_failures);
    }
    if (expected.kind == interp::Outcome::Failed) return "it does not fail";
    return interp::difference(m.main->type->result(), expected.value, ran.value, options.unordered);
}

std::string check_interpreted(const Module& rewritten, const Module& m, std::span<const interp::Value> args,
                              const interp::Outcome& expected, const CompareOptions& options,
                              const interp::Options& limits) {
    interp::Outcome out = interp::run(rewritten, args, limits);
    if (out.kind == interp::Outcome::GaveUp) return {};
    if (out.kind == interp::Outcome::Broken) return out.said;
    Ran ran;
    ran.done = out.kind == interp::Outcome::Done;
    ran.value = std::move(out.value);
    ran.output = std::move(out.output);
    if (!ran.done) {
        const Position at = m.sources.position(out.loc);
        ran.code = out.code;
        ran.line = at.line;
        ran.column = at.column;
        ran.message = fmt::format("{} {}:{} {}", name_of_code(out.code), at.line, at.column, out.said);
    }
    return compare_ran(ran, m, expected, options);
}

std::string check_passes(const std::string& text, std::span<const interp::Value> args, PassOptions passes,
                         const interp::Options& limits) {
    const Text before(text);
    if (!before.ok()) return "it is rejected: " + before.error;
    if (std::string wrong = check_text(before.module); !wrong.empty()) return wrong;
    const interp::Outcome expected = interp::run(before.module, args, limits);
    if (expected.kind == interp::Outcome::GaveUp || expected.kind == interp::Outcome::Broken) return {};
    Text after(text);
    std::string wrong;
    passes.verify = true;
    passes.after = [&](std::string_view pass, const Module& m, bool changed) {
        if (!changed || !wrong.empty()) return;
        wrong = check_interpreted(m, before.module, args, expected, {}, limits);
        if (wrong.empty()) wrong = check_text(m);
        if (!wrong.empty()) wrong = fmt::format("after pass {}: {}", pass, wrong);
    };
    std::string error;
    if (!run_passes(after.module, passes, &error)) return error;
    return wrong;
}

}  // namespace weld::driver
