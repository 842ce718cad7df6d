// Taking floats apart and scaling them through their bits: for instruction sets that have nothing better.
#pragma once

namespace {

/// p * 2^k with one rounding, for p in [0.5, 2] and |k| < 2 * bias; `shifted` is k + kMagic.
template <class V>
WELD_VM_INLINE V scale(V p, V, V shifted) {
    using L = Lane<V>;
    // Two factors, since 2^k may be no normal number. Halving is a shift of a positive number, so it is
    // biased first.
    const auto magic = __builtin_bit_cast(Word<V>, L::kMagic);
    Bits<V> both = bits(shifted) + (2 * L::kBias - magic);
    Bits<V> one = both >> 1, other = both - one;
    return p * from_bits(one << L::kMantissa) * from_bits(other << L::kMantissa);
}

/// Of a float m * 2^e.
template <class V>
struct Split {
    V m, e;
};

/// x = m * 2^e with m in [least, 2 * least); 0 and infinity have m = 1 and e infinite, other x m = NaN.
template <class V>
WELD_VM_INLINE Split<V> split_from(Scalar<V> least, V x) {
    using L = Lane<V>;
    using S = Scalar<V>;
    constexpr bool wide = sizeof(S) == 8;
    constexpr int lift = L::kMantissa + 2;
    constexpr S smallest = wide ? S(0x1p-1022) : S(0x1p-126f);  // normal
    const Word<V> least_bits = __builtin_bit_cast(Word<V>, least), one = Word<V>(L::kBias) << L::kMantissa;
    auto tiny = lt(x, fixed<V, smallest>());
    V y = select<V>(tiny, x * fixed<V, wide ? 0x1p54 : 0x1p25>(), x);
    Bits<V> exponent = (bits(y) + (one - least_bits)) >> L::kMantissa;  // biased
    V m = from_bits(bits(y) - (exponent << L::kMantissa) + one);
    // 2^mantissa + exponent, put together from bits, makes a float of the exponent.
    constexpr S base = S(Word<V>(1) << L::kMantissa);
    V e = from_bits(exponent | __builtin_bit_cast(Word<V>, base)) - fixed<V, base + S(L::kBias)>();
    e = select<V>(tiny, e - fixed<V, lift>(), e);
    auto odd = not_(lt(fixed<V, 0>(), x) & lt(x, fixed<V, L::kInfinity>()));
    if (__builtin_expect(lanes_of(odd) != 0, 0)) {
        auto zero = eq(x, set<V>(0)), infinite = eq(x, set<V>(L::kInfinity));
        m = select<V>(odd, select<V>(zero | infinite, set<V>(1), set<V>(L::kNaN)), m);
        e = select<V>(zero, set<V>(-L::kInfinity), select<V>(infinite, set<V>(L::kInfinity), e));
    }
    return {m, e};
}

/// With m in [0.75, 1.5): where AVX-512 cuts, so that bits are the same.
template <class V>
WELD_VM_INLINE Split<V> split(V x) {
    return split_from<V>(Scalar<V>(0.75), x);
}
/// With m in [sqrt(1/2), sqrt(2)).
WELD_VM_INLINE Split<F64> split_evenly(F64 x) { return split_from<F64>(0x1.6a09e667f3bcdp-1, x); }

}  // namespace
