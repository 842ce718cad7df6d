// Loops whose rounds do something only where a condition holds.
#pragma once

#include <optional>

#include "weldir/ir/expr.h"

namespace weld {

/// The end of the body of a loop: `if` with the loop's builder, as it came, on one side.
struct Filter {
    Block lets;        ///< before it; may be none
    const Expr* cond;  ///< what is asked
    bool wanted;       ///< what it has to be
    const Expr* work;  ///< what is done then
};
std::optional<Filter> filter_of(For f);

/// Lets and condition may be evaluated for many rounds before any of these is done.
bool is_known_early(const Filter& filter);

}  // namespace weld
