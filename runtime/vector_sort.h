// Sorting numbers with Highway's vectorised quicksort, in pieces so small that a run which is to stop needn't
// wait for it: nothing stops it in the middle.
//
// What is large is cut before. Where numbers are copied anyway, they go to one of many buckets, between
// neighbouring numbers of a sample, in one pass; where they are in place, or a bucket is too large because
// many are equal, they are split by quicksort.
#pragma once

#include <dlfcn.h>
#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "runtime/parallel.h"

namespace weld::runtime {

/// What is sorted, or split, at once takes some 20 ms.
constexpr std::int64_t kAtOnceBytes = 16 << 20;

/// The name of `hwy::Sorter::operator()(T*, std::size_t, hwy::SortAscending) const`.
template <class T>
constexpr const char* kSorter = nullptr;
template <>
constexpr const char* kSorter<std::uint16_t> = "_ZNK3hwy6SorterclEPtmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<std::uint32_t> = "_ZNK3hwy6SorterclEPjmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<std::uint64_t> = "_ZNK3hwy6SorterclEPmmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<std::int16_t> = "_ZNK3hwy6SorterclEPsmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<std::int32_t> = "_ZNK3hwy6SorterclEPimNS_13SortAscendingE";
template <>
constexpr const char* kSorter<std::int64_t> = "_ZNK3hwy6SorterclEPlmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<float> = "_ZNK3hwy6SorterclEPfmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<double> = "_ZNK3hwy6SorterclEPdmNS_13SortAscendingE";
template <>
constexpr const char* kSorter<hwy::uint128_t> = "_ZNK3hwy6SorterclEPNS_9uint128_tEmNS_13SortAscendingE";

inline void* find_sorter(const char* name) {
    static void* const library = ::dlopen("libhwy_contrib.so.1", RTLD_NOW | RTLD_LOCAL);
    return library ? ::dlsym(library, name) : nullptr;
}

/// Sorts with Highway. That is loaded when there is enough to sort: it measures the clock for 3 ms then.
template <class T>
void vector_sort(T* data, std::int64_t n) {
    constexpr std::int64_t few = 48, worth_loading = 50'000;
    static std::atomic<std::int64_t> sorted = 0;  // elements until now
    if (n <= few || sorted.fetch_add(n, std::memory_order_relaxed) < worth_loading - n)
        return std::sort(data, data + n);
    using Sorter = void (*)(const void* self, T*, std::size_t, hwy::SortAscending);
    static const auto sort = reinterpret_cast<Sorter>(find_sorter(kSorter<T>));
    if (!sort) return std::sort(data, data + n);
    // A Sorter consists of a pointer to memory. It needs that where registers are as large as the machine
    // likes (SVE): 2.5 KiB for the largest, of 256 bytes.
    alignas(256) std::byte memory[4096];
    void* const sorter = memory;
    sort(&sorter, data, std::size_t(n), {});
}

/// Whether the machine packs lanes of 32 bits in memory in so many steps that lanes of 64 bits, for which Highway does
/// without, are sorted four times as fast (AMD with AVX-512).
inline bool sorts_words_slowly() {
#if defined(__x86_64__)
    static const bool slowly = __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f");
    return slowly;
#else
    return false;
#endif
}

template <class T>
using Widened = std::conditional_t<std::is_same_v<T, float>, double,
                                   std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

/// Sorts numbers that need not be cut before. Status.
template <class T>
std::int32_t sort_at_once(Task* task, T* data, std::int64_t n, std::int32_t loc) {
    constexpr std::int64_t worth_it = 512;
    if constexpr (sizeof(T) == 4) {
        using Wide = Widened<T>;
        if (n >= worth_it && sorts_words_slowly() && has_room(task, n * std::int64_t(sizeof(Wide)))) {
            Wide* const wide = allocate_array<Wide>(task, n, loc);
            if (!wide) return kFailed;
            std::copy(data, data + n, wide);
            vector_sort(wide, n);
            std::transform(wide, wide + n, data, [](Wide x) { return T(x); });
            release(task, wide);
            return kOk;
        }
    }
    vector_sort(data, n);
    return kOk;
}

// ---- in place

/// Moves the items for which `belongs` holds to the front; `*count` of them. Status.
template <class T, class F>
std::int32_t move_to_front(Task* task, T* data, std::int64_t n, std::int64_t* count, std::int32_t loc,
                           const F& belongs) {
    *count = 0;
    return in_strips(task, 0, n, loc, [&](std::int64_t lo, std::int64_t hi) {
        std::int64_t to = *count;
        for (std::int64_t i = lo; i < hi; ++i) {  // no branch: it could not be predicted
            const T one = data[i];
            data[i] = data[to];
            data[to] = one;
            to += belongs(one);
        }
        *count = to;
    });
}

template <class T>
T about_median(const T* data, std::int64_t n) {
    std::array<T, 101> some;
    for (std::size_t k = 0; k < some.size(); ++k)
        some[k] = data[n / std::int64_t(some.size()) * std::int64_t(k)];
    std::nth_element(some.begin(), some.begin() + some.size() / 2, some.end());
    return some[some.size() / 2];
}

/// Sorts in place. Status.
template <class T>
std::int32_t stoppable_sort(Task* task, T* data, std::int64_t n, std::int32_t loc, int most_splits = 64) {
    for (; n > kAtOnceBytes / std::int64_t(sizeof(T)) && most_splits > 0; --most_splits) {
        const T middle = about_median(data, n);
        std::int64_t first;
        if (move_to_front(task, data, n, &first, loc, [=](const T& x) { return x < middle; })) return kFailed;
        if (first > 0) {
            if (stoppable_sort(task, data, first, loc, most_splits - 1)) return kFailed;
        } else {  // nothing is less, so those that are equal are where they belong
            if (move_to_front(task, data, n, &first, loc, [=](const T& x) { return !(middle < x); }))
                return kFailed;
        }
        data += first;
        n -= first;
    }
    return task->check_stop(loc) ? kFailed : sort_at_once(task, data, n, loc);
}

/// The item that would stand at `at` if all were sorted. They change places. Status.
template <class T>
std::int32_t find_nth(Task* task, T* data, std::int64_t n, std::int64_t at, T* found, std::int32_t loc) {
    while (n > kAtOnceBytes / std::int64_t(sizeof(T))) {
        const T middle = about_median(data, n);
        std::int64_t first;
        if (move_to_front(task, data, n, &first, loc, [=](const T& x) { return x < middle; })) return kFailed;
        if (first == 0) {
            if (move_to_front(task, data, n, &first, loc, [=](const T& x) { return !(middle < x); }))
                return kFailed;
            if (at < first) return *found = middle, kOk;
        }
        if (at < first) {
            n = first;
        } else {
            data += first;
            n -= first;
            at -= first;
        }
    }
    std::nth_element(data, data + at, data + n);
    *found = data[at];
    return kOk;
}

// ---- while they are copied

/// Between which of 1 << Bits numbers another one lies.
template <class T, int Bits>
class Buckets {
  public:
    static constexpr int kCount = 1 << Bits;

    /// The numbers are at(begin) ... at(end - 1).
    template <class At>
    Buckets(std::int64_t begin, std::int64_t end, const At& at) {
        constexpr std::int64_t for_each = 64, count = for_each << Bits;
        std::vector<T> sample;
        for (std::int64_t k = 0; k < count; ++k) sample.push_back(at(begin + (end - begin) / count * k));
        std::sort(sample.begin(), sample.end());
        // As a search tree: the children of node i are nodes 2 * i and 2 * i + 1.
        for (std::int64_t level = 0, node = 1; level < Bits; ++level)
            for (std::int64_t k = 0; k < std::int64_t(1) << level; ++k)
                tree_[std::size_t(node++)] = sample[std::size_t((2 * k + 1) * (count >> (level + 1)))];
    }
    unsigned of(T x) const {
        unsigned node = 1;
        for (int level = 0; level < Bits; ++level) node = 2 * node + !(x < tree_[node]);
        return node - kCount;
    }

  private:
    std::array<T, kCount> tree_;
};

/// Copies at(begin) ... at(end - 1) to `to`, by buckets, and sorts these there. Status.
template <int Bits, class T, class At>
std::int32_t sort_by_buckets(Task* task, T* to, std::int64_t begin, std::int64_t end, const At& at,
                             std::int32_t loc) {
    const Buckets<T, Bits> buckets(begin, end, at);
    auto* const bucket_of = allocate_array<std::uint8_t>(task, end - begin, loc);
    if (!bucket_of) return kFailed;
    std::array<std::int64_t, std::size_t(buckets.kCount)> next = {};
    const auto count = [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) {
            const unsigned b = buckets.of(at(i));
            bucket_of[i - begin] = std::uint8_t(b);
            ++next[b];
        }
    };
    if (in_strips(task, begin, end, loc, count)) return kFailed;
    std::int64_t sum = 0;
    for (std::int64_t& first : next) sum += std::exchange(first, sum);
    const auto scatter = [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) to[next[bucket_of[i - begin]]++] = at(i);
    };
    if (in_strips<kStripOfNewPages>(task, begin, end, loc, scatter)) return kFailed;
    release(task, bucket_of);
    std::int64_t first = 0;
    for (const std::int64_t last : next) {
        if (stoppable_sort(task, to + first, last - first, loc)) return kFailed;
        first = last;
    }
    return kOk;
}

/// Copies at(begin) ... at(end - 1) to `to` and sorts them there. Status.
template <class T, class At>
std::int32_t sort_copies(Task* task, T* to, std::int64_t begin, std::int64_t end, const At& at,
                         std::int32_t loc) {
    constexpr std::int64_t at_once = kAtOnceBytes / std::int64_t(sizeof(T));
    const std::int64_t n = end - begin;
    if (n <= at_once) {
        const auto copy = [&](std::int64_t lo, std::int64_t hi) {
            for (std::int64_t i = lo; i < hi; ++i) to[i - begin] = at(i);
        };
        return in_strips(task, begin, end, loc, copy) ? kFailed : stoppable_sort(task, to, n, loc);
    }
    // so many that few get more than is sorted at once, unless they are equal
    return n <= at_once * 8 ? sort_by_buckets<4>(task, to, begin, end, at, loc)
                            : sort_by_buckets<8>(task, to, begin, end, at, loc);
}

}  // namespace weld::runtime
