// Parts of a vector, as rows of a flat matrix, that each round of a loop begins elsewhere: asked once, before the loop, how many
// of them lie inside the vector.
#pragma once

#include "weldir/ir/facts.h"
#include "weldir/passes/bound_names.h"

namespace weld {

/// `datum`, which a loop in the body of `outer` goes over, as a part of its vector which is as long in all rounds, and begins
/// equally far behind the one before: marked as one that lies inside, which it does in the first `rounds` of the `n` rounds of
/// `outer`. Nulls if it is not known to be such a part. A slice is one where it is not cut. `inside`: the names that `outer` binds.
struct RowsInside {
    const Expr* datum = nullptr;
    const Expr* rounds = nullptr;
};
RowsInside rows_inside(Module& m, Facts& facts, For outer, const BoundNames& inside, const Expr* datum,
                       const Expr* n);

}  // namespace weld
