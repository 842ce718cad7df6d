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

}  // namespace weld::codegen
