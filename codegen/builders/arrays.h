// Builders that keep what is merged have an array: {data, size, capacity}. An appender is these three; a
// groupmerger points at them, and has them in registers inside of loops: {data, size, capacity, pointer}.
#pragma once

#include <limits>

#include "codegen/emit.h"
#include "codegen/slab.h"

namespace weld::codegen {

/// The array at `array` in registers, and the pointer.
Leaves opened_array(Emitter& e, llvm::Value* array);
/// Writes the array back to memory.
Leaves closed_array(Emitter& e, const Leaves& open);

/// The capacity of an array for which room has been made: merges need not look.
constexpr std::int64_t kEnough = std::numeric_limits<std::int64_t>::max();
/// Makes room for `extra` more values in the array `s` of a builder of type `t`, if there is none.
Leaves with_room(Emitter& e, const Type* t, Leaves s, std::int64_t extra, Loc loc);
/// The same of an array in a slab: where there is no room for `extra` more values, it is made for `more`, or null: for as many
/// as it has.
Leaves with_room_in_slab(Emitter& e, const Type* t, Leaves s, std::int64_t extra, llvm::Value* more,
                         const Slab& slab, Loc loc);

/// Appends a value to the state `s` of such a builder, which points at its array or has it in registers.
Leaves append(Emitter& e, Merge g, const Leaves& s, const Leaves& v);
/// Writes a value behind the last one; it is there if `counts`.
Leaves append_if(Emitter& e, Merge g, llvm::Value* counts, const Leaves& s, const Leaves& v);
/// Appends rows side by side, `rows` of type `vec[simd[T,N]]`, in their order.
Leaves append_rows(Emitter& e, Merge g, const Leaves& s, const Leaves& rows);
/// Appends lanes in order, all or those of `mask`.
std::optional<Leaves> append_lanes(Emitter& e, Merge g, const Leaves& s, const Leaves& v, std::uint32_t n,
                                   llvm::Value* mask);

}  // namespace weld::codegen
