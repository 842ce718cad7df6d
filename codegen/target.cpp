// What is known of the machine without LLVM.
#include "codegen/engine.h"

#include <fmt/format.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weld {

std::uint32_t target_simd_bytes() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return 64;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 32;
#endif
    return 16;
}

bool target_moves_small_lanes() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512vbmi2");
#else
    return false;
#endif
}

std::string target_identity() {
    std::string identity;
#if defined(__x86_64__)
    unsigned a, b, c, d;
    // features, and the model, which instructions are scheduled for
    if (__get_cpuid(1, &a, &b, &c, &d)) identity += fmt::format("{:x} {:x} {:x} ", a, c, d);
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) identity += fmt::format("{:x} {:x} {:x} ", b, c, d);
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) identity += fmt::format("{:x} {:x} ", a, d);
    if (__get_cpuid(0x80000001, &a, &b, &c, &d)) identity += fmt::format("{:x} {:x} ", c, d);
#endif
    return identity + std::to_string(target_simd_bytes());
}

}  // namespace weld
