// Exact identities of scalar operations; part of `simplify`.
#pragma once

#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"

namespace weld {

/// A simpler equal of a scalar operation, cast, `if` or `select` whose arguments are simple already; null if
/// there is none. Every bit is kept, but of powers, and every failure.
const Expr* simpler_scalar(Module& m, Facts& facts, const Expr* e);

}  // namespace weld
