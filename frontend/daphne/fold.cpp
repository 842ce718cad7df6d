// Constants as other types, and operations on them, with the bits that the run would give.
#include "frontend/daphne/fold.h"

#include <cmath>
#include <cstdint>
#include <string>

namespace weld::daphne {

/// Wrapped to the width of the type, as the machine does.
static std::int64_t wrapped(std::int64_t n, ValueType v) {
    switch (v) {
        case ValueType::Bool: return n != 0;
        case ValueType::Si8: return std::int8_t(n);
        case ValueType::Ui8: return std::uint8_t(n);
        case ValueType::Si32: return std::int32_t(n);
        case ValueType::Ui32: return std::uint32_t(n);
        default: return n;
    }
}

/// What is next to `n` in the type, as the run converts floats.
static std::int64_t nearest(std::int64_t n, ValueType v) {
    const bool is_small = n < 0 && is_unsigned(v);
    if (is_small || wrapped(n, v) == n) return is_small ? 0 : n;
    const std::int64_t most = v == ValueType::Si8    ? INT8_MAX
                              : v == ValueType::Ui8  ? UINT8_MAX
                              : v == ValueType::Si32 ? INT32_MAX
                                                     : std::int64_t(UINT32_MAX);
    return n > 0 ? most : -most - 1;
}

static bool is_wide_unsigned(ValueType v) { return v == ValueType::Size || v == ValueType::Ui64; }

std::optional<Constant> convert(const Constant& c, ValueType to) {
    if (c.value == to) return c;
    Constant out{.value = to, .integer = 0, .number = 0, .text = {}};
    if (c.value == ValueType::Str) return std::nullopt;
    if (to == ValueType::Str) {
        if (c.value == ValueType::Bool) out.text = c.integer ? "1" : "0";
        else if (is_float(c.value)) out.text = std::to_string(c.number);
        else
            out.text = is_wide_unsigned(c.value) ? std::to_string(std::uint64_t(c.integer))
                                                 : std::to_string(c.integer);
        return out;
    }
    if (is_float(to)) {
        const auto as_float = [&](auto n) { return to == ValueType::F32 ? double(float(n)) : double(n); };
        if (is_float(c.value)) out.number = as_float(c.number);
        else
            out.number = is_wide_unsigned(c.value) ? as_float(std::uint64_t(c.integer)) : as_float(c.integer);
        return out;
    }
    if (is_float(c.value)) {
        if (to == ValueType::Bool) out.integer = c.number != 0;
        else if (std::fabs(c.number) < 9.2e18) out.integer = nearest(std::int64_t(c.number), to);
        else return std::nullopt;
        return out;
    }
    out.integer = wrapped(c.integer, to);
    return out;
}

template <class T>
static std::optional<bool> compare(Operator op, const T& a, const T& b) {
    switch (op) {
        case Operator::Eq: return a == b;
        case Operator::Ne: return a != b;
        case Operator::Lt: return a < b;
        case Operator::Le: return a <= b;
        case Operator::Gt: return a > b;
        case Operator::Ge: return a >= b;
        default: return std::nullopt;
    }
}

static std::optional<double> arithmetic(Operator op, double a, double b) {
    switch (op) {
        case Operator::Add: return a + b;
        case Operator::Sub: return a - b;
        case Operator::Mul: return a * b;
        case Operator::Div: return a / b;
        case Operator::Mod: return std::fmod(a, b);
        default: return std::nullopt;
    }
}

template <class T>
static std::optional<std::int64_t> arithmetic(Operator op, T a, T b) {
    using U = std::uint64_t;
    switch (op) {
        case Operator::Add: return std::int64_t(U(a) + U(b));
        case Operator::Sub: return std::int64_t(U(a) - U(b));
        case Operator::Mul: return std::int64_t(U(a) * U(b));
        case Operator::Div:
        case Operator::Mod:
            if (b == 0 || b == T(-1)) return std::nullopt;
            return std::int64_t(op == Operator::Div ? a / b : a % b);
        default: return std::nullopt;
    }
}

static std::optional<bool> truth(Operator op, const Constant& a, const Constant& b) {
    auto is_true = [](const Constant& c) { return is_float(c.value) ? c.number != 0 : c.integer != 0; };
    if (op == Operator::And) return is_true(a) && is_true(b);
    if (op == Operator::Or) return is_true(a) || is_true(b);
    if (is_float(a.value)) return compare(op, a.number, b.number);
    if (is_wide_unsigned(a.value)) return compare(op, std::uint64_t(a.integer), std::uint64_t(b.integer));
    return compare(op, a.integer, b.integer);
}

std::optional<Constant> fold(Operator op, const Constant& a, const Constant& b, ValueType result) {
    Constant out{.value = result, .integer = 0, .number = 0, .text = {}};
    if (a.value == ValueType::Str) {
        if (op == Operator::Add) return out.text = a.text + b.text, out;
        const std::optional<bool> is_so = compare(op, a.text, b.text);
        if (!is_so) return std::nullopt;
        return out.integer = *is_so, out;
    }
    if (const std::optional<bool> is_so = truth(op, a, b))
        return is_float(result) ? void(out.number = *is_so) : void(out.integer = *is_so), out;
    if (is_float(a.value)) {
        const std::optional<double> n = arithmetic(op, a.number, b.number);
        if (!n) return std::nullopt;
        out.number = a.value == ValueType::F32 ? float(*n) : *n;
        return out;
    }
    const auto n = is_wide_unsigned(a.value)
                       ? arithmetic(op, std::uint64_t(a.integer), std::uint64_t(b.integer))
                       : arithmetic(op, a.integer, b.integer);
    if (!n) return std::nullopt;
    out.integer = wrapped(*n, a.value);
    return out;
}

}  // namespace weld::daphne
