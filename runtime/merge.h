// What `merge` does to a scalar: the four operators on every type, and the values that change nothing.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/abi/weld_abi.h"
#include "runtime/describe.h"

namespace weld::runtime {

/// Integers wrap. Minimum and maximum of floats: with one NaN the other operand; -0.0 is less than 0.0.
template <class T>
T merged(WeldMergeOp op, T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        using U = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
        switch (op) {
            case kWeldAdd: return T(U(a) + U(b));
            case kWeldMul: return T(U(a) * U(b));
            case kWeldMin: return b < a ? b : a;
            case kWeldMax: return a < b ? b : a;
        }
    } else {
        switch (op) {
            case kWeldAdd: return a + b;
            case kWeldMul: return a * b;
            case kWeldMin: return a < b || b != b ? a : b < a || a != a ? b : std::signbit(a) ? a : b;
            case kWeldMax: return a > b || b != b ? a : b > a || a != a ? b : std::signbit(a) ? b : a;
        }
    }
    return a;
}

/// The value that merging with any other gives the other.
template <class T>
T neutral(WeldMergeOp op) {
    constexpr bool real = std::is_floating_point_v<T>;
    using Limits = std::numeric_limits<T>;
    switch (op) {
        case kWeldAdd: return real ? T(-0.0) : T(0);
        case kWeldMul: return T(1);
        case kWeldMin: return real ? Limits::infinity() : Limits::max();
        case kWeldMax: return real ? T(-Limits::infinity()) : Limits::lowest();
    }
    return T(0);
}

/// The same where values may be NaN: two of them are one, and so is one alone.
template <class T>
T nothing(WeldMergeOp op) {
    const bool compares = op == kWeldMin || op == kWeldMax;
    if constexpr (std::is_floating_point_v<T>)
        if (compares) return std::numeric_limits<T>::quiet_NaN();
    return neutral<T>(op);
}

/// Calls `f` with a value of the C++ type of a scalar kind.
template <class F>
decltype(auto) with_scalar(int kind, const F& f) {
    switch (kind) {
        case kWeldI8: return f(std::int8_t());
        case kWeldI16: return f(std::int16_t());
        case kWeldI32: return f(std::int32_t());
        case kWeldI64: return f(std::int64_t());
        case kWeldU16: return f(std::uint16_t());
        case kWeldU32: return f(std::uint32_t());
        case kWeldU64: return f(std::uint64_t());
        case kWeldF32: return f(float());
        case kWeldF64: return f(double());
        default: return f(std::uint8_t());  // u8, bool
    }
}

/// What combines field `k` of a struct, or a scalar.
inline WeldMergeOp op_of_field(std::int32_t op, int k) {
    return WeldMergeOp(op & 4 ? op >> (7 + 2 * k) & 3 : op);
}

inline void merge_scalar(int kind, WeldMergeOp op, void* into, const void* from) {
    with_scalar(kind, [&]<class T>(T) {
        T& a = *static_cast<T*>(into);
        a = merged<T>(op, a, *static_cast<const T*>(from));
    });
}

/// Merges a scalar or struct of scalars.
inline void merge_value(const WeldType* t, std::int32_t op, void* into, const void* from) {
    int k = 0;
    for_each_scalar(t, 0, [&](const WeldType* s, std::int64_t at) {
        merge_scalar(s->kind, op_of_field(op, k++), static_cast<char*>(into) + at,
                     static_cast<const char*>(from) + at);
    });
}

inline void set_neutral(const WeldType* t, WeldMergeOp op, void* value) {
    for_each_scalar(t, 0, [&](const WeldType* s, std::int64_t at) {
        with_scalar(s->kind, [&]<class T>(T) {
            *reinterpret_cast<T*>(static_cast<char*>(value) + at) = neutral<T>(op);
        });
    });
}
inline void set_nothing(const WeldType* t, std::int32_t op, void* value) {
    int k = 0;
    for_each_scalar(t, 0, [&](const WeldType* s, std::int64_t at) {
        with_scalar(s->kind, [&]<class T>(T) {
            *reinterpret_cast<T*>(static_cast<char*>(value) + at) = nothing<T>(op_of_field(op, k));
        });
        ++k;
    });
}

/// Merging values of type `t` gives the same bits in any order and grouping.
inline bool merges_exactly(const WeldType* t, std::int32_t op) {
    int k = 0;
    bool all = true;
    for_each_scalar(t, 0, [&](const WeldType* s, std::int64_t) {
        const WeldMergeOp by = op_of_field(op, k++);
        all &= by == kWeldMin || by == kWeldMax || !holds_float(s);
    });
    return all;
}

}  // namespace weld::runtime
