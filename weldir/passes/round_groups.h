// Loops that take several rounds at a time, written next to each other (unroll and jam).
#pragma once

#include <functional>

#include "weldir/ir/facts.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/normal_form.h"

namespace weld {

/// The value of `e`, bound to a name unless it is one or a constant.
const Expr* named(Module& m, const Expr* e, std::string_view name, Lets& lets);

/// What a loop over `datum` finds in round `at`: of a range a number, of a vector, or a part of one with
/// bounds, a look-up.
const Expr* element_at(Module& m, const Expr* datum, const Expr* at);

/// A copy of `e` in which names are what they are in a round; fields of structs that are written out are
/// these.
const Expr* in_round(Module& m, const Expr* e, const SymbolMap& names);

/// Four rounds that go together.
struct RoundGroup {
    static constexpr std::int64_t kRounds = 4;

    const Expr* builder;
    const Expr* first;             ///< the number of the first round
    std::vector<SymbolMap> names;  ///< what the index and the element of the loop are in each round
};

/// The data that a loop inside has in all rounds of a group, zipped: what is the same in each round once.
class ZippedRounds {
  public:
    ZippedRounds(Module& m, For inner, const std::vector<SymbolMap>& rounds, const BoundNames& varying);

    Args data() const { return data_; }
    const Type* elem() const { return elem_; }
    /// The element of `inner` in round `k` of the group, of the element `e` of the zip.
    const Expr* element(std::size_t k, const Expr* e) const;

  private:
    Module& m_;
    std::vector<const Expr*> data_;
    std::vector<std::vector<std::size_t>> parts_;  ///< by round: which datum each of its own is
    const Type* elem_ = nullptr;
};

/// What the names that `loop` binds are in round `at`.
SymbolMap names_in(Module& m, For loop, const Expr* at, Lets& lets);

/// `loop` by groups of rounds, and what is left of it one by one; null if it has fewer rounds. `body` gives
/// what a group does; the lets stand before it. The data are ranges that may be cut (subrange.h), and
/// vectors. `pays` gives how many of the `n` rounds, of which there is one, may go by groups, or null: all.
const Expr* loop_by_groups(Module& m, Facts& facts, For loop,
                           const std::function<const Expr*(RoundGroup& group, Lets& lets)>& body,
                           const std::function<const Expr*(const Expr* n, Lets& lets)>& pays);

/// `loop` over vectors by groups of rounds. Those of which `holds` is true do what `body` gives, the others, and
/// the last one if it has fewer, go one by one.
const Expr* loop_over_groups(Module& m, Facts& facts, For loop,
                             const std::function<const Expr*(RoundGroup& group, Lets& lets)>& body,
                             const std::function<const Expr*(const RoundGroup& group)>& holds);

}  // namespace weld
