// What is known of machines without LLVM.
#include "codegen/target.h"

#include <iterator>

#include <fmt/format.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "runtime/abi/processor.h"

namespace weld {

using codegen::Target;

#if defined(__x86_64__)

/// The widest of the named ones that this machine can run.
static Cpu widest() {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Cpu::Sse2;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
    return wide ? Cpu::Avx512 : Cpu::Avx2;
}

static constexpr Target kNamed[] = {
    {Cpu::Sse2, "sse2", 16, false},
    {Cpu::Avx2, "avx2", 32, true, 4, false, false, false, true},
    {Cpu::Avx512, "avx512", 64, true, 1, true, false, true},
};

/// On processors of AMD a gather of eight takes twice as long as eight loads.
static bool gathers() {
    __builtin_cpu_init();
    return !__builtin_cpu_is("amd");
}

static Target native() {
    Target all = kNamed[int(widest())];
    all.cpu = Cpu::Native;
    all.packs_small = all.packs && __builtin_cpu_supports("avx512vbmi2");
    return all;
}

std::vector<Cpu> runnable_cpus() {
    std::vector<Cpu> all;
    for (const Target& t : kNamed)
        if (t.cpu <= widest()) all.push_back(t.cpu);
    all.push_back(Cpu::Native);
    return all;
}

/// The features, and the model that instructions are scheduled for.
static std::string processor() {
    std::string all;
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d)) all += fmt::format("{:x} {:x} {:x} ", a, c, d);
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) all += fmt::format("{:x} {:x} {:x} ", b, c, d);
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) all += fmt::format("{:x} {:x} ", a, d);
    if (__get_cpuid(0x80000001, &a, &b, &c, &d)) all += fmt::format("{:x} {:x} ", c, d);
    return all;
}

#else

#if defined(__aarch64__)
static constexpr bool kFuses = true;
#else
static constexpr bool kFuses = false;
#endif
static constexpr Target kNamed[] = {{Cpu::Native, "generic", 16, kFuses}};

static bool gathers() { return true; }

static Target native() { return kNamed[0]; }

std::vector<Cpu> runnable_cpus() { return {Cpu::Native}; }

/// The features, and the model that instructions are scheduled for.
static std::string processor() {
#if defined(__aarch64__)
    const unsigned long features = ::getauxval(AT_HWCAP);
    std::uint64_t model = 0;
    if (features & HWCAP_CPUID) __asm__("mrs %0, midr_el1" : "=r"(model));
    return fmt::format("{:x} {:x} {:x} ", features, ::getauxval(AT_HWCAP2), model);
#else
    return {};
#endif
}

#endif

const Target& codegen::target_of(Cpu cpu) {
    static const std::vector<Target> all = [] {
        std::vector<Target> found(std::begin(kNamed), std::end(kNamed));
        if (found.back().cpu != Cpu::Native) found.push_back(native());
        for (Target& t : found) {
            t.follows_streams = runtime::follows_streams();
            t.gathers = gathers();
        }
        return found;
    }();
    return cpu == Cpu::Native ? all.back() : all[std::size_t(cpu)];
}

std::string_view name_of(Cpu cpu) {
    constexpr std::string_view names[] = {"sse2", "avx2", "avx512", "native"};
    return names[int(cpu)];
}

std::string target_identity(Cpu cpu) {
    return fmt::format("{} {}", cpu == Cpu::Native ? processor() : "", codegen::target_of(cpu).routines);
}

}  // namespace weld
