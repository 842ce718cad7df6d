// Any bytes as a script: they are rejected with a diagnostic, or make a tree that prints as text that is read
// as the same, and a module that verifies.
#include <algorithm>

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

/// What a script may find: a matrix and a frame in files, a script to import.
static bool describe(const std::string& path, bool, std::string* text, std::string* error) {
    if (path.ends_with("f.csv"))
        *text =
            R"({"numRows":2,"numCols":2,"schema":[{"label":"a","valueType":"si64"},{"label":"b","valueType":"str"}]})";
    else if (path.ends_with("m.csv"))
        *text = R"({"numRows":3,"numCols":3,"valueType":"f64","numNonZeros":1})";
    else return *error = "no such file", false;
    return true;
}
static bool load(const std::string& path, std::string* text, std::string* error) {
    if (!path.ends_with("lib.daphne")) return *error = "no such file", false;
    *text = "x = 3;\ndef f(a) { return a + 1; }\n";
    return true;
}

/// Reads the script, and its rest as often as it was cut. `is_entry`: of a session, whose values stay.
static void check(const std::string& text, bool is_entry) {
    const std::vector<std::string> arguments = {"n=5", "s=\"a\""};
    std::shared_ptr<const Environment> before;
    for (int parts = 0; parts < 4; ++parts) {
        Module m;
        Diagnostics diagnostics;
        std::shared_ptr<const Environment> after;
        const ReadOptions options{.script_args = arguments,
                                  .sparsity_threshold = is_entry ? 0 : 0.25,
                                  .load = load,
                                  .describe = describe,
                                  .before = before.get(),
                                  .after = &after,
                                  .is_entry = is_entry};
        if (read_daphne(m, "fuzz", text, options, diagnostics)) {
            if (const std::string wrong = verify(m); !wrong.empty())
                fuzz::demand_nothing(text + "\n-- " + wrong);
            if (!after || !after->goes_on()) return;
            before = after;
            continue;
        }
        const std::string drawn = diagnostics.draw(m.sources, false);
        const auto is_ours = [](const Diagnostic& d) { return d.message.starts_with("internal error"); };
        if (drawn.find("error: ") == drawn.npos || std::ranges::any_of(diagnostics.all(), is_ours))
            fuzz::demand_nothing(text + "\n-- is rejected so: " + drawn);
        return;
    }
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
    check(text, true);
    check(text, false);
    return 0;
}
