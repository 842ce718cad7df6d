// How values lie in memory: C rules, as users' structs and runtime/abi/weld_abi.h have them.
#pragma once

#include <cstdint>
#include <vector>

#include "weldir/ir/type.h"

namespace weld {

/// Bytes of a value of `type`, its padding at the end included. An empty struct takes none.
std::int64_t size_of(const Type* type);
/// Alignment; a power of two, simd[T,N] at most 64.
std::int64_t align_of(const Type* type);
/// Equal values have equal bytes, and no byte is padding.
bool is_plain(const Type* type);
/// Structs of lanes are put together in registers, as words of `bytes`, their alignment, if they are so many: more, or more
/// large ones, need more registers than there are.
constexpr bool fits_lanes(std::int64_t words, std::int64_t bytes) {
    return words <= 4 || (words <= 8 && bytes <= 4) || (words <= 16 && bytes <= 2);
}
/// Parameters of a function that are more scalars, pointers and lengths than this are passed in memory.
constexpr std::size_t kMostParamsInRegisters = 64;
bool has_params_in_memory(const Type* function);
/// Bytes of a struct of these fields, and the offset of each.
std::int64_t size_of(std::span<const Type* const> fields);
std::vector<std::int64_t> offsets_of(std::span<const Type* const> fields);

}  // namespace weld
