// groupmerger[K,V]: `result` groups the rows {key, value} that have been merged, which are in an array until
// then (appender.cpp).
//
// Grouping reads the rows twice: first each finds the number of its key, and the keys count their values;
// then the values go to their places in one vector, of which the dictionary holds slices. So values keep
// their order, and no key has a vector that grows. Rows of few keys are cut into shares of workers, which
// count and place for themselves: the second share places a key's values after those of the first. Rows of
// many keys are put in order by the first bits of their keys' tags before, so that the keys of such a range,
// and what they count, stay in the cache.
#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "runtime/entry.h"
#include "runtime/hash_table.h"
#include "runtime/parallel.h"
#include "runtime/stream.h"

namespace weld::runtime {

namespace {

constexpr std::int64_t kMostKeys = 1 << 14;    ///< that are few
constexpr std::int64_t kShareRows = 1 << 16;   ///< worth a worker
constexpr std::int64_t kRangeBytes = 1 << 19;  ///< of the rows of a range, about
constexpr int kFewestRangeBits = 4, kMostRangeBits = 9;
constexpr std::size_t kLine = 64;  ///< bytes of a line of the cache

struct Rows {
    const char* data;
    std::int64_t count;
};

/// Rows that one worker groups.
struct Share {
    Rows rows;
    WeldDict* keys = nullptr;  ///< key -> WeldVec: how many values, and later those that have been placed
    std::uint32_t* numbers = nullptr;     ///< of each row's key
    const std::uint32_t* tags = nullptr;  ///< of each row's key; null: not known
};

class Grouping {
  public:
    Grouping(Task* task, const WeldType* row, Rows rows, std::int32_t loc)
        : task_(task),
          rows_(rows),
          stride_(row->size),
          value_at_(row->offsets[1]),
          value_size_(row->args[1]->size),
          loc_(loc) {}

    /// Null after recording the failure. The rows lose their meaning.
    WeldDict* run(const WeldType* key) {
        whole_ = new_table(task_, key, sizeof(WeldVec), alignof(WeldVec), loc_);
        if (!whole_ || clear_padding(key)) return nullptr;
        const std::int32_t status =
            with_key_kind(whole_->kind, [&](auto kind) { return group_by<kind()>(); });
        return status ? nullptr : whole_;
    }

  private:
    /// The keys of rows are canonical but for the bytes that no field has. Status.
    std::int32_t clear_padding(const WeldType* key) {
        if (reads_type(whole_->kind)) return kOk;
        std::vector<std::int64_t> bytes;
        each_padding(key, 0, [&](std::int64_t at) { bytes.push_back(at); });
        if (bytes.empty()) return kOk;
        return for_pieces(task_, rows_.count, kShareRows, loc_, [&](std::int64_t lo, std::int64_t hi) {
            char* row = const_cast<char*>(rows_.data) + lo * stride_;
            for (std::int64_t i = lo; i < hi; ++i, row += stride_)
                for (const std::int64_t at : bytes) row[at] = 0;
        });
    }

    template <KeyKind K>
    std::int32_t group_by() {
        bool many = false;
        if (group_few<K>(&many)) return kFailed;
        return many ? group_many<K>() : kOk;
    }

    // ---- one share

    WeldVec& vector_of(const WeldDict* keys, std::int64_t number) const {
        return *reinterpret_cast<WeldVec*>(keys->entry(number) + keys->value_at);
    }

    /// Strings of rows in the order of their hash lie anywhere, so all of them is asked for.
    void ask_for_string(const char* row, bool whole) const {
        const WeldVec v = load<WeldVec>(row);
        __builtin_prefetch(v.data);
        if (whole) __builtin_prefetch(static_cast<const char*>(v.data) + bytes_of(whole_, v));
    }

    /// Counts the values of each key; stops when there are more than `most`. Status.
    template <KeyKind K>
    std::int32_t count_values(Task* t, Share* share, std::int64_t most) const {
        share->numbers = allocate_array<std::uint32_t>(t, share->rows.count, loc_);
        if (!share->numbers) return kFailed;
        bool too_many = false;
        constexpr std::int64_t ahead = 16;  // rows whose strings are asked for
        const auto count = [&](std::int64_t lo, std::int64_t hi) -> std::int32_t {
            if (too_many) return kOk;
            const char* row = share->rows.data + lo * stride_;
            for (std::int64_t i = lo; i < hi; ++i, row += stride_) {
                if constexpr (K == KeyKind::Bytes)
                    ask_for_string(row + std::min(ahead, hi - 1 - i) * stride_, share->tags);
                const Sought s =
                    share->tags ? sought<K>(share->keys, row, share->tags[i]) : sought<K>(share->keys, row);
                bool added;
                const std::int64_t number = find_or_add<K>(t, share->keys, s, &added, loc_);
                if (number < 0) return kFailed;
                WeldVec& values = vector_of(share->keys, number);
                if (added) values = {nullptr, 0};
                ++values.len;
                share->numbers[i] = std::uint32_t(number);
                if (added && share->keys->count > most) return too_many = true, kOk;
            }
            return kOk;
        };
        return in_strips(t, 0, share->rows.count, loc_, count);
    }

    /// Gives each key its slice of what is at `values`.
    void cut_vectors(const WeldDict* keys, char* values) const {
        for (std::int64_t k = 0; k < keys->count; ++k) {
            WeldVec& v = vector_of(keys, k);
            v.data = values;
            values += std::exchange(v.len, 0) * value_size_;
        }
    }

    template <std::int64_t Size>
    std::int32_t place_sized(Task* t, const Share& share) const {
        const std::int64_t size = Size ? Size : value_size_;
        return in_strips<kStripOfNewPages>(
            t, 0, share.rows.count, loc_, [&](std::int64_t lo, std::int64_t hi) {
                const char* value = share.rows.data + value_at_ + lo * stride_;
                for (std::int64_t i = lo; i < hi; ++i, value += stride_) {
                    WeldVec& v = vector_of(share.keys, share.numbers[i]);
                    std::memcpy(static_cast<char*>(v.data) + v.len++ * size, value, std::size_t(size));
                }
            });
    }
    std::int32_t place_values(Task* t, const Share& share) const {
        switch (value_size_) {
            case 1: return place_sized<1>(t, share);
            case 4: return place_sized<4>(t, share);
            case 8: return place_sized<8>(t, share);
            case 16: return place_sized<16>(t, share);
            default: return place_sized<0>(t, share);
        }
    }

    // ---- few keys

    std::vector<Share> shares_of_workers() const {
        const std::int64_t shares =
            std::clamp<std::int64_t>(rows_.count / kShareRows, 1, workers_for(task_, INT64_MAX, true));
        const auto begin = [&](std::int64_t s) {
            return std::int64_t(static_cast<__int128>(rows_.count) * s / shares);
        };
        std::vector<Share> all;
        for (std::int64_t s = 0; s < shares; ++s)
            all.push_back({{rows_.data + begin(s) * stride_, begin(s + 1) - begin(s)}});
        return all;
    }

    /// Sets `*many`, and has done nothing, if there are more than kMostKeys. Status.
    template <KeyKind K>
    std::int32_t group_few(bool* many) {
        std::vector<Share> shares = shares_of_workers();
        const bool alone = shares.size() == 1;
        const auto count = [&](Task* t, int, std::int64_t s) {
            Share& share = shares[std::size_t(s)];
            share.keys = alone ? whole_ : new_range(t, whole_, 0, loc_);
            return share.keys ? count_values<K>(t, &share, kMostKeys) : kFailed;
        };
        if (run_parts(task_, std::int64_t(shares.size()), true, loc_, count)) return kFailed;
        *many = std::ranges::any_of(shares, [](const Share& s) { return s.keys->count > kMostKeys; });
        if (!*many && (alone ? cut_alone() : cut_between<K>(shares, many))) return kFailed;
        const auto place = [&](Task* t, int, std::int64_t s) {
            return place_values(t, shares[std::size_t(s)]);
        };
        if (!*many && run_parts(task_, std::int64_t(shares.size()), true, loc_, place)) return kFailed;
        for (Share& share : shares) {
            release(task_, share.numbers);
            if (!alone) release_range(task_, share.keys);
        }
        if (*many) empty_whole();
        else release(task_, const_cast<char*>(rows_.data));
        return kOk;
    }

    char* allocate_values() {
        return static_cast<char*>(allocate_array(task_, rows_.count, value_size_, loc_));
    }

    std::int32_t cut_alone() {
        char* values = allocate_values();
        if (values) cut_vectors(whole_, values);
        return values ? kOk : kFailed;
    }

    /// Cuts vectors for all keys, and those into what each share places. Status.
    template <KeyKind K>
    std::int32_t cut_between(std::vector<Share>& shares, bool* many) {
        std::vector<std::vector<std::uint32_t>> numbers(shares.size());  // in the whole, of the shares' keys
        for (std::size_t s = 0; s < shares.size(); ++s) {
            const WeldDict* keys = shares[s].keys;
            for (std::int64_t k = 0; k < keys->count; ++k) {
                bool added;
                const std::int64_t number =
                    find_or_add<K>(task_, whole_, sought_of_entry<K>(keys, keys->entry(k)), &added, loc_);
                if (number < 0) return kFailed;
                WeldVec& all = vector_of(whole_, number);
                if (added) all = {nullptr, 0};
                all.len += vector_of(keys, k).len;
                numbers[s].push_back(std::uint32_t(number));
            }
        }
        *many = whole_->count > kMostKeys;
        if (*many) return kOk;
        if (cut_alone()) return kFailed;
        for (std::size_t s = 0; s < shares.size(); ++s)
            for (std::int64_t k = 0; k < shares[s].keys->count; ++k) {
                WeldVec& mine = vector_of(shares[s].keys, k);
                WeldVec& all = vector_of(whole_, numbers[s][std::size_t(k)]);
                mine.data = static_cast<char*>(all.data) + all.len * value_size_;
                all.len += std::exchange(mine.len, 0);
            }
        return kOk;
    }

    void empty_whole() {
        whole_->count = 0;
        std::memset(whole_->index, 0, sizeof(std::uint64_t) << whole_->bits);
    }

    // ---- many keys

    template <KeyKind K>
    std::int32_t group_many() {
        int bits = kFewestRangeBits;
        while (bits < kMostRangeBits && rows_.count * stride_ >> bits > kRangeBytes) ++bits;
        const std::int64_t ranges = std::int64_t(1) << bits;
        std::vector<std::int64_t> begins;
        std::uint32_t* tags = nullptr;
        char* ordered = order_by_range<K>(bits, &begins, &tags);
        release(task_, const_cast<char*>(rows_.data));
        char* values = ordered ? allocate_values() : nullptr;
        if (!values) return kFailed;

        std::vector<WeldDict*> keys(static_cast<std::size_t>(ranges));
        std::atomic<std::int64_t> largest = 0;
        const auto group_range = [&](Task* t, int, std::int64_t r) {
            const std::int64_t begin = begins[std::size_t(r)];
            Share share{{ordered + begin * stride_, begins[std::size_t(r) + 1] - begin}};
            share.tags = tags ? tags + begin : nullptr;
            keys[std::size_t(r)] = share.keys = new_range(t, whole_, bits, loc_);
            // As many keys as another range has, since they spread evenly.
            if (!share.keys || reserve(t, share.keys, largest.load(), loc_)) return kFailed;
            if (count_values<K>(t, &share, INT64_MAX)) return kFailed;
            largest = share.keys->count;
            cut_vectors(share.keys, values + begin * value_size_);
            if (place_values(t, share)) return kFailed;
            release(t, share.numbers);
            return kOk;
        };
        if (run_parts(task_, ranges, true, loc_, group_range)) return kFailed;
        release(task_, ordered);
        if (tags) release(task_, tags);

        release(task_, whole_->entries);
        release(task_, whole_->index);
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
        const std::vector<Share> shares = shares_of_workers();
        std::uint16_t* range_of = allocate_array<std::uint16_t>(task_, rows_.count, loc_);
        char* ordered =
            range_of ? static_cast<char*>(allocate_array(task_, rows_.count, stride_, loc_)) : nullptr;
        if (!ordered) return nullptr;
        std::vector<std::vector<std::int64_t>> next(shares.size(), std::vector<std::int64_t>(ranges));
        const auto first = [&](std::size_t s) { return (shares[s].rows.data - rows_.data) / stride_; };
        const auto find_ranges = [&](Task* t, int, std::int64_t s) {
            const Rows& rows = shares[std::size_t(s)].rows;
            std::uint16_t* to = range_of + first(std::size_t(s));
            std::int64_t* counts = next[std::size_t(s)].data();
            return in_strips(t, 0, rows.count, loc_, [&](std::int64_t lo, std::int64_t hi) {
                for (std::int64_t i = lo; i < hi; ++i) {
                    const std::uint64_t hash = hash_key<K>(whole_->key, rows.data + i * stride_);
                    to[i] = std::uint16_t(hash >> (64 - bits));
                    ++counts[to[i]];
                    if (tags) tags[first(std::size_t(s)) + i] = tag_of(hash);
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
            const Rows& rows = shares[std::size_t(s)].rows;
            const std::uint16_t* ranges_of_rows = range_of + first(std::size_t(s));
            if (tags && scatter_tags(t, tags + first(std::size_t(s)), rows.count, ranges_of_rows,
                                     *ordered_tags, next[std::size_t(s)]))
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
    /// lies in.
    template <std::int64_t Stride>
    std::int32_t scatter_lines(Task* t, const Rows& rows, const std::uint16_t* range_of, char* ordered,
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
        const auto scatter_strip = [&, range_of, line = lines.data(), next_row = to.data()](std::int64_t lo,
                                                                                            std::int64_t hi) {
            const char* row = rows.data + lo * Stride;
            for (std::int64_t i = lo; i < hi; ++i, row += Stride) {
                const std::size_t r = range_of[i];
                char* at = next_row[r];
                std::memcpy(line[r].bytes + in_line(at), row, Stride);
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

    std::int32_t scatter_rows(Task* t, const Rows& rows, const std::uint16_t* range_of, char* ordered,
                              const std::vector<std::int64_t>& next) const {
        std::vector<char*> to;
        for (const std::int64_t n : next) to.push_back(ordered + n * stride_);
        return in_strips<kStripOfNewPages>(t, 0, rows.count, loc_, [&](std::int64_t lo, std::int64_t hi) {
            for (std::int64_t i = lo; i < hi; ++i) {
                std::memcpy(to[range_of[i]], rows.data + i * stride_, std::size_t(stride_));
                to[range_of[i]] += stride_;
            }
        });
    }

    std::int32_t scatter(Task* t, const Rows& rows, const std::uint16_t* range_of, char* ordered,
                         const std::vector<std::int64_t>& next) const {
        switch (stride_) {
            case 8: return scatter_lines<8>(t, rows, range_of, ordered, next);
            case 16: return scatter_lines<16>(t, rows, range_of, ordered, next);
            case 32: return scatter_lines<32>(t, rows, range_of, ordered, next);
            default: return scatter_rows(t, rows, range_of, ordered, next);
        }
    }

    Task* task_;
    Rows rows_;
    std::int64_t stride_, value_at_, value_size_;
    std::int32_t loc_;
    WeldDict* whole_ = nullptr;
};

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" WeldAppender* weld_rt_group_new(WeldTask* t, std::int32_t loc) {
    WeldAppender* rows = allocate_array<WeldAppender>(task_of(t), 1, loc);
    if (rows) *rows = {nullptr, 0, 0};
    return rows;
}

extern "C" WeldDict* weld_rt_group_result(WeldTask* t, WeldAppender* rows, const WeldType* row,
                                          std::int32_t loc) {
    const Rows all{static_cast<const char*>(rows->data), rows->size};
    release(task_of(t), rows);
    return Grouping(task_of(t), row, all, loc).run(row->args[0]);
}
