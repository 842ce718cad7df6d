// Which loops of few rounds become straight code.
#pragma once

#include "weldir/ir/facts.h"

namespace weld {

/// `unroll` writes a loop of so many rounds as straight code. `over_literals`: its data are vector literals.
inline bool is_unrolled(Facts& facts, For loop, std::int64_t rounds, bool over_literals) {
    constexpr std::int64_t few = 8, most_nodes = 350;
    constexpr std::int64_t most = 16, little_nodes = 160;  // of loops over literals with small bodies
    const Traits& body = facts.traits(loop.body().node);
    const std::int64_t nodes = rounds * body.size;
    return rounds >= 1 && !body.ordered && nodes <= most_nodes &&
           (rounds <= few || (over_literals && rounds <= most && nodes <= little_nodes));
}

}  // namespace weld
