// Questions about loop bodies that decide how a loop is emitted.
#pragma once

#include <cstdint>
#include <vector>

#include "weldir/ir/call_graph.h"
#include "weldir/ir/expr.h"
#include "weldir/ir/merges.h"

namespace weld::codegen {

/// `if(c, merge(appender, v), appender)` or the other way round, where evaluating `v` in vain costs less than
/// a branch that cannot be predicted: the merge, or nothing.
Merge conditional_append(If choice);

/// Estimated picoseconds of one evaluation.
std::int64_t cost_of(const Expr* e);

/// How often `e` may be evaluated without looking whether to stop (Strip).
std::int64_t strip_of(const Expr* e);

/// Evaluating `e` on lanes costs more than asking first whether any lane needs it, and nobody can tell
/// whether it was done.
bool is_worth_a_branch(const Expr* e);

class Constants;
/// `body`, outside of loops, is compiled the quick way: it runs once, or what is worth optimising is cut out.
bool is_quick(const Constants& constants, const Expr* body);

}  // namespace weld::codegen
