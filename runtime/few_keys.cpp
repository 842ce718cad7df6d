// Counting which keys come before which. With lanes, where the machine compares lanes of 64 bits: a block of keys is
// compared with one key after the other.
//
//     keys        7  3  9  3
//     7 < each    0  0  1  0
//     3 < each    1  0  1  1  (the last is equal, and stands behind)
//     9 < each    0  0  0  0
//     3 < each    1  0  1  0
//     places      2  0  3  1
#include "runtime/few_keys.h"

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "runtime/describe.h"
#include "runtime/key_words.h"
#include "runtime/merge.h"

namespace weld::runtime {

namespace {

void count_in_pairs(const std::int64_t* numbers, std::int64_t n, std::int64_t* places) {
    for (std::int64_t i = 0; i < n; ++i) {
        places[i] = 0;
        for (std::int64_t k = 0; k < i; ++k) {
            const bool is_less = numbers[i] < numbers[k];
            places[k] += is_less;
            places[i] += !is_less;
        }
    }
}

using Lanes = std::int64_t __attribute__((vector_size(kFewLanes * sizeof(std::int64_t))));

[[gnu::always_inline]] inline void count_lanes(const std::int64_t* numbers, std::int64_t n,
                                               std::int64_t* places) {
    constexpr Lanes lanes = {0, 1, 2, 3};
    for (std::int64_t begin = 0; begin < n; begin += kFewLanes) {
        Lanes block, before = {};
        std::memcpy(&block, numbers + begin, sizeof block);
        // A comparison that holds is -1.
        for (std::int64_t k = 0; k < begin; ++k) before -= Lanes{} + numbers[k] <= block;
        for (std::int64_t k = 0; k < kFewLanes; ++k) {
            const Lanes one = Lanes{} + numbers[begin + k];
            before -= (one < block) | ((one == block) & (lanes > k));
        }
        for (std::int64_t k = begin + kFewLanes; k < n; ++k) before -= Lanes{} + numbers[k] < block;
        std::memcpy(places + begin, &before, sizeof before);
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void count_in_lanes(const std::int64_t* numbers, std::int64_t n,
                                                    std::int64_t* places) {
    count_lanes(numbers, n, places);
}
bool compares_lanes() { return __builtin_cpu_supports("avx2"); }
#else
void count_in_lanes(const std::int64_t* numbers, std::int64_t n, std::int64_t* places) {
    count_lanes(numbers, n, places);
}
bool compares_lanes() { return true; }
#endif

constexpr FewForm kForms[] = {{count_in_lanes, kMostFew}, {count_in_pairs, 24}};

/// A scalar as a number in the same order.
template <class T>
std::int64_t in_order(T x) {
    const auto bits = ordered_bits(x);
    if constexpr (sizeof bits < sizeof(std::int64_t)) return std::int64_t(bits);
    else return std::int64_t(bits ^ std::uint64_t(1) << 63);
}

}  // namespace

std::span<const FewForm> few_forms() { return std::span(kForms).subspan(compares_lanes() ? 0 : 1); }

std::int64_t few_keys() { return few_forms()[0].most; }

void copy_few_in_order(const WeldType* key, const char* keys, std::int64_t key_stride, std::int64_t n,
                       char* out, const char* data, std::int64_t size, std::int64_t stride) {
    std::int64_t numbers[kMostFew], places[kMostFew];
    with_scalar(key->kind, [&]<class T>(T) {
        for (std::int64_t i = 0; i < n; ++i) numbers[i] = in_order(load<T>(keys + i * key_stride));
    });
    for (std::int64_t i = n; i % kFewLanes; ++i) numbers[i] = INT64_MAX;
    few_forms()[0].count_before(numbers, n, places);
    const auto copy = [&](auto bytes) {
        for (std::int64_t i = 0; i < n; ++i)
            std::memcpy(out + places[i] * bytes, data + i * stride, std::size_t(bytes));
    };
    if (size == 8) return copy(std::integral_constant<std::int64_t, 8>());
    if (size == 16) return copy(std::integral_constant<std::int64_t, 16>());
    copy(size);
}

std::int64_t place_of_least(const WeldType* key, const char* keys, std::int64_t stride, std::int64_t n) {
    return with_scalar(key->kind, [&]<class T>(T) {
        std::int64_t place = 0;
        auto least = ordered_bits(load<T>(keys));
        for (std::int64_t i = 1; i < n; ++i) {
            const auto bits = ordered_bits(load<T>(keys + i * stride));
            if (bits < least) least = bits, place = i;
        }
        return place;
    });
}

}  // namespace weld::runtime
