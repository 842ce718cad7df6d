// Whether a loop, or a part of it, can run on lanes; for passes that had better not spoil it.
#pragma once

#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"

namespace weld {

/// `vectorize` will turn this For into a pair of loops.
bool can_vectorize(Module& m, Facts& facts, const Expr* loop);
/// `vectorize-outer` will have it go over lanes of its own elements.
bool can_vectorize_outer(Module& m, Facts& facts, const Expr* loop);
/// The same, and loops inside of it read what lies side by side for its lanes.
bool has_lanes_side_by_side(Module& m, Facts& facts, const Expr* loop);
/// `distribute` will have a part of it computed by a loop of its own, on lanes.
bool can_distribute(Module& m, Facts& facts, const Expr* loop);

}  // namespace weld
