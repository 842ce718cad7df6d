// `for`: iterators, bodies in place and in functions of their own.
//
// A loop is emitted as a function over a part of its range, which the runtime calls (WeldLoop in weld_abi.h).
// An inner loop is also emitted in place, on the state in registers, for when it has so few iterations that a
// call costs more than it brings. Which of the two runs depends on the count alone.
#include "codegen/loops.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "codegen/ahead.h"
#include "codegen/builders/counters.h"
#include "codegen/builders/groups.h"
#include "codegen/captures.h"
#include "codegen/emit.h"
#include "codegen/part.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/filter.h"

namespace weld::codegen {

/// Work in picoseconds up to which an inner loop runs in place.
static constexpr std::int64_t kInPlaceWork = 50'000'000;
/// Vectors of a vecmerger up to this many bytes are merged into by turns with copies.
static constexpr std::int64_t kSpreadBytes = 16 << 10;
/// Larger bodies are compiled the quick way: optimising takes LLVM longer than in proportion.
static constexpr std::size_t kMostOptimised = 5000;
/// The capacity of an appender whose room has been made: merges need not look.
static constexpr std::int64_t kEnough = std::numeric_limits<std::int64_t>::max();

// ---- iterators -----------------------------------------------------------------------------------------

namespace {

/// What a pass chose for the loop, or `otherwise`.
std::uint32_t chosen(For f, AttrKey key, std::uint32_t otherwise) {
    const Annotation* a = f.node->annotation(key);
    return a ? std::uint32_t(a->number) : otherwise;
}

/// One loop as it stands in one function: its data, evaluated, and how many iterations there are.
struct Plan {
    For f;
    std::vector<Walk> walks;
    llvm::Value* count = nullptr;  // iterations; a simd iteration takes `step` elements
    std::int64_t step = 1;
    bool by_elements =
        false;  // a simd loop with a tail: `count` is of elements, the last round may be partial
    llvm::Value* base = nullptr;   // elements before the first (fringe)
    llvm::Value* tiled = nullptr;  // `@(tile:…)`: how often the loop inside goes on, in each round
    /// The scalar loop over the same elements, which goes on when a table has more keys than a loop over
    /// lanes holds (codegen/builders/groups.h); null otherwise.
    std::shared_ptr<const Plan> one_by_one;
    std::vector<std::int32_t> appends;
    std::vector<llvm::Value*>
        given;  // by builder: so many merges per iteration, as the program says; or null
    std::vector<std::int32_t> counts;  // by vecmerger: counts_at_most
    std::int64_t cost = 1;

    Lanes form(Lanes outer) const {
        const Type* t = f.builder()->type;
        const bool arrays =
            outer.arrays || any_builder(t, [](const BuilderInfo& b) { return b.keeps_merges; });
        if (step == 1) {
            const bool tables = outer.tables || any_builder(t, [](const BuilderInfo& b) { return b.probes; });
            return {outer.lanes, outer.accumulators, 0, tables, arrays};
        }
        if (one_by_one) return {std::uint32_t(step), 1, chosen(f, AttrKey::Groups, 0), false, arrays};
        return {std::uint32_t(step), chosen(f, AttrKey::Accumulators, 1), 0, false, arrays};
    }
};

}  // namespace

/// Whether a simd loop with this body can do a round on some of the lanes: no loops, calls or builders of
/// its own, every merge on `lanes` lanes.
static bool has_plain_lanes(const Expr* body, std::uint32_t lanes) {
    bool plain = true;
    visit(body, [&](const Expr* e) {
        switch (e->op) {
            case Op::Lambda:
            case Op::NewBuilder:
            case Op::Result:
            case Op::Call:
            case Op::Kernel: plain = false; break;
            case Op::Merge: plain &= !e->type->holds_simd && lanes_in(e->arg(1)->type) == lanes; break;
            case Op::Block:
                for (const Expr* v : e->as<Block>().values()) plain &= !v->type->holds_builder;
                break;
            default: break;
        }
    });
    return plain;
}

/// The simd loop that `f` finishes, if the two can be one loop whose last round has a mask.
static For loop_with_tail(For f) {
    const For lanes = f.builder()->as<For>();
    const Annotation* tail = f.node->annotation(AttrKey::Tail);
    if (!lanes || !tail || tail->text != "masked") return {};
    if (lanes.data().size() > f.data().size()) return {};
    std::uint32_t n = 0;
    for (std::size_t i = 0; i < lanes.data().size(); ++i) {
        const Iter full = lanes.data()[i]->as<Iter>(), rest = f.data()[i]->as<Iter>();
        if (!full || !rest || full.shape().kind != IterKind::Simd || rest.shape().kind != IterKind::Fringe)
            return {};
        if (i > 0 && full.lanes() != n) return {};
        n = full.lanes();
        if (rest.lanes() != n || full.node->num_args != rest.node->num_args) return {};
        for (std::size_t k = 0; k < full.node->num_args; ++k)
            if (!same(full.node->arg(k), rest.node->arg(k))) return {};
        if (full.shape().bounded && !is_int(full.stride(), 1)) return {};
    }
    return n <= 64 && has_plain_lanes(lanes.body().body(), n) ? lanes : For{};
}

static bool is_literal(const Expr* e, std::uint64_t bits) {
    return e->op == Op::Literal && e->attr.bits == bits;
}

/// Evaluates start, end and stride, fails if they are wrong, and gives the number of iterations.
static llvm::Value* bounded_count(Emitter& e, Walk& w, llvm::Value* len) {
    auto& ir = e.ir;
    llvm::Value* start = e.emit1(w.iter.start());
    llvm::Value* end = e.emit1(w.iter.end());
    llvm::Value* stride = e.emit1(w.iter.stride());
    const bool unit_stride = is_literal(w.iter.stride(), 1);
    if (!is_literal(w.iter.start(), 0)) w.start = start;
    if (!unit_stride) w.stride = stride;
    llvm::Value* wrong = ir.CreateICmpSGT(start, end);
    if (len)
        wrong =
            ir.CreateOr(wrong, ir.CreateOr(ir.CreateICmpSLT(start, e.c64(0)), ir.CreateICmpSGT(end, len)));
    llvm::Value* span = ir.CreateSub(end, start);  // unsigned: a range may have any start and end
    llvm::Value* divisor = stride;
    if (!unit_stride) {
        llvm::Value* bad = ir.CreateICmpSLT(stride, e.c64(1));
        divisor = ir.CreateSelect(bad, e.c64(1), stride);
        wrong = ir.CreateOr(wrong, ir.CreateOr(bad, ir.CreateIsNotNull(ir.CreateURem(span, divisor))));
    }
    llvm::Value* count = unit_stride ? span : ir.CreateUDiv(span, divisor);
    if (!len) wrong = ir.CreateOr(wrong, ir.CreateICmpSLT(count, e.c64(0)));
    auto *fails = e.block("bounds"), *on = e.block("on");
    ir.CreateCondBr(wrong, fails, on);
    ir.SetInsertPoint(fails);
    e.call("weld_rt_fail_bounds",
           {e.task, e.at(w.iter.node->loc), start, end, stride, len ? len : e.c64(-1)});
    ir.CreateBr(e.fail_exit());
    ir.SetInsertPoint(on);
    return count;
}

static llvm::Value* spilled(Emitter& e, const Leaves& vec) {
    llvm::Value* room = e.slot(16, 8);
    e.ir.CreateStore(vec[0], room);
    e.ir.CreateStore(vec[1], e.address(room, 8));
    return room;
}

/// The same for nditer, whose end and stride are evaluated and say nothing.
static llvm::Value* nd_count(Emitter& e, Walk& w) {
    w.start = e.emit1(w.iter.start());
    e.emit1(w.iter.end());
    e.emit1(w.iter.stride());
    w.nd_shape = e.emit(w.iter.nd_shape());
    w.nd_strides = e.emit(w.iter.nd_strides());
    llvm::Value* rounds =
        e.call("weld_rt_nd_rounds", {e.task, spilled(e, w.nd_shape), spilled(e, w.nd_strides), w.start,
                                     w.vec[1], e.at(w.iter.node->loc)});
    e.leave_if(e.ir.CreateICmpSLT(rounds, e.c64(0)));
    return rounds;
}

/// Evaluates a datum; gives how many elements it has.
static llvm::Value* begin_walk(Emitter& e, const Expr* data, Walk& w) {
    w.iter = data->as<Iter>();
    w.yields = data->type->elem();
    if (!w.iter) {
        w.vec = e.emit(data);
        return w.vec[1];
    }
    const IterShape shape = w.iter.shape();
    if (!shape.range) w.vec = e.emit(w.iter.data());
    if (!shape.bounded) return w.vec[1];
    if (shape.nd) return nd_count(e, w);
    return bounded_count(e, w, shape.range ? nullptr : w.vec[1]);
}

/// Calls `fn(builder type, first leaf, number of the builder)` for each builder in `t`.
static void for_each_builder(const Emitter& e, const Type* t, int& leaf, int& number,
                             const std::function<void(const Type*, int, int)>& fn) {
    if (t->is_builder()) fn(t, leaf, number++);
    if (t->is_struct())
        for (const Type* f : t->args) for_each_builder(e, f, leaf, number, fn);
    else leaf += e.num_leaves(t);
}

/// By vecmerger of the loop, depth first.
static std::vector<std::int32_t> counts_per_iteration(const Emitter& e, For f) {
    std::vector<std::int32_t> counts;
    int leaf = 0, number = 0;
    for_each_builder(e, f.builder()->type, leaf, number, [&](const Type* t, int, int) {
        if (info(t).indexed) counts.push_back(counts_at_most(f, t));
    });
    return counts;
}

/// By builder in `start`: what `@(size:given)` says, or null.
static void given_sizes(Emitter& e, const Expr* start, std::vector<llvm::Value*>& sizes) {
    if (start->type->is_struct()) {
        for (std::size_t i = 0; i < start->type->args.size(); ++i) {
            if (start->op == Op::MakeStruct) given_sizes(e, start->arg(i), sizes);
            else sizes.resize(sizes.size() + std::size_t(num_builders(start->type->args[i])));
        }
        return;
    }
    if (!start->type->is_builder()) return;
    const Annotation* size = start->op == Op::NewBuilder ? start->annotation(AttrKey::Size) : nullptr;
    sizes.push_back(size && size->text == "given" ? e.emit1(start->arg(0)) : nullptr);
}

/// Appenders that go over a datum of the loop start with its memory, which is as long as they will be.
static void lay_over(const Emitter& e, const Plan& plan, const Expr* start, llvm::Value** state) {
    if (start->op == Op::MakeStruct)
        for (std::size_t i = 0; i < start->num_args; ++i)
            lay_over(e, plan, start->arg(i), state + e.field_offset(start->type, i));
    const Annotation* over = start->op == Op::NewBuilder ? start->annotation(AttrKey::Over) : nullptr;
    if (!over) return;
    const Leaves& vec = plan.walks[std::size_t(over->number)].vec;
    state[0] = vec[0];
    state[2] = vec[1];
}

/// The loop that the body of `f` ends with.
static For last_loop(For f) {
    const Expr* end = f.body().body();
    if (const Block b = end->as<Block>()) end = b.result();
    return end->as<For>();
}

/// A loop that only holds a loop, each round of which appends once.
static bool is_tiled(For f) {
    if (!f.node->annotation(AttrKey::Tile) || !f.node->type->is_builder() || !info(f.node->type).lists_merges)
        return false;
    const For inner = last_loop(f);
    const Var into = inner ? inner.builder()->as<Var>() : Var{};
    return into && into.symbol() == f.builder_param() && merges_per_iteration(inner)[0] == 1;
}

/// `rest`: the loop over the fringe that is done with `f`, if not null.
static Plan make_plan(Emitter& e, For f, For rest) {
    Plan plan{f};
    plan.by_elements = bool(rest);
    llvm::Value* elements = nullptr;
    for (const Expr* data : f.data()) {
        Walk& w = plan.walks.emplace_back();
        llvm::Value* n = begin_walk(e, data, w);
        if (elements)
            e.fail_if(e.ir.CreateICmpNE(n, elements), kWeldMismatchedZipSize, f.node->loc, elements, n);
        else elements = n;
    }
    plan.count = elements;
    if (Iter it = plan.walks[0].iter; it && it.shape().kind != IterKind::Scalar) {
        llvm::Value* width = e.c64(it.lanes());
        llvm::Value* steps = e.ir.CreateUDiv(elements, width);
        if (it.shape().kind == IterKind::Simd) {
            if (!rest) plan.count = steps;
            plan.step = it.lanes();
        } else {
            plan.base = e.ir.CreateMul(steps, width);
            plan.count = e.ir.CreateSub(elements, plan.base);
        }
    }
    plan.appends = merges_per_iteration(f);
    given_sizes(e, f.builder(), plan.given);
    if (is_tiled(f)) plan.tiled = plan.given[0];
    plan.counts = counts_per_iteration(e, f);
    plan.cost = cost_of(f.body().body());
    if (rest) {
        const std::vector<std::int32_t> each = merges_per_iteration(rest);
        for (std::size_t k = 0; k < each.size(); ++k)
            plan.appends[k] = plan.appends[k] == each[k] * plan.step ? each[k] : -1;
        plan.cost = std::max<std::int64_t>(1, plan.cost / plan.step);
    }
    if (rest && f.node->annotation(AttrKey::Groups)) {
        Plan scalar = make_plan(e, rest, {});
        scalar.count = scalar.base = nullptr;
        scalar.appends = plan.appends;
        plan.cost = scalar.cost;
        plan.one_by_one = std::make_shared<const Plan>(std::move(scalar));
    }
    return plan;
}

/// What an outlined body needs of the data, in a fixed order.
static Leaves leaves_of(const Plan& plan) {
    Leaves all;
    for (const Walk& w : plan.walks) {
        all.append(w.vec);
        if (w.start) all.push_back(w.start);
        if (w.stride) all.push_back(w.stride);
        all.append(w.nd_shape);
        all.append(w.nd_strides);
    }
    if (plan.base) all.push_back(plan.base);
    if (plan.tiled) all.push_back(plan.tiled);
    if (plan.one_by_one) all.append(leaves_of(*plan.one_by_one));
    return all;
}

/// The same plan in a callee, where its values are `values` (in the order of leaves_of).
static Plan moved(const Plan& plan, const Leaves& values) {
    Plan there = plan;
    there.given.assign(plan.given.size(), nullptr);  // room has been made
    std::size_t at = 0;
    const auto take = [&](llvm::Value*& v) { v = values[at++]; };
    for (Walk& w : there.walks) {
        for (llvm::Value*& v : w.vec) take(v);
        if (w.start) take(w.start);
        if (w.stride) take(w.stride);
        for (llvm::Value*& v : w.nd_shape) take(v);
        for (llvm::Value*& v : w.nd_strides) take(v);
    }
    if (there.base) take(there.base);
    if (there.tiled) take(there.tiled);
    if (plan.one_by_one)
        there.one_by_one =
            std::make_shared<const Plan>(moved(*plan.one_by_one, Leaves(values.begin() + at, values.end())));
    return there;
}

static llvm::Value* lane_numbers(Emitter& e, std::uint32_t n) {
    std::vector<llvm::Constant*> k;
    for (std::uint32_t i = 0; i < n; ++i) k.push_back(e.c64(i));
    return llvm::ConstantVector::get(k);
}

/// Which element, or number of a range, `w` is at in iteration `i`.
static llvm::Value* position(Emitter& e, const Plan& plan, const Walk& w, llvm::Value* i) {
    auto& ir = e.ir;
    llvm::Value* at = plan.step == 1 ? i : ir.CreateMul(i, e.c64(plan.step), "", true, true);
    if (plan.base) at = ir.CreateAdd(at, plan.base, "", true, true);
    if (!w.nd_shape.empty())
        at = e.call("weld_rt_nd_offset", {spilled(e, w.nd_shape), spilled(e, w.nd_strides), at});
    // Places are not negative, but the numbers of a range may be, and may lie farther apart than an i64.
    const bool is_place = !w.vec.empty() && w.nd_shape.empty(), is_far = w.vec.empty() && w.start && w.stride;
    if (w.stride) at = ir.CreateMul(at, w.stride, "", !is_far, !is_far);
    if (w.start) at = ir.CreateAdd(at, w.start, "", is_place, !is_far);
    return at;
}

/// The element of `w` at iteration `i`.
static Leaves read(Emitter& e, const Plan& plan, const Walk& w, llvm::Value* i) {
    auto& ir = e.ir;
    llvm::Value* at = position(e, plan, w, i);
    const bool simd = w.yields->is_simd();
    llvm::Value* lane_offsets = nullptr;
    if (simd && (w.vec.empty() || w.stride)) {
        lane_offsets = lane_numbers(e, w.yields->lanes);
        if (w.stride)
            lane_offsets = ir.CreateMul(lane_offsets, ir.CreateVectorSplat(w.yields->lanes, w.stride));
    }
    if (w.vec.empty())
        return {simd ? ir.CreateAdd(ir.CreateVectorSplat(w.yields->lanes, at), lane_offsets) : at};
    const Type* elem = w.iter ? w.iter.data()->type->elem() : w.yields;
    if (!lane_offsets && simd && e.tail.mask) return {e.load_tail(w.yields, e.element(w.vec[0], elem, at))};
    if (!lane_offsets) return e.load(w.yields, e.element(w.vec[0], elem, at));
    llvm::Value* lanes =
        llvm::PoisonValue::get(llvm::FixedVectorType::get(e.unit.lower(elem->scalar), w.yields->lanes));
    for (std::uint64_t k = 0; k < w.yields->lanes; ++k) {
        llvm::Value* index = ir.CreateAdd(at, ir.CreateExtractElement(lane_offsets, k));
        lanes = ir.CreateInsertElement(lanes, e.load(elem, e.element(w.vec[0], elem, index))[0], k);
    }
    return {lanes};
}

// ---- bodies --------------------------------------------------------------------------------------------

/// Appenders that take a fixed number of values per iteration, whose room has been made: their first leaves.
static std::vector<int> roomy_appenders(const Emitter& e, const Plan& plan) {
    std::vector<int> at;
    int leaf = 0, number = 0;
    for_each_builder(e, plan.f.builder()->type, leaf, number, [&](const Type* b, int first, int k) {
        if (kept_merges(b) && plan.appends[std::size_t(k)] >= 0) at.push_back(first);
    });
    return at;
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

/// Emits the iterations of a loop, on a state that begins and ends in the emitter's present form.
class RangeEmitter {
  public:
    /// `may_be_long`: it has to look whether to stop.
    RangeEmitter(Emitter& e, const Plan& plan, bool may_be_long)
        : e_(e), plan_(plan), type_(plan.f.builder()->type), may_be_long_(may_be_long) {}

    /// The iterations [lo, hi). `collect`: see Emitter::collect_check.
    Leaves emit(llvm::Value* lo, llvm::Value* hi, const Leaves& state, bool collect) {
        if (plan_.tiled) return by_tiles(lo, hi, state);
        if (!plan_.one_by_one) return all(lo, hi, state, collect);
        ++e_.loop_depth;
        const auto [at, after] = while_groups_fit(lo, hi, state);
        --e_.loop_depth;
        return RangeEmitter(e_, *plan_.one_by_one, may_be_long_).emit(at, hi, after, collect);
    }

  private:
    Leaves all(llvm::Value* lo, llvm::Value* hi, Leaves state, bool collect) {
        const Lanes outer = e_.lanes, widest = plan_.form(outer);
        const bool changes = widest != outer, on_lanes = changes && plan_.step != 1;
        Lanes form = widest;
        if (on_lanes) form.accumulators = 1;
        if (changes) state = into(form, state);
        const Leaves before = state;
        const std::vector<int> roomy = roomy_appenders(e_, plan_);
        for (int leaf : roomy) state[std::size_t(leaf) + 2] = e_.c64(kEnough);
        llvm::Value* rest = nullptr;
        if (plan_.by_elements) {
            rest = e_.ir.CreateURem(hi, e_.c64(plan_.step));
            lo = e_.ir.CreateUDiv(lo, e_.c64(plan_.step));
            hi = e_.ir.CreateUDiv(hi, e_.c64(plan_.step));
        }
        ++e_.loop_depth;
        if (on_lanes && widest.accumulators > 1) state = unrolled(widest, &lo, hi, state);
        if (is_spread()) lo = spread(lo, hi, state);
        if (is_sum_of_lanes()) state = by_turns(&lo, hi, state);
        const Ahead ahead(plan_.f);
        const bool counts = std::ranges::any_of(plan_.counts, [](std::int32_t most) { return most > 0; });
        const bool outer_counts = std::exchange(e_.may_count_narrowly, counts);
        if (plan_.f.node->annotation(AttrKey::Selection)) {
            state = selected(lo, hi, state, ahead, collect);
        } else {
            state = rounds(lo, hi, 1, state, [&](llvm::Value* i, const Leaves& s) {
                llvm::Value* last = e_.ir.CreateSub(hi, e_.c64(1));
                fetch_rows(i, last);
                if (plan_.step == 1) ahead.emit(e_, i, last, s, [&](llvm::Value* at) { begin(at); });
                const Leaves next = iteration(i, s);
                if (collect) e_.collect_check(type_, [&] { return next; });
                return next;
            });
        }
        if (rest) state = partial_round(hi, rest, state);
        e_.may_count_narrowly = outer_counts;
        --e_.loop_depth;
        for (int leaf : roomy) state[std::size_t(leaf) + 2] = before[std::size_t(leaf) + 2];
        return changes ? into(outer, state) : state;
    }

    /// The iterations [lo, hi) by blocks: first the numbers, in the block, of those in which the condition
    /// holds are noted, in a vector that every iteration writes to and only these move on in; then these are
    /// done.
    Leaves selected(llvm::Value* lo, llvm::Value* hi, const Leaves& state, const Ahead& ahead, bool collect) {
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
        return rounds(lo, hi, size, state, [&](llvm::Value* from, const Leaves& before) {
            llvm::Value* after = ir.CreateAdd(from, e_.c64(size), "", true, true);
            after = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, after, hi);
            llvm::Value* count = e_.counted_loop(
                from, after, 1, {e_.c64(0)}, {false},
                [&](llvm::Value* i, const Leaves& n) { return Leaves{note(from, i, n[0])}; })[0];
            llvm::Value* last = ir.CreateSub(count, e_.c64(1));
            const auto round = [&](llvm::Value* n) {
                llvm::Value* in_block = ir.CreateZExt(ir.CreateLoad(number, place(n)), ir.getInt64Ty());
                return ir.CreateAdd(from, in_block, "", true, true);
            };
            const auto work = [&](llvm::Value* n, const Leaves& now) {
                ahead.emit(e_, n, last, now, [&](llvm::Value* at) { begin(round(at)); });
                e_.names[plan_.f.builder_param()] = now;
                begin(round(n));
                if (filter.lets) e_.emit_lets_of(filter.lets);
                const Leaves next = e_.emit(filter.work);
                if (collect) e_.collect_check(type_, [&] { return next; });
                return next;
            };
            return e_.counted_loop(e_.c64(0), count, 1, before, fixed, work);
        });
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
        const For inner = last_loop(plan_.f);
        const std::int64_t side = plan_.f.node->annotation(AttrKey::Tile)->number;
        const auto least = [&](llvm::Value* a, llvm::Value* b) {
            return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
        };
        const auto end = [&](llvm::Value* begin, llvm::Value* all) {
            return least(ir.CreateAdd(begin, e_.c64(side), "", true, true), all);
        };
        const auto each = [&](llvm::Value* from, llvm::Value* to, std::int64_t step,
                              const std::optional<Strip>& strip,
                              const std::function<void(llvm::Value*)>& fn) {
            const auto round = [&](llvm::Value* i, const Leaves&) -> Leaves { return fn(i), Leaves{}; };
            e_.counted_loop(from, to, step, {}, {}, round, strip);
        };
        ++e_.loop_depth;
        each(lo, hi, side, strip(side), [&](llvm::Value* rows) {
            each(e_.c64(0), plan_.tiled, side, {}, [&](llvm::Value* columns) {
                each(rows, end(rows, hi), 1, {}, [&](llvm::Value* i) {
                    begin(i);
                    if (const Block b = plan_.f.body().body()->as<Block>()) e_.emit_lets_of(b);
                    llvm::Value* before = ir.CreateMul(ir.CreateSub(i, lo), plan_.tiled);
                    llvm::Value* place = ir.CreateAdd(state[1], ir.CreateAdd(before, columns));
                    const Plan part = make_plan(e_, inner, {});
                    RangeEmitter(e_, part, false)
                        .emit(columns, end(columns, plan_.tiled), {state[0], place, e_.c64(kEnough)}, false);
                });
            });
        });
        --e_.loop_depth;
        llvm::Value* all = ir.CreateMul(ir.CreateSub(hi, lo), plan_.tiled);
        return {state[0], ir.CreateAdd(state[1], all), state[2]};
    }

    /// Full rounds of lanes of the elements [lo, hi), as long as the groups of every dictmerger fit
    /// registers. Gives the first element that is left.
    std::pair<llvm::Value*, Leaves> while_groups_fit(llvm::Value* lo, llvm::Value* hi, const Leaves& state) {
        auto& ir = e_.ir;
        const Lanes outer = e_.lanes;
        llvm::Value* width = e_.c64(plan_.step);
        llvm::Value *from = ir.CreateUDiv(lo, width), *to = ir.CreateUDiv(hi, width);
        Leaves begin = into(plan_.form(outer), state);
        begin.push_back(lo);  // the first element that is left
        const auto round = [&](llvm::Value* i, const Leaves& now) {
            Leaves next = iteration(i, Leaves(now.begin(), now.end() - 1));
            next.push_back(ir.CreateMul(ir.CreateAdd(i, e_.c64(1), "", true, true), width));
            return next;
        };
        const auto any_has_more = [&](const Leaves& next) {
            llvm::Value* any = ir.getFalse();
            int leaf = 0, number = 0;
            for_each_builder(e_, type_, leaf, number, [&](const Type* b, int first, int) {
                const auto of = llvm::ArrayRef<llvm::Value*>(next).drop_front(std::size_t(first));
                if (info(b).probes) any = ir.CreateOr(any, has_more_groups(e_, of));
            });
            return any;
        };
        const std::vector<bool> fixed(begin.size(), false);
        const Leaves end = e_.counted_loop(from, to, 1, begin, fixed, round, strip(1), any_has_more);
        return {end.back(), into(outer, Leaves(end.begin(), end.end() - 1))};
    }

    Leaves into(Lanes form, const Leaves& state) {
        const Leaves reformed = e_.reform(type_, state, e_.lanes, form, plan_.f.node->loc);
        e_.lanes = form;
        return reformed;
    }

    /// Asks for the elements that follow those of iteration `i` some lines of the cache later: the processor
    /// does so by itself up to the end of a page only.
    void fetch_elements(llvm::Value* i) {
        const Annotation* distance = plan_.f.node->annotation(AttrKey::Stream);
        if (!distance) return;
        for (const Walk& w : plan_.walks) {
            if (w.vec.empty() || w.stride || !w.nd_shape.empty()) continue;
            const Type* elem = w.iter ? w.iter.data()->type->elem() : w.yields;
            e_.prefetch(e_.address(e_.element(w.vec[0], elem, position(e_, plan_, w, i)), distance->number));
        }
    }

    /// Binds the index and the element.
    void begin(llvm::Value* i) {
        if (plan_.step != 1 && !e_.tail.mask) fetch_elements(i);
        e_.names[plan_.f.index_param()] = {i};
        Leaves elem;
        for (const Walk& w : plan_.walks) elem.append(read(e_, plan_, w, i));
        e_.names[plan_.f.elem_param()] = elem;
    }

    Leaves iteration(llvm::Value* i, const Leaves& state) {
        e_.names[plan_.f.builder_param()] = state;
        begin(i);
        return e_.emit(plan_.f.body().body());
    }

    /// Asks for the beginnings of vectors that are elements some iterations later.
    void fetch_rows(llvm::Value* i, llvm::Value* last) {
        const Annotation* distance = plan_.f.node->annotation(AttrKey::Prefetch);
        if (!distance) return;
        for (const Walk& w : plan_.walks) {
            if (!w.yields->is_vec() || w.vec.empty() || !w.nd_shape.empty()) continue;
            llvm::Value* there = e_.ir.CreateAdd(i, e_.c64(distance->number), "", true, true);
            llvm::Value* row =
                read(e_, plan_, w, e_.ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, there, last))[0];
            e_.fetch_row(row);
        }
    }

    Leaves rounds(llvm::Value* lo, llvm::Value* hi, std::int64_t step, const Leaves& state,
                  const std::function<Leaves(llvm::Value*, const Leaves&)>& body) {
        std::vector<bool> fixed(state.size(), false);
        for (int leaf : roomy_appenders(e_, plan_))
            fixed[std::size_t(leaf)] = fixed[std::size_t(leaf) + 2] = true;
        return e_.counted_loop(lo, hi, step, state, fixed, body, strip(step));
    }

    /// Of rounds with so many iterations each.
    std::optional<Strip> strip(std::int64_t iterations) const {
        if (!may_be_long_) return {};
        const std::int64_t all = strip_of(plan_.f.body().body());
        return Strip{std::max<std::int64_t>(1, all / iterations), plan_.f.node->loc};
    }

    /// As many iterations as are a multiple of the accumulators; `*lo` moves behind them. Short loops pass
    /// by, and do not pay for joining accumulators.
    Leaves unrolled(Lanes form, llvm::Value** lo, llvm::Value* hi, const Leaves& state) {
        const std::int64_t n = form.accumulators;
        const Lanes single = e_.lanes;
        llvm::Value* begin = *lo;
        llvm::Value* times = e_.ir.CreateSDiv(e_.ir.CreateSub(hi, begin), e_.c64(n));
        llvm::Value* any = e_.ir.CreateICmpSGT(times, e_.c64(0));
        llvm::Value* end = e_.ir.CreateAdd(begin, e_.ir.CreateMul(times, e_.c64(n)));
        *lo = e_.ir.CreateSelect(any, end, begin);
        const bool apart = plan_.f.node->says(AttrKey::Apart, true);
        llvm::Value* last = apart ? e_.ir.CreateAdd(begin, times) : end;
        llvm::Value* distance = apart ? times : e_.c64(1);
        const auto loop = [&] {
            const Leaves wide = into(form, state);
            return into(single,
                        rounds(begin, last, apart ? 1 : n, wide, [&](llvm::Value* i, const Leaves& s) {
                            Leaves now = s;
                            for (std::int64_t k = 0; k < n; ++k) {
                                e_.accumulator = std::uint32_t(k);
                                now = iteration(i, now);
                                i = e_.ir.CreateAdd(i, distance, "", true, true);
                            }
                            e_.accumulator = 0;
                            return now;
                        }));
        };
        return e_.emit_if(any, loop, [&] { return state; });
    }

    /// Merges go by turns to one merger of lanes and another one.
    bool is_sum_of_lanes() const {
        return type_->is_builder() && is_value(info(type_)) && type_->holds_simd && has_copies();
    }
    /// Or to a vector and copies of it.
    bool is_spread() const { return type_->is_builder() && info(type_).indexed && has_copies(); }
    bool has_copies() const { return plan_.step == 1 && chosen(plan_.f, AttrKey::Accumulators, 1) > 1; }

    /// Iterations in pairs, the second of each on a merger of its own, so that merges do not wait for each
    /// other.
    /// `*lo` moves behind them.
    Leaves by_turns(llvm::Value** lo, llvm::Value* hi, const Leaves& state) {
        auto& ir = e_.ir;
        const Scalar s = type_->elem()->scalar;
        llvm::Value* none = ir.CreateVectorSplat(type_->elem()->lanes, e_.neutral(type_->op, s));
        llvm::Value* begin = *lo;
        llvm::Value* end = ir.CreateAdd(begin, ir.CreateAnd(ir.CreateSub(hi, begin), e_.c64(~1)));
        const Leaves two = rounds(begin, end, 2, {state[0], none}, [&](llvm::Value* i, const Leaves& now) {
            const Leaves first = iteration(i, {now[0]});
            const Leaves second = iteration(ir.CreateAdd(i, e_.c64(1), "", true, true), {now[1]});
            return Leaves{first[0], second[0]};
        });
        *lo = end;
        return {e_.merge_op(type_->op, s, two[0], two[1])};
    }

    /// Iterations in groups, all but the first of each on copies of a small vector, so that merges into the
    /// same element do not wait for each other. The copies begin neutral and are joined at the end. Gives
    /// the first iteration that is left.
    llvm::Value* spread(llvm::Value* lo, llvm::Value* hi, const Leaves& state) {
        const std::int64_t n = chosen(plan_.f, AttrKey::Accumulators, 1);
        const Type* elem = type_->elem();
        llvm::Value *data = state[0], *len = state[1];
        llvm::Value* iterations = e_.ir.CreateSub(hi, lo);
        llvm::Value* small = e_.ir.CreateICmpSLE(len, e_.c64(kSpreadBytes / size_of(elem)));
        llvm::Value* many = e_.ir.CreateICmpSGE(iterations, e_.ir.CreateMul(len, e_.c64(2 * n)));
        many = e_.ir.CreateAnd(many, e_.ir.CreateICmpSGE(iterations, e_.c64(16 * n)));
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
            Leaves vectors = {data};
            for (std::int64_t k = 1; k < n; ++k) vectors.push_back(copy(k));
            const auto round = [&](llvm::Value* i, const Leaves&) -> Leaves {
                fetch_elements(i);
                for (std::int64_t k = 0; k < n; ++k)
                    iteration(e_.ir.CreateAdd(i, e_.c64(k), "", true, true), {vectors[std::size_t(k)], len});
                return {};
            };
            e_.counted_loop(lo, end, n, {}, {}, round, strip(n));
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

    /// The elements that do not fill all lanes, if there are any: round `at`.
    Leaves partial_round(llvm::Value* at, llvm::Value* count, const Leaves& state) {
        const auto partial = [&] {
            e_.tail = tail_round(e_, count, plan_.step);
            const Leaves after = iteration(at, state);
            e_.tail = {};
            return after;
        };
        return e_.emit_if(e_.ir.CreateIsNotNull(count), partial, [&] { return state; });
    }

    Emitter& e_;
    const Plan& plan_;
    const Type* type_;
    bool may_be_long_;
};

/// For `count` rounds that append `each`; none if that is no number of elements: then some round fails.
static llvm::Value* room_for(Emitter& e, llvm::Value* count, llvm::Value* each) {
    constexpr std::int64_t most = std::int64_t(1) << 40;
    llvm::Value* fits = e.ir.CreateICmpULE(each, e.c64(most));  // counts of loops in place are far smaller
    return e.ir.CreateMul(count, e.ir.CreateSelect(fits, each, e.c64(0)));
}

/// Makes room in the appenders of `state` that take a fixed number of values per iteration.
static Leaves reserve(Emitter& e, const Plan& plan, Leaves state) {
    const Type* type = plan.f.builder()->type;
    int leaf = 0, number = 0;
    for_each_builder(e, type, leaf, number, [&](const Type* b, int first, int k) {
        const std::int32_t each = plan.appends[std::size_t(k)];
        const Type* elem = kept_merges(b);
        if (!elem || (each <= 0 && !plan.given[std::size_t(k)])) return;
        auto* at = &state[std::size_t(first)];
        llvm::Value* need = plan.given[std::size_t(k)] ? room_for(e, plan.count, plan.given[std::size_t(k)])
                                                       : e.ir.CreateMul(plan.count, e.c64(each));
        if (e.num_leaves(b) == 1) {  // a pointer at its array
            e.call_checked("weld_rt_appender_grow",
                           {e.task, at[0], need, e.c64(size_of(elem)), e.at(plan.f.node->loc)});
            return;
        }
        const Leaves old(at, at + e.num_leaves(b));
        const Leaves grown = e.emit_if(
            e.ir.CreateICmpSLT(e.ir.CreateSub(at[2], at[1]), need),
            [&] { return e.grow_array(b, old, need, plan.f.node->loc); }, [&] { return old; });
        std::ranges::copy(grown, at);
    });
    return state;
}

/// The function `(task, captures, state, lo, hi) -> status` for a loop; made once per loop.
static llvm::Function* loop_function(Emitter& caller, const Plan& plan,
                                     const std::vector<const Symbol*>& symbols, const Leaves& captured) {
    const bool large = size_of_tree(plan.f.body().body()) > kMostOptimised;
    Unit& unit = large ? *caller.unit.once : caller.unit.loops;
    if (auto at = unit.loop_functions.find(plan.f.node); at != unit.loop_functions.end())
        return caller.unit.seen(at->second);
    llvm::Function* fn = unit.function("loop_", {unit.ptr, unit.ptr, unit.ptr, unit.i64, unit.i64});
    unit.loop_functions[plan.f.node] = fn;
    if (!caller.in_for && !large) {
        mark_loop(fn, unit.marked_loops.size());
        unit.marked_loops.push_back(fn);
    }
    Emitter e(unit, fn, fn->getArg(0));
    e.loop_depth = caller.loop_depth;
    e.in_for = true;
    const Leaves values = unpack(e, fn->getArg(1), captured);
    const std::size_t own = leaves_of(plan).size();
    const Plan here = moved(plan, Leaves(values.begin(), values.begin() + own));
    bind_names(e, caller, symbols, llvm::ArrayRef<llvm::Value*>(values).drop_front(own));
    const Type* type = plan.f.builder()->type;
    const bool region = may_allocate(plan.f.body().body());
    if (region) e.call("weld_rt_region_enter", {e.task});
    const Leaves state =
        RangeEmitter(e, here, true).emit(fn->getArg(3), fn->getArg(4), e.load(type, fn->getArg(2)), region);
    e.store(type, state, fn->getArg(2));
    if (region) e.call("weld_rt_region_exit", {e.task});
    e.ir.CreateRet(e.c32(0));
    return caller.unit.seen(fn);
}

/// By appender of the loop, depth first: how many values each iteration merges, or null where that varies.
static std::vector<llvm::Value*> appends_of(Emitter& e, const Plan& plan) {
    std::vector<llvm::Value*> appends;
    int leaf = 0, number = 0;
    for_each_builder(e, plan.f.builder()->type, leaf, number, [&](const Type* b, int, int k) {
        if (!kept_merges(b)) return;
        llvm::Value* given = plan.given[std::size_t(k)];
        appends.push_back(given ? given : e.c64(plan.appends[std::size_t(k)]));
    });
    return appends;
}

/// A WeldLoop; constant, unless the program gives numbers of merges.
static llvm::Value* loop_record(Emitter& e, const Plan& plan, llvm::Function* body) {
    Unit& unit = e.unit;
    const auto i64 = [&](std::int64_t v) { return llvm::ConstantInt::getSigned(unit.i64, v); };
    const auto i32 = [&](std::int64_t v) { return llvm::ConstantInt::getSigned(unit.i32, v); };
    const Type* type = plan.f.builder()->type;
    const auto global = [&](llvm::Constant* init) {
        return new llvm::GlobalVariable(unit.out, init->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                        init);
    };
    const auto array = [&](auto numbers) -> llvm::Constant* {
        if (numbers.empty()) return llvm::ConstantPointerNull::get(unit.ptr);
        return global(llvm::ConstantDataArray::get(unit.ctx, numbers));
    };
    const std::vector<std::uint32_t> counts(plan.counts.begin(), plan.counts.end());
    const std::vector<llvm::Value*> appends = appends_of(e, plan);
    std::vector<std::uint64_t> known;
    for (llvm::Value* n : appends) {
        const auto* number = llvm::dyn_cast<llvm::ConstantInt>(n);
        known.push_back(number ? number->getZExtValue() : std::uint64_t(-1));
    }
    auto* shape = llvm::StructType::get(
        unit.ctx, {unit.ptr, unit.ptr, unit.i64, unit.i64, unit.i32, unit.i32, unit.ptr, unit.ptr, unit.i64});
    llvm::Constant* fields[] = {body,
                                unit.describe(type),
                                i64(plan.cost),
                                i64(plan.by_elements ? 64 : std::max<std::int64_t>(1, 64 / plan.step)),
                                i32(plan.f.node->says(AttrKey::Parallel, true)),
                                i32(std::int32_t(plan.f.node->loc.offset)),
                                array(llvm::ArrayRef(known)),
                                array(llvm::ArrayRef(counts)),
                                i64(loop_number(*body))};
    llvm::Constant* record = global(llvm::ConstantStruct::get(shape, fields));
    if (std::ranges::all_of(appends, llvm::IsaPred<llvm::ConstantInt>)) return record;
    llvm::Value* numbers = e.slot(8 * std::int64_t(appends.size()), 8);
    for (std::size_t k = 0; k < appends.size(); ++k)
        e.ir.CreateStore(appends[k], e.address(numbers, 8 * std::int64_t(k)));
    llvm::Value* filled = e.slot(sizeof(WeldLoop), 8);
    e.ir.CreateMemCpy(filled, llvm::Align(8), record, llvm::Align(8), sizeof(WeldLoop));
    e.ir.CreateStore(numbers, e.address(filled, offsetof(WeldLoop, appends)));
    return filled;
}

Leaves Emitter::emit_for(For f) {
    if (does_nothing(f)) {
        make_plan(*this, f, {});  // which compares lengths
        return emit(f.builder());
    }
    const For with_tail = loop_with_tail(f), rest = with_tail ? f : For{};
    if (with_tail) f = with_tail;
    const Plan plan = make_plan(*this, f, rest);
    Leaves state = emit(f.builder());
    lay_over(*this, plan, f.builder(), state.data());
    const Type* type = f.builder()->type;
    const auto outlined = [&]() -> Leaves {
        std::vector<const Symbol*> symbols = captures(unit, f.body().node);
        if (plan.one_by_one)
            for (const Symbol* s : captures(unit, rest.body().node))
                if (std::find(symbols.begin(), symbols.end(), s) == symbols.end()) symbols.push_back(s);
        Leaves captured = leaves_of(plan);
        captured.append(leaves_of(*this, symbols));
        llvm::Function* body = loop_function(*this, plan, symbols, captured);
        llvm::Value* room = slot(size_of(type), align_of(type));
        store(type, state, room);
        call_checked("weld_rt_loop",
                     {task, loop_record(*this, plan, body), pack(*this, captured), room, plan.count});
        return load(type, room);
    };
    if (!in_for) return outlined();
    const auto in_place = [&]() -> Leaves {
        stop_check(f.node->loc);
        const Plan& short_one = plan.one_by_one ? *plan.one_by_one : plan;
        return RangeEmitter(*this, short_one, false)
            .emit(c64(0), plan.count, reserve(*this, plan, state), false);
    };
    return emit_if(ir.CreateICmpSLE(plan.count, c64(kInPlaceWork / plan.cost)), in_place, outlined);
}

}  // namespace weld::codegen
