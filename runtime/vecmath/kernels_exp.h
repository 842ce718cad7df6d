// exp, sinh, cosh, tanh, erf: all stand on 2^k * e^r with |r| <= ln(2) / 2.
#pragma once

namespace {

template <class V>
struct ExpLimits;
template <>
struct ExpLimits<F64> {
    static constexpr double kLog2e = 0x1.71547652b82fep0;
    static constexpr double kLn2Hi = 0x1.62e42fefa2p-1, kLn2Lo = 0x1.9ef35793c7673p-41;  // k * hi is exact
    static constexpr double kUnderflow = -746, kOverflow = 710, kSinhOverflow = 712, kTanhIsOne = 20;
    static constexpr double kErfIsOne = 5.95;
};
template <>
struct ExpLimits<F32> {
    static constexpr float kLog2e = 0x1.715476p0f;
    static constexpr float kLn2Hi = 0x1.62e4p-1f, kLn2Lo = 0x1.7f7d1cp-20f;
    static constexpr float kUnderflow = -105, kOverflow = 89.5f, kSinhOverflow = 91, kTanhIsOne = 10;
    static constexpr float kErfIsOne = 3.95f;
};

/// e^x = 2^k * e^r, e^r = 1 + r + r^2 * series; `shifted` = k + kMagic.
template <class V>
struct ExpParts {
    V k, shifted, r, series;
};

template <class V>
WELD_VM_INLINE ExpParts<V> exp_parts(V x) {
    using E = ExpLimits<V>;
    V magic = fixed<V, (Lane<V>::kMagic)>();
    V shifted = mul_add(x, fixed<V, E::kLog2e>(), magic);
    V k = shifted - magic;
    V r = neg_mul_add(k, fixed<V, E::kLn2Lo>(), neg_mul_add(k, fixed<V, E::kLn2Hi>(), x));
    return {k, shifted, r, poly<Poly<Scalar<V>>::exp>(r)};
}

/// e^r - 1
template <class V>
WELD_VM_INLINE V minus_one(const ExpParts<V>& p) {
    return mul_add(p.r * p.r, p.series, p.r);
}

/// What 1 + r loses to rounding is added with the rest.
template <class V>
WELD_VM_INLINE V exp(V x) {
    using E = ExpLimits<V>;
    ExpParts<V> p = exp_parts(max(fixed<V, E::kUnderflow>(), min(fixed<V, E::kOverflow>(), x)));
    V one = fixed<V, 1>(), sum = one + p.r, lost = (one - sum) + p.r;
    return scale(sum + mul_add(p.r * p.r, p.series, lost), p.k, p.shifted);
}

/// e^x / 2 for x >= 0, finite as long as the result is.
template <class V>
WELD_VM_INLINE V half_exp(V x) {
    ExpParts<V> p = exp_parts(min(fixed<V, (ExpLimits<V>::kSinhOverflow)>(), x));
    return scale(minus_one(p) + Scalar<V>(1), p.k - Scalar<V>(1), p.shifted - Scalar<V>(1));
}

template <class V>
WELD_VM_INLINE V cosh(V x) {
    V half = half_exp(abs(x));
    return half + Scalar<V>(0.25) / half;
}

/// Odd polynomial up to 1, where the difference of two exponentials would cancel.
template <class V>
WELD_VM_INLINE V sinh(V x) {
    V a = abs(x), z = a * a;
    V near = mul_add(a * z, poly<Poly<Scalar<V>>::sinh>(z), a);
    V half = half_exp(a);
    V far = half - Scalar<V>(0.25) / half;
    return flip(select<V>(lt(a, fixed<V, 1>()), near, far), sign_of(x));
}

/// |t / (t + 2)| with t = e^(-2|x|) - 1 = (2^k - 1) + 2^k * (e^r - 1); as k <= 0, nothing cancels.
template <class V>
WELD_VM_INLINE V tanh(V x) {
    using L = Lane<V>;
    V a = min(fixed<V, (ExpLimits<V>::kTanhIsOne)>(), abs(x));
    ExpParts<V> p = exp_parts(a * Scalar<V>(-2));
    V power = from_bits((bits(p.shifted) + Word<V>(L::kBias)) << L::kMantissa);  // 2^k
    V t = mul_add(power, minus_one(p), power - Scalar<V>(1));
    return with_sign(t / (t + Scalar<V>(2)), sign_of(x));
}

/// Up to 1.25 an odd polynomial; beyond, 1 - 2^-P(|x|) where P approximates -log2(erfc).
template <class V>
WELD_VM_INLINE V erf(V x) {
    using L = Lane<V>;
    using P = Poly<Scalar<V>>;
    V near = mul_add(x, paired_poly<P::erf_near>(x * x), x);
    V a = abs(x), magic = fixed<V, L::kMagic>();
    V power = poly<P::erf_far>(min(fixed<V, (ExpLimits<V>::kErfIsOne)>(), a));
    V shifted = magic - power, k = shifted - magic;
    V f = -(power + k);
    V fraction = mul_add(f, poly<P::exp2>(f), fixed<V, 1>());
    V erfc = from_bits(bits(fraction) + (bits(shifted) << L::kMantissa));  // 2^k adds to the exponent
    V far = flip(Scalar<V>(1) - erfc, sign_of(x));
    return select<V>(le(fixed<V, 1.25>(), a), far, near);  // NaN stays near
}

}  // namespace
