// What the translation unit of an instruction set offers to table.cpp.
#pragma once

namespace weld::vecmath {

/// One function for one instruction set: its name in functions.def, and the names and addresses of its
/// symbols.
struct Routine {
    const char* op;
    int arguments;
    const char* name_f64;
    const char* name_f32;
    void* f64;
    void* f32;
};

/// Calls a routine of `arguments` arguments for arrays: out[i] = routine(x[i], y[i]), i < n; `y` may be null
/// if it has one.
template <class T>
using OnArray = void (*)(void* routine, int arguments, const T* x, const T* y, T* out, unsigned long n);

/// The routines of an instruction set, and calls to them from code that has no such registers.
struct RoutineSet {
    const char* isa;
    const Routine* routines;
    int count;
    OnArray<double> on_array_f64;
    OnArray<float> on_array_f32;
};

extern const RoutineSet kGenericRoutines, kSse2Routines, kAvx2Routines, kAvx512Routines;

}  // namespace weld::vecmath
