// Merges into a dictmerger whose groups lie where the numbers in their keys say (runtime/spread.h): the place of a row's key
// is a few additions, and its group is there, or the runtime merges the row.
//
// The state, in place of the table alone: {table, address of a WeldSpread in the frame, slots, mask, shifts}.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

int num_spread_leaves(const Type* dictmerger);

/// i1: it pays to spread the groups of a table for so many rows.
llvm::Value* should_spread(Emitter& e, llvm::Value* table, std::int64_t bytes, llvm::Value* rows);

/// From a table to one whose groups are spread.
Leaves spread_groups(Emitter& e, const Type* dictmerger, llvm::Value* table, std::int64_t bytes, Loc loc);
/// The table, with the groups of `state` in it, after so many rows.
Leaves gather_groups(Emitter& e, const Leaves& state, llvm::Value* rows);

Leaves merge_spread(Emitter& e, const Type* dictmerger, const Leaves& state, const Leaves& key,
                    const Leaves& value, Loc loc);

}  // namespace weld::codegen
