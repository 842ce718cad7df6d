// A loop as it stands in one function: what it goes over, evaluated, and what its builders take per
// iteration.
#pragma once

#include <functional>
#include <memory>

#include "codegen/emit.h"
#include "weldir/ir/facts.h"

namespace weld::codegen {

/// What a pass chose for the loop or sort, or `otherwise`.
std::int64_t chosen(const Expr* e, AttrKey key, std::int64_t otherwise);
/// Estimated picoseconds of a round.
std::int64_t cost_of(const Expr* e);
/// How many rounds may go on without looking whether to stop (Strip).
std::int64_t strip_of(const Expr* e);

/// One loop as it stands in one function: its data, evaluated, and how many iterations there are.
struct LoopPlan {
    For f;
    std::vector<Datum> data;
    llvm::Value* count = nullptr;  ///< iterations; a simd iteration takes `step` elements
    std::int64_t step = 1;
    bool by_elements = false;      ///< `count` is of elements: the last round of lanes may be partial
    llvm::Value* base = nullptr;   ///< elements before the first (fringe)
    llvm::Value* tiled = nullptr;  ///< `@(tile:…)`: how often the loop inside goes on, in each round
    /// The scalar loop over the same elements, which goes on when a table has more keys than a loop over
    /// lanes holds (codegen/builders/groups.h); null otherwise.
    std::shared_ptr<const LoopPlan> one_by_one;
    std::vector<std::int64_t> appends;  ///< by builder: merges per iteration, negative where that varies
    std::vector<llvm::Value*> given;    ///< by builder: the same, as the program says; or null
    std::int64_t cost = 1;              ///< of an iteration, in picoseconds
    llvm::Value* work = nullptr;        ///< the same, as the program says; or null

    /// What the state is like inside the loop, where it is `outer` around it.
    Lanes form(Lanes outer) const;
    /// The same where the groups of its dictmerger are spread.
    Lanes spread(Lanes outer) const;
    /// All that is merged goes to the builder of the loop.
    bool merges_alone() const;
};

/// Evaluates the data. `rest`: the loop over the fringe that is done with `f`, if not null.
LoopPlan make_plan(Emitter& e, For f, For rest);

/// What an outlined body needs of the data, in a fixed order.
Leaves leaves_of(const LoopPlan& plan);
/// The same plan in a callee, where its values are `values` (in the order of leaves_of).
LoopPlan moved(const LoopPlan& plan, const Leaves& values);

/// Which element, or number of a range, `d` is at in iteration `i`.
llvm::Value* position(Emitter& e, const LoopPlan& plan, const Datum& d, llvm::Value* i);
/// The element of `d` at iteration `i`.
Leaves read(Emitter& e, const LoopPlan& plan, const Datum& d, llvm::Value* i);

/// Calls `fn(builder type, first leaf, number of the builder)` for each builder in the state of a loop.
void for_each_builder(const Emitter& e, const Type* state,
                      const std::function<void(const Type*, int leaf, int number)>& fn);

}  // namespace weld::codegen
