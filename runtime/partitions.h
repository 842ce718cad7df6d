// Partitions of dictmergers' tables that have outgrown the cache.
//
// Rows {key, value} wait, by the first bits of their tags. Once many wait, those of one partition after the
// other are merged in a table of the partition's own, which stays in the cache meanwhile. The rows
// of a key are merged in the order in which they came. Emitted code appends rows to a short buffer for each
// partition; full buffers go past the cache to blocks of memory, in few and whole writes.
//
//     emitted code                          runtime
//     {key, value}, tag 0x02...             blocks, waiting                      tables of rows
//         |                                 (from slabs)
//         |   0 [buffer |  ]  -- full -->   [rows]->[rows]       -- many -->     {k,v} free {k,v} ...
//         |   1 [ |        ]  -- full -->   [rows]                 wait          free {k,v} free  ...
//         +-> 2 [rows... | ]  -- full -->   [rows]->[rows]->[rows]               {k,v} {k,v} free ...
//             ...                           ...                                  ...
//           255 [ |        ]  -- full -->   [rows]                               free {k,v} {k,v} ...
//
// For example, ten million different keys in a dictmerger[i64,i64,+]: each merge into one table of some
// hundred megabytes would wait for memory. Cut into 256, a table of rows has 39,000 of 16 bytes in 65,536
// slots, one megabyte: it stays in the cache while the rows that wait for it are merged, up to four
// megabytes of them. To wait, a row is written to one of 256 buffers of 256 bytes, which are in the cache,
// too.
//
// A table that outgrows the cache may be better off in one piece: where most rows have keys that it knows, as there are few
// more, or as most rows have few of them. So it is first on trial: some rows wait while it stays as it is, and what part
// of their keys it does not hold decides. It is tried again when it has outgrown its index the next time.
//
// The life of a table that is cut: begin_trial and end_trial (it outgrew the cache), add_row and emitted code (rows wait),
// merge_partitions (with those of other chunks), settle_partitions (nothing waits any more), then
// list_partitions or join_partitions.
#pragma once

#include <span>

#include "runtime/hash_table.h"

namespace weld::runtime {

constexpr int kPartitionBits = kWeldPartitionBits;
constexpr std::int64_t kPartitions = 1 << kPartitionBits;

/// Rows that wait are in chains of blocks. They begin behind this.
struct alignas(64) RowBlock {
    RowBlock* next;
    char* rows() { return reinterpret_cast<char*>(this + 1); }
};

/// Memory that blocks are cut from.
struct RowSlab {
    RowSlab* next;
};

/// What has been merged of a partition: rows, at slots that their hash chooses. A free slot holds a key of
/// another partition.
struct RowTable {
    char* slots;  ///< null: nothing
    std::int64_t count;
    int bits;  ///< 1 << bits slots, and behind them one more that is always free
    int skip;  ///< so many bits of the hash behind those of the partition do not choose the slot
};

/// The same of rows whose keys are integers close together, in all partitions: see runtime/direct_table.h.
struct DirectTable {
    char* slots;           ///< null: there is none
    std::int64_t first;    ///< the key of the first slot
    std::int64_t size;     ///< slots
    std::int64_t count;    ///< of which so many have rows
    std::int64_t outside;  ///< so many rows of the last buffer had other keys
    std::int64_t rows;     ///< merged since the table began
};

struct Partitions {
    WeldRowBuffer buffers[kPartitions];  ///< of `buffer_bytes` each, behind one another
    char* buffer_memory;
    std::int64_t buffer_bytes;
    RowBlock* first[kPartitions];  ///< rows that came before those in the buffer; null: none
    RowBlock* last[kPartitions];
    char* next[kPartitions];  ///< where the last block goes on
    char* end[kPartitions];   ///< of the last block
    RowTable tables[kPartitions];
    DirectTable direct;
    std::int64_t largest;  ///< so many rows are in one of the tables
    int skip;  ///< of the table that grew last: what spreads keys of one partition does so in others
    char free_of_first[16];  ///< the key of free slots of the first partition; those of others are zero
    std::int32_t op;
    bool has_frequent_numbers;  ///< keys are integers, and a trial has met many of them again
    bool on_trial;              ///< the table has its entries and its index still
    std::int64_t tried;         ///< so many rows have left full buffers meanwhile
    const WeldPlaces* places;   ///< of the table: known keys must wait with the others
    bool exact;                 ///< values may be merged with each other in any order
    std::int64_t block_bytes;   ///< of rows
    RowSlab* slabs;
    std::int64_t num_slabs;
    std::int64_t most_slabs;  ///< so many are filled before rows are merged
    char* fresh;              ///< blocks of the last slab that have not been used
    std::int64_t num_fresh;
    RowBlock* spare;  ///< blocks whose rows have been merged
};

inline Partitions* partitions_of(const WeldDict* d) { return reinterpret_cast<Partitions*>(d->partitions); }

bool can_partition(const WeldDict* d);
/// Whether the table is about to outgrow the cache.
bool is_too_large(const Task* task, const WeldDict* d, std::int32_t op);
/// Lets rows wait for a decision whether to cut such a table, whose values are merged by `op`. Status.
std::int32_t begin_trial(Task* task, WeldDict* d, std::int32_t op, std::int32_t loc);
/// Decides by the rows that wait, if `d` is on trial: it is cut, or the rows are merged. Status.
std::int32_t end_trial(Task* task, WeldDict* d, std::int32_t loc);
/// Cuts an empty table whose rows wait for merge_partitions, however many they are, unless the order of merges does not
/// show and memory is short. Status.
std::int32_t let_wait(Task* task, WeldDict* d, std::int32_t op, std::int32_t loc);
/// A row more, in a table that is cut. Status.
std::int32_t add_row(Task* task, WeldDict* d, const void* key, const void* value, std::uint32_t tag,
                     std::int32_t loc);
/// Merges tables into the first of them, in order, and releases the others; all are cut if they are not yet.
/// Rows that wait are merged one by one, also with what the tables before theirs hold of their keys. Status.
std::int32_t merge_partitions(Task* task, std::span<WeldDict* const> tables, std::int32_t op,
                              std::int32_t loc);
/// Whether as many rows wait in `tables` as are worth going through all of `whole` to merge them, or as there
/// is memory for.
bool should_merge(const Task* task, const WeldDict* whole, std::span<WeldDict* const> tables);
/// Merges all rows that wait, if `d` is cut: it is to be listed or counted, and no more. Status.
std::int32_t settle_partitions(Task* task, WeldDict* d, std::int32_t loc);
/// How many rows a table has that is cut and settled.
std::int64_t count_partitions(const WeldDict* d);
/// All rows of a table that is cut and settled, in the order of `tovec` (runtime/listing.h). Status.
std::int32_t list_partitions(Task* task, const WeldDict* d, WeldVec* out, std::int32_t loc);
/// Makes one table of the partitions, if `d` is cut. Status.
std::int32_t join_partitions(Task* task, WeldDict* d, std::int32_t loc);
void release_partitions(Task* task, WeldDict* d);

}  // namespace weld::runtime
