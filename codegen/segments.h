// What functions are optimised.
#pragma once

#include "weldir/ir/expr.h"

namespace weld::codegen {

/// The program or a function is optimised, as the result of its body says; else it is compiled the quick way.
bool is_optimised(Lambda function);

}  // namespace weld::codegen
