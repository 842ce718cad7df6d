// asin, acos, atan: odd polynomials after folding the argument to [0, 0.5] (asin, acos) or [0, 1] (atan).
#pragma once

namespace {

template <class V>
struct ArcConstants;
template <>
struct ArcConstants<F64> {
    static constexpr double kHalfPi = 0x1.921fb54442d18p0, kHalfPiLo = 0x1.1a62633145c07p-54;
    static constexpr double kTiny = 0x1p-1000;
    static constexpr unsigned long long kUpperHalf = ~0ull << 32;  // 21 bits of mantissa: the square is exact
};
template <>
struct ArcConstants<F32> {
    static constexpr float kHalfPi = 0x1.921fb6p0f, kHalfPiLo = -0x1.777a5cp-25f;
    static constexpr float kTiny = 0x1p-120f;
    static constexpr unsigned kUpperHalf = ~0u << 12;
};

/// For |x| > 0.5, asin(x) = pi / 2 - 2 asin(s) with s = sqrt((1 - |x|) / 2) = upper + lower.
template <class V>
struct ArcParts {
    Mask<V> far;
    V a, s, upper, lower;
    V rest;  ///< asin(s) = s + s * rest, or for |x| <= 0.5 asin(x) = x + x * rest
};

template <class V>
WELD_VM_INLINE ArcParts<V> arc_parts(V x) {
    using C = ArcConstants<V>;
    using T = Scalar<V>;
    V a = abs(x);
    auto far = lt(fixed<V, 0.5>(), a);
    V z = select<V>(far, (T(1) - a) * T(0.5), a * a);
    V s = sqrt(z);
    V upper = from_bits(bits(s) & C::kUpperHalf);
    V lower = neg_mul_add(upper, upper, z) / max(s + upper, fixed<V, C::kTiny>());
    return {far, a, s, upper, lower, z * poly<Poly<T>::asin>(z)};
}

template <class V>
WELD_VM_INLINE V asin(V x) {
    using C = ArcConstants<V>;
    using T = Scalar<V>;
    ArcParts<V> p = arc_parts(x);
    V near = mul_add(p.a, p.rest, p.a);
    V low = T(2) * p.s * p.rest - (C::kHalfPiLo - T(2) * p.lower);
    V high = C::kHalfPi / 2 - T(2) * p.upper;
    V far = C::kHalfPi / 2 - (low - high);
    return flip(select<V>(p.far, far, near), sign_of(x));
}

template <class V>
WELD_VM_INLINE V acos(V x) {
    using C = ArcConstants<V>;
    using T = Scalar<V>;
    ArcParts<V> p = arc_parts(x);
    V near = C::kHalfPi - (x - neg_mul_add(x, p.rest, fixed<V, C::kHalfPiLo>()));
    V above = T(2) * (p.upper + mul_add(p.s, p.rest, p.lower));
    V below = T(2) * (C::kHalfPi - (p.s + (p.s * p.rest - C::kHalfPiLo)));
    return select<V>(p.far, select<V>(lt(x, fixed<V, 0>()), below, above), near);
}

/// Beyond 1, atan(x) = pi / 2 + atan(-1 / x).
template <class V>
WELD_VM_INLINE V atan(V x) {
    using C = ArcConstants<V>;
    V a = abs(x);
    auto far = lt(fixed<V, 1>(), a);
    V t = select<V>(far, fixed<V, -1>(), a) / select<V>(far, a, fixed<V, 1>());
    V z = t * t;
    V low = mul_add(t * z, paired_poly<Poly<Scalar<V>>::atan>(z),
                    select<V>(far, fixed<V, C::kHalfPiLo>(), fixed<V, 0>()));
    V y = select<V>(far, fixed<V, C::kHalfPi>(), fixed<V, 0>()) + (t + low);
    return flip(y, sign_of(x));
}

}  // namespace
