// Scalar operations on interpreter values: the bits of weldir/ir/scalar.h, the math of the caller, and slack.
#pragma once

#include <functional>

#include "tests/interp/value.h"

namespace weld::interp {

/// exp, log, erf, pow, sin, ... of one lane; `y` counts for pow only. For f32 both are exact floats, and so
/// must be the result.
using MathFn = std::function<double(Op op, Scalar type, double x, double y)>;

/// Those of <cmath>, f32 in its own precision.
double standard_math(Op op, Scalar type, double x, double y);

/// Where exactness ends. A reduction over floats may be added up in any order, so its value is one of many:
/// it carries its distance from them as `slack`, and arithmetic hands that on. What is decided by such a
/// value (a comparison, a cast to an integer, a key) may go either way, and a result that depends on it
/// cannot be compared.
struct Slack {
    bool decided = false;  ///< something was decided by a value with slack
};

/// `op` on scalars of type `s`. False if it fails (division by zero).
bool apply(Op op, Scalar s, const Value& a, const Value& b, const MathFn& math, Slack& slack, Value* out);

Value convert(Scalar from, Scalar to, const Value& v, Slack& slack);

}  // namespace weld::interp
