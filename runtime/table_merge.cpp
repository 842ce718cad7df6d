// Tables become one. Small ones entry by entry. Large ones by ranges of the hash: an index is ordered by
// hash, so each range of it is read from all parts and merged in a small table that stays in cache, by as
// many workers as there are; these tables are joined. Parts are always read in their order, so values of a
// key are merged in that order and the first key stays.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/hash_table.h"
#include "runtime/parallel.h"
#include "runtime/partitions.h"

namespace weld::runtime {

namespace {

constexpr std::int64_t kSmall = 1 << 13;         // entries of all parts
constexpr std::int64_t kRangeEntries = 1 << 12;  // aimed at
constexpr int kMostRangeBits = 12;

/// The slots of an index that tags which begin with the `bits` bits `range` come from.
struct Slots {
    std::uint64_t begin, end;
    Slots(int index_bits, std::uint64_t range, int bits)
        : begin(range << index_bits >> bits),
          end((((range + 1) << index_bits) + (std::uint64_t(1) << bits) - 1) >> bits) {}
};

std::uint64_t range_of(std::uint64_t slot, int bits) {
    return std::uint64_t(tag_in(slot)) >> (kWeldTagBits - bits);
}

/// Collects the used slots of a range: those that come from there, even if they lie a little after.
void collect_slots(const WeldDict* d, std::uint64_t range, int bits, std::vector<std::uint64_t>* found) {
    const std::uint64_t all = std::uint64_t(1) << d->bits;
    const Slots slots(d->bits, range, bits);
    for (std::uint64_t i = slots.begin; i < slots.begin + all; ++i) {
        const std::uint64_t slot = d->index[i & (all - 1)];
        if (!slot && i >= slots.end) return;
        if (slot && range_of(slot, bits) == range) found->push_back(slot);
    }
}

/// The used slots of each range, of an index in which other bits than the first ones choose them, so that they lie anywhere.
std::vector<std::vector<std::uint64_t>> slots_by_range(const WeldDict* d, int bits) {
    std::vector<std::vector<std::uint64_t>> all(std::size_t(1) << bits);
    for (std::uint64_t at = 0; at <= d->mask; ++at)
        if (const std::uint64_t slot = d->index[at]) all[range_of(slot, bits)].push_back(slot);
    return all;
}

class Merger {
  public:
    Merger(Task* task, const TableMerge& merge, std::int64_t total, std::int32_t loc)
        : task_(task), merge_(merge), loc_(loc) {
        while (bits_ < kMostRangeBits && total >> bits_ > kRangeEntries) ++bits_;
        ranges_.resize(std::size_t(1) << bits_);
        scattered_.resize(std::size_t(merge.num_parts));
        for (std::int64_t p = 0; p < merge.num_parts; ++p)
            if (merge.parts[p]->skip) scattered_[std::size_t(p)] = slots_by_range(merge.parts[p], bits_);
    }

    WeldDict* run();

  private:
    std::int32_t merge_range(Task* t, std::uint64_t number);
    template <KeyKind K>
    std::int32_t merge_slots(Task* t, std::uint64_t number, std::int64_t part,
                             const std::vector<std::uint64_t>& slots);

    Task* task_;
    const TableMerge& merge_;
    std::int32_t loc_;
    int bits_ = 1;
    std::vector<WeldDict*> ranges_;
    std::vector<std::vector<std::vector<std::uint64_t>>>
        scattered_;  ///< slots of parts, by range; none: in order
};

template <KeyKind K>
std::int32_t Merger::merge_slots(Task* t, std::uint64_t number, std::int64_t part,
                                 const std::vector<std::uint64_t>& slots) {
    const WeldDict* d = merge_.parts[part];
    WeldDict* range = ranges_[number];
    constexpr std::size_t ahead = 8;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (i + ahead < slots.size()) __builtin_prefetch(d->entry(number_in(slots[i + ahead])));
        if (K == KeyKind::Bytes && i + ahead / 2 < slots.size()) {
            const WeldVec next = load<WeldVec>(d->entry(number_in(slots[i + ahead / 2])));
            if (bytes_of(d, next) > kHeadBytes)
                __builtin_prefetch(static_cast<const char*>(next.data) + kHeadBytes);
        }
        const char* entry = d->entry(number_in(slots[i]));
        bool added;
        const Sought s = sought_of_entry<K>(d, entry, tag_in(slots[i]));
        const std::int64_t found = find_or_add<K>(t, range, s, &added, loc_);
        if (found < 0) return kFailed;
        char* const into = range->entry(found) + d->value_at;
        const char* const from = entry + d->value_at;
        if (added) std::memcpy(into, from, std::size_t(d->value_size));
        else merge_fields(d, merge_.op, &into, &from, 1);
    }
    return kOk;
}

std::int32_t Merger::merge_range(Task* t, std::uint64_t number) {
    if (!(ranges_[number] = new_range(t, merge_.parts[0], bits_, loc_))) return kFailed;
    std::vector<std::uint64_t> slots;
    for (std::int64_t p = 0; p < merge_.num_parts; ++p) {
        const auto& scattered = scattered_[std::size_t(p)];
        slots.clear();
        if (scattered.empty()) collect_slots(merge_.parts[p], number, bits_, &slots);
        else slots = scattered[number];
        if (with_key_kind(merge_.parts[p]->kind,
                          [&](auto kind) { return merge_slots<kind()>(t, number, p, slots); }))
            return kFailed;
    }
    return kOk;
}

WeldDict* Merger::run() {
    const auto count = std::int64_t(ranges_.size());
    const std::int32_t status = run_parts(task_, count, true, loc_, [&](Task* t, int, std::int64_t range) {
        return merge_range(t, std::uint64_t(range));
    });
    WeldDict* whole = status ? nullptr : allocate_array<WeldDict>(task_, 1, loc_);
    if (!whole) return nullptr;
    *whole = *merge_.parts[0];
    whole->places = nullptr;
    whole->given = 0;
    whole->first_index = nullptr;
    whole->first_entries = nullptr;
    if (join_tables(task_, whole, ranges_, bits_, loc_)) return nullptr;
    return whole;
}

/// How many of the first entries of `part`, which it was given, are at the same places in `whole`: all, but where merging
/// has put those in another order since.
std::int64_t num_in_place(const WeldDict* whole, const WeldDict* part) {
    if (part->given > whole->count) return 0;
    const auto all_same = [&](auto bytes) {
        for (std::int64_t i = 0; i < part->given; ++i)
            if (std::memcmp(whole->entry(i), part->entry(i), bytes) != 0) return false;
        return true;
    };
    const auto bytes = std::size_t(part->key_size);
    const bool same = bytes == 8 ? all_same(std::integral_constant<std::size_t, 8>()) : all_same(bytes);
    return same ? part->given : 0;
}

/// Merges the values of the first `count` entries of `part`, whose keys are those of the first ones of `whole`.
std::int32_t merge_in_place(Task* task, WeldDict* whole, const WeldDict* part, std::int64_t count, int op,
                            std::int32_t loc) {
    constexpr std::int64_t kAtOnce = 64;
    constexpr std::int64_t kWorthWorker = 1 << 14;
    return for_pieces(task, count, kWorthWorker, loc, [&](std::int64_t lo, std::int64_t hi) {
        std::array<char*, kAtOnce> into;
        std::array<const char*, kAtOnce> from;
        for (; lo < hi; lo += kAtOnce) {
            const std::int64_t some = std::min(kAtOnce, hi - lo);
            for (std::int64_t k = 0; k < some; ++k) {
                into[std::size_t(k)] = whole->entry(lo + k) + whole->value_at;
                from[std::size_t(k)] = part->entry(lo + k) + part->value_at;
            }
            merge_fields(whole, op, into.data(), from.data(), some);
        }
    });
}

/// Merges the other parts into the first one.
template <KeyKind K>
WeldDict* merge_into_first(Task* task, const TableMerge& merge, std::int32_t loc) {
    WeldDict* whole = merge.parts[0];
    for (std::int64_t p = 1; p < merge.num_parts; ++p) {
        const WeldDict* d = merge.parts[p];
        const auto merge_strip = [&](std::int64_t lo, std::int64_t hi) -> std::int32_t {
            for (std::int64_t i = lo; i < hi; ++i) {
                const char* entry = d->entry(i);
                bool added;
                const std::int64_t number =
                    find_or_add<K>(task, whole, sought_of_entry<K>(d, entry), &added, loc);
                if (number < 0) return kFailed;
                char* const into = whole->entry(number) + d->value_at;
                const char* const from = entry + d->value_at;
                if (added) std::memcpy(into, from, std::size_t(d->value_size));
                else merge_fields(whole, merge.op, &into, &from, 1);
            }
            return kOk;
        };
        const std::int64_t in_place = num_in_place(whole, d);
        if (merge_in_place(task, whole, d, in_place, merge.op, loc) ||
            in_strips(task, in_place, d->count, loc, merge_strip))
            return nullptr;
    }
    return whole;
}

}  // namespace

WeldDict* merge_tables(Task* task, const TableMerge& merge, std::int32_t loc) {
    std::int64_t total = 0;  // entries, but for those that need not be looked for
    bool cut = false;
    for (std::int64_t p = 0; p < merge.num_parts; ++p) {
        total += merge.parts[p]->count - merge.parts[p]->given;
        cut |= merge.parts[p]->partitions != nullptr;
    }
    WeldDict* first = merge.parts[0];
    if (cut) {
        const std::span<WeldDict* const> tables(merge.parts, std::size_t(merge.num_parts));
        return merge_partitions(task, tables, merge.op, loc) ? nullptr : first;
    }
    // Pieces that come one by one must not cost a new table each.
    const bool few = total <= kSmall || total - first->count <= first->count;
    WeldDict* whole;
    if (merge.num_parts == 1 || few || !first->stride)
        whole =
            with_key_kind(first->kind, [&](auto kind) { return merge_into_first<kind()>(task, merge, loc); });
    else whole = Merger(task, merge, total, loc).run();
    if (!whole) return nullptr;
    for (std::int64_t p = 0; p < merge.num_parts; ++p) {
        WeldDict* part = merge.parts[p];
        if (part == whole) continue;
        if (p == 0) {  // the new table goes on with its descriptions
            part->many_fields = nullptr;
            part->key = nullptr;
        }
        release_table(task, part);
    }
    return whole;
}

}  // namespace weld::runtime
