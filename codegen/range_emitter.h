// Emits the rounds of a loop, one range after the other: the class behind rounds.h, whose parts are files of their own.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "codegen/loop_plan.h"
#include "codegen/prefetch.h"
#include "weldir/ir/loop_forms.h"

namespace weld::codegen {

/// `n / by` and `n % by`, for an `n` that is not negative. By powers of two they are shifts, since quick code would divide.
llvm::Value* quotient(Emitter& e, llvm::Value* n, std::int64_t by);
llvm::Value* remainder(Emitter& e, llvm::Value* n, std::int64_t by);

/// Emits the iterations of a loop, on a state that begins and ends in the emitter's present form.
class RangeEmitter {
  public:
    /// `may_be_long`, `has_slack`: see Rounds.
    RangeEmitter(Emitter& e, const LoopPlan& plan, bool may_be_long, bool has_slack = false)
        : e_(e),
          plan_(plan),
          type_(plan.f.builder()->type),
          may_be_long_(may_be_long),
          has_slack_(has_slack) {}
    /// The iterations [lo, hi). `collect`: see Emitter::collect_check.
    Leaves emit(llvm::Value* lo, llvm::Value* hi, const Leaves& state, bool collect);

  private:
    // ---- all, or a part (rounds.cpp)
    Leaves emit_range(llvm::Value* lo, llvm::Value* hi, const Leaves& state, bool collect);
    Leaves all(llvm::Value* lo, llvm::Value* hi, Leaves state, bool collect);
    /// The same by pieces, each twice as long as the one before, up to some length. In those that begin with a table of a
    /// few groups close together these are spread, as long as that pays.
    Leaves by_pieces(llvm::Value* lo, llvm::Value* hi, const Leaves& state);
    /// The rounds [lo, hi) of `all`, in two versions where one does what is under a condition in any case, or selects rounds.
    Leaves part(llvm::Value* lo, llvm::Value* hi, const Leaves& state, Lanes widest, Prefetches& prefetches,
                bool collect);
    /// In how many of 64 rounds from `lo` on the condition is another than in the round before.
    llvm::Value* changes_of_64(llvm::Value* lo);
    /// The same in one version.
    Leaves one_part(llvm::Value* lo, llvm::Value* hi, Leaves state, Lanes widest, Prefetches& prefetches,
                    bool collect);

    // ---- those that a condition selects (selected_rounds.cpp)
    /// The iterations [lo, hi) by blocks. First every iteration of a block writes its number to a vector, and
    /// the place moves on only if the condition holds; then the iterations whose numbers are there are done.
    Leaves selected(llvm::Value* lo, llvm::Value* hi, const Leaves& state, Prefetches& prefetches,
                    bool collect);
    /// Where the two numbers of Waits are from one chunk to the next: behind the bits that `cond` asks. Threads share them,
    /// and may see those of others or not.
    Leaves kept_waits(const Expr* cond);
    /// Prefetches those elements of iteration `at` that the condition does not read, and the work does.
    void prefetch_unasked(const Filter& filter, const std::function<llvm::Value*()>& at);
    /// The condition, or what is computed before it, reads datum `k`.
    bool is_asked(const Filter& filter, std::size_t k) const;
    /// The datum whose element `cond` is, if its elements lie one behind the other.
    const Datum* is_datum(const Expr* cond) const;
    /// Notes those of 64 iterations from `i` on whose bool is `wanted`, behind `n` others. How many there are then.
    llvm::Value* note_lanes(const Datum& d, bool wanted, llvm::Value* from, llvm::Value* i, llvm::Value* n,
                            const std::function<llvm::Value*(llvm::Value*)>& place);
    /// Rounds [lo, hi) of `iterations` iterations each, by blocks. Of a block it is asked first in which rounds any lane `passes`;
    /// where those are few, they alone are done. Where they are not, that block and others behind it are done whole.
    Leaves skipping(llvm::Value* lo, llvm::Value* hi, const Leaves& state, std::int64_t iterations,
                    const std::function<Leaves(llvm::Value*, const Leaves&)>& round,
                    const std::function<llvm::Value*(llvm::Value*)>& passes,
                    const std::function<void(llvm::Value*)>& prefetch);
    /// What is read beside what says whether any lane passes is more than the last cache holds.
    llvm::Value* is_undemanded_far();
    /// Asks for what iteration `i` reads beside what says whether any lane passes.
    void prefetch_undemanded(llvm::Value* i);
    /// The lanes of iteration `i` that have what all merges demand, as bits.
    llvm::Value* lanes_that_pass(llvm::Value* i);
    /// Binds those of `lets` that `e` reads.
    void emit_lets_for(const Expr* e, Block lets);

    // ---- by tiles (tiled_rounds.cpp)
    /// The iterations [lo, hi), each of which appends what a loop inside gives, by tiles of both. Room has
    /// been made, so places in it are known.
    Leaves by_tiles(llvm::Value* lo, llvm::Value* hi, const Leaves& state);
    void each(llvm::Value* from, llvm::Value* to, std::int64_t step, const std::optional<Strip>& strip,
              const std::function<void(llvm::Value*)>& fn);
    /// Binds what the loop inside reads in iteration `i`.
    void begin_row(llvm::Value* i);
    /// Look-ups that are transposed, and where a tile of what they give is: one round of lanes a row.
    using Transposed = std::vector<std::pair<LookupLanes, llvm::Value*>>;
    /// Those in `lanes` whose tiles have room in the frame.
    Transposed transposed(For lanes, std::int64_t rows);
    static std::int64_t bytes_of(LookupLanes l) { return l.lanes() * size_of(l.node->type->scalar); }
    llvm::Value* tile_row(LookupLanes l, llvm::Value* tile, llvm::Value* row);
    /// Fills the tiles for round `k` of this loop and `rows` rows around it, of which the first has begun.
    void transpose_lanes(llvm::Value* k, llvm::Value* rows, const Transposed& across);

    // ---- one by one and by turns (rounds.cpp)
    /// Full rounds of lanes of the elements [lo, hi), as long as the groups of every dictmerger fit
    /// registers. Gives the first element that is left.
    std::pair<llvm::Value*, Leaves> while_groups_fit(llvm::Value* lo, llvm::Value* hi, const Leaves& state);
    /// The chunks before this one had too many groups. That decides about the bits of inexact sums, and about
    /// nothing else: these are not asked.
    llvm::Value* any_crowded(const Leaves& state);
    Leaves into(Lanes form, const Leaves& state);
    /// Prefetches the elements some cache lines behind those of iteration `i`: most processors do that by
    /// themselves, but not beyond the end of a page. Those that do so there too do not beside what is scattered.
    /// `which`: of these data; null: of all.
    void prefetch_elements(llvm::Value* i, const std::vector<bool>* which = nullptr);
    /// The iterations from `lo` on as long as there are `n` more, which ask for elements together; `lo` is then where
    /// the others begin. None where there is nothing to ask for.
    Leaves asking_once(std::int64_t n, llvm::Value** lo, llvm::Value* hi, const Leaves& state,
                       const std::function<Leaves(llvm::Value*, const Leaves&)>& round);
    void prefetch_elements(llvm::Value* i, const std::vector<bool>* which, std::int64_t bytes, Cache into);
    /// Binds the index and the element. `asked`: memory of these data is asked for early; null: of all.
    void begin(llvm::Value* i, const std::vector<bool>* asked = nullptr);
    Leaves iteration(llvm::Value* i, const Leaves& state);
    /// Prefetches the beginnings of the vectors that are the elements some iterations later.
    void prefetch_rows(llvm::Value* i, llvm::Value* last);
    Leaves rounds(llvm::Value* lo, llvm::Value* hi, std::int64_t step, const Leaves& state,
                  const std::function<Leaves(llvm::Value*, const Leaves&)>& body,
                  std::int64_t iterations_per_step = 1);
    /// How many rounds of `iterations` iterations each make a strip.
    std::optional<Strip> strip(std::int64_t iterations) const;
    /// Does as many iterations as are a multiple of the accumulators; `*lo` moves behind them. Short loops
    /// skip this, and do not pay for combining accumulators.
    Leaves unrolled(Lanes form, llvm::Value** lo, llvm::Value* hi, const Leaves& state);
    std::int64_t accumulators() const { return chosen(plan_.f.node, AttrKey::Accumulators, 1); }
    /// Does iterations in pairs, each on a merger of its own, so that merges do not wait for each other; `*lo` moves
    /// behind them.
    Leaves by_turns(llvm::Value** lo, llvm::Value* hi, const Leaves& state);
    /// Does iterations in groups, all but the first of each on copies of a small vector, so that merges into
    /// the same element do not wait for each other. The copies begin neutral and are combined at the end.
    /// Gives the first iteration that is left.
    llvm::Value* privatised(llvm::Value* lo, llvm::Value* hi, const Leaves& state);
    /// Room was made for all that is appended.
    bool are_roomy() const;
    /// Round `at`, on the elements that do not fill all lanes, if there are any.
    Leaves partial_round(llvm::Value* at, llvm::Value* count, const Leaves& state);

    Emitter& e_;
    const LoopPlan& plan_;
    const Type* type_;
    bool may_be_long_, has_slack_;
    bool asks_ = false;                 ///< for elements, on machines that follow streams
    llvm::Value* scattered_ = nullptr;  ///< Prefetches::is_scattered, on machines that follow streams
};

}  // namespace weld::codegen
