// Vectors of doubles and floats as the kernels see them: what does not depend on the instruction set.
//
// Included once per translation unit, by lanes_ISA.h, which says how wide a register is, whether operations read constants from
// memory (where an instruction cannot repeat a scalar for all lanes), and how masks look.
// Everything is in an unnamed namespace and always inlined, and no header of the standard library is used: a
// function compiled for AVX-512 that the linker may share with other files would crash older machines.
#pragma once

#define WELD_VM_INLINE static inline __attribute__((always_inline))

namespace {

typedef double F64 __attribute__((vector_size(WELD_VM_BYTES)));
typedef float F32 __attribute__((vector_size(WELD_VM_BYTES)));
typedef unsigned long long U64 __attribute__((vector_size(WELD_VM_BYTES)));
typedef unsigned int U32 __attribute__((vector_size(WELD_VM_BYTES)));

/// Two vectors of doubles: the lanes of one vector of floats, lower half first.
struct Halves {
    F64 lo, hi;
};

template <class V>
struct Lane;
template <>
struct Lane<F64> {
    using Scalar = double;
    using Word = unsigned long long;
    using Bits = U64;
    static constexpr int kCount = WELD_VM_BYTES / 8, kMantissa = 52, kBias = 1023;
    static constexpr Word kSign = 1ull << 63;
    static constexpr double kMagic = 0x1.8p52;  ///< x + kMagic has round(x) in its low bits
    static constexpr double kInfinity = __builtin_inf();
    static constexpr double kNaN = __builtin_nan("");
};
template <>
struct Lane<F32> {
    using Scalar = float;
    using Word = unsigned int;
    using Bits = U32;
    static constexpr int kCount = WELD_VM_BYTES / 4, kMantissa = 23, kBias = 127;
    static constexpr Word kSign = 1u << 31;
    static constexpr float kMagic = 0x1.8p23f;
    static constexpr float kInfinity = __builtin_inff();
    static constexpr float kNaN = __builtin_nanf("");
};
template <class V>
using Scalar = typename Lane<V>::Scalar;
template <class V>
using Word = typename Lane<V>::Word;
template <class V>
using Bits = typename Lane<V>::Bits;

/// `s` in every lane; subtracting keeps the sign of -0.0.
template <class V>
WELD_VM_INLINE V set(Scalar<V> s) {
    return s - V{};
}
template <class V>
WELD_VM_INLINE Bits<V> bits(V x) {
    return (Bits<V>)x;
}
WELD_VM_INLINE F64 from_bits(U64 b) { return (F64)b; }
WELD_VM_INLINE F32 from_bits(U32 b) { return (F32)b; }

template <class V>
WELD_VM_INLINE Bits<V> sign_of(V x) {
    return bits(x) & Lane<V>::kSign;
}
template <class V>
WELD_VM_INLINE V abs(V x) {
    return from_bits(bits(x) & ~Lane<V>::kSign);
}
/// `x` with its sign flipped where the sign bit of `sign` is set.
template <class V>
WELD_VM_INLINE V flip(V x, Bits<V> sign) {
    return from_bits(bits(x) ^ sign);
}

/// |x| with the sign bits given.
template <class V>
WELD_VM_INLINE V with_sign(V x, Bits<V> sign) {
    return from_bits((bits(x) & ~Lane<V>::kSign) | sign);
}

/// The coefficients of a polynomial.
///
/// With kConstantsInMemory each is there in all lanes, and operations read them there: a compiler that knew them would load each
/// into a register, and processors rename too few of these for the chains of several calls to overlap.
template <class V>
struct Coefficients {
    const Scalar<V>* all;
    __attribute__((always_inline)) inline V operator[](unsigned i) const {
        if constexpr (!kConstantsInMemory) return set<V>(all[i]);
        V c;
        __builtin_memcpy(&c, all + i * Lane<V>::kCount, sizeof(V));
        return c;
    }
};

/// The constants C, each in all lanes.
template <const auto& C, class V>
struct InLanes {
    struct Rows {
        alignas(V) Scalar<V> all[sizeof(C) / sizeof(C[0])][Lane<V>::kCount];
    };
    static constexpr Rows made() {
        Rows rows = {};
        for (unsigned i = 0; i < sizeof(C) / sizeof(C[0]); i++)
            for (int lane = 0; lane < Lane<V>::kCount; lane++) rows.all[i][lane] = C[i];
        return rows;
    }
    static constexpr Rows kRows = made();
};

template <const auto& C, class V>
WELD_VM_INLINE Coefficients<V> coefficients() {
    if constexpr (!kConstantsInMemory) return {C};
    const Scalar<V>* all = InLanes<C, V>::kRows.all[0];
    __asm__("" : "+r"(all));
    return {all};
}

/// `S` in every lane, read in the same way.
template <class V, auto S>
WELD_VM_INLINE V fixed() {
    static constexpr Scalar<V> kOne[] = {Scalar<V>(S)};
    return coefficients<kOne, V>()[0];
}

}  // namespace
