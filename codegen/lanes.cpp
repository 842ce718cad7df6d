// What is done with lanes besides arithmetic.
#include "codegen/lanes.h"

#include <algorithm>
#include <cstdlib>

#include <llvm/Analysis/VectorUtils.h>

namespace weld::codegen {

llvm::Constant* lane_numbers(Emitter& e, unsigned n, unsigned bits) {
    llvm::SmallVector<llvm::Constant*> all;
    for (unsigned k = 0; k < n; ++k) all.push_back(e.ir.getIntN(bits, k));
    return llvm::ConstantVector::get(all);
}

llvm::Value* fold_lanes(Emitter& e, MergeOp op, Scalar s, llvm::Value* v, bool numbers) {
    unsigned n = llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements();
    while (n > 2 && n % 2 == 0) {
        n /= 2;
        llvm::SmallVector<int, 64> low, high;
        for (unsigned k = 0; k < n; ++k) {
            low.push_back(int(k));
            high.push_back(int(k + n));
        }
        v = e.merge_into(op, s, e.ir.CreateShuffleVector(v, low), e.ir.CreateShuffleVector(v, high), numbers,
                         numbers);
    }
    llvm::Value* sum = e.ir.CreateExtractElement(v, std::uint64_t(0));
    for (unsigned k = 1; k < n; ++k)
        sum = e.merge_into(op, s, sum, e.ir.CreateExtractElement(v, std::uint64_t(k)), numbers, numbers);
    return sum;
}

Leaves lane(Emitter& e, const Leaves& v, std::uint64_t k) {
    Leaves one;
    for (llvm::Value* x : v) one.push_back(x->getType()->isVectorTy() ? e.ir.CreateExtractElement(x, k) : x);
    return one;
}

llvm::Value* lane_of_sum(Emitter& e, llvm::Value* v, unsigned k) {
    if (llvm::Value* same = llvm::getSplatValue(v)) return same;
    auto* of = llvm::dyn_cast<llvm::BinaryOperator>(v);
    if (!of) return e.ir.CreateExtractElement(v, std::uint64_t(k));
    return e.ir.CreateBinOp(of->getOpcode(), lane_of_sum(e, of->getOperand(0), k),
                            lane_of_sum(e, of->getOperand(1), k));
}

/// The lanes of `mask`, which are `tail.count` from lane `first` on, of what begins at `lowest`.
static llvm::Value* load_some(Emitter& e, llvm::FixedVectorType* type, llvm::Value* lowest,
                              llvm::Value* first, llvm::Value* mask) {
    const unsigned bytes = type->getScalarSizeInBits() / 8;
    llvm::Value* none = llvm::Constant::getNullValue(type);
    if (e.unit.target.has_masks(bytes, type->getNumElements())) {
        llvm::Value* from = e.ir.CreateGEP(type->getElementType(), lowest, e.ir.CreateNeg(first));
        return e.ir.CreateMaskedLoad(type, from, llvm::Align(bytes), mask, none);
    }
    // Where the whole lanes lie in the page of the machine in which the elements begin, reading them is safe.
    constexpr std::int64_t page = 4096;
    const std::int64_t all = std::int64_t(bytes) * type->getNumElements();
    llvm::Value* before = e.ir.CreateMul(first, e.c64(bytes));
    llvm::Value* in_page = e.ir.CreateAnd(e.ir.CreatePtrToInt(lowest, e.unit.i64), std::uint64_t(page - 1));
    llvm::Value* begin = e.ir.CreateSub(in_page, before);
    const auto whole = [&]() -> Leaves {
        llvm::Value* from = e.ir.CreateGEP(e.unit.i8, lowest, e.ir.CreateNeg(before));
        llvm::Value* read = e.ir.CreateAlignedLoad(type, from, llvm::Align(bytes));
        return {e.ir.CreateSelect(mask, read, none)};
    };
    const auto copied = [&]() -> Leaves {
        llvm::Value* room = e.slot(all, kLaneBytes);
        e.ir.CreateStore(none, room);
        e.ir.CreateMemCpy(e.ir.CreateGEP(type->getElementType(), room, first), llvm::Align(bytes), lowest,
                          llvm::Align(bytes), e.ir.CreateMul(e.tail.count, e.c64(bytes)));
        return {e.ir.CreateLoad(type, room)};
    };
    return e.emit_if(e.ir.CreateICmpULE(begin, e.c64(page - all)), whole, copied)[0];
}

llvm::Value* load_rest(Emitter& e, llvm::FixedVectorType* type, llvm::Value* lowest) {
    return load_some(e, type, lowest, e.c64(0), e.tail.mask);
}

llvm::Value* load_rest_down(Emitter& e, llvm::FixedVectorType* type, llvm::Value* lowest) {
    const unsigned n = type->getNumElements();
    llvm::Value* others = e.ir.CreateSub(e.c64(n), e.tail.count);
    llvm::Value* mask = nullptr;
    if (e.unit.target.packs) {
        auto* bits = llvm::IntegerType::get(e.unit.ctx, n);
        mask = e.ir.CreateShl(llvm::Constant::getAllOnesValue(bits), e.ir.CreateTrunc(others, bits));
        mask = e.ir.CreateBitCast(mask, e.tail.mask->getType());
    } else {
        mask = e.ir.CreateVectorReverse(e.tail.mask);
    }
    return e.ir.CreateVectorReverse(load_some(e, type, lowest, others, mask));
}

llvm::Value* load_one_by_one(Emitter& e, llvm::FixedVectorType* type, llvm::Value* data, llvm::Value* k) {
    llvm::Type* elem = type->getElementType();
    const llvm::Align align{type->getScalarSizeInBits() / 8};
    llvm::Value* all = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < type->getNumElements(); ++i) {
        llvm::Value* from = e.ir.CreateGEP(elem, data, lane_of_sum(e, k, i));
        all = e.ir.CreateInsertElement(all, e.ir.CreateAlignedLoad(elem, from, align), std::uint64_t(i));
    }
    return all;
}

/// The transpose of the registers `rows`, of which there are as many as each has lanes: every step
/// interleaves the first half of them with the second.
static Leaves transposed(Emitter& e, Leaves rows) {
    const std::size_t n = rows.size();
    llvm::SmallVector<int, 64> low, high;
    for (std::size_t k = 0; k < n; ++k) {
        low.push_back(int(k / 2 + k % 2 * n));
        high.push_back(int(n / 2 + k / 2 + k % 2 * n));
    }
    for (std::size_t step = 1; step < n; step *= 2) {
        Leaves next;
        for (std::size_t i = 0; i < n / 2; ++i) {
            next.push_back(e.ir.CreateShuffleVector(rows[i], rows[i + n / 2], low));
            next.push_back(e.ir.CreateShuffleVector(rows[i], rows[i + n / 2], high));
        }
        rows = next;
    }
    return rows;
}

void transpose(Emitter& e, llvm::Type* scalar, const Leaves& rows, llvm::Value* len, llvm::Value* to) {
    auto& ir = e.ir;
    const std::int64_t bytes = scalar->getPrimitiveSizeInBits() / 8, n = std::int64_t(rows.size());
    const std::int64_t side =
        std::min(n, std::max<std::int64_t>(1, std::int64_t(e.unit.target.register_bytes) / bytes));
    auto* lanes = llvm::FixedVectorType::get(scalar, unsigned(side));
    const llvm::Align align{std::uint64_t(bytes)};
    const auto place = [&](llvm::Value* j, std::int64_t row) {
        return ir.CreateGEP(scalar, to, ir.CreateAdd(ir.CreateMul(j, e.c64(n)), e.c64(row)));
    };
    const auto square = [&](llvm::Value* j, std::int64_t row) {  // elements [j, j + side) of `side` rows
        Leaves loaded;
        for (std::int64_t k = row; k < row + side; ++k) {
            llvm::Value* from = ir.CreateGEP(scalar, rows[std::size_t(k)], j);
            loaded.push_back(ir.CreateAlignedLoad(lanes, from, align));
        }
        const Leaves columns = transposed(e, loaded);
        for (std::int64_t k = 0; k < side; ++k)
            ir.CreateAlignedStore(columns[std::size_t(k)], place(ir.CreateAdd(j, e.c64(k)), row), align);
    };
    const auto squares = [&]() -> Leaves {  // the last ones overlap what is done
        llvm::Value* last = ir.CreateSub(len, e.c64(side));
        llvm::Value* count = ir.CreateSDiv(ir.CreateAdd(last, e.c64(2 * side - 1)), e.c64(side));
        return e.counted_loop(e.c64(0), count, 1, {}, {}, [&](llvm::Value* k, const Leaves&) -> Leaves {
            llvm::Value* j =
                ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir.CreateMul(k, e.c64(side)), last);
            for (std::int64_t row = 0; row < n; row += side) square(j, row);
            return {};
        });
    };
    const auto one_by_one = [&]() -> Leaves {
        return e.counted_loop(e.c64(0), len, 1, {}, {}, [&](llvm::Value* j, const Leaves&) -> Leaves {
            for (std::int64_t k = 0; k < n; ++k) {
                llvm::Value* from = ir.CreateGEP(scalar, rows[std::size_t(k)], j);
                ir.CreateAlignedStore(ir.CreateAlignedLoad(scalar, from, align), place(j, k), align);
            }
            return {};
        });
    };
    e.emit_if(ir.CreateICmpSGE(len, e.c64(side)), squares, one_by_one);
}

}  // namespace weld::codegen
