// The core IR as Weld text that reads back as an equal module.
#pragma once

#include <string>
#include <string_view>

#include "weldir/ir/module.h"

namespace weld {

/// The whole module: `def` functions, then the main program. Ends in a newline. Takes time linear in the
/// program.
std::string print(const Module& m);

/// One expression, or a Lambda. Symbols that it does not bind print by their names. No newline at the end.
std::string print(const Expr* e);

/// A scalar constant: `7`, `7L`, `7c`, `7u8`, `1.0`, `1.5f`, `true`, `bits[f64](0x7ff8000000000000L)`.
std::string print_literal(Scalar type, std::uint64_t bits);

/// The bytes of a `vec[i8]` literal as a string literal; empty if they would not read well as one.
std::string print_string(std::string_view bytes);

/// No symbol may print as this: a keyword, or the name of an operation, type or builder.
bool is_reserved(std::string_view word);

}  // namespace weld
