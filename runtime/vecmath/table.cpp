// Finding the routines of the instruction sets by name, and what the machine at hand can run.
#include <limits>

#include "runtime/vecmath/routines.h"
#include "runtime/vecmath/vecmath.h"

namespace weld {
namespace {

using vecmath::Routine;
using vecmath::RoutineSet;

/// Narrowest first, so that those the machine can run come first: each set includes the one before.
#if defined(__x86_64__)
constexpr const RoutineSet* kSets[] = {&vecmath::kSse2Routines, &vecmath::kAvx2Routines,
                                       &vecmath::kAvx512Routines};

int count_runnable() {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 1;
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512cd");
    return wide ? 3 : 2;
}
#else
constexpr const RoutineSet* kSets[] = {&vecmath::kGenericRoutines};

int count_runnable() { return 1; }
#endif

std::span<const RoutineSet* const> runnable() {
    static const int count = count_runnable();
    return std::span(kSets).first(count);
}

std::span<const Routine> routines(const RoutineSet& set) {
    return {set.routines, static_cast<std::size_t>(set.count)};
}

template <class T>
bool on_array(vecmath::OnArray<T> RoutineSet::* call, void* Routine::* address, std::string_view op,
              std::string_view isa, const T* x, const T* y, T* out, std::size_t n) {
    for (const RoutineSet* set : runnable()) {
        if (isa != set->isa) continue;
        for (const Routine& r : routines(*set)) {
            if (op != r.op) continue;
            (set->*call)(r.*address, r.arguments, x, y, out, n);
            return true;
        }
    }
    return false;
}

}  // namespace

void* find_vecmath(std::string_view name) {
    if (!name.starts_with("weld_vm_")) return nullptr;
    for (const RoutineSet* set : kSets) {
        if (!name.ends_with(set->isa)) continue;
        for (const Routine& r : routines(*set)) {
            if (name == r.name_f64) return r.f64;
            if (name == r.name_f32) return r.f32;
        }
    }
    return nullptr;
}

const char* vecmath_isa() { return runnable().back()->isa; }

std::span<const char* const> vecmath_isas() {
    static const auto names = [] {
        struct {
            const char* of[std::size(kSets)];
        } all{};
        for (std::size_t i = 0; i < std::size(kSets); i++) all.of[i] = kSets[i]->isa;
        return all;
    }();
    return std::span(names.of).first(runnable().size());
}

bool vecmath_array(std::string_view op, std::string_view isa, const double* x, const double* y, double* out,
                   std::size_t n) {
    return on_array(&RoutineSet::on_array_f64, &Routine::f64, op, isa, x, y, out, n);
}

bool vecmath_array(std::string_view op, std::string_view isa, const float* x, const float* y, float* out,
                   std::size_t n) {
    return on_array(&RoutineSet::on_array_f32, &Routine::f32, op, isa, x, y, out, n);
}

double vecmath_f64(std::string_view op, double x, double y, std::string_view isa) {
    double result = std::numeric_limits<double>::quiet_NaN();
    vecmath_array(op, isa, &x, &y, &result, 1);
    return result;
}

float vecmath_f32(std::string_view op, float x, float y, std::string_view isa) {
    float result = std::numeric_limits<float>::quiet_NaN();
    vecmath_array(op, isa, &x, &y, &result, 1);
    return result;
}

}  // namespace weld
