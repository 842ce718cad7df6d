// Values as bytes, as `serialize` writes and `deserialize` reads them: packed, little endian, no header.
// Scalars are their bytes, structs and simd their parts in order, vectors and dictionaries an i64 count and
// their elements or key-value pairs.
#pragma once

#include <optional>

#include "tests/interp/value.h"

namespace weld::interp {

std::vector<std::uint8_t> serialize(const Type* type, const Value& v);

/// Nothing if the bytes are no value of `type`: counts must fit, all bytes be used, a bool be 0 or 1.
std::optional<Value> deserialize(const Type* type, const std::vector<std::uint8_t>& bytes);

}  // namespace weld::interp
