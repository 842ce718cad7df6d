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

/// The texts of all functions and imports, those of `script`, whose text `source` begins at `begin`, the last
/// ones.
static std::vector<std::string> definitions_after(std::string_view source, Loc begin,
                                                  const daphne::ScriptEnvironment* before,
                                                  const daphne::Script& script) {
    std::vector<std::string> all;
    if (before) all = before->definitions;
    for (std::size_t i = 0; i < script.statements.size(); ++i) {
        const daphne::Statement* s = script.statements[i];
        if (s->kind != daphne::Statement::Define && s->kind != daphne::Statement::Import) continue;
        std::string_view text = source.substr(s->loc.offset - begin.offset);
        if (i + 1 < script.statements.size())
            text = text.substr(0, script.statements[i + 1]->loc.offset - s->loc.offset);
        daphne::add_definition(all, std::string(text));
    }
    return all;
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
                                options.allowed_functions, options.load, options.import_paths};
    if (diagnostics.has_errors()) return false;
    if (options.parsed_text) *options.parsed_text = daphne::print_syntax(*script);
    daphne::Graph graph;
    graph.selects_representation = options.select_matrix_repr;
    const auto* before = static_cast<const daphne::ScriptEnvironment*>(options.before);
    auto left = std::make_shared<daphne::ScriptEnvironment>();
    daphne::Checker(m, graph, inputs, diagnostics)
        .run(*script, path, before, options.after ? left.get() : nullptr);
    if (diagnostics.has_errors()) return false;
    if (options.properties_text) *options.properties_text = daphne::print_graph(graph);
    if (options.is_entry)
        left->definitions = definitions_after(m.sources.text(begin), begin, before, *script);
    if (options.is_entry || left->has_rest) *options.after = std::move(left);
    else graph.main.results.clear();
    daphne::Lowering(m, graph, diagnostics).run();
    if (options.type_ms) *options.type_ms = milliseconds_since(parsed);
    return !diagnostics.has_errors();
}

}  // namespace weld
