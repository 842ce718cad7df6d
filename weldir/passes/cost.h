// Estimates of how long code takes, to within a factor of ten.
#pragma once

#include <cstdint>

#include "weldir/ir/facts.h"

namespace weld {

/// Estimated picoseconds of one evaluation of `e`.
std::int64_t picoseconds(const Expr* e);

/// The same for a round of `loop`, in terms of the sizes that are known when it begins: of the loops in it
/// that go on so often. Of loops that end otherwise it is guessed how often they do.
Count round_cost(Facts& facts, For loop);

/// What `cost` is where nothing is known of the sizes in it.
std::int64_t guessed(const Count& cost);

}  // namespace weld
