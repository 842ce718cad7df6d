// The functions that every script has: builtins.def as a table.
#pragma once

#include <cstdint>
#include <string_view>

namespace weld::daphne {

struct Call;     // check_calls.h
class Lowering;  // lower.h
struct GraphNode;

/// What a function does with arguments that are sparse matrices.
enum class SparseRule : std::uint8_t {
    Dense,       ///< it has no use for them
    Makes,       ///< nor has it, but what it gives may be sparse
    Reads,       ///< takes the first one, and gives what is dense
    Aggregates,  ///< the same, but for groups of rows
    Keeps,       ///< takes the first one, and gives a sparse one
    Cells,       ///< takes one with a scalar, or two, and gives a sparse one, if zeros become zero
    Binds,       ///< takes two, and gives a sparse one
};

struct Builtin {
    std::string_view name;
    /// `a, b, c?, d...`: names for keyword arguments; `?` may be left out, `...` is any number of the rest.
    std::string_view params;
    /// Finds the types and shapes of the results; false if it has reported what is wrong.
    bool (*rule)(Call& call);
    void (*lower)(Lowering& lowering, const GraphNode& node);
    std::string_view code;  ///< what `lower` goes by: for cells, Weld text in a, b, T
    SparseRule sparse = SparseRule::Dense;
};

/// Null if there is none.
const Builtin* find_builtin(std::string_view name);

}  // namespace weld::daphne
