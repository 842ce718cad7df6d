// The rules of builtins.def: what a call of each built-in function takes and gives.
#pragma once

#include "frontend/daphne/check.h"

namespace weld::daphne {

#define DAPHNE_BUILTIN(name, params, rule, lowering, sparse, code) bool rule_##rule(Call& c);
#include "frontend/daphne/builtins.def"

}  // namespace weld::daphne
