// Scalar operations, and how slack goes through them.
#include "tests/interp/scalars.h"

#include <cmath>
#include <limits>

#include "weldir/ir/scalar.h"

namespace weld::interp {

template <class T>
static T math_of(Op op, T x, T y) {
    switch (op) {
        case Op::Pow: return std::pow(x, y);
        case Op::Exp: return std::exp(x);
        case Op::Log: return std::log(x);
        case Op::Erf: return std::erf(x);
        case Op::Sin: return std::sin(x);
        case Op::Cos: return std::cos(x);
        case Op::Tan: return std::tan(x);
        case Op::Asin: return std::asin(x);
        case Op::Acos: return std::acos(x);
        case Op::Atan: return std::atan(x);
        case Op::Sinh: return std::sinh(x);
        case Op::Cosh: return std::cosh(x);
        case Op::Tanh: return std::tanh(x);
        default: return std::numeric_limits<T>::quiet_NaN();
    }
}

double standard_math(Op op, Scalar type, double x, double y) {
    return type == Scalar::F32 ? double(math_of(op, float(x), float(y))) : math_of(op, x, y);
}

static double as_double(Scalar s, std::uint64_t bits) {
    return s == Scalar::F32 ? double(scalar::from_bits<float>(bits)) : scalar::from_bits<double>(bits);
}
static std::uint64_t float_bits(Scalar s, double x) {
    return s == Scalar::F32 ? scalar::to_bits(float(x)) : scalar::to_bits(x);
}

/// Slack of `op` on `x` and `y` by the size of its derivatives; infinite where that says too little.
static double slack_after(Op op, double x, double dx, double y, double dy, double out) {
    const double unbounded = std::numeric_limits<double>::infinity();
    switch (op) {
        case Op::Neg: return dx;
        case Op::Add:
        case Op::Sub: return dx + dy;
        case Op::Mul: return std::abs(x) * dy + std::abs(y) * dx + dx * dy;
        case Op::Div:
            if (dy >= std::abs(y) / 2) return unbounded;
            return 2 * (dx + std::abs(out) * dy) / std::abs(y);
        case Op::Min:
        case Op::Max: return std::max(dx, dy);
        case Op::Sqrt: return x > 2 * dx ? dx / out : unbounded;
        case Op::Sin:
        case Op::Cos:
        case Op::Atan:
        case Op::Tanh: return dx;
        case Op::Erf: return 2 * dx;
        case Op::Exp: return dx < 1 ? 3 * out * dx : unbounded;
        default: return unbounded;
    }
}

/// Rounding adds to a slack that is there: the other order rounds elsewhere.
static double rounded(Scalar s, double slack, double out) {
    const double epsilon = s == Scalar::F32 ? 1.2e-7 : 2.3e-16;
    const double total = slack + epsilon * std::abs(out);
    return std::isfinite(total) ? total : std::numeric_limits<double>::infinity();
}

bool apply(Op op, Scalar s, const Value& a, const Value& b, const MathFn& math, Slack& slack, Value* out) {
    *out = {};
    if (is_math(op) && op != Op::Sqrt)
        out->bits = float_bits(s, math(op, s, as_double(s, a.bits), as_double(s, b.bits)));
    else if (!eval_scalar(op, s, a.bits, b.bits, &out->bits)) return false;
    if (a.slack == 0 && b.slack == 0) return true;
    if (is_comparison(op)) {
        slack.decided = true;
    } else if (is_float(s)) {
        const double value = as_double(s, out->bits);
        out->slack = rounded(
            s, slack_after(op, as_double(s, a.bits), a.slack, as_double(s, b.bits), b.slack, value), value);
    }
    return true;
}

Value convert(Scalar from, Scalar to, const Value& v, Slack& slack) {
    Value out = scalar_value(eval_cast(from, to, v.bits));
    if (v.slack == 0) return out;
    if (is_float(to)) out.slack = rounded(to, v.slack, as_double(to, out.bits));
    else slack.decided = true;
    return out;
}

}  // namespace weld::interp
