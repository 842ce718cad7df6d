// Filling buffers of partitions, merging what waits in them, and joining the partitions.
#include "runtime/direct_table.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/entry.h"
#include "runtime/parallel.h"
#include "runtime/row_table.h"
#include "runtime/stream.h"

namespace weld::runtime {

namespace {

constexpr int kLargestIndexBits = 17;  // of a table that is not cut: with its entries it fits the cache
/// Where more than this part (%) of the rows on trial have keys that a table does not hold, it is cut, by the bits of its
/// index from those on. The more it holds, the longer do rows wait for memory that it does not give up.
constexpr std::array kMostUnknown = {65, 50};
constexpr std::int64_t kTrialRows = 8192;
constexpr std::int64_t kLargestRow = 256;                           // bytes
constexpr std::int64_t kBufferBytes = 256, kBlockBytes = 16 << 10;  // about
constexpr std::int64_t kSlabBlocks = kPartitions;
constexpr std::int64_t kFirstSlabs = 16;
constexpr std::int64_t kMostWaiting = 4;  // times what the tables take

std::int64_t slab_bytes(const Partitions* p) {
    return std::int64_t(sizeof(RowBlock)) + kSlabBlocks * (std::int64_t(sizeof(RowBlock)) + p->block_bytes);
}

std::int32_t add_slab(Task* task, Partitions* p, std::int32_t loc) {
    char* memory = static_cast<char*>(allocate_array(task, slab_bytes(p), 1, loc));
    if (!memory) return kFailed;
    RowSlab* slab = reinterpret_cast<RowSlab*>(memory);
    slab->next = p->slabs;
    p->slabs = slab;
    ++p->num_slabs;
    p->fresh = memory + sizeof(RowBlock);
    p->num_fresh = kSlabBlocks;
    return kOk;
}

/// Rows wait in none of them.
void release_slabs(Task* task, Partitions* p) {
    while (RowSlab* slab = p->slabs) {
        p->slabs = slab->next;
        release(task, slab);
    }
    p->spare = nullptr;
    p->num_slabs = p->num_fresh = 0;
}

RowBlock* take_block(Partitions* p) {
    if (RowBlock* block = p->spare) {
        p->spare = block->next;
        return block;
    }
    RowBlock* block = reinterpret_cast<RowBlock*>(p->fresh);
    p->fresh += std::int64_t(sizeof(RowBlock)) + p->block_bytes;
    --p->num_fresh;
    return block;
}

char* begin_of_buffer(const Partitions* p, std::int64_t partition) {
    return p->buffer_memory + partition * p->buffer_bytes;
}

/// Calls f(rows, count) for the rows of `stride` bytes that wait, in order.
template <class F>
std::int32_t each_waiting(const Partitions* p, std::int64_t stride, std::int64_t partition, const F& f) {
    for (RowBlock* b = p->first[partition]; b; b = b->next) {
        for (int line = 0; b->next && line < kRowsAhead / 64; ++line)
            __builtin_prefetch(b->next->rows() + 64 * line);
        const std::int64_t bytes = b->next ? p->block_bytes : p->next[partition] - b->rows();
        if (f(b->rows(), bytes / stride)) return kFailed;
    }
    const char* rows = begin_of_buffer(p, partition);
    const std::int64_t count = (p->buffers[partition].next - rows) / stride;
    return count ? f(rows, count) : kOk;
}

// ---- merging -------------------------------------------------------------------------------------------

/// Merges the rows of `from` that wait into the table of `d`. Status.
std::int32_t merge_waiting(Task* task, WeldDict* d, const WeldDict* from, std::int64_t partition,
                           std::int32_t loc) {
    return with_rows(d, partition, [&](auto rows) {
        return each_waiting(partitions_of(from), from->stride, partition,
                            [&](const char* begin, std::int64_t count) {
                                return rows.merge(task, count, loc,
                                                  [=](std::int64_t i) { return begin + i * rows.stride(); });
                            });
    });
}

/// Merges what has been merged of `from` into the table of `d`. Status.
std::int32_t merge_merged(Task* task, WeldDict* d, WeldDict* from, std::int64_t partition, std::int32_t loc) {
    RowTable &mine = partitions_of(d)->tables[partition], &theirs = partitions_of(from)->tables[partition];
    if (!mine.slots) {
        std::swap(mine, theirs);
        return kOk;
    }
    std::vector<const char*> all;
    return with_rows(from, partition, [&](const auto& rows) {
        rows.each([&](const char* row) { all.push_back(row); });
        return with_rows(d, partition, [&](auto into) {
            return into.merge(task, theirs.count, loc, [&](std::int64_t i) { return all[std::size_t(i)]; });
        });
    });
}

/// Forgets the rows that wait.
void empty(Partitions* p) {
    for (std::int64_t i = 0; i < kPartitions; ++i) {
        p->buffers[i].next = begin_of_buffer(p, i);
        p->next[i] = p->end[i] = nullptr;
        if (!p->first[i]) continue;
        p->last[i]->next = p->spare;
        p->spare = p->first[i];
        p->first[i] = p->last[i] = nullptr;
    }
}

/// Merges all rows that wait. Status.
std::int32_t merge_all_waiting(Task* task, WeldDict* d, bool parallel, std::int32_t loc) {
    const std::int32_t status =
        run_parts(task, kPartitions, parallel, loc,
                  [&](Task* t, int, std::int64_t i) { return merge_waiting(t, d, d, i, loc); });
    if (status) return status;
    empty(partitions_of(d));
    return kOk;
}

std::int64_t table_bytes(const WeldDict* d) {
    std::int64_t bytes = 0;
    for (const RowTable& table : partitions_of(d)->tables)
        if (table.slots) bytes += d->stride << table.bits;
    return bytes + partitions_of(d)->direct.size * d->stride;
}

/// So much may wait as the tables take four times: then what is done to them for each merge stays in
/// proportion.
void allow_slabs(WeldDict* d) {
    Partitions* p = partitions_of(d);
    p->most_slabs = std::max(kFirstSlabs, kMostWaiting * table_bytes(d) / slab_bytes(p));
}

/// Merges all rows that wait into a direct table, if none were merged yet and they pay for its slots. Status.
std::int32_t begin_direct_late(Task* task, WeldDict* d, std::int32_t loc) {
    Partitions* p = partitions_of(d);
    constexpr std::int64_t slots_for_row = 4;
    // Each of several workers would have a table for all keys.
    if (count_partitions(d) || (p->exact && workers_for(task, INT64_MAX, true) > 1)) return kOk;
    KeyRange range{INT64_MAX, INT64_MIN};
    std::int64_t waiting = 0;
    for (std::int64_t i = 0; i < kPartitions; ++i)
        each_waiting(p, d->stride, i, [&](const char* rows, std::int64_t count) {
            range = find_range(d, rows, count, range);
            waiting += count;
            return kOk;
        });
    if (static_cast<__int128>(range.last) - range.first >= slots_for_row * waiting) return kOk;
    if (!may_be_direct(task, d, range)) return kOk;
    if (begin_direct(task, d, range, loc)) return kFailed;
    for (std::int64_t i = 0; i < kPartitions; ++i)
        if (each_waiting(p, d->stride, i, [&](const char* rows, std::int64_t count) {
                return merge_rows(task, d, rows, count, loc);
            }))
            return kFailed;
    empty(p);
    release_slabs(task, p);
    use_one_buffer(d);
    return kOk;
}

/// For rows to wait, where that is no must.
bool lacks_memory(const Task* task, const Partitions* p) {
    return p->exact && !p->spare && !p->num_fresh && !has_room(task, slab_bytes(p));
}

/// A block for the rows of a partition, or room because all that waited has been merged. Status.
std::int32_t add_block(Task* task, WeldDict* d, std::int64_t partition, std::int32_t loc) {
    Partitions* p = partitions_of(d);
    if (!p->spare && !p->num_fresh) {
        if (p->num_slabs >= p->most_slabs || lacks_memory(task, p)) {
            if (std::exchange(p->has_frequent_numbers, false) && begin_direct_late(task, d, loc))
                return kFailed;
            if (p->direct.slots) return kOk;
            if (merge_all_waiting(task, d, false, loc)) return kFailed;
            allow_slabs(d);
            return kOk;
        }
        if (add_slab(task, p, loc)) return kFailed;
    }
    RowBlock* block = take_block(p);
    block->next = nullptr;
    (p->last[partition] ? p->last[partition]->next : p->first[partition]) = block;
    p->last[partition] = block;
    p->next[partition] = block->rows();
    p->end[partition] = block->rows() + p->block_bytes;
    return kOk;
}

/// Makes room in a buffer that is full. Status.
std::int32_t empty_buffer(Task* task, WeldDict* d, std::int64_t partition, std::int32_t loc) {
    Partitions* p = partitions_of(d);
    if (p->direct.slots) return merge_buffer(task, d, loc);
    const bool needs_block = p->next[partition] == p->end[partition];
    if (p->on_trial) {
        p->tried += p->buffer_bytes / d->stride;
        if (p->tried >= kTrialRows || (needs_block && lacks_memory(task, p))) return end_trial(task, d, loc);
    }
    if (needs_block && add_block(task, d, partition, loc)) return kFailed;
    char* const rows = begin_of_buffer(p, partition);
    if (p->buffers[partition].next == rows) return kOk;
    stream(p->next[partition], rows, p->buffer_bytes);
    p->next[partition] += p->buffer_bytes;
    p->buffers[partition].next = rows;
    return kOk;
}

bool merges_exactly(const WeldDict* d, std::int32_t op) {
    int k = 0;
    return std::ranges::all_of(d->fields(), [&](const ScalarField& f) {
        const WeldMergeOp by = op_of_field(op, k++);
        return by == kWeldMin || by == kWeldMax || (f.kind != kWeldF32 && f.kind != kWeldF64);
    });
}

void release_waiting(Task* task, Partitions* p) {
    release_slabs(task, p);
    if (char* memory = std::exchange(p->buffer_memory, nullptr)) release(task, memory);
}

void release_tables(Task* task, Partitions* p) {
    for (const RowTable& table : p->tables)
        if (table.slots) release(task, table.slots);
    if (p->direct.slots) release(task, p->direct.slots);
    release(task, p);
}

/// Adds rows as if each came by itself. Status.
std::int32_t add_rows(Task* task, WeldDict* d, const char* rows, std::int64_t count, std::int32_t loc) {
    return with_key_kind(d->kind, [&](auto kind) -> std::int32_t {
        for (std::int64_t i = 0; i < count; ++i) {
            const char* row = rows + i * d->stride;
            if (add_row(task, d, row, row + d->value_at, tag_of(hash_key<kind()>(d->key, row)), loc))
                return kFailed;
        }
        return kOk;
    });
}

}  // namespace

bool can_partition(const WeldDict* d) { return !reads_type(d->kind) && d->stride <= kLargestRow; }

bool is_too_large(const Task* task, const WeldDict* d, std::int32_t op) {
    // When rows are merged with each other decides about the bits of inexact sums: so memory must not.
    return d->count == d->most && d->bits >= kLargestIndexBits && can_partition(d) &&
           (!merges_exactly(d, op) || has_room(task, kSlabBlocks * kBlockBytes));
}

/// Null after recording the failure.
static Partitions* new_partitions(Task* task, const WeldDict* d, std::int32_t op, std::int32_t loc) {
    Partitions* p = allocate_array<Partitions>(task, 1, loc);
    if (!p) return nullptr;
    *p = {};
    // Whole lines of the cache.
    const std::int64_t lines = 64 / std::gcd(d->stride, std::int64_t(64)) * d->stride;
    p->buffer_bytes = round_up(kBufferBytes, lines);
    p->block_bytes = round_up(kBlockBytes, p->buffer_bytes);
    p->op = op;
    p->exact = merges_exactly(d, op);
    with_key_kind(d->kind, [&](auto kind) {
        if constexpr (!reads_type(kind())) set_free_of_first<kind()>(p->free_of_first);
    });
    p->most_slabs = kFirstSlabs;
    p->buffer_memory = static_cast<char*>(allocate_array(task, kPartitions, p->buffer_bytes, loc));
    if (!p->buffer_memory) return nullptr;
    for (std::int64_t i = 0; i < kPartitions; ++i)
        p->buffers[i] = {begin_of_buffer(p, i), begin_of_buffer(p, i) + p->buffer_bytes};
    return p;
}

/// Cuts a table: its entries are the first rows that wait. If they are in `range`, they are merged in a direct table. Status.
static std::int32_t partition(Task* task, WeldDict* d, std::int32_t op, std::int32_t loc,
                              const std::optional<KeyRange>& range = {}) {
    Partitions* p = new_partitions(task, d, op, loc);
    WeldDict* cut = p ? new_range(task, d, 0, loc) : nullptr;
    if (!cut) return kFailed;
    cut->partitions = p->buffers;
    cut->buffer_shift = kWeldTagBits - kPartitionBits;
    if (range && may_be_direct(task, cut, *range)) {
        if (begin_direct(task, cut, *range, loc)) return kFailed;
        use_one_buffer(cut);
    }
    if (add_rows(task, cut, d->entries, d->count, loc)) return kFailed;
    std::swap(*cut, *d);
    release_range(task, cut);
    return kOk;
}

std::int32_t begin_trial(Task* task, WeldDict* d, std::int32_t op, std::int32_t loc) {
    if (d->bits - kLargestIndexBits >= std::ssize(kMostUnknown))
        return partition(task, d, op, loc, find_close_keys(d, d->unknown));
    Partitions* p = new_partitions(task, d, op, loc);
    if (!p) return kFailed;
    p->on_trial = true;
    p->places = std::exchange(d->places, nullptr);
    d->partitions = p->buffers;
    d->buffer_shift = kWeldTagBits - kPartitionBits;
    return kOk;
}

/// Merges rows into a table that is not cut, as if each came by itself. Status.
template <KeyKind K>
static std::int32_t merge_rows(Task* task, WeldDict* d, const char* row, std::int64_t count, std::int32_t op,
                               std::int32_t loc) {
    for (const char* const end = row + count * d->stride; row < end; row += d->stride) {
        bool added;
        const std::int64_t number = find_or_add<K>(task, d, sought<K>(d, row), &added, loc);
        if (number < 0) return kFailed;
        char* const into = d->entry(number) + d->value_at;
        const char* const from = row + d->value_at;
        if (added) std::memcpy(into, from, std::size_t(d->value_size));
        else merge_fields(d, op, &into, &from, 1);
    }
    return kOk;
}

/// Of the keys on trial (%). Where all keys are as frequent, twice as many entries know twice as many of them; where some are
/// more frequent, the others are too many to be known.
static std::int64_t most_unknown(const WeldDict* d) {
    constexpr std::int64_t margin = 10;
    const std::int64_t most = kMostUnknown[std::size_t(d->bits - kLargestIndexBits)];
    return d->unknown ? std::min(most, std::max<std::int64_t>(0, 100 - 2 * (100 - d->unknown)) + margin)
                      : most;
}

std::int32_t end_trial(Task* task, WeldDict* d, std::int32_t loc) {
    Partitions* p = d->partitions ? partitions_of(d) : nullptr;
    if (!p || !p->on_trial) return kOk;
    const auto each = [&](const auto& f) -> std::int32_t {
        for (std::int64_t i = 0; i < kPartitions; ++i)
            if (each_waiting(p, d->stride, i, f)) return kFailed;
        return kOk;
    };
    d->partitions = nullptr;
    d->places = std::exchange(p->places, nullptr);
    const std::int32_t status = with_key_kind(d->kind, [&](auto kind) -> std::int32_t {
        std::int64_t all = 0, unknown = 0;
        each([&](const char* rows, std::int64_t count) -> std::int32_t {
            all += count;
            for (std::int64_t i = 0; i < count; ++i)
                unknown += find_entry<kind()>(d, sought<kind()>(d, rows + i * d->stride)) < 0;
            return kOk;
        });
        const std::int64_t percent = all ? unknown * 100 / all : 0;
        const bool is_to_be_cut = percent > most_unknown(d);
        const std::optional<KeyRange> range =
            is_to_be_cut || !d->places ? find_close_keys(d, percent) : std::nullopt;
        if (is_to_be_cut || range) {
            const bool may_be_late = !range && are_frequent(percent) && has_number_keys(d);
            if (partition(task, d, p->op, loc, range)) return kFailed;
            partitions_of(d)->has_frequent_numbers = may_be_late;
            return each(
                [&](const char* rows, std::int64_t count) { return add_rows(task, d, rows, count, loc); });
        }
        d->unknown = percent;
        return each([&](const char* rows, std::int64_t count) {
            return merge_rows<kind()>(task, d, rows, count, p->op, loc);
        });
    });
    if (status) return kFailed;
    release_waiting(task, p);
    release_tables(task, p);
    return kOk;
}

std::int32_t let_wait(Task* task, WeldDict* d, std::int32_t op, std::int32_t loc) {
    if (partition(task, d, op, loc)) return kFailed;
    partitions_of(d)->most_slabs = INT64_MAX;
    return kOk;
}

/// What a chunk of a loop merged, which merges into the table of the loop in the end, row by row: what loops in its rounds
/// merge joins these rows.
static bool only_waits(const WeldDict* d) {
    return d->partitions && partitions_of(d)->most_slabs == INT64_MAX && !partitions_of(d)->exact;
}

std::int32_t add_row(Task* task, WeldDict* d, const void* key, const void* value, std::uint32_t tag,
                     std::int32_t loc) {
    const auto partition = std::int64_t(std::uint64_t(tag) >> d->buffer_shift);
    WeldRowBuffer& buffer = d->partitions[partition];
    std::memcpy(buffer.next, key, std::size_t(d->key_size));
    std::memcpy(buffer.next + d->value_at, value, std::size_t(d->value_size));
    buffer.next += d->stride;
    return buffer.next == buffer.end ? empty_buffer(task, d, partition, loc) : kOk;
}

/// All rows of `from` come to wait in `d`, as if each came by itself. Status.
static std::int32_t wait_too(Task* task, WeldDict* d, const WeldDict* from, std::int32_t loc) {
    if (!from->partitions) return add_rows(task, d, from->entries, from->count, loc);
    for (std::int64_t i = 0; i < kPartitions; ++i) {
        std::int32_t status = with_rows(from, i, [&](const auto& rows) -> std::int32_t {
            std::int32_t failed = kOk;
            rows.each([&](const char* row) { failed = failed ? failed : add_rows(task, d, row, 1, loc); });
            return failed;
        });
        if (!status)
            status = each_waiting(
                partitions_of(from), from->stride, i,
                [&](const char* rows, std::int64_t count) { return add_rows(task, d, rows, count, loc); });
        if (status) return status;
    }
    return kOk;
}

std::int32_t merge_partitions(Task* task, std::span<WeldDict* const> tables, std::int32_t op,
                              std::int32_t loc) {
    for (WeldDict* d : tables)
        if (end_trial(task, d, loc)) return kFailed;
    if (only_waits(tables[0])) {
        for (WeldDict* d : tables.subspan(1)) {
            if (end_direct(task, d, Ended::RowsWait, loc) || wait_too(task, tables[0], d, loc))
                return kFailed;
            release_table(task, d);
        }
        return kOk;
    }
    WeldDict* whole = tables[0];
    bool merged = false;
    if (merge_direct(task, tables, &merged, loc)) return kFailed;
    if (merged) {
        for (WeldDict* d : tables.subspan(1)) release_table(task, d);
        return kOk;
    }
    for (WeldDict* d : tables)
        if (!d->partitions && partition(task, d, op, loc)) return kFailed;
    const std::int32_t status =
        run_parts(task, kPartitions, true, loc, [&](Task* t, int, std::int64_t i) -> std::int32_t {
            if (merge_waiting(t, whole, whole, i, loc)) return kFailed;
            for (WeldDict* d : tables.subspan(1))
                if (merge_merged(t, whole, d, i, loc) || merge_waiting(t, whole, d, i, loc)) return kFailed;
            return kOk;
        });
    if (status) return status;
    empty(partitions_of(whole));
    allow_slabs(whole);
    for (WeldDict* d : tables.subspan(1)) release_table(task, d);
    return kOk;
}

bool should_merge(const Task* task, const WeldDict* whole, std::span<WeldDict* const> tables) {
    if (!whole->partitions) return true;
    std::int64_t waiting = 0;
    for (const WeldDict* d : tables)
        if (d->partitions) waiting += partitions_of(d)->num_slabs * slab_bytes(partitions_of(d));
    return waiting >= kMostWaiting * table_bytes(whole) || !has_room(task, waiting);
}

std::int32_t settle_partitions(Task* task, WeldDict* d, std::int32_t loc) {
    if (end_trial(task, d, loc)) return kFailed;
    const bool settled = !d->partitions || !partitions_of(d)->buffer_memory;
    if (settled) return kOk;
    if (end_direct(task, d, Ended::Merged, loc)) return kFailed;
    if (merge_all_waiting(task, d, true, loc)) return kFailed;
    release_waiting(task, partitions_of(d));
    return kOk;
}

std::int64_t count_partitions(const WeldDict* d) {
    std::int64_t count = 0;
    for (const RowTable& table : partitions_of(d)->tables) count += table.count;
    return count;
}

std::int32_t list_partitions(Task* task, const WeldDict* d, WeldVec* out, std::int32_t loc) {
    std::vector<std::int64_t> firsts;
    std::int64_t total = 0;
    for (const RowTable& table : partitions_of(d)->tables) {
        firsts.push_back(total);
        total += table.count;
    }
    char* data = static_cast<char*>(allocate_array(task, total, d->stride, loc));
    if (!data) return kFailed;
    *out = {data, total};
    return run_parts(task, kPartitions, true, loc, [&](Task*, int, std::int64_t i) {
        return with_rows(d, i, [&](const auto& rows) {
            char* to = data + firsts[std::size_t(i)] * d->stride;
            for (const auto& [tag, row] : rows.in_order()) {
                std::memcpy(to, row, std::size_t(rows.stride()));
                to += rows.stride();
            }
            return kOk;
        });
    });
}

std::int32_t join_partitions(Task* task, WeldDict* d, std::int32_t loc) {
    if (settle_partitions(task, d, loc)) return kFailed;
    if (!d->partitions) return kOk;
    Partitions* p = partitions_of(d);
    release_index(task, d);
    std::vector<std::int64_t> counts;
    for (const RowTable& table : p->tables) counts.push_back(table.count);
    const auto fill = [&](Task*, std::int64_t partition, std::int64_t number, IndexRange* part) {
        return with_rows(d, partition, [&](const auto& rows) {
            rows.each([&](const char* row) {
                std::memcpy(d->entry(number), row, std::size_t(d->stride));
                part->add(rows.tag(row), number++);
            });
            return kOk;
        });
    };
    if (join_ranges(task, d, counts, kPartitionBits, loc, fill)) return kFailed;
    d->partitions = nullptr;
    release_tables(task, p);
    return kOk;
}

void release_partitions(Task* task, WeldDict* d) {
    if (const WeldPlaces* places = partitions_of(d)->places) release(task, const_cast<WeldPlaces*>(places));
    release_waiting(task, partitions_of(d));
    release_tables(task, partitions_of(d));
}

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" std::int32_t weld_rt_dict_next_buffer(WeldTask* t, WeldDict* d, WeldRowBuffer* buffer,
                                                 std::int32_t loc) {
    return empty_buffer(task_of(t), d, buffer - d->partitions, loc);
}
