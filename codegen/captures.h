// What an outlined function needs of the function that it was cut from: packed by the caller, unpacked in it.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// `values` in the frame.
llvm::Value* pack(Emitter& e, const Leaves& values);

/// In the callee: the values that the caller packed (given as the caller's, for their types).
Leaves unpack(Emitter& e, llvm::Value* room, const Leaves& callers);

/// What an outlined `e` captures: the names that it reads and does not bind, but for those of constants.
std::vector<const Symbol*> captures(const Unit& unit, const Expr* e);

/// The leaves of `symbols`, one after the other.
Leaves leaves_of(const Emitter& e, const std::vector<const Symbol*>& symbols);

/// In the callee: `symbols` are `values`, which are the caller's leaves_of them unpacked.
void bind_names(Emitter& callee, const Emitter& caller, const std::vector<const Symbol*>& symbols,
                llvm::ArrayRef<llvm::Value*> values);

}  // namespace weld::codegen
