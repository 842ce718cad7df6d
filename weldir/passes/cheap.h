// What may be evaluated without need.
#pragma once

#include "weldir/ir/facts.h"
#include "weldir/passes/normal_form.h"

namespace weld {

/// Every node is an operation of a few cycles: no loops, lookups, division or math functions; nothing can
/// fail.
inline bool is_cheap(Facts& facts, const Expr* e) {
    if (!facts.traits(e).free_to_repeat() || facts.traits(e).heavy) return false;
    switch (e->op) {
        case Op::Lookup:
        case Op::OptLookup:
        case Op::KeyExists:
        case Op::Lambda:
        case Op::Div:
        case Op::Rem: return false;
        default: break;
    }
    if (is_scalar_op(e->op) && e->op >= Op::Pow && e->op != Op::Sqrt) return false;
    if (is_comparison(e->op) && !e->arg(0)->type->is_lanes()) return false;
    for (const Expr* a : e->args())
        if (!is_cheap(facts, a)) return false;
    return true;
}

}  // namespace weld
