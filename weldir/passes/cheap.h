// What may be evaluated even where it is not needed: the one place that says what is cheap.
#pragma once

#include "weldir/ir/facts.h"

namespace weld {

/// Every node is an operation of a few cycles: no loops, lookups, division or math functions; nothing can
/// fail.
inline bool is_cheap(Facts& facts, const Expr* e) {
    const Traits& t = facts.traits(e);
    return t.free_to_repeat() && !t.heavy && !t.costly;
}

}  // namespace weld
