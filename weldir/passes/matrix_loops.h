// When loops over the rows and columns of a matrix pay: what `nest` and `strides` demand before they make a
// loop in a loop, or go along rows.
#pragma once

#include <cstdint>

namespace weld::matrix_loops {

/// Shorter inner loops don't pay, and a line of the cache holds several rows.
constexpr std::int64_t kLeastColumns = 8;
/// With fewer rows all of them are read at once as they lie.
constexpr std::int64_t kLeastRows = 32;
/// Products of two such numbers don't wrap.
constexpr std::int64_t kMostRounds = std::int64_t(1) << 31;
/// Lanes divide by literals below this as fast as an inner loop begins.
constexpr std::int64_t kLeastLiteral = 32;
/// Of small matrices whose numbers of elements are known the columns are read side by side anyway.
constexpr std::int64_t kMostSmall = 1024;
/// Of a loop, or its body, that is there twice afterwards.
constexpr std::uint32_t kMostNodes = 300;

}  // namespace weld::matrix_loops
