// Lanes as single values: folded, taken out; lines transposed to lanes.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// All lanes of `v` combined: halves are folded onto each other, so the order is fixed by the lane count.
llvm::Value* fold_lanes(Emitter& e, MergeOp op, Scalar s, llvm::Value* v);

/// One lane of a value whose scalars are simd: the value of `type` in lane `k`.
Leaves lane(Emitter& e, const Leaves& v, std::uint64_t k);

/// Writes the transpose of the vectors of `len` scalars at `rows` to `to`, by squares with a register a side.
void transpose(Emitter& e, llvm::Type* scalar, const Leaves& rows, llvm::Value* len, llvm::Value* to);

}  // namespace weld::codegen
