// The first few groups of a dictmerger in registers.
//
// A loop over lanes holds the keys that it meets first, and for each of them a vector per value that collects
// lanes: a round compares its keys with each of these and merges under the masks. Keys that are few, which is
// only known while running, cost neither hashing nor memory so. When there are more keys than registers, the
// loop ends early and the scalar loop goes on with the table (codegen/loops.cpp). The first
// value of a key always goes to the table, so that accumulators may be merged whether lanes came to them or
// not.
//
// State, in place of the table alone: {table, address of a WeldHeldKeys in the frame, accumulators by group
// and value}.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// How many groups of such a dictmerger are held, which takes lanes.
std::uint32_t held_groups(const Type* dictmerger);

/// Leaves of its state while groups are held.
int num_group_leaves(const Type* dictmerger);

/// From a table to a table and no group.
Leaves hold_groups(Emitter& e, const Type* t, const Leaves& table, std::uint32_t lanes);

/// Merges `n` lanes of {key, value}, all or those of `mask`.
Leaves merge_into_groups(Emitter& e, const Type* t, const Leaves& state, const Leaves& v, std::uint32_t n,
                         llvm::Value* mask, Loc loc);

/// i1: a key came that no register was left for. What came is merged; but no more should come.
llvm::Value* has_more_groups(Emitter& e, const Type* t, llvm::ArrayRef<llvm::Value*> state);

/// The table, with all groups merged into it.
Leaves release_groups(Emitter& e, const Type* t, const Leaves& state, Loc loc);

}  // namespace weld::codegen
