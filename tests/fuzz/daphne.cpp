// Any bytes as a script: they are rejected with a diagnostic, or make a tree that prints as text that is read
// as the same, and a module that verifies.
#include "frontend/daphne/daphne.h"
#include "frontend/daphne/syntax.h"
#include "tests/fuzz/fuzz.h"
#include "weldir/ir/verify.h"

using namespace weld;

namespace {

struct Parsed {
    Sources sources;
    Arena texts;
    Diagnostics diagnostics;
    std::unique_ptr<daphne::Script> script;

    explicit Parsed(std::string text) {
        const Loc begin = sources.add("fuzz", std::move(text));
        script = daphne::parse(sources, begin, texts, diagnostics);
    }
    std::string drawn() const { return diagnostics.draw(sources, false); }
};

}  // namespace

/// Parentheses make more levels of what is printed: a script that was read at the limit may be refused then.
static bool is_too_deep(const Parsed& p) { return p.drawn().find("nested too deeply") != std::string::npos; }

/// As an entry of a session, whose values stay; there are no files.
static void check(const std::string& text) {
    Module m;
    Diagnostics diagnostics;
    std::shared_ptr<const Environment> after;
    const ReadOptions options{.after = &after, .is_entry = true};
    if (read_daphne(m, "fuzz", text, options, diagnostics)) {
        if (const std::string wrong = verify(m); !wrong.empty()) fuzz::demand_nothing(text + "\n-- " + wrong);
        return;
    }
    const std::string drawn = diagnostics.draw(m.sources, false);
    if (drawn.find("error: ") == drawn.npos || drawn.find("internal error") != drawn.npos)
        fuzz::demand_nothing(text + "\n-- is rejected so: " + drawn);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const Parsed once(text);
    if (once.diagnostics.has_errors()) {
        if (once.drawn().find(": error: ") == std::string::npos)
            fuzz::demand_nothing("it is rejected without a word");
        return 0;
    }
    const std::string printed = print_syntax(*once.script);
    const Parsed again(printed);
    if (is_too_deep(again)) return 0;
    const std::string twice = again.diagnostics.has_errors() ? again.drawn() : print_syntax(*again.script);
    if (twice != printed)
        fuzz::demand_nothing(text + "\n-- is parsed as\n" + printed + "\n-- and that as\n" + twice);
    check(text);
    return 0;
}
