// The steps of reading, on macros once and then on one function after the other.
#include "frontend/weld/prelude.h"

#include <vector>

#include "frontend/weld/reader.h"
#include "weldir/ir/build.h"
#include "weldir/ir/walk.h"

namespace weld {

struct Prelude::State {
    Module& module;
    ReadOptions options;
    Diagnostics diagnostics;
    front::Reader reader{module, options, diagnostics, {}, {}};
};

Prelude::Prelude(Module& m, std::string name, std::string text) : state_(new State{m, {}, {}}) {
    front::Reader& r = state_->reader;
    r.arena.set_budget(m.arena.budget());
    front::parse(r, m.sources.add("standard.weld", front::kStandard, true), true);
    front::parse(r, m.sources.add(std::move(name), std::move(text), true), true);
    front::resolve_macros(r);
}

Prelude::~Prelude() = default;

/// All of the tree stands at `loc`.
static void place(front::Node* n, Loc loc) {
    n->loc = n->start = loc;
    for (front::Node* a : n->args) place(a, loc);
}

static bool understand(front::Reader& reader, Loc loc) {
    if (reader.diagnostics.has_errors()) return false;
    front::resolve_names(reader);
    front::expand(reader);
    place(reader.program.main, loc);
    front::infer(reader);
    front::check(reader);
    if (reader.diagnostics.has_errors()) return false;
    front::check_linearity(reader);
    front::find_effects(reader);
    if (reader.diagnostics.has_errors()) return false;
    front::lower(reader);
    return true;
}

const Expr* Prelude::apply(std::string_view function, std::span<const Expr* const> args, Loc loc,
                           std::string* error) {
    front::Reader& r = state_->reader;
    Module& m = state_->module;
    r.program.effects.clear();
    r.program.unused.clear();
    r.program.may_have_effects = false;
    const Expr* main = m.main;
    front::parse_expression(r, m.sources.add("prelude", std::string(function), true));
    const bool good = understand(r, loc);
    const Expr* lambda = std::exchange(m.main, main);
    if (!good) {
        *error = state_->diagnostics.draw(m.sources, false);
        return nullptr;
    }
    SymbolMap values;
    for (std::size_t i = 0; i < args.size(); ++i) values.emplace(lambda->symbols()[i], args[i]);
    return substitute(m, lambda->as<Lambda>().body(), values);
}

}  // namespace weld
