// Arguments as Weld literals: text, checked against a type, becomes a value in memory.
//
// The type leads: a number without a suffix takes the type that is asked for (`5` is an i8 or an f64), one
// with a suffix must be a number of the type that it names and fit the one that is asked for as well. The
// recursion is as deep as the type, whatever the text.
#pragma once

#include <string>
#include <string_view>

#include "runtime/abi/weld_abi.h"
#include "weldir/support/arena.h"

namespace weld {

/// Why values of `type` cannot be written as literals (dictionaries, builders, simd), or nothing.
std::string no_literals_of(const WeldType* type);

/// Reads all of `text` as a value of `type` into `to`; vectors go to `memory`. Returns nothing, or what is
/// wrong.
std::string read_literal(std::string_view text, const WeldType* type, Arena& memory, void* to);

}  // namespace weld
