// sin, cos, tan: the angle less a multiple of pi / 2, kept to full relative accuracy, then polynomials on
// +-pi / 4. Angles for which a few constants no longer do, which are rare, go to the C library lane by lane.
#pragma once

namespace {

/// a - k * pi / 2 for 0 <= a <= kLimit.
///
/// With fused operations the first step is exact, since `a` and k * pi / 2 agree in their leading bits, and
/// the second is where the one rounding that counts happens. Otherwise the parts are short enough for exact
/// products with k.
template <class V>
struct Angle;
template <>
struct Angle<F64> {
    using P = Poly<double>;
    static constexpr double kLimit = kFused ? 0x1p40 : 0x1p23;
    WELD_VM_INLINE F64 less_multiple(F64 a, F64 k) {
        if constexpr (kFused) {
            a = neg_mul_add(k, fixed<F64, 0x1.921fb54442d18p0>(), a);
            a = neg_mul_add(k, fixed<F64, 0x1.1a62633145c07p-54>(), a);
            return neg_mul_add(k, fixed<F64, -0x1.f1976b7ed8fbcp-110>(), a);
        } else {
            a = (a - k * 0x1.921fb54p0) - k * 0x1.10b461p-30;
            return (a - k * 0x1.a62633p-58) - k * 0x1.45c06e0e68948p-86;
        }
    }
    /// The same with what is lost when rounding to `hi`.
    WELD_VM_INLINE Sum less_multiple_sum(F64 a, F64 k) {
        if constexpr (kFused) {
            a = neg_mul_add(k, fixed<F64, 0x1.921fb54442d18p0>(), a);
            Sum part = product(k, fixed<F64, 0x1.1a62633145c07p-54>());
            F64 hi = a - part.hi;
            return {hi,
                    neg_mul_add(k, fixed<F64, -0x1.f1976b7ed8fbcp-110>(), ((a - hi) - part.hi) - part.lo)};
        } else {
            a = (a - k * 0x1.921fb54p0) - k * 0x1.10b461p-30;
            F64 part = k * 0x1.a62633p-58, hi = a - part;
            return {hi, ((a - hi) - part) - k * 0x1.45c06e0e68948p-86};
        }
    }
};
template <>
struct Angle<F32> {  // only where operations are fused
    using P = Poly<float>;
    static constexpr float kLimit = 0x1p15f;
    WELD_VM_INLINE F32 less_multiple(F32 a, F32 k) {
        a = neg_mul_add(k, fixed<F32, 0x1.921fb6p0f>(), a);
        a = neg_mul_add(k, fixed<F32, -0x1.777a5cp-25f>(), a);
        return neg_mul_add(k, fixed<F32, -0x1.ee59dap-50f>(), a);
    }
};

/// Floats held as doubles: two parts of pi leave an error of 2^-50, and the polynomials are shorter.
struct ShortAngle {
    using P = PolyShort;
    static constexpr double kLimit = 0x1p27;
    WELD_VM_INLINE F64 less_multiple(F64 a, F64 k) {
        a = neg_mul_add(k, fixed<F64, 0x1.921fb5p0>(), a);
        return neg_mul_add(k, fixed<F64, 0x1.110b4611a6263p-26>(), a);
    }
};

/// a = k * pi / 2 + rest; the lowest bits of `shifted` = k + kMagic are those of k.
template <class V>
struct Turns {
    V k, shifted;
};
template <class V>
WELD_VM_INLINE Turns<V> turns_of(V a) {
    V magic = fixed<V, (Lane<V>::kMagic)>();
    V shifted = mul_add(a, fixed<V, (Scalar<V>(0x1.45f306dc9c883p-1))>(), magic);
    return {shifted - magic, shifted};
}

/// Bit `bit` of each word, as a sign.
template <int bit, class B>
WELD_VM_INLINE B bit_as_sign(B words) {
    constexpr int kTop = 8 * sizeof(words[0]) - 1;
    return (words << (kTop - bit)) & (B{} + 1) << kTop;
}

/// r + r^3 P(r^2)
template <const auto& C, class V>
WELD_VM_INLINE V odd_poly(V r) {
    V z = r * r;
    return mul_add(r * z, poly<C>(z), r);
}

/// sin(a + first * pi / 2) for a >= 0: sin(r), cos(r), -sin(r), -cos(r) as k + first is 0, 1, 2, 3 modulo 4.
/// The cosine never exceeds 1.
template <class A, class V>
WELD_VM_INLINE V sin_from(V a, Word<V> first) {
    Turns<V> t = turns_of(a);
    V r = A::less_multiple(a, t.k), z = r * r;
    V sine = odd_poly<A::P::sin>(r);
    V cosine = mul_add(z, mul_add(z, poly<A::P::cos>(z), fixed<V, (Scalar<V>(-0.5))>()), fixed<V, 1>());
    Bits<V> quadrant = bits(t.shifted) + first;
    V y = select<V>(has_sign(bit_as_sign<0>(quadrant)), cosine, sine);
    return flip(y, bit_as_sign<1>(quadrant));
}
template <class A, class V>
WELD_VM_INLINE V sin_of(V x) {
    return flip(sin_from<A>(abs(x), 0), sign_of(x));
}
template <class A, class V>
WELD_VM_INLINE V cos_of(V x) {
    return sin_from<A>(abs(x), 1);
}

/// Where one rounding of r becomes two ulp of the result, its lost part counts: tan(r + d) = tan(r) + d *
/// tan'(r).
WELD_VM_INLINE F64 tan_poly(Sum r) {
    F64 z = r.hi * r.hi;
    F64 slope = mul_add(mul_add(z, fixed<F64, 0.7>(), fixed<F64, 1>()), z, fixed<F64, 1>());
    return r.hi + mul_add(r.hi * z, poly<Poly<double>::tan>(z), r.lo * slope);
}

/// tan(a) = tan(r) or, for odd k, -1 / tan(r).
template <class A, class V>
WELD_VM_INLINE V tan_of(V x) {
    V a = abs(x), y;
    Turns<V> t = turns_of(a);
    if constexpr (requires { A::less_multiple_sum; }) y = tan_poly(A::less_multiple_sum(a, t.k));
    else y = odd_poly<A::P::tan>(A::less_multiple(a, t.k));
    y = select<V>(has_sign(bit_as_sign<0>(bits(t.shifted))), Scalar<V>(-1) / y, y);
    return flip(y, sign_of(x));
}

/// The finite lanes beyond `limit`.
template <class V>
WELD_VM_INLINE Mask<V> huge(V x, Scalar<V> limit) {
    V a = abs(x);
    return lt(set<V>(limit), a) & lt(a, fixed<V, (Lane<V>::kInfinity)>());
}

/// `y`, with f(x) in the lanes whose angles are too large.
WELD_VM_INLINE F64 with_slow_lanes(F64 y, F64 x, double limit, double (*f)(double) noexcept) {
    unsigned slow = lanes_of(huge(x, limit));
    if (__builtin_expect(slow != 0, 0)) {
        for (; slow != 0; slow &= slow - 1) {
            int lane = __builtin_ctz(slow);
            y[lane] = f(x[lane]);
        }
    }
    return y;
}

// Floats: in their own arithmetic if that is fused and the angle permits, else in double.
#define WELD_VM_ANGLE_FUNCTION(op)                                                                       \
    WELD_VM_INLINE F64 op##_short(F64 x) {                                                               \
        return with_slow_lanes(op##_of<ShortAngle>(x), x, ShortAngle::kLimit, weld::vecmath::slow_##op); \
    }                                                                                                    \
    WELD_VM_INLINE F64 op(F64 x) {                                                                       \
        return with_slow_lanes(op##_of<Angle<F64>>(x), x, Angle<F64>::kLimit, weld::vecmath::slow_##op); \
    }                                                                                                    \
    WELD_VM_INLINE F32 op(F32 x) {                                                                       \
        if constexpr (!kFused) return in_double(x, op##_short);                                          \
        F32 y = op##_of<Angle<F32>>(x);                                                                  \
        Mask<F32> m = huge(x, Angle<F32>::kLimit);                                                       \
        return __builtin_expect(lanes_of(m) != 0, 0) ? select<F32>(m, in_double(x, op##_short), y) : y;  \
    }
WELD_VM_ANGLE_FUNCTION(sin)
WELD_VM_ANGLE_FUNCTION(cos)
WELD_VM_ANGLE_FUNCTION(tan)
#undef WELD_VM_ANGLE_FUNCTION

}  // namespace
