// Filling buffers of partitions, merging what waits in them, and joining the partitions.
#include "runtime/partitions.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/entry.h"
#include "runtime/parallel.h"

namespace weld::runtime {

namespace {

constexpr int kLargestIndexBits = 16;      // of a table that is not cut: with its entries it fits the cache
constexpr std::int64_t kLargestRow = 256;  // bytes
constexpr std::int64_t kBufferBytes = 256, kBlockBytes = 16 << 10;  // about
constexpr std::int64_t kSlabBlocks = kPartitions;
constexpr std::int64_t kFirstSlabs = 16;

std::int64_t slab_bytes(const Partitions* p) {
    return std::int64_t(sizeof(RowBlock)) + kSlabBlocks * (std::int64_t(sizeof(RowBlock)) + p->block_bytes);
}

/// As long as there is memory to be had, without leaving too little for anything else.
bool has_room(const Task* task, std::int64_t bytes) {
    return task->account().limit() - task->account().used() >= 4 * bytes;
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

/// Copies past the cache. It is a worker's next atomic operation that makes this visible to others: workers
/// end with one.
void stream(char* to, const char* from, std::int64_t bytes) {
#ifdef __SSE2__
    for (; bytes > 0; bytes -= 16, to += 16, from += 16)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to),
                         _mm_load_si128(reinterpret_cast<const __m128i*>(from)));
#else
    std::memcpy(to, from, std::size_t(bytes));
#endif
}

/// Calls f(rows, count) for the rows that wait, in order.
template <class F>
std::int32_t each_waiting(const WeldDict* d, std::int64_t partition, const F& f) {
    const Partitions* p = partitions_of(d);
    for (RowBlock* b = p->first[partition]; b; b = b->next) {
        const std::int64_t bytes = b->next ? p->block_bytes : p->next[partition] - b->rows();
        if (f(b->rows(), bytes / d->stride)) return kFailed;
    }
    const char* rows = begin_of_buffer(p, partition);
    const std::int64_t count = (p->buffers[partition].next - rows) / d->stride;
    return count ? f(rows, count) : kOk;
}

WeldDict* range_of(Task* task, WeldDict* d, std::int64_t partition, std::int32_t loc) {
    WeldDict*& range = partitions_of(d)->ranges[partition];
    if (!range) range = new_range(task, d, kPartitionBits, loc);
    return range;
}

/// Merges the rows of `from` that wait into the range of `d`.
std::int32_t merge_waiting(Task* task, WeldDict* d, const WeldDict* from, std::int64_t partition,
                           std::int32_t loc) {
    return each_waiting(from, partition, [&](const char* rows, std::int64_t count) -> std::int32_t {
        WeldDict* range = range_of(task, d, partition, loc);
        return range ? merge_rows(task, range, rows, count, partitions_of(d)->op, loc) : kFailed;
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

/// So much may wait as the ranges take twice: then what is done to them for each merge stays in proportion.
void allow_slabs(WeldDict* d) {
    Partitions* p = partitions_of(d);
    std::int64_t bytes = 0;
    for (const WeldDict* range : p->ranges)
        if (range) bytes += range->count * d->stride + std::int64_t(sizeof(std::uint64_t) << range->bits);
    p->most_slabs = std::max(kFirstSlabs, 2 * bytes / slab_bytes(p));
}

/// A block for the rows of a partition, or room because all that waited has been merged. Status.
std::int32_t add_block(Task* task, WeldDict* d, std::int64_t partition, std::int32_t loc) {
    Partitions* p = partitions_of(d);
    if (!p->spare && !p->num_fresh) {
        if (p->num_slabs >= p->most_slabs || !has_room(task, slab_bytes(p))) {
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
    if (p->next[partition] == p->end[partition] && add_block(task, d, partition, loc)) return kFailed;
    char* const rows = begin_of_buffer(p, partition);
    if (p->buffers[partition].next == rows) return kOk;
    stream(p->next[partition], rows, p->buffer_bytes);
    p->next[partition] += p->buffer_bytes;
    p->buffers[partition].next = rows;
    return kOk;
}

/// Rows of a table may be merged into another before they are merged with each other.
bool merges_exactly(const WeldDict* d, std::int32_t op) {
    const auto is_real = [](const ScalarField& f) { return f.kind == kWeldF32 || f.kind == kWeldF64; };
    return op == kWeldMin || op == kWeldMax || std::none_of(d->fields, d->fields + d->num_fields, is_real);
}

void release_rows(Task* task, Partitions* p) {
    for (RowSlab *slab = p->slabs, *next; slab; slab = next) {
        next = slab->next;
        release(task, slab);
    }
    release(task, p->buffer_memory);
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

bool should_partition(const Task* task, const WeldDict* d) {
    return d->count == d->most && d->bits >= kLargestIndexBits && d->kind < KeyKind::Bytes &&
           d->stride <= kLargestRow && has_room(task, kSlabBlocks * kBlockBytes);
}

std::int32_t partition(Task* task, WeldDict* d, std::int32_t op, std::int32_t loc) {
    Partitions* p = allocate_array<Partitions>(task, 1, loc);
    if (!p) return kFailed;
    *p = {};
    // Whole lines of the cache.
    const std::int64_t lines = 64 / std::gcd(d->stride, std::int64_t(64)) * d->stride;
    p->buffer_bytes = round_up(kBufferBytes, lines);
    p->block_bytes = round_up(kBlockBytes, p->buffer_bytes);
    p->op = op;
    p->most_slabs = kFirstSlabs;
    p->buffer_memory = static_cast<char*>(allocate_array(task, kPartitions, p->buffer_bytes, loc));
    WeldDict* cut = p->buffer_memory ? new_range(task, d, 0, loc) : nullptr;
    if (!cut) return kFailed;
    for (std::int64_t i = 0; i < kPartitions; ++i)
        p->buffers[i] = {begin_of_buffer(p, i), begin_of_buffer(p, i) + p->buffer_bytes};
    cut->partitions = p->buffers;
    if (add_rows(task, cut, d->entries, d->count, loc)) return kFailed;
    std::swap(*cut, *d);
    release_range(task, cut);
    return kOk;
}

std::int32_t add_row(Task* task, WeldDict* d, const void* key, const void* value, std::uint32_t tag,
                     std::int32_t loc) {
    const std::int64_t partition = tag >> (32 - kPartitionBits);
    WeldRowBuffer& buffer = d->partitions[partition];
    std::memcpy(buffer.next, key, std::size_t(d->key_size));
    std::memcpy(buffer.next + d->value_at, value, std::size_t(d->value_size));
    buffer.next += d->stride;
    return buffer.next == buffer.end ? empty_buffer(task, d, partition, loc) : kOk;
}

std::int32_t merge_partitions(Task* task, std::span<WeldDict* const> tables, std::int32_t op,
                              std::int32_t loc) {
    for (WeldDict* d : tables)
        if (!d->partitions && partition(task, d, op, loc)) return kFailed;
    WeldDict* whole = tables[0];
    const bool by_row = merges_exactly(whole, op);
    const std::int32_t status =
        run_parts(task, kPartitions, true, loc, [&](Task* t, int, std::int64_t i) -> std::int32_t {
            if (merge_waiting(t, whole, whole, i, loc)) return kFailed;
            for (WeldDict* d : tables.subspan(1)) {
                if (!by_row && merge_waiting(t, d, d, i, loc)) return kFailed;
                if (const WeldDict* range = partitions_of(d)->ranges[i]) {
                    WeldDict* into = range_of(t, whole, i, loc);
                    if (!into || merge_rows(t, into, range->entries, range->count, op, loc)) return kFailed;
                }
                if (by_row && merge_waiting(t, whole, d, i, loc)) return kFailed;
            }
            return kOk;
        });
    if (status) return status;
    empty(partitions_of(whole));
    allow_slabs(whole);
    for (WeldDict* d : tables.subspan(1)) release_table(task, d);
    return kOk;
}

std::int32_t join_partitions(Task* task, WeldDict* d, std::int32_t loc) {
    if (!d->partitions) return kOk;
    if (merge_all_waiting(task, d, true, loc)) return kFailed;
    Partitions* p = partitions_of(d);
    release_rows(task, p);
    release(task, d->index);
    if (join_ranges(task, d, p->ranges, kPartitionBits, nullptr, loc)) return kFailed;
    d->partitions = nullptr;
    release(task, p);
    return kOk;
}

void release_partitions(Task* task, WeldDict* d) {
    Partitions* p = partitions_of(d);
    release_rows(task, p);
    for (WeldDict* range : p->ranges)
        if (range) release_range(task, range);
    release(task, p);
}

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" std::int32_t weld_rt_dict_next_buffer(WeldTask* t, WeldDict* d, WeldRowBuffer* buffer,
                                                 std::int32_t loc) noexcept {
    return empty_buffer(task_of(t), d, buffer - d->partitions, loc);
}
