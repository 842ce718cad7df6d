// Interpreter values as text: JSON as `weld-cli --json` prints it, and the notation of `#@ call` lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tests/interp/value.h"

namespace weld::interp {

/// docs: cli, `--json`. Dictionaries are arrays of [key, value] in key order; NaN, Infinity and -Infinity
/// stand bare.
std::string to_json(const Type* type, const Value& v);

/// Readable Weld: `[1, 2]`, `{1, 2.5}`, `{key: value}` for dictionaries, `"text"` for vec[i8] that is text.
std::string to_text(const Type* type, const Value& v);

/// Reads a value of `type` from the start of `*text` and leaves the rest there; nothing if there is none,
/// with `*error` set. Takes what `to_text` writes, suffixes on numbers, and for long vectors of numbers
///   iota(N)          0, 1, ... N-1, wrapped to the element type
///   repeat(X, N)     N times X
///   random(N, SEED)  N numbers from 0 to 999, always the same ones
std::optional<Value> parse_value(const Type* type, std::string_view* text, std::string* error);

}  // namespace weld::interp
