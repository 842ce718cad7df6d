// Elements in the order of keys that are distinct whole numbers close together: where an element goes is how
// many keys are less than its own, and a bit for each possible key tells that. Elements are first cut into
// buckets by the upper bits of their keys, so that those of a bucket fit the cache.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/keys.h"
#include "runtime/merge.h"
#include "runtime/order.h"
#include "runtime/parallel.h"
#include "runtime/stream.h"

namespace weld::runtime {

namespace {

constexpr std::int64_t kFewest = 1 << 12;  // elements for which this pays
constexpr std::uint64_t kMostPerKey = 8;   // possible keys for each element
constexpr std::int64_t kLargest = 32;      // bytes of an element: more would be moved twice
constexpr std::int64_t kPiece = 1 << 16;   // elements that are worth a thread
constexpr int kBucketBits = 8;
constexpr std::int64_t kBuckets = 1 << kBucketBits;
constexpr std::int64_t kBufferBytes = 256;  // about, per bucket

using PerBucket = std::array<std::int64_t, kBuckets>;

/// `Size` bytes are an element, or 0: not known here.
template <class T, std::int64_t Size>
class Counting {
  public:
    Counting(Task* task, const char* data, std::int64_t size, std::int64_t n)
        : task_(task), data_(data), n_(n), size_(size) {
        const std::int64_t workers = workers_for(task, INT64_MAX, true);
        pieces_ = std::clamp<std::int64_t>(n / kPiece, 1, workers);
    }

    /// Whether the keys lie close enough together.
    bool applies() {
        std::vector<std::pair<T, T>> bounds(std::size_t(pieces_), {key(data_), key(data_)});
        each_piece([&](std::int64_t piece, std::int64_t begin, std::int64_t end) {
            auto& [low, high] = bounds[std::size_t(piece)];
            for (std::int64_t i = begin; i < end; ++i) {
                low = std::min(low, key(element(i)));
                high = std::max(high, key(element(i)));
            }
        });
        T high = bounds[0].second;
        least_ = bounds[0].first;
        for (const auto& [a, b] : bounds) {
            least_ = std::min(least_, a);
            high = std::max(high, b);
        }
        const std::uint64_t range = std::uint64_t(high) - std::uint64_t(least_);
        shift_ = std::max(6, int(std::bit_width(range)) - kBucketBits);
        return range / kMostPerKey < std::uint64_t(n_);
    }

    /// `buckets`: room for all elements, like `out`, which receives them in order. Status.
    std::int32_t run(char* buckets, char* out, std::int32_t loc) {
        counts_.resize(std::size_t(pieces_));
        each_piece([&](std::int64_t piece, std::int64_t begin, std::int64_t end) {
            PerBucket& counts = counts_[std::size_t(piece)];
            counts.fill(0);
            for (std::int64_t i = begin; i < end; ++i) ++counts[bucket(element(i))];
        });
        PerBucket begins;
        std::int64_t at = 0;
        for (std::size_t b = 0; b < kBuckets; ++b) {
            begins[b] = at;
            for (PerBucket& counts : counts_) at += std::exchange(counts[b], at);
        }
        const auto cut = [&](Task* t, int, std::int64_t piece) { return distribute(t, piece, buckets, loc); };
        if (run_parts(task_, pieces_, true, loc, cut)) return kFailed;
        return run_parts(task_, kBuckets, true, loc, [&](Task* t, int, std::int64_t b) {
            const std::int64_t end = b + 1 < kBuckets ? begins[std::size_t(b) + 1] : n_;
            return place(t, buckets, begins[std::size_t(b)], end, out, loc);
        });
    }

  private:
    std::int64_t size() const { return Size ? Size : size_; }
    const char* element(std::int64_t i) const { return data_ + i * size(); }
    static T key(const char* element) { return load<T>(element); }
    std::uint64_t offset(const char* element) const {
        return std::uint64_t(key(element)) - std::uint64_t(least_);
    }
    std::size_t bucket(const char* element) const { return std::size_t(offset(element) >> shift_); }

    template <class F>
    void each_piece(const F& f) {
        run_all(task_, pieces_,
                [&](Task*, std::int64_t piece) { f(piece, begin_of(piece), begin_of(piece + 1)); });
    }
    std::int64_t begin_of(std::int64_t piece) const {
        return n_ / pieces_ * piece + n_ % pieces_ * piece / pieces_;
    }

    /// Appends the elements of a piece to its parts of the buckets, through buffers that are written past the
    /// cache. Status.
    std::int32_t distribute(Task* task, std::int64_t piece, char* buckets, std::int32_t loc) {
        const std::int64_t lines = 64 / std::gcd(size(), std::int64_t(64)) * size();
        const std::int64_t bytes = round_up(kBufferBytes, lines), most = bytes / size();
        char* const buffers = static_cast<char*>(allocate_array(task, kBuckets, bytes, loc));
        if (!buffers) return kFailed;
        PerBucket& next = counts_[std::size_t(piece)];
        const PerBucket first = next;
        for (std::int64_t i = begin_of(piece), end = begin_of(piece + 1); i < end; ++i) {
            const std::size_t b = bucket(element(i));
            const std::int64_t at = next[b]++ % most;
            char* const buffer = buffers + std::int64_t(b) * bytes;
            std::memcpy(buffer + at * size(), element(i), std::size_t(size()));
            if (at == most - 1) write(buckets, buffer, std::max(first[b], next[b] - most), next[b], most);
        }
        for (std::size_t b = 0; b < kBuckets; ++b)
            write(buckets, buffers + std::int64_t(b) * bytes, std::max(first[b], next[b] / most * most),
                  next[b], most);
        release(task, buffers);
        return kOk;
    }

    void write(char* buckets, const char* buffer, std::int64_t from, std::int64_t to,
               std::int64_t most) const {
        if (to - from == most) return stream(buckets + from * size(), buffer, most * size());
        std::memcpy(buckets + from * size(), buffer + from % most * size(),
                    std::size_t((to - from) * size()));
    }

    /// Puts the elements of a bucket, [begin, end), to their places. Status.
    std::int32_t place(Task* task, const char* buckets, std::int64_t begin, std::int64_t end, char* out,
                       std::int32_t loc) const {
        struct Word {
            std::uint64_t taken;
            std::int64_t before;  // how many elements go before those of this word
        };
        const std::int64_t words = std::int64_t(1) << (shift_ - 6);
        Word* const all = allocate_array<Word>(task, words, loc);
        if (!all) return kFailed;
        std::fill_n(all, words, Word{0, 0});
        const std::uint64_t mask = (std::uint64_t(1) << shift_) - 1;
        const auto offset_in = [&](std::int64_t i) { return offset(buckets + i * size()) & mask; };
        for (std::int64_t i = begin; i < end; ++i)
            all[offset_in(i) >> 6].taken |= std::uint64_t(1) << (offset_in(i) & 63);
        std::int64_t before = begin;
        for (Word* w = all; w < all + words; ++w) {
            w->before = before;
            before += std::popcount(w->taken);
        }
        for (std::int64_t i = begin; i < end; ++i) {
            const std::uint64_t k = offset_in(i);
            const Word& word = all[k >> 6];
            const std::uint64_t less = word.taken & ((std::uint64_t(1) << (k & 63)) - 1);
            std::memcpy(out + (word.before + std::popcount(less)) * size(), buckets + i * size(),
                        std::size_t(size()));
        }
        release(task, all);
        return kOk;
    }

    Task* task_;
    const char* data_;
    std::int64_t n_;
    std::int64_t size_;
    std::int64_t pieces_;
    T least_{};
    int shift_ = 0;
    std::vector<PerBucket> counts_;  // by piece; then where the next element of each bucket goes
};

template <class T, std::int64_t Size>
std::int32_t ordered(Task* task, const char* data, std::int64_t size, std::int64_t n, char* out, bool* done,
                     std::int32_t loc) {
    Counting<T, Size> counting(task, data, size, n);
    if (!counting.applies()) return kOk;
    char* const buckets = static_cast<char*>(allocate_array(task, n, size, loc));
    if (!buckets || counting.run(buckets, out, loc)) return kFailed;
    release(task, buckets);
    *done = true;
    return kOk;
}

}  // namespace

std::int32_t order_by_counting(Task* task, const WeldType* key, const char* data, std::int64_t size,
                               std::int64_t n, char* out, bool* done, std::int32_t loc) {
    *done = false;
    if (!is_scalar(key) || is_float(key) || key->kind == kWeldBool || n < kFewest || size > kLargest)
        return kOk;
    return with_scalar(key->kind, [&]<class T>(T) -> std::int32_t {
        if constexpr (std::is_integral_v<T>)
            return size == 16 ? ordered<T, 16>(task, data, size, n, out, done, loc)
                              : ordered<T, 0>(task, data, size, n, out, done, loc);
        return kOk;
    });
}

}  // namespace weld::runtime
