// The lesser and the greater of two floats, one by one or on lanes: with one NaN the other, and -0.0 before 0.0. No
// machine's plain instruction does both; AVX-512 has one that does, but for signalling NaNs.
#include "codegen/min_max.h"

#include <algorithm>
#include <bit>

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

namespace weld::codegen {

// `a` if it comes before `b`, else `b`, too where one is NaN.
static llvm::Value* first_of(Emitter& e, bool min, llvm::Value* a, llvm::Value* b) {
    llvm::Value* first = min ? e.ir.CreateFCmpOLT(a, b) : e.ir.CreateFCmpOGT(a, b);
    return e.ir.CreateSelect(first, a, b);
}

// `r`, which is one of the two: -0.0 is less than 0.0.
static llvm::Value* with_zeros_in_order(Emitter& e, bool min, llvm::Value* a, llvm::Value* b,
                                        llvm::Value* r) {
    auto& ir = e.ir;
    const unsigned bits = a->getType()->getScalarSizeInBits();
    llvm::Type* ints = a->getType()->getWithNewType(ir.getIntNTy(bits));
    llvm::Value *x = ir.CreateBitCast(a, ints), *y = ir.CreateBitCast(b, ints);
    llvm::Value* both = ir.CreateBitCast(min ? ir.CreateOr(x, y) : ir.CreateAnd(x, y), a->getType());
    return ir.CreateSelect(ir.CreateFCmpOEQ(a, b), both, r);
}

/// A constant that stays if it and `x` are the zeros, or `x` is NaN: what comes before or after both is another's.
static bool is_plain_bound(bool min, const llvm::Value* v) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(v);
    if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
    if (!number || number->isNaN()) return false;
    return !number->isZero() || number->isNegative() == min;
}

/// What follows from the state of a loop that is being made, of which no more is known than how it begins.
static bool is_open(const llvm::Value* v, llvm::SmallPtrSetImpl<const llvm::Value*>& seen) {
    const auto* i = llvm::dyn_cast<llvm::Instruction>(v);
    if (!i || !i->getType()->isFPOrFPVectorTy() || !seen.insert(i).second) return false;
    constexpr unsigned most = 64;  // are looked at
    const auto* phi = llvm::dyn_cast<llvm::PHINode>(i);
    if ((phi && phi->getNumIncomingValues() < 2) || seen.size() > most) return true;
    return std::ranges::any_of(i->operands(), [&](const llvm::Use& u) { return is_open(u.get(), seen); });
}

/// Squares, what is not negative, and sums with such.
static bool is_never_minus_zero(Emitter& e, const llvm::Value* v) {
    llvm::SmallPtrSet<const llvm::Value*, 16> seen;
    if (is_open(v, seen)) return false;
    const llvm::SimplifyQuery here(e.unit.out.getDataLayout());
    return llvm::computeKnownFPClass(v, llvm::fcNegZero, 0, here).isKnownNever(llvm::fcNegZero);
}

/// Of registers of so many bits.
static llvm::Intrinsic::ID range_of(unsigned bits, bool is_single) {
    using namespace llvm::Intrinsic;
    switch (bits) {
        case 128: return is_single ? x86_avx512_mask_range_ps_128 : x86_avx512_mask_range_pd_128;
        case 256: return is_single ? x86_avx512_mask_range_ps_256 : x86_avx512_mask_range_pd_256;
        default: return is_single ? x86_avx512_mask_range_ps_512 : x86_avx512_mask_range_pd_512;
    }
}

static bool is_range(llvm::Intrinsic::ID id) {
    for (const unsigned bits : {128U, 256U, 512U})
        if (id == range_of(bits, false) || id == range_of(bits, true)) return true;
    return false;
}

/// No signalling NaN: what arithmetic has given.
static bool is_quiet(const llvm::Value* v, int depth = 0) {
    constexpr int deepest = 6;
    if (const auto* constant = llvm::dyn_cast<llvm::Constant>(v)) {
        const llvm::Constant* one = constant->getType()->isVectorTy() ? constant->getSplatValue() : constant;
        const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(one);
        return number && !number->getValueAPF().isSignaling();
    }
    const auto* i = llvm::dyn_cast<llvm::Instruction>(v);
    if (!i || depth == deepest) return false;
    const auto is = [&](unsigned k) { return is_quiet(i->getOperand(k), depth + 1); };
    switch (i->getOpcode()) {
        case llvm::Instruction::FAdd:
        case llvm::Instruction::FSub:
        case llvm::Instruction::FMul:
        case llvm::Instruction::FDiv:  // by a constant LLVM may leave it out
            return !llvm::isa<llvm::Constant>(i->getOperand(0)) &&
                   !llvm::isa<llvm::Constant>(i->getOperand(1));
        case llvm::Instruction::SIToFP:
        case llvm::Instruction::UIToFP: return true;
        case llvm::Instruction::Select: return is(1) && is(2);
        case llvm::Instruction::ShuffleVector:
            return is(0) && (is(1) || llvm::isa<llvm::PoisonValue>(i->getOperand(1)));
        case llvm::Instruction::ExtractElement: return is(0);
        case llvm::Instruction::Call: {
            const auto id = llvm::cast<llvm::CallInst>(i)->getIntrinsicID();
            return id == llvm::Intrinsic::fma || id == llvm::Intrinsic::sqrt || is_range(id);
        }
        default: return false;
    }
}

/// One instruction, for `a` and `b` in one register, of which none is a signalling NaN: that would be the result.
static llvm::Value* ranged_register(Emitter& e, bool min, llvm::Value* a, llvm::Value* b) {
    auto* type = llvm::cast<llvm::FixedVectorType>(a->getType());
    const unsigned lanes = type->getNumElements(), bits = type->getScalarSizeInBits() * lanes;
    const bool is_single = type->getScalarSizeInBits() == 32;
    constexpr std::int64_t by_comparison = 4;  // the sign of the result
    constexpr std::int64_t as_is = 4;          // rounding
    llvm::Value* all = llvm::Constant::getAllOnesValue(e.ir.getIntNTy(std::max(8U, lanes)));
    Leaves args = {a, b, e.c32(by_comparison | (min ? 0 : 1)), llvm::Constant::getNullValue(type), all};
    if (bits == 512) args.push_back(e.c32(as_is));
    return e.ir.CreateIntrinsic(range_of(bits, is_single), {}, args);
}

/// `op` of `a` and `b` in vector registers: of scalars, and of more lanes than one register has.
static llvm::Value* in_registers(Emitter& e, llvm::Value* a, llvm::Value* b,
                                 llvm::function_ref<llvm::Value*(llvm::Value* a, llvm::Value* b)> op) {
    constexpr unsigned least = 128, most = 512;  // bits
    auto& ir = e.ir;
    const unsigned bits = a->getType()->getScalarSizeInBits();
    auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
    if (!lanes) {
        auto* type = llvm::FixedVectorType::get(a->getType(), least / bits);
        const auto first = [&](llvm::Value* v) {
            return ir.CreateInsertElement(llvm::PoisonValue::get(type), v, std::uint64_t(0));
        };
        return ir.CreateExtractElement(op(first(a), first(b)), std::uint64_t(0));
    }
    const unsigned n = lanes->getNumElements();
    if (n * bits <= most) return op(a, b);
    llvm::SmallVector<int> low, high, both;
    for (int k = 0; k < int(n); ++k) {
        (k < int(n / 2) ? low : high).push_back(k);
        both.push_back(k);
    }
    const auto half = [&](llvm::ArrayRef<int> of) {
        return in_registers(e, ir.CreateShuffleVector(a, of), ir.CreateShuffleVector(b, of), op);
    };
    return ir.CreateShuffleVector(half(low), half(high), both);
}

/// The lesser or the greater by instructions for that; null where there are none, or other ways take no more.
static llvm::Value* ranged(Emitter& e, bool min, llvm::Value* a, llvm::Value* b, bool quiet_a, bool quiet_b,
                           int others) {
    auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
    const unsigned bits = lanes ? lanes->getNumElements() * lanes->getScalarSizeInBits() : 128;
    if (!e.unit.target.ranges || bits < 128 || !std::has_single_bit(bits)) return nullptr;
    if (1 + !quiet_a + !quiet_b >= others) return nullptr;
    return in_registers(e, a, b, [&](llvm::Value* x, llvm::Value* y) {
        if (!quiet_a) x = ranged_register(e, min, x, x);
        if (!quiet_b) y = ranged_register(e, min, y, y);
        return ranged_register(e, min, x, y);
    });
}

// With one NaN the other operand. Where both are zeros, `b` is what `first_of` gives.
llvm::Value* float_min_max(Emitter& e, bool min, llvm::Value* a, llvm::Value* b) {
    if (is_plain_bound(min, b)) return first_of(e, min, a, b);
    if (is_plain_bound(min, a)) return first_of(e, min, b, a);
    const auto is_plus = [&](llvm::Value* v) { return is_never_minus_zero(e, v); };
    const bool right_last = min ? is_plus(a) : is_plus(b);
    const bool right_first = !right_last && (min ? is_plus(b) : is_plus(a));
    if (llvm::Value* r = ranged(e, min, a, b, is_quiet(a), is_quiet(b), right_last || right_first ? 3 : 6))
        return r;
    if (right_first) std::swap(a, b);
    return in_registers(e, a, b, [&](llvm::Value* x, llvm::Value* y) {  // where selecting takes no branch
        llvm::Value* r = e.ir.CreateSelect(e.ir.CreateFCmpUNO(y, y), x, first_of(e, min, x, y));
        return right_last || right_first ? r : with_zeros_in_order(e, min, x, y, r);
    });
}

// The same, with a branch for what one comparison does not tell: rounds that wait for `a` wait for no more than
// that. `a > b ? a : b` is `b` where both are zeros or one is NaN, which is wrong if `b` is -0.0 or NaN, and
// `b < a ? b : a` is `a` then, wrong if `b` is -0.0 or `a` NaN.
llvm::Value* float_min_max_by_branch(Emitter& e, bool min, llvm::Value* a, llvm::Value* b) {
    auto& ir = e.ir;
    llvm::Value* minus_zero = llvm::ConstantFP::getNegativeZero(b->getType());
    llvm::Type* bits = ir.getIntNTy(b->getType()->getScalarSizeInBits());
    // From a register: with the constant LLVM negates `b`, and asks whether that overflowed.
    llvm::Value* is_minus_zero =
        ir.CreateICmpEQ(ir.CreateBitCast(b, bits), e.opaque(ir.CreateBitCast(minus_zero, bits)));
    llvm::Value* other = min ? a : b;
    return e.emit_if(
        ir.CreateOr(ir.CreateFCmpUNO(other, other), is_minus_zero),
        [&]() -> Leaves { return {float_min_max(e, min, a, b)}; },
        [&]() -> Leaves { return {min ? first_of(e, min, b, a) : first_of(e, min, a, b)}; },
        llvm::MDBuilder(e.unit.ctx).createBranchWeights(1, 1 << 20))[0];
}

// Of others than zeros and NaN one comparison tells, whatever `a` is; and one tells whether `b` is such.
llvm::Value* float_min_max_of_others(Emitter& e, bool min, llvm::Value* a, llvm::Value* b) {
    if (e.unit.target.ranges) return float_min_max(e, min, a, b);
    return e.emit_if(
        e.ir.CreateFCmpUEQ(b, llvm::ConstantFP::get(b->getType(), 0.0)),
        [&]() -> Leaves { return {float_min_max(e, min, a, b)}; },
        [&]() -> Leaves { return {first_of(e, min, a, b)}; }, rarely(e.unit.ctx))[0];
}

llvm::Value* Emitter::merge_into(MergeOp op, Scalar s, llvm::Value* a, llvm::Value* b, bool number,
                                 bool both) {
    const bool min = op == MergeOp::Min;
    if (!number || !is_float(s) || (!min && op != MergeOp::Max)) return merge_op(op, s, a, b);
    const bool is_plus = is_never_minus_zero(*this, b);
    if (is_plus && !min) return ir.CreateSelect(ir.CreateFCmpOGE(b, a), b, a);
    if (!is_plus)
        if (llvm::Value* r = ranged(*this, min, a, b, true, both || is_quiet(b), 4)) return r;
    llvm::Value* r = first_of(*this, min, b, a);
    return is_plus ? r : with_zeros_in_order(*this, min, a, b, r);
}

}  // namespace weld::codegen
