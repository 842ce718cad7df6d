// A loop over columns with loops over rows inside: where its look-ups read, and what has to hold so that none
// of them fails. Then nobody can tell in which order they are made.
//
// A matrix may be a vector of its rows as well, if it is large.
//
// An index has to be the counters of loops over rows times what stays the same (by the name of it), plus the
// counter of the columns, plus what stays the same; other look-ups in the inner loops read at some of the
// counters in this way, or can't fail.
#pragma once

#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/normal_form.h"

namespace weld {

class StridedNest {
  public:
    /// `inner`: the loops over rows, each in the one before it; `before`: what they read of the round of
    /// the columns; `by_tiles`: look-ups may go along the inner loop as well.
    StridedNest(Module& m, Facts& facts, For outer, std::vector<For> inner, Lets before = {},
                bool by_tiles = false)
        : m_(m),
          facts_(facts),
          outer_(outer),
          inner_(std::move(inner)),
          before_(std::move(before)),
          by_tiles_(by_tiles) {}

    /// Looks for the condition under which the body of the innermost loop cannot fail; false if there is
    /// none, or nothing strides.
    bool find_condition(std::int64_t least_rows);
    /// `least <= most` has to hold as well; false: it does not.
    bool demand(const Expr* least, const Expr* most);

    /// Null: no look-up fails anyway.
    const Expr* condition() const { return holds_; }
    /// A look-up that goes by rows and columns at once.
    bool goes_across(const Expr* lookup) const { return across_.contains(lookup); }

  private:
    /// Where a look-up reads: at `offset`, plus each loop's counter times its stride, where it has one.
    struct Place {
        std::vector<const Expr*> strides;  ///< of the inner loops, and of the columns, at the end
        Count offset;
    };

    /// A name of a count, by the index of the loop whose counter it is, if it is one.
    std::optional<Count> by_index(const Expr* name);
    std::optional<Count> by_indices(const Count& n);
    /// Of look-ups in vectors that stay the same, one by one along the columns, or else along the inner
    /// loop. `inside`: what the nest binds.
    std::optional<Place> place_of(Lookup at, const BoundNames& inside);
    /// The same wherever it reads.
    std::optional<Place> place_of_key(const Expr* key, const BoundNames& inside);
    void note_strides(Lookup at, const Place& place);
    /// Looks for a place in one of many vectors: the counter of the columns and something that stays the same, in the vector
    /// that the counter of the inner loop tells, `lookup(lookup(rows, i), j)`, or that is its element, `lookup(row, j)`.
    bool demand_in_row(Lookup at, const Expr* columns, const std::vector<const Expr*>& rows,
                       const BoundNames& inside);
    /// All that is found lies in the vector.
    bool demand_inside(Lookup at, const Expr* columns, const std::vector<const Expr*>& rows,
                       const Place& place);

    Module& m_;
    Facts& facts_;
    For outer_;
    std::vector<For> inner_;
    Lets before_;
    bool by_tiles_;
    const Expr* holds_ = nullptr;
    bool possible_ = true;  ///< false: what would have to hold does not
    bool strides_ = false;
    std::unordered_set<const Expr*> across_;
};

/// Data of which a round is the same whenever it is read.
bool is_repeatable(Facts& facts, const Expr* datum);
/// Both conditions; null is one that holds.
const Expr* both(Module& m, const Expr* a, const Expr* b);

}  // namespace weld
