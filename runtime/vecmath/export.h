// The symbols of one instruction set and their table: included last, with WELD_VM_ISA (sse2, ...) and
// WELD_VM_SET (the name of the RoutineSet) defined.
#pragma once

#include "runtime/vecmath/routines.h"

#define WELD_VM_JOIN(a, b, c, d) a##b##c##d
#define WELD_VM_NAME(op, type, isa) WELD_VM_JOIN(weld_vm_, op, type, isa)
#define WELD_VM_SYMBOL(op, type) WELD_VM_NAME(op, type, WELD_VM_ISA)
#define WELD_VM_QUOTE_(x) #x
#define WELD_VM_QUOTE(x) WELD_VM_QUOTE_(x)

extern "C" {
#define WELD_VECMATH_1(op)                                   \
    F64 WELD_VM_SYMBOL(op, _f64_)(F64 x) { return (op)(x); } \
    F32 WELD_VM_SYMBOL(op, _f32_)(F32 x) { return (op)(x); }
#define WELD_VECMATH_2(op)                                             \
    F64 WELD_VM_SYMBOL(op, _f64_)(F64 x, F64 y) { return (op)(x, y); } \
    F32 WELD_VM_SYMBOL(op, _f32_)(F32 x, F32 y) { return (op)(x, y); }
#include "runtime/vecmath/functions.def"
}

namespace {

/// out[i] = routine(x[i], y[i]) for a register's worth or, at the end, fewer; the lanes left over hold 1.
template <class V>
WELD_VM_INLINE void on_register(void* routine, int arguments, const Scalar<V>* x, const Scalar<V>* y,
                                Scalar<V>* out, unsigned long bytes) {
    V a = set<V>(1), b = set<V>(1);
    __builtin_memcpy(&a, x, bytes);
    if (arguments == 2) {
        __builtin_memcpy(&b, y, bytes);
        a = reinterpret_cast<V (*)(V, V)>(routine)(a, b);
    } else {
        a = reinterpret_cast<V (*)(V)>(routine)(a);
    }
    __builtin_memcpy(out, &a, bytes);
}

template <class V>
void on_array(void* routine, int arguments, const Scalar<V>* x, const Scalar<V>* y, Scalar<V>* out,
              unsigned long n) {
    constexpr unsigned long kLanes = Lane<V>::kCount;
    unsigned long i = 0;
    for (; i + kLanes <= n; i += kLanes)
        on_register<V>(routine, arguments, x + i, arguments == 2 ? y + i : y, out + i, WELD_VM_BYTES);
    if (i < n)
        on_register<V>(routine, arguments, x + i, arguments == 2 ? y + i : y, out + i,
                       (n - i) * sizeof(Scalar<V>));
}

#define WELD_VM_ROW(op, arguments)                       \
    {#op,                                                \
     arguments,                                          \
     WELD_VM_QUOTE(WELD_VM_SYMBOL(op, _f64_)),           \
     WELD_VM_QUOTE(WELD_VM_SYMBOL(op, _f32_)),           \
     reinterpret_cast<void*>(WELD_VM_SYMBOL(op, _f64_)), \
     reinterpret_cast<void*>(WELD_VM_SYMBOL(op, _f32_))},
#define WELD_VECMATH_1(op) WELD_VM_ROW(op, 1)
#define WELD_VECMATH_2(op) WELD_VM_ROW(op, 2)
const weld::vecmath::Routine kRoutines[] = {
#include "runtime/vecmath/functions.def"
};

}  // namespace

extern const weld::vecmath::RoutineSet weld::vecmath::WELD_VM_SET = {WELD_VM_QUOTE(WELD_VM_ISA), kRoutines,
                                                                     sizeof kRoutines / sizeof *kRoutines,
                                                                     on_array<F64>, on_array<F32>};
