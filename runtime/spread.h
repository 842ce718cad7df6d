// Groups of a dictmerger that lie where the numbers in their keys say, while a loop merges: a row finds its group without a
// look at where the table has it.
//
//     dictmerger[i32,f64,+], places key & 3:
//
//     entries   0: {6, 1.5}   1: {4, 2.0}   2: {5, 0.5}            in the order in which keys came
//     slots     {4, 2.0}   {5, 0.5}   {6, 1.5}   {6, -}            by place; the last one is free: 6 belongs elsewhere
//     owners    1 + 1      2 + 1      0 + 1      0
//
// The values of owners are in the slots alone, until they are gathered. Keys that have no slot of their own are merged into
// the table as ever. Places are those of the table (places.h) when its groups are spread; if these are made anew, so are slots.
#pragma once

#include "runtime/hash_table.h"

namespace weld::runtime {

/// It pays to spread the groups, in so many bytes, for the next `rows` rows, if their keys are those of the rows before.
bool should_spread(WeldDict* d, std::int64_t bytes, std::int64_t rows);
/// Status.
std::int32_t spread(Task* task, WeldDict* d, WeldSpread* s, std::int64_t bytes, std::int32_t loc);
/// Merges a key that is not at its place. Status.
std::int32_t merge_spread(Task* task, WeldDict* d, WeldSpread* s, const void* key, const void* value,
                          std::int32_t op, std::int32_t loc);
/// After so many rows.
void gather(Task* task, WeldDict* d, WeldSpread* s, std::int64_t rows);

}  // namespace weld::runtime
