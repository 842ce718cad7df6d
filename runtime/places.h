// Places: where the entries of a table are, by the numbers in their keys. Where keys are few integers close
// together, emitted code finds entries without hashing.
//
//     dictmerger[{i32,i32},i64,+], keys {a, b} with a in 100...103, b in 0...6:
//
//     place     (a + (b << 2)) & 31
//     slots     0 1 2 3   4 5 6 7   8 ...        by place: an entry. If that has the key, it is found
//
// Places are an addition to the index, where keys are found whose place another one has. They are made anew
// when there are twice as many keys, or a quarter more and one has no place; those added meanwhile are
// given theirs. They pay if few keys have to do without. What changes the numbers of entries drops them.
// Keys that are one byte share none of their 256 places, so that who has an entry there needs no look at its key.
#pragma once

#include <functional>

#include "runtime/hash_table.h"

namespace weld::runtime {

/// Notes which integers keys of type `key` consist of, if they may have places.
void describe_places(WeldDict* d, const WeldType* key);
/// Gives `d`, whose entries are those of `model`, the same places. Status.
std::int32_t copy_places(Task* task, WeldDict* d, const WeldDict* model, std::int32_t loc);
/// Calls f(number, place) for those of the entries [lo, hi) that have the places of their keys.
void each_place(const WeldDict* d, std::int64_t lo, std::int64_t hi,
                const std::function<void(std::int64_t number, std::uint64_t place)>& f);
/// Entries get other numbers.
void drop_places(Task* task, WeldDict* d);

}  // namespace weld::runtime
