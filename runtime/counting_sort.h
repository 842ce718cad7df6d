// Sorting numbers of one and two bytes by counting them: nothing is compared, and equal numbers are written
// one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/key_words.h"
#include "runtime/parallel.h"

namespace weld::runtime {

/// So many numbers of two bytes cost more to compare than counters for all of them.
constexpr std::int64_t kWorthCounting = 1 << 16;

/// A new array of the `n` numbers at `in`, sorted. Null after recording the failure.
template <class T>
T* sorted_by_counting(Task* task, const T* in, std::int64_t n, std::int32_t loc) {
    static_assert(sizeof(T) <= 2);
    constexpr std::int64_t values = std::int64_t(1) << (8 * sizeof(T));
    // By turns, since counting the number that was counted last waits for that; larger counters leave the cache.
    constexpr std::int64_t turns = sizeof(T) == 1 ? 4 : 1;
    constexpr std::int64_t least = 1 << 18, most = std::int64_t(1) << 31;  // numbers of a part
    const std::int64_t parts = std::max<std::int64_t>(
        n / most + 1, std::clamp<std::int64_t>(n / least, 1, workers_for(task, INT64_MAX, true)));
    T* const sorted = allocate_array<T>(task, n, loc);
    auto* const counts = sorted ? allocate_array<std::uint32_t>(task, parts * turns * values, loc) : nullptr;
    auto* const ends = counts ? allocate_array<std::int64_t>(task, values, loc) : nullptr;  // in `sorted`
    if (!ends) return nullptr;
    const auto bound = [=](std::int64_t part) {
        return std::int64_t(static_cast<__int128>(n) * part / parts);
    };
    const auto count_part = [&](Task* t, int, std::int64_t part) {
        std::uint32_t* const mine = counts + part * turns * values;
        std::memset(mine, 0, sizeof(std::uint32_t) * turns * values);
        return in_strips(t, bound(part), bound(part + 1), loc, [&](std::int64_t lo, std::int64_t hi) {
            std::int64_t i = lo;
            for (; i + turns <= hi; i += turns)
                for (std::int64_t k = 0; k < turns; ++k) ++mine[k * values + ordered_bits(in[i + k])];
            for (; i < hi; ++i) ++mine[ordered_bits(in[i])];
        });
    };
    if (run_parts(task, parts, true, loc, count_part)) return nullptr;

    std::int64_t end = 0;
    for (std::int64_t v = 0; v < values; ++v) {
        for (std::int64_t k = 0; k < parts * turns; ++k) end += counts[k * values + v];
        ends[v] = end;
    }
    release(task, counts);
    const auto write = [&](std::int64_t lo, std::int64_t hi) {
        const std::int64_t* of = std::upper_bound(ends, ends + values, lo);
        for (std::int64_t i = lo; i < hi; ++of) {
            const std::int64_t last = std::min(hi, *of);
            std::fill(sorted + i, sorted + last, from_ordered_bits<T>(of - ends));
            i = last;
        }
    };
    if (for_pieces(task, n, least, loc, write)) return nullptr;
    release(task, ends);
    return sorted;
}

}  // namespace weld::runtime
