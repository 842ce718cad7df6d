// Vectors of 16 bytes in the compiler's own notation: SSE2 on x86-64, and any other machine. Multiply and add
// are one operation on aarch64 only.
#pragma once

#define WELD_VM_BYTES 16
static constexpr bool kConstantsInMemory = false;
#include "runtime/vecmath/lanes.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace {

using M64 = U64;  // all bits of a lane, or none
using M32 = U32;

#if defined(__aarch64__)
constexpr bool kFused = true;
WELD_VM_INLINE F64 mul_add(F64 a, F64 b, F64 c) {
    return (F64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
WELD_VM_INLINE F32 mul_add(F32 a, F32 b, F32 c) {
    return (F32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
WELD_VM_INLINE F64 neg_mul_add(F64 a, F64 b, F64 c) {
    return (F64)vfmsq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
WELD_VM_INLINE F32 neg_mul_add(F32 a, F32 b, F32 c) {
    return (F32)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
#else
constexpr bool kFused = false;
template <class V>
WELD_VM_INLINE V mul_add(V a, V b, V c) {
    return a * b + c;
}
template <class V>
WELD_VM_INLINE V neg_mul_add(V a, V b, V c) {
    return c - a * b;
}
#endif
template <class V>
WELD_VM_INLINE Bits<V> lt(V a, V b) {
    return (Bits<V>)(a < b);
}
template <class V>
WELD_VM_INLINE Bits<V> le(V a, V b) {
    return (Bits<V>)(a <= b);
}
template <class V>
WELD_VM_INLINE Bits<V> eq(V a, V b) {
    return (Bits<V>)(a == b);
}
/// Where the sign bit of `b` is set.
WELD_VM_INLINE M64 has_sign(U64 b) { return ~((b >> 63) - 1); }
WELD_VM_INLINE M32 has_sign(U32 b) { return ~((b >> 31) - 1); }
WELD_VM_INLINE M64 not_(M64 m) { return ~m; }
WELD_VM_INLINE M32 not_(M32 m) { return ~m; }
template <class V>
WELD_VM_INLINE V select(Bits<V> m, V a, V b) {
    return from_bits((bits(a) & m) | (bits(b) & ~m));
}
/// `a` where the mask holds, else zero bits.
WELD_VM_INLINE U64 where(M64 m, U64 a) { return m & a; }

#if defined(__SSE2__)
WELD_VM_INLINE unsigned lanes_of(M64 m) { return (unsigned)_mm_movemask_pd((__m128d)m); }
WELD_VM_INLINE unsigned lanes_of(M32 m) { return (unsigned)_mm_movemask_ps((__m128)m); }
WELD_VM_INLINE F64 sqrt(F64 x) { return (F64)_mm_sqrt_pd((__m128d)x); }
WELD_VM_INLINE F32 sqrt(F32 x) { return (F32)_mm_sqrt_ps((__m128)x); }
/// The smaller (larger); `b` where one is NaN.
WELD_VM_INLINE F64 min(F64 a, F64 b) { return (F64)_mm_min_pd((__m128d)a, (__m128d)b); }
WELD_VM_INLINE F32 min(F32 a, F32 b) { return (F32)_mm_min_ps((__m128)a, (__m128)b); }
WELD_VM_INLINE F64 max(F64 a, F64 b) { return (F64)_mm_max_pd((__m128d)a, (__m128d)b); }
WELD_VM_INLINE F32 max(F32 a, F32 b) { return (F32)_mm_max_ps((__m128)a, (__m128)b); }
WELD_VM_INLINE Halves widen(F32 x) {
    return {(F64)_mm_cvtps_pd((__m128)x), (F64)_mm_cvtps_pd(_mm_movehl_ps((__m128)x, (__m128)x))};
}
WELD_VM_INLINE F32 narrow(Halves x) {
    return (F32)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)x.lo), _mm_cvtpd_ps((__m128d)x.hi));
}
#else
WELD_VM_INLINE unsigned lanes_of(M64 m) { return (unsigned)((m[0] & 1) | (m[1] & 2)); }
WELD_VM_INLINE unsigned lanes_of(M32 m) { return (m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8); }
WELD_VM_INLINE F64 sqrt(F64 x) { return F64{__builtin_sqrt(x[0]), __builtin_sqrt(x[1])}; }
WELD_VM_INLINE F32 sqrt(F32 x) {
    return F32{__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]), __builtin_sqrtf(x[2]), __builtin_sqrtf(x[3])};
}
template <class V>
WELD_VM_INLINE V min(V a, V b) {
    return select<V>(lt(a, b), a, b);
}
template <class V>
WELD_VM_INLINE V max(V a, V b) {
    return select<V>(lt(b, a), a, b);
}
WELD_VM_INLINE Halves widen(F32 x) { return {F64{x[0], x[1]}, F64{x[2], x[3]}}; }
WELD_VM_INLINE F32 narrow(Halves x) {
    return F32{(float)x.lo[0], (float)x.lo[1], (float)x.hi[0], (float)x.hi[1]};
}
#endif

/// Nearest whole number of x >= 0, ties to even.
WELD_VM_INLINE F64 round_abs(F64 x) {
    F64 two52 = set<F64>(0x1p52);
    return select<F64>(lt(x, two52), (x + two52) - two52, x);
}

}  // namespace

#include "runtime/vecmath/lanes_words.h"
