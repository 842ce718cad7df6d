// Look-ups of which lanes lie a few elements apart: all that lies between is read as it lies, and elements are picked out.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// Loads elements that lie `stride` apart, as lanes of `type`; the one at `lowest` is the first of them, or
/// the last if they go down. Nothing but what lies between is read.
llvm::Value* load_strided(Emitter& e, llvm::FixedVectorType* type, llvm::Value* lowest, std::int64_t stride);

/// What lanes of `type` look up in `vec` at the places `k`, all of them, `@(apart:…)` by two or more. What it reads serves
/// other look-ups of the round:
///
///     lookup(v, i * 3L), lookup(v, i * 3L + 1L), lookup(v, i * 3L + 2L)
///
/// read three registers.
llvm::Value* lookup_strided(Emitter& e, llvm::FixedVectorType* type, LookupLanes l, const Leaves& vec,
                            llvm::Value* k);

}  // namespace weld::codegen
