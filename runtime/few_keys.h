// Putting a few scalars in order by counting, for each of them, how many come before it: without a branch.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/abi/weld_abi.h"

namespace weld::runtime {

/// So many keys are put in order sooner so than by sorting them, on this machine. The order is the same on all.
std::int64_t few_keys();

/// Copies `n` elements of `size` bytes, which lie `stride` bytes apart, in the order of up to few_keys() scalars, which lie
/// `key_stride` apart; equal ones keep theirs.
void copy_few_in_order(const WeldType* key, const char* keys, std::int64_t key_stride, std::int64_t n,
                       char* out, const char* data, std::int64_t size, std::int64_t stride);

/// The place of the least of `n` keys, which are scalars `stride` bytes apart; of equal ones the first.
std::int64_t place_of_least(const WeldType* key, const char* keys, std::int64_t stride, std::int64_t n);

constexpr std::int64_t kFewLanes = 4;
/// places[i]: how many of `n` numbers come before number i, equal ones by where they stand. Both have room for a multiple of
/// kFewLanes; behind the numbers there is INT64_MAX.
struct FewForm {
    void (*count_before)(const std::int64_t* numbers, std::int64_t n, std::int64_t* places);
    std::int64_t most;  ///< numbers, up to kMostFew
};
constexpr std::int64_t kMostFew = 64;
/// Those for which this machine has instructions, the best one first.
std::span<const FewForm> few_forms();

}  // namespace weld::runtime
