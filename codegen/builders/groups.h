// The first few groups of a dictmerger in registers.
//
// A loop over lanes holds the keys that it meets first, and for each of them a vector per value that collects
// lanes: a round compares its keys with each of these and merges under the masks. So keys that are few, which
// is known only while running, cost neither hashing nor memory. Here with two groups of four lanes, which
// hold the keys 7 and 3 and sum values:
//
//     keys of the round        7   3   7   7         values     1   2   3   4
//
//     held key 7:   mask       1   .   1   1         sum 7   += 1   0   3   4
//     held key 3:   mask       .   1   .   .         sum 3   += 0   2   0   0
//                              -------------
//     left                     .   .   .   .         nothing: the next round
//
// If a lane had the key 5, it would be left: `weld_rt_dict_hold` merges its value into the table, and puts
// the key beside those that are held, while there is room. When there are more keys than that, the loop over
// lanes ends early and the scalar loop goes on with the table:
//
//     table --hold_groups--> {table, keys, sums} --rounds--> {table, keys, sums} --release_groups--> table
//                                                   |
//                                                   +- has_more_groups: leave, too; scalar rounds go on
//                                                      with the table (rounds.cpp)
//
// The first value of a key always goes to the table, so that accumulators may be merged into it whether lanes
// came to them or not.
//
// The state, in place of the table alone: {table, address of a WeldHeldKeys in the frame, accumulators by
// group and value}.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// Leaves of the state of a dictmerger while so many groups are held.
int num_group_leaves(const Type* dictmerger, std::uint32_t groups);

/// From a table to a table and no group, in the form of a loop that holds groups.
Leaves hold_groups(Emitter& e, const Type* t, const Leaves& table, Lanes form);

/// Merges `n` lanes of {key, value}, all or those of `mask`.
Leaves merge_into_groups(Emitter& e, const Type* t, const Leaves& state, const Leaves& v, std::uint32_t n,
                         llvm::Value* mask, Loc loc);

/// i1: a key came that no register was left for. What came is merged; but no more should come.
llvm::Value* has_more_groups(Emitter& e, llvm::ArrayRef<llvm::Value*> state);

/// The table, with all groups of a state of `form` merged into it.
Leaves release_groups(Emitter& e, const Type* t, const Leaves& state, Lanes form, Loc loc);

}  // namespace weld::codegen
