// Kernels on cells of any type: printing as DaphneDSL does, numbers to text and back, random numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tests/interp/kernels.h"

namespace weld::interp {

bool is_cell_kernel(std::string_view name);

/// Nothing if the call fails.
std::optional<Value> call_cell_kernel(Kernel call, const Values& args, std::string& output);

}  // namespace weld::interp
