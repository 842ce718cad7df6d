// Vector math: exp, log, pow, ... on whole registers, for emitted code and for whoever must get the same
// bits.
//
// For each function of functions.def, element type and instruction set there is a C symbol that takes and
// returns vectors in registers: `weld_vm_pow_f64_avx2` is `__m256d (__m256d, __m256d)`. Instruction sets are
// `sse2` (16 bytes, every x86-64), `avx2` (32, with FMA), `avx512` (64: f, dq, bw, vl, cd), and `generic`
// (16) on other machines.
//
// Results are within 4 ulp of the exact ones everywhere and follow C's math.h for zeros, infinities and NaN.
// A lane's result depends on that lane's arguments alone. Its bits are the same where operations are
// fused, for `avx2`, `avx512`, and `generic` on aarch64 (but for huge angles there, which are the C
// library's); those that have no fused operations may have other last bits.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace weld {

/// The address of a routine by its symbol, e.g. `weld_vm_exp_f32_avx512`; null if there is none. Says nothing
/// about whether this machine can run it.
void* find_vecmath(std::string_view name);

/// The widest instruction set this machine has routines for: `avx512`, `avx2`, `sse2` or `generic`.
const char* vecmath_isa();

/// All that this machine can run, narrowest first.
std::span<const char* const> vecmath_isas();

/// Lane 0 of the routine of `op` (`exp`, ...) for `isa`, by default the widest. Functions of one argument
/// ignore `y`. NaN if there is no such routine or the machine cannot run it.
double vecmath_f64(std::string_view op, double x, double y = 0, std::string_view isa = vecmath_isa());
float vecmath_f32(std::string_view op, float x, float y = 0, std::string_view isa = vecmath_isa());

/// out[i] = op(x[i], y[i]) for i < n, a register at a time; `y` may be null for functions of one argument.
/// False, with `out` untouched, if there is no such routine or the machine cannot run it.
bool vecmath_array(std::string_view op, std::string_view isa, const double* x, const double* y, double* out,
                   std::size_t n);
bool vecmath_array(std::string_view op, std::string_view isa, const float* x, const float* y, float* out,
                   std::size_t n);

}  // namespace weld
