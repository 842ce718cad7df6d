// Choosing the range of a direct table, merging into it, and what follows when keys leave it.
#include "runtime/direct_table.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/parallel.h"
#include "runtime/row_table.h"

namespace weld::runtime {

namespace {

/// Of the table, for each key known: it is cleared as fast as that many keys were found.
constexpr std::int64_t kBytesForKey = 512;
/// Larger tables are no faster than partitions, unless some keys are frequent: a trial does not know those of so many
/// rows (%), or of fewer; and do not pay for moving rows in the end, unless each key has so many.
constexpr std::int64_t kNearBytes = 8 << 20, kFrequentUnknown = 60, kRowsForKey = 8;
/// Of those that partitions have: rows, and the slots that are asked for, fit the cache.
constexpr std::int64_t kBufferBytes = 32 << 10;
/// If one of so many rows has a key outside of the range, it becomes wider; if that is not worth it, and one of fewer has, the
/// table ends.
constexpr std::int64_t kOutsideToWiden = 32, kOutsideToEnd = 4;
constexpr std::int64_t kSlotsOfPart = 1 << 16;  ///< that one thread takes at a time

template <KeyKind K>
using KeyNumber = std::conditional_t<K == KeyKind::Plain4, std::int32_t, std::int64_t>;

__int128 bytes_of(KeyRange range, std::int64_t stride) {
    return (static_cast<__int128>(range.last) - range.first + 1) * stride;
}

bool is_worth(KeyRange range, std::int64_t stride, std::int64_t keys) {
    return bytes_of(range, stride) <= kBytesForKey * keys;
}

KeyRange range_of(const DirectTable& t) { return {t.first, t.first + t.size - 1}; }

KeyRange around(KeyRange a, KeyRange b) { return {std::min(a.first, b.first), std::max(a.last, b.last)}; }

/// The rows of a direct table. `Stride` is their size, or 0 if that is not known.
template <KeyKind K, std::int64_t Stride>
class DirectRows {
  public:
    explicit DirectRows(const WeldDict* d) : d_(d), table_(partitions_of(d)->direct) {}

    /// Merges `count` rows, of which row(i) is the address, in their order. Status.
    template <class Row>
    std::int32_t merge(Task* task, std::int64_t count, std::int32_t loc, Row row) {
        return with_merges<true>(d_, [&](auto known, const auto& after_some) {
            return find_slots(task, count, loc, row, known, after_some);
        });
    }

    /// Calls f(row) for those in the slots [lo, hi).
    template <class F>
    void each(std::int64_t lo, std::int64_t hi, const F& f) const {
        char* slot = table_.slots + lo * stride();
        for (std::int64_t i = lo; i < hi; ++i, slot += stride())
            if (number(slot) == Number(table_.first + i)) f(slot);
    }

    void clear(std::int64_t lo, std::int64_t hi) const {
        std::memset(table_.slots + lo * stride(), 0, std::size_t((hi - lo) * stride()));
        const auto of_zero = std::int64_t(distance(0));
        const Number other = 1;
        if (of_zero >= lo && of_zero < hi)
            std::memcpy(table_.slots + of_zero * stride(), &other, sizeof other);
    }

    std::int64_t number(const char* row) const { return load<Number>(row); }
    std::uint64_t hash(const char* row) const { return hash_key<K>(nullptr, row); }
    std::int64_t stride() const { return Stride ? Stride : d_->stride; }

  private:
    using Number = KeyNumber<K>;
    using Distance = std::make_unsigned_t<Number>;

    Distance distance(Number key) const { return Distance(key) - Distance(table_.first); }

    /// Rows with new keys take their slots. Calls known(slot, row) for the others, in their order, and after_some() after
    /// kRowsAtOnce rows at most. Status.
    template <class Row, class Known, class AfterSome>
    [[gnu::always_inline]] std::int32_t find_slots(Task* task, std::int64_t count, std::int32_t loc, Row row,
                                                   Known known, const AfterSome& after_some) {
        char* const slots = table_.slots;  // these stay in registers
        const auto first = Distance(table_.first);
        const auto size = std::uint64_t(table_.size);
        const auto slot_of = [&](const char* one, std::uint64_t* at) {
            *at = Distance(load<Number>(one)) - first;
            return slots + *at * std::uint64_t(stride());
        };
        std::int64_t added = 0, outside = 0;
        std::uint64_t at;
        for (std::int64_t i = 0; i < std::min(kAhead, count); ++i) __builtin_prefetch(slot_of(row(i), &at));
        for (std::int64_t done = 0; done < count;) {
            const std::int64_t end = std::min(count, done + kRowsAtOnce);
            if (task->check_stop(loc)) return kFailed;
            for (; done < end; ++done) {
                __builtin_prefetch(slot_of(row(std::min(done + kAhead, count - 1)), &at));
                const char* const one = row(done);
                char* const slot = slot_of(one, &at);
                if (at >= size) [[unlikely]] {
                    ++outside;
                    Rows<K, Stride> others(d_, std::int64_t(hash(one) >> (64 - kPartitionBits)));
                    if (others.merge(task, 1, loc, [=](std::int64_t) { return one; })) return kFailed;
                } else if (equal_keys<K>(nullptr, slot, one)) [[likely]] {
                    known(slot, one);
                } else {
                    std::memcpy(slot, one, std::size_t(stride()));
                    ++added;
                }
            }
            after_some();
        }
        std::atomic_ref(table_.count).fetch_add(added, std::memory_order_relaxed);
        if (outside) table_.outside += outside;
        return kOk;
    }

    static constexpr std::int64_t kAhead = 48;  ///< rows

    const WeldDict* d_;
    DirectTable& table_;
};

/// Calls f(rows), which gives a status.
template <class F>
std::int32_t with_direct(const WeldDict* d, const F& f) {
    using enum KeyKind;
    if (d->kind == Plain4) return d->stride == 8 ? f(DirectRows<Plain4, 8>(d)) : f(DirectRows<Plain4, 0>(d));
    return d->stride == 16 ? f(DirectRows<Plain8, 16>(d)) : f(DirectRows<Plain8, 0>(d));
}

std::int64_t number_of(const WeldDict* d, const char* row) {
    return d->kind == KeyKind::Plain4 ? load<std::int32_t>(row) : load<std::int64_t>(row);
}

std::uint64_t hash_of(const WeldDict* d, const char* row) {
    return d->kind == KeyKind::Plain4 ? hash_key<KeyKind::Plain4>(nullptr, row)
                                      : hash_key<KeyKind::Plain8>(nullptr, row);
}

std::int64_t num_parts(const DirectTable& t) { return (t.size + kSlotsOfPart - 1) / kSlotsOfPart; }

/// Calls f(task, rows, lo, hi, part) for the slots of `d` in parts. Status.
template <class F>
std::int32_t each_part(Task* task, const WeldDict* d, bool parallel, std::int32_t loc, const F& f) {
    const DirectTable& table = partitions_of(d)->direct;
    return run_parts(task, num_parts(table), parallel, loc, [&](Task* t, int, std::int64_t part) {
        const std::int64_t lo = part * kSlotsOfPart, hi = std::min(table.size, lo + kSlotsOfPart);
        if (t->check_stop(loc)) return std::int32_t(kFailed);
        return with_direct(d, [&](auto rows) { return f(t, rows, lo, hi, part); });
    });
}

/// An empty table. Status.
std::int32_t allocate(Task* task, WeldDict* d, KeyRange range, bool parallel, std::int32_t loc) {
    DirectTable& table = partitions_of(d)->direct;
    const std::int64_t size = range.last - range.first + 1;
    char* slots = static_cast<char*>(allocate_array(task, size, d->stride, loc));
    if (!slots) return kFailed;
    table = {slots, range.first, size, 0, 0, 0};
    return each_part(
        task, d, parallel, loc,
        [&](Task*, const auto& rows, std::int64_t lo, std::int64_t hi, std::int64_t) -> std::int32_t {
            rows.clear(lo, hi);
            return kOk;
        });
}

std::int32_t merge_row(Task* task, WeldDict* d, const char* row, std::int32_t loc) {
    return with_direct(
        d, [&](auto rows) { return rows.merge(task, 1, loc, [=](std::int64_t) { return row; }); });
}

/// Calls f(row), which gives a status, for the rows outside of the range. Status.
template <class F>
std::int32_t each_outside(const WeldDict* d, const F& f) {
    for (std::int64_t i = 0; i < kPartitions; ++i) {
        std::int32_t status = kOk;
        with_rows(d, i, [&](const auto& rows) {
            rows.each([&](const char* row) { status = status ? status : f(row); });
            return kOk;
        });
        if (status) return status;
    }
    return kOk;
}

/// Gives the table a wider range. Status.
std::int32_t widen(Task* task, WeldDict* d, KeyRange range, bool parallel, std::int32_t loc) {
    Partitions* p = partitions_of(d);
    const DirectTable old = p->direct;
    if (range.first == old.first && range.last == range_of(old).last) return kOk;
    if (allocate(task, d, range, parallel, loc)) return kFailed;
    DirectTable& table = p->direct;
    const std::int64_t before = (old.first - table.first) * d->stride;
    const DirectTable wider = std::exchange(table, old);
    const std::int32_t status = each_part(
        task, d, parallel, loc,
        [&](Task*, const auto& rows, std::int64_t lo, std::int64_t hi, std::int64_t) -> std::int32_t {
            rows.each(lo, hi, [&](const char* row) {
                std::memcpy(wider.slots + before + (row - old.slots), row, std::size_t(d->stride));
            });
            return kOk;
        });
    table = wider;
    table.count = old.count;
    table.rows = old.rows;
    release(task, old.slots);
    if (status) return kFailed;
    std::vector<char> others;
    each_outside(d, [&](const char* row) -> std::int32_t {
        others.insert(others.end(), row, row + d->stride);
        return kOk;
    });
    for (RowTable& of : p->tables)
        if (char* slots = std::exchange(of, {}).slots) release(task, slots);
    for (std::size_t i = 0; i < others.size(); i += std::size_t(d->stride))
        if (merge_row(task, d, others.data() + i, loc)) return kFailed;
    table.outside = 0;
    return kOk;
}

std::int64_t num_rows(const WeldDict* d) { return partitions_of(d)->direct.count + count_partitions(d); }

/// Wider by a part where there are keys beyond its end, so that keys that ascend leave it seldom.
KeyRange with_room(KeyRange range, KeyRange before, int part) {
    const auto clamp = [](__int128 x) { return std::int64_t(std::clamp<__int128>(x, INT64_MIN, INT64_MAX)); };
    const __int128 more = (static_cast<__int128>(range.last) - range.first + 1) / part;
    if (range.last > before.last) range.last = clamp(range.last + more);
    if (range.first < before.first) range.first = clamp(range.first - more);
    return range;
}

/// After `count` rows at `rows` were merged, many of them outside of the range. Status.
std::int32_t adapt(Task* task, WeldDict* d, const char* rows, std::int64_t count, std::int32_t loc) {
    Partitions* p = partitions_of(d);
    const std::int64_t outside = std::exchange(p->direct.outside, 0);
    if (outside * kOutsideToWiden < count) return kOk;
    const KeyRange before = range_of(p->direct);
    const KeyRange range = find_range(d, rows, count, before);
    const std::int64_t keys = num_rows(d);
    const bool may_be_far = p->direct.rows >= kRowsForKey * keys;
    for (const int part : {1, 8}) {
        const KeyRange wider = with_room(range, before, part);
        if (is_worth(wider, d->stride, keys) && (may_be_far || bytes_of(wider, d->stride) <= kNearBytes) &&
            may_be_direct(task, d, wider))
            return widen(task, d, wider, false, loc);
    }
    return outside * kOutsideToEnd < count ? kOk : end_direct(task, d, Ended::RowsWait, loc);
}

bool has_direct(const WeldDict* d) { return d->partitions && partitions_of(d)->direct.slots; }

/// Whether all rows of `tables` are worth one direct table.
bool share_range(std::span<WeldDict* const> tables, KeyRange* all) {
    if (!has_direct(tables[0])) return false;
    std::int64_t keys = 0;
    *all = range_of(partitions_of(tables[0])->direct);
    bool same = true;
    for (const WeldDict* d : tables) {
        if (!d->partitions) continue;
        const DirectTable& table = partitions_of(d)->direct;
        if (!table.slots) return false;
        const KeyRange before = *all;
        *all = around(before, range_of(table));
        same &= before.first == all->first && before.last == all->last;
        keys = std::max(keys, table.count);
    }
    return same || is_worth(*all, tables[0]->stride, keys);
}

}  // namespace

bool has_number_keys(const WeldDict* d) {
    return d->num_key_fields == 1 && (d->kind == KeyKind::Plain4 || d->kind == KeyKind::Plain8);
}

bool are_frequent(std::int64_t unknown) { return unknown <= kFrequentUnknown; }

std::optional<KeyRange> find_close_keys(const WeldDict* d, std::int64_t unknown) {
    if (!has_number_keys(d)) return {};
    constexpr std::int64_t most = 64, few = most / 16;
    if (d->count < most) return {};
    std::array<std::int64_t, most> sample;
    for (std::int64_t i = 0; i < most; ++i)
        sample[std::size_t(i)] = number_of(d, d->entry(i * d->count / most));
    std::ranges::sort(sample);
    const __int128 least = sample[few], greatest = sample[most - 1 - few], room = (greatest - least) / 2;
    KeyRange range{INT64_MAX, INT64_MIN};
    std::int64_t inside = 0;
    for (std::int64_t i = 0; i < d->count; ++i) {
        const std::int64_t number = number_of(d, d->entry(i));
        if (number < least - room || number > greatest + room) continue;
        range = around(range, {number, number});
        ++inside;
    }
    const bool are_most = inside >= d->count - d->count / kOutsideToWiden;
    if (!are_most || !is_worth(range, d->stride, d->count)) return {};
    if (bytes_of(range, d->stride) > kNearBytes && !are_frequent(unknown)) return {};
    return range;
}

bool may_be_direct(const Task* task, const WeldDict* d, KeyRange range) {
    constexpr std::int64_t with_moved_rows =
        4;  // times the table: these, and twice as many slots of partitions
    return !partitions_of(d)->exact ||
           has_room(task, with_moved_rows * std::int64_t(bytes_of(range, d->stride)));
}

std::int32_t begin_direct(Task* task, WeldDict* d, KeyRange range, std::int32_t loc) {
    return allocate(task, d, range, false, loc);
}

void use_one_buffer(WeldDict* d) {
    Partitions* p = partitions_of(d);
    p->buffers[0] = {p->buffer_memory, p->buffer_memory + kBufferBytes / d->stride * d->stride};
    d->buffer_shift = kWeldTagBits;
}

KeyRange find_range(const WeldDict* d, const char* rows, std::int64_t count, KeyRange range) {
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t number = number_of(d, rows + i * d->stride);
        range = around(range, {number, number});
    }
    return range;
}

std::int32_t merge_rows(Task* task, WeldDict* d, const char* rows, std::int64_t count, std::int32_t loc) {
    return with_direct(d, [&](auto direct) {
        return direct.merge(task, count, loc, [=](std::int64_t i) { return rows + i * direct.stride(); });
    });
}

std::int32_t merge_buffer(Task* task, WeldDict* d, std::int32_t loc) {
    Partitions* p = partitions_of(d);
    const char* const rows = p->buffer_memory;
    const std::int64_t count = (std::exchange(p->buffers[0].next, p->buffer_memory) - rows) / d->stride;
    p->direct.rows += count;
    if (merge_rows(task, d, rows, count, loc)) return kFailed;
    return p->direct.outside ? adapt(task, d, rows, count, loc) : kOk;
}

std::int32_t merge_direct(Task* task, std::span<WeldDict* const> tables, bool* merged, std::int32_t loc) {
    for (WeldDict* d : tables)
        if (has_direct(d) && merge_buffer(task, d, loc)) return kFailed;
    KeyRange all;
    if (!share_range(tables, &all)) {
        for (WeldDict* d : tables)
            if (end_direct(task, d, Ended::Merged, loc)) return kFailed;
        return kOk;
    }
    WeldDict* whole = tables[0];
    if (widen(task, whole, all, true, loc)) return kFailed;
    for (WeldDict* d : tables.subspan(1)) {
        if (!d->partitions) {
            if (merge_rows(task, whole, d->entries, d->count, loc)) return kFailed;
            continue;
        }
        const auto merge_part = [&](Task* t, const auto& rows, std::int64_t lo, std::int64_t hi,
                                    std::int64_t) -> std::int32_t {
            std::vector<const char*> some;
            rows.each(lo, hi, [&](const char* row) { some.push_back(row); });
            return with_direct(whole, [&](auto into) {
                return into.merge(t, std::ssize(some), loc,
                                  [&](std::int64_t i) { return some[std::size_t(i)]; });
            });
        };
        if (each_part(task, d, true, loc, merge_part)) return kFailed;
        if (each_outside(d, [&](const char* row) { return merge_row(task, whole, row, loc); }))
            return kFailed;
    }
    partitions_of(whole)->direct.outside = 0;
    *merged = true;
    return kOk;
}

std::int32_t end_direct(Task* task, WeldDict* d, Ended how, std::int32_t loc) {
    if (!has_direct(d)) return kOk;
    Partitions* p = partitions_of(d);
    if (p->buffers[0].next != p->buffer_memory && merge_buffer(task, d, loc)) return kFailed;
    if (!p->direct.slots) return kOk;  // its last rows have ended it
    const auto use_all_buffers = [&] {
        p->buffers[0] = {p->buffer_memory, p->buffer_memory + p->buffer_bytes};
        d->buffer_shift = kWeldTagBits - kPartitionBits;
    };
    if (how == Ended::RowsWait) {
        std::vector<const char*> all;
        with_direct(d, [&](const auto& rows) {
            rows.each(0, p->direct.size, [&](const char* row) { all.push_back(row); });
            return 0;
        });
        char* const slots = std::exchange(p->direct, {}).slots;
        use_all_buffers();
        for (const char* row : all)
            if (add_row(task, d, row, row + d->value_at, tag_of(hash_of(d, row)), loc)) return kFailed;
        release(task, slots);
        return kOk;
    }
    using Counts = std::array<std::int64_t, kPartitions>;
    std::vector<Counts> counts(std::size_t(num_parts(p->direct)));
    const auto partition_of = [](const auto& rows, const char* row) {
        return std::size_t(rows.hash(row) >> (64 - kPartitionBits));
    };
    const auto count = [&](Task*, const auto& rows, std::int64_t lo, std::int64_t hi,
                           std::int64_t part) -> std::int32_t {
        Counts& mine = counts[std::size_t(part)];
        mine.fill(0);
        rows.each(lo, hi, [&](const char* row) { ++mine[partition_of(rows, row)]; });
        return kOk;
    };
    if (each_part(task, d, true, loc, count)) return kFailed;
    std::array<std::int64_t, kPartitions + 1> firsts;
    std::int64_t total = 0;
    for (std::size_t i = 0; i < kPartitions; ++i) {
        firsts[i] = total;
        for (Counts& of : counts) total += std::exchange(of[i], total);
        p->largest = std::max(p->largest, total - firsts[i]);
    }
    firsts[kPartitions] = total;
    char* const all = static_cast<char*>(allocate_array(task, total, d->stride, loc));
    if (!all) return kFailed;
    const auto scatter = [&](Task*, const auto& rows, std::int64_t lo, std::int64_t hi,
                             std::int64_t part) -> std::int32_t {
        Counts& next = counts[std::size_t(part)];
        rows.each(lo, hi, [&](const char* row) {
            const std::int64_t to = next[partition_of(rows, row)]++;
            std::memcpy(all + to * rows.stride(), row, std::size_t(rows.stride()));
        });
        return kOk;
    };
    if (each_part(task, d, true, loc, scatter)) return kFailed;
    release(task, std::exchange(p->direct, {}).slots);
    use_all_buffers();
    const auto merge = [&](Task* t, int, std::int64_t i) {
        return with_rows(d, i, [&](auto rows) {
            const char* const first = all + firsts[std::size_t(i)] * rows.stride();
            return rows.merge(t, firsts[std::size_t(i) + 1] - firsts[std::size_t(i)], loc,
                              [=](std::int64_t k) { return first + k * rows.stride(); });
        });
    };
    if (run_parts(task, kPartitions, true, loc, merge)) return kFailed;
    release(task, all);
    return kOk;
}

}  // namespace weld::runtime
