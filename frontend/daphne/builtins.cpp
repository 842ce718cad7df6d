// The rows of builtins.def, each with the functions of its rule and its lowering.
#include "frontend/daphne/builtins.h"

#include <algorithm>

#include "frontend/daphne/lower.h"
#include "frontend/daphne/rules.h"

namespace weld::daphne {

static constexpr Builtin kBuiltins[] = {
#define DAPHNE_BUILTIN(name, params, rule, lowering, sparse, code) \
    {#name, params, rule_##rule, lower_##lowering, code, SparseRule::sparse},
#include "frontend/daphne/builtins.def"
};

const Builtin* find_builtin(std::string_view name) {
    const auto at = std::ranges::find(kBuiltins, name, &Builtin::name);
    return at == std::end(kBuiltins) ? nullptr : at;
}

}  // namespace weld::daphne
