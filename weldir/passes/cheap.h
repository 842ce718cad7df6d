// What may be evaluated even where it is not needed: the one place that says what is cheap.
#pragma once

#include "weldir/ir/facts.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

/// Every node is an operation of a few cycles: no loops, lookups, division or math functions; nothing can
/// fail.
inline bool is_cheap(Facts& facts, const Expr* e) {
    const Traits& t = facts.traits(e);
    return t.free_to_repeat() && !t.heavy && !t.costly;
}

/// May be evaluated without need where it stands: neither fails nor has effects, and holds no loop, call or
/// sort.
inline bool is_straight_line(const Expr* e) {
    bool straight = is_movable(e);
    visit(e, [&](const Expr* part) {
        straight &= part->op != Op::For && part->op != Op::Iterate && part->op != Op::Call &&
                    part->op != Op::Sort && !part->type->holds_builder;
    });
    return straight;
}

}  // namespace weld
