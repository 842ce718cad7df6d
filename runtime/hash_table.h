// Tables: dictionaries and the states of dictmerger.
//
// Entries {key, value} lie one after the other in the order of insertion. An index with open addressing says
// where: each slot holds 32 bits of the hash (the tag, whose upper bits are also the place in the index) and
// the number of the entry. So growing never hashes again, and a probe looks at a key only when the tag fits.
// Of keys with strings the first bytes of the first string, the head, lie behind {key, value}: a probe looks
// at strings only when they begin alike and are longer than that.
//
//     dictmerger[vec[u8],i64,+]:    key           value  head
//                                 { ptr, len }    i64    16 bytes      40 bytes in all
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "runtime/abi/weld_abi.h"
#include "runtime/keys.h"
#include "runtime/task.h"

namespace weld::runtime {

/// A scalar in the values of a table.
struct ScalarField {
    std::int32_t kind;
    std::int32_t offset;
};

/// When a table makes places (places.h), by how many entries there are.
struct Placing {
    std::int64_t next = INT64_MAX;  ///< one for the last entry, or all
    std::int64_t anew = 0;          ///< all of them
    std::int64_t wider = 0;         ///< all of them, if the last entry has none
    std::uint64_t first = 0;        ///< the place of the first entry, which free places name
    std::int64_t made = 0;          ///< how often they were made anew
    std::int64_t asked = 0;  ///< the keys that there were when it was asked last whether groups be spread
    enum class Spread : std::uint8_t { Unknown, Pays, Misses } spread = Spread::Unknown;  ///< see spread.h
};

struct Partitions;

}  // namespace weld::runtime

struct WeldDict : WeldTable {
    std::int64_t count;        ///< entries
    std::int64_t capacity;     ///< entries there is room for
    std::int64_t most;         ///< entries the index is long enough for
    std::int64_t stride;       ///< of entries
    std::int64_t pair_size;    ///< of {key, value}; the head of the key's string follows
    std::int64_t string_at;    ///< the first vector of integers in the key; -1: there is none
    std::int64_t string_elem;  ///< bytes of its elements
    std::int64_t value_at;
    std::int64_t key_size;
    std::int64_t key_align;
    std::int64_t value_size;
    int bits;  ///< the index has 1 << bits slots
    int skip;  ///< so many upper bits of tags do not choose the slot: those that all tags begin with, or crowded ones
    bool is_range;                ///< of keys whose tags begin with the same bits
    std::int64_t displaced;       ///< keys that are not in the first slot looked at
    std::int64_t most_displaced;  ///< more of them are seen to
    weld::runtime::KeyKind kind;
    std::int32_t num_fields;  ///< of values that can be merged: few, or many
    weld::runtime::ScalarField few_fields[2];
    const weld::runtime::ScalarField* many_fields;
    /// The table's own copy; null if the bytes of every key are canonical.
    const WeldType* key;
    std::int32_t num_key_fields;  ///< of which places are made (places.h); 0: there are none
    weld::runtime::ScalarField key_fields[kWeldMostKeyFields];
    weld::runtime::Placing placing;
    std::int64_t unknown;  ///< keys (%) that it did not hold on trial (partitions.h); 0: it was on none
    std::int64_t given;    ///< so many of the first entries are those of another table, see begin_with_keys
    /// Room for the first few, in the table's own block; null: there is none. Or the index of the table whose entries are
    /// `given`.
    std::uint64_t* first_index;
    char* first_entries;

    char* entry(std::int64_t i) const { return entries + i * stride; }
    std::span<const weld::runtime::ScalarField> fields() const {
        return {many_fields ? many_fields : few_fields, std::size_t(num_fields)};
    }
};

namespace weld::runtime {

constexpr std::int64_t kMostEntries = 0xfffffffe;

/// Keys in even steps, as minutes are in seconds, can lie so that many want the same slots, and each that is not in the
/// first one costs a processor a wrong guess. Other bits of the hash choose then, behind the first `skip`: which spread
/// such keys evenly, one of a few does.
constexpr int kMostSkip = 12;
/// Half as many again as of keys that lie anywhere: of these half as many are displaced as the table is full.
constexpr std::int64_t many_displaced(std::int64_t count, int bits) {
    return 8 + (3 * count * count >> (bits + 2));
}

/// An empty table. Null after recording the failure.
WeldDict* new_table(Task* task, const WeldType* key, std::int64_t value_size, std::int64_t value_align,
                    std::int32_t loc);
/// An empty table with the types of `model`, which it borrows, for keys whose tags begin with the same `skip`
/// bits. Null after recording the failure.
WeldDict* new_range(Task* task, const WeldDict* model, int skip, std::int32_t loc);
/// A few searches take less time than what makes many fast: `d`, if it is empty, gets places only for many keys, and its
/// first index takes more of them before it grows.
void expect_few(WeldDict* d);
/// Notes how values of type `value` are merged. Status.
std::int32_t describe_values(Task* task, WeldDict* d, const WeldType* value, std::int32_t loc);
/// Gives `d`, which is empty, the keys of `model`, with values that merging leaves as they were: keys that are known
/// need not be added again, and tables with the same first entries become one by going through these. Status.
std::int32_t begin_with_keys(Task* task, WeldDict* d, const WeldDict* model, int op, std::int32_t loc);
/// Such a table looks keys up in the index of `model` until it has more, or until this. Status.
std::int32_t own_index(Task* task, WeldDict* d, std::int32_t loc);
/// Makes room for `entries` in all. Status.
std::int32_t reserve(Task* task, WeldDict* d, std::int64_t entries, std::int32_t loc);
/// Frees what a table that nothing points to any more consists of.
void release_table(Task* task, WeldDict* d);
void release_range(Task* task, WeldDict* range);
void release_index(Task* task, WeldDict* d);
void release_entries(Task* task, WeldDict* d);

/// Never 0, so that no key looks like a free slot.
inline std::uint32_t tag_of(std::uint64_t hash) { return std::uint32_t(hash >> (64 - kWeldTagBits)) | 1; }
inline std::uint64_t first_slot(const WeldDict* d, std::uint32_t tag) { return tag >> d->shift & d->mask; }
inline std::uint64_t slot_of(std::uint32_t tag, std::int64_t number) {
    return std::uint64_t(tag) << (64 - kWeldTagBits) | std::uint64_t(number + 1);
}
inline std::uint32_t tag_in(std::uint64_t slot) { return std::uint32_t(slot >> (64 - kWeldTagBits)); }
inline std::int64_t number_in(std::uint64_t slot) { return std::int64_t(std::uint32_t(slot)) - 1; }

/// A key to look for, or to add.
struct Sought {
    const void* key;
    std::uint32_t tag;
    Head head;  ///< of kind Bytes
};

/// A key from elsewhere as the table has it, in `room` if need be.
struct KeyRoom {
    alignas(16) char bytes[16];
};
inline const void* canonical_key(const WeldDict* d, const void* key, KeyRoom* room) {
    if (!d->key || reads_type(d->kind)) return key;
    std::memcpy(room->bytes, key, std::size_t(d->key_size));
    make_canonical(d->key, room->bytes);
    return room->bytes;
}

/// Of kind Bytes.
inline std::int64_t bytes_of(const WeldDict* d, const WeldVec& string) { return string.len * d->string_elem; }

/// With the tag that `key` is known to have.
template <KeyKind K>
Sought sought(const WeldDict* d, const void* key, std::uint32_t tag) {
    if constexpr (K != KeyKind::Bytes) return {key, tag, {}};
    const WeldVec v = load<WeldVec>(key);
    return {key, tag, head_of(v.data, bytes_of(d, v))};
}
template <KeyKind K>
[[gnu::always_inline]] inline Sought sought(const WeldDict* d, const void* key) {
    if constexpr (K != KeyKind::Bytes) return {key, tag_of(hash_key<K>(d->key, key)), {}};
    const WeldVec v = load<WeldVec>(key);
    const std::int64_t bytes = bytes_of(d, v);
    const Head head = head_of(v.data, bytes);
    return {key, tag_of(hash_bytes(head, v.data, bytes)), head};
}

/// The key of an entry of `d`, for other tables with such keys.
template <KeyKind K>
Sought sought_of_entry(const WeldDict* d, const char* entry, std::uint32_t tag) {
    if constexpr (K != KeyKind::Bytes) return {entry, tag, {}};
    return {entry, tag, load<Head>(entry + d->pair_size)};
}
template <KeyKind K>
Sought sought_of_entry(const WeldDict* d, const char* entry) {
    if constexpr (K != KeyKind::Bytes) return sought<K>(d, entry);
    const WeldVec v = load<WeldVec>(entry);
    const Head head = load<Head>(entry + d->pair_size);
    return {entry, tag_of(hash_bytes(head, v.data, bytes_of(d, v))), head};
}

/// The key of the entry is that of `s`, whose tag it has.
template <KeyKind K>
bool is_key(const WeldDict* d, const char* entry, const Sought& s) {
    if constexpr (K != KeyKind::Bytes) return equal_keys<K>(d->key, entry, s.key);
    const WeldVec u = load<WeldVec>(entry), v = load<WeldVec>(s.key);
    if (u.len != v.len || load<Head>(entry + d->pair_size) != s.head) return false;
    return equal_rests(u.data, v.data, bytes_of(d, u));
}

/// The number of the entry with the key, or -1.
template <KeyKind K>
std::int64_t find_entry(const WeldDict* d, const Sought& s) {
    for (std::uint64_t at = first_slot(d, s.tag);; at = (at + 1) & d->mask) {
        const std::uint64_t slot = d->index[at];
        if (!slot) return -1;
        if (tag_in(slot) != s.tag) continue;
        const std::int64_t number = number_in(slot);
        if (is_key<K>(d, d->entry(number), s)) return number;
    }
}

/// What a key of such a kind takes, or 0 where that varies.
constexpr std::size_t size_of_key(KeyKind k) {
    switch (k) {
        case KeyKind::Plain1: return 1;
        case KeyKind::Plain2: return 2;
        case KeyKind::Plain4: return 4;
        case KeyKind::Plain8: return 8;
        case KeyKind::Plain12: return 12;
        case KeyKind::Plain16: return 16;
        case KeyKind::Bytes: return sizeof(WeldVec);
        case KeyKind::Any: break;
    }
    return 0;
}

/// Puts an entry that the index does not hold into it.
inline void note_entry(WeldDict* d, std::uint32_t tag, std::int64_t number) {
    std::uint64_t at = first_slot(d, tag);
    d->displaced += d->index[at] != 0;
    while (d->index[at]) at = (at + 1) & d->mask;
    d->index[at] = slot_of(tag, number);
}

inline bool is_crowded(const WeldDict* d) { return d->displaced > d->most_displaced; }
/// Spreads the keys of a table that is complete, if many of them are not in their first slots.
void spread_if_crowded(WeldDict* d);
/// Makes room for one entry more, in an index that is the table's own and not crowded. Status.
std::int32_t make_room(Task* task, WeldDict* d, std::int32_t loc);
inline std::uint32_t* slots_of(const WeldPlaces* places) {
    return reinterpret_cast<std::uint32_t*>(const_cast<WeldPlaces*>(places + 1));
}
/// Keys are one byte, of which each has a place.
inline bool has_place_for_all(const WeldDict* d) { return d->num_key_fields == 1 && d->key_size == 1; }
/// Gives entry `number` its place (places.h). False: another one has it.
[[gnu::always_inline]] inline bool fill_place(WeldDict* d, std::int64_t number, std::uint64_t place) {
    const bool all = has_place_for_all(d);
    std::uint32_t& slot = slots_of(d->places)[place];
    const std::int64_t distance = (all ? number + 1 : number) * d->stride;
    if (!all && (slot || place == d->placing.first)) return number == 0;  // free ones name the first entry
    if (distance > std::int64_t(UINT32_MAX)) return false;
    slot = std::uint32_t(distance);
    return true;
}
/// Makes places anew. Status.
std::int32_t make_places(Task* task, WeldDict* d, std::int32_t loc);
/// The same where it is time to, or gives the last entry its place. Status.
std::int32_t add_place(Task* task, WeldDict* d, std::int32_t loc);

/// The place of a key that is one integer.
template <KeyKind K>
std::uint64_t place_of(const WeldDict* d, const void* key) {
    std::uint64_t number = 0;
    std::memcpy(&number, key, size_of_key(K));
    if (K == KeyKind::Plain2 && d->key_fields[0].kind == kWeldI16)
        number = std::uint64_t(std::int16_t(number));
    return number & d->places->mask;  // which has less than 32 bits
}

/// Adds an entry for a key that the table does not hold; its value is left undefined. Its number, or -1 after
/// recording the failure.
template <KeyKind K>
std::int64_t add_entry(Task* task, WeldDict* d, const Sought& s, std::int32_t loc) {
    const bool is_full = d->count == d->capacity || d->count == d->most || is_crowded(d);
    if ((is_full || d->given) && make_room(task, d, loc)) return -1;
    note_entry(d, s.tag, d->count);
    char* const entry = d->entry(d->count);
    constexpr std::size_t size = size_of_key(K);
    std::memcpy(entry, s.key, size ? size : std::size_t(d->key_size));
    if (K == KeyKind::Bytes) {
        std::memcpy(entry + d->pair_size, &s.head, sizeof s.head);
    } else if (K == KeyKind::Any && d->string_at >= 0) {
        const WeldVec v = load<WeldVec>(entry + d->string_at);
        const Head head = head_of(v.data, v.len * d->string_elem);
        std::memcpy(entry + d->pair_size, &head, sizeof head);
    }
    const std::int64_t number = d->count++;
    if (d->count >= d->placing.next) return add_place(task, d, loc) ? -1 : number;
    if constexpr (size_of_key(K) > 0 && size_of_key(K) <= 8)
        if (d->places && d->num_key_fields == 1) {
            const bool has_one = fill_place(d, number, place_of<K>(d, entry));
            if (!has_one && d->count >= d->placing.wider && make_places(task, d, loc)) return -1;
        }
    return number;
}

template <KeyKind K>
std::int64_t find_or_add(Task* task, WeldDict* d, const Sought& s, bool* added, std::int32_t loc) {
    const std::int64_t number = find_entry<K>(d, s);
    *added = number < 0;
    return *added ? add_entry<K>(task, d, s, loc) : number;
}

/// Merges the values at `from` into those at `into`, one after the other, by the fields of `d`.
void merge_fields(const WeldDict* d, int op, char* const* into, const char* const* from, std::int64_t count);
/// The part of an index that a range of the hash has: the keys whose tags begin with the same bits.
class IndexRange {
  public:
    IndexRange(WeldDict* d, std::uint64_t range, int bits)
        : d_(d), end_((((range + 1) << d->bits) + (std::uint64_t(1) << bits) - 1) >> bits) {
        const std::uint64_t begin = range << d->bits >> bits;
        std::memset(d->index + begin, 0, sizeof(std::uint64_t) * (end_ - begin));
    }
    void add(std::uint32_t tag, std::int64_t number) {
        const std::uint64_t slot = slot_of(tag, number);
        const std::uint64_t first = first_slot(d_, tag);
        std::uint64_t at = first;
        while (at < end_ && d_->index[at]) ++at;
        if (at >= end_) return spilled.push_back(slot);
        d_->index[at] = slot;
        displaced += at != first;
    }

    std::vector<std::uint64_t> spilled;  ///< slots for which there is no room before the next part
    std::int64_t displaced = 0;          ///< keys that are not in their first slots

  private:
    WeldDict* d_;
    std::uint64_t end_;
};

/// Gives `d`, which has none, room for entries and index, and lets `fill` add those of each range, of which
/// there are 1 << bits: counts[r] entries, from number `first` on. It gives a status, and so does this.
std::int32_t join_ranges(
    Task* task, WeldDict* d, std::span<const std::int64_t> counts, int bits, std::int32_t loc,
    const std::function<std::int32_t(Task*, std::int64_t range, std::int64_t first, IndexRange*)>& fill);
/// The same with the entries of a table for each range, which are released. Status.
std::int32_t join_tables(Task* task, WeldDict* d, std::span<WeldDict* const> tables, int bits,
                         std::int32_t loc);

/// Tables that become one, in order.
struct TableMerge {
    WeldDict* const* parts;
    std::int64_t num_parts;
    int op;  ///< how values of equal keys are merged
};
/// A new table with the entries of all parts. The parts lose their meaning. Null after recording the failure.
WeldDict* merge_tables(Task* task, const TableMerge& merge, std::int32_t loc);

}  // namespace weld::runtime
