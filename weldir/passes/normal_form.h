// The normal form of programs between passes, which `flatten` establishes and the others keep or restore:
// scalars nest; loops and collections stand alone, as values of flat blocks.
#pragma once

#include <algorithm>

#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"

namespace weld {

using Lets = std::vector<std::pair<const Symbol*, const Expr*>>;

/// A name or a constant: may be repeated anywhere at no cost.
inline bool is_atom(const Expr* e) { return e->op == Op::Var || e->op == Op::Literal; }

/// `e`, or if it is no atom a name for it that `lets` binds.
inline const Expr* as_atom(Module& m, const Expr* e, const char* name, Lets& lets) {
    if (is_atom(e)) return e;
    const Symbol* s = m.symbol(name, e->type);
    lets.emplace_back(s, e);
    return var(m, s);
}

/// A literal of whatever type. It is data: as an element of another it needs no name.
inline bool is_constant(const Expr* e) {
    return e->op == Op::Literal || e->op == Op::PackedVec ||
           ((e->op == Op::MakeVec || e->op == Op::MakeStruct) &&
            std::all_of(e->args().begin(), e->args().end(), is_constant));
}

/// `e` is to be the value of a `let` (or the result of a block), not an argument. Chains of builders nest;
/// what ends them, makes collections or calls stands alone.
inline bool stands_alone(Facts& facts, const Expr* e) {
    if (e->op == Op::Lambda) return false;  // no value
    if (facts.traits(e).ordered) return true;
    switch (e->op) {
        case Op::Block:
        case Op::Result:
        case Op::Iterate:
        case Op::Sort:
        case Op::ToVec:
        case Op::Serialize:
        case Op::Deserialize:
        case Op::MakeVec:
        case Op::PackedVec:
        case Op::Kernel:
        case Op::Call: return true;
        case Op::If:
        case Op::And:
        case Op::Or: return !e->type->holds_builder && facts.traits(e).heavy;
        default: return false;
    }
}

/// Arguments of `e` that are evaluated only sometimes, and have blocks of their own: the sides of `if`, what
/// `select` with a branch asks for, the right sides of `&& ||`, the texts of asserts, the bodies of functions.
inline bool is_lazy_arg(const Expr* e, std::size_t i) {
    switch (e->op) {
        case Op::If: return i > 0;
        case Op::Select: return i == 1 && e->says(AttrKey::Branch, true);
        case Op::And:
        case Op::Or:
        case Op::Assert: return i == 1;
        case Op::Lambda: return true;
        default: return false;
    }
}

/// The passes of these names: what a loop becomes before a later pass sees it.
const Expr* flatten(Module& m, const Expr* lambda);
const Expr* inline_lets(Module& m, const Expr* lambda);
const Expr* simplify(Module& m, const Expr* lambda);
const Expr* fuse_zip(Module& m, const Expr* lambda);

/// The end of a pass that nests blocks: `now`, in normal form again if it isn't what the pass began with.
inline const Expr* in_normal_form(Module& m, const Expr* before, const Expr* now) {
    return now == before ? before : flatten(m, now);
}

}  // namespace weld
