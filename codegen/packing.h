// Elements in lanes, written one after the other.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// Writes the elements in all `n` lanes of `v`; false where they have to be written one by one.
bool store_all(Emitter& e, const Type* elem, const Leaves& v, std::uint32_t n, llvm::Value* to);

/// Writes those for which `mask` holds, and gives how many they are; null where they have to be written one
/// by one. There is room for all of them: what lies behind those that are wanted is overwritten.
llvm::Value* store_selected(Emitter& e, const Type* elem, const Leaves& v, llvm::Value* mask,
                            llvm::Value* to);

/// Writes the first `count` ones, and nothing behind them.
void store_first(Emitter& e, const Type* elem, const Leaves& v, llvm::Value* count, llvm::Value* to);

}  // namespace weld::codegen
