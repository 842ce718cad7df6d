// `iterate`: rounds on one state, or on lanes of it that end apart.
//
// Rounds that begin as quick code (`@(optimize:later)`) are calls of a function, with the state in memory:
//
//     {state, again} = {init, true}
//     while (again)  weld_rt_function(task, {round_7, number}, captures, &{state, again})
//
// Where rounds append (`@(most:…)`), they go on by blocks, for which there is room, and whether to stop is looked up once:
//
//     do { make room;  left = rounds there is room for
//          do { state, again = round(state) } while (again && --left) } while (again)
//
// and where they count (`@(counts:…)`), rounds that are left are known, and `--left` alone is asked, once for two rounds
// where they are small (`@(pairs:true)`). If all of them append as many (`@(exact:true)`), room for all is made before the first,
// in slabs for those of a block.
//
// Lanes that have ended keep their state under a mask until the last one ends, but for what nobody reads
// (`@(unread:…)`). Where few are left for some rounds (`@(few:…, patience:…)`), these lanes go on one by
// one, by the function for one of them (`one_lane`).
#include <algorithm>
#include <tuple>

#include "codegen/builders/arrays.h"
#include "codegen/captures.h"
#include "codegen/loop_plan.h"
#include "codegen/phis.h"
#include "codegen/slab.h"
#include "codegen/spilled_lanes.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"

namespace weld::codegen {

namespace {

/// Rounds until one says that it is the last.
class RoundState {
  public:
    /// Leaves listed in `fixed` do not change.
    RoundState(Emitter& e, const Leaves& init, std::vector<bool> fixed = {})
        : e_(e), strided_reads_(e.strided_reads.size()) {
        auto* before = e.ir.GetInsertBlock();
        round_ = e.block("round");
        e.ir.CreateBr(round_);
        e.ir.SetInsertPoint(round_);
        phis_.emplace(e, init, before, std::move(fixed));
    }

    const Leaves& state() const { return phis_->state(); }

    void end(llvm::Value* again, const Leaves& next) {
        auto* done = e_.block("iterated");
        phis_->go_on_with(next, e_.ir.GetInsertBlock());
        e_.ir.CreateCondBr(again, round_, done);
        e_.ir.SetInsertPoint(done);
        e_.strided_reads.resize(strided_reads_);
    }

  private:
    Emitter& e_;
    llvm::BasicBlock* round_;
    std::size_t strided_reads_;  ///< before the rounds
    std::optional<LoopPhis> phis_;
};

}  // namespace

/// The state after a round, and whether there is another one. `region`: what it leaves behind is collected.
static std::pair<Leaves, llvm::Value*> emit_round(Emitter& e, Lambda body, const Leaves& state, bool region) {
    e.names[body.param(0)] = state;
    ++e.loop_depth;
    Leaves next = e.emit(body.body());
    --e.loop_depth;
    llvm::Value* again = next.pop_back_val();
    if (region) e.collect_check(body.param(0)->type, [&] { return next; });
    return {next, again};
}

/// The state after the last round.
static Leaves emit_one(Emitter& e, Lambda body, const Leaves& init, bool region, Loc loc) {
    RoundState rounds(e, init);
    e.stop_check(loc);
    const auto [next, again] = emit_round(e, body, rounds.state(), region);
    rounds.end(again, next);
    return next;
}

/// An appender in a state, of which a round appends at most so many.
struct Appended {
    const Type* type;
    std::size_t leaf;
    std::int64_t most;
    const Slab* slab;  ///< in which it is; null: in none
};

/// Where merges into builders of that type put their arrays: in one slab, all in none (null), or neither (no value).
static std::optional<const Slab*> slab_of_merges(const Expr* e, const Type* builder) {
    std::optional<const Slab*> slab;
    bool differ = false;
    visit(e, [&](const Expr* a) {
        if (a->op != Op::Merge || a->type != builder) return;
        differ |= slab && *slab != slab_of(a);
        slab = slab_of(a);
    });
    return differ ? std::nullopt : slab;
}

/// The appenders for which room can be made before rounds.
static std::vector<Appended> appended(const Emitter& e, Iterate it) {
    std::vector<Appended> all;
    const Annotation* most = it.node->annotation(AttrKey::Most);
    if (!most) return all;
    std::size_t kept = 0;
    for_each_builder(e, it.node->type, [&](const Type* b, int leaf, int) {
        if (!kept_merges(b)) return;
        const std::int64_t n = most->numbers[kept++];
        if (n < 1 || e.num_leaves(b) != 3) return;
        if (const auto slab = slab_of_merges(it.body().node, b))
            all.push_back({b, std::size_t(leaf), n, *slab});
    });
    return all;
}

/// How many rounds follow until one is the last, as far as that can be told of the count: one at least.
static llvm::Value* rounds_left(Emitter& e, Iterate it, const Leaves& state) {
    const Counting counting = *counting_of(it);
    std::size_t leaf = 0;
    for (std::size_t k = 0; k < counting.field; ++k)
        leaf += std::size_t(e.num_leaves(it.node->type->args[k]));
    llvm::Value *limit = e.emit1(counting.limit), *now = state[leaf], *one = e.c64(1);
    llvm::Value* left = e.ir.CreateAdd(e.ir.CreateSub(limit, now), e.c64(counting.more));
    left = e.ir.CreateSelect(e.ir.CreateICmpSGE(limit, now), left, one);
    return e.ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, one);  // the difference may wrap around
}

/// `init` with room for what all rounds append, where there is much more memory.
static Leaves with_room_for_all(Emitter& e, Iterate it, Leaves init, const std::vector<Appended>& appenders) {
    llvm::Value* rounds = rounds_left(e, it, init);
    for (const Appended& a : appenders) {
        if (a.slab) continue;
        const auto at = init.begin() + std::ptrdiff_t(a.leaf);
        std::ranges::copy(e.expecting(a.type, Leaves(at, at + 3), rounds, a.most, it.node->loc), at);
    }
    return init;
}

/// The state after the last round, where there is room for those of a block.
static Leaves emit_blocks(Emitter& e, Iterate it, Leaves init, const std::vector<Appended>& appenders,
                          bool region) {
    constexpr std::int64_t most_rounds = 1024;  // until the next look whether to stop
    auto& ir = e.ir;
    if (it.node->says(AttrKey::Exact, true)) init = with_room_for_all(e, it, std::move(init), appenders);
    RoundState blocks(e, init);
    Leaves begin = blocks.state();
    e.stop_check(it.node->loc);
    llvm::Value* left = e.c64(most_rounds);
    const Annotation* counts = it.node->annotation(AttrKey::Counts);
    if (counts) left = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, rounds_left(e, it, begin));
    llvm::Value* all_left = it.node->says(AttrKey::Exact, true) ? left : nullptr;
    std::vector<bool> fixed(begin.size());
    for (const Appended& a : appenders) {
        const auto at = begin.begin() + std::ptrdiff_t(a.leaf);
        const Leaves now(at, at + 3);
        llvm::Value* more = all_left ? ir.CreateMul(all_left, e.c64(a.most)) : nullptr;
        const Leaves array = a.slab ? with_room_in_slab(e, a.type, now, a.most, more, *a.slab, it.node->loc)
                                    : with_room(e, a.type, now, a.most, it.node->loc);
        std::ranges::copy(array, at);
        llvm::Value* rounds = ir.CreateUDiv(ir.CreateSub(array[2], array[1]), e.c64(a.most));
        left = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, rounds);
        fixed[a.leaf] = fixed[a.leaf + 2] = true;
    }
    Leaves inside = begin;
    for (const Appended& a : appenders) inside[a.leaf + 2] = e.c64(kEnough);
    // As many rounds as `each`, so many times: the state behind them, and whether there is another one.
    const auto all = [&](llvm::Value* times, int each) {
        Leaves first = inside;
        first.push_back(times);
        RoundState rounds(e, first, fixed);
        Leaves next(rounds.state().begin(), rounds.state().end() - 1);
        llvm::Value *others = ir.CreateSub(rounds.state().back(), e.c64(1)), *again = nullptr;
        for (int k = 0; k < each; ++k) std::tie(next, again) = emit_round(e, it.body(), next, region);
        Leaves more = next;
        more.push_back(others);
        llvm::Value* is_left = ir.CreateIsNotNull(others);
        rounds.end(counts ? is_left : ir.CreateAnd(again, is_left), more);
        next.push_back(again);
        return next;
    };
    Leaves next;
    if (it.node->says(AttrKey::Pairs, true)) {
        const auto pairs = [&] { return all(ir.CreateLShr(left, 1), 2); };  // an odd one is the next block
        const auto one = [&] { return all(e.c64(1), 1); };
        next = e.emit_if(ir.CreateICmpUGT(left, e.c64(1)), pairs, one);
    } else {
        next = all(left, 1);
    }
    llvm::Value* again = next.pop_back_val();
    for (const Appended& a : appenders) next[a.leaf + 2] = begin[a.leaf + 2];
    blocks.end(again, next);
    return next;
}

/// `round` as a WeldFunctionFn `(task, captures, {state, again}) -> status`.
static llvm::Function* round_function(Emitter& caller, Lambda round, bool region, Loc loc,
                                      const std::vector<const Symbol*>& symbols, const Leaves& captured) {
    Unit& unit = caller.unit.loops;
    llvm::Function* f = unit.function("round_", {unit.ptr, unit.ptr, unit.ptr});
    unit.mark(f);
    Emitter e(unit, f, f->getArg(0));
    e.loop_depth = caller.loop_depth;
    bind_names(e, caller, symbols, unpack(e, f->getArg(1), captured));
    const Leaves state = e.load(round.param(0)->type, f->getArg(2));
    e.stop_check(loc);
    auto [next, again] = emit_round(e, round, state, region);
    next.push_back(again);
    e.store(round.body()->type, next, f->getArg(2));
    e.ir.CreateRet(e.c32(0));
    return caller.unit.seen(f);
}

static Leaves emit_by_calls(Emitter& e, Iterate it, const Leaves& init, bool region) {
    const Lambda round = it.body();
    const Type* type = round.body()->type;
    const std::vector<const Symbol*> symbols = captures(e.unit, round.node);
    const Leaves captured = leaves_of(e, symbols);
    llvm::Value *args = pack(e, captured), *room = e.slot(size_of(type), align_of(type));
    llvm::Constant* record =
        e.unit.call_record(round_function(e, round, region, it.node->loc, symbols, captured));
    e.store(it.node->type, init, room);
    RoundState rounds(e, {});
    e.call_checked("weld_rt_function", {e.task, record, args, room});
    const Leaves again = e.load(type->args[1], e.address(room, offsets_of(type->args)[1]));
    rounds.end(again[0], {});
    return e.load(it.node->type, room);
}

/// Lanes whose bit in `left` is set go on one by one.
static Leaves emit_one_by_one(Emitter& e, Iterate it, const Leaves& state, llvm::Value* left, bool region) {
    auto& ir = e.ir;
    const SpilledLanes spilled(e, it.node->type, it.one_lane().param(0)->type, state);
    RoundState lanes(e, {left});
    llvm::Value* bits = lanes.state()[0];
    llvm::Value* number = ir.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, ir.getTrue());
    number = ir.CreateZExtOrTrunc(number, e.unit.i64);
    spilled.set(number, emit_one(e, it.one_lane(), spilled.lane(number), region, it.node->loc));
    llvm::Value* others = ir.CreateAnd(bits, ir.CreateSub(bits, llvm::ConstantInt::get(bits->getType(), 1)));
    lanes.end(ir.CreateIsNotNull(others), {others});
    return spilled.all();
}

/// What says which lanes go on: all ones or zeros, as wide as the widest scalar of the state, so that no
/// round makes masks of another width. Where masks are bits, they have no width.
static llvm::FixedVectorType* mask_type(Emitter& e, const Type* state, std::uint32_t lanes) {
    int bits = 1;
    if (!e.unit.target.packs)
        for_each_scalar(state, [&](Scalar s) { bits = std::max(bits, 8 * size_of(s)); });
    return llvm::FixedVectorType::get(e.ir.getIntNTy(unsigned(bits)), lanes);
}

/// By leaf of the state: lanes that have ended keep it (but for `@(unread:…)`).
static std::vector<bool> kept_leaves(const Emitter& e, Iterate it, std::size_t leaves) {
    std::vector<bool> kept(leaves, true);
    const Annotation* unread = it.node->annotation(AttrKey::Unread);
    if (!unread) return kept;
    std::size_t leaf = 0;
    for (std::size_t k = 0; k < it.node->type->args.size(); ++k)
        for (int n = e.num_leaves(it.node->type->args[k]); n > 0; --n)
            kept[leaf++] = std::ranges::find(unread->numbers, std::int64_t(k)) == unread->numbers.end();
    return kept;
}

static Leaves emit_lanes(Emitter& e, Iterate it, const Leaves& init, bool region) {
    auto& ir = e.ir;
    const std::uint32_t n = it.lanes();
    const Annotation *at_most = it.node->annotation(AttrKey::Few),
                     *patience = it.node->annotation(AttrKey::Patience);
    const bool may_leave = at_most && patience;
    llvm::FixedVectorType* type = mask_type(e, it.node->type, n);
    llvm::Constant* zero = llvm::Constant::getNullValue(type);
    const auto is_set = [&](llvm::Value* mask) { return ir.CreateICmpSLT(mask, zero); };

    Leaves begin = init;
    begin.push_back(llvm::Constant::getAllOnesValue(type));
    if (may_leave) begin.push_back(e.c64(0));  // rounds with few lanes, one after the other
    RoundState rounds(e, begin);
    const Leaves now = rounds.state();
    const Leaves state(now.begin(), now.begin() + init.size());
    llvm::Value* active = now[init.size()];
    e.names[it.body().param(0)] = state;
    e.stop_check(it.node->loc);
    ++e.loop_depth;
    Leaves next = e.emit(it.body().body());
    --e.loop_depth;
    llvm::Value* again = next.pop_back_val();
    llvm::Value* mask = is_set(active);
    const std::vector<bool> kept = kept_leaves(e, it, next.size());
    for (std::size_t k = 0; k < next.size(); ++k)
        if (kept[k]) next[k] = ir.CreateSelect(mask, next[k], state[k]);
    if (region) e.collect_check(it.node->type, [&] { return next; });
    const Leaves last = next;
    next.push_back(ir.CreateAnd(active, ir.CreateSExt(again, type)));
    llvm::Value* left = ir.CreateBitCast(is_set(next.back()), ir.getIntNTy(n));
    llvm::Value* goes_on = ir.CreateIsNotNull(left);
    if (may_leave) {
        llvm::Value* count = ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, left);
        llvm::Value* most = llvm::ConstantInt::get(count->getType(), std::uint64_t(at_most->number));
        llvm::Value* rounds_with_few = ir.CreateAdd(now.back(), e.c64(1), "", true, true);
        next.push_back(ir.CreateSelect(ir.CreateICmpULE(count, most), rounds_with_few, e.c64(0)));
        goes_on = ir.CreateAnd(goes_on, ir.CreateICmpSLT(next.back(), e.c64(patience->number)));
    }
    rounds.end(goes_on, next);
    if (!may_leave) return last;
    return e.emit_if(
        ir.CreateIsNotNull(left), [&] { return emit_one_by_one(e, it, last, left, region); },
        [&] { return last; });
}

// The rounds have a region of their own, so that what they leave behind can be collected (weld_abi.h,
// WeldTask::debt).
Leaves Emitter::emit_iterate(Iterate it) {
    const Leaves init = emit(it.init());
    const bool region = may_leave_memory(it.body().body());
    if (region) call("weld_rt_region_enter", {task});
    const auto emitted = [&] {
        if (it.lanes()) return emit_lanes(*this, it, init, region);
        if (it.node->annotation(AttrKey::Optimize)) return emit_by_calls(*this, it, init, region);
        if (const auto appenders = appended(*this, it); !appenders.empty())
            return emit_blocks(*this, it, init, appenders, region);
        return emit_one(*this, it.body(), init, region, it.node->loc);
    };
    const Leaves last = emitted();
    if (region) call("weld_rt_region_exit", {task});
    return last;
}

}  // namespace weld::codegen
