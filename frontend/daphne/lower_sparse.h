// Operations that know sparse matrices (`use_of` in represent.h), where they differ from those of dense ones.
#pragma once

#include "frontend/daphne/lower.h"

namespace weld::daphne {

/// What the stored cells of some rows of the sparse matrix `x` become.
struct StoredRows {
    std::string count, columns;      ///< texts: how many rows and columns there are then
    std::string row;                 ///< the row of `x` that becomes row `r`
    std::string condition = "true";  ///< of a cell in column `j` that stays in row `r`
    std::string column = "j";        ///< its column then
    std::string cell = "a";          ///< what the cell `a` is then
};
/// The text of that sparse matrix.
std::string stored_rows(const StoredRows& rows);

void lower_sparse_aggregate(Lowering& l, const GraphNode& n);
void lower_sparse_product(Lowering& l, const GraphNode& n);
void lower_sparse_transpose(Lowering& l, const GraphNode& n);
void lower_sparse_reshape(Lowering& l, const GraphNode& n);
void lower_sparse_symmetry(Lowering& l, const GraphNode& n);

}  // namespace weld::daphne
