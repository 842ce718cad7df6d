// Read, run, print, again. `let`, `def`, `macro` and `type` statements are kept; `:commands` are for the
// tool.
#include "frontend/cli/interactive.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "frontend/api/languages.h"
#include "frontend/cli/command.h"
#include "frontend/cli/interrupt.h"
#include "frontend/cli/line_editor.h"
#include "frontend/cli/session.h"
#include "weldir/support/visible.h"

namespace weld {

static constexpr std::string_view kHelp =
    "Type a program to run it; `let`, `def`, `macro` and `type` statements are kept for later.\n"
    "  :type PROGRAM              the type of its result\n"
    "  :explain[=STAGE,...] PROGRAM   run it and show it after the stages (as --explain does)\n"
    "  :time PROGRAM              run it and say how long each step took\n"
    "  :load LIB                  load a library with functions for cudf[...]\n"
    "  :clear                     forget all definitions\n"
    "  :help                      this\n"
    "  :quit                      leave (also Ctrl-D)\n"
    "Ctrl-C cancels what is typed, or stops a run. An empty line ends a program that seems to go on.\n";

static std::string history_file() {
    const char* home = std::getenv("HOME");
    return home && *home ? std::string(home) + "/.weld_history" : std::string();
}

namespace {

class Interactive {
  public:
    explicit Interactive(const Options& options) : options_(options) { options_.source = Source::Text; }

    int run() {
        if (const int code = settings_.apply(options_)) return code;
        settings_.compile.name = "<input>";
        const Language* language = find_language(settings_.compile.language);
        leaves_values_ = settings_.compile.is_entry = language->session == SessionStyle::Values;
        say("weld " WELD_VERSION "; `:help` tells what can be typed here\n");
        LineEditor editor(history_file());
        for (std::string input; !leave_ && read_input(editor, &input);) handle(input);
        return kRan;
    }

  private:
    /// Leaves if nobody can read it any more.
    void say(std::string_view text) { leave_ |= print_text(text) != kRan; }

    /// Reads lines until they are complete. False at the end of input.
    bool read_input(LineEditor& editor, std::string* input) const {
        input->clear();
        for (std::string line;;) {
            switch (editor.read(input->empty() ? "weld> " : "  ... ", &line)) {
                case LineEnd::End: print_text("\n"); return false;
                case LineEnd::Cancelled: input->clear(); continue;
                case LineEnd::Line: break;
            }
            const bool forced = line.empty() && !input->empty();
            *input += input->empty() ? line : '\n' + line;
            if (!line.empty()) editor.remember(line);
            if (forced || (!input->empty() && (input->front() == ':' || !goes_on(*input)))) return true;
        }
    }

    bool goes_on(std::string_view input) const {
        return is_incomplete(input) || (leaves_values_ && lacks_body(input));
    }

    void handle(std::string_view input) {
        const auto start = input.find_first_not_of(" \t\r\n");
        if (start == input.npos) return;
        input.remove_prefix(start);
        if (input.front() == ':') return obey(input.substr(1));
        if (leaves_values_) return evaluate(options_, std::string(input));
        const std::string text = with_last_semicolon(input);
        if (!is_definition(text)) return evaluate(options_, text);
        // It is kept only if it compiles and runs: it will stand before everything that follows.
        Definitions with = definitions_;
        with.add(text);
        Options check = options_;
        check.quiet = true;
        if (run_program(check, settings_, with.program("true")) == kRan) definitions_ = std::move(with);
    }

    void obey(std::string_view command) {
        const std::size_t end = std::min(command.find_first_of(" \t\n"), command.size());
        const std::string_view name = command.substr(0, end);
        std::string_view rest = command.substr(end);
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t\n"), rest.size()));
        Options options = options_;
        if (name == "quit" || name == "q") leave_ = true;
        else if (name == "help") say(kHelp);
        else if (name == "clear") definitions_.clear(), settings_.left = {};
        else if (name == "load") load(std::string(rest));
        else if (name == "type") {
            if (leaves_values_) return evaluate(options, fmt::format("print(typeOf({}));", rest));
            options.task = Task::Type;
            evaluate(options, std::string(rest));
        } else if (name == "time") {
            options.timing = Timing::Table;
            evaluate(options, std::string(rest));
        } else if (name == "explain" || name.starts_with("explain=")) {
            explain(name == "explain" ? "" : name.substr(8), std::string(rest));
        } else {
            say(fmt::format("there is no command `:{}`; `:help` lists all\n", visible(name)));
        }
    }

    void load(std::string path) {
        while (path.ends_with(' ')) path.pop_back();
        if (std::string error; !settings_.libraries->load(path, &error)) say(visible(error) + '\n');
    }

    void explain(std::string_view stages, std::string text) {
        Options options = options_;
        options.explain = true;
        options.stages = split_names(stages);
        const CompileOptions before = settings_.compile;
        if (settings_.choose_stages(options) == kRan) evaluate(options, text);
        settings_.compile = before;
    }

    void evaluate(const Options& options, std::string text) {
        run_program(options, settings_, definitions_.program(text));
    }

    Options options_;
    Settings settings_;
    Definitions definitions_;
    bool leaves_values_ = false;
    bool leave_ = false;
};

}  // namespace

int run_interactive(const Options& options) { return Interactive(options).run(); }

}  // namespace weld
