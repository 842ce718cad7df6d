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

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "weldir/ir/count.h"

namespace weld {

/// A name that is taken to be in bounds, so that products don't wrap.
struct SmallName {
    const Expr* name;
    std::optional<std::int64_t> most = {};
    bool may_be_negative = false;  ///< unless it is asked
};

class Conditions {
  public:
    using Place = std::uint32_t;  ///< 0: nothing is known
    using Depth = std::uint32_t;
    static constexpr Depth kNever = UINT32_MAX;  ///< it does not follow from any
    /// Where two things hold that hold at these depths.
    static Depth outer(Depth a, Depth b) {
        if (a == kNever || b == kNever) return kNever;
        return a && b ? std::min(a, b) : std::max(a, b);
    }

    /// The place behind `a op b` (Eq, Lt or Le of i64), which holds at `depth`.
    Place add(Place around, Depth depth, Op op, const Count& a, const Count& b);

    /// The depth of the outermost condition that it takes to know that two numbers are the same.
    Depth equal(const Count& a, const Count& b, Place at);
    /// The same for `a < b`.
    Depth less(const Count& a, const Count& b, Place at);
    /// The same for `a >= 0`.
    Depth not_negative(const Count& a, Place at);

    /// The least that `a` can be, and the most, where comparisons with numbers say so; of depth 0, or of
    /// `least` or more.
    std::optional<std::int64_t> least(const Count& a, Place at, Depth least) const {
        return bound(a, true, at, least);
    }
    std::optional<std::int64_t> most(const Count& a, Place at, Depth least) const {
        return bound(a, false, at, least);
    }

    /// What an equation says: that a name of counts is another count, as arithmetic has it.
    struct Equal {
        const Expr* name;
        Count is;
    };
    /// The equations of depth 0, and those of `least` or more, around a place; each says what some name is.
    const std::vector<Equal>& solved(Place at, Depth least);

    /// A condition `a < b` or `a <= b` around a place, of depth 0, or of `least` or more, is one that `fn`
    /// takes.
    template <class Fn>
    bool any_order(Place place, Depth least, Fn&& fn) const {
        for (Place p = place; p; p = at(p).around)
            if (at(p).op != Op::Eq && (!at(p).depth || at(p).depth >= least) &&
                fn(at(p).op, at(p).a, at(p).b))
                return true;
        return false;
    }

    /// Asks with the conditions of depth 0 alone, of the innermost, of the outermost depth: the first of
    /// these with which `holds` says yes.
    template <class Holds>
    Depth first_depth(Place place, bool with_orders, Holds&& holds) const {
        Depth innermost = 0, outermost = kNever;
        for (Place p = place; p; p = at(p).around) {
            if ((at(p).op != Op::Eq && !with_orders) || at(p).depth == 0) continue;
            innermost = std::max(innermost, at(p).depth);
            outermost = std::min(outermost, at(p).depth);
        }
        if (holds(kNever)) return 0;
        if (innermost && holds(innermost)) return innermost;
        return innermost > outermost && holds(outermost) ? outermost : kNever;
    }

    /// The innermost place that both are behind.
    Place common(Place a, Place b) const;

  private:
    std::optional<std::int64_t> bound(const Count& a, bool from_below, Place at, Depth least) const;

    struct Condition {
        Op op;
        Count a, b;
        Place around;
        Depth depth;
        std::uint32_t above;  ///< so many conditions are around it
    };
    const Condition& at(Place p) const { return all_[p - 1]; }

    std::vector<Condition> all_;
    std::map<std::pair<Place, Depth>, std::vector<Equal>> solved_;
};

}  // namespace weld
