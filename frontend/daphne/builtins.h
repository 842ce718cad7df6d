// The functions that every script has: builtins.def as a table.
#pragma once

#include <string_view>

namespace weld::daphne {

struct Call;     // check_calls.h
class Lowering;  // lower.h
struct GraphNode;

struct Builtin {
    std::string_view name;
    /// `a, b, c?, d...`: names for keyword arguments; `?` may be left out, `...` is any number of the rest.
    std::string_view params;
    /// Finds the types and shapes of the results; false if it has reported what is wrong.
    bool (*rule)(Call& call);
    void (*lower)(Lowering& lowering, const GraphNode& node);
    std::string_view code;  ///< what `lower` goes by: for cells, Weld text in a, b, T
};

/// Null if there is none.
const Builtin* find_builtin(std::string_view name);

}  // namespace weld::daphne
