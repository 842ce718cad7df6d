// Which value of a block reads the memory of a symbol last: after it, that memory may go.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "weldir/ir/facts.h"

namespace weld {

/// By symbol: which value of `b` (its result has the highest number) reads memory of it, frees or
/// gives it away last. Numbers in it and the lengths of vectors are no part of its memory.
std::unordered_map<const Symbol*, std::size_t> last_reads(Block b);

}  // namespace weld
