// Loops that go along the rows of a matrix and merge into vectors, in the place of sums of its columns.
#pragma once

#include <vector>

#include "weldir/passes/normal_form.h"

namespace weld {

/// A sum in each round of a loop over columns: `name` is bound to the result of loops over rows, each in the
/// one before it, of which the innermost one merges one number in each round.
struct ColumnSum {
    const Symbol* name;
    std::vector<For> inner;
    Lets before;  ///< names of the round that they read
};

/// `columns`, whose rounds find these sums in vectors that are made before it. No look-up in them may fail.
const Expr* with_sums_by_rows(Module& m, For columns, const std::vector<ColumnSum>& sums);
/// `outer`, whose body ends with `columns`: its rounds find the sums in one vector that is made before it.
const Expr* with_products_by_rows(Module& m, For outer, For columns, const ColumnSum& sum);

}  // namespace weld
