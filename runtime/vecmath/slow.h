// What the kernels leave to the C library, one lane at a time.
#pragma once

namespace weld::vecmath {

double slow_sin(double x) noexcept;
double slow_cos(double x) noexcept;
double slow_tan(double x) noexcept;
double slow_pow(double x, double y) noexcept;

}  // namespace weld::vecmath
