// What the builders that merge at an index have in common: {data, length} of their own copy of a vector, or
// of the vector itself.
#pragma once

#include "codegen/builders/code.h"

namespace weld::codegen {

/// The vector itself if nobody reads it later, else a copy.
Leaves begin_at_indices(Emitter& e, NewBuilder b, const Leaves& arg);

/// Fails if index v[0] lies outside.
void check_index(Emitter& e, Merge g, const Leaves& state, const Leaves& v);

/// Lanes for the elements from index v[0] on, as many as the tail leaves of `n`: fails if one lies outside.
void check_row(Emitter& e, Merge g, const Leaves& state, const Leaves& v, std::uint32_t n);

/// Adds to an element of a vecmerger if it `counts`, and otherwise to a spare one, without a branch.
Leaves add_if(Emitter& e, Merge g, llvm::Value* counts, const Leaves& state, const Leaves& v);

/// The lanes at one index of `g`, one after the other, under `mask`; nothing if they have indexes of their
/// own.
using MergeOne = Leaves (*)(Emitter& e, Merge g, const Leaves& state, const Leaves& value);
void merge_one_by_one(Emitter& e, Merge g, const Leaves& state, const Leaves& v, std::uint32_t n,
                      llvm::Value* mask, MergeOne merge);

}  // namespace weld::codegen
