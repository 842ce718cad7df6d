// What each scalar operation computes: one function per row of ops.def, and casts. Constant folding and the
// reference interpreter use them, and emitted code must give the same bits.
//
// Values travel as 64 bits: integers zero-extended from their width, bool 0 or 1, floats by their bit
// pattern.
//   integers  wrap at their width; `/` truncates toward zero, MIN / -1 is MIN, `%` has the dividend's sign;
//   both fail
//             for a divisor of zero; shift counts are taken modulo the width; `>>` of signed types keeps the
//             sign
//   floats    IEEE 754 in their own precision; `%` is fmod; `min` and `max` of one NaN give the other
//   operand, and
//             order -0.0 below 0.0; the sign and payload of a NaN mean nothing
//   casts     to bool: != 0; integer to integer keeps the low bits; float to integer truncates, saturates,
//   NaN is 0
//
// Not here: exp, log, erf, pow, sin and the like. Their bits are those of the runtime's vector routines,
// which nothing may differ from; `sqrt` is exact everywhere.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "weldir/ir/expr.h"

namespace weld::scalar {

// ---- one function per row. Those that fail give nothing.

template <class T>
using Unsigned = std::make_unsigned_t<T>;

/// Integers up to 32 bits would be promoted to int, whose overflow is undefined; so arithmetic is done in 64
/// bits.
template <class T>
T wrap(std::uint64_t bits) {
    return T(Unsigned<T>(bits));
}

template <class T>
T add(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a + b;
    else return wrap<T>(std::uint64_t(a) + std::uint64_t(b));
}
template <class T>
T sub(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a - b;
    else return wrap<T>(std::uint64_t(a) - std::uint64_t(b));
}
template <class T>
T mul(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a * b;
    else return wrap<T>(std::uint64_t(a) * std::uint64_t(b));
}
template <class T>
std::optional<T> div(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        return a / b;
    } else {
        if (b == 0) return {};
        if constexpr (std::is_signed_v<T>)
            if (b == -1) return sub(T(0), a);
        return T(a / b);
    }
}
template <class T>
std::optional<T> rem(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        return std::fmod(a, b);
    } else {
        if (b == 0) return {};
        if constexpr (std::is_signed_v<T>)
            if (b == -1) return T(0);
        return T(a % b);
    }
}
template <class T>
T neg(T a) {
    if constexpr (std::is_floating_point_v<T>) return -a;
    else return sub(T(0), a);
}

template <class T>
T min(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a)) return b;
        if (std::isnan(b)) return a;
        if (a == b) return std::signbit(a) ? a : b;  // tells only zeros apart
    }
    return a < b ? a : b;
}
template <class T>
T max(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a)) return b;
        if (std::isnan(b)) return a;
        if (a == b) return std::signbit(a) ? b : a;
    }
    return a < b ? b : a;
}

template <class T>
T bit_or(T a, T b) {
    return T(a | b);
}
template <class T>
T bit_xor(T a, T b) {
    return T(a ^ b);
}
template <class T>
T bit_and(T a, T b) {
    return T(a & b);
}
template <class T>
T bit_not(T a) {
    return T(~a);
}
template <class T>
T shl(T a, T count) {
    return wrap<T>(std::uint64_t(a) << (std::uint64_t(count) % (8 * sizeof(T))));
}
template <class T>
T shr(T a, T count) {
    return T(a >> (std::uint64_t(count) % (8 * sizeof(T))));
}

template <class T>
bool eq(T a, T b) {
    return a == b;
}
template <class T>
bool ne(T a, T b) {
    return a != b;
}
template <class T>
bool lt(T a, T b) {
    return a < b;
}
template <class T>
bool gt(T a, T b) {
    return a > b;
}
template <class T>
bool le(T a, T b) {
    return a <= b;
}
template <class T>
bool ge(T a, T b) {
    return a >= b;
}

template <class T>
T sqrt(T a) {
    return std::sqrt(a);
}

template <class To, class From>
To cast(From a) {
    if constexpr (std::is_same_v<To, bool>) {
        return a != 0;
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        if (std::isnan(a)) return 0;
        // The limits as From: the smallest is exact, the largest may round up to a power of two, which is
        // outside.
        if (a < From(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
        if (a >= From(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
        return To(a);
    } else if constexpr (std::is_integral_v<To> && !std::is_same_v<From, bool>) {
        return wrap<To>(std::uint64_t(a));
    } else {
        return To(a);
    }
}

// ---- bits

template <class T>
T from_bits(std::uint64_t bits) {
    if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(std::uint32_t(bits));
    else if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(bits);
    else if constexpr (std::is_same_v<T, bool>) return bits != 0;
    else return T(bits);
}
template <class T>
std::uint64_t to_bits(T value) {
    if constexpr (std::is_same_v<T, float>) return std::bit_cast<std::uint32_t>(value);
    else if constexpr (std::is_same_v<T, double>) return std::bit_cast<std::uint64_t>(value);
    else if constexpr (std::is_same_v<T, bool>) return value;
    else return std::uint64_t(Unsigned<T>(value));
}

/// Calls `fn` with a value of the C++ type of `s`: `with_type(s, [&](auto zero) { using T = decltype(zero);
/// ... })`.
template <class Fn>
decltype(auto) with_type(Scalar s, Fn&& fn) {
    switch (s) {
#define WELD_SCALAR(name, text, type, family) \
    case Scalar::name: return fn(type(0));
#include "runtime/abi/scalars.def"
    }
    return fn(double(0));
}

namespace detail {

inline bool put(std::uint64_t* out, std::optional<std::uint64_t> bits) {
    if (bits) *out = *bits;
    return bits.has_value();
}
template <class T>
std::optional<std::uint64_t> bits_of(std::optional<T> value) {
    if (!value) return {};
    return to_bits(*value);
}

template <class T>
bool eval_comparison(Op op, T a, T b, std::uint64_t* out) {
    switch (op) {
        case Op::Eq: *out = eq(a, b); return true;
        case Op::Ne: *out = ne(a, b); return true;
        case Op::Lt: *out = lt(a, b); return true;
        case Op::Gt: *out = gt(a, b); return true;
        case Op::Le: *out = le(a, b); return true;
        case Op::Ge: *out = ge(a, b); return true;
        default: return false;
    }
}

inline bool eval_bool(Op op, bool a, bool b, std::uint64_t* out) {
    switch (op) {
        case Op::Or:
        case Op::BitOr: *out = a || b; return true;
        case Op::And:
        case Op::BitAnd: *out = a && b; return true;
        case Op::BitXor: *out = a != b; return true;
        case Op::Not: *out = !a; return true;
        default: return false;
    }
}

template <class T>
bool eval_integer(Op op, T a, T b, std::uint64_t* out) {
    switch (op) {
        case Op::BitOr: *out = to_bits(bit_or(a, b)); return true;
        case Op::BitXor: *out = to_bits(bit_xor(a, b)); return true;
        case Op::BitAnd: *out = to_bits(bit_and(a, b)); return true;
        case Op::BitNot: *out = to_bits(bit_not(a)); return true;
        case Op::Shl: *out = to_bits(shl(a, b)); return true;
        case Op::Shr: *out = to_bits(shr(a, b)); return true;
        default: return false;
    }
}

template <class T>
bool eval_number(Op op, T a, T b, std::uint64_t* out) {
    switch (op) {
        case Op::Add: *out = to_bits(add(a, b)); return true;
        case Op::Sub: *out = to_bits(sub(a, b)); return true;
        case Op::Mul: *out = to_bits(mul(a, b)); return true;
        case Op::Div: return put(out, bits_of(div(a, b)));
        case Op::Rem: return put(out, bits_of(rem(a, b)));
        case Op::Neg: *out = to_bits(neg(a)); return true;
        case Op::Min: *out = to_bits(min(a, b)); return true;
        case Op::Max: *out = to_bits(max(a, b)); return true;
        default: break;
    }
    if constexpr (std::is_floating_point_v<T>) {
        if (op == Op::Sqrt) *out = to_bits(scalar::sqrt(a));
        return op == Op::Sqrt;
    } else {
        return eval_integer(op, a, b, out);
    }
}

}  // namespace detail
}  // namespace weld::scalar

namespace weld {

/// `op` on operands of `type` (a unary one ignores `b`). False if it fails (division by zero), or if its bits
/// are the runtime's to decide (math functions but `sqrt`), or if `type` has no such operation.
inline bool eval_scalar(Op op, Scalar type, std::uint64_t a, std::uint64_t b, std::uint64_t* out) {
    return scalar::with_type(type, [&](auto zero) {
        using T = decltype(zero);
        const T x = scalar::from_bits<T>(a), y = scalar::from_bits<T>(b);
        if (is_comparison(op)) return scalar::detail::eval_comparison(op, x, y, out);
        if constexpr (std::is_same_v<T, bool>) return scalar::detail::eval_bool(op, x, y, out);
        else return scalar::detail::eval_number(op, x, y, out);
    });
}

inline std::uint64_t eval_cast(Scalar from, Scalar to, std::uint64_t bits) {
    return scalar::with_type(from, [&](auto zero) {
        using From = decltype(zero);
        const From value = scalar::from_bits<From>(bits);
        return scalar::with_type(to, [&](auto to_zero) {
            using To = decltype(to_zero);
            return scalar::to_bits(scalar::cast<To>(value));
        });
    });
}

/// The value of `type` that a builder starts with for `op`: 0, 1, the type's largest or smallest (finite)
/// number.
inline std::uint64_t identity_bits(MergeOp op, Scalar type) {
    return scalar::with_type(type, [&](auto zero) -> std::uint64_t {
        using T = decltype(zero);
        switch (op) {
            case MergeOp::Add: return scalar::to_bits(T(0));
            case MergeOp::Mul: return scalar::to_bits(T(1));
            case MergeOp::Min: return scalar::to_bits(std::numeric_limits<T>::max());
            case MergeOp::Max: return scalar::to_bits(std::numeric_limits<T>::lowest());
        }
        return 0;
    });
}

/// The scalar operation that a builder combines with.
inline Op op_of(MergeOp op) {
    constexpr Op ops[] = {
#define WELD_MERGE_OP(name, text) Op::name,
#include "runtime/abi/merge_ops.def"
    };
    return ops[int(op)];
}

}  // namespace weld
