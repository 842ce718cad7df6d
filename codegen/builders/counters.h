// Counting: merges of constants into a vecmerger of 64-bit sums. While a loop runs, its counters may have 32
// bits (runtime/builders/vecmerger.cpp decides), so that twice as many of them are in the cache; bit 0 of the
// state's `data` tells which they are.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// What an iteration of `f` adds at most to an element of its vecmergers of this type, all signs taken as the
/// same; 0 where it merges anything but constants or in loops of its own, so that counters must be wide.
std::int32_t counts_at_most(For f, const Type* vecmerger);

/// A merge of an integer that is known to be small.
bool is_count(Merge g);

/// Merges `v`, of such a merge, at `index`, which is inside, whichever width the counters of `data` have.
void merge_count(Emitter& e, llvm::Value* data, llvm::Value* index, llvm::Value* v);

/// The address of such a counter, or one within it.
llvm::Value* counter(Emitter& e, llvm::Value* data, llvm::Value* index);

}  // namespace weld::codegen
