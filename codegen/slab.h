// Short vectors that lie one behind the other in the task's slab (runtime/slab.cpp).
//
//     slab      | vector | vector | the one that is made ...      |
//                                                          slab ^   ^ slab_end
//
// The last one can become larger and smaller in place.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// `array` {data, size, capacity} of `elem` with room for `need` more behind its capacity.
Leaves grown_in_slab(Emitter& e, const Type* elem, const Leaves& array, llvm::Value* need, Loc loc);

/// `array` without the room that it does not fill, if it is the last one of the slab.
Leaves shrunk_in_slab(Emitter& e, const Type* elem, const Leaves& array);

}  // namespace weld::codegen
