// What is known of numbers because of the conditions that a program has come through: asserts before a node,
// and the conditions of the branches that it stands in.
//
//     assert(len(v) == r * c);                 # behind it: len(v) is r * c
//     if(i < len(w), ... here ..., ...)        # on this side: i is less than len(w)
//
// A *place* is the number of the innermost condition that holds at a node; by it, all others around are
// found. What follows from a condition of depth 0 (an assert in the outermost block of a function) holds in
// all that is left of the function. Of others it holds only as long as a node stays where it is, or moves
// together with the `if`: so answers say how far out the conditions lie that they rely on.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "weldir/ir/count.h"

namespace weld {

class Conditions {
  public:
    using Place = std::uint32_t;  ///< 0: nothing is known
    using Depth = std::uint32_t;
    static constexpr Depth kNever = UINT32_MAX;  ///< it does not follow from any

    /// The place behind `a op b` (Eq, Lt or Le of i64), which holds at `depth`.
    Place add(Place around, Depth depth, Op op, const Count& a, const Count& b);

    /// The depth of the outermost condition that it takes to know that two numbers are the same.
    Depth equal(const Count& a, const Count& b, Place at);
    /// The same for `a < b`.
    Depth less(const Count& a, const Count& b, Place at);
    /// The same for `a >= 0`.
    Depth not_negative(const Count& a, Place at);

    /// The innermost place that both are behind.
    Place common(Place a, Place b) const;

  private:
    struct Condition {
        Op op;
        Count a, b;
        Place around;
        Depth depth;
        std::uint32_t above;  ///< so many conditions are around it
    };
    /// What an equation says: that a name of counts is another count.
    struct Equal {
        const Expr* name;
        Count is;
    };

    const Condition& at(Place p) const { return all_[p - 1]; }
    const std::vector<Equal>& solved(Place at, Depth least);

    std::vector<Condition> all_;
    std::map<std::pair<Place, Depth>, std::vector<Equal>> solved_;
};

}  // namespace weld
