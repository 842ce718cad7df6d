// The built-in kernels that programs may call, with the types that they take and give.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weldir/ir/module.h"

namespace weld {

/// One row of runtime/abi/kernels.def: an overload of `name`, for all types that fit its patterns.
struct BuiltinKernel {
    std::string_view symbol;  ///< of the function in the runtime
    std::string_view name;    ///< in programs
    bool effect;              ///< exactly once, in program order; else it may be shared
    bool fails;               ///< can fail, not counting memory and cancelling
    bool fresh;               ///< the result points into no argument, but perhaps at what its elements do
    std::string_view params;  ///< types with variables, separated by ", "; the last may be repeated (`...`)
    std::string_view result;
};

bool is_builtin_kernel(std::string_view name);
/// What it sees to of the sizes in its result.
Promises promises_of(const BuiltinKernel& kernel);
/// Calls of it read or write files, so where functions are allowed by name, it has to be among them.
bool reaches_files(std::string_view name);
/// The overload of `name` that fits these types; null if there is none.
const BuiltinKernel* find_builtin_kernel(std::string_view name, std::span<const Type* const> params,
                                         const Type* result);
const BuiltinKernel* find_builtin_kernel(std::string_view name, std::span<const Expr* const> args,
                                         const Type* result);
/// What the variables of `kernel` stand for in a call that fits it, in the order of WeldCall::types.
std::vector<const Type*> types_of_variables(const BuiltinKernel& kernel, std::span<const Expr* const> args,
                                            const Type* result);
/// A call of the overload of `name` that fits these types, which exists. `is_safe`: promised not to fail.
const Expr* builtin_kernel(Module& m, std::string_view name, const Type* type,
                           std::span<const Expr* const> args, Loc loc = {}, bool is_safe = false);
/// "`cudf[NAME,RESULT](PARAMETERS)`, where `F` is ...", one string per overload of `name`.
std::vector<std::string> overloads_of_kernel(std::string_view name);

}  // namespace weld
