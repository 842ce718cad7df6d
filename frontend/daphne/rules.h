// The rules of builtins.def: what a call of each built-in function takes and gives.
#pragma once

#include "frontend/daphne/check.h"

namespace weld::daphne {

#define DAPHNE_BUILTIN(name, params, rule, lowering, sparse, code) bool rule_##rule(Call& c);
#include "frontend/daphne/builtins.def"

inline ValueType as_float(ValueType v) { return v == ValueType::F32 ? v : ValueType::F64; }
inline ValueType as_number(ValueType v) { return v == ValueType::Bool ? ValueType::Si64 : v; }
inline constexpr Dim kOne{1, 0};

/// All arguments get cells of the type `value`.
inline void convert_to(Call& c, ValueType value) {
    for (std::size_t i = 0; i < c.size(); ++i) c.args[i] = c.checker.to_value_type(c[i], value, c.locs[i]);
}

}  // namespace weld::daphne
