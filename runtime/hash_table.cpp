// Tables: making, growing, finding.
#include "runtime/hash_table.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "runtime/entry.h"
#include "runtime/merge.h"
#include "runtime/order.h"
#include "runtime/parallel.h"
#include "runtime/partitions.h"
#include "runtime/places.h"

namespace weld::runtime {

/// A table for each of many short rows is made as often as it grows: it begins with room for eight keys, and small
/// ones grow four times.
static constexpr int kFewestBits = 6, kGrowsTwiceBits = 10;
static constexpr std::int64_t kFirstBytes = 256;  ///< of entries
/// The fewer slots of an index are taken, the more keys are found at the first place looked at, which a
/// processor can guess, and whose entry can be asked for early: up to an eighth where it is small anyway, up
/// to 5/16 where it stays in the last level of the cache.
static constexpr int kSmallBits = 15, kLargeBits = 23;

/// How many entries an index of 1 << bits slots is long enough for. Of ranges many are in the cache at a
/// time.
static std::int64_t most_entries(int bits, bool is_range) {
    const std::int64_t slots = std::int64_t(1) << bits;
    if (is_range || bits >= kLargeBits) return slots / 8 * 5;
    return bits < kSmallBits ? slots / 8 : slots / 16 * 5;
}

static int index_bits(std::int64_t entries, bool is_range) {
    int bits = kFewestBits;
    while (most_entries(bits, is_range) < entries) ++bits;
    return bits;
}

static void set_index(WeldDict* d, std::uint64_t* slots, int bits) {
    d->index = slots;
    d->bits = bits;
    d->mask = (std::uint64_t(1) << bits) - 1;
    d->shift = std::max(0, kWeldTagBits - bits - d->skip);
    d->most = most_entries(bits, d->is_range);
    d->displaced = 0;
    d->most_displaced = many_displaced(d->most, bits);
}

static std::uint64_t* new_index(Task* task, int bits, std::int32_t loc) {
    const std::int64_t slots = std::int64_t(1) << bits;
    std::uint64_t* index = allocate_array<std::uint64_t>(task, slots, loc);
    const auto clear = [&](std::int64_t lo, std::int64_t hi) { std::fill(index + lo, index + hi, 0); };
    return index && !in_strips(task, 0, slots, loc, clear) ? index : nullptr;
}

/// A copy of `type` that lives with a table: code, whose data types are, may be gone before the table is.
static const WeldType* copy_type(Task* task, const WeldType* type, std::int32_t loc) {
    WeldType* copy = allocate_array<WeldType>(task, 1, loc);
    if (!copy) return nullptr;
    *copy = *type;
    const WeldType** args = allocate_array<const WeldType*>(task, type->num_args, loc);
    if (!args) return nullptr;
    for (std::uint32_t i = 0; i < type->num_args; ++i)
        if (!(args[i] = copy_type(task, type->args[i], loc))) return nullptr;
    copy->args = args;
    if (type->kind != kWeldStruct) return copy;
    std::int64_t* offsets = allocate_array<std::int64_t>(task, type->num_args, loc);
    if (!offsets) return nullptr;
    std::copy_n(type->offsets, type->num_args, offsets);
    copy->offsets = offsets;
    return copy;
}

/// Notes the first vector of integers in a key.
static void find_string(WeldDict* d, const WeldType* t, std::int64_t at) {
    if (d->string_at >= 0) return;
    if (t->kind == kWeldStruct)
        for (std::uint32_t i = 0; i < t->num_args; ++i) find_string(d, t->args[i], at + t->offsets[i]);
    if (t->kind != kWeldVec || !bytes_decide(t->args[0])) return;
    d->string_at = at;
    d->string_elem = t->args[0]->size;
}

WeldDict* new_table(Task* task, const WeldType* key, std::int64_t value_size, std::int64_t value_align,
                    std::int32_t loc) {
    constexpr std::int64_t index_at = round_up(std::int64_t(sizeof(WeldDict)), 64);
    constexpr std::int64_t entries_at = index_at + (std::int64_t(sizeof(std::uint64_t)) << kFewestBits);
    char* const block = static_cast<char*>(allocate_array(task, entries_at + kFirstBytes, 1, loc));
    if (!block) return nullptr;
    WeldDict* d = new (block) WeldDict{};
    const std::int64_t align = std::max(key->align, value_align);
    d->value_at = round_up(key->size, value_align);
    d->pair_size = round_up(d->value_at + value_size, align);
    d->key_size = key->size;
    d->key_align = key->align;
    d->value_size = value_size;
    d->kind = key_kind(key);
    d->string_at = -1;
    find_string(d, key, 0);
    d->stride = d->pair_size + (d->string_at >= 0 ? round_up(kHeadBytes, align) : 0);
    const bool keeps_type = reads_type(d->kind) || !bytes_decide(key);
    if (keeps_type && !(d->key = copy_type(task, key, loc))) return nullptr;
    d->first_index = reinterpret_cast<std::uint64_t*>(block + index_at);
    std::fill_n(d->first_index, std::int64_t(1) << kFewestBits, 0);
    set_index(d, d->first_index, kFewestBits);
    if (d->stride > 0 && d->stride <= kFirstBytes && align <= 64) {
        d->entries = d->first_entries = block + entries_at;
        d->capacity = kFirstBytes / d->stride;
    }
    return d;
}

WeldDict* new_range(Task* task, const WeldDict* model, int skip, std::int32_t loc) {
    WeldDict* d = allocate_array<WeldDict>(task, 1, loc);
    std::uint64_t* index = d ? new_index(task, kFewestBits, loc) : nullptr;
    if (!index) return nullptr;
    *d = *model;
    d->entries = d->first_entries = nullptr;
    d->first_index = nullptr;
    d->partitions = nullptr;
    d->count = d->capacity = 0;
    d->num_key_fields = 0;
    d->placing = {};
    d->unknown = 0;
    d->places = nullptr;
    d->given = 0;
    d->skip = skip;
    d->is_range = true;
    set_index(d, index, kFewestBits);
    return d;
}

void expect_few(WeldDict* d) {
    constexpr std::int64_t many = 64, most_in_first_index = 24;
    if (d->count > 0) return;
    if (d->num_key_fields > 0) d->placing.anew = d->placing.next = many;
    if (d->index != d->first_index) return;
    d->most = most_in_first_index;
    d->most_displaced = INT64_MAX;
}

std::int32_t describe_values(Task* task, WeldDict* d, const WeldType* value, std::int32_t loc) {
    for_each_scalar(value, 0, [&](const WeldType*, std::int64_t) { ++d->num_fields; });
    ScalarField* fields = d->few_fields;
    if (d->num_fields > std::ssize(d->few_fields)) {
        if (!(fields = allocate_array<ScalarField>(task, d->num_fields, loc))) return kFailed;
        d->many_fields = fields;
    }
    for_each_scalar(value, 0,
                    [&](const WeldType* s, std::int64_t at) { *fields++ = {s->kind, std::int32_t(at)}; });
    return kOk;
}

static void release_type(Task* task, const WeldType* t) {
    for (std::uint32_t i = 0; i < t->num_args; ++i) release_type(task, t->args[i]);
    release(task, const_cast<const WeldType**>(t->args));
    if (t->kind == kWeldStruct) release(task, const_cast<std::int64_t*>(t->offsets));
    release(task, const_cast<WeldType*>(t));
}

void release_index(Task* task, WeldDict* d) {
    if (d->index != d->first_index) release(task, d->index);
}

void release_entries(Task* task, WeldDict* d) {
    if (d->entries != d->first_entries) release(task, d->entries);
}

void release_range(Task* task, WeldDict* range) {
    release_entries(task, range);
    release_index(task, range);
    drop_places(task, range);
    release(task, range);
}

void release_table(Task* task, WeldDict* d) {
    if (d->partitions) release_partitions(task, d);
    release(task, const_cast<ScalarField*>(d->many_fields));
    if (d->key) release_type(task, d->key);
    release_range(task, d);
}

static std::int32_t grow_index(Task* task, WeldDict* d, int bits, std::int32_t loc) {
    std::uint64_t* old = d->index;
    const std::int64_t slots = std::int64_t(1) << d->bits;
    std::uint64_t* index = new_index(task, bits, loc);
    if (!index) return kFailed;
    set_index(d, index, bits);
    const auto note = [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i)
            if (old[i]) note_entry(d, tag_in(old[i]), number_in(old[i]));
    };
    if (in_strips(task, 0, slots, loc, note)) return kFailed;
    if (old != d->first_index) release(task, old);
    return kOk;
}

/// Puts `slots` into the index, which is cleared, by what follows `skip` bits of the tags.
static void fill_index(WeldDict* d, std::span<const std::uint64_t> slots, int skip) {
    d->skip = skip;
    set_index(d, d->index, d->bits);
    std::fill_n(d->index, d->mask + 1, 0);
    for (const std::uint64_t slot : slots) note_entry(d, tag_in(slot), number_in(slot));
}

/// Lets those bits of the tags choose the slots that displace the fewest keys, the first that displace few.
static void spread(WeldDict* d) {
    std::vector<std::uint64_t> slots;
    std::copy_if(d->index, d->index + d->mask + 1, std::back_inserter(slots),
                 [](std::uint64_t s) { return s; });
    int best = d->skip;
    std::int64_t fewest = d->displaced;
    const int first = d->is_range ? d->skip : 0;
    for (int skip = first; skip <= std::min(first + kMostSkip, kWeldTagBits - d->bits - 1); ++skip) {
        fill_index(d, slots, skip);
        if (d->displaced >= fewest) continue;
        fewest = d->displaced;
        best = skip;
        if (fewest <= many_displaced(d->count, d->bits) / 2) break;
    }
    if (d->skip != best) fill_index(d, slots, best);
    if (is_crowded(d)) d->most_displaced = INT64_MAX;  // until it grows
}

void spread_if_crowded(WeldDict* d) {
    if (d->displaced > many_displaced(d->count, d->bits)) spread(d);
}

std::int32_t reserve(Task* task, WeldDict* d, std::int64_t entries, std::int32_t loc) {
    if (entries > kMostEntries) return task->fail(kWeldOutOfMemory, loc, "a dictionary has too many keys");
    if (entries > d->capacity) {
        const std::int64_t capacity = std::max({entries, d->capacity * 2, std::int64_t(8)});
        const std::int64_t used = d->count * d->stride;
        const bool is_first = d->entries == d->first_entries;
        char* grown = static_cast<char*>(
            enlarge(task, is_first ? nullptr : d->entries, is_first ? 0 : used, capacity, d->stride, loc));
        if (!grown) return kFailed;
        if (is_first && used > 0) std::memcpy(grown, d->entries, std::size_t(used));
        d->entries = grown;
        d->capacity = capacity;
    }
    if (entries <= d->most) {
        if (!is_crowded(d)) return kOk;
        if (own_index(task, d, loc)) return kFailed;
        spread(d);
        return kOk;
    }
    const int bits = d->bits + (d->bits < kGrowsTwiceBits ? 2 : 1);
    return grow_index(task, d, std::max(bits, index_bits(entries, d->is_range)), loc);
}

std::int32_t begin_with_keys(Task* task, WeldDict* d, const WeldDict* model, int op, std::int32_t loc) {
    if (!model->count) return kOk;
    d->first_index = model->index;
    d->skip = model->skip;
    set_index(d, model->index, model->bits);
    if (model->count > d->capacity) {
        const std::int64_t capacity = model->count + model->count / 8;
        if (!(d->entries = static_cast<char*>(allocate_array(task, capacity, d->stride, loc))))
            return kFailed;
        d->capacity = capacity;
    }
    if (copy_places(task, d, model, loc)) return kFailed;
    d->count = d->given = model->count;
    d->crowded = model->crowded;
    return in_strips(task, 0, d->count, loc, [&](std::int64_t lo, std::int64_t hi) {
        std::memcpy(d->entry(lo), model->entry(lo), std::size_t((hi - lo) * d->stride));
        int k = 0;
        for (const ScalarField& field : d->fields()) {
            const WeldMergeOp by = op_of_field(op, k++);
            with_scalar(field.kind, [&]<class T>(T) {
                char* const first = d->entry(lo) + d->value_at + field.offset;
                for (std::int64_t i = 0; i < hi - lo; ++i)
                    *reinterpret_cast<T*>(first + i * d->stride) = nothing<T>(by);
            });
        }
    });
}

std::int32_t own_index(Task* task, WeldDict* d, std::int32_t loc) {
    if (!d->given || d->index != d->first_index) return kOk;
    const std::int64_t slots = std::int64_t(1) << d->bits;
    auto* index = allocate_array<std::uint64_t>(task, slots, loc);
    if (!index || copy_bytes(task, index, d->index, slots * std::int64_t(sizeof *index), loc)) return kFailed;
    d->index = index;
    return kOk;
}

std::int32_t make_room(Task* task, WeldDict* d, std::int32_t loc) {
    const bool is_full = d->count == d->capacity || d->count == d->most || is_crowded(d);
    return is_full && reserve(task, d, d->count + 1, loc) ? kFailed : own_index(task, d, loc);
}

// ---- merging values ---------------------------------------------------------------------------------------

using MergeFunction = void (*)(std::int64_t offset, char* const* into, const char* const* from,
                               std::int64_t count);

template <class T, WeldMergeOp Op>
static void merge_each(std::int64_t offset, char* const* into, const char* const* from, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
        T& old = *reinterpret_cast<T*>(into[i] + offset);
        old = merged<T>(Op, old, *reinterpret_cast<const T*>(from[i] + offset));
    }
}

#define WELD_MERGES(T) \
    {merge_each<T, kWeldAdd>, merge_each<T, kWeldMul>, merge_each<T, kWeldMin>, merge_each<T, kWeldMax>}
static constexpr MergeFunction merges[][4] = {  // by scalar kind and operator
    WELD_MERGES(std::uint8_t),  WELD_MERGES(std::int8_t),   WELD_MERGES(std::int16_t),
    WELD_MERGES(std::int32_t),  WELD_MERGES(std::int64_t),  WELD_MERGES(std::uint8_t),
    WELD_MERGES(std::uint16_t), WELD_MERGES(std::uint32_t), WELD_MERGES(std::uint64_t),
    WELD_MERGES(float),         WELD_MERGES(double)};
#undef WELD_MERGES

void merge_fields(const WeldDict* d, int op, char* const* into, const char* const* from, std::int64_t count) {
    int k = 0;
    for (const ScalarField& f : d->fields())
        merges[f.kind][op_of_field(op, k++)](f.offset, into, from, count);
}

// ---- joining ----------------------------------------------------------------------------------------------

std::int32_t join_ranges(
    Task* task, WeldDict* d, std::span<const std::int64_t> counts, int bits, std::int32_t loc,
    const std::function<std::int32_t(Task*, std::int64_t range, std::int64_t first, IndexRange*)>& fill) {
    std::vector<std::int64_t> firsts;
    std::int64_t total = 0;
    for (const std::int64_t count : counts) {
        firsts.push_back(total);
        total += count;
    }
    if (total > kMostEntries) return task->fail(kWeldOutOfMemory, loc, "a dictionary has too many keys");
    char* entries = static_cast<char*>(allocate_array(task, total, d->stride, loc));
    const int index_bits = std::max(weld::runtime::index_bits(total, false), bits);
    std::uint64_t* index =
        entries ? allocate_array<std::uint64_t>(task, std::int64_t(1) << index_bits, loc) : nullptr;
    if (!index) return kFailed;
    drop_places(task, d);
    d->entries = entries;
    d->count = d->capacity = total;
    d->skip = 0;
    d->is_range = false;
    set_index(d, index, index_bits);
    std::vector<std::vector<std::uint64_t>> spilled(counts.size());
    std::vector<std::int64_t> displaced(counts.size());
    const auto fill_one = [&](Task* t, int, std::int64_t i) -> std::int32_t {
        IndexRange part(d, std::uint64_t(i), bits);
        if (fill(t, i, firsts[std::size_t(i)], &part)) return kFailed;
        spilled[std::size_t(i)] = std::move(part.spilled);
        displaced[std::size_t(i)] = part.displaced;
        return kOk;
    };
    if (run_parts(task, std::int64_t(counts.size()), true, loc, fill_one)) return kFailed;
    for (const std::vector<std::uint64_t>& slots : spilled)
        for (const std::uint64_t slot : slots) note_entry(d, tag_in(slot), number_in(slot));
    d->displaced += std::reduce(displaced.begin(), displaced.end());
    spread_if_crowded(d);
    return kOk;
}

std::int32_t join_tables(Task* task, WeldDict* d, std::span<WeldDict* const> tables, int bits,
                         std::int32_t loc) {
    std::vector<std::int64_t> counts;
    for (const WeldDict* table : tables) counts.push_back(table->count);
    const auto fill = [&](Task* t, std::int64_t i, std::int64_t first, IndexRange* part) -> std::int32_t {
        const WeldDict* table = tables[std::size_t(i)];
        if (copy_bytes(t, d->entry(first), table->entries, table->count * table->stride, loc)) return kFailed;
        return in_strips(t, 0, std::int64_t(table->mask) + 1, loc, [&](std::int64_t lo, std::int64_t hi) {
            for (std::int64_t at = lo; at < hi; ++at)
                if (const std::uint64_t slot = table->index[at])
                    part->add(tag_in(slot), first + number_in(slot));
        });
    };
    if (join_ranges(task, d, counts, bits, loc, fill)) return kFailed;
    for (WeldDict* table : tables) release_range(task, table);
    return kOk;
}

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" {

const void* weld_rt_dict_find(WeldTask*, const WeldDict* d, const void* key) noexcept {
    if (!d || !d->count) return nullptr;
    return with_key_kind(d->kind, [&](auto kind) -> const void* {
        KeyRoom room;
        const std::int64_t number = find_entry<kind()>(d, sought<kind()>(d, canonical_key(d, key, &room)));
        return number < 0 ? nullptr : d->entry(number) + d->value_at;
    });
}

std::uint64_t weld_rt_hash_bytes(const void* data, std::int64_t bytes) noexcept {
    return hash_bytes(data, bytes);
}

std::int32_t weld_rt_equal_bytes(const void* a, const void* b, std::int64_t bytes) noexcept {
    return equal_bytes(a, b, bytes);
}

std::int64_t weld_rt_dict_len(const WeldDict* d) noexcept {
    if (!d) return 0;
    return d->partitions ? count_partitions(d) : d->count;
}
}
