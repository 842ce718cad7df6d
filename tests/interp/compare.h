// Does a compiled program give what the interpreter gives?
#pragma once

#include <string>

#include "tests/interp/value.h"

namespace weld::interp {

/// Where `found` differs from `expected`, as text; nothing if they agree. Bits must be equal, but: all NaNs
/// are, floats with slack may be off by it, dictionaries are compared by their entries. `unordered`: vectors
/// are compared as multisets, at every depth (what `tovec` gives has no order).
std::string difference(const Type* type, const Value& expected, const Value& found, bool unordered = false);

}  // namespace weld::interp
