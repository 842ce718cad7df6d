// Functions of the C library. Angles, which are huge, are reduced in long double: for double it is 8 ulp off
// near some multiples of pi / 2.
#include "runtime/vecmath/slow.h"

#include <cmath>

namespace weld::vecmath {

double slow_sin(double x) noexcept { return static_cast<double>(std::sin(static_cast<long double>(x))); }
double slow_cos(double x) noexcept { return static_cast<double>(std::cos(static_cast<long double>(x))); }
double slow_tan(double x) noexcept { return static_cast<double>(std::tan(static_cast<long double>(x))); }
// 1 also for a signalling NaN.
double slow_pow(double x, double y) noexcept { return x == 1 || y == 0 ? 1 : std::pow(x, y); }

}  // namespace weld::vecmath
