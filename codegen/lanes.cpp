// What is done with lanes besides arithmetic.
#include "codegen/lanes.h"

namespace weld::codegen {

llvm::Value* fold_lanes(Emitter& e, MergeOp op, Scalar s, llvm::Value* v) {
    unsigned n = llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements();
    while (n > 2 && n % 2 == 0) {
        n /= 2;
        llvm::SmallVector<int, 64> low, high;
        for (unsigned k = 0; k < n; ++k) {
            low.push_back(int(k));
            high.push_back(int(k + n));
        }
        v = e.merge_op(op, s, e.ir.CreateShuffleVector(v, low), e.ir.CreateShuffleVector(v, high));
    }
    llvm::Value* sum = e.ir.CreateExtractElement(v, std::uint64_t(0));
    for (unsigned k = 1; k < n; ++k)
        sum = e.merge_op(op, s, sum, e.ir.CreateExtractElement(v, std::uint64_t(k)));
    return sum;
}

Leaves lane(Emitter& e, const Leaves& v, std::uint64_t k) {
    Leaves one;
    for (llvm::Value* x : v) one.push_back(x->getType()->isVectorTy() ? e.ir.CreateExtractElement(x, k) : x);
    return one;
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
