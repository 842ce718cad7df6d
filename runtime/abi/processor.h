// What the runtime and emitted code both go by of the processor.
#pragma once

namespace weld::runtime {

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
