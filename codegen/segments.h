// When functions are optimised.
#pragma once

#include <cstdint>

#include "weldir/ir/expr.h"

namespace weld::codegen {

enum class Optimised : std::uint8_t { Never, Later, AtOnce };
/// As the result of the body of the program or a function says.
Optimised optimised(Lambda function);

}  // namespace weld::codegen
