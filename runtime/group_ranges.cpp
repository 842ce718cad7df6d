// Grouping rows of many keys: they are put in order by the first bits of their keys' tags, so
// that the keys of such a range, and what they count, stay in the cache.
#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "runtime/groups.h"
#include "runtime/parallel.h"
#include "runtime/stream.h"

namespace weld::runtime {

namespace {

constexpr std::int64_t kRangeBytes = 1 << 19;  ///< of the rows of a range, about
constexpr int kFewestRangeBits = 4, kMostRangeBits = 9;
constexpr std::size_t kLine = 64;  ///< bytes of a line of the cache

class RangeGrouping {
  public:
    RangeGrouping(Task* task, const RowType& type, const Columns& rows, char* owned, std::int32_t loc)
        : task_(task), type_(type), stride_(type.size), rows_(rows), owned_(owned), loc_(loc) {}

    /// Null after recording the failure.
    WeldDict* run() {
        whole_ = new_table(task_, type_.key, sizeof(WeldVec), alignof(WeldVec), loc_);
        if (!whole_) return nullptr;
        const std::int32_t status = with_key_kind(whole_->kind, [&](auto kind) { return group<kind()>(); });
        return status ? nullptr : whole_;
    }

  private:
    template <KeyKind K>
    std::int32_t group() {
        int bits = kFewestRangeBits;
        while (bits < kMostRangeBits && rows_.count * stride_ >> bits > kRangeBytes) ++bits;
        const std::int64_t ranges = std::int64_t(1) << bits;
        std::vector<std::int64_t> begins;
        std::uint32_t* tags = nullptr;
        char* ordered = order_by_range<K>(bits, &begins, &tags);
        if (owned_) release(task_, owned_);
        char* values = ordered
                           ? static_cast<char*>(allocate_array(task_, rows_.count, type_.value->size, loc_))
                           : nullptr;
        if (!values) return kFailed;

        std::vector<WeldDict*> keys(static_cast<std::size_t>(ranges));
        std::atomic<std::int64_t> largest = 0;
        const auto group_range = [&](Task* t, int, std::int64_t r) {
            const std::int64_t begin = begins[std::size_t(r)];
            const char* first = ordered + begin * stride_;
            const Columns rows{first, first + type_.value_at, stride_, stride_,
                               begins[std::size_t(r) + 1] - begin};
            WeldDict*& own = keys[std::size_t(r)];
            own = new_range(t, whole_, bits, loc_);
            // As many keys as another range has, since they spread evenly.
            if (!own || reserve(t, own, largest.load(), loc_)) return kFailed;
            std::uint32_t* numbers = allocate_array<std::uint32_t>(t, rows.count, loc_);
            const std::uint32_t* known = tags ? tags + begin : nullptr;
            if (!numbers || number_rows(t, own, rows, known, INT64_MAX, numbers, loc_)) return kFailed;
            largest = own->count;
            std::int64_t* next = allocate_array<std::int64_t>(t, own->count, loc_);
            if (!next) return kFailed;
            char* const to = values + begin * type_.value->size;
            std::int64_t place = 0;
            for (std::int64_t k = 0; k < own->count; ++k) {
                WeldVec& v = vector_of(own, k);
                v.data = to + place * type_.value->size;
                next[k] = std::exchange(place, place + v.len);
            }
            if (place_values(t, NumberedRows{rows, numbers, next}, {to, rows.count}, type_.value->size, loc_))
                return kFailed;
            release(t, next);
            release(t, numbers);
            return kOk;
        };
        if (run_parts(task_, ranges, true, loc_, group_range)) return kFailed;
        release(task_, ordered);
        if (tags) release(task_, tags);

        release_entries(task_, whole_);
        release_index(task_, whole_);
        return join_tables(task_, whole_, keys, bits, loc_);
    }

    /// The rows, those of a range after those of the one before; begins[r] is where range r begins. So are
    /// tags of their keys, if hashing takes long. Null after recording the failure.
    template <KeyKind K>
    char* order_by_range(int bits, std::vector<std::int64_t>* begins, std::uint32_t** ordered_tags) {
        const auto new_tags = [&] { return allocate_array<std::uint32_t>(task_, rows_.count, loc_); };
        std::uint32_t* tags = nullptr;
        if (reads_type(K) && (!(tags = new_tags()) || !(*ordered_tags = new_tags()))) return nullptr;
        const std::size_t ranges = std::size_t(1) << bits;
        const std::vector<Share> shares = shares_of_workers(task_, rows_);
        std::uint16_t* range_of = allocate_array<std::uint16_t>(task_, rows_.count, loc_);
        char* ordered =
            range_of ? static_cast<char*>(allocate_array(task_, rows_.count, stride_, loc_)) : nullptr;
        if (!ordered) return nullptr;
        std::vector<std::vector<std::int64_t>> next(shares.size(), std::vector<std::int64_t>(ranges));
        const auto find_ranges = [&](Task* t, int, std::int64_t s) {
            const auto& [first, rows] = shares[std::size_t(s)];
            std::uint16_t* to = range_of + first;
            std::int64_t* counts = next[std::size_t(s)].data();
            return in_strips(t, 0, rows.count, loc_, [&](std::int64_t lo, std::int64_t hi) {
                for (std::int64_t i = lo; i < hi; ++i) {
                    const std::uint64_t hash = hash_key<K>(whole_->key, rows.keys + i * rows.key_stride);
                    to[i] = std::uint16_t(hash >> (64 - bits));
                    ++counts[to[i]];
                    if (tags) tags[first + i] = tag_of(hash);
                }
            });
        };
        if (run_parts(task_, std::int64_t(shares.size()), true, loc_, find_ranges)) return nullptr;
        std::int64_t at = 0;
        for (std::size_t r = 0; r < ranges; ++r) {
            begins->push_back(at);
            for (std::vector<std::int64_t>& counts : next) at += std::exchange(counts[r], at);
        }
        begins->push_back(at);
        const auto scatter_share = [&](Task* t, int, std::int64_t s) {
            const auto& [first, rows] = shares[std::size_t(s)];
            const std::uint16_t* ranges_of_rows = range_of + first;
            if (tags && scatter_tags(t, tags + first, rows.count, ranges_of_rows, *ordered_tags,
                                     next[std::size_t(s)]))
                return kFailed;
            return scatter(t, rows, ranges_of_rows, ordered, next[std::size_t(s)]);
        };
        if (run_parts(task_, std::int64_t(shares.size()), true, loc_, scatter_share)) return nullptr;
        release(task_, range_of);
        if (tags) release(task_, tags);
        return ordered;
    }

    std::int32_t scatter_tags(Task* t, const std::uint32_t* tags, std::int64_t count,
                              const std::uint16_t* range_of, std::uint32_t* ordered,
                              std::vector<std::int64_t> next) const {
        return in_strips<kStripOfNewPages>(t, 0, count, loc_, [&](std::int64_t lo, std::int64_t hi) {
            for (std::int64_t i = lo; i < hi; ++i) ordered[next[range_of[i]]++] = tags[i];
        });
    }

    /// Writes each row to the next place of its range, through a buffer for the line of the cache that this
    /// lies in. Sizes of keys and values are constants, or numbers.
    template <std::int64_t Stride, class KeySize, class ValueSize>
    std::int32_t scatter_lines(Task* t, const Columns& rows, KeySize key_size, ValueSize value_size,
                               const std::uint16_t* range_of, char* ordered,
                               const std::vector<std::int64_t>& next) const {
        static_assert(kLine % Stride == 0);
        struct alignas(kLine) Line {
            char bytes[kLine];
        };
        const auto in_line = [](const char* p) { return reinterpret_cast<std::uintptr_t>(p) % kLine; };
        std::vector<Line> lines(next.size());
        std::vector<char*> to, begins;
        for (const std::int64_t n : next) to.push_back(ordered + n * Stride);
        begins = to;
        // What is in the buffer before the next place, all of it or what follows the begin of the range.
        const auto write = [&](std::size_t r, std::size_t filled) {
            const std::size_t first =
                to[r] - begins[r] < std::ptrdiff_t(filled) ? in_line(begins[r]) : std::size_t(0);
            std::memcpy(to[r] - (filled - first), lines[r].bytes + first, filled - first);
        };
        const auto scatter_strip = [&, range_of, line = lines.data(), next_row = to.data(),
                                    value_at = type_.value_at](std::int64_t lo, std::int64_t hi) {
            const char* key = rows.keys + lo * rows.key_stride;
            const char* value = rows.values + lo * rows.value_stride;
            const std::int64_t key_stride = rows.key_stride, value_stride = rows.value_stride;
            for (std::int64_t i = lo; i < hi; ++i, key += key_stride, value += value_stride) {
                const std::size_t r = range_of[i];
                char* at = next_row[r];
                char* const row = line[r].bytes + in_line(at);
                std::memcpy(row, key, std::size_t(key_size));
                std::memcpy(row + value_at, value, std::size_t(value_size));
                next_row[r] = at += Stride;
                if (in_line(at)) continue;
                if (at - begins[r] >= std::ptrdiff_t(kLine)) stream(at - kLine, line[r].bytes, kLine);
                else write(r, kLine);
            }
        };
        if (in_strips<kStripOfNewPages>(t, 0, rows.count, loc_, scatter_strip)) return kFailed;
        for (std::size_t r = 0; r < next.size(); ++r) write(r, in_line(to[r]));
        return kOk;
    }

    std::int32_t scatter_rows(Task* t, const Columns& rows, const std::uint16_t* range_of, char* ordered,
                              const std::vector<std::int64_t>& next) const {
        std::vector<char*> to;
        for (const std::int64_t n : next) to.push_back(ordered + n * stride_);
        return in_strips<kStripOfNewPages>(t, 0, rows.count, loc_, [&](std::int64_t lo, std::int64_t hi) {
            for (std::int64_t i = lo; i < hi; ++i) {
                char* const row = to[range_of[i]];
                std::memcpy(row, rows.keys + i * rows.key_stride, std::size_t(type_.key->size));
                std::memcpy(row + type_.value_at, rows.values + i * rows.value_stride,
                            std::size_t(type_.value->size));
                to[range_of[i]] += stride_;
            }
        });
    }

    std::int32_t scatter(Task* t, const Columns& rows, const std::uint16_t* range_of, char* ordered,
                         const std::vector<std::int64_t>& next) const {
        using Four = std::integral_constant<std::int64_t, 4>;
        using Eight = std::integral_constant<std::int64_t, 8>;
        const std::int64_t key = type_.key->size, value = type_.value->size;
        if (key == 8 && value == 8)
            return scatter_lines<16>(t, rows, Eight(), Eight(), range_of, ordered, next);
        if (key == 4 && value == 4) return scatter_lines<8>(t, rows, Four(), Four(), range_of, ordered, next);
        switch (stride_) {
            case 8: return scatter_lines<8>(t, rows, key, value, range_of, ordered, next);
            case 16: return scatter_lines<16>(t, rows, key, value, range_of, ordered, next);
            case 32: return scatter_lines<32>(t, rows, key, value, range_of, ordered, next);
            default: return scatter_rows(t, rows, range_of, ordered, next);
        }
    }

    Task* task_;
    RowType type_;
    std::int64_t stride_;  ///< of rows in order
    Columns rows_;
    char* owned_;  ///< what they are in, if nobody else reads that
    std::int32_t loc_;
    WeldDict* whole_ = nullptr;
};

}  // namespace

WeldDict* group_by_ranges(Task* task, const RowType& type, const Columns& rows, char* owned,
                          std::int32_t loc) {
    return RangeGrouping(task, type, rows, owned, loc).run();
}

}  // namespace weld::runtime
