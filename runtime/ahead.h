// How early the runtime asks for memory that it reads once.
#pragma once

#include <cstdint>

namespace weld::runtime {

/// Bytes: the processor does so by itself up to the end of a page, or not at all.
constexpr std::int64_t kBytesAhead = 2048;

/// Whether the processor goes on fetching beyond the end of a page, so that asking it to only takes its time: AMD from
/// Zen 4 on, the first of theirs with AVX-512.
inline bool follows_streams() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

}  // namespace weld::runtime
