// The steps from text to Module, in their order, and what they share.
#pragma once

#include <utility>

#include "frontend/weld/syntax.h"
#include "frontend/weld/terms.h"
#include "frontend/weld/weld.h"
#include "weldir/support/arena.h"

namespace weld::front {

/// One reading. Every step reports to `diagnostics`. Trees that are not parsed are not looked at further, and
/// only programs of right types are checked for linearity; names and types are all checked, as far as they
/// are known.
struct Reader {
    Module& module;
    const ReadOptions& options;
    Diagnostics& diagnostics;
    Arena arena;  // of the trees
    Program program;
    Terms terms{module, arena};
};

/// The text of the standard macros: frontend/weld/standard.weld.
extern const char* const kStandard;

/// Text to tree: fills `program`. Parses what it can after an error.
void parse(Reader& reader, Loc text, bool internal);
/// A text that is one expression, which uses the macros of texts before it.
void parse_expression(Reader& reader, Loc text);
/// A text that is one type; null after an error.
const TypeNode* parse_type(Reader& reader, Loc text);

/// Connects names with what they mean, in the surface tree: unknown names, wrong macro calls and recursive
/// macros end. First in the bodies of macros, then in the program.
void resolve_macros(Reader& reader);
void resolve_names(Reader& reader);

/// Replaces macro calls and calls of functions by their bodies, hygienically: afterwards functions stand only
/// under `for`, `iterate`, `sort`, as definitions and as the program, and every name is a Local.
void expand(Reader& reader);

/// Finds the type of everything by unification.
void infer(Reader& reader);
/// Sets `type` of all nodes and locals, and asks what only whole types can answer: may this be a key, is that
/// comparable, is anything still unknown.
void check(Reader& reader);
/// Does a scalar operation take arguments of these types? Reports what does not fit.
bool check_operands(Reader& reader, const Node* op, std::span<const Type* const> types);

/// Every builder is used exactly once on each path; loops return what they were given.
void check_linearity(Reader& reader);

/// Finds out what must happen in order.
void find_effects(Reader& reader);

/// The tree as nodes of the Module. Cannot fail.
void lower(Reader& reader);

/// The surface tree as text.
std::string print_syntax(const Program& program);

/// An error at a node; says through which of the user's macros it came.
template <class... Args>
Diagnostic& error_at(Reader& reader, const Node* at, fmt::format_string<Args...> text, Args&&... args) {
    Diagnostic& d = reader.diagnostics.error(at->start, text, std::forward<Args>(args)...);
    int shown = 0;
    for (const Expansion* e = at->expansion; e && shown < 3; e = e->outer, ++shown)
        d.label(e->call, fmt::format("in the expansion of `{}`", e->name));
    return d;
}

}  // namespace weld::front
