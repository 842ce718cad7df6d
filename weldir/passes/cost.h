// Estimates of how long code takes, to within a factor of ten.
#pragma once

#include <cstdint>

#include "weldir/ir/expr.h"

namespace weld {

/// Estimated picoseconds of one evaluation of `e`.
std::int64_t picoseconds(const Expr* e);

}  // namespace weld
