// Vectors of 32 bytes: AVX2 with FMA. A mask is a vector of integers, each lane all ones or zero.
#pragma once

#include <immintrin.h>

#define WELD_VM_BYTES 32
static constexpr bool kConstantsInMemory = true;
#include "runtime/vecmath/lanes.h"

namespace {

constexpr bool kFused = true;
using M64 = U64;
using M32 = U32;

WELD_VM_INLINE F64 mul_add(F64 a, F64 b, F64 c) { return (F64)_mm256_fmadd_pd(a, b, c); }
WELD_VM_INLINE F32 mul_add(F32 a, F32 b, F32 c) { return (F32)_mm256_fmadd_ps(a, b, c); }
WELD_VM_INLINE F64 neg_mul_add(F64 a, F64 b, F64 c) { return (F64)_mm256_fnmadd_pd(a, b, c); }
WELD_VM_INLINE F32 neg_mul_add(F32 a, F32 b, F32 c) { return (F32)_mm256_fnmadd_ps(a, b, c); }
WELD_VM_INLINE M64 lt(F64 a, F64 b) { return (M64)_mm256_cmp_pd(a, b, _CMP_LT_OQ); }
WELD_VM_INLINE M32 lt(F32 a, F32 b) { return (M32)_mm256_cmp_ps(a, b, _CMP_LT_OQ); }
WELD_VM_INLINE M64 le(F64 a, F64 b) { return (M64)_mm256_cmp_pd(a, b, _CMP_LE_OQ); }
WELD_VM_INLINE M32 le(F32 a, F32 b) { return (M32)_mm256_cmp_ps(a, b, _CMP_LE_OQ); }
WELD_VM_INLINE M64 eq(F64 a, F64 b) { return (M64)_mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
WELD_VM_INLINE M32 eq(F32 a, F32 b) { return (M32)_mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
/// Where the sign bit of `b` is set.
WELD_VM_INLINE M64 has_sign(U64 b) { return (M64)_mm256_cmpgt_epi64(_mm256_setzero_si256(), (__m256i)b); }
WELD_VM_INLINE M32 has_sign(U32 b) { return (M32)_mm256_cmpgt_epi32(_mm256_setzero_si256(), (__m256i)b); }
WELD_VM_INLINE M64 not_(M64 m) { return ~m; }
WELD_VM_INLINE M32 not_(M32 m) { return ~m; }
template <class V>
WELD_VM_INLINE V select(Bits<V> m, V a, V b) {
    if constexpr (sizeof(Scalar<V>) == 8) return (V)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)m);
    else return (V)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)m);
}
/// `a` where the mask holds, else zero bits.
WELD_VM_INLINE U64 where(M64 m, U64 a) { return m & a; }
WELD_VM_INLINE unsigned lanes_of(M64 m) { return (unsigned)_mm256_movemask_pd((__m256d)m); }
WELD_VM_INLINE unsigned lanes_of(M32 m) { return (unsigned)_mm256_movemask_ps((__m256)m); }

WELD_VM_INLINE F64 sqrt(F64 x) { return (F64)_mm256_sqrt_pd(x); }
WELD_VM_INLINE F32 sqrt(F32 x) { return (F32)_mm256_sqrt_ps(x); }
/// The smaller (larger); `b` where one is NaN.
WELD_VM_INLINE F64 min(F64 a, F64 b) { return (F64)_mm256_min_pd(a, b); }
WELD_VM_INLINE F32 min(F32 a, F32 b) { return (F32)_mm256_min_ps(a, b); }
WELD_VM_INLINE F64 max(F64 a, F64 b) { return (F64)_mm256_max_pd(a, b); }
WELD_VM_INLINE F32 max(F32 a, F32 b) { return (F32)_mm256_max_ps(a, b); }
WELD_VM_INLINE Halves widen(F32 x) {
    return {(F64)_mm256_cvtps_pd(_mm256_castps256_ps128(x)),
            (F64)_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
}
WELD_VM_INLINE F32 narrow(Halves x) {
    return (F32)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(x.lo)), _mm256_cvtpd_ps(x.hi), 1);
}
/// Nearest whole number of x >= 0, ties to even.
WELD_VM_INLINE F64 round_abs(F64 x) {
    return (F64)_mm256_round_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

}  // namespace

#include "runtime/vecmath/lanes_words.h"
