// How values that are known before a program runs lie in its data.
#pragma once

#include <string>

#include "weldir/ir/constants.h"

namespace weld::codegen {

/// The symbol by which code refers to its elements. LLVM never sees these: there may be very many.
std::string name_of_packed(PackedVec v);

}  // namespace weld::codegen
