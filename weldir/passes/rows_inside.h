// Parts of a vector, as rows of a flat matrix, that each round of a loop begins elsewhere: asked once, before the loop, whether
// all of them lie inside the vector.
#pragma once

#include "weldir/ir/facts.h"
#include "weldir/passes/bound_names.h"

namespace weld {

/// What has to hold for `datum`, which a loop in the body of `outer` goes over, to lie inside its vector in each of the `n`
/// rounds of `outer`, of which there is one. Null if the part is as long in all rounds and begins equally far behind the one
/// before as nobody knows. `inside`: the names that `outer` binds.
const Expr* lies_inside(Module& m, Facts& facts, For outer, const BoundNames& inside, const Expr* datum,
                        const Expr* n);

}  // namespace weld
