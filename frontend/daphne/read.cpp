// read_daphne: the steps of reading in their order.
#include <chrono>

#include "frontend/daphne/daphne.h"
#include "frontend/daphne/script_arguments.h"
#include "frontend/daphne/syntax.h"

namespace weld {

static constexpr std::size_t kLongestText = std::size_t(1) << 30;  // places are 32 bits wide

bool read_daphne(Module& m, std::string name, std::string text, const ReadOptions& options,
                 Diagnostics& diagnostics) {
    if (text.size() > kLongestText) {
        diagnostics.error({}, "the script is longer than 1 GiB");
        return false;
    }
    const auto start = std::chrono::steady_clock::now();
    const Loc begin = m.sources.add(std::move(name), std::move(text));
    const std::unique_ptr<daphne::Script> script = daphne::parse(m.sources, begin, m.arena, diagnostics);
    if (options.parse_ms) {
        const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
        *options.parse_ms = taken.count();
    }
    daphne::read_script_arguments(options.script_args, m.arena, diagnostics);
    if (diagnostics.has_errors()) return false;
    if (options.parsed_text) *options.parsed_text = daphne::print_syntax(*script);
    diagnostics.error(begin, "running scripts is not supported yet");
    return false;
}

}  // namespace weld
