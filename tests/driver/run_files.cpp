// What a test file asks for, done.
#include "tests/driver/run_files.h"

#include <fstream>

#include <fmt/format.h>

#include "frontend/api/languages.h"
#include "tests/driver/check.h"
#include "tests/driver/test_file.h"
#include "tests/interp/compare.h"
#include "tests/interp/text.h"
#include "weldir/ir/print.h"

namespace weld::driver {

namespace {

class CaseRunner {
  public:
    CaseRunner(const TestFile& file, TestCase& c, bool bless, FileReport& report)
        : file_(file), case_(c), bless_(bless), report_(report) {}

    void run() {
        const Text text(case_.program, find_language(language_of_file(file_.path))->read);
        if (!case_.errors.empty()) return expect_errors(text);
        if (!check(first_line(), text.ok() ? "" : "it is rejected:\n" + text.error)) return;
        if (!check(first_line(), check_text(text.module))) return;
        Text rewritten(case_.program);
        if (case_.passes) {
            if (!check(first_line(), run_named_passes(rewritten.module, *case_.passes, case_.most_optimised)))
                return;
            compare_after(rewritten.module);
        }
        const std::vector<Config> configs = configs_for(case_.passes);
        std::vector<Compiled> programs;
        if (!case_.calls.empty())
            for (const Config& c : configs) programs.emplace_back(case_.program, c);
        for (const Call& c : case_.calls) call(c, text.module, rewritten.module, configs, programs);
    }

  private:
    std::size_t first_line() const { return case_.program.find_first_not_of('\n') + 1; }

    /// Notes a failure unless `wrong` is empty.
    bool check(std::size_t line, const std::string& wrong) {
        ++report_.checks;
        if (!wrong.empty()) report_.failures.push_back(fmt::format("{}:{}: {}", file_.path, line, wrong));
        return wrong.empty();
    }

    void expect_errors(const Text& text) {
        for (const ExpectedError& e : case_.errors) {
            const std::string head = "test:" + e.place + ": error: ";
            const std::size_t at = text.error.find(head);
            const std::string message =  // with its notes
                at == std::string::npos ? "" : text.error.substr(at, text.error.find("\ntest:", at) - at);
            if (text.ok()) check(e.line, "it is not rejected");
            else if (message.find(e.text) == std::string::npos)
                check(e.line, "the message is another one:\n" + text.error);
            else check(e.line, "");
        }
    }

    void compare_after(const Module& m) {
        const std::string found = print(m);
        if (!case_.after) return;
        if (bless_) {
            case_.after = found;
            return;
        }
        const Text wanted(*case_.after);
        if (!check(case_.after_begin, wanted.ok() ? "" : "the `after` is rejected:\n" + wanted.error)) return;
        const std::string text = print(wanted.module);
        check(case_.after_begin, text == found ? "" : "the passes make\n" + found + "and not\n" + text);
    }

    /// Reads `a, b, c` by the types of the parameters.
    bool read_args(const Call& c, const Module& m, std::vector<interp::Value>& args) {
        std::string_view rest = c.args;
        std::string error;
        for (const Type* t : m.main->type->params()) {
            if (!args.empty()) {
                rest.remove_prefix(std::min(rest.find_first_not_of(" "), rest.size()));
                if (rest.empty() || rest[0] != ',') return check(c.line, "there are too few arguments");
                rest.remove_prefix(1);
            }
            std::optional<interp::Value> v = interp::parse_value(t, &rest, &error);
            if (!v) return check(c.line, error);
            args.push_back(std::move(*v));
        }
        return check(c.line, rest.find_first_not_of(' ') == std::string_view::npos
                                 ? ""
                                 : "there are too many arguments");
    }

    std::string compare_expected(const Call& c, const Module& m, const interp::Outcome& out) {
        if (out.kind == interp::Outcome::GaveUp) return "the interpreter gives up";
        if (out.kind == interp::Outcome::Broken) return out.said;
        if (out.output != c.prints) return fmt::format("it prints \"{}\"", out.output);
        if (out.said != c.says) return fmt::format("it says \"{}\"", out.said);
        if (out.kind == interp::Outcome::Failed) {
            const Position at = m.sources.position(out.loc);
            const std::string found = fmt::format("{} {}:{}", name_of_code(out.code), at.line, at.column);
            return c.fails && found == c.expected ? "" : "it fails with " + found;
        }
        const Type* t = m.main->type->result();
        if (c.fails) return "it does not fail but gives " + interp::to_text(t, out.value);
        std::string_view text = c.expected;
        std::string error;
        const std::optional<interp::Value> expected = interp::parse_value(t, &text, &error);
        return expected ? interp::difference(t, *expected, out.value, case_.unordered) : error;
    }

    void call(const Call& c, const Module& m, const Module& rewritten, const std::vector<Config>& configs,
              const std::vector<Compiled>& programs) {
        std::vector<interp::Value> args;
        if (!read_args(c, m, args)) return;
        reset_notes();
        const interp::Outcome out = interp::run(m, args, interpreter_options());
        if (const std::string wrong = compare_expected(c, m, out); !wrong.empty())
            return void(check(c.line, "interpreted: " + wrong));
        const Notes noted = notes();
        CompareOptions options;
        options.unordered = case_.unordered;
        options.exact_failures = true;
        if (const std::string wrong =
                check_interpreted(rewritten, m, args, out, options, interpreter_options());
            !wrong.empty())
            check(c.line, "interpreted after the passes: " + wrong);
        check(c.line, check_compiled(configs, programs, m, args, out, options, noted));
    }

    const TestFile& file_;
    TestCase& case_;
    bool bless_;
    FileReport& report_;
};

/// Writes the file with the `after` blocks as they are now.
void rewrite(const TestFile& file) {
    std::ofstream out(file.path);
    std::size_t at = 0;
    for (const TestCase& c : file.cases) {
        if (!c.after) continue;
        for (; at < c.after_begin; ++at) out << file.lines[at] << '\n';
        out << *c.after;
        at = c.after_end;
    }
    for (; at < file.lines.size(); ++at) out << file.lines[at] << '\n';
}

}  // namespace

FileReport run_file(const std::string& path, bool bless) {
    FileReport report;
    TestFile file = read_test_file(path);
    if (language_of_file(path).empty()) file.error = " its ending tells no language";
    if (!file.error.empty()) {
        report.failures.push_back(path + ":" + file.error);
        return report;
    }
    for (TestCase& c : file.cases) CaseRunner(file, c, bless, report).run();
    if (bless) rewrite(file);
    return report;
}

}  // namespace weld::driver
