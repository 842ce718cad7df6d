// Kinds of keys: which of them code can look for by itself, and which the runtime does (runtime/keys.h has
// the same for descriptions of types).
#pragma once

#include "weldir/ir/type.h"

namespace weld {

/// An integer of the key's bytes decides; floats by their bits as keys.
bool is_word_key(const Type* key);
/// Two such integers.
bool is_two_word_key(const Type* key);
/// A vector whose bytes decide.
bool is_bytes_key(const Type* key);

/// Emitted code can look for such keys: scalars, vectors of integers, and structs of these.
bool is_sought_inline(const Type* key);
/// The runtime cuts large tables with such keys into partitions.
inline bool is_partitioned(const Type* key) { return is_word_key(key) || is_two_word_key(key); }

}  // namespace weld
