// Evaluating what a loop goes over: data, bounds and strides, how many iterations there are, and how much is
// appended.
#include "codegen/loop_plan.h"

#include <algorithm>
#include <utility>

#include "codegen/lanes.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/walk.h"

namespace weld::codegen {

std::int64_t chosen(const Expr* e, AttrKey key, std::int64_t otherwise) {
    const Annotation* a = e->annotation(key);
    return a ? a->number : otherwise;
}

std::int64_t cost_of(const Expr* e) { return chosen(e, AttrKey::Cost, 10'000); }

std::int64_t strip_of(const Expr* e) {
    constexpr std::int64_t work = 200'000'000;  // which may take ten times as long as is thought
    return std::max<std::int64_t>(1, work / cost_of(e));
}

/// No least or largest float in the state is NaN when the loop begins, nor in what its body begins.
static bool begins_with_numbers(const Expr* builder) {
    if (builder->op == Op::MakeStruct) return std::ranges::all_of(builder->args(), begins_with_numbers);
    const NewBuilder made = builder->as<NewBuilder>();
    return made && !made.arg();
}

bool LoopPlan::merges_alone() const {
    bool any = false;
    visit(f.body().body(), [&](const Expr* e) { any |= e->op == Op::NewBuilder; });
    return !any;
}

Lanes LoopPlan::form(Lanes outer) const {
    const Type* t = f.builder()->type;
    const bool arrays = outer.arrays || any_builder(t, [](const BuilderInfo& b) { return b.keeps_merges; });
    if (step == 1) {
        const bool tables = outer.tables || any_builder(t, [](const BuilderInfo& b) { return b.probes; });
        return {outer.lanes, outer.accumulators, 0, 0, outer.spread, tables, arrays, outer.numbers};
    }
    const auto number = [&](AttrKey key, std::int64_t otherwise) {
        return std::uint32_t(chosen(f.node, key, otherwise));
    };
    if (one_by_one)
        return {std::uint32_t(step),
                1,
                number(AttrKey::Groups, 0),
                number(AttrKey::Batch, 1),
                false,
                false,
                arrays,
                false};
    const bool numbers = begins_with_numbers(f.builder()) && merges_alone();
    return {std::uint32_t(step), number(AttrKey::Accumulators, 1), 0, 0, false, false, arrays, numbers};
}

Lanes LoopPlan::spread(Lanes outer) const {
    Lanes form = this->form(outer);
    form.spread = true;
    return form;
}

static bool is_literal(const Expr* e, std::uint64_t bits) {
    return e->op == Op::Literal && e->attr.bits == bits;
}

/// Evaluates start, end and stride, fails if they are wrong, and gives the number of iterations. `before`:
/// how many elements the datum before has, or null.
static llvm::Value* bounded_count(Emitter& e, Datum& d, llvm::Value* len, llvm::Value* before) {
    auto& ir = e.ir;
    llvm::Value* start = e.emit1(d.iter.start());
    llvm::Value* end = e.emit1(d.iter.end());
    llvm::Value* stride = e.emit1(d.iter.stride());
    const bool unit_stride = is_literal(d.iter.stride(), 1);
    if (!is_literal(d.iter.start(), 0)) d.start = start;
    if (!unit_stride) d.stride = stride;
    if (!len && !d.start && unit_stride && end == before) return end;
    if (d.iter.node->says(AttrKey::Inside, true)) return ir.CreateSub(end, start);
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
           {e.task, e.at(d.iter.node->loc), start, end, stride, len ? len : e.c64(-1)});
    ir.CreateBr(e.fail_exit());
    ir.SetInsertPoint(on);
    return count;
}

static llvm::Value* spilled(Emitter& e, const Leaves& vec) { return e.spill_vec(vec[0], vec[1]); }

/// The same for nditer, whose end and stride are evaluated and say nothing.
static llvm::Value* nd_count(Emitter& e, Datum& d) {
    d.start = e.emit1(d.iter.start());
    e.emit1(d.iter.end());
    e.emit1(d.iter.stride());
    d.nd_shape = e.emit(d.iter.nd_shape());
    d.nd_strides = e.emit(d.iter.nd_strides());
    llvm::Value* rounds =
        e.call("weld_rt_nd_rounds", {e.task, spilled(e, d.nd_shape), spilled(e, d.nd_strides), d.start,
                                     d.vec[1], e.at(d.iter.node->loc)});
    e.leave_if(e.ir.CreateICmpSLT(rounds, e.c64(0)));
    return rounds;
}

/// Evaluates a datum; gives how many elements it has.
static llvm::Value* evaluate_datum(Emitter& e, const Expr* data, Datum& d, llvm::Value* before) {
    d.iter = data->as<Iter>();
    d.yields = data->type->elem();
    if (!d.iter) {
        d.vec = e.emit(data);
        return d.vec[1];
    }
    const IterShape shape = d.iter.shape();
    if (!shape.range) d.vec = e.emit(d.iter.data());
    if (!shape.bounded) return d.vec[1];
    if (shape.nd) return nd_count(e, d);
    llvm::Value* count = bounded_count(e, d, shape.range ? nullptr : d.vec[1], before);
    if (data->says(AttrKey::Inside, true) && d.start) {
        // All rows are read at one place behind where they begin. That is just a pointer: LLVM would count each of them up once
        // for every loop inside that reads it.
        d.vec[0] =
            e.ir.CreateLaunderInvariantGroup(e.element(d.vec[0], d.iter.data()->type->elem(), d.start));
        d.start = nullptr;
    }
    return count;
}

static void for_each_builder(const Emitter& e, const Type* t, int& leaf, int& number,
                             const std::function<void(const Type*, int, int)>& fn) {
    if (t->is_builder()) fn(t, leaf, number++);
    if (t->is_struct())
        for (const Type* f : t->args) for_each_builder(e, f, leaf, number, fn);
    else leaf += e.num_leaves(t);
}

void for_each_builder(const Emitter& e, const Type* state,
                      const std::function<void(const Type*, int leaf, int number)>& fn) {
    int leaf = 0, number = 0;
    for_each_builder(e, state, leaf, number, fn);
}

/// By builder: what `@(appends:…)` says.
static std::vector<std::int64_t> appends_of(const Emitter& e, For f) {
    std::vector<std::int64_t> all;
    const Annotation* appends = f.node->annotation(AttrKey::Appends);
    std::size_t kept = 0;
    for_each_builder(e, f.builder()->type, [&](const Type* t, int, int) {
        all.push_back(appends && kept_merges(t) ? appends->numbers[kept++] : -1);
    });
    return all;
}

/// By builder in `start`: what `@(size:given)` or `@(size:most)` says, or null.
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
    sizes.push_back(size && is_of_passes(*size) ? e.emit1(start->arg(0)) : nullptr);
}

LoopPlan make_plan(Emitter& e, For f, For rest) {
    LoopPlan plan{f};
    plan.by_elements = bool(rest);
    llvm::Value* elements = nullptr;
    for (const Expr* data : f.data()) {
        Datum& d = plan.data.emplace_back();
        llvm::Value* n = evaluate_datum(e, data, d, elements);
        if (elements && n != elements)
            e.fail_if(e.ir.CreateICmpNE(n, elements), kWeldMismatchedZipSize, f.node->loc, elements, n);
        elements = n;
    }
    plan.count = elements;
    if (Iter it = plan.data[0].iter; it && it.shape().kind != IterKind::Scalar) {
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
    plan.appends = appends_of(e, f);
    given_sizes(e, f.builder(), plan.given);
    if (f.node->annotation(AttrKey::Tile)) plan.tiled = plan.given[0];
    plan.cost = cost_of(f.node);
    if (const Annotation* work = f.node->annotation(AttrKey::Work))
        plan.work =
            e.ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, e.names.at(work->symbols[0])[0], e.c64(1));
    if (rest) {
        const std::vector<std::int64_t> each = appends_of(e, rest);
        for (std::size_t k = 0; k < each.size(); ++k)
            plan.appends[k] = plan.appends[k] == each[k] * plan.step ? each[k] : -1;
        plan.cost = std::max<std::int64_t>(1, plan.cost / plan.step);
    }
    if (rest && f.node->annotation(AttrKey::Groups)) {
        LoopPlan scalar = make_plan(e, rest, {});
        scalar.count = scalar.base = nullptr;
        scalar.appends = plan.appends;
        plan.cost = scalar.cost;
        plan.one_by_one = std::make_shared<const LoopPlan>(std::move(scalar));
    }
    return plan;
}

Leaves leaves_of(const LoopPlan& plan) {
    Leaves all;
    for (const Datum& d : plan.data) {
        all.append(d.vec);
        if (d.start) all.push_back(d.start);
        if (d.stride) all.push_back(d.stride);
        all.append(d.nd_shape);
        all.append(d.nd_strides);
    }
    if (plan.base) all.push_back(plan.base);
    if (plan.tiled) all.push_back(plan.tiled);
    if (plan.one_by_one) all.append(leaves_of(*plan.one_by_one));
    return all;
}

LoopPlan moved(const LoopPlan& plan, const Leaves& values) {
    LoopPlan there = plan;
    there.given.assign(plan.given.size(), nullptr);  // room has been made
    there.work = nullptr;                            // nor is it cut again
    std::size_t at = 0;
    const auto take = [&](llvm::Value*& v) { v = values[at++]; };
    for (Datum& d : there.data) {
        for (llvm::Value*& v : d.vec) take(v);
        if (d.start) take(d.start);
        if (d.stride) take(d.stride);
        for (llvm::Value*& v : d.nd_shape) take(v);
        for (llvm::Value*& v : d.nd_strides) take(v);
    }
    if (there.base) take(there.base);
    if (there.tiled) take(there.tiled);
    if (plan.one_by_one)
        there.one_by_one = std::make_shared<const LoopPlan>(
            moved(*plan.one_by_one, Leaves(values.begin() + at, values.end())));
    return there;
}

/// The numbers of a range from `first` on, one by one.
static llvm::Value* numbered_lanes(Emitter& e, llvm::Value* first, std::uint32_t n) {
    llvm::Value* all = e.ir.CreateAdd(e.ir.CreateVectorSplat(n, first), lane_numbers(e, n, 64));
    if (auto* sum = llvm::dyn_cast<llvm::Instruction>(all))
        sum->setMetadata(kNumberedLanes, llvm::MDNode::get(e.unit.ctx, {}));
    return all;
}

llvm::Value* position(Emitter& e, const LoopPlan& plan, const Datum& d, llvm::Value* i) {
    auto& ir = e.ir;
    llvm::Value* at = plan.step == 1 ? i : ir.CreateMul(i, e.c64(plan.step), "", true, true);
    if (plan.base) at = ir.CreateAdd(at, plan.base, "", true, true);
    if (!d.nd_shape.empty())
        at = e.call("weld_rt_nd_offset", {spilled(e, d.nd_shape), spilled(e, d.nd_strides), at});
    // Places are not negative, but the numbers of a range may be, and may lie farther apart than an i64.
    const bool is_place = !d.vec.empty() && d.nd_shape.empty(), is_far = d.vec.empty() && d.start && d.stride;
    if (d.stride) at = ir.CreateMul(at, d.stride, "", !is_far, !is_far);
    if (d.start) at = ir.CreateAdd(at, d.start, "", is_place, !is_far);
    return at;
}

Leaves read(Emitter& e, const LoopPlan& plan, const Datum& d, llvm::Value* i) {
    auto& ir = e.ir;
    llvm::Value* at = position(e, plan, d, i);
    const bool simd = d.yields->is_simd();
    if (simd && d.vec.empty() && !d.stride) return {numbered_lanes(e, at, d.yields->lanes)};
    llvm::Value* lane_offsets = nullptr;
    if (simd && (d.vec.empty() || d.stride)) {
        lane_offsets = lane_numbers(e, d.yields->lanes, 64);
        if (d.stride)
            lane_offsets = ir.CreateMul(lane_offsets, ir.CreateVectorSplat(d.yields->lanes, d.stride));
    }
    if (d.vec.empty())
        return {simd ? ir.CreateAdd(ir.CreateVectorSplat(d.yields->lanes, at), lane_offsets) : at};
    const Type* elem = d.iter ? d.iter.data()->type->elem() : d.yields;
    if (!lane_offsets && simd && e.tail.mask) return {e.load_tail(d.yields, e.element(d.vec[0], elem, at))};
    if (!lane_offsets) return e.load(d.yields, e.element(d.vec[0], elem, at));
    llvm::Value* lanes =
        llvm::PoisonValue::get(llvm::FixedVectorType::get(e.unit.lower(elem->scalar), d.yields->lanes));
    for (std::uint64_t k = 0; k < d.yields->lanes; ++k) {
        llvm::Value* index = ir.CreateAdd(at, ir.CreateExtractElement(lane_offsets, k));
        lanes = ir.CreateInsertElement(lanes, e.load(elem, e.element(d.vec[0], elem, index))[0], k);
    }
    return {lanes};
}

}  // namespace weld::codegen
