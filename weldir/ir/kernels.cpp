// Finding built-in kernels. Types are compared as text: each type prints in one way.
#include "weldir/ir/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "weldir/ir/build.h"

namespace weld {

static constexpr BuiltinKernel kKernels[] = {
#define WELD_KERNEL(symbol, name, effect, params, result) {#symbol, name, effect, params, result},
#include "runtime/abi/kernels.def"
};

bool is_builtin_kernel(std::string_view name) {
    return std::any_of(std::begin(kKernels), std::end(kKernels),
                       [&](const BuiltinKernel& k) { return k.name == name; });
}

const BuiltinKernel* find_builtin_kernel(std::string_view name, std::span<const Type* const> params,
                                         const Type* result) {
    if (!is_builtin_kernel(name)) return nullptr;
    std::string list;
    for (const Type* t : params) (list += list.empty() ? "" : ", ") += t->str();
    const std::string given = result->str();
    for (const BuiltinKernel& k : kKernels)
        if (k.name == name && k.params == list && k.result == given) return &k;
    return nullptr;
}

const BuiltinKernel* find_builtin_kernel(std::string_view name, std::span<const Expr* const> args,
                                         const Type* result) {
    std::vector<const Type*> params;
    for (const Expr* a : args) params.push_back(a->type);
    return find_builtin_kernel(name, params, result);
}

const Expr* builtin_kernel(Module& m, std::string_view name, const Type* type,
                           std::span<const Expr* const> args, Loc loc) {
    const bool effect = find_builtin_kernel(name, args, type)->effect;
    return kernel(m, {name, !effect, effect, true}, type, args, loc);
}

std::vector<std::string> overloads_of_kernel(std::string_view name) {
    std::vector<std::string> all;
    for (const BuiltinKernel& k : kKernels)
        if (k.name == name) all.push_back(fmt::format("cudf[{},{}]({})", k.name, k.result, k.params));
    return all;
}

}  // namespace weld
