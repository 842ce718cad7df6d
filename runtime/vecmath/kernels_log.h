// log and pow: logarithms of the mantissa m near 1 by the series of atanh in s = (m - 1) / (m + 1).
#pragma once

namespace {

/// As in fdlibm: log(1 + f) = f - (f^2 / 2 - s * (f^2 / 2 + R(s^2))); only the last rounding matters.
template <class V>
WELD_VM_INLINE V log(V x) {
    using E = ExpLimits<V>;
    Split<V> p = split(x);
    V one = fixed<V, 1>(), f = p.m - one, s = f / (p.m + one), z = s * s;
    V half = f * f * fixed<V, 0.5>();
    V rest = mul_add(z, poly<Poly<Scalar<V>>::log>(z), half);
    V low = half - mul_add(s, rest, p.e * fixed<V, E::kLn2Lo>());
    return mul_add(p.e, fixed<V, E::kLn2Hi>(), f - low);
}

/// An unevaluated sum: `lo` is what `hi` lost to rounding.
struct Sum {
    F64 hi, lo;
};

/// a * b exactly, where operations are fused.
WELD_VM_INLINE Sum product(F64 a, F64 b) {
    F64 hi = a * b;
    return {hi, mul_add(a, b, -hi)};
}

/// a * b, relative error 2^-104.
WELD_VM_INLINE Sum product(Sum a, Sum b) {
    Sum p = product(a.hi, b.hi);
    return {p.hi, p.lo + mul_add(a.hi, b.lo, a.lo * b.hi)};
}

/// a + b for |a| >= |b.hi|.
WELD_VM_INLINE Sum sum(F64 a, Sum b) {
    F64 hi = a + b.hi;
    return {hi, ((a - hi) + b.hi) + b.lo};
}

/// log2(x) with a relative error of 2^-64, x >= 0. Infinite for 0 and infinity; then `lo` is NaN.
WELD_VM_INLINE Sum log2_sum(F64 x) {
    using P = Poly<double>;
    Split<F64> p = split_evenly(x);
    F64 f = p.m - 1.0, g = p.m + 1.0, g_lo = p.m - (g - 1.0), inverse = 1.0 / g;
    F64 s_hi = f * inverse;
    Sum back = product(s_hi, g);
    Sum s = {s_hi, neg_mul_add(s_hi, g_lo, (f - back.hi) - back.lo) * inverse};
    Sum z = product(s, s);
    F64 rest = z.hi * poly<P::log2_rest>(z.hi);
    Sum c1 = sum(fixed<F64, P::log2_1_hi>(), {rest, fixed<F64, P::log2_1_lo>()});
    Sum c0 = product(z, c1);
    c0 = sum(fixed<F64, P::log2_0_hi>(), {c0.hi, c0.lo + P::log2_0_lo});
    return sum(p.e, product(s, c0));
}

/// 2^(hi + lo), the exponent of any size.
WELD_VM_INLINE F64 exp2_sum(Sum x) {
    using P = Poly<double>;
    F64 limit = fixed<F64, 1100>(), magic = fixed<F64, (Lane<F64>::kMagic)>();
    F64 hi = max(-limit, min(limit, x.hi));
    F64 lo = select<F64>(eq(hi, x.hi), x.lo, fixed<F64, 0>());
    F64 shifted = hi + magic, k = shifted - magic;
    F64 f = (hi - k) + lo, f_lo = ((hi - k) - f) + lo;
    // 1 + f ln 2 + f^2 rest, whose two large terms are added with what rounding loses: powers that are whole
    // numbers come out as such.
    Sum linear = product(f, fixed<F64, P::ln2_hi>());
    F64 low = mul_add(f, fixed<F64, P::ln2_lo>(), mul_add(f_lo, fixed<F64, P::ln2_hi>(), linear.lo));
    low = mul_add(f * f, poly<P::exp2_rest>(f), low);
    Sum result = sum(fixed<F64, 1>(), {linear.hi, low});
    return scale(result.hi + result.lo, k, shifted);
}

/// The rules of C for signs, zeros, infinities and NaN, given r = |x|^y, which is right but for them. A power
/// that does not exist is the NaN of the processor, that of 0 / 0, which scripts print as `-nan`.
WELD_VM_INLINE F64 pow_signs(F64 r, F64 x, F64 y) {
    M64 negative = has_sign(bits(x));
    if (lanes_of(negative) != 0) {
        F64 a = abs(y), half = a * 0.5;
        M64 whole = eq(round_abs(a), a);
        M64 odd = whole & not_(eq(round_abs(half), half));
        r = flip(r, where(negative & odd, U64{} + Lane<F64>::kSign));
        M64 no_root =
            not_(whole) & lt(x, fixed<F64, 0>()) & lt(fixed<F64, (-Lane<F64>::kInfinity)>(), x) & eq(y, y);
        r = select<F64>(no_root, fixed<F64, (-Lane<F64>::kNaN)>(), r);
    }
    return select<F64>(eq(x, fixed<F64, 1>()) | eq(y, fixed<F64, 0>()), fixed<F64, 1>(), r);
}

/// Beyond this |y| all powers but those of +-1 are 0 or infinity, and y is an even number.
WELD_VM_INLINE F64 limited_exponent(F64 y) {
    return max(fixed<F64, -0x1p66>(), min(fixed<F64, 0x1p66>(), y));
}

/// Without fused operations exact products cost more than the C library's pow, lane by lane.
WELD_VM_INLINE F64 pow(F64 x, F64 y) {
    if constexpr (!kFused) {
        for (int i = 0; i < Lane<F64>::kCount; i++) x[i] = weld::vecmath::slow_pow(x[i], y[i]);
        return x;
    }
    Sum l = log2_sum(abs(x));
    F64 e = limited_exponent(y);
    Sum p = product(e, l.hi);
    F64 r = exp2_sum({p.hi, mul_add(e, l.lo, p.lo)});
    return pow_signs(r, x, y);
}

/// Floats raised in double: 2^(y * log2 |x|) needs 40 bits of the logarithm.
WELD_VM_INLINE F64 pow_short(F64 x, F64 y) {
    Split<F64> p = split(abs(x));
    F64 s = (p.m - 1.0) / (p.m + 1.0);
    F64 log2 = mul_add(s, poly<PolyShort::log2>(s * s), p.e);
    F64 limit = fixed<F64, 300>(), magic = fixed<F64, (Lane<F64>::kMagic)>();
    F64 power = max(-limit, min(limit, limited_exponent(y) * log2));
    F64 shifted = power + magic;
    F64 f = power - (shifted - magic);
    F64 fraction = mul_add(f, poly<PolyShort::exp2>(f), fixed<F64, 1>());
    // 2^k adds to the exponent; a NaN that was a float has no low bits that could.
    return pow_signs(from_bits(bits(fraction) + (bits(shifted) << 52)), x, y);
}

WELD_VM_INLINE F32 pow(F32 x, F32 y) {
    Halves xs = widen(x), ys = widen(y);
    return narrow({pow_short(xs.lo, ys.lo), pow_short(xs.hi, ys.hi)});
}

}  // namespace
