// Built-in kernels as they are meant: the plainest way to the result.
#pragma once

#include <optional>
#include <string>

#include "tests/interp/scalars.h"
#include "tests/interp/value.h"
#include "weldir/ir/kernels.h"

namespace weld::interp {

/// A vec[i8] or vec[u8] as text.
std::string bytes_of(const Value& bytes);

/// What the kernel gives; nothing if it fails. What it prints is added to `output`.
std::optional<Value> call_builtin(Kernel call, const Values& args, Slack& slack, std::string& output);

}  // namespace weld::interp
