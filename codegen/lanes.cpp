// What is done with lanes besides arithmetic: shuffles, and the way through memory.
#include "codegen/lanes.h"

#include <llvm/IR/IntrinsicsX86.h>

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

llvm::Value* compressed(Emitter& e, llvm::Value* v, llvm::Value* mask) {
    auto* type = llvm::cast<llvm::FixedVectorType>(v->getType());
    const unsigned n = type->getNumElements(), own_bits = type->getScalarSizeInBits();
    if (!e.unit.target.packs) return nullptr;
    unsigned bits = own_bits;  // of the lanes that are moved: 128 to 512 in all
    while (bits < 64 && (bits * n < 128 || (bits < 32 && !e.unit.target.packs_small))) bits *= 2;
    if (bits * n < 128 || bits * n > 512) return nullptr;
    const auto whole = [&](unsigned width) {
        return llvm::FixedVectorType::get(llvm::IntegerType::get(e.unit.ctx, width), n);
    };
    if (bits != own_bits) v = e.ir.CreateZExt(e.ir.CreateBitCast(v, whole(own_bits)), whole(bits));
    llvm::Value* moved = e.ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {v->getType()},
                                              {v, llvm::PoisonValue::get(v->getType()), mask});
    if (bits == own_bits) return moved;
    return e.ir.CreateBitCast(e.ir.CreateTrunc(moved, whole(own_bits)), type);
}

void store_first(Emitter& e, const Type* elem, const Leaves& v, llvm::Value* count, llvm::Value* to) {
    const llvm::DataLayout& layout = e.unit.out.getDataLayout();
    Leaves rooms;
    for (llvm::Value* x : v) {
        rooms.push_back(e.slot(std::int64_t(layout.getTypeStoreSize(x->getType()).getFixedValue()) * 8, 64));
        auto* lanes = llvm::cast<llvm::FixedVectorType>(x->getType());
        const bool is_mask = lanes->getElementType()->isIntegerTy(1);
        auto* bytes = llvm::FixedVectorType::get(e.unit.i8, lanes->getNumElements());
        e.ir.CreateStore(is_mask ? e.ir.CreateZExt(x, bytes) : x, rooms.back());
    }
    e.counted_loop(e.c64(0), count, 1, {}, {}, [&](llvm::Value* k, const Leaves&) -> Leaves {
        Leaves one;
        std::size_t i = 0;
        for_each_scalar(elem, [&](Scalar s) {
            const Type* type = e.m.types.scalar(s);
            one.push_back(e.load(type, e.element(rooms[i++], type, k))[0]);
        });
        e.store(elem, one, e.element(to, elem, k));
        return {};
    });
}

}  // namespace weld::codegen
