// The table of one partition: rows at slots that their hash chooses, in place, with linear probing.
//
//     dictmerger[i64,i64,+], partition 2, eight slots of 16 bytes {key, value}:
//
//     slot     0        1        2        3        4        5        6        7
//            | free   | 42 5   | 17 1   | free   | free   | 99 3   | free   | free   |
//                       ^        ^
//     merge {17, 4}:    17 belongs here, where 42 is;  at the next slot it is found: its value becomes 5
//
// The bits of the hash behind those that chose the partition choose the slot. A free slot holds a key of another
// partition, so that looking for a key needs no mark beside it.
#pragma once

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "runtime/listing.h"
#include "runtime/merge.h"
#include "runtime/partitions.h"

namespace weld::runtime {

constexpr std::int64_t kRowsAhead = 2 << 10;  ///< bytes
constexpr std::int64_t kSlotsAhead = 16;      ///< rows whose slots are fetched before it is their turn
constexpr int kFewestBits = 8;                ///< of a table of rows

inline std::int64_t most_rows(int bits) { return (std::int64_t(1) << bits) / 8 * 5; }

constexpr std::int64_t kRowsAtOnce = 128;  ///< rows whose slots are found before they are merged

/// Calls find(known, after_some), where known(slot, row) merges a row of `d` into its slot, if not at once then by
/// after_some(), which is to be called after kRowsAtOnce rows at most. Status.
template <bool may_be_at_once, class Find>
[[gnu::always_inline]] inline std::int32_t with_merges(const WeldDict* d, const Find& find) {
    const std::int64_t value_at = d->value_at;
    const std::int32_t op = partitions_of(d)->op;
    if constexpr (may_be_at_once)
        if (op == kWeldAdd && d->num_fields == 1) {
            const auto add = [&]<class T>(T) {
                const auto at_once = [=](char* slot, const char* one) {
                    T* const into = reinterpret_cast<T*>(slot + value_at);
                    *into = merged(kWeldAdd, *into, *reinterpret_cast<const T*>(one + value_at));
                };
                return find(at_once, [] {});
            };
            if (d->few_fields[0].kind == kWeldI64) return add(std::int64_t());
            if (d->few_fields[0].kind == kWeldF64) return add(double());
        }
    char* into[kRowsAtOnce];
    const char* from[kRowsAtOnce];
    std::int64_t known = 0;
    const auto later = [&](char* slot, const char* one) {
        into[known] = slot + value_at;
        from[known++] = one + value_at;
    };
    return find(later, [&] { merge_fields(d, op, into, from, std::exchange(known, 0)); });
}

/// A table of rows, with what is known of them. `Stride` is their size, or 0 if that is not known.
template <KeyKind K, std::int64_t Stride>
class Rows {
  public:
    Rows(const WeldDict* d, std::int64_t partition) : d_(d), table_(partitions_of(d)->tables[partition]) {
        if (partition == 0) std::memcpy(free_, partitions_of(d)->free_of_first, sizeof free_);
    }

    /// Merges `count` rows, of which row(i) is the address, in their order. Status.
    template <class Row>
    std::int32_t merge(Task* task, std::int64_t count, std::int32_t loc, Row row) {
        return with_merges<kAreWords>(d_, [&](auto known, const auto& after_some) {
            return find_slots(task, count, loc, row, known, after_some);
        });
    }

    std::uint32_t tag(const char* row) const { return tag_of(hash_key<K>(nullptr, row)); }

    using Tagged = std::pair<std::uint32_t, const char*>;
    /// All rows, by tag.
    std::vector<Tagged> in_order() const {
        std::vector<Tagged> all, wrapped;
        all.reserve(std::size_t(table_.count));
        const Slots slots = this->slots();
        each([&](const char* row) {
            (first_slot(slots, row) > row ? wrapped : all).emplace_back(tag(row), row);
        });
        all.insert(all.end(), wrapped.begin(), wrapped.end());
        sort_by_tag(
            d_, std::span(all), [](const Tagged& r) { return r.first; },
            [](const Tagged& r) { return r.second; });
        return all;
    }

    /// Calls f(row) for all rows.
    template <class F>
    void each(const F& f) const {
        each_in(table_, f);
    }

    std::int64_t stride() const { return Stride ? Stride : d_->stride; }

  private:
    /// The most frequent rows: merged up to a fifth sooner by what costs others as much as it saves them.
    static constexpr bool kAreWords = K == KeyKind::Plain8 && Stride == 16;

    /// Rows with new keys take a slot. Calls known(slot, row) for the others, in their order, and
    /// after_some() after kRowsAtOnce rows at most. Status.
    template <class Row, class Known, class AfterSome>
    [[gnu::always_inline]] std::int32_t find_slots(Task* task, std::int64_t count, std::int32_t loc, Row row,
                                                   Known known, const AfterSome& after_some) {
        for (std::int64_t done = 0; done < count;) {
            const std::int64_t end = std::min(count, done + kRowsAtOnce);
            if (task->check_stop(loc) || reserve(task, table_.count + end - done, loc)) return kFailed;
            const Slots slots = this->slots();
            std::int64_t added = 0;
            for (; done < end; ++done) {
                const char* const one = row(done);
                __builtin_prefetch(one + kRowsAhead);
                if constexpr (kAreWords) {
                    const char* const later = row(std::min(done + kSlotsAhead, end - 1));
                    __builtin_prefetch(first_slot(slots, later));
                }
                const auto [slot, is_known] = find(slots, one);
                if (is_known) [[likely]] {
                    known(slot, one);
                } else {
                    std::memcpy(slot, one, std::size_t(stride()));
                    ++added;
                }
            }
            table_.count += added;
            after_some();
        }
        return kOk;
    }

    bool is_free(const char* slot) const { return equal_keys<K>(nullptr, slot, free_); }

    template <class F>
    void each_in(const RowTable& table, const F& f) const {
        const std::int64_t slots = table.slots ? std::int64_t(1) << table.bits : 0;
        for (std::int64_t i = 0; i < slots; ++i)
            if (char* slot = table.slots + i * stride(); !is_free(slot)) f(slot);
    }

    /// What finding a slot reads of the table: a copy, which stays in registers while slots are written.
    struct Slots {
        char* first;
        char* last;
        int shift;
        std::uint64_t mask;
    };
    Slots slots() const {
        return {table_.slots, table_.slots + (stride() << table_.bits) - stride(),
                64 - kPartitionBits - table_.skip - table_.bits, (std::uint64_t(1) << table_.bits) - 1};
    }

    char* first_slot(const Slots& slots, const char* row) const {
        const std::uint64_t number = hash_key<K>(nullptr, row) >> slots.shift & slots.mask;
        return slots.first + std::int64_t(number) * stride();
    }

    struct Found {
        char* slot;
        bool is_known;  ///< else the slot is free
    };
    /// The slot of the row with the same key, or a free one.
    [[gnu::always_inline]] Found find(const Slots& slots, const char* row) const {
        char* slot = first_slot(slots, row);
        if constexpr (kAreWords) {
            // Whether a key is in the first or the second slot cannot be guessed, so it is no branch.
            char* const here = slot + stride() * !equal_keys<K>(nullptr, slot, row);
            if (equal_keys<K>(nullptr, here, row)) [[likely]]
                return {here, true};
        }
        for (;; slot = slot == slots.last ? slots.first : slot + stride()) {
            if (equal_keys<K>(nullptr, slot, row)) return {slot, true};
            if (is_free(slot)) return {slot, false};
        }
    }

    std::int32_t reserve(Task* task, std::int64_t count, std::int32_t loc) {
        if (table_.slots && count <= most_rows(table_.bits)) return kOk;
        const std::atomic_ref<std::int64_t> largest(partitions_of(d_)->largest);
        const std::atomic_ref<int> skip(partitions_of(d_)->skip);
        const RowTable old = table_;
        // As large as others are, since keys spread evenly.
        const std::int64_t expected = std::max(count, largest.load(std::memory_order_relaxed));
        table_.bits = std::max(table_.bits, kFewestBits);
        while (most_rows(table_.bits) < expected) ++table_.bits;
        const std::int64_t slots = std::int64_t(1) << table_.bits;
        table_.slots = static_cast<char*>(allocate_array(task, slots + 1, stride(), loc));
        if (!table_.slots) return kFailed;
        table_.skip = skip.load(std::memory_order_relaxed);
        for (int next = 0; fill(old) > many_displaced(old.count, table_.bits) && next <= kMostSkip; ++next)
            table_.skip = next;
        skip.store(table_.skip, std::memory_order_relaxed);
        largest.store(expected, std::memory_order_relaxed);
        if (old.slots) release(task, old.slots);
        return kOk;
    }

    /// Copies the rows of `old` into the table, which is new. So many are not in their first slots.
    std::int64_t fill(const RowTable& old) {
        for (std::int64_t i = 0; i <= std::int64_t(1) << table_.bits; ++i)
            std::memcpy(table_.slots + i * stride(), free_, std::size_t(d_->key_size));
        const Slots slots = this->slots();
        std::int64_t displaced = 0;
        each_in(old, [&](const char* row) {
            char* const slot = find(slots, row).slot;
            displaced += slot != first_slot(slots, row);
            std::memcpy(slot, row, std::size_t(stride()));
        });
        return displaced;
    }

    const WeldDict* d_;
    RowTable& table_;
    char free_[16] = {};
};

/// Calls f(rows), which gives a status.
template <class F>
std::int32_t with_rows(const WeldDict* d, std::int64_t partition, const F& f) {
    return with_key_kind(d->kind, [&](auto kind) -> std::int32_t {
        if constexpr (!reads_type(kind())) {
            if (d->stride == 16) return f(Rows<kind(), 16>(d, partition));
            return f(Rows<kind(), 0>(d, partition));
        }
        return kFailed;  // such tables are not cut
    });
}

/// A key that belongs to another partition than the first.
template <KeyKind K>
void set_free_of_first(char* key) {
    for (int i = 1;; ++i) {
        *key = char(i);
        if (hash_key<K>(nullptr, key) >> (64 - kPartitionBits)) return;
    }
}

}  // namespace weld::runtime
