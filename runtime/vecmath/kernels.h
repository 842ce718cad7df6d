// The functions on lanes, for any instruction set: included after its lanes_ISA.h. See
// docs/internals/vecmath.md.
//
// No lane looks at another. Where a branch asks about all lanes, it skips work that changes none of the
// others.
#pragma once

#include "runtime/vecmath/coefficients.h"
#include "runtime/vecmath/slow.h"

namespace {

template <class V>
using Mask = decltype(lt(V{}, V{}));

/// c[First] + c[First + Step] x + ... in Horner's way, of N coefficients.
template <unsigned First, unsigned Step, unsigned N, class V>
WELD_VM_INLINE V horner(V x, Coefficients<V> c) {
    if constexpr (First + Step >= N) return c[First];
    else return mul_add(horner<First + Step, Step, N>(x, c), x, c[First]);
}

/// C[0] + C[1] x + C[2] x^2 + ...: even and odd powers apart, which halves the chain of dependent operations.
template <const auto& C, class V>
WELD_VM_INLINE V poly(V x) {
    constexpr unsigned N = sizeof(C) / sizeof(C[0]);
    const Coefficients<V> c = coefficients<C, V>();
    if constexpr (N <= 3) return horner<0, 1, N>(x, c);
    else return mul_add(horner<1, 2, N>(x * x, c), x, horner<0, 2, N>(x * x, c));
}

template <unsigned First, unsigned N, class V>
WELD_VM_INLINE V paired_from(V x, V x2, Coefficients<V> c) {
    V pair = c[First];
    if constexpr (First + 1 < N) pair = mul_add(c[First + 1], x, pair);
    if constexpr (First + 2 >= N) return pair;
    else return mul_add(paired_from<First + 2, N>(x, x2, c), x2, pair);
}

/// The same as (C[0] + C[1] x) + (C[2] + C[3] x) x^2 + ..., for coefficients of alternating sign, where all
/// even and all odd powers would cancel. A tenth slower.
template <const auto& C, class V>
WELD_VM_INLINE V paired_poly(V x) {
    return paired_from<0, sizeof(C) / sizeof(C[0])>(x, x * x, coefficients<C, V>());
}

/// Calls a routine of floats for its lower and upper lanes in double.
template <class F>
WELD_VM_INLINE F32 in_double(F32 x, F f) {
    Halves wide = widen(x);
    return narrow({f(wide.lo), f(wide.hi)});
}

}  // namespace

#include "runtime/vecmath/kernels_arc.h"
#include "runtime/vecmath/kernels_exp.h"
#include "runtime/vecmath/kernels_log.h"
#include "runtime/vecmath/kernels_trig.h"
