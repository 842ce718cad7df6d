// Which loops of few rounds become straight code.
#pragma once

#include "weldir/ir/facts.h"

namespace weld {

/// `unroll` writes a loop of so many rounds as straight code, if its data are literals or ranges.
inline bool is_unrolled(Facts& facts, For loop, std::int64_t rounds) {
    constexpr std::int64_t few = 8, most_nodes = 300;      // of loops
    constexpr std::int64_t most = 16, little_nodes = 160;  // of those with small bodies
    const Traits& body = facts.traits(loop.body().node);
    const std::int64_t nodes = rounds * body.size;
    return rounds >= 1 && !body.ordered && nodes <= most_nodes &&
           (rounds <= few || (rounds <= most && nodes <= little_nodes));
}

}  // namespace weld
