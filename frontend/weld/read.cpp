// read_weld: the steps of reading in their order.
#include <chrono>

#include "frontend/weld/reader.h"

namespace weld {

const char* const front::kStandard =  // as CMake found it
#include "standard_weld.inc"
    ;

static double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

static bool parse_all(front::Reader& reader, std::string name, std::string text) {
    const Loc begin = reader.module.sources.add(std::move(name), std::move(text));
    const Loc standard = reader.module.sources.add("standard.weld", front::kStandard, true);
    front::parse(reader, standard, true);
    front::parse(reader, begin, false);
    if (reader.diagnostics.has_errors()) return false;
    if (reader.options.parsed_text) *reader.options.parsed_text = front::print_syntax(reader.program);
    return true;
}

static bool understand(front::Reader& reader) {
    front::resolve_macros(reader);
    front::resolve_names(reader);
    front::expand(reader);
    front::infer(reader);
    front::check(reader);
    if (reader.diagnostics.has_errors()) return false;
    front::check_linearity(reader);
    front::find_effects(reader);
    if (reader.diagnostics.has_errors()) return false;
    front::lower(reader);
    return true;
}

bool read_weld(Module& m, std::string name, std::string text, const ReadOptions& options,
               Diagnostics& diagnostics) {
    if (text.size() > kLongestText) {
        diagnostics.error({}, "the program is longer than 1 GiB");
        return false;
    }
    front::Reader reader{m, options, diagnostics, {}, {}};
    reader.arena.set_budget(m.arena.budget());
    const auto start = std::chrono::steady_clock::now();
    bool good = parse_all(reader, std::move(name), std::move(text));
    const auto parsed = std::chrono::steady_clock::now();
    if (options.parse_ms) *options.parse_ms = milliseconds_since(start);
    good = good && understand(reader);
    if (options.type_ms) *options.type_ms = milliseconds_since(parsed);
    return good;
}

const Type* read_type(Module& m, std::string_view text, Diagnostics& diagnostics) {
    if (text.size() > kLongestText) {
        diagnostics.error({}, "the type is longer than 1 GiB");
        return nullptr;
    }
    const ReadOptions options;
    front::Reader reader{m, options, diagnostics, {}, {}};
    const Loc begin = m.sources.add("<type>", std::string(text));
    const front::TypeNode* written = front::parse_type(reader, begin);
    if (!written) return nullptr;
    front::Term* term = reader.terms.of(written);
    reader.terms.settle_lanes();
    front::Term* unknown = nullptr;
    const Type* type = reader.terms.resolve(term, &unknown);
    if (!type)
        diagnostics.error(unknown ? unknown->origin : written->loc,
                          "a type without unknown parts is needed here");
    return type;
}

}  // namespace weld
