// One part [lo, hi) of a loop's range, by the means that its annotations name:
//
//     @(groups:N)         lanes as long as the groups fit, then the scalar loop for what is left
//     @(spread:N)         by pieces, each with the groups of a dictmerger in the table or spread
//     @(accumulators:4)   | 0 4 8 ... | 1 5 9 ... | 2 6 10 ... | 3 7 11 ... |   by turns, one copy of the state each;
//                         with `apart:N` each copy has a quarter of the range to itself, if that is N rounds at
//                         least. Then the rounds that are left
//     @(privatise:N)      the same with copies of a small vector
//     @(tile:N)           see tiled_rounds.cpp
//     @(skip:N)           with or without accumulators, and
//     @(selection:N)      see selected_rounds.cpp
//     none of these       lo, lo + 1, ..., hi - 1
//     @(tail:masked)      after any of these: one round on the elements that do not fill all lanes
#include "codegen/rounds.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "codegen/builders/arrays.h"
#include "codegen/builders/groups.h"
#include "codegen/builders/spread.h"
#include "codegen/prefetch.h"
#include "codegen/quick.h"
#include "codegen/range_emitter.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"

namespace weld::codegen {

/// Appenders that take a fixed number of values per iteration, whose room has been made: their first leaves.
static std::vector<int> roomy_appenders(const Emitter& e, const LoopPlan& plan) {
    std::vector<int> at;
    for_each_builder(e, plan.f.builder()->type, [&](const Type* b, int first, int k) {
        if (kept_merges(b) && plan.appends[std::size_t(k)] >= 0) at.push_back(first);
    });
    return at;
}

llvm::Value* quotient(Emitter& e, llvm::Value* n, std::int64_t by) {
    const auto divisor = std::uint64_t(by);
    return std::has_single_bit(divisor) ? e.ir.CreateLShr(n, std::uint64_t(std::countr_zero(divisor)))
                                        : e.ir.CreateUDiv(n, e.c64(by));
}

llvm::Value* remainder(Emitter& e, llvm::Value* n, std::int64_t by) {
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

Leaves RangeEmitter::emit(llvm::Value* lo, llvm::Value* hi, const Leaves& state, bool collect) {
    // A simd loop has accumulators of its own, whichever a loop around it is at.
    const std::uint32_t outer = e_.accumulator;
    if (plan_.step != 1) e_.accumulator = 0;
    const Leaves after = emit_range(lo, hi, state, collect);
    e_.accumulator = outer;
    return after;
}

Leaves RangeEmitter::emit_range(llvm::Value* lo, llvm::Value* hi, const Leaves& state, bool collect) {
    if (plan_.tiled) return by_tiles(lo, hi, state);
    // A collection does not know of slots.
    const bool may_spread = plan_.f.node->annotation(AttrKey::Spread) && !collect;
    if (!plan_.one_by_one) return may_spread ? by_pieces(lo, hi, state) : all(lo, hi, state, collect);
    ++e_.loop_depth;
    const auto [at, after] = while_groups_fit(lo, hi, state);
    --e_.loop_depth;
    return RangeEmitter(e_, *plan_.one_by_one, may_be_long_).emit(at, hi, after, collect);
}

Leaves RangeEmitter::by_pieces(llvm::Value* lo, llvm::Value* hi, const Leaves& state) {
    constexpr std::int64_t first_rows = 2048, most_rows = 1 << 17;
    auto& ir = e_.ir;
    const std::int64_t bytes = plan_.f.node->annotation(AttrKey::Spread)->number;
    // Behind the state there are where the piece begins, and its rows.
    const std::size_t at = state.size(), rows = at + 1;
    const auto piece = [&](llvm::Value*, const Leaves& now) {
        const Leaves before(now.begin(), now.begin() + std::ptrdiff_t(at));
        llvm::Value* count =
            ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, now[rows], ir.CreateSub(hi, now[at]));
        llvm::Value* end = ir.CreateAdd(now[at], count, "", true, true);
        const auto spread = [&] {
            const Lanes outer = std::exchange(e_.lanes, plan_.spread(e_.lanes));
            const Leaves table = spread_groups(e_, type_, before[0], bytes, plan_.f.node->loc);
            const Leaves gathered = gather_groups(e_, all(now[at], end, table, false), count);
            const Leaves after = e_.reform(type_, gathered, {}, outer, plan_.f.node->loc);
            e_.lanes = outer;
            return after;
        };
        llvm::Value* should = should_spread(e_, before[0], bytes, count);
        mark_for_quick(should);
        Leaves next = e_.emit_if(should, spread, [&] { return all(now[at], end, before, false); });
        llvm::Value* more = ir.CreateShl(now[rows], 1);
        next.append({end, ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, more, e_.c64(most_rows))});
        return next;
    };
    Leaves begin = state;
    begin.append({lo, e_.c64(first_rows)});
    const Leaves end = e_.counted_loop(lo, hi, 1, begin, std::vector<bool>(begin.size(), false), piece, {},
                                       [&](const Leaves& next) { return ir.CreateICmpSGE(next[at], hi); });
    return Leaves(end.begin(), end.begin() + std::ptrdiff_t(at));
}

Leaves RangeEmitter::all(llvm::Value* lo, llvm::Value* hi, Leaves state, bool collect) {
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

Leaves RangeEmitter::part(llvm::Value* lo, llvm::Value* hi, const Leaves& state, Lanes widest,
                          Prefetches& prefetches, bool collect) {
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

llvm::Value* RangeEmitter::changes_of_64(llvm::Value* lo) {
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

Leaves RangeEmitter::one_part(llvm::Value* lo, llvm::Value* hi, Leaves state, Lanes widest,
                              Prefetches& prefetches, bool collect) {
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

std::pair<llvm::Value*, Leaves> RangeEmitter::while_groups_fit(llvm::Value* lo, llvm::Value* hi,
                                                               const Leaves& state) {
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

llvm::Value* RangeEmitter::any_crowded(const Leaves& state) {
    llvm::Value* any = e_.ir.getFalse();
    for_each_builder(e_, type_, [&](const Type* b, int first, int) {
        if (!info(b).probes || !info(b).exact(b)) return;
        llvm::Value* chunks = e_.load(fields::Table::crowded, state[std::size_t(first)]);
        any = e_.ir.CreateOr(any, e_.ir.CreateIsNotNull(chunks));
    });
    return any;
}

Leaves RangeEmitter::into(Lanes form, const Leaves& state) {
    const Leaves reformed = e_.reform(type_, state, e_.lanes, form, plan_.f.node->loc);
    e_.lanes = form;
    return reformed;
}

void RangeEmitter::prefetch_elements(llvm::Value* i, const std::vector<bool>* which) {
    if (const Annotation* meanwhile = plan_.f.node->annotation(AttrKey::Meanwhile))
        prefetch_elements(i, which, meanwhile->number, Cache::Second);
    const Annotation* distance = plan_.f.node->annotation(AttrKey::Stream);
    if (!distance) return;
    if (!e_.unit.target.follows_streams) return prefetch_elements(i, which, distance->number, Cache::First);
    if (asks_) return prefetch_elements(i, which, distance->number, Cache::Second);
    if (!scattered_) return;
    const auto fetch = [&]() -> Leaves {
        prefetch_elements(i, which, distance->number, Cache::Second);
        return {};
    };
    e_.emit_if(scattered_, fetch, []() -> Leaves { return {}; });
}

Leaves RangeEmitter::asking_once(std::int64_t n, llvm::Value** lo, llvm::Value* hi, const Leaves& state,
                                 const std::function<Leaves(llvm::Value*, const Leaves&)>& round) {
    auto& ir = e_.ir;
    llvm::Value* begin = *lo;
    llvm::Value* end = ir.CreateAdd(begin, ir.CreateAnd(ir.CreateSub(hi, begin), e_.c64(-n)));
    if (llvm::Value* asks = std::exchange(scattered_, nullptr)) end = ir.CreateSelect(asks, end, begin);
    *lo = end;
    const std::int64_t bytes = chosen(plan_.f.node, AttrKey::Stream, 0);
    return rounds(begin, end, n, state, [&](llvm::Value* i, const Leaves& now) {
        prefetch_elements(i, nullptr, bytes, e_.unit.target.follows_streams ? Cache::Second : Cache::First);
        const bool outer = std::exchange(e_.side_by_side, true);
        Leaves next = now;
        for (std::int64_t k = 0; k < n; ++k) next = round(ir.CreateAdd(i, e_.c64(k), "", true, true), next);
        e_.side_by_side = outer;
        return next;
    });
}

void RangeEmitter::prefetch_elements(llvm::Value* i, const std::vector<bool>* which, std::int64_t bytes,
                                     Cache into) {
    for (std::size_t k = 0; k < plan_.data.size(); ++k) {
        const Datum& d = plan_.data[k];
        if (which && !(*which)[k]) continue;
        if (d.vec.empty() || d.stride || !d.nd_shape.empty()) continue;
        const Type* elem = d.iter ? d.iter.data()->type->elem() : d.yields;
        e_.prefetch(e_.address(e_.element(d.vec[0], elem, position(e_, plan_, d, i)), bytes), into);
    }
}

void RangeEmitter::begin(llvm::Value* i, const std::vector<bool>* asked) {
    if (plan_.step != 1 && !e_.tail.mask) prefetch_elements(i, asked);
    e_.names[plan_.f.index_param()] = {i};
    Leaves elem;
    for (const Datum& d : plan_.data) elem.append(read(e_, plan_, d, i));
    e_.names[plan_.f.elem_param()] = elem;
}

Leaves RangeEmitter::iteration(llvm::Value* i, const Leaves& state) {
    e_.names[plan_.f.builder_param()] = state;
    begin(i);
    return e_.emit(plan_.f.body().body());
}

void RangeEmitter::prefetch_rows(llvm::Value* i, llvm::Value* last) {
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

Leaves RangeEmitter::rounds(llvm::Value* lo, llvm::Value* hi, std::int64_t step, const Leaves& state,
                            const std::function<Leaves(llvm::Value*, const Leaves&)>& body,
                            std::int64_t iterations_per_step) {
    std::vector<bool> fixed(state.size(), false);
    for (int leaf : roomy_appenders(e_, plan_))
        fixed[std::size_t(leaf)] = fixed[std::size_t(leaf) + 2] = true;
    return e_.counted_loop(lo, hi, step, state, fixed, body, strip(step * iterations_per_step));
}

std::optional<Strip> RangeEmitter::strip(std::int64_t iterations) const {
    if (!may_be_long_) return {};
    const std::int64_t all = strip_of(plan_.f.node);
    return Strip{std::max<std::int64_t>(1, all / iterations), plan_.f.node->loc};
}

Leaves RangeEmitter::unrolled(Lanes form, llvm::Value** lo, llvm::Value* hi, const Leaves& state) {
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

Leaves RangeEmitter::by_turns(llvm::Value** lo, llvm::Value* hi, const Leaves& state) {
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

llvm::Value* RangeEmitter::privatised(llvm::Value* lo, llvm::Value* hi, const Leaves& state) {
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

bool RangeEmitter::are_roomy() const {
    bool all = true;
    for_each_builder(e_, type_, [&](const Type* b, int, int k) {
        all &= !kept_merges(b) || plan_.appends[std::size_t(k)] >= 0;
    });
    return all;
}

Leaves RangeEmitter::partial_round(llvm::Value* at, llvm::Value* count, const Leaves& state) {
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

Leaves emit_rounds(Emitter& e, const LoopPlan& plan, llvm::Value* lo, llvm::Value* hi, const Leaves& state,
                   Rounds how) {
    return RangeEmitter(e, plan, how.may_be_long, how.has_slack).emit(lo, hi, state, how.collect);
}

}  // namespace weld::codegen
