// Kinds of keys: which of them code can look for by itself, and which the runtime does (runtime/keys.h has
// the same for descriptions of types).
#pragma once

#include "weldir/ir/type.h"

namespace weld {

/// Scalars and structs of them are keys by their bytes: tables have 0.0 in place of -0.0, one NaN, and zeros
/// for padding. Those of 1, 2, 4 or 8 bytes:
bool is_word_key(const Type* key);
/// Those of 12 or 16 bytes.
bool is_two_word_key(const Type* key);
/// A vector whose bytes decide.
bool is_bytes_key(const Type* key);

/// Emitted code can look for such keys: scalars, vectors of integers, and structs of these.
bool is_sought_inline(const Type* key);
constexpr int kMostPlacedFields = 4;
/// A few integers or bools: the runtime may give them places (runtime/places.h).
bool has_places(const Type* key);
/// The runtime cuts large tables with such keys into partitions.
inline bool is_partitioned(const Type* key) { return is_word_key(key) || is_two_word_key(key); }

}  // namespace weld
