// Short vectors that lie one behind the other in the task's slabs (runtime/slab.cpp).
//
//     slab      | vector | vector | the one that is made ...      |
//                                                          slab ^   ^ slab_end
//
// The last one can become larger and smaller in place, and go.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// For what is kept, or for what goes before the round ends.
struct Slab {
    Field top, end;
    std::int64_t align;  ///< of vectors; 0: of their elements
    const char* grow;    ///< entry
};
/// What is kept lies in this one.
const Slab& kept_slab();
/// In which slab the vector lies that a loop or literal makes, or what a merge appends; null: in none.
const Slab* slab_of(const Expr* e);

/// `array` {data, size, capacity} of `elem` with room for `need` more behind its capacity.
Leaves grown_in_slab(Emitter& e, const Slab& slab, const Type* elem, const Leaves& array, llvm::Value* need,
                     Loc loc);

/// `array` without the room that it does not fill, if it is the last one of the slab.
Leaves shrunk_in_slab(Emitter& e, const Slab& slab, const Type* elem, const Leaves& array);

/// The vector, of `elem`, which lies in scratch if it is short, goes.
void end_in_scratch(Emitter& e, const Type* elem, const Leaves& vec);

}  // namespace weld::codegen
