// Walking and changing trees: what passes are made of.
#pragma once

#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weldir/ir/build.h"
#include "weldir/ir/table.h"

namespace weld {

using SymbolMap = std::unordered_map<const Symbol*, const Expr*>;

/// Calls `fn` on `e` and everything below, parents first, in program order.
template <class Fn>
void visit(const Expr* e, Fn&& fn) {
    fn(e);
    for (const Expr* a : e->args()) visit(a, fn);
}

/// The same for nodes that are or hold a Block or a Lambda only: all blocks and loops are among them.
template <class Fn>
void visit_binding(const Expr* e, Fn&& fn) {
    if (!e->binds) return;
    fn(e);
    for (const Expr* a : e->args()) visit_binding(a, fn);
}

/// Calls `fn` on what `e` ends with: the results of blocks and of the sides of branches, calls among them.
template <class Fn>
void visit_last(const Expr* e, Fn&& fn) {
    switch (e->op) {
        case Op::If: visit_last(e->arg(1), fn), visit_last(e->arg(2), fn); return;
        case Op::And:
        case Op::Or: visit_last(e->arg(1), fn); return;
        case Op::Block: visit_last(e->as<Block>().last(), fn); return;
        default: fn(e);
    }
}

/// The tree with `fn` applied from the leaves up. `fn` gets a node whose arguments are done and returns its
/// replacement, or null to keep it. Unchanged parts are shared.
const Expr* rewrite(Module& m, const Expr* e, const std::function<const Expr*(const Expr*)>& fn);

/// The same for nodes that are or hold a Block or a Lambda only.
const Expr* rewrite_binding(Module& m, const Expr* e, const std::function<const Expr*(const Expr*)>& fn);

/// `e` with other arguments: what `fn` makes of each, given it and its number.
template <class Fn>
const Expr* map_args(Module& m, const Expr* e, Fn&& fn) {
    for (std::size_t i = 0; i < e->num_args; ++i) {
        const Expr* first = fn(e->arg(i), i);
        if (first == e->arg(i)) continue;
        std::vector<const Expr*> args(e->args().begin(), e->args().end());
        for (args[i++] = first; i < args.size(); ++i) args[i] = fn(args[i], i);
        return with_args(m, e, args);
    }
    return e;
}

/// A For or Iterate with another body of its function.
inline const Expr* with_body(Module& m, const Expr* loop, const Expr* body) {
    return map_args(m, loop, [&](const Expr* a, std::size_t i) {
        return i == 1 ? map_args(m, a, [&](const Expr*, std::size_t) { return body; }) : a;
    });
}

/// `e` with free occurrences of symbols replaced. The values are shared, not copied: `fresh` them first if
/// they bind symbols and occur more than once.
const Expr* substitute(Module& m, const Expr* e, const SymbolMap& values);

/// A copy of `e` in which every symbol bound inside is new, so that it may stand beside the original.
const Expr* fresh(Module& m, const Expr* e);

/// How often each symbol is read in a tree.
class Uses {
  public:
    explicit Uses(const Expr* e);
    int count(const Symbol* s) const {
        const int* n = counts_.find(s);
        return n ? *n : 0;
    }

  private:
    Table<Symbol, int> counts_;
};

/// The symbols that `e` reads or frees but does not bind, in order of first occurrence.
std::vector<const Symbol*> free_symbols(const Expr* e);
bool mentions(const Expr* e, const Symbol* s);
/// There is a For, an Iterate or a Sort in `e`.
bool has_loop(const Expr* e);
/// There is an Iterate or a Sort in `e` whose rounds run where it stands: in no loop.
bool has_rounds_in_place(const Expr* e);

/// Equal up to the names of bound symbols, places and annotations.
bool same(const Expr* a, const Expr* b);
/// `symbol`, read.
inline bool is_var(const Expr* e, const Symbol* symbol) {
    return e->op == Op::Var && e->attr.symbol == symbol;
}
/// The integer literal `value`.
bool is_int(const Expr* e, std::int64_t value);
/// Number of nodes.
std::size_t size_of_tree(const Expr* e);

}  // namespace weld
