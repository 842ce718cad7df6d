// One part [lo, hi) of a loop's range, by the means that its annotations name:
//
//     @(groups:N)         lanes as long as the groups fit, then the scalar loop for what is left
//     @(accumulators:4)   | 0 4 8 ... | 1 5 9 ... | 2 6 10 ... | 3 7 11 ... |   by turns, one copy of the state each;
//                         with `apart:N` each copy has a quarter of the range to itself, if that is N rounds at
//                         least. Then the rounds that are left
//     @(privatise:N)      the same with copies of a small vector
//     @(tile:N)           N rounds of this loop by N of the one inside, or by one of its rounds of lanes, for
//                         which what look-ups give is transposed first
//     @(skip:N)           with or without accumulators, blocks of N: first ask in which any lane passes; where
//                         these are few, do them alone
//     @(selection:N)      blocks of N: first note the rounds in which the condition holds, then do these; with
//                         `unasked:M` up to M blocks are done whole where that is most rounds
//     none of these       lo, lo + 1, ..., hi - 1
//     @(tail:masked)      after any of these: one round on the elements that do not fill all lanes
#include "codegen/rounds.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "codegen/builders/arrays.h"
#include "codegen/builders/groups.h"
#include "codegen/builders/tables.h"
#include "codegen/lanes.h"
#include "codegen/prefetch.h"
#include "codegen/quick.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/loop_forms.h"

namespace weld::codegen {

/// Rounds of those that are selected: so long before keys are read, the elements they are read from are asked for.
static constexpr std::int64_t kElementsAhead = 16;
/// Appenders that take a fixed number of values per iteration, whose room has been made: their first leaves.
static std::vector<int> roomy_appenders(const Emitter& e, const LoopPlan& plan) {
    std::vector<int> at;
    for_each_builder(e, plan.f.builder()->type, [&](const Type* b, int first, int k) {
        if (kept_merges(b) && plan.appends[std::size_t(k)] >= 0) at.push_back(first);
    });
    return at;
}

/// `n / by`, for an `n` that is not negative. By powers of two it is a shift, since quick code would divide.
static llvm::Value* quotient(Emitter& e, llvm::Value* n, std::int64_t by) {
    const auto divisor = std::uint64_t(by);
    return std::has_single_bit(divisor) ? e.ir.CreateLShr(n, std::uint64_t(std::countr_zero(divisor)))
                                        : e.ir.CreateUDiv(n, e.c64(by));
}
static llvm::Value* remainder(Emitter& e, llvm::Value* n, std::int64_t by) {
    return std::has_single_bit(std::uint64_t(by)) ? e.ir.CreateAnd(n, e.c64(by - 1))
                                                  : e.ir.CreateURem(n, e.c64(by));
}

static TailRound tail_round(Emitter& e, llvm::Value* count, std::int64_t lanes) {
    if (!e.unit.target.packs) {  // masks are lanes themselves
        std::vector<llvm::Constant*> numbers;
        for (std::int64_t k = 0; k < lanes; ++k) numbers.push_back(e.ir.getInt8(std::uint8_t(k)));
        llvm::Value* all = e.ir.CreateVectorSplat(unsigned(lanes), e.ir.CreateTrunc(count, e.unit.i8));
        return {count, e.ir.CreateICmpULT(llvm::ConstantVector::get(numbers), all)};
    }
    auto* bits = llvm::IntegerType::get(e.unit.ctx, unsigned(lanes));
    llvm::Value* others = e.ir.CreateTrunc(e.ir.CreateSub(e.c64(lanes), count), bits);
    llvm::Value* mask = e.ir.CreateLShr(llvm::Constant::getAllOnesValue(bits), others);
    return {count, e.ir.CreateBitCast(mask, llvm::FixedVectorType::get(e.ir.getInt1Ty(), unsigned(lanes)))};
}

namespace {

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
    Leaves emit(llvm::Value* lo, llvm::Value* hi, const Leaves& state, bool collect) {
        // A simd loop has accumulators of its own, whichever a loop around it is at.
        const std::uint32_t outer = e_.accumulator;
        if (plan_.step != 1) e_.accumulator = 0;
        const Leaves after = emit_range(lo, hi, state, collect);
        e_.accumulator = outer;
        return after;
    }

  private:
    Leaves emit_range(llvm::Value* lo, llvm::Value* hi, const Leaves& state, bool collect) {
        if (plan_.tiled) return by_tiles(lo, hi, state);
        if (!plan_.one_by_one) return all(lo, hi, state, collect);
        ++e_.loop_depth;
        const auto [at, after] = while_groups_fit(lo, hi, state);
        --e_.loop_depth;
        return RangeEmitter(e_, *plan_.one_by_one, may_be_long_).emit(at, hi, after, collect);
    }

    Leaves all(llvm::Value* lo, llvm::Value* hi, Leaves state, bool collect) {
        const Lanes outer = e_.lanes, widest = plan_.form(outer);
        const bool on_lanes = plan_.step != 1;
        Prefetches prefetches(plan_.f);
        if (e_.unit.target.follows_streams && plan_.f.node->annotation(AttrKey::Stream))
            scattered_ = prefetches.is_scattered(e_, state);
        Lanes form = widest;
        if (on_lanes) form.accumulators = 1;
        const bool changes = form != outer;
        if (changes) state = into(form, state);
        const Leaves before = state;
        const std::vector<int> roomy = roomy_appenders(e_, plan_);
        for (int leaf : roomy) state[std::size_t(leaf) + 2] = e_.c64(kEnough);
        llvm::Value* rest = nullptr;
        if (plan_.by_elements) {
            rest = remainder(e_, hi, plan_.step);
            lo = quotient(e_, lo, plan_.step);
            hi = quotient(e_, hi, plan_.step);
        }
        ++e_.loop_depth;
        if (on_lanes && scattered_ && plan_.f.node->annotation(AttrKey::Every)) {
            llvm::Value* asks = std::exchange(scattered_, nullptr);
            mark_for_quick(asks);
            const auto asking = [&] {
                asks_ = true;
                Leaves all = part(lo, hi, state, widest, prefetches, collect);
                asks_ = false;
                all.push_back(hi);
                return all;
            };
            const auto none = [&] {
                Leaves all = state;
                all.push_back(lo);
                return all;
            };
            state = e_.emit_if(asks, asking, none);
            lo = state.pop_back_val();
        }
        const auto full_rounds = [&] { return part(lo, hi, state, widest, prefetches, collect); };
        if (rest && !may_be_long_) {  // often none
            llvm::Value* any = e_.ir.CreateICmpSLT(lo, hi);
            state = e_.emit_if(any, full_rounds, [&] { return state; });
        } else {
            state = full_rounds();
        }
        prefetches.end(e_);
        const auto restore_capacities = [&] {
            for (int leaf : roomy) state[std::size_t(leaf) + 2] = before[std::size_t(leaf) + 2];
        };
        if (are_roomy()) restore_capacities();
        if (rest) state = partial_round(hi, rest, state);
        --e_.loop_depth;
        restore_capacities();
        return changes ? into(outer, state) : state;
    }

    /// The rounds [lo, hi) of `all`, in two versions where one does what is under a condition in any case, or selects rounds.
    Leaves part(llvm::Value* lo, llvm::Value* hi, const Leaves& state, Lanes widest, Prefetches& prefetches,
                bool collect) {
        constexpr std::int64_t worth_it = 1024;  // rounds
        const Expr* body = plan_.f.body().body();
        const Expr* choice = body->op == Op::Block ? body->as<Block>().result() : body;
        const Annotation* often = choice->op == Op::If ? choice->annotation(AttrKey::Often) : nullptr;
        if (!often) often = plan_.f.node->annotation(AttrKey::Often);
        if (!often) return one_part(lo, hi, state, widest, prefetches, collect);
        auto& ir = e_.ir;
        llvm::Value* many = ir.CreateICmpSGE(ir.CreateSub(hi, lo), e_.c64(worth_it));
        llvm::Value* changes = e_.emit_if(
            many, [&]() -> Leaves { return {ir.CreateICmpSGE(changes_of_64(lo), e_.c64(often->number))}; },
            [&]() -> Leaves { return {ir.getFalse()}; })[0];
        mark_for_quick(changes);
        const auto version = [&](bool in_any_case) {
            const bool outer = std::exchange(e_.in_any_case, in_any_case);
            Leaves after = one_part(lo, hi, state, widest, prefetches, collect);
            e_.in_any_case = outer;
            return after;
        };
        return e_.emit_if(changes, [&] { return version(true); }, [&] { return version(false); });
    }

    /// In how many of 64 rounds from `lo` on the condition is another than in the round before.
    llvm::Value* changes_of_64(llvm::Value* lo) {
        auto& ir = e_.ir;
        const Filter filter = *filter_of(plan_.f);
        const auto holds = [&](llvm::Value* k) {
            begin(ir.CreateAdd(lo, k, "", true, true));
            emit_lets_for(filter.cond, filter.lets);
            return e_.emit1(filter.cond);
        };
        const auto count = [&](llvm::Value* k, const Leaves& now) {
            llvm::Value* here = holds(k);
            llvm::Value* other = ir.CreateZExt(ir.CreateXor(here, now[1]), ir.getInt64Ty());
            return Leaves{ir.CreateAdd(now[0], other), here};
        };
        const Leaves first = {e_.c64(0), holds(e_.c64(0))};
        return e_.counted_loop(e_.c64(1), e_.c64(64), 1, first, {false, false}, count)[0];
    }

    /// The same in one version.
    Leaves one_part(llvm::Value* lo, llvm::Value* hi, Leaves state, Lanes widest, Prefetches& prefetches,
                    bool collect) {
        const bool on_lanes = plan_.step != 1;
        const std::int64_t every = on_lanes ? 1 : chosen(plan_.f.node, AttrKey::Every, 1);
        if (on_lanes && widest.accumulators > 1) state = unrolled(widest, &lo, hi, state);
        if (plan_.f.node->annotation(AttrKey::Privatise)) lo = privatised(lo, hi, state);
        else if (!on_lanes && accumulators() > 1) state = by_turns(&lo, hi, state);
        const Expr* f = plan_.f.node;
        if (f->annotation(AttrKey::Selection) && (e_.in_any_case || !f->annotation(AttrKey::Often))) {
            state = selected(lo, hi, state, prefetches, collect);
        } else {
            if (plan_.step == 1) prefetches.start(e_);
            const auto round = [&](llvm::Value* i, const Leaves& s) {
                llvm::Value* last = e_.ir.CreateSub(hi, e_.c64(1));
                prefetch_rows(i, last);
                if (plan_.step == 1) {
                    if (every == 1) prefetch_elements(i);
                    prefetches.emit(e_, i, last, s, [&](llvm::Value* at) { begin(at); });
                }
                const Leaves next = iteration(i, s);
                if (collect) e_.collect_check(type_, [&] { return next; });
                return next;
            };
            if (every != 1) state = asking_once(every, &lo, hi, state, round);
            const bool skips = accumulators() == 1 && plan_.f.node->annotation(AttrKey::Skip);
            state = skips ? skipping(
                                lo, hi, state, 1, round,
                                [&](llvm::Value* i) { return e_.ir.CreateIsNotNull(lanes_that_pass(i)); },
                                [&](llvm::Value* i) { prefetch_undemanded(i); })
                          : rounds(lo, hi, 1, state, round);
        }
        return state;
    }

    /// The iterations [lo, hi) by blocks. First every iteration of a block writes its number to a vector, and
    /// the place moves on only if the condition holds; then the iterations whose numbers are there are done.
    Leaves selected(llvm::Value* lo, llvm::Value* hi, const Leaves& state, Prefetches& prefetches,
                    bool collect) {
        auto& ir = e_.ir;
        const Filter filter = *filter_of(plan_.f);
        const std::int64_t size = plan_.f.node->annotation(AttrKey::Selection)->number;
        llvm::Type* number = ir.getInt16Ty();
        llvm::Value* numbers = e_.slot(2 * (size + 1), 64);
        const auto place = [&](llvm::Value* n) { return ir.CreateGEP(number, numbers, n); };
        const auto note = [&](llvm::Value* from, llvm::Value* i, llvm::Value* n) {
            begin(i);
            emit_lets_for(filter.cond, filter.lets);
            llvm::Value* holds = e_.emit1(filter.cond);
            if (!filter.wanted) holds = ir.CreateNot(holds);
            ir.CreateStore(ir.CreateTrunc(ir.CreateSub(i, from), number), place(n));
            return ir.CreateAdd(n, ir.CreateZExt(holds, ir.getInt64Ty()), "", true, true);
        };
        const std::vector<bool> fixed(state.size(), false);
        const Annotation* unasked = plan_.f.node->annotation(AttrKey::Unasked);
        Leaves begin_with = state;
        const Leaves kept = unasked ? kept_waits(filter.cond) : Leaves();
        for (llvm::Value* at : kept) begin_with.push_back(load_shared(at));
        if (unasked && kept.empty()) begin_with.append({e_.c64(0), e_.c64(0)});
        const Leaves end = rounds(lo, hi, size, begin_with, [&](llvm::Value* from, const Leaves& now) {
            const Leaves before(now.begin(), now.begin() + std::ptrdiff_t(state.size()));
            llvm::Value* after = ir.CreateAdd(from, e_.c64(size), "", true, true);
            after = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, after, hi);
            const Leaves none = {e_.c64(0)};
            const auto note_one = [&](llvm::Value* i, const Leaves& n) {
                return Leaves{note(from, i, n[0])};
            };
            const auto note_all = [&] {
                llvm::Value *at = from, *noted = none[0];
                if (const Datum* holds = is_datum(filter.cond)) {
                    at = ir.CreateAnd(ir.CreateSub(after, from), e_.c64(~63));
                    at = ir.CreateAdd(from, at, "", true, true);
                    const auto lanes = [&](llvm::Value* i, const Leaves& n) {
                        return Leaves{note_lanes(*holds, filter.wanted, from, i, n[0], place)};
                    };
                    noted = e_.counted_loop(from, at, 64, none, {false}, lanes)[0];
                }
                return e_.counted_loop(at, after, 1, {noted}, {false}, note_one);
            };
            llvm::Value* all = ir.CreateSub(after, from, "", true, true);
            const auto note_each = [&]() -> Leaves {
                e_.counted_loop(none[0], all, 1, {}, {}, [&](llvm::Value* n, const Leaves&) -> Leaves {
                    ir.CreateStore(ir.CreateTrunc(n, number), place(n));
                    return {};
                });
                return {all};
            };
            Waits waits;
            if (unasked) waits = {now[state.size()], now[state.size() + 1], unasked->number};
            llvm::Value* count = (unasked ? e_.emit_if(asks(waits), note_all, note_each) : note_all())[0];
            llvm::Value* last = ir.CreateSub(count, e_.c64(1));
            prefetches.start(e_);
            const auto round = [&](llvm::Value* n) {  // the first one for those before it, which only ask
                n = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n, e_.c64(0));
                llvm::Value* in_block = ir.CreateZExt(ir.CreateLoad(number, place(n)), ir.getInt64Ty());
                return ir.CreateAdd(from, in_block, "", true, true);
            };
            const auto work = [&](llvm::Value* n, const Leaves& now) {
                e_.names[plan_.f.builder_param()] = now;
                begin(round(n));
                if (filter.lets) e_.emit_lets_of(filter.lets);
                const Leaves next = e_.emit(filter.work);
                if (collect) e_.collect_check(type_, [&] { return next; });
                return next;
            };
            // The first of these iterations only ask for memory.
            const std::int64_t lead = prefetches.lead();
            llvm::Value* ahead = e_.c64(lead + kElementsAhead);
            ahead = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ahead, count);
            const auto ask_and_work = [&](llvm::Value* asked, const Leaves& now) {
                llvm::Value* n = ir.CreateSub(asked, ahead, "", false, true);
                llvm::Value* there = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, asked, last);
                prefetch_unasked(filter, [&] { return round(there); });
                prefetches.emit(e_, n, last, now, [&](llvm::Value* at) { begin(round(at)); });
                llvm::Value* works = ir.CreateICmpSGE(n, e_.c64(0));
                return e_.emit_if(works, [&] { return work(n, now); }, [&] { return now; });
            };
            llvm::Value* in_all = ir.CreateAdd(count, ahead, "", true, true);
            Leaves next = e_.counted_loop(e_.c64(0), in_all, 1, before, fixed, ask_and_work);
            llvm::Value* most = ir.CreateICmpUGT(ir.CreateShl(count, 2), ir.CreateMul(all, e_.c64(3)));
            if (unasked) next.append(waits_after(waits, most));
            return next;
        });
        for (std::size_t i = 0; i < kept.size(); ++i) store_shared(kept[i], end[state.size() + i]);
        return Leaves(end.begin(), end.begin() + std::ptrdiff_t(state.size()));
    }

    /// Where the two numbers of Waits are from one chunk to the next: behind the bits that `cond` asks. Threads share them,
    /// and may see those of others or not.
    Leaves kept_waits(const Expr* cond) {
        const Expr* bits = nullptr;
        visit(cond, [&](const Expr* e) {
            if (const KeyExists k = e->as<KeyExists>(); k && k.bits()) bits = k.bits();
        });
        if (!bits) return {};
        const Leaves words = e_.emit(bits);
        return {word_behind(e_, words, 0), word_behind(e_, words, 1)};
    }
    llvm::Value* load_shared(llvm::Value* at) {
        llvm::LoadInst* load = e_.ir.CreateAlignedLoad(e_.unit.i64, at, llvm::Align(8));
        load->setAtomic(llvm::AtomicOrdering::Monotonic);
        return load;
    }
    void store_shared(llvm::Value* at, llvm::Value* value) {
        e_.ir.CreateAlignedStore(value, at, llvm::Align(8))->setAtomic(llvm::AtomicOrdering::Monotonic);
    }

    /// Prefetches those elements of iteration `at` that the condition does not read, and the work does.
    void prefetch_unasked(const Filter& filter, const std::function<llvm::Value*()>& at) {
        if (plan_.data.size() < 2) return;
        llvm::Value* i = nullptr;
        for (std::size_t k = 0; k < plan_.data.size(); ++k) {
            const Datum& d = plan_.data[k];
            if (d.vec.empty() || d.stride || !d.nd_shape.empty() || is_asked(filter, k)) continue;
            if (!i) i = at();
            const Type* elem = d.iter ? d.iter.data()->type->elem() : d.yields;
            e_.prefetch(e_.element(d.vec[0], elem, position(e_, plan_, d, i)));
        }
    }
    /// The condition, or what is computed before it, reads datum `k`.
    bool is_asked(const Filter& filter, std::size_t k) const {
        bool any = false;
        const auto look = [&](const Expr* e) {
            any |= e->op == Op::GetField && e->attr.index == k && is_var(e->arg(0), plan_.f.elem_param());
        };
        visit(filter.cond, look);
        for (std::size_t i = 0; filter.lets && i < filter.lets.size(); ++i) visit(filter.lets.value(i), look);
        return any;
    }

    /// Blocks that go by without being asked something, since asking was in vain.
    struct Waits {
        llvm::Value* left = nullptr;   ///< so many more
        llvm::Value* first = nullptr;  ///< so many in all, since the last that was asked
        std::int64_t most = 0;
    };
    llvm::Value* asks(const Waits& w) { return e_.ir.CreateICmpEQ(w.left, e_.c64(0)); }
    /// `left` and `first` after a block: after one that was asked in vain, twice as many as before.
    Leaves waits_after(const Waits& w, llvm::Value* in_vain) {
        auto& ir = e_.ir;
        llvm::Value* more = ir.CreateOr(ir.CreateShl(w.first, 1), e_.c64(1));
        more = ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, more, e_.c64(w.most));
        more = ir.CreateSelect(in_vain, more, e_.c64(0));
        return {ir.CreateSelect(asks(w), more, ir.CreateSub(w.left, e_.c64(1))),
                ir.CreateSelect(asks(w), more, w.first)};
    }

    /// The datum whose element `cond` is, if its elements lie one behind the other.
    const Datum* is_datum(const Expr* cond) const {
        const bool is_one = plan_.data.size() == 1 && is_var(cond, plan_.f.elem_param());
        if (!is_one && (cond->op != Op::GetField || !is_var(cond->arg(0), plan_.f.elem_param())))
            return nullptr;
        const Datum& d = plan_.data[is_one ? 0 : std::size_t(cond->attr.index)];
        return d.vec.empty() || d.stride || !d.nd_shape.empty() || plan_.step != 1 ? nullptr : &d;
    }

    /// Notes those of 64 iterations from `i` on whose bool is `wanted`, behind `n` others. How many there are then.
    llvm::Value* note_lanes(const Datum& d, bool wanted, llvm::Value* from, llvm::Value* i, llvm::Value* n,
                            const std::function<llvm::Value*(llvm::Value*)>& place) {
        auto& ir = e_.ir;
        auto* type = llvm::FixedVectorType::get(e_.unit.i8, 64);
        llvm::Value* at = e_.element(d.vec[0], d.yields, position(e_, plan_, d, i));
        llvm::Value* bools = ir.CreateAlignedLoad(type, at, llvm::Align(1));
        llvm::Value* none = llvm::Constant::getNullValue(type);
        llvm::Value* bits =
            ir.CreateICmp(wanted ? llvm::CmpInst::ICMP_NE : llvm::CmpInst::ICMP_EQ, bools, none);
        bits = ir.CreateBitCast(bits, ir.getInt64Ty());
        llvm::Value *first = ir.CreateSub(i, from),
                    *count = ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits);
        each_bit(bits, {}, [&](llvm::Value* k, llvm::Value* lane, const Leaves&) -> Leaves {
            llvm::Value* number = ir.CreateTrunc(ir.CreateAdd(first, lane), ir.getInt16Ty());
            ir.CreateStore(number, place(ir.CreateAdd(n, k)));
            return {};
        });
        return ir.CreateAdd(n, count, "", true, true);
    }

    /// fn(0, ...), fn(1, ...), ... for the places in `bits` that are set, in order, each with the state that the one before gives.
    Leaves each_bit(llvm::Value* bits, Leaves state,
                    const std::function<Leaves(llvm::Value* k, llvm::Value* bit, const Leaves&)>& fn) {
        auto& ir = e_.ir;
        state.push_back(bits);
        const std::vector<bool> fixed(state.size(), false);
        const auto next = [&](llvm::Value* k, const Leaves& s) {
            llvm::Value* left = s.back();
            llvm::Value* bit = ir.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, ir.getTrue());
            Leaves after = fn(k, bit, Leaves(s.begin(), s.end() - 1));
            after.push_back(ir.CreateAnd(left, ir.CreateSub(left, e_.c64(1))));
            return after;
        };
        llvm::Value* count = ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits);
        Leaves last = e_.counted_loop(e_.c64(0), count, 1, state, fixed, next);
        last.pop_back();
        return last;
    }

    /// Rounds [lo, hi) of `iterations` iterations each, by blocks. Of a block it is asked first in which rounds any lane `passes`;
    /// where those are few, they alone are done. Where they are not, that block and others behind it are done whole.
    Leaves skipping(llvm::Value* lo, llvm::Value* hi, const Leaves& state, std::int64_t iterations,
                    const std::function<Leaves(llvm::Value*, const Leaves&)>& round,
                    const std::function<llvm::Value*(llvm::Value*)>& passes,
                    const std::function<void(llvm::Value*)>& prefetch) {
        constexpr std::int64_t blocks = 64;  // one behind the other, till it is asked again in any case
        auto& ir = e_.ir;
        const std::int64_t asked = plan_.f.node->annotation(AttrKey::Skip)->number / iterations;
        const std::int64_t size = std::min<std::int64_t>(asked, 64);  // a bit each
        const std::vector<bool> fixed(state.size(), false), with_more(state.size() + 2, false);
        llvm::Value* is_far = is_undemanded_far();
        const auto end_of = [&](llvm::Value* from, std::int64_t rounds, llvm::Value* most) {
            llvm::Value* end = ir.CreateAdd(from, e_.c64(rounds), "", true, true);
            return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, most);
        };
        const auto needed_in = [&](llvm::Value* from, llvm::Value* end) {  // a bit for each round
            const auto ask = [&](llvm::Value* r, const Leaves& bits) {
                llvm::Value* bit = ir.CreateZExt(passes(r), e_.unit.i64);
                return Leaves{ir.CreateOr(bits[0], ir.CreateShl(bit, ir.CreateSub(r, from)))};
            };
            return e_.counted_loop(from, end, 1, {e_.c64(0)}, {false}, ask)[0];
        };
        // Memory is read faster in order, and going over from the one to the other takes time.
        const auto are_few = [&](llvm::Value* needed, llvm::Value* is_first) {
            llvm::Value* count = ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, needed);
            llvm::Value* first = ir.CreateSelect(is_far, e_.c64(size / 9), e_.c64(size / 3));
            llvm::Value* later = ir.CreateSelect(is_far, e_.c64(size / 6), e_.c64(size / 2));
            return ir.CreateICmpULE(count, ir.CreateSelect(is_first, first, later));
        };
        // `fn` for each round from `from` on that is needed.
        const auto each_of = [&](llvm::Value* needed, llvm::Value* from, const Leaves& now,
                                 const std::function<Leaves(llvm::Value*, const Leaves&)>& fn) {
            return each_bit(needed, now, [&](llvm::Value*, llvm::Value* bit, const Leaves& s) {
                return fn(ir.CreateAdd(from, bit, "", true, true), s);
            });
        };
        const auto all_blocks = [&](llvm::Value* begin, const Leaves& before) {
            llvm::Value *end = end_of(begin, blocks * size, hi), *few = nullptr;
            // A block whose rounds are few, while what those of the next one read comes from memory.
            const auto block = [&](llvm::Value* next_from, const Leaves& now) {
                llvm::Value* from = ir.CreateSub(next_from, e_.c64(size), "", false, true);
                llvm::Value* needed = needed_in(next_from, end_of(next_from, size, end));
                few = are_few(needed, ir.CreateICmpEQ(next_from, begin));
                const auto ask = [&](llvm::Value* r, const Leaves&) { return prefetch(r), Leaves{}; };
                e_.emit_if(few, [&] { return each_of(needed, next_from, {}, ask); }, [] { return Leaves{}; });
                Leaves next = each_of(now.back(), from, Leaves(now.begin(), now.end() - 2), round);
                next.append({next_from, needed});
                return next;
            };
            Leaves begin_with = before;
            begin_with.append({begin, e_.c64(0)});  // the first round that is left, and which are needed
            llvm::Value* behind = ir.CreateAdd(end, e_.c64(size), "", true, true);  // once for the last
            Leaves next = e_.counted_loop(begin, behind, size, begin_with, with_more, block, {},
                                          [&](const Leaves&) { return ir.CreateNot(few); });
            next.pop_back();
            llvm::Value* left = next.pop_back_val();
            return e_.counted_loop(left, end, 1, next, fixed, round);
        };
        return e_.counted_loop(lo, hi, blocks * size, state, fixed, all_blocks,
                               strip(blocks * size * iterations));
    }

    /// What is read beside what says whether any lane passes is more than the last cache holds.
    llvm::Value* is_undemanded_far() {
        constexpr std::int64_t cached = 32 << 20;  // bytes
        const Demand demand = *demand_of(plan_.f);
        llvm::Value* elements = e_.c64(0);
        std::int64_t bytes = 0;
        for (std::size_t k = 0; k < plan_.data.size(); ++k) {
            const Datum& d = plan_.data[k];
            if (demand.reads[k] || d.vec.empty()) continue;
            bytes += size_of((d.iter ? d.iter.data()->type : plan_.f.data()[k]->type)->elem());
            elements = d.vec[1];
        }
        return e_.ir.CreateICmpSGT(elements, e_.c64(bytes ? cached / bytes : 0));
    }

    /// Asks for what iteration `i` reads beside what says whether any lane passes.
    void prefetch_undemanded(llvm::Value* i) {
        std::vector<bool> others = demand_of(plan_.f)->reads;
        others.flip();
        prefetch_elements(i, &others, 0, Cache::First);
    }

    /// The lanes of iteration `i` that have what all merges demand, as bits.
    llvm::Value* lanes_that_pass(llvm::Value* i) {
        const Demand demand = *demand_of(plan_.f);
        begin(i, &demand.reads);
        llvm::Value* all = nullptr;
        for (const Expr* cond : demand.conds) {
            emit_lets_for(cond, demand.lets);
            llvm::Value* holds = e_.emit1(cond);
            all = all ? e_.ir.CreateAnd(all, holds) : holds;
        }
        return e_.ir.CreateBitCast(all, e_.ir.getIntNTy(unsigned(plan_.step)));
    }

    /// Binds those of `lets` that `e` reads.
    void emit_lets_for(const Expr* e, Block lets) {
        if (!lets) return;
        std::vector<const Symbol*> read = free_symbols(e);
        std::vector<bool> needed(lets.size());
        for (std::size_t i = lets.size(); i-- > 0;) {
            needed[i] = std::ranges::find(read, lets.symbol(i)) != read.end();
            if (needed[i]) std::ranges::copy(free_symbols(lets.value(i)), std::back_inserter(read));
        }
        for (std::size_t i = 0; i < lets.size(); ++i)
            if (needed[i]) e_.names[lets.symbol(i)] = e_.emit(lets.value(i));
    }

    /// The iterations [lo, hi), each of which appends what a loop inside gives, by tiles of both. Room has
    /// been made, so places in it are known.
    Leaves by_tiles(llvm::Value* lo, llvm::Value* hi, const Leaves& state) {
        auto& ir = e_.ir;
        const For inner = tiled_loop(plan_.f), lanes = masked_loop(inner);
        const std::int64_t side = plan_.f.node->annotation(AttrKey::Tile)->number;
        const Transposed across = lanes ? transposed(lanes, side) : Transposed();
        const auto end = [&](llvm::Value* begin, llvm::Value* all) {
            llvm::Value* whole = ir.CreateAdd(begin, e_.c64(side), "", true, true);
            return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, whole, all);
        };
        // What rounds [from, to) append in iteration `i`, where it is element `first` and those after it.
        const auto append = [&](llvm::Value* i, const LoopPlan& part, llvm::Value* first, llvm::Value* from,
                                llvm::Value* to) {
            llvm::Value* before = ir.CreateMul(ir.CreateSub(i, lo), plan_.tiled);
            llvm::Value* place = ir.CreateAdd(state[1], ir.CreateAdd(before, first));
            RangeEmitter(e_, part, false).emit(from, to, {state[0], place, e_.c64(kEnough)}, false);
        };
        const auto on_lanes = [&](llvm::Value* rows, llvm::Value* last) {
            const std::int64_t n = lanes.data()[0]->as<Iter>().lanes();
            each(e_.c64(0), quotient(e_, plan_.tiled, n), 1, {}, [&](llvm::Value* k) {
                begin_row(rows);
                RangeEmitter(e_, make_plan(e_, lanes, {}), false)
                    .transpose_lanes(k, ir.CreateSub(last, rows), across);
                each(rows, last, 1, {}, [&](llvm::Value* i) {
                    begin_row(i);
                    for (const auto& [lookup, tile] : across)
                        e_.tile_rows[lookup.node] = tile_row(lookup, tile, ir.CreateSub(i, rows));
                    append(i, make_plan(e_, lanes, {}), ir.CreateMul(k, e_.c64(n)), k,
                           ir.CreateAdd(k, e_.c64(1)));
                });
            });
            for (const auto& [lookup, tile] : across) e_.tile_rows.erase(lookup.node);
            const auto fringe = [&]() -> Leaves {
                each(rows, last, 1, {}, [&](llvm::Value* i) {
                    begin_row(i);
                    const LoopPlan part = make_plan(e_, inner, {});
                    append(i, part, part.base, e_.c64(0), part.count);
                });
                return {};
            };
            e_.emit_if(ir.CreateIsNotNull(remainder(e_, plan_.tiled, n)), fringe, [] { return Leaves{}; });
        };
        const auto one_by_one = [&](llvm::Value* rows, llvm::Value* last) {
            each(e_.c64(0), plan_.tiled, side, {}, [&](llvm::Value* columns) {
                each(rows, last, 1, {}, [&](llvm::Value* i) {
                    begin_row(i);
                    append(i, make_plan(e_, inner, {}), columns, columns, end(columns, plan_.tiled));
                });
            });
        };
        ++e_.loop_depth;
        each(lo, hi, side, strip(side), [&](llvm::Value* rows) {
            if (lanes) on_lanes(rows, end(rows, hi));
            else one_by_one(rows, end(rows, hi));
        });
        --e_.loop_depth;
        llvm::Value* all = ir.CreateMul(ir.CreateSub(hi, lo), plan_.tiled);
        return {state[0], ir.CreateAdd(state[1], all), state[2]};
    }

    void each(llvm::Value* from, llvm::Value* to, std::int64_t step, const std::optional<Strip>& strip,
              const std::function<void(llvm::Value*)>& fn) {
        const auto round = [&](llvm::Value* i, const Leaves&) -> Leaves { return fn(i), Leaves{}; };
        e_.counted_loop(from, to, step, {}, {}, round, strip);
    }

    /// Binds what the loop inside reads in iteration `i`.
    void begin_row(llvm::Value* i) {
        begin(i);
        if (const Block b = plan_.f.body().body()->as<Block>()) e_.emit_lets_of(b);
    }

    /// Look-ups that are transposed, and where a tile of what they give is: one round of lanes a row.
    using Transposed = std::vector<std::pair<LookupLanes, llvm::Value*>>;

    /// Those in `lanes` whose tiles have room in the frame.
    Transposed transposed(For lanes, std::int64_t rows) {
        Transposed all;
        visit(lanes.body().body(), [&](const Expr* e) {
            const LookupLanes l = e->says(AttrKey::Tile, true) ? e->as<LookupLanes>() : LookupLanes();
            if (!l) return;
            if (llvm::Value* tile = e_.transposed_slot(rows * bytes_of(l))) all.emplace_back(l, tile);
        });
        return all;
    }

    static std::int64_t bytes_of(LookupLanes l) { return l.lanes() * size_of(l.node->type->scalar); }

    llvm::Value* tile_row(LookupLanes l, llvm::Value* tile, llvm::Value* row) {
        return e_.ir.CreateGEP(e_.unit.i8, tile, e_.ir.CreateMul(row, e_.c64(bytes_of(l))));
    }

    /// Fills the tiles for round `k` of this loop and `rows` rows around it, of which the first has begun.
    void transpose_lanes(llvm::Value* k, llvm::Value* rows, const Transposed& across) {
        begin(k);
        for (const auto& [lookup, tile] : across) {
            emit_lets_for(lookup.indices(), plan_.f.body().body()->as<Block>());
            llvm::Type* scalar = e_.unit.memory(lookup.node->type->scalar);
            llvm::Value *data = e_.emit(lookup.of())[0], *places = e_.emit1(lookup.indices());
            Leaves lines;
            for (std::uint64_t lane = 0; lane < lookup.lanes(); ++lane)
                lines.push_back(e_.ir.CreateGEP(scalar, data, e_.ir.CreateExtractElement(places, lane)));
            transpose(e_, scalar, lines, rows, tile);
        }
    }

    /// Full rounds of lanes of the elements [lo, hi), as long as the groups of every dictmerger fit
    /// registers. Gives the first element that is left.
    std::pair<llvm::Value*, Leaves> while_groups_fit(llvm::Value* lo, llvm::Value* hi, const Leaves& state) {
        auto& ir = e_.ir;
        const Lanes outer = e_.lanes;
        llvm::Value* width = e_.c64(plan_.step);
        llvm::Value *from = quotient(e_, lo, plan_.step), *to = quotient(e_, hi, plan_.step);
        Leaves begin = into(plan_.form(outer), state);
        to = ir.CreateSelect(any_crowded(begin), from, to);
        begin.push_back(lo);  // the first element that is left
        const auto round = [&](llvm::Value* i, const Leaves& now) {
            Leaves next = iteration(i, Leaves(now.begin(), now.end() - 1));
            next.push_back(ir.CreateMul(ir.CreateAdd(i, e_.c64(1), "", true, true), width));
            return next;
        };
        const auto any_has_more = [&](const Leaves& next) {
            llvm::Value* any = ir.getFalse();
            for_each_builder(e_, type_, [&](const Type* b, int first, int) {
                const auto of = llvm::ArrayRef<llvm::Value*>(next).drop_front(std::size_t(first));
                if (info(b).probes) any = ir.CreateOr(any, has_more_groups(e_, of));
            });
            return any;
        };
        const std::vector<bool> fixed(begin.size(), false);
        const Leaves end = e_.counted_loop(from, to, 1, begin, fixed, round, strip(1), any_has_more);
        return {end.back(), into(outer, Leaves(end.begin(), end.end() - 1))};
    }

    /// The chunks before this one had too many groups. That decides about the bits of inexact sums, and about
    /// nothing else: these are not asked.
    llvm::Value* any_crowded(const Leaves& state) {
        llvm::Value* any = e_.ir.getFalse();
        for_each_builder(e_, type_, [&](const Type* b, int first, int) {
            if (!info(b).probes || !info(b).exact(b)) return;
            llvm::Value* chunks = e_.load(fields::Table::crowded, state[std::size_t(first)]);
            any = e_.ir.CreateOr(any, e_.ir.CreateIsNotNull(chunks));
        });
        return any;
    }

    Leaves into(Lanes form, const Leaves& state) {
        const Leaves reformed = e_.reform(type_, state, e_.lanes, form, plan_.f.node->loc);
        e_.lanes = form;
        return reformed;
    }

    /// Prefetches the elements some cache lines behind those of iteration `i`: most processors do that by
    /// themselves, but not beyond the end of a page. Those that do so there too do not beside what is scattered.
    /// `which`: of these data; null: of all.
    void prefetch_elements(llvm::Value* i, const std::vector<bool>* which = nullptr) {
        const Annotation* distance = plan_.f.node->annotation(AttrKey::Stream);
        if (!distance) return;
        if (!e_.unit.target.follows_streams)
            return prefetch_elements(i, which, distance->number, Cache::First);
        if (asks_) return prefetch_elements(i, which, distance->number, Cache::Second);
        if (!scattered_) return;
        const auto fetch = [&]() -> Leaves {
            prefetch_elements(i, which, distance->number, Cache::Second);
            return {};
        };
        e_.emit_if(scattered_, fetch, []() -> Leaves { return {}; });
    }

    /// The iterations from `lo` on as long as there are `n` more, which ask for elements together; `lo` is then where
    /// the others begin. None where there is nothing to ask for.
    Leaves asking_once(std::int64_t n, llvm::Value** lo, llvm::Value* hi, const Leaves& state,
                       const std::function<Leaves(llvm::Value*, const Leaves&)>& round) {
        auto& ir = e_.ir;
        llvm::Value* begin = *lo;
        llvm::Value* end = ir.CreateAdd(begin, ir.CreateAnd(ir.CreateSub(hi, begin), e_.c64(-n)));
        if (llvm::Value* asks = std::exchange(scattered_, nullptr)) end = ir.CreateSelect(asks, end, begin);
        *lo = end;
        const std::int64_t bytes = chosen(plan_.f.node, AttrKey::Stream, 0);
        return rounds(begin, end, n, state, [&](llvm::Value* i, const Leaves& now) {
            prefetch_elements(i, nullptr, bytes,
                              e_.unit.target.follows_streams ? Cache::Second : Cache::First);
            const bool outer = std::exchange(e_.side_by_side, true);
            Leaves next = now;
            for (std::int64_t k = 0; k < n; ++k)
                next = round(ir.CreateAdd(i, e_.c64(k), "", true, true), next);
            e_.side_by_side = outer;
            return next;
        });
    }

    void prefetch_elements(llvm::Value* i, const std::vector<bool>* which, std::int64_t bytes, Cache into) {
        for (std::size_t k = 0; k < plan_.data.size(); ++k) {
            const Datum& d = plan_.data[k];
            if (which && !(*which)[k]) continue;
            if (d.vec.empty() || d.stride || !d.nd_shape.empty()) continue;
            const Type* elem = d.iter ? d.iter.data()->type->elem() : d.yields;
            e_.prefetch(e_.address(e_.element(d.vec[0], elem, position(e_, plan_, d, i)), bytes), into);
        }
    }

    /// Binds the index and the element. `asked`: memory of these data is asked for early; null: of all.
    void begin(llvm::Value* i, const std::vector<bool>* asked = nullptr) {
        if (plan_.step != 1 && !e_.tail.mask) prefetch_elements(i, asked);
        e_.names[plan_.f.index_param()] = {i};
        Leaves elem;
        for (const Datum& d : plan_.data) elem.append(read(e_, plan_, d, i));
        e_.names[plan_.f.elem_param()] = elem;
    }

    Leaves iteration(llvm::Value* i, const Leaves& state) {
        e_.names[plan_.f.builder_param()] = state;
        begin(i);
        return e_.emit(plan_.f.body().body());
    }

    /// Prefetches the beginnings of the vectors that are the elements some iterations later.
    void prefetch_rows(llvm::Value* i, llvm::Value* last) {
        const Annotation* distance = plan_.f.node->annotation(AttrKey::Prefetch);
        if (!distance) return;
        for (const Datum& d : plan_.data) {
            if (!d.yields->is_vec() || d.vec.empty() || !d.nd_shape.empty()) continue;
            llvm::Value* there = e_.ir.CreateAdd(i, e_.c64(distance->number), "", true, true);
            llvm::Value* row =
                read(e_, plan_, d, e_.ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, there, last))[0];
            e_.prefetch_row(row);
        }
    }

    Leaves rounds(llvm::Value* lo, llvm::Value* hi, std::int64_t step, const Leaves& state,
                  const std::function<Leaves(llvm::Value*, const Leaves&)>& body,
                  std::int64_t iterations_per_step = 1) {
        std::vector<bool> fixed(state.size(), false);
        for (int leaf : roomy_appenders(e_, plan_))
            fixed[std::size_t(leaf)] = fixed[std::size_t(leaf) + 2] = true;
        return e_.counted_loop(lo, hi, step, state, fixed, body, strip(step * iterations_per_step));
    }

    /// How many rounds of `iterations` iterations each make a strip.
    std::optional<Strip> strip(std::int64_t iterations) const {
        if (!may_be_long_) return {};
        const std::int64_t all = strip_of(plan_.f.node);
        return Strip{std::max<std::int64_t>(1, all / iterations), plan_.f.node->loc};
    }

    /// Does as many iterations as are a multiple of the accumulators; `*lo` moves behind them. Short loops
    /// skip this, and do not pay for combining accumulators.
    Leaves unrolled(Lanes form, llvm::Value** lo, llvm::Value* hi, const Leaves& state) {
        const std::int64_t n = form.accumulators;
        const Lanes single = e_.lanes;
        llvm::Value* begin = *lo;
        llvm::Value* times =
            e_.ir.CreateAShr(e_.ir.CreateSub(hi, begin), std::uint64_t(std::countr_zero(std::uint64_t(n))));
        llvm::Value* any = e_.ir.CreateICmpSGT(times, e_.c64(0));
        llvm::Value* end = e_.ir.CreateAdd(begin, e_.ir.CreateMul(times, e_.c64(n)));
        *lo = e_.ir.CreateSelect(any, end, begin);
        llvm::Value *step = e_.c64(n), *distance = e_.c64(1), *is_apart = nullptr;
        if (const std::int64_t least = chosen(plan_.f.node, AttrKey::Apart, 0)) {
            is_apart = e_.ir.CreateICmpSGE(times, e_.c64(least));
            step = e_.ir.CreateSelect(is_apart, distance, step);
            distance = e_.ir.CreateSelect(is_apart, times, distance);
        }
        const auto each_iteration = [&](llvm::Value* r, const std::function<void(llvm::Value*)>& fn) {
            llvm::Value* i = e_.ir.CreateAdd(begin, e_.ir.CreateMul(r, step, "", true, true), "", true, true);
            for (std::int64_t k = 0; k < n; ++k) {
                e_.accumulator = std::uint32_t(k);
                fn(i);
                i = e_.ir.CreateAdd(i, distance, "", true, true);
            }
            e_.accumulator = 0;
        };
        const auto round = [&](llvm::Value* r, const Leaves& s) {
            Leaves now = s;
            each_iteration(r, [&](llvm::Value* i) { now = iteration(i, now); });
            return now;
        };
        const auto passes = [&](llvm::Value* r) {
            llvm::Value* any = e_.ir.getIntN(unsigned(plan_.step), 0);
            each_iteration(r, [&](llvm::Value* i) { any = e_.ir.CreateOr(any, lanes_that_pass(i)); });
            return e_.ir.CreateIsNotNull(any);
        };
        const auto prefetch = [&](llvm::Value* r) {
            each_iteration(r, [&](llvm::Value* i) { prefetch_undemanded(i); });
        };
        const auto loop = [&] {
            const Leaves first = into(form, state);
            const bool skips = plan_.f.node->annotation(AttrKey::Skip);
            return into(single, skips ? skipping(e_.c64(0), times, first, n, round, passes, prefetch)
                                      : rounds(e_.c64(0), times, 1, first, round, n));
        };
        return e_.emit_if(any, loop, [&] { return state; });
    }

    std::int64_t accumulators() const { return chosen(plan_.f.node, AttrKey::Accumulators, 1); }

    /// Does iterations in pairs, each on a merger of its own, so that merges do not wait for each other; `*lo` moves
    /// behind them.
    Leaves by_turns(llvm::Value** lo, llvm::Value* hi, const Leaves& state) {
        auto& ir = e_.ir;
        const Scalar s = type_->elem()->scalar;
        const Lanes outer = e_.lanes;
        const bool numbers = e_.lanes.numbers = plan_.merges_alone();
        llvm::Value* none = ir.CreateVectorSplat(type_->elem()->lanes, e_.nothing(type_->op, s, numbers));
        llvm::Value* begin = *lo;
        llvm::Value* end = ir.CreateAdd(begin, ir.CreateAnd(ir.CreateSub(hi, begin), e_.c64(~1)));
        const Leaves two = rounds(begin, end, 2, {none, none}, [&](llvm::Value* i, const Leaves& now) {
            const Leaves first = iteration(i, {now[0]});
            const Leaves second = iteration(ir.CreateAdd(i, e_.c64(1), "", true, true), {now[1]});
            return Leaves{first[0], second[0]};
        });
        *lo = end;
        e_.lanes = outer;
        llvm::Value* both = e_.merge_into(type_->op, s, two[0], two[1], numbers, numbers);
        return {e_.merge_into(type_->op, s, both, state[0], numbers)};
    }

    /// Does iterations in groups, all but the first of each on copies of a small vector, so that merges into
    /// the same element do not wait for each other. The copies begin neutral and are combined at the end.
    /// Gives the first iteration that is left.
    llvm::Value* privatised(llvm::Value* lo, llvm::Value* hi, const Leaves& state) {
        const std::int64_t n = accumulators(), most = chosen(plan_.f.node, AttrKey::Privatise, 0);
        llvm::Value* least = e_.c64(chosen(plan_.f.node, AttrKey::Rounds, 0));
        const Type* elem = type_->elem();
        llvm::Value *data = state[0], *len = state[1];
        llvm::Value* iterations = e_.ir.CreateSub(hi, lo);
        llvm::Value* small = e_.ir.CreateICmpSLE(len, e_.c64(most / size_of(elem)));
        llvm::Value* elements = e_.ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, len, least);
        llvm::Value* many = e_.ir.CreateICmpSGE(iterations, e_.ir.CreateMul(elements, least));
        const auto by_turns = [&]() -> Leaves {
            llvm::Value* room = e_.ir.CreateMul(len, e_.c64(n - 1));
            llvm::Value* copies = e_.alloc(room, size_of(elem), plan_.f.node->loc);
            llvm::Value* nothing = e_.neutral(type_->op, elem->scalar);
            const auto each = [&](llvm::Value* count, const std::function<void(llvm::Value*)>& fn) {
                e_.counted_loop(e_.c64(0), count, 1, {}, {}, [&](llvm::Value* j, const Leaves&) -> Leaves {
                    fn(j);
                    return {};
                });
            };
            const auto copy = [&](std::int64_t k) {
                return e_.element(copies, elem, e_.ir.CreateMul(len, e_.c64(k - 1)));
            };
            each(room, [&](llvm::Value* j) { e_.store(elem, {nothing}, e_.element(copies, elem, j)); });
            llvm::Value* end =
                e_.ir.CreateAdd(lo, e_.ir.CreateMul(e_.ir.CreateUDiv(iterations, e_.c64(n)), e_.c64(n)));
            llvm::Value* scattered = std::exchange(scattered_, nullptr);  // not in so small a vector
            Leaves vectors = {data};
            for (std::int64_t k = 1; k < n; ++k) vectors.push_back(copy(k));
            const auto round = [&](llvm::Value* i, const Leaves&) -> Leaves {
                prefetch_elements(i);
                for (std::int64_t k = 0; k < n; ++k)
                    iteration(e_.ir.CreateAdd(i, e_.c64(k), "", true, true), {vectors[std::size_t(k)], len});
                return {};
            };
            e_.counted_loop(lo, end, n, {}, {}, round, strip(n));
            scattered_ = scattered;
            each(len, [&](llvm::Value* j) {
                llvm::Value* sum = e_.load(elem, e_.element(data, elem, j))[0];
                for (std::int64_t k = 1; k < n; ++k)
                    sum = e_.merge_op(type_->op, elem->scalar, sum,
                                      e_.load(elem, e_.element(vectors[std::size_t(k)], elem, j))[0]);
                e_.store(elem, {sum}, e_.element(data, elem, j));
            });
            e_.call("weld_rt_free", {e_.task, copies});
            return {end};
        };
        return e_.emit_if(e_.ir.CreateAnd(small, many), by_turns, [&]() -> Leaves { return {lo}; })[0];
    }

    /// Room was made for all that is appended.
    bool are_roomy() const {
        bool all = true;
        for_each_builder(e_, type_, [&](const Type* b, int, int k) {
            all &= !kept_merges(b) || plan_.appends[std::size_t(k)] >= 0;
        });
        return all;
    }

    /// Round `at`, on the elements that do not fill all lanes, if there are any.
    Leaves partial_round(llvm::Value* at, llvm::Value* count, const Leaves& state) {
        const auto partial = [&] {
            e_.tail = tail_round(e_, count, plan_.step);
            e_.tail.has_room = are_roomy();
            e_.tail.has_slack = has_slack_;
            const Leaves after = iteration(at, state);
            e_.tail = {};
            return after;
        };
        return e_.emit_if(e_.ir.CreateIsNotNull(count), partial, [&] { return state; });
    }

    Emitter& e_;
    const LoopPlan& plan_;
    const Type* type_;
    bool may_be_long_, has_slack_;
    bool asks_ = false;                 ///< for elements, on machines that follow streams
    llvm::Value* scattered_ = nullptr;  ///< Prefetches::is_scattered, on machines that follow streams
};

}  // namespace

Leaves emit_rounds(Emitter& e, const LoopPlan& plan, llvm::Value* lo, llvm::Value* hi, const Leaves& state,
                   Rounds how) {
    return RangeEmitter(e, plan, how.may_be_long, how.has_slack).emit(lo, hi, state, how.collect);
}

}  // namespace weld::codegen
