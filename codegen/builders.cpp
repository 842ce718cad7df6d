// Builders: what all of them do alike. What one of them does is in codegen/builders, growth, tables and
// joining the states of chunks are the runtime's (runtime/builders).
#include <limits>
#include <utility>

#include "codegen/builders/arrays.h"
#include "codegen/builders/code.h"
#include "codegen/builders/indexed.h"
#include "codegen/emit.h"
#include "codegen/lanes.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/scalar.h"

namespace weld::codegen {

const BuilderCode& code_of(const Type* builder) {
    static const BuilderCode* const all[] = {
#define WELD_BUILDER(name, ...) &k##name##Code,
#include "runtime/abi/builders.def"
    };
    return *all[int(builder->builder)];
}

// ---- operators -----------------------------------------------------------------------------------------

llvm::Value* Emitter::merge_op(MergeOp op, Scalar s, llvm::Value* a, llvm::Value* b,
                               llvm::BasicBlock* evaluated) {
    if (!is_float(s) || op == MergeOp::Min || op == MergeOp::Max) return scalar_op(op_of(op), s, a, b, Loc{});
    // A sum of a product may be one operation. LLVM is not left to choose: what it fuses depends on the
    // machine and on what stands around, and so would bits. A product of another block may come from outside
    // the loop, where a function for the loop would not see it.
    if (op == MergeOp::Mul) return ir.CreateFMul(a, b);
    auto* product = llvm::dyn_cast<llvm::BinaryOperator>(b);
    if (!unit.target.fuses || !product || product->getOpcode() != llvm::Instruction::FMul ||
        product->getParent() != (evaluated ? evaluated : ir.GetInsertBlock()))
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

llvm::Value* Emitter::nothing(MergeOp op, Scalar s, bool numbers) {
    if (!numbers || !is_float(s) || (op != MergeOp::Min && op != MergeOp::Max)) return neutral(op, s);
    return llvm::ConstantFP::getInfinity(unit.lower(s), op == MergeOp::Max);
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

void merge_in_memory(Emitter& e, const Type* type, MergeOp op, llvm::Value* at,
                     llvm::ArrayRef<llvm::Value*> v, llvm::BasicBlock* evaluated) {
    Leaves now = e.load(type, at);
    std::size_t k = 0;
    for_each_scalar(type, [&](Scalar x) {
        now[k] = e.merge_op(op_of_field(op, k), x, now[k], v[k], evaluated);
        ++k;
    });
    e.store(type, now, at);
}

// ---- states --------------------------------------------------------------------------------------------

/// Notes all builders in `t`; false if some are no mergers.
static bool list_mergers(const Type* t, std::vector<const Type*>& all) {
    if (t->is_struct())
        return std::ranges::all_of(t->args, [&](const Type* f) { return list_mergers(f, all); });
    all.push_back(t);
    return t->is_builder() && is_value(info(t));
}

Leaves Emitter::reform(const Type* t, const Leaves& state, Lanes from, Lanes to, Loc loc) {
    if (t->holds_simd || from == to) return state;
    if (t->is_builder()) return code_of(t).reform(*this, t, state, from, to, loc);
    if (!t->is_struct()) return state;
    std::vector<const Type*> mergers;
    if (list_mergers(t, mergers)) return reform_mergers(*this, mergers, state, from, to);
    Leaves all;
    std::size_t at = 0;
    for (const Type* f : t->args) {
        const auto n = std::size_t(num_leaves(f, from));
        all.append(reform(f, Leaves(state.begin() + at, state.begin() + at + n), from, to, loc));
        at += n;
    }
    return all;
}

Leaves Emitter::emit_new_builder(NewBuilder b) {
    const Type* t = b.node->type;
    const Leaves arg = b.arg() ? emit(b.arg()) : Leaves{};
    return reform(t, code_of(t).begin(*this, b, arg), {}, lanes);
}

Leaves Emitter::emit_result(Result r) {
    const Leaves s = emit(r.builder());
    return code_of(r.builder()->type).result(*this, r, s);
}

// ---- merges --------------------------------------------------------------------------------------------

/// Merges `n` lanes of `v`, all or those of `mask`.
static Leaves merge_in_lanes(Emitter& e, Merge g, const Leaves& s, const Leaves& v, std::uint32_t n,
                             llvm::Value* mask) {
    const BuilderCode& code = code_of(g.node->type);
    if (const auto at_once = code.merge_lanes(e, g, s, v, n, mask)) return *at_once;
    Leaves now = s;
    const bool outer = std::exchange(e.side_by_side, true);
    for (std::uint32_t k = 0; k < n; ++k) {
        const Leaves before = now;
        const auto one = [&] { return code.merge(e, g, before, lane(e, v, k)); };
        if (!mask) now = one();
        else now = e.emit_if(e.ir.CreateExtractElement(mask, std::uint64_t(k)), one, [&] { return before; });
    }
    e.side_by_side = outer;
    return now;
}

Leaves Emitter::emit_merge(Merge g) {
    const Type* t = g.node->type;
    const BuilderCode& code = code_of(t);
    const Leaves s = emit(g.builder());
    // Lanes that a builder of simd values takes are one value; otherwise they are merged one by one, in
    // order.
    if (g.rows()) return append_rows(*this, g, s, emit(g.value()));
    const std::uint32_t n = t->holds_simd ? 0 : lanes_in(g.value()->type);
    if (n == 0 && !g.mask()) return code.merge(*this, g, s, emit(g.value()));
    if (!g.mask()) return merge_in_lanes(*this, g, s, emit(g.value()), n, tail.mask);
    llvm::Value* mask = emit1(g.mask());
    if (t->holds_simd) return {ir.CreateSelect(mask, code.merge(*this, g, s, emit(g.value()))[0], s[0])};
    if (tail.mask) mask = ir.CreateAnd(mask, tail.mask);
    const auto masked = [&] { return merge_in_lanes(*this, g, s, emit(g.value()), n, mask); };
    if (!g.node->says(AttrKey::Branch, true)) return masked();
    return emit_if(is_needed(g.node, mask), masked, [&] { return s; });
}

/// The value is written in any case, and counts if the condition holds.
Leaves Emitter::emit_conditional_merge(If choice, Merge one) {
    llvm::Value* counts = emit1(choice.cond());
    if (choice.then() != one.node) counts = ir.CreateNot(counts);
    const Leaves s = emit(one.builder()), v = emit(one.value());
    return info(one.node->type).indexed ? add_if(*this, one, counts, s, v)
                                        : append_if(*this, one, counts, s, v);
}

}  // namespace weld::codegen
