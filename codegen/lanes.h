// Lanes as single values: folded, taken out, moved together, written one after the other.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// All lanes of `v` combined: halves are folded onto each other, so the order is fixed by the lane count.
llvm::Value* fold_lanes(Emitter& e, MergeOp op, Scalar s, llvm::Value* v);

/// One lane of a value whose scalars are simd: the value of `type` in lane `k`.
Leaves lane(Emitter& e, const Leaves& v, std::uint64_t k);

/// The lanes of `v` for which `mask` holds, moved together. Only where the instruction set has it.
llvm::Value* compressed(Emitter& e, llvm::Value* v, llvm::Value* mask);

/// Writes the first `count` lanes of a struct of lanes as elements one after the other.
void store_first(Emitter& e, const Type* elem, const Leaves& v, llvm::Value* count, llvm::Value* to);

}  // namespace weld::codegen
