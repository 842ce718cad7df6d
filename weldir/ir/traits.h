// What evaluating an expression may do besides giving its value: fail, have an effect, build, cost. Whoever
// moves, drops or repeats code asks here.
//
// It is said in layers. ops.def says of each kind of node what is the worst that it may do. `own_traits` looks
// at the node, and at the tables of builders, kernels and functions. `Facts::own_traits` knows of the program
// around it: that a look-up lies inside, say, so that it can't fail. `Facts::traits` adds what lies below.
#pragma once

#include "weldir/ir/conditions.h"
#include "weldir/ir/expr.h"

namespace weld {

struct Traits {
    bool fails = false;  ///< may fail (checks, asserts, division; not memory or cancellation), or may not end
    bool fails_here = false;  ///< the same as long as it stands under the conditions that are around it
    bool calls = false;       ///< calls a kernel that is not pure: exactly as often as the program says
    /// Has an effect, or a call that keeps its order: nothing that fails or calls may pass it.
    bool ordered = false;
    bool heavy = false;   ///< loops, allocates or calls: more than a few instructions
    bool costly = false;  ///< looks up, divides, computes a math function, or compares collections or structs
    bool builds = false;  ///< merges, or begins or ends a builder
    bool allocates = false;  ///< may leave memory behind that nothing refers to later; growing builders don't
    std::uint32_t size = 1;  ///< nodes, up to a large number
    std::uint32_t depth = 1;  ///< of the tree
    /// If it fails, but not here: the depth of the outermost condition that sees to that.
    Conditions::Depth under = 0;

    /// Whether it is evaluated, and how often, shows only in the time it takes.
    bool free_to_repeat() const { return !fails && !calls && !ordered && !builds; }
};

/// Of the node by itself, its arguments aside, whatever is around it.
Traits own_traits(const Expr* e);

/// Same result, any number of times, without being noticed: neither fails nor has effects, gives no builder.
bool is_movable(const Expr* e);
/// The same, and it holds no loop, call, or anything else that takes more than a few instructions.
bool is_straight_line(const Expr* e);
/// Evaluating `e` may leave memory behind that nothing refers to later. (Builders that merely grow don't:
/// they return the smaller buffer themselves.)
bool may_allocate(const Expr* e);
/// The same of a round, where it is known what starts in place: a vector that changes there is the next round's. (A loop
/// that starts in place may have copies of its own.)
bool may_leave_memory(const Expr* e);

}  // namespace weld
