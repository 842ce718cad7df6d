#include "codegen/strided.h"

#include <algorithm>
#include <cstdlib>

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/MDBuilder.h>

#include "codegen/lanes.h"

namespace weld::codegen {

/// The same of one register: what lies between is read as a register for each element of the stride, of which
/// the last ends with the last element.
static llvm::Value* load_register(Emitter& e, llvm::FixedVectorType* type, llvm::Value* lowest,
                                  std::int64_t stride) {
    const std::int64_t n = type->getNumElements(), by = std::abs(stride), span = (n - 1) * by + 1;
    const llvm::Align align{type->getScalarSizeInBits() / 8};
    llvm::Value* found = nullptr;
    for (std::int64_t part = 0; part * n < span; ++part) {
        const std::int64_t begin = std::min(part * n, span - n);
        llvm::Value* from = e.ir.CreateGEP(type->getElementType(), lowest, e.c64(begin));
        llvm::Value* read = e.ir.CreateAlignedLoad(type, from, align);
        if (stride == 1) return read;
        llvm::SmallVector<int, 64> mask;
        for (std::int64_t k = 0; k < n; ++k) {
            const std::int64_t at = (stride > 0 ? k : n - 1 - k) * by;
            const bool is_here = at >= part * n;  // those of later registers are put over it
            mask.push_back(part == 0 ? int(std::min(at, n - 1))
                                     : int(is_here ? n + std::min(at - begin, n - 1) : k));
        }
        found = found ? e.ir.CreateShuffleVector(found, read, mask) : e.ir.CreateShuffleVector(read, mask);
    }
    return found;
}

llvm::Value* load_strided(Emitter& e, llvm::FixedVectorType* type, llvm::Value* lowest, std::int64_t stride) {
    const unsigned n = type->getNumElements(), bytes = type->getScalarSizeInBits() / 8;
    const unsigned each = std::min(n, e.unit.target.register_bytes / bytes);
    if (n % each) return load_register(e, type, lowest, stride);
    auto* one = llvm::FixedVectorType::get(type->getElementType(), each);
    Leaves all;
    for (unsigned first = 0; first < n; first += each) {
        const unsigned before = stride > 0 ? first : n - first - each;
        llvm::Value* from = e.ir.CreateGEP(type->getElementType(), lowest, e.c64(before * std::abs(stride)));
        all.push_back(load_register(e, one, from, stride));
    }
    return llvm::concatenateVectors(e.ir, all);
}

/// `k` as lanes and a constant more.
static std::pair<llvm::Value*, std::int64_t> base_of(llvm::Value* k) {
    const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(k);
    if (!sum || sum->getOpcode() != llvm::Instruction::Add) return {k, 0};
    const auto* more = llvm::dyn_cast_or_null<llvm::ConstantInt>(llvm::getSplatValue(sum->getOperand(1)));
    return more ? std::pair(sum->getOperand(0), more->getSExtValue()) : std::pair(k, std::int64_t(0));
}

/// Elements `from`, `from + stride`, ... of `registers`, which hold `stride` times as many as `type` has.
static llvm::Value* picked(Emitter& e, llvm::FixedVectorType* type, llvm::ArrayRef<llvm::Value*> registers,
                           std::int64_t stride, std::int64_t from) {
    const std::int64_t n = type->getNumElements();
    llvm::Value* found = nullptr;
    for (std::int64_t r = 0; r < stride; ++r) {
        llvm::SmallVector<int, 64> mask;
        for (std::int64_t lane = 0; lane < n; ++lane) {
            const std::int64_t at = from + lane * stride - r * n;
            if (at >= 0 && at < n) mask.push_back(int(found ? n + at : at));
            else mask.push_back(found ? int(lane) : llvm::PoisonMaskElem);
        }
        found = found ? e.ir.CreateShuffleVector(found, registers[std::size_t(r)], mask)
                      : e.ir.CreateShuffleVector(registers[std::size_t(r)], mask);
    }
    return found;
}

/// All of a read that begins at `lowest`, for which there may be too few elements: those that are not there are 0.
static Leaves read_some(Emitter& e, const StridedRead& read, const Leaves& vec, llvm::Value* lowest,
                        std::int64_t count) {
    auto& ir = e.ir;
    auto* type = llvm::cast<llvm::FixedVectorType>(read.type);
    const std::int64_t bytes = type->getScalarSizeInBits() / 8, each = type->getNumElements();
    const llvm::Align align{std::uint64_t(bytes)};
    const auto address = [&](llvm::Value* base, llvm::Value* k) {
        return ir.CreateGEP(type->getElementType(), base, k);
    };
    llvm::Value* room = e.slot(count * each * bytes, kLaneBytes);
    ir.CreateMemSet(room, ir.getInt8(0), std::uint64_t(count * each * bytes), llvm::Align(kLaneBytes));
    llvm::Value* from = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, lowest, e.c64(0));
    llvm::Value* end = ir.CreateAdd(lowest, e.c64(count * each));
    end = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, vec[1]);
    ir.CreateMemCpy(address(room, ir.CreateSub(from, lowest)), align, address(vec[0], from), align,
                    ir.CreateMul(ir.CreateSub(end, from), e.c64(bytes)));
    Leaves all;
    for (std::int64_t r = 0; r < count; ++r) {
        llvm::LoadInst* loaded = ir.CreateLoad(type, e.address(room, r * each * bytes));
        loaded->setVolatile(true);  // or LLVM would join it with those of what is all there
        all.push_back(loaded);
    }
    return all;
}

llvm::Value* lookup_strided(Emitter& e, llvm::FixedVectorType* type, LookupLanes l, const Leaves& vec,
                            llvm::Value* k) {
    auto& ir = e.ir;
    const std::int64_t stride = l.node->annotation(AttrKey::Apart)->number, n = type->getNumElements();
    const std::int64_t bytes = type->getScalarSizeInBits() / 8;
    const std::int64_t each = std::min(n, std::int64_t(e.unit.target.register_bytes) / bytes);
    auto* one = llvm::FixedVectorType::get(type->getElementType(), unsigned(each));
    const std::int64_t count = stride * n / each;  // registers
    llvm::Value *first = lane_of_sum(e, k, 0), *last = lane_of_sum(e, k, unsigned(n - 1));
    // Away from what the loop counts with, for which LLVM would have more names.
    const auto fail_outside = [&](llvm::Value* at) {
        llvm::Value* far = ir.CreateAdd(at, e.c64((n - 1) * stride));
        llvm::Value* is_first = ir.CreateICmpUGE(at, vec[1]);
        llvm::Value* steps = ir.CreateAdd(ir.CreateSub(vec[1], at), e.c64(stride - 1));
        llvm::Value* next =
            ir.CreateAdd(at, ir.CreateMul(ir.CreateUDiv(steps, e.c64(stride)), e.c64(stride)));
        e.fail_if(ir.CreateOr(is_first, ir.CreateICmpUGE(far, vec[1])), kWeldArrayOutOfBounds, l.node->loc,
                  ir.CreateSelect(is_first, at, next), vec[1]);
    };
    const auto [base, offset] = base_of(k);
    const std::int64_t behind = (offset % stride + stride) % stride;  // the first element that is read
    const StridedRead wanted = {vec[0], base, one, offset - behind, stride, {}, nullptr};
    auto read = std::ranges::find_if(e.strided_reads, [&](const StridedRead& r) { return r.covers(wanted); });
    if (read != e.strided_reads.end()) {
        e.unlikely(ir.CreateNot(read->all_inside), [&] { fail_outside(e.opaque(first)); });
    } else {
        llvm::Value* lowest = ir.CreateSub(first, e.c64(behind));
        llvm::Value* highest = ir.CreateAdd(last, e.c64(stride - 1 - behind));
        const auto all_there = [&] {
            llvm::Value* from = ir.CreateGEP(type->getElementType(), vec[0], lowest);
            const Annotation* ahead = l.node->annotation(AttrKey::Stream);
            if (ahead && !e.unit.target.follows_streams) e.prefetch(e.address(from, ahead->number));
            Leaves all;
            for (std::int64_t r = 0; r < count; ++r)
                all.push_back(ir.CreateAlignedLoad(one, e.address(from, r * each * bytes),
                                                   llvm::Align(std::uint64_t(bytes))));
            all.push_back(ir.getTrue());
            return all;
        };
        const auto some_there = [&] {
            llvm::Value* at = e.opaque(first);
            fail_outside(at);
            Leaves all = read_some(e, wanted, vec, ir.CreateSub(at, e.c64(behind)), count);
            all.push_back(ir.getFalse());
            return all;
        };
        llvm::Value* inside =
            ir.CreateAnd(ir.CreateICmpULT(lowest, vec[1]), ir.CreateICmpULT(highest, vec[1]));
        Leaves found = e.emit_if(inside, all_there, some_there,
                                 llvm::MDBuilder(e.unit.ctx).createBranchWeights(1 << 20, 1));
        e.strided_reads.push_back(wanted);
        read = e.strided_reads.end() - 1;
        read->all_inside = found.pop_back_val();
        read->registers = found;
    }
    Leaves parts;
    for (std::int64_t r = 0; r < count; r += stride) {
        const auto of_part = llvm::ArrayRef(read->registers).slice(std::size_t(r), std::size_t(stride));
        parts.push_back(picked(e, one, of_part, stride, behind));
    }
    return llvm::concatenateVectors(ir, parts);
}

}  // namespace weld::codegen
