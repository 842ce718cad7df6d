// The lesser and the greater of two floats.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// With one NaN the other, and -0.0 before 0.0.
llvm::Value* float_min_max(Emitter& e, bool min, llvm::Value* a, llvm::Value* b);

/// The same of scalars, with a branch for what one comparison does not tell: rounds that wait for `a` wait for no more
/// than that.
llvm::Value* float_min_max_by_branch(Emitter& e, bool min, llvm::Value* a, llvm::Value* b);

/// The same where `b` is seldom zero or NaN: with a branch for these on machines that have no instruction for all.
llvm::Value* float_min_max_of_others(Emitter& e, bool min, llvm::Value* a, llvm::Value* b);

}  // namespace weld::codegen
