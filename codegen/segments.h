// What is worth optimising, and what runs once.
#pragma once

#include "weldir/ir/expr.h"

namespace weld::codegen {

/// `body`, of a function that runs once, is compiled the quick way: it has no rounds in place, or it is cut
/// into segments.
bool is_quick(const Expr* body);

}  // namespace weld::codegen
