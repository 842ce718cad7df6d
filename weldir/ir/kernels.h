// The built-in kernels that programs may call, with the types that they take and give.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weldir/ir/module.h"

namespace weld {

/// One row of runtime/abi/kernels.def: an overload of `name`.
struct BuiltinKernel {
    std::string_view symbol;  ///< of the function in the runtime
    std::string_view name;    ///< in programs
    bool effect;              ///< exactly once, in program order; else it may be shared
    std::string_view params;  ///< types, separated by ", "
    std::string_view result;
};

bool is_builtin_kernel(std::string_view name);
/// The overload of `name` with these types; null if there is none.
const BuiltinKernel* find_builtin_kernel(std::string_view name, std::span<const Type* const> params,
                                         const Type* result);
const BuiltinKernel* find_builtin_kernel(std::string_view name, std::span<const Expr* const> args,
                                         const Type* result);
/// A call of the overload of `name` with these types, which exists.
const Expr* builtin_kernel(Module& m, std::string_view name, const Type* type,
                           std::span<const Expr* const> args, Loc loc = {});
/// `cudf[NAME,RESULT](PARAMETERS)`, one string per overload of `name`.
std::vector<std::string> overloads_of_kernel(std::string_view name);

}  // namespace weld
