// Built-in kernels as they are meant: the plainest way to the result.
#pragma once

#include <optional>

#include "tests/interp/value.h"
#include "weldir/ir/kernels.h"

namespace weld::interp {

/// What the kernel gives; nothing if it fails.
std::optional<Value> call_builtin(const BuiltinKernel& kernel, const Values& args);

}  // namespace weld::interp
