// Direct tables: of a table that has outgrown the cache, what has been merged of rows whose keys are integers close
// together. The key alone chooses the slot, so that a row costs one look at memory, which is asked for some rows before.
//
//     dictmerger[i64,i64,+], first key 100, eight slots of 16 bytes {key, value}:
//
//     slot     0        1        2        3        ...
//            | 100 7  | free   | 102 1  | free   |
//                                 ^
//     merge {102, 4}:    slot 102 - 100 has the key: its value becomes 5
//
// A free slot has another key than its own. Rows wait in the first buffer until it is full. Those whose keys are outside of
// the range go to the tables of the partitions (row_table.h) at once, as long as they are few: a range that many keys leave
// becomes wider, or has its rows cut into partitions as others are. So they are at the end, which orders them by hash.
#pragma once

#include <optional>
#include <span>

#include "runtime/partitions.h"

namespace weld::runtime {

struct KeyRange {
    std::int64_t first, last;
};

/// Keys of `d` may be integers that lie close together.
bool has_number_keys(const WeldDict* d);
/// The range of the keys of the entries of `d`, but for a few, if it is worth a direct table: of `unknown` (%) of the rows it
/// does not hold the key.
std::optional<KeyRange> find_close_keys(const WeldDict* d, std::int64_t unknown);
/// Some keys are so frequent that the cache holds what has been merged of them.
bool are_frequent(std::int64_t unknown);
/// The range of `before` and of the keys of `count` rows.
KeyRange find_range(const WeldDict* d, const char* rows, std::int64_t count, KeyRange before);
/// Memory does not keep `d`, which is cut, from a direct table of such a range. It must not where it would decide about bits.
bool may_be_direct(const Task* task, const WeldDict* d, KeyRange range);
/// Gives `d`, which is cut and has merged no rows yet, a direct table. Status.
std::int32_t begin_direct(Task* task, WeldDict* d, KeyRange range, std::int32_t loc);
/// Rows wait in the first buffer alone from now on; none waits now.
void use_one_buffer(WeldDict* d);
/// Merges `count` rows whose keys are in the range. Status.
std::int32_t merge_rows(Task* task, WeldDict* d, const char* rows, std::int64_t count, std::int32_t loc);
/// Merges the rows in the buffer. Status.
std::int32_t merge_buffer(Task* task, WeldDict* d, std::int32_t loc);
/// Merges tables into the first of them, in order, if they have direct tables or are not cut, and the range of all is worth
/// a direct table; or ends those that there are. Status.
std::int32_t merge_direct(Task* task, std::span<WeldDict* const> tables, bool* merged, std::int32_t loc);
/// What becomes of the rows of a direct table that ends: the first that wait for their partitions, or merged in the tables of
/// these, on all threads.
enum class Ended { RowsWait, Merged };
/// Ends the direct table, if `d` is cut and has one. Status.
std::int32_t end_direct(Task* task, WeldDict* d, Ended how, std::int32_t loc);

}  // namespace weld::runtime
