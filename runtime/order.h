// Orders of values: numbers by value, structs and vectors lexicographically.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/task.h"

namespace weld::runtime {

/// -1, 0 or 1 in a total order: 0.0 equals -0.0, and all NaNs are equal and come last; 0 once the run is to
/// stop.
int compare_totally(const Task* task, const WeldType* t, const void* a, const void* b);

/// The numbers 0...n-1 of `n` keys at `keys`, `stride` bytes apart, in ascending order; equal keys keep
/// theirs. Null after recording the failure; release it.
std::uint64_t* stable_order(Task* task, const WeldType* key, const char* keys, std::int64_t stride,
                            std::int64_t n, std::int32_t loc);

/// Numbers of keys, ascending; the first `limit` keys in the order are among them, and few others. Status.
std::int32_t find_first(Task* task, const WeldType* key, const char* keys, std::int64_t stride,
                        std::int64_t n, std::int64_t limit, std::vector<std::uint64_t>* found,
                        std::int32_t loc);

/// A new array of the `n` scalars of type `t` at `in`, in the same order as stable_order gives. Null after
/// recording the failure.
void* sorted_by_value(Task* task, const WeldType* t, const void* in, std::int64_t n, std::int32_t loc);

/// Copies `n` elements of `size` bytes, which lie `stride` bytes apart: out[i] = data[order[i]]. Status.
std::int32_t gather(Task* task, char* out, const char* data, const std::uint64_t* order, std::int64_t n,
                    std::int64_t size, std::int64_t stride, std::int32_t loc);
inline std::int32_t gather(Task* task, char* out, const char* data, const std::uint64_t* order,
                           std::int64_t n, std::int64_t size, std::int32_t loc) {
    return gather(task, out, data, order, n, size, size, loc);
}

}  // namespace weld::runtime
