// read_daphne: the steps of reading in their order.
#include <chrono>

#include "frontend/daphne/check.h"
#include "frontend/daphne/daphne.h"
#include "frontend/daphne/lower.h"
#include "frontend/daphne/script_arguments.h"
#include "frontend/daphne/syntax.h"

namespace weld {

static constexpr std::size_t kLongestText = std::size_t(1) << 30;  // places are 32 bits wide

static double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

bool read_daphne(Module& m, std::string name, std::string text, const ReadOptions& options,
                 Diagnostics& diagnostics) {
    if (text.size() > kLongestText) {
        diagnostics.error({}, "the script is longer than 1 GiB");
        return false;
    }
    const auto start = std::chrono::steady_clock::now();
    const std::string path = name;
    const Loc begin = m.sources.add(std::move(name), std::move(text));
    const std::unique_ptr<daphne::Script> script = daphne::parse(m.sources, begin, m.arena, diagnostics);
    if (options.parse_ms) *options.parse_ms = milliseconds_since(start);
    const auto parsed = std::chrono::steady_clock::now();
    const daphne::Inputs inputs{daphne::read_script_arguments(options.script_args, m.arena, diagnostics),
                                options.allowed_functions, options.load};
    if (diagnostics.has_errors()) return false;
    if (options.parsed_text) *options.parsed_text = daphne::print_syntax(*script);
    daphne::Graph graph;
    graph.selects_representation = options.select_matrix_repr;
    daphne::Checker(m, graph, inputs, diagnostics).run(*script, path);
    if (diagnostics.has_errors()) return false;
    if (options.properties_text) *options.properties_text = daphne::print_graph(graph);
    daphne::Lowering(m, graph, diagnostics).run();
    if (options.type_ms) *options.type_ms = milliseconds_since(parsed);
    return !diagnostics.has_errors();
}

}  // namespace weld
