// Which matrices are stored as the cells that are not zero (CSR), under `--select-matrix-repr`.
#pragma once

#include "frontend/daphne/graph.h"

namespace weld::daphne {

/// What an operation does with an argument that is sparse.
enum class SparseUse : std::uint8_t {
    None,   ///< it takes it as a dense one
    Reads,  ///< it takes it as it is; what it gives is dense
    Keeps,  ///< and gives a sparse one
};
SparseUse use_of(const GraphNode& n, std::size_t arg);
/// The share of cells that are not zero in what `n` gives, if it keeps that of an argument; else -1.
double kept_sparsity(const GraphNode& n);

/// Matrices of such cells may be sparse.
constexpr bool can_be_sparse(ValueType v) { return v != ValueType::Str && v != ValueType::Bool; }

/// Says of every matrix whether it is sparse, `Type::is_sparse`, and has sparse ones converted where dense
/// ones are needed. Parameters of the main program are what they are.
void represent(Graph& graph);

}  // namespace weld::daphne
