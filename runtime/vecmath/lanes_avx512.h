// Vectors of 64 bytes: AVX-512 (f, dq, bw, vl). A mask is one bit per lane; exponents have instructions of
// their own.
#pragma once

#include <immintrin.h>

#define WELD_VM_BYTES 64
static constexpr bool kConstantsInMemory = false;
#include "runtime/vecmath/lanes.h"

namespace {

constexpr bool kFused = true;
using M64 = __mmask8;
using M32 = __mmask16;

WELD_VM_INLINE F64 mul_add(F64 a, F64 b, F64 c) { return (F64)_mm512_fmadd_pd(a, b, c); }
WELD_VM_INLINE F32 mul_add(F32 a, F32 b, F32 c) { return (F32)_mm512_fmadd_ps(a, b, c); }
WELD_VM_INLINE F64 neg_mul_add(F64 a, F64 b, F64 c) { return (F64)_mm512_fnmadd_pd(a, b, c); }
WELD_VM_INLINE F32 neg_mul_add(F32 a, F32 b, F32 c) { return (F32)_mm512_fnmadd_ps(a, b, c); }
WELD_VM_INLINE M64 lt(F64 a, F64 b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
WELD_VM_INLINE M32 lt(F32 a, F32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
WELD_VM_INLINE M64 le(F64 a, F64 b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
WELD_VM_INLINE M32 le(F32 a, F32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
WELD_VM_INLINE M64 eq(F64 a, F64 b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
WELD_VM_INLINE M32 eq(F32 a, F32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
/// Where the sign bit of `b` is set.
WELD_VM_INLINE M64 has_sign(U64 b) { return _mm512_movepi64_mask((__m512i)b); }
WELD_VM_INLINE M32 has_sign(U32 b) { return _mm512_movepi32_mask((__m512i)b); }
WELD_VM_INLINE M64 not_(M64 m) { return (M64)~m; }
WELD_VM_INLINE M32 not_(M32 m) { return (M32)~m; }
template <class V>
WELD_VM_INLINE V select(unsigned m, V a, V b) {
    if constexpr (sizeof(Scalar<V>) == 8) return (V)_mm512_mask_blend_pd((M64)m, b, a);
    else return (V)_mm512_mask_blend_ps((M32)m, b, a);
}
/// `a` where the mask holds, else zero bits.
WELD_VM_INLINE U64 where(M64 m, U64 a) { return (U64)_mm512_maskz_mov_epi64(m, (__m512i)a); }
WELD_VM_INLINE unsigned lanes_of(unsigned m) { return m; }

WELD_VM_INLINE F64 sqrt(F64 x) { return (F64)_mm512_sqrt_pd(x); }
WELD_VM_INLINE F32 sqrt(F32 x) { return (F32)_mm512_sqrt_ps(x); }
/// The smaller (larger); `b` where one is NaN.
WELD_VM_INLINE F64 min(F64 a, F64 b) { return (F64)_mm512_min_pd(a, b); }
WELD_VM_INLINE F32 min(F32 a, F32 b) { return (F32)_mm512_min_ps(a, b); }
WELD_VM_INLINE F64 max(F64 a, F64 b) { return (F64)_mm512_max_pd(a, b); }
WELD_VM_INLINE F32 max(F32 a, F32 b) { return (F32)_mm512_max_ps(a, b); }
WELD_VM_INLINE Halves widen(F32 x) {
    return {(F64)_mm512_cvtps_pd(_mm512_castps512_ps256(x)),
            (F64)_mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
}
WELD_VM_INLINE F32 narrow(Halves x) {
    return (F32)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(x.lo)), _mm512_cvtpd_ps(x.hi), 1);
}
/// Nearest whole number of x >= 0, ties to even.
WELD_VM_INLINE F64 round_abs(F64 x) {
    return (F64)_mm512_roundscale_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/// p * 2^k with one rounding; the third is k + kMagic, of use to others.
WELD_VM_INLINE F64 scale(F64 p, F64 k, F64) { return (F64)_mm512_scalef_pd(p, k); }
WELD_VM_INLINE F32 scale(F32 p, F32 k, F32) { return (F32)_mm512_scalef_ps(p, k); }

/// Of a float m * 2^e.
template <class V>
struct Split {
    V m, e;
};

// A negative argument gives NaN, -0.0 gives +1: both bits of the sign control are set, for which there is no
// name.
constexpr auto kSignToNaN = (_MM_MANTISSA_SIGN_ENUM)3;

/// x = m * 2^e with m in [0.75, 1.5); 0 and infinity have m = 1 and e infinite, negative x and NaN have m =
/// NaN.
WELD_VM_INLINE Split<F64> split(F64 x) {
    F64 m = (F64)_mm512_getmant_pd(x, _MM_MANT_NORM_p75_1p5, kSignToNaN);
    return {m, (F64)_mm512_getexp_pd(x) - (F64)_mm512_getexp_pd(m)};
}
/// The same with m in [sqrt(1/2), sqrt(2)).
WELD_VM_INLINE Split<F64> split_evenly(F64 x) {
    Split<F64> p = split(x);
    M64 large = le(set<F64>(0x1.6a09e667f3bcdp0), p.m);
    return {select<F64>(large, p.m * 0.5, p.m), select<F64>(large, p.e + 1.0, p.e)};
}
WELD_VM_INLINE Split<F32> split(F32 x) {
    F32 m = (F32)_mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, kSignToNaN);
    return {m, (F32)_mm512_getexp_ps(x) - (F32)_mm512_getexp_ps(m)};
}

}  // namespace
