// Huge angles. In long double, since the C library's reduction for double is 8 ulp off near some multiples of pi / 2.
#include "runtime/vecmath/slow.h"

#include <cmath>

namespace weld::vecmath {

double slow_sin(double x) noexcept { return static_cast<double>(std::sin(static_cast<long double>(x))); }
double slow_cos(double x) noexcept { return static_cast<double>(std::cos(static_cast<long double>(x))); }
double slow_tan(double x) noexcept { return static_cast<double>(std::tan(static_cast<long double>(x))); }

}  // namespace weld::vecmath
