// read_daphne: the steps of reading in their order.
#include <chrono>

#include "frontend/daphne/check.h"
#include "frontend/daphne/daphne.h"
#include "frontend/daphne/lower.h"
#include "frontend/daphne/represent.h"
#include "frontend/daphne/script_arguments.h"
#include "frontend/daphne/syntax.h"

namespace weld {

static double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Statement `i` of the script whose text `source` begins at `begin`, with what stands before the next one.
static std::string_view text_of(std::string_view source, Loc begin, const daphne::Script& script,
                                std::size_t i) {
    std::string_view text = source.substr(script.statements[i]->loc.offset - begin.offset);
    if (i + 1 < script.statements.size())
        text = text.substr(0, script.statements[i + 1]->loc.offset - script.statements[i]->loc.offset);
    return text;
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
        daphne::add_definition(all, std::string(text_of(source, begin, script, i)));
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
    const std::unique_ptr<daphne::Script> script =
        daphne::parse(m.sources, begin, m.arena, diagnostics, options.is_entry);
    if (options.parse_ms) *options.parse_ms = milliseconds_since(start);
    const auto parsed = std::chrono::steady_clock::now();
    const daphne::Inputs inputs{daphne::read_script_arguments(options.script_args, m.arena, diagnostics),
                                options.allowed_functions,
                                options.load,
                                options.describe,
                                options.import_paths,
                                options.kernel_catalog};
    if (diagnostics.has_errors()) return false;
    if (options.parsed_text) *options.parsed_text = daphne::print_syntax(*script);
    daphne::Graph graph;
    graph.sparsity_threshold = options.sparsity_threshold;
    const auto* before = static_cast<const daphne::ScriptEnvironment*>(options.before);
    auto left = std::make_shared<daphne::ScriptEnvironment>();
    daphne::Checker(m, graph, inputs, diagnostics)
        .run(*script, path, before, options.after ? left.get() : nullptr);
    if (diagnostics.has_errors()) return false;
    if (before && !before->blocks.empty()) diagnostics.forget_after(0);  // the first part has warned
    daphne::represent(graph);
    for (std::size_t i = 0; i < left->variables.size(); ++i)
        left->variables[i].type.is_sparse = graph.main.results[i]->type.is_sparse;
    if (options.properties_text) *options.properties_text = daphne::print_graph(graph);
    if (left->has_rest) {
        if (before) left->definitions = before->definitions;
    } else if (options.is_entry) {
        for (daphne::LeftVariable& v : left->variables) v.is_wanted = true;
        left->definitions = definitions_after(m.sources.text(begin), begin, before, *script);
    }
    if (options.is_entry || left->has_rest) *options.after = std::move(left);
    else graph.main.results.clear();
    daphne::Lowering(m, graph, diagnostics).run();
    if (options.type_ms) *options.type_ms = milliseconds_since(parsed);
    return !diagnostics.has_errors();
}

}  // namespace weld
