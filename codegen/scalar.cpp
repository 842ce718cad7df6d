// Scalar operations, on one value or on lanes. What they compute is defined by weldir/ir/scalar.h.
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

#include "codegen/builders/tables.h"
#include "codegen/emit.h"
#include "codegen/lanes.h"
#include "codegen/min_max.h"
#include "weldir/ir/facts.h"

namespace weld::codegen {

/// `type` with the lanes of `like`.
static llvm::Type* laned(llvm::Type* type, llvm::Value* like) {
    auto* v = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
    return v ? llvm::FixedVectorType::get(type, v->getNumElements()) : type;
}

static llvm::Value* any_lane(llvm::IRBuilder<>& ir, llvm::Value* cond) {
    return cond->getType()->isVectorTy() ? ir.CreateOrReduce(cond) : cond;
}

static llvm::Value* min_max(Emitter& e, bool min, Scalar s, llvm::Value* a, llvm::Value* b) {
    if (is_float(s)) return float_min_max(e, min, a, b);
    using I = llvm::Intrinsic::ID;
    const I id = is_signed(s) ? (min ? I(llvm::Intrinsic::smin) : I(llvm::Intrinsic::smax))
                              : (min ? I(llvm::Intrinsic::umin) : I(llvm::Intrinsic::umax));
    return e.ir.CreateBinaryIntrinsic(id, a, b);
}

llvm::Value* Emitter::opaque(llvm::Value* x) {
    auto* type = llvm::FunctionType::get(x->getType(), {x->getType()}, false);
    llvm::CallInst* same = ir.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", false), {x});
    same->setDoesNotAccessMemory();
    same->setDoesNotThrow();
    same->addFnAttr(llvm::Attribute::WillReturn);
    return same;
}

/// 64 bits that are loaded, and not by the instruction that multiplies them with the inverse of a divisor, to 128 bits:
/// that form takes an AMD Zen 4 five times as long as the others.
static llvm::Value* in_register(Emitter& e, llvm::Value* v) {
    if (!llvm::isa<llvm::LoadInst>(v) || v->getType()->getScalarType() != e.unit.i64) return v;
    auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
    if (!lanes) return e.opaque(v);
    llvm::Value* all = llvm::PoisonValue::get(lanes);
    for (unsigned k = 0; k < lanes->getNumElements(); ++k)
        all = e.ir.CreateInsertElement(all, e.opaque(e.ir.CreateExtractElement(v, k)), k);
    return all;
}

/// What lanes of floats, whose numbers of i64 lie below 2^51, are as i64 and the other way round: with AVX2, which has no
/// instruction for it, their last bits behind 2^52 + 2^51 more.
static llvm::Value* by_last_bits(Emitter& e, llvm::Value* v) {
    auto& ir = e.ir;
    constexpr double more = 0x1.8p52;
    auto* of = llvm::cast<llvm::FixedVectorType>(v->getType());
    llvm::Type* bits = llvm::FixedVectorType::get(e.unit.i64, of->getNumElements());
    llvm::Type* floats = llvm::FixedVectorType::get(ir.getDoubleTy(), of->getNumElements());
    llvm::Constant* moved = llvm::ConstantFP::get(floats, more);
    llvm::Constant* as_bits = llvm::ConstantInt::get(bits, std::bit_cast<std::uint64_t>(more));
    if (of->getElementType()->isIntegerTy())
        return ir.CreateFSub(ir.CreateBitCast(ir.CreateAdd(v, as_bits), floats), moved);
    llvm::Value* whole = ir.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, v);
    return ir.CreateSub(ir.CreateBitCast(ir.CreateFAdd(whole, moved), bits), as_bits);
}

static llvm::Value* truncating(Emitter& e, bool division, bool with_sign, llvm::Value* a, llvm::Value* b) {
    if (with_sign) return division ? e.ir.CreateSDiv(a, b) : e.ir.CreateSRem(a, b);
    return division ? e.ir.CreateUDiv(a, b) : e.ir.CreateURem(a, b);
}

/// The divisor is the same in all rounds of the loop that is emitted, as far as that is easily seen.
static bool stays(const Emitter& e, const Expr* divisor) {
    return divisor &&
           (divisor->op == Op::Broadcast || (is_path(divisor) && e.captured.contains(base_of(divisor))));
}

/// 1 / `x`, or a little more. What is multiplied with it is not less than the quotient, since only the inverse is rounded
/// before. It does not reach the next integer where dividend and divisor are together less than 2^51, or of f32 2^22: the
/// quotient is less than that by 1 / divisor, and the product greater by one part in these, roundings included.
static llvm::Value* inverse(Emitter& e, llvm::Value* x) {
    const bool is_double = x->getType()->getScalarType()->isDoubleTy();
    constexpr double little = std::numeric_limits<double>::epsilon(),
                     little_of_float = std::numeric_limits<float>::epsilon();
    return e.ir.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1 + (is_double ? little : little_of_float)),
                           x);
}

/// Integers of 32 bits or fewer, divided as floats that are so much longer that rounding reaches no other integer. Machines
/// have no division of lanes of integers. If the divisor stays, they are multiplied with its inverse.
static llvm::Value* divided_as_floats(Emitter& e, bool division, Scalar s, llvm::Value* a, llvm::Value* b,
                                      bool by_inverse) {
    auto& ir = e.ir;
    const bool is_wide = size_of(s) == 4;
    llvm::Type* floats = laned(is_wide ? ir.getDoubleTy() : ir.getFloatTy(), a);
    const auto as_float = [&](llvm::Value* x) {
        return is_signed(s) ? ir.CreateSIToFP(x, floats) : ir.CreateUIToFP(x, floats);
    };
    llvm::Value *x = as_float(a), *y = as_float(b);
    llvm::Value* quotient = by_inverse ? ir.CreateFMul(x, inverse(e, y)) : ir.CreateFDiv(x, y);
    if (is_wide && !is_signed(s)) quotient = ir.CreateFPToUI(quotient, a->getType());
    else quotient = ir.CreateTrunc(ir.CreateFPToSI(quotient, laned(e.unit.i32, a)), a->getType());
    return division ? quotient : ir.CreateSub(a, ir.CreateMul(quotient, b));
}

/// Integers of 64 bits, of which nearly all are small: those as floats. If the divisor stays, they are multiplied with its
/// inverse.
static llvm::Value* divided_if_small(Emitter& e, bool division, bool with_sign, llvm::Value* a,
                                     llvm::Value* b, bool by_inverse) {
    auto& ir = e.ir;
    const bool is_vector = a->getType()->isVectorTy();
    const bool converts = e.unit.target.packs || !is_vector;
    // Of what is multiplied, dividends leave room for divisors.
    const std::uint64_t all = 1ull << 51, most_of_divisor = by_inverse ? 1ull << 47 : all;
    const auto number = [&](std::uint64_t x) { return llvm::ConstantInt::get(a->getType(), x); };
    const auto is_small = [&](llvm::Value* x, std::uint64_t most) {
        return with_sign ? ir.CreateICmpULT(ir.CreateAdd(x, number(most)), number(2 * most))
                         : ir.CreateICmpULT(x, number(most));
    };
    llvm::Type* floats = laned(ir.getDoubleTy(), a);
    const auto as_float = [&](llvm::Value* x) {
        return converts ? ir.CreateSIToFP(x, floats) : by_last_bits(e, x);
    };
    const auto as_integer = [&](llvm::Value* x) {
        return converts ? ir.CreateFPToSI(x, a->getType()) : by_last_bits(e, x);
    };
    const auto by_floats = [&]() -> Leaves {
        llvm::Value *x = as_float(a), *y = as_float(b);
        llvm::Value* z = by_inverse ? ir.CreateFMul(x, inverse(e, y)) : ir.CreateFDiv(x, y);
        if (division) return {as_integer(z)};
        if (!is_vector) return {ir.CreateSub(a, ir.CreateMul(as_integer(z), b))};
        // exact: no product is larger than `a`
        return {as_integer(
            ir.CreateFSub(x, ir.CreateFMul(ir.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, z), y)))};
    };
    const auto as_integers = [&]() -> Leaves {
        return {is_vector ? truncating(e, division, with_sign, in_register(e, a), b)
                          : truncating(e, division, with_sign, a, e.opaque(b))};
    };
    llvm::Value* are_small =
        ir.CreateAnd(is_small(a, by_inverse ? all - 2 * most_of_divisor : all), is_small(b, most_of_divisor));
    return e.emit_if(is_vector ? ir.CreateAndReduce(are_small) : are_small, by_floats, as_integers,
                     llvm::MDBuilder(e.unit.ctx).createBranchWeights(1 << 20, 1))[0];
}

/// `a / b` or `a % b`, where no divisor is 0, nor -1 unless that is known.
static llvm::Value* divided(Emitter& e, bool division, Scalar s, llvm::Value* a, llvm::Value* b,
                            const Literal& known, bool stays_same) {
    const Target& target = e.unit.target;
    const auto bits = known ? std::uint64_t(known.as_int()) : 0;
    const bool is_power = std::has_single_bit(is_signed(s) && known && known.as_int() < 0 ? 0 - bits : bits);
    if (is_power || (known && size_of(s) < 8)) return truncating(e, division, is_signed(s), a, b);
    const bool is_vector = a->getType()->isVectorTy();
    if (size_of(s) < 8 && (is_vector || stays_same))
        return divided_as_floats(e, division, s, a, b, stays_same);
    const bool are_lanes = is_vector && (target.packs || target.permutes);
    if (are_lanes || (!is_vector && !known && stays_same))
        return divided_if_small(e, division, is_signed(s), a, b, stays_same || known);
    if (known) return truncating(e, division, is_signed(s), in_register(e, a), b);
    // A divisor in memory takes an AMD Zen 4 several times as long, behind stores.
    return truncating(e, division, is_signed(s), a, is_vector ? b : e.opaque(b));
}

/// Truncating division or remainder; MIN / -1 is MIN, MIN % -1 is 0; zero divisors fail.
static llvm::Value* int_division(Emitter& e, bool division, Scalar s, llvm::Value* a, llvm::Value* b, Loc loc,
                                 const Expr* divisor) {
    auto& ir = e.ir;
    const bool stays_same = stays(e, divisor);
    if (divisor && divisor->op == Op::Broadcast) divisor = divisor->arg(0);
    const bool is_known = divisor && divisor->op == Op::Literal && divisor->attr.bits != 0;
    const Literal known = is_known ? divisor->as<Literal>() : Literal{};
    if (!known) {
        llvm::Value* zero = ir.CreateICmpEQ(b, llvm::Constant::getNullValue(b->getType()));
        const bool in_tail = e.tail.mask && e.tail.mask->getType() == zero->getType();
        e.fail_if(any_lane(ir, in_tail ? ir.CreateAnd(zero, e.tail.mask) : zero), kWeldDivisionByZero, loc);
        if (in_tail) b = ir.CreateSelect(zero, llvm::ConstantInt::get(b->getType(), 1), b);
    }
    if (!is_signed(s) || (known && known.as_int() != -1))
        return divided(e, division, s, a, b, known, stays_same);
    llvm::Value* minus = ir.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(b->getType()));
    llvm::Value* by = ir.CreateSelect(minus, llvm::ConstantInt::get(b->getType(), 1), b);
    llvm::Value* quotient = divided(e, division, s, a, by, {}, stays_same);
    return division ? ir.CreateSelect(minus, ir.CreateNeg(a), quotient) : quotient;  // x % 1 == 0 == x % -1
}

/// C's fmod. LLVM turns frem into a call of it.
static llvm::Value* remainder(Emitter& e, Scalar s, llvm::Value* a, llvm::Value* b, Loc loc,
                              const Expr* divisor) {
    return is_float(s) ? e.ir.CreateFRem(a, b) : int_division(e, false, s, a, b, loc, divisor);
}

// Numbers of a range, `first + 0, first + 1, ...` (kNumberedLanes), and one number for all lanes: the numbers of lanes, which
// are as narrow as the data are, are compared with how far it is from the first.
static llvm::Value* compare_places(Emitter& e, Op op, llvm::Value* a, llvm::Value* b) {
    auto& ir = e.ir;
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
    if (!type || type->getNumElements() < 16 || type->getNumElements() > 64) return nullptr;
    const unsigned n = type->getNumElements(), bits = 512 / n;
    if (!llvm::getSplatValue(b)) {
        std::swap(a, b);
        op = op == Op::Lt   ? Op::Gt
             : op == Op::Gt ? Op::Lt
             : op == Op::Le ? Op::Ge
             : op == Op::Ge ? Op::Le
                            : op;
    }
    llvm::Value* place = llvm::getSplatValue(b);
    auto* numbered = llvm::dyn_cast<llvm::Instruction>(a);
    if (!place || !numbered || !numbered->getMetadata(kNumberedLanes)) return nullptr;
    llvm::Value* first = llvm::getSplatValue(numbered->getOperand(0));
    llvm::Value* numbers = lane_numbers(e, n, bits);
    const auto in_each = [&](llvm::Value* x) {
        return ir.CreateVectorSplat(n, ir.CreateTrunc(x, ir.getIntNTy(bits)));
    };
    llvm::Value* distance = ir.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, place, first);
    if (op == Op::Eq || op == Op::Ne) {
        llvm::Value* inside = ir.CreateICmpULT(distance, e.c64(n));
        llvm::Value* lane = in_each(ir.CreateSelect(inside, distance, e.c64(n)));
        return op == Op::Eq ? ir.CreateICmpEQ(numbers, lane) : ir.CreateICmpNE(numbers, lane);
    }
    if (op == Op::Le || op == Op::Gt)
        distance = ir.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, distance, e.c64(1));
    distance = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, distance, e.c64(0));
    distance = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, distance, e.c64(n));
    const bool below = op == Op::Lt || op == Op::Le;
    return below ? ir.CreateICmpULT(numbers, in_each(distance))
                 : ir.CreateICmpUGE(numbers, in_each(distance));
}

static llvm::Value* compare(Emitter& e, Op op, Scalar s, llvm::Value* a, llvm::Value* b) {
    using P = llvm::CmpInst::Predicate;
    const auto predicate = [&](P of_floats, P of_signed, P of_unsigned) {
        return is_float(s) ? of_floats : is_signed(s) ? of_signed : of_unsigned;
    };
    const auto code = [&] {
        switch (op) {
            case Op::Eq: return predicate(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
            case Op::Ne: return predicate(P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE);
            case Op::Lt: return predicate(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
            case Op::Gt: return predicate(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
            case Op::Le: return predicate(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
            default: return predicate(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
        }
    };
    if (llvm::Value* mask = s == Scalar::I64 ? compare_places(e, op, a, b) : nullptr) return mask;
    return e.ir.CreateCmp(code(), a, b);
}

llvm::Value* Emitter::scalar_op(Op op, Scalar s, llvm::Value* a, llvm::Value* b, Loc loc,
                                const Expr* divisor) {
    const bool f = is_float(s);
    const auto count = [&] {  // shifts take the count modulo the width
        return ir.CreateAnd(b, llvm::ConstantInt::get(b->getType(), b->getType()->getScalarSizeInBits() - 1));
    };
    switch (op) {
        case Op::Add: return f ? ir.CreateFAdd(a, b) : ir.CreateAdd(a, b);
        case Op::Sub: return f ? ir.CreateFSub(a, b) : ir.CreateSub(a, b);
        case Op::Mul: return f ? ir.CreateFMul(a, b) : ir.CreateMul(a, b);
        case Op::Div: return f ? ir.CreateFDiv(a, b) : int_division(*this, true, s, a, b, loc, divisor);
        case Op::Rem: return remainder(*this, s, a, b, loc, divisor);
        case Op::BitAnd:
        case Op::And: return ir.CreateAnd(a, b);
        case Op::BitOr:
        case Op::Or: return ir.CreateOr(a, b);
        case Op::BitXor: return ir.CreateXor(a, b);
        case Op::Shl: return ir.CreateShl(a, count());
        case Op::Shr: return is_signed(s) ? ir.CreateAShr(a, count()) : ir.CreateLShr(a, count());
        case Op::Eq:
        case Op::Ne:
        case Op::Lt:
        case Op::Gt:
        case Op::Le:
        case Op::Ge: return compare(*this, op, s, a, b);
        case Op::Neg: return f ? ir.CreateFNeg(a) : ir.CreateNeg(a);
        case Op::Not:
        case Op::BitNot: return ir.CreateNot(a);
        case Op::Min: return min_max(*this, true, s, a, b);
        case Op::Max: return min_max(*this, false, s, a, b);
        case Op::Sqrt: return ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
        default: return math_call(op, s, a, b);
    }
}

// Vector routines of the runtime take exactly one register. A scalar is lane 0 of a register that holds it in
// every lane, so that scalar and simd programs get the same bits.
llvm::Value* Emitter::math_call(Op op, Scalar s, llvm::Value* a, llvm::Value* b) {
    const unsigned width = unit.target.register_bytes / unsigned(size_of(s));
    auto* type = llvm::FixedVectorType::get(unit.lower(s), width);
    const std::string name = std::string("weld_vm_") + info(op).text +
                             (s == Scalar::F32 ? "_f32_" : "_f64_") + unit.target.routines;
    std::vector<llvm::Type*> params(b ? 2 : 1, type);
    auto routine = unit.external(name, llvm::FunctionType::get(type, params, false));
    llvm::cast<llvm::Function>(routine.getCallee())->setDoesNotThrow();
    llvm::cast<llvm::Function>(routine.getCallee())->setDoesNotAccessMemory();

    auto* vec = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
    const unsigned n = vec ? vec->getNumElements() : 1;
    const auto piece = [&](llvm::Value* v,
                           unsigned from) {  // lanes [from, from + width) of v, the last one repeated
        if (!vec) return ir.CreateVectorSplat(width, v);
        if (n == width) return v;
        llvm::SmallVector<int, 64> mask;
        for (unsigned k = 0; k < width; ++k) mask.push_back(int(std::min(from + k, n - 1)));
        return ir.CreateShuffleVector(v, mask);
    };
    Leaves pieces;
    for (unsigned from = 0; from < n; from += width) {
        std::vector<llvm::Value*> args = {piece(a, from)};
        if (b) args.push_back(piece(b, from));
        pieces.push_back(ir.CreateCall(routine, args));
    }
    if (!vec) return ir.CreateExtractElement(pieces[0], std::uint64_t(0));
    llvm::Value* all = llvm::concatenateVectors(ir, pieces);
    if (n % width == 0) return all;
    llvm::SmallVector<int, 64> first(n);
    std::iota(first.begin(), first.end(), 0);
    return ir.CreateShuffleVector(all, first);
}

#if defined(__x86_64__)
/// A float as an i64, in one instruction: the least number for those out of range, and NaN.
static llvm::Value* converted(Emitter& e, llvm::Value* v) {
    auto& ir = e.ir;
    const bool is_double = v->getType()->isDoubleTy();
    auto* lanes = llvm::FixedVectorType::get(v->getType(), is_double ? 2 : 4);
    llvm::Value* lane = ir.CreateInsertElement(llvm::PoisonValue::get(lanes), v, std::uint64_t(0));
    const auto id = is_double ? llvm::Intrinsic::x86_sse2_cvttsd2si64 : llvm::Intrinsic::x86_sse_cvttss2si64;
    return ir.CreateIntrinsic(id, {}, {lane});
}
#endif

/// A scalar float as an integer, saturated.
static llvm::Value* saturated_scalar(Emitter& e, llvm::Value* v, Scalar to, llvm::Type* type) {
    auto& ir = e.ir;
    const bool with_sign = is_signed(to);
    const auto id = with_sign ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    const auto exactly = [&]() -> Leaves { return {ir.CreateIntrinsic(id, {type, v->getType()}, {v})}; };
#if defined(__x86_64__)
    if (to != Scalar::U64) {
        llvm::Value* wide = converted(e, v);
        llvm::Value* narrow = ir.CreateTrunc(wide, type);
        llvm::Value* back = with_sign ? ir.CreateSExt(narrow, e.unit.i64) : ir.CreateZExt(narrow, e.unit.i64);
        llvm::Value* is_other =
            to == Scalar::I64 ? ir.CreateICmpEQ(wide, e.c64(INT64_MIN)) : ir.CreateICmpNE(back, wide);
        return e.emit_if(
            is_other, exactly, [&]() -> Leaves { return {narrow}; },
            llvm::MDBuilder(e.unit.ctx).createBranchWeights(1, 1 << 20))[0];
    }
#endif
    return exactly()[0];
}

/// Lanes of floats that hold all numbers of `to` exactly: they are cut to those beforehand, at their own width. What becomes 0
/// (NaN, and unsigned what is negative) does so there or, where masks cost little, in the end: bytes of narrowed lanes are stored
/// in one instruction otherwise, which takes twice as long as two.
static llvm::Value* cut_and_converted(Emitter& e, llvm::Value* v, Scalar to, llvm::Type* type) {
    auto& ir = e.ir;
    const bool with_sign = is_signed(to), in_the_end = e.unit.target.packs && size_of(to) == 1;
    const auto number = [&](double x) { return llvm::ConstantFP::get(v->getType(), x); };
    const double end = std::ldexp(1.0, 8 * size_of(to) - with_sign);
    llvm::Value *zero = number(0.0), *least = number(with_sign ? -end : 0.0), *most = number(end - 1);
    llvm::Value* counts = with_sign ? ir.CreateFCmpORD(v, v) : ir.CreateFCmpOGT(v, zero);
    llvm::Value* cut = in_the_end ? v : ir.CreateSelect(counts, v, zero);
    if (with_sign) cut = ir.CreateSelect(ir.CreateFCmpOGT(cut, least), cut, least);
    cut = ir.CreateSelect(ir.CreateFCmpOLT(cut, most), cut, most);
    if (to == Scalar::U32) return ir.CreateFPToUI(cut, type);
    llvm::Value* there = ir.CreateTrunc(ir.CreateFPToSI(cut, laned(e.unit.i32, v)), type);
    return in_the_end ? ir.CreateSelect(counts, there, llvm::Constant::getNullValue(type)) : there;
}

/// Floats to integers: out of range saturates, NaN gives 0. LLVM has an intrinsic for it, which takes lanes
/// one by one, so of lanes those are converted that are in range, and the others chosen afterwards.
static llvm::Value* saturated_lanes(Emitter& e, llvm::Value* v, Scalar to, llvm::Type* type) {
    auto& ir = e.ir;
    const bool with_sign = is_signed(to);
    const unsigned bits = type->getScalarSizeInBits(), magnitude = with_sign ? bits - 1 : bits;
    if (magnitude <= unsigned(v->getType()->getScalarType()->getFPMantissaWidth()) && bits <= 32)
        return cut_and_converted(e, v, to, type);
    const auto least = with_sign ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt(bits, 0);
    const auto most = with_sign ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
    const double end = std::ldexp(1.0, int(magnitude));  // the first that is too large; exact
    llvm::Value* zero = llvm::ConstantFP::get(v->getType(), 0.0);
    llvm::Value* from = llvm::ConstantFP::get(v->getType(), with_sign ? -end : 0.0);
    llvm::Value* enough = ir.CreateFCmpOGE(v, from);
    llvm::Value* too_large = ir.CreateFCmpOGE(v, llvm::ConstantFP::get(v->getType(), end));
    llvm::Value* inside = ir.CreateAnd(enough, ir.CreateNot(too_large));
    llvm::Value* in_range = ir.CreateSelect(inside, v, zero);
    llvm::Value* there = with_sign ? ir.CreateFPToSI(in_range, type) : ir.CreateFPToUI(in_range, type);
    there = ir.CreateSelect(too_large, llvm::ConstantInt::get(type, most), there);
    if (!with_sign) return there;
    return ir.CreateSelect(ir.CreateFCmpOLT(v, from), llvm::ConstantInt::get(type, least), there);
}

/// Lanes of f64 as i64 with AVX2, which has no instruction for it, so that LLVM takes them one by one; nearly all are small.
static llvm::Value* mostly_small(Emitter& e, llvm::Value* v, llvm::Type* type) {
    auto& ir = e.ir;
    llvm::Value* size = ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
    llvm::Value* small = ir.CreateFCmpOLT(size, llvm::ConstantFP::get(v->getType(), 0x1p51));
    return e.emit_if(
        ir.CreateAndReduce(small), [&]() -> Leaves { return {by_last_bits(e, v)}; },
        [&]() -> Leaves { return {saturated_lanes(e, v, Scalar::I64, type)}; },
        llvm::MDBuilder(e.unit.ctx).createBranchWeights(1 << 20, 1))[0];
}

static llvm::Value* saturated(Emitter& e, llvm::Value* v, Scalar to, llvm::Type* type) {
    if (!v->getType()->isVectorTy()) return saturated_scalar(e, v, to, type);
    if (to == Scalar::I64 && e.unit.target.permutes && !e.unit.target.packs) {
        llvm::Type* wide = laned(e.unit.lower(Scalar::F64), v);
        return mostly_small(e, v->getType() == wide ? v : e.ir.CreateFPExt(v, wide), type);
    }
    return saturated_lanes(e, v, to, type);
}

llvm::Value* Emitter::emit_cast(llvm::Value* v, Scalar from, Scalar to) {
    if (from == to) return v;
    llvm::Type* type = laned(unit.lower(to), v);
    if (to == Scalar::Bool)
        return is_float(from) ? ir.CreateFCmpUNE(v, llvm::ConstantFP::get(v->getType(), 0.0))
                              : ir.CreateIsNotNull(v);
    if (is_float(from)) {
        return is_float(to) ? ir.CreateFPCast(v, type) : saturated(*this, v, to, type);
    }
    if (is_float(to)) return is_signed(from) ? ir.CreateSIToFP(v, type) : ir.CreateUIToFP(v, type);
    return is_signed(from) ? ir.CreateSExtOrTrunc(v, type) : ir.CreateZExtOrTrunc(v, type);
}

/// i32: how the runtime orders `a` and `b`.
static llvm::Value* order_by_runtime(Emitter& e, const Type* t, const Leaves& a, const Leaves& b, Loc loc) {
    llvm::Value* order =
        e.call("weld_rt_compare", {e.task, e.unit.describe(t), e.spill(t, a), e.spill(t, b)});
    if (t->holds_pointer) e.stop_check(loc);  // it may not have looked at all
    return order;
}

/// Numbers in the order of two strings of bytes: of their first sixteen, or all of the shorter, of which there are `count`, in
/// words that lie over one another if need be.
static Leaves ordered_numbers(Emitter& e, bool is_signed, llvm::Value* a, llvm::Value* b,
                              llvm::Value* count) {
    auto& ir = e.ir;
    const auto number_at = [&](unsigned bits, llvm::Value* data, llvm::Value* at) {
        llvm::Type* type = ir.getIntNTy(bits);
        llvm::Value* word = ir.CreateAlignedLoad(type, ir.CreateGEP(e.unit.i8, data, at), llvm::Align(1));
        if (bits > 8) word = ir.CreateUnaryIntrinsic(llvm::Intrinsic::bswap, word);
        if (is_signed) word = ir.CreateXor(word, llvm::APInt::getSplat(bits, llvm::APInt::getSignMask(8)));
        return ir.CreateZExt(word, e.unit.i64);
    };
    const auto last = [&](std::int64_t bytes) { return ir.CreateSub(count, e.c64(bytes)); };
    const auto of_both = [&](const auto& number) -> Leaves { return {number(a), number(b)}; };
    const auto words = [&]() -> Leaves {
        llvm::Value* second = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, last(8), e.c64(8));
        const Leaves x = of_both([&](llvm::Value* s) { return number_at(64, s, e.c64(0)); });
        const Leaves y = of_both([&](llvm::Value* s) { return number_at(64, s, second); });
        llvm::Value* differ = ir.CreateICmpNE(x[0], x[1]);
        return {ir.CreateSelect(differ, x[0], y[0]), ir.CreateSelect(differ, x[1], y[1])};
    };
    const auto halves = [&] {
        return of_both([&](llvm::Value* s) {
            return ir.CreateOr(ir.CreateShl(number_at(32, s, e.c64(0)), 32), number_at(32, s, last(4)));
        });
    };
    const auto bytes = [&] {
        return of_both([&](llvm::Value* s) {
            llvm::Value* number = e.c64(0);
            for (llvm::Value* at : Leaves{e.c64(0), ir.CreateLShr(count, 1), last(1)})
                number = ir.CreateOr(ir.CreateShl(number, 8), number_at(8, s, at));
            return number;
        });
    };
    const auto none = [&]() -> Leaves { return {e.c64(0), e.c64(0)}; };
    const auto are = [&](std::int64_t most) { return ir.CreateICmpSGT(count, e.c64(most)); };
    const auto few = [&] { return e.emit_if(are(0), bytes, none); };
    const auto some = [&] { return e.emit_if(are(3), halves, few); };
    return e.emit_if(are(7), words, some);
}

/// The same; of strings of integers, the runtime is asked for what follows first elements that are equal.
static llvm::Value* order_of(Emitter& e, const Type* t, const Leaves& a, const Leaves& b, Loc loc) {
    auto& ir = e.ir;
    const auto by_runtime = [&]() -> Leaves { return {order_by_runtime(e, t, a, b, loc)}; };
    if (!t->is_vec() || !t->elem()->is_scalar() || !is_integer(t->elem()->scalar)) return by_runtime()[0];
    const Scalar elem = t->elem()->scalar;
    const auto order = [&](llvm::Value* is_less) -> Leaves {
        return {ir.CreateSelect(is_less, e.c32(-1), e.c32(1))};
    };
    llvm::Value* least = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a[1], b[1]);
    if (size_of(elem) == 1) {
        const Leaves n = ordered_numbers(e, is_signed(elem), a[0], b[0], least);
        const auto by_number = [&] { return order(ir.CreateICmpULT(n[0], n[1])); };
        const auto by_length = [&]() -> Leaves {
            llvm::Value* unequal = order(ir.CreateICmpSLT(a[1], b[1]))[0];
            return {ir.CreateSelect(ir.CreateICmpEQ(a[1], b[1]), e.c32(0), unequal)};
        };
        const auto by_rest = [&] {
            return e.emit_if(ir.CreateICmpSLE(least, e.c64(16)), by_length, by_runtime);
        };
        return e.emit_if(ir.CreateICmpNE(n[0], n[1]), by_number, by_rest)[0];
    }
    const auto by_first = [&] {
        llvm::Value *x = e.load(t->elem(), a[0])[0], *y = e.load(t->elem(), b[0])[0];
        llvm::Value* is_less = compare(e, Op::Lt, elem, x, y);
        return e.emit_if(ir.CreateICmpNE(x, y), [&] { return order(is_less); }, by_runtime);
    };
    return e.emit_if(ir.CreateICmpSGT(least, e.c64(0)), by_first, by_runtime)[0];
}

/// i1: `a` and `b` are equal. Structs are compared field by field, vectors only if they have the same length; the
/// runtime looks at what is long.
static llvm::Value* equal(Emitter& e, const Type* t, const Leaves& a, const Leaves& b, Loc loc) {
    auto& ir = e.ir;
    const auto by_runtime = [&] { return ir.CreateICmpEQ(order_by_runtime(e, t, a, b, loc), e.c32(0)); };
    if (t->is_lanes()) return compare(e, Op::Eq, t->scalar, a[0], b[0]);
    if (t->is_vec()) {
        const Type* elem = t->elem();
        if (elem->is_scalar() && is_integer(elem->scalar)) return equal_strings(e, t, a, b, by_runtime);
        return e.emit_if(
            ir.CreateICmpEQ(a[1], b[1]), [&]() -> Leaves { return {by_runtime()}; },
            [&]() -> Leaves { return {ir.getFalse()}; })[0];
    }
    constexpr int most_leaves = 16;
    if (!t->is_struct() || t->holds_simd || e.num_leaves(t) > most_leaves) return by_runtime();
    llvm::Value* all = ir.getTrue();
    std::ptrdiff_t leaf = 0;
    for (const Type* field : t->args) {
        const auto part = [&](const Leaves& of) {
            return Leaves(of.begin() + leaf, of.begin() + leaf + e.num_leaves(field));
        };
        const auto is_equal = [&] { return equal(e, field, part(a), part(b), loc); };
        if (field->is_scalar()) all = ir.CreateAnd(all, is_equal());
        else
            all = e.emit_if(
                all, [&]() -> Leaves { return {is_equal()}; },
                [&]() -> Leaves { return {ir.getFalse()}; })[0];
        leaf += e.num_leaves(field);
    }
    return all;
}

llvm::Value* Emitter::compare_values(Op op, const Type* t, const Leaves& a, const Leaves& b, Loc loc) {
    if (t->is_lanes()) return compare(*this, op, t->scalar, a[0], b[0]);
    if (op == Op::Eq) return equal(*this, t, a, b, loc);
    if (op == Op::Ne) return ir.CreateNot(equal(*this, t, a, b, loc));
    llvm::Value* order = order_of(*this, t, a, b, loc);
    switch (op) {
        case Op::Lt: return ir.CreateICmpEQ(order, c32(-1));
        case Op::Gt: return ir.CreateICmpEQ(order, c32(1));
        case Op::Le: return ir.CreateICmpSLE(order, c32(0));
        default: return ir.CreateICmpULE(order, c32(1));
    }
}

/// `&&` and `||`: the right side runs only if it must; of lanes, in any case.
static llvm::Value* lazily(Emitter& e, const Expr* x) {
    const bool is_and = x->op == Op::And;
    llvm::Value* left = e.emit1(x->arg(0));
    if (x->type->is_simd()) {
        llvm::Value* right = e.emit1(x->arg(1));
        return is_and ? e.ir.CreateAnd(left, right) : e.ir.CreateOr(left, right);
    }
    const auto right = [&] { return e.emit(x->arg(1)); };
    const auto known = [&]() -> Leaves { return {e.ir.getInt1(!is_and)}; };
    return is_and ? e.emit_if(left, right, known)[0] : e.emit_if(left, known, right)[0];
}

llvm::Value* Emitter::is_needed(const Expr* e, llvm::Value* lanes) {
    llvm::Value* any = ir.CreateOrReduce(lanes);
    const Annotation* often = e->annotation(AttrKey::Often);
    if (!often) return any;
    llvm::Value*& rounds = needed_rounds[e];  // a bit for each of the last ones
    if (!rounds) {
        rounds = slot(8, 8);
        llvm::IRBuilder<> first(llvm::cast<llvm::Instruction>(rounds)->getNextNode());
        first.CreateStore(c64(0), rounds);
    }
    llvm::Value* last = ir.CreateAlignedLoad(unit.i64, rounds, llvm::Align(8));
    ir.CreateAlignedStore(ir.CreateOr(ir.CreateShl(last, 1), ir.CreateZExt(any, unit.i64)), rounds,
                          llvm::Align(8));
    llvm::Value* count = ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, last);
    llvm::Value* needed = ir.CreateOr(any, ir.CreateICmpUGE(count, c64(often->number)));
    return ir.CreateIsNotNull(opaque(ir.CreateZExt(needed, unit.i32)));  // or it would be two branches
}

Leaves Emitter::emit_scalar_op(const Expr* e) {
    if (e->op == Op::And || e->op == Op::Or) return {lazily(*this, e)};
    const Type* t = e->arg(0)->type;
    const Leaves a = emit(e->arg(0));
    if (e->says(AttrKey::Branch, true) && (e->op == Op::Min || e->op == Op::Max))
        return {float_min_max_by_branch(*this, e->op == Op::Min, a[0], emit1(e->arg(1)))};
    if (e->says(AttrKey::Branch, true)) {
        llvm::Value* open = is_needed(e, e->op == Op::BitAnd ? a[0] : ir.CreateNot(a[0]));
        const auto both = [&]() -> Leaves {
            return {scalar_op(e->op, t->scalar, a[0], emit1(e->arg(1)), e->loc)};
        };
        return emit_if(open, both, [&] { return a; });
    }
    if (e->num_args == 1) return {scalar_op(e->op, t->scalar, a[0], nullptr, e->loc)};
    const Leaves b = emit(e->arg(1));
    if (is_comparison(e->op)) return {compare_values(e->op, t, a, b, e->loc)};
    return {scalar_op(e->op, t->scalar, a[0], b[0], e->loc, e->arg(1))};
}

}  // namespace weld::codegen
