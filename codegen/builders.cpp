// Builders: where they start, what a merge does, what they give. Growth, tables and joining the states of
// chunks are the runtime's (runtime/builders).
#include <llvm/IR/MDBuilder.h>

#include <limits>

#include "codegen/counters.h"
#include "codegen/emit.h"
#include "codegen/groups.h"
#include "codegen/lanes.h"
#include "codegen/loops.h"
#include "codegen/tables.h"
#include "weldir/ir/keys.h"

namespace weld::codegen {

// ---- operators -----------------------------------------------------------------------------------------

llvm::Value* Emitter::merge_op(MergeOp op, Scalar s, llvm::Value* a, llvm::Value* b) {
    constexpr Op ops[] = {Op::Add, Op::Mul, Op::Min, Op::Max};
    if (!is_float(s) || op == MergeOp::Min || op == MergeOp::Max)
        return scalar_op(ops[int(op)], s, a, b, Loc{});
    // A sum of a product may be one operation. LLVM is not left to choose: what it fuses depends on the
    // machine and on what stands around, and so would bits. A product of another block may come from outside
    // the loop, where a function for the loop would not see it.
    if (op == MergeOp::Mul) return ir.CreateFMul(a, b);
    auto* product = llvm::dyn_cast<llvm::BinaryOperator>(b);
    if (!unit.target.fuses || !product || product->getOpcode() != llvm::Instruction::FMul ||
        product->getParent() != ir.GetInsertBlock())
        return ir.CreateFAdd(a, b);
    return ir.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()},
                              {product->getOperand(0), product->getOperand(1), a});
}

llvm::Value* Emitter::neutral(MergeOp op, Scalar s) {
    llvm::Type* t = unit.lower(s);
    if (!is_float(s)) return initial(op, s);
    switch (op) {
        case MergeOp::Add: return llvm::ConstantFP::getNegativeZero(t);
        case MergeOp::Mul: return llvm::ConstantFP::get(t, 1.0);
        default: return llvm::ConstantFP::getNaN(t);  // min and max with a NaN give the other operand
    }
}

llvm::Value* Emitter::initial(MergeOp op, Scalar s) {
    llvm::Type* t = unit.lower(s);
    const unsigned bits = t->getScalarSizeInBits();
    switch (op) {
        case MergeOp::Add: return llvm::Constant::getNullValue(t);
        case MergeOp::Mul: return is_float(s) ? llvm::ConstantFP::get(t, 1.0) : llvm::ConstantInt::get(t, 1);
        case MergeOp::Min:
        case MergeOp::Max: break;
    }
    const bool max = op == MergeOp::Max;
    if (s == Scalar::F32)
        return llvm::ConstantFP::get(
            t, max ? std::numeric_limits<float>::lowest() : std::numeric_limits<float>::max());
    if (s == Scalar::F64)
        return llvm::ConstantFP::get(
            t, max ? std::numeric_limits<double>::lowest() : std::numeric_limits<double>::max());
    llvm::APInt v = is_signed(s)
                        ? (max ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getSignedMaxValue(bits))
                        : (max ? llvm::APInt::getMinValue(bits) : llvm::APInt::getMaxValue(bits));
    return llvm::ConstantInt::get(unit.ctx, v);
}

// ---- forms of mergers ----------------------------------------------------------------------------------

/// All accumulators combined.
static llvm::Value* joined(Emitter& e, MergeOp op, Scalar s, Leaves vectors) {
    for (std::size_t n = vectors.size(); n > 1; n /= 2)
        for (std::size_t i = 0; i < n / 2; ++i)
            vectors[i] = e.merge_op(op, s, vectors[i], vectors[i + n / 2]);
    return vectors[0];
}

/// Leaves of a merger are: the scalars of its value; then, for each of these, `accumulators` vectors.
static Leaves reform_merger(Emitter& e, const Type* t, const Leaves& state, Lanes from, Lanes to) {
    std::vector<Scalar> scalars;
    for_each_scalar(t->elem(), [&](Scalar s) { scalars.push_back(s); });
    const bool same_lanes = from.lanes == to.lanes && from.accumulators && to.accumulators;
    Leaves out(state.begin(), state.begin() + scalars.size()), vectors;
    std::size_t at = scalars.size();
    for (std::size_t k = 0; k < scalars.size(); ++k, at += from.accumulators) {
        llvm::Value* first = nullptr;
        if (from.accumulators)
            first = joined(e, t->op, scalars[k],
                           Leaves(state.begin() + at, state.begin() + at + from.accumulators));
        if (first && !same_lanes) {
            out[k] = e.merge_op(t->op, scalars[k], out[k], fold_lanes(e, t->op, scalars[k], first));
            first = nullptr;
        }
        for (std::uint32_t a = 0; a < to.accumulators; ++a, first = nullptr)
            vectors.push_back(first ? first : e.ir.CreateVectorSplat(to.lanes, e.neutral(t->op, scalars[k])));
    }
    out.append(vectors);
    return out;
}

/// The open form of the array at a pointer: its words in registers, and the pointer.
static Leaves opened_array(Emitter& e, llvm::Value* array) {
    const auto word = [&](llvm::Type* type, std::int64_t k) {
        return e.ir.CreateAlignedLoad(type, e.address(array, 8 * k), llvm::Align(8));
    };
    return {word(e.unit.ptr, 0), word(e.unit.i64, 1), word(e.unit.i64, 2), array};
}

/// The words are written back.
static Leaves closed_array(Emitter& e, const Leaves& open) {
    for (int k = 0; k < 3; ++k)
        e.ir.CreateAlignedStore(open[std::size_t(k)], e.address(open[3], 8 * k), llvm::Align(8));
    return {open[3]};
}

Leaves Emitter::reform(const Type* t, const Leaves& state, Lanes from, Lanes to, Loc loc) {
    if (t->holds_simd || from == to) return state;
    if (t->is_builder(BuilderKind::Merger)) return reform_merger(*this, t, state, from, to);
    if (t->is_builder(BuilderKind::DictMerger)) {
        if (from.groups == to.groups && from.tables == to.tables) return state;
        const Leaves table = from.groups ? release_groups(*this, t, state, from, loc) : Leaves{state[0]};
        if (to.groups) return hold_groups(*this, t, table, to);
        return to.tables ? opened(*this, table[0]) : table;
    }
    if (t->is_builder(BuilderKind::GroupMerger)) {
        if (from.arrays == to.arrays) return state;
        return to.arrays ? opened_array(*this, state[0]) : closed_array(*this, state);
    }
    if (!t->is_struct()) return state;
    Leaves all;
    std::size_t at = 0;
    for (const Type* f : t->args) {
        const auto n = std::size_t(num_leaves(f, from));
        all.append(reform(f, Leaves(state.begin() + at, state.begin() + at + n), from, to, loc));
        at += n;
    }
    return all;
}

// ---- new builders --------------------------------------------------------------------------------------

Leaves Emitter::emit_new_builder(NewBuilder b) {
    const Type* t = b.node->type;
    const Leaves arg = b.arg() ? emit(b.arg()) : Leaves{};
    switch (b.kind()) {
        case BuilderKind::Appender:  // the size hint is no promise, and room is made as it is needed
            return {llvm::ConstantPointerNull::get(unit.ptr), c64(0), c64(0)};
        case BuilderKind::Merger: {
            Leaves start = arg;
            if (!b.arg()) for_each_scalar(t->elem(), [&](Scalar s) { start.push_back(initial(t->op, s)); });
            if (!b.arg() && t->holds_simd) start[0] = ir.CreateVectorSplat(t->elem()->lanes, start[0]);
            return reform(t, start, {}, lanes);
        }
        case BuilderKind::DictMerger: {
            llvm::Value* table =
                call_pointer("weld_rt_dict_new",
                             {task, unit.describe(t->key()), unit.describe(t->value()), at(b.node->loc)});
            return reform(t, {table}, {}, lanes);
        }
        case BuilderKind::GroupMerger:
            return reform(t, {call_pointer("weld_rt_group_new", {task, at(b.node->loc)})}, {}, lanes);
        case BuilderKind::VecMerger: {
            if (b.node->says(AttrKey::InPlace, true)) return arg;
            llvm::Value* copy = alloc(arg[1], size_of(t->elem()), b.node->loc);
            llvm::Value* bytes = ir.CreateMul(arg[1], c64(size_of(t->elem())));
            call_checked("weld_rt_copy", {task, copy, arg[0], bytes, at(b.node->loc)});
            return {copy, arg[1]};
        }
    }
    llvm_unreachable("all kinds of builders are above");
}

// ---- merges --------------------------------------------------------------------------------------------

/// The array of a builder that keeps what is merged: {data, size, capacity}, and what else its open form has.
static Leaves array_in(Emitter& e, const Type* t, const Leaves& state) {
    const bool closed = t->is_builder(BuilderKind::GroupMerger) && !e.lanes.arrays;
    return closed ? opened_array(e, state[0]) : state;
}
static Leaves state_of(Emitter& e, const Type* t, const Leaves& array) {
    const bool closed = t->is_builder(BuilderKind::GroupMerger) && !e.lanes.arrays;
    return closed ? closed_array(e, array) : array;
}

Leaves Emitter::grow_array(const Type* t, Leaves array, llvm::Value* extra, Loc loc) {
    const bool group = t->is_builder(BuilderKind::GroupMerger);
    if (!group) array.push_back(slot(24, 8));
    llvm::Value* room = closed_array(*this, array)[0];
    call_checked("weld_rt_appender_grow", {task, room, extra, c64(size_of(kept_merges(t))), at(loc)});
    array = opened_array(*this, room);
    if (!group) array.pop_back();
    return array;
}

/// Makes room for `extra` more values.
static Leaves grown(Emitter& e, const Type* t, Leaves s, std::int64_t extra, Loc loc) {
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(s[2]); known && known->isMaxValue(true)) return s;
    auto *grow = e.block("grow"), *on = e.block("append");
    llvm::Value* full = e.ir.CreateICmpSLT(e.ir.CreateSub(s[2], s[1]), e.c64(extra));
    auto* before = e.ir.GetInsertBlock();
    e.ir.CreateCondBr(full, grow, on, llvm::MDBuilder(e.unit.ctx).createBranchWeights(1, 1 << 20));
    e.ir.SetInsertPoint(grow);
    const Leaves after = e.grow_array(t, s, e.c64(extra), loc);
    grow = e.ir.GetInsertBlock();
    e.ir.CreateBr(on);
    e.ir.SetInsertPoint(on);
    for (int k : {0, 2}) {  // the size stays
        llvm::PHINode* phi = e.ir.CreatePHI(s[std::size_t(k)]->getType(), 2);
        phi->addIncoming(s[std::size_t(k)], before);
        phi->addIncoming(after[std::size_t(k)], grow);
        s[std::size_t(k)] = phi;
    }
    return s;
}

static Leaves append_one(Emitter& e, const Type* t, Leaves s, const Leaves& v) {
    const Type* elem = kept_merges(t);
    e.store(elem, v, e.element(s[0], elem, s[1]));
    s[1] = e.ir.CreateAdd(s[1], e.c64(1), "", true, true);
    return s;
}

/// Appends lanes in order, all or those of `mask`.
static Leaves append_lanes(Emitter& e, const Type* t, Leaves s, const Leaves& v, std::uint32_t n,
                           llvm::Value* mask, Loc loc) {
    const Type* elem = kept_merges(t);
    s = grown(e, t, s, n, loc);
    auto& ir = e.ir;
    const bool plain = elem->is_scalar();
    if (mask == e.tail.mask &&
        (plain || mask)) {  // all lanes, or the first ones: there may be room for no more
        llvm::Value* to = e.element(s[0], elem, s[1]);
        if (!plain) store_first(e, elem, v, e.tail.count, to);
        else if (mask) e.store_tail(elem->scalar, v[0], to);
        else e.store(new_type(e.m, [&](Types& types) { return types.simd(elem->scalar, n); }), v, to);
        s[1] = ir.CreateAdd(s[1], mask ? e.tail.count : e.c64(n), "", true, true);
        return s;
    }
    if (llvm::Value* packed = plain && mask && !elem->is_bool() ? compressed(e, v[0], mask) : nullptr) {
        ir.CreateAlignedStore(packed, e.element(s[0], elem, s[1]), llvm::Align(std::uint64_t(size_of(elem))));
        llvm::Value* bits = ir.CreateBitCast(mask, llvm::IntegerType::get(e.unit.ctx, n));
        llvm::Value* count = ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits);
        s[1] = ir.CreateAdd(s[1], ir.CreateZExtOrTrunc(count, e.unit.i64), "", true, true);
        return s;
    }
    for (std::uint32_t k = 0; k < n; ++k) {  // every lane is written, the place moves on if it counts
        e.store(elem, lane(e, v, k), e.element(s[0], elem, s[1]));
        llvm::Value* step = mask ? ir.CreateZExt(ir.CreateExtractElement(mask, k), e.unit.i64) : e.c64(1);
        s[1] = ir.CreateAdd(s[1], step, "", true, true);
    }
    return s;
}

/// A merger and a value whose parts are scalars or, in a simd loop of the same width, lanes.
static Leaves merge_lanes(Emitter& e, const Type* t, Leaves s, const Leaves& v, std::uint32_t n,
                          llvm::Value* mask) {
    std::vector<Scalar> scalars;
    for_each_scalar(t->elem(), [&](Scalar x) { scalars.push_back(x); });
    const bool here = n == e.lanes.lanes;  // the accumulators of this loop have as many lanes
    for (std::size_t k = 0; k < scalars.size(); ++k) {
        llvm::Value* x = v[k]->getType()->isVectorTy() ? v[k] : e.ir.CreateVectorSplat(n, v[k]);
        llvm::Value*& into = here ? s[scalars.size() + k * e.lanes.accumulators + e.accumulator] : s[k];
        if (here) {
            llvm::Value* after = e.merge_op(t->op, scalars[k], into, x);
            into = mask ? e.ir.CreateSelect(mask, after, into) : after;
            continue;
        }
        if (mask) x = e.ir.CreateSelect(mask, x, e.ir.CreateVectorSplat(n, e.neutral(t->op, scalars[k])));
        into = e.merge_op(t->op, scalars[k], into, fold_lanes(e, t->op, scalars[k], x));
    }
    return s;
}

/// Merges `v` into the value of `type`, a scalar or struct of them, at `at`.
static void merge_in_memory(Emitter& e, const Type* type, MergeOp op, llvm::Value* at,
                            llvm::ArrayRef<llvm::Value*> v) {
    Leaves now = e.load(type, at);
    std::size_t k = 0;
    for_each_scalar(type, [&](Scalar x) {
        now[k] = e.merge_op(op, x, now[k], v[k]);
        ++k;
    });
    e.store(type, now, at);
}

static Leaves merge_into_vec(Emitter& e, Merge g, const Type* t, const Leaves& s, const Leaves& v) {
    e.fail_if(e.ir.CreateICmpUGE(v[0], s[1]), kWeldArrayOutOfBounds, g.node->loc, v[0], s[1]);
    if (e.may_count_narrowly && is_count(g)) merge_count(e, s[0], v[0], v[1]);
    else
        merge_in_memory(e, t->elem(), t->op, e.element(s[0], t->elem(), v[0]),
                        llvm::ArrayRef<llvm::Value*>(v).drop_front(1));
    return s;
}

/// Lanes for the elements from index v[0] on.
static Leaves merge_row_into_vec(Emitter& e, Merge g, const Type* t, const Leaves& s, const Leaves& v,
                                 std::uint32_t n) {
    auto& ir = e.ir;
    llvm::Value* starts_outside = ir.CreateICmpUGE(v[0], s[1]);
    llvm::Value* count = e.tail.mask ? e.tail.count : e.c64(n);
    llvm::Value* ends_outside = ir.CreateICmpSLT(ir.CreateSub(s[1], v[0]), count);
    e.fail_if(ir.CreateOr(starts_outside, ends_outside), kWeldArrayOutOfBounds, g.node->loc,
              ir.CreateSelect(starts_outside, v[0], s[1]), s[1]);
    const Type* row = g.value()->type->args[1];
    llvm::Value* at = e.element(s[0], t->elem(), v[0]);
    llvm::Value* before = e.tail.mask ? e.load_tail(row, at) : e.load(row, at)[0];
    llvm::Value* after = e.merge_op(t->op, row->scalar, before, v[1]);
    if (e.tail.mask) e.store_tail(row->scalar, after, at);
    else e.store(row, {after}, at);
    return s;
}

/// The runtime does what is rare: keys that are new, and keys of unusual types.
static Leaves merge_into_dict(Emitter& e, Merge g, const Type* t, const Leaves& s, const Leaves& v) {
    const Leaves key(v.begin(), v.begin() + e.num_leaves(t->key()));
    const Leaves value(v.begin() + std::ptrdiff_t(key.size()), v.end());
    const auto call = [&] {
        e.call_checked("weld_rt_dict_merge",
                       {e.task, s[0], e.spill(t->key(), key), e.spill(t->value(), value), e.c32(int(t->op)),
                        e.at(g.node->loc)});
    };
    if (e.loop_depth == 0 || !is_sought_inline(t->key())) {
        call();
        return e.lanes.tables ? opened(e, s[0]) : s;
    }
    const bool stays_open = e.lanes.tables;
    const Leaves open = stays_open ? s : opened(e, s[0]);
    const auto merge = [&](llvm::Value* entry) {
        merge_in_memory(e, t->value(), t->op, e.address(entry, entry_layout(t->key(), t->value()).value_at),
                        value);
        return open;
    };
    const auto add = [&] {
        call();
        return stays_open ? opened(e, s[0]) : open;
    };
    const auto direct = [&] { return find_entry(e, open, t->key(), t->value(), key, merge, add); };
    const Leaves after = is_partitioned(t->key())
                             ? merge_or_wait(e, open, t->key(), t->value(), key, value, g.node->loc, direct)
                             : direct();
    return stays_open ? after : s;
}

static Leaves merge_one(Emitter& e, Merge g, const Type* t, Leaves s, const Leaves& v) {
    switch (t->builder) {
        case BuilderKind::Appender:
        case BuilderKind::GroupMerger: {
            const Leaves array = grown(e, t, array_in(e, t, s), 1, g.node->loc);
            return state_of(e, t, append_one(e, t, array, v));
        }
        case BuilderKind::Merger: {
            std::size_t k = 0;
            for_each_scalar(t->elem(), [&](Scalar x) {
                s[k] = e.merge_op(t->op, x, s[k], v[k]);
                ++k;
            });
            return s;
        }
        case BuilderKind::VecMerger: return merge_into_vec(e, g, t, s, v);
        case BuilderKind::DictMerger: return merge_into_dict(e, g, t, s, v);
    }
    llvm_unreachable("all kinds of builders are above");
}

/// Merges `n` lanes of `v`, all or those of `mask`.
static Leaves merge_in_lanes(Emitter& e, Merge g, const Leaves& s, const Leaves& v, std::uint32_t n,
                             llvm::Value* mask) {
    const Type* t = g.node->type;
    if (kept_merges(t)) return state_of(e, t, append_lanes(e, t, array_in(e, t, s), v, n, mask, g.node->loc));
    if (t->is_builder(BuilderKind::Merger)) return merge_lanes(e, t, s, v, n, mask);
    if (t->is_builder(BuilderKind::DictMerger) && e.lanes.groups)
        return merge_into_groups(e, t, s, v, n, mask, g.node->loc);
    const bool row = t->is_builder(BuilderKind::VecMerger) && g.value()->type->args[0]->is_scalar();
    if (row && mask == e.tail.mask && t->elem()->is_scalar()) return merge_row_into_vec(e, g, t, s, v, n);
    Leaves now = s;
    for (std::uint32_t k = 0; k < n; ++k) {
        const auto one = [&] {
            Leaves value = lane(e, v, k);
            if (row) value[0] = e.ir.CreateAdd(value[0], e.c64(k));
            return merge_one(e, g, t, now, value);
        };
        if (!mask) now = one();
        else {
            const Leaves before = now;
            now = e.emit_if(e.ir.CreateExtractElement(mask, std::uint64_t(k)), one, [&] { return before; });
        }
    }
    return now;
}

Leaves Emitter::emit_merge(Merge g) {
    const Type* t = g.node->type;
    const Leaves s = emit(g.builder());
    // Lanes that a builder of simd values takes are one value; otherwise they are merged one by one, in
    // order.
    const std::uint32_t n = t->holds_simd ? 0 : lanes_in(g.value()->type);
    if (n == 0 && !g.mask()) return merge_one(*this, g, t, s, emit(g.value()));
    if (!g.mask()) return merge_in_lanes(*this, g, s, emit(g.value()), n, tail.mask);
    llvm::Value* mask = emit1(g.mask());
    if (t->holds_simd) return {ir.CreateSelect(mask, merge_one(*this, g, t, s, emit(g.value()))[0], s[0])};
    if (tail.mask) mask = ir.CreateAnd(mask, tail.mask);
    const auto masked = [&] { return merge_in_lanes(*this, g, s, emit(g.value()), n, mask); };
    if (!is_worth_a_branch(g.value())) return masked();
    return emit_if(ir.CreateOrReduce(mask), masked, [&] { return s; });
}

/// The value is written in any case, and counts if the condition holds.
Leaves Emitter::emit_conditional_append(If choice, Merge append) {
    llvm::Value* counts = emit1(choice.cond());
    if (choice.then() != append.node) counts = ir.CreateNot(counts);
    const Type* t = append.node->type;
    const Type* elem = kept_merges(t);
    Leaves s = grown(*this, t, array_in(*this, t, emit(append.builder())), 1, append.node->loc);
    store(elem, emit(append.value()), element(s[0], elem, s[1]));
    s[1] = ir.CreateAdd(s[1], ir.CreateZExt(counts, unit.i64), "", true, true);
    return state_of(*this, t, s);
}

// ---- results -------------------------------------------------------------------------------------------

Leaves Emitter::emit_result(Result r) {
    const Type* t = r.builder()->type;
    const Leaves s = emit(r.builder());
    switch (t->builder) {
        case BuilderKind::Appender:
        case BuilderKind::VecMerger: return {s[0], s[1]};
        case BuilderKind::Merger: return reform(t, s, lanes, {});
        case BuilderKind::DictMerger:
            if (!unit.listed.holds(r.node))
                return {call_pointer("weld_rt_dict_result", {task, s[0], at(r.node->loc)})};
            call_checked("weld_rt_dict_settle", {task, s[0], at(r.node->loc)});
            return s;
        case BuilderKind::GroupMerger:
            return {call_pointer("weld_rt_group_result", {task, reform(t, s, lanes, {})[0],
                                                          unit.describe(kept_merges(t)), at(r.node->loc)})};
    }
    llvm_unreachable("all kinds of builders are above");
}

}  // namespace weld::codegen
