// Any bytes as a program: they are rejected with a diagnostic, or make a module that verifies and prints as
// text that reads back the same; and so does the tree that the parser makes of them.
#include "frontend/weld/weld.h"
#include "tests/driver/interpreted.h"
#include "tests/fuzz/fuzz.h"

using namespace weld;

/// What the parser understood, as text, must be understood the same.
static std::string check_parsed(const std::string& text, const std::string& parsed) {
    Module m;
    Diagnostics diagnostics;
    ReadOptions options;
    std::string again;
    options.parsed_text = &again;
    read_weld(m, "parsed", parsed, options, diagnostics);
    if (again == parsed) return {};
    return text + "\n-- is parsed as\n" + parsed + "\n-- and that as\n" + again +
           diagnostics.draw(m.sources, false);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    Module m;
    Diagnostics diagnostics;
    ReadOptions options;
    std::string parsed;
    options.parsed_text = &parsed;
    if (!read_weld(m, "fuzz", text, options, diagnostics)) {
        const std::string shown = diagnostics.draw(m.sources, false);
        if (shown.find(": error: ") == std::string::npos)
            fuzz::demand_nothing("it is rejected without a word");
    } else {
        fuzz::demand_nothing(driver::check_text(m));
    }
    if (!parsed.empty()) fuzz::demand_nothing(check_parsed(text, parsed));
    return 0;
}
