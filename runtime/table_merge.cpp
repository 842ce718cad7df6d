// Tables become one. Small ones entry by entry. Large ones by ranges of the hash: an index is ordered by
// hash, so each range of it is read from all parts, merged in a small table that stays in cache, and put into
// its own range of the new index, by as many workers as there are. Parts are always read in their order, so
// values of a key are merged in that order and the first key stays.
#include <algorithm>
#include <vector>

#include "runtime/hash_table.h"
#include "runtime/parallel.h"

namespace weld::runtime {

namespace {

constexpr std::int64_t kSmall = 1 << 13;         // entries of all parts
constexpr std::int64_t kRangeEntries = 1 << 12;  // aimed at
constexpr int kMostRangeBits = 12;

std::int64_t number_in(std::uint64_t slot) { return std::int64_t(std::uint32_t(slot)) - 1; }
std::uint32_t tag_in(std::uint64_t slot) { return std::uint32_t(slot >> 32); }

/// The slots of an index that tags which begin with the `bits` bits `range` come from.
struct Slots {
    std::uint64_t begin, end;
    Slots(int index_bits, std::uint64_t range, int bits)
        : begin(range << index_bits >> bits),
          end((((range + 1) << index_bits) + (std::uint64_t(1) << bits) - 1) >> bits) {}
};

/// Collects the used slots of a range: those that come from there, even if they lie a little after.
void collect_slots(const WeldDict* d, std::uint64_t range, int bits, std::vector<std::uint64_t>* found) {
    const std::uint64_t all = std::uint64_t(1) << d->bits;
    const Slots slots(d->bits, range, bits);
    for (std::uint64_t i = slots.begin; i < slots.begin + all; ++i) {
        const std::uint64_t slot = d->index[i & (all - 1)];
        if (!slot && i >= slots.end) return;
        if (slot && slot >> 32 >> (32 - bits) == range) found->push_back(slot);
    }
}

/// The merged entries of one range.
struct Range {
    char* entries = nullptr;
    std::vector<std::uint32_t> tags;      // of the entries
    std::vector<std::uint32_t*> numbers;  // that parts' owners want, in order of discovery
    std::vector<std::uint64_t> spilled;   // slots that did not fit into the range of the new index
    std::int64_t count() const { return std::int64_t(tags.size()); }
};

class Merger {
  public:
    Merger(Task* task, const TableMerge& merge, std::int64_t total, std::int32_t loc)
        : task_(task), merge_(merge), loc_(loc), model_(*merge.parts[0]) {
        while (bits_ < kMostRangeBits && total >> bits_ > kRangeEntries) ++bits_;
        ranges_.resize(std::size_t(1) << bits_);
    }

    WeldDict* run();

  private:
    std::int32_t merge_range(Task* t, std::uint64_t range);
    template <KeyKind K>
    void merge_slots(Range* r, std::uint64_t* index, int index_bits, std::int64_t part,
                     const std::vector<std::uint64_t>& slots);
    WeldDict* table_for(std::int64_t count);
    void place_range(WeldDict* d, std::uint64_t range, std::int64_t offset);

    Task* task_;
    const TableMerge& merge_;
    std::int32_t loc_;
    WeldDict model_;  // for layout and kinds
    int bits_ = 1;
    std::vector<Range> ranges_;
};

template <KeyKind K>
void Merger::merge_slots(Range* r, std::uint64_t* index, int index_bits, std::int64_t part,
                         const std::vector<std::uint64_t>& slots) {
    const WeldDict* d = merge_.parts[part];
    const std::uint64_t mask = (std::uint64_t(1) << index_bits) - 1;
    constexpr std::size_t ahead = 8;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (i + ahead < slots.size()) __builtin_prefetch(d->entry(number_in(slots[i + ahead])));
        const std::uint32_t tag = tag_in(slots[i]);
        const char* entry = d->entry(number_in(slots[i]));
        // All tags here begin alike, so others of their bits choose the place.
        std::uint64_t at = (tag * 0x9e3779b1u) >> (32 - index_bits);
        char* mine = nullptr;
        for (; index[at]; at = (at + 1) & mask) {
            char* candidate = r->entries + number_in(index[at]) * d->stride;
            if (tag_in(index[at]) != tag || !equal_keys<K>(model_.key, candidate, entry)) continue;
            mine = candidate;
            break;
        }
        if (!mine) {
            mine = r->entries + r->count() * d->stride;
            std::memcpy(mine, entry, std::size_t(d->stride));
            r->tags.push_back(tag);
            index[at] = std::uint64_t(tag) << 32 | std::uint64_t(r->count());
        } else if (merge_.op >= 0) {
            merge_fields(&model_, merge_.op, mine + d->value_at, entry + d->value_at);
        }
        if (!merge_.numbers) continue;
        std::uint32_t* number = merge_.numbers[part] + number_in(slots[i]);
        *number = std::uint32_t(number_in(index[at]));
        r->numbers.push_back(number);
    }
}

std::int32_t Merger::merge_range(Task* t, std::uint64_t range) {
    std::vector<std::vector<std::uint64_t>> slots(std::size_t(merge_.num_parts));
    std::int64_t most = 0;
    for (std::int64_t p = 0; p < merge_.num_parts; ++p) {
        collect_slots(merge_.parts[p], range, bits_, &slots[std::size_t(p)]);
        most += std::int64_t(slots[std::size_t(p)].size());
    }
    const int index_bits = weld::runtime::index_bits(most);
    Range& r = ranges_[range];
    r.entries = static_cast<char*>(allocate_array(t, most, model_.stride, loc_));
    std::uint64_t* index =
        r.entries ? allocate_array<std::uint64_t>(t, std::int64_t(1) << index_bits, loc_) : nullptr;
    if (!index) return kFailed;
    std::memset(index, 0, sizeof(std::uint64_t) << index_bits);
    with_key_kind(model_.kind, [&](auto kind) {
        for (std::int64_t p = 0; p < merge_.num_parts; ++p)
            merge_slots<kind()>(&r, index, index_bits, p, slots[std::size_t(p)]);
    });
    release(t, index);
    return kOk;
}

/// An empty table with room for `count` entries, which takes over from the first part what it knows of its
/// types.
WeldDict* Merger::table_for(std::int64_t count) {
    if (count > kMostEntries) {
        task_->fail(kWeldOutOfMemory, loc_, "a dictionary has too many keys");
        return nullptr;
    }
    WeldDict* d = allocate_array<WeldDict>(task_, 1, loc_);
    if (!d) return nullptr;
    *d = model_;
    d->count = d->capacity = count;
    d->entries = static_cast<char*>(allocate_array(task_, count, d->stride, loc_));
    if (!d->entries) return nullptr;
    const int bits = index_bits(count);
    d->set_index(allocate_array<std::uint64_t>(task_, std::int64_t(1) << bits, loc_), bits);
    return d->index ? d : nullptr;
}

/// Copies the entries of a range to their place in the new table, and fills the slots of the range.
void Merger::place_range(WeldDict* d, std::uint64_t range, std::int64_t offset) {
    Range& r = ranges_[range];
    if (r.count()) std::memcpy(d->entry(offset), r.entries, std::size_t(r.count() * d->stride));
    for (std::uint32_t* number : r.numbers) *number += std::uint32_t(offset);
    const Slots slots(d->bits, range, bits_);
    std::memset(d->index + slots.begin, 0, sizeof(std::uint64_t) * (slots.end - slots.begin));
    for (std::int64_t i = 0; i < r.count(); ++i) {
        const std::uint32_t tag = r.tags[std::size_t(i)];
        const std::uint64_t slot = std::uint64_t(tag) << 32 | std::uint64_t(offset + i + 1);
        std::uint64_t at = first_slot(d, tag);
        while (at < slots.end && d->index[at]) ++at;
        if (at < slots.end) d->index[at] = slot;
        else r.spilled.push_back(slot);
    }
}

WeldDict* Merger::run() {
    const std::int64_t count = std::int64_t(ranges_.size());
    const std::int32_t status = run_parts(task_, count, true, loc_, [&](Task* t, int, std::int64_t range) {
        return merge_range(t, std::uint64_t(range));
    });
    if (status) return nullptr;
    std::vector<std::int64_t> offsets;
    std::int64_t total = 0;
    for (const Range& r : ranges_) {
        offsets.push_back(total);
        total += r.count();
    }
    WeldDict* d = table_for(total);
    if (!d) return nullptr;
    run_all(task_, count, [&](Task*, std::int64_t range) {
        place_range(d, std::uint64_t(range), offsets[std::size_t(range)]);
    });
    for (Range& r : ranges_) {
        for (std::uint64_t slot : r.spilled) {
            std::uint64_t at = first_slot(d, tag_in(slot));
            while (d->index[at]) at = (at + 1) & d->mask;
            d->index[at] = slot;
        }
        release(task_, r.entries);
    }
    return d;
}

/// Merges the other parts into the first one.
template <KeyKind K>
WeldDict* merge_into_first(Task* task, const TableMerge& merge, std::int32_t loc) {
    WeldDict* whole = merge.parts[0];
    for (std::int64_t i = 0; merge.numbers && i < whole->count; ++i) merge.numbers[0][i] = std::uint32_t(i);
    for (std::int64_t p = 1; p < merge.num_parts; ++p) {
        const WeldDict* d = merge.parts[p];
        for (std::int64_t i = 0; i < d->count; ++i) {
            const char* entry = d->entry(i);
            bool added;
            const std::uint32_t tag = tag_of(hash_key<K>(d->key, entry));
            const std::int64_t number = find_or_add<K>(task, whole, entry, tag, &added, loc);
            if (number < 0) return nullptr;
            char* into = whole->entry(number) + d->value_at;
            if (added) std::memcpy(into, entry + d->value_at, std::size_t(d->value_size));
            else if (merge.op >= 0) merge_fields(whole, merge.op, into, entry + d->value_at);
            if (merge.numbers) merge.numbers[p][i] = std::uint32_t(number);
        }
    }
    return whole;
}

}  // namespace

WeldDict* merge_tables(Task* task, const TableMerge& merge, std::int32_t loc) {
    std::int64_t total = 0;
    for (std::int64_t p = 0; p < merge.num_parts; ++p) total += merge.parts[p]->count;
    WeldDict* first = merge.parts[0];
    WeldDict* whole;
    if (merge.num_parts == 1 || total <= kSmall || !first->stride)
        whole =
            with_key_kind(first->kind, [&](auto kind) { return merge_into_first<kind()>(task, merge, loc); });
    else whole = Merger(task, merge, total, loc).run();
    if (!whole) return nullptr;
    for (std::int64_t p = 0; p < merge.num_parts; ++p) {
        WeldDict* part = merge.parts[p];
        if (part == whole) continue;
        if (p == 0) {  // the new table goes on with its descriptions
            part->fields = nullptr;
            part->key = nullptr;
        }
        release_table(task, part);
    }
    return whole;
}

}  // namespace weld::runtime
