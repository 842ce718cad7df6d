// What is worth optimising, and what runs once.
#pragma once

#include "weldir/ir/expr.h"

namespace weld::codegen {

class Constants;
/// `body`, outside of loops, is compiled the quick way: it runs once, or what is worth optimising is cut out.
bool is_quick(const Constants& constants, const Expr* body);

}  // namespace weld::codegen
