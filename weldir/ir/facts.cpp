// Facts: what names stand for, and what evaluating may do, derived from the leaves up and remembered.
#include "weldir/ir/facts.h"

#include <algorithm>

#include "weldir/ir/walk.h"

namespace weld {

Facts::Facts(Module& m, const Expr* root) : m_(m), root_(root) {
    visit_binding(root, [&](const Expr* e) {
        if (Block block = e->as<Block>())
            for (std::size_t i = 0; i < block.size(); ++i) definitions_[block.symbol(i)] = block.value(i);
        if (For loop = e->as<For>())
            for (const Symbol* s : loop.body().params()) loops_[s] = e;
        if (Iterate it = e->as<Iterate>()) states_[it.body().param(0)] = e;
    });
}

const Expr* Facts::definition(const Symbol* s) const {
    const Expr* const* value = definitions_.find(s);
    return value ? *value : nullptr;
}

const Expr* Facts::loop_of(const Symbol* s) const {
    const Expr* const* loop = loops_.find(s);
    return loop ? *loop : nullptr;
}

/// One step of `resolve`: what a name or a field of a struct literal stands for; null at the end.
const Expr* Facts::step(const Expr* e) const {
    if (Var v = e->as<Var>()) return definition(v.symbol());
    if (GetField get = e->as<GetField>())
        if (MakeStruct made = resolve(get.of())->as<MakeStruct>()) return made.fields()[get.index()];
    return nullptr;
}

const Expr* Facts::resolve(const Expr* e) const {
    while (const Expr* next = step(e)) e = next;
    return e;
}

const Expr* Facts::root(const Expr* path) const {
    for (const Expr* next; (next = step(path)) && is_path(next);) path = next;
    return path;
}

// ---- what evaluating may do

/// Under conditions of what depth the node can't fail, though its kind may; kNever: under none.
Conditions::Depth Facts::is_safe_under(const Expr* e) {
    switch (e->op) {
        case Op::For: return agreement(e->as<For>().data(), place_of(e->as<For>().index_param()));
        case Op::Iter: return bounds_hold_under(e);
        case Op::Lookup: return index_holds_under(e);
        default: return Conditions::kNever;
    }
}

/// A builder from outside is read in `e`: what begins and ends inside builds nothing that others see.
static bool reads_builder(const Expr* e) {
    std::vector<const Symbol*> bound, read;
    visit(e, [&](const Expr* x) {
        for (const Symbol* s : x->symbols())
            if (s->type->holds_builder) bound.push_back(s);
        if (x->op == Op::Var && x->type->holds_builder) read.push_back(x->attr.symbol);
    });
    std::ranges::sort(bound, {}, &Symbol::id);
    return std::ranges::any_of(
        read, [&](const Symbol* s) { return !std::ranges::binary_search(bound, s->id, {}, &Symbol::id); });
}

Traits Facts::own_traits(const Expr* e) {
    Traits t = weld::own_traits(e);
    if (t.fails) {
        const Depth under = is_safe_under(e);
        t.fails = under != 0;
        t.fails_here = under == Conditions::kNever;
        t.under = t.fails_here ? 0 : under;
    }
    if (e->op == Op::Result) t.builds = reads_builder(e);
    return t;
}

static void add(Traits& to, const Traits& t) {
    constexpr std::uint32_t kMost = 1u << 30;
    to.fails |= t.fails;
    to.fails_here |= t.fails_here;
    if (t.under) to.under = to.under ? std::min(to.under, t.under) : t.under;
    to.calls |= t.calls;
    to.ordered |= t.ordered;
    to.heavy |= t.heavy;
    to.costly |= t.costly;
    to.builds |= t.builds;
    to.allocates |= t.allocates;
    to.size = std::min(kMost, to.size + t.size);
    to.depth = std::max(to.depth, t.depth + 1);
}

/// Of `e` with all below it.
Traits Facts::traits_of(const Expr* e) {
    Traits t = own_traits(e);
    const bool builds = t.builds;
    for (std::size_t i = 0; i < e->num_args; ++i) {
        Traits of = traits(e->arg(i));
        // What a side relies on moves along with it, if it is a condition of `e` itself.
        const bool is_side = i > 0 && (e->op == Op::If || e->op == Op::And || e->op == Op::Or);
        const Depth* of_sides = is_side && of.under ? branch_depths_.find(e) : nullptr;
        if (of_sides && !of.fails_here && of.under >= *of_sides) of.fails = false, of.under = 0;
        add(t, of);
    }
    if (e->op == Op::Result) t.builds = builds;
    return t;
}

const Traits& Facts::traits(const Expr* e) {
    if (const Traits* known = traits_.find(e)) return *known;
    const Traits t = traits_of(e);
    return traits_[e] = t;
}

}  // namespace weld
