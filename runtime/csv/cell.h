// Numbers and truth values as they stand in fields of tables.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/abi/weld_abi.h"

namespace weld::runtime {

/// Reads all of `text`, but for blanks around it, as a number or bool of `type` into `to`; false if it is
/// none, or doesn't fit. Knows a leading `+`, and `nan`, `inf` and `infinity` in any case; an empty float is
/// NaN.
bool read_cell(std::string_view text, WeldKind type, void* to);

/// The number that a text begins with, after white space, rounded or cut as C casts do; NaN or 0 if it begins
/// with none. T: a number or Bool.
template <class T>
T lenient_number(std::string_view text);

/// Reads a number at `at` in the form that nearly all have: no blanks, no `+`, all in one piece. Where it
/// ends, or null if there is no such number; then one of the above has to look.
using QuickNumber = const char*(const char* at, const char* end, void* to);
/// Null: there is none for cells of `type`.
QuickNumber* quick_number(WeldKind type);

}  // namespace weld::runtime
