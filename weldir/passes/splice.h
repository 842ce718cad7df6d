// A loop over what another loop appends, with that loop in its place: each merge of the producer turns into the
// body of the consumer. For the passes that decide where (fuse_vertical.cpp, fuse_kept.cpp).
#pragma once

#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"

namespace weld {

/// The loop in `result(for(..., appender, ...))`, if it may stand in another place; else none.
For appending_loop(Facts& facts, const Expr* value);

/// `loop` reads a vector that one of `builders` begins with.
bool reads_what_changes(For loop, const Expr* builders);

/// `consumer` with `producer`, which makes its datum `k`, in it. Null where indices or zips would not agree, a
/// large body would have to be copied, or both had better go their own ways.
const Expr* fused_into(Module& m, Facts& facts, For producer, For consumer, std::size_t k);

}  // namespace weld
