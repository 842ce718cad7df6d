// What the kernels do one lane at a time: reduction of huge angles, left to the C library.
#pragma once

namespace weld::vecmath {

double slow_sin(double x) noexcept;
double slow_cos(double x) noexcept;
double slow_tan(double x) noexcept;

}  // namespace weld::vecmath
