// How early the runtime asks for memory that it reads once.
#pragma once

#include <cstdint>

namespace weld::runtime {

/// Bytes: the processor does so by itself up to the end of a page, or not at all.
constexpr std::int64_t kBytesAhead = 2048;

}  // namespace weld::runtime
