// Scalars that are known before the run: shapes, labels and names of files follow from them.
#pragma once

#include <optional>

#include "frontend/daphne/graph.h"
#include "frontend/daphne/syntax.h"

namespace weld::daphne {

/// The constant as a value of another type; nothing where that fails (text that is no number) or is left to
/// the run.
std::optional<Constant> convert(const Constant& c, ValueType to);
/// What `op` gives for constants of equal types, cells of type `result`; nothing where it fails.
std::optional<Constant> fold(Operator op, const Constant& a, const Constant& b, ValueType result);
inline Constant integer_constant(std::int64_t n, ValueType value = ValueType::Si64) {
    return {.value = value, .integer = n, .number = 0, .text = {}};
}

}  // namespace weld::daphne
