// Loops over a subrange of the elements that a loop goes over: for passes that take loops apart (peeling,
// tiling).
#pragma once

#include <vector>

#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"

namespace weld {

/// A part of it can be walked where it stands, and it cannot fail but by being no range at all.
bool may_be_cut(Facts& facts, const Expr* datum);
/// A builder in `t` is a table, which loops open and close.
bool holds_table(const Type* t);

/// The elements [start, end) of a datum that may be cut.
const Expr* subrange(Module& m, const Expr* datum, const Expr* start, const Expr* end);
std::vector<const Expr*> subranges(Module& m, For loop, const Expr* start, const Expr* end);

/// The rounds [start, end) of `loop`, on `builder`: a copy, whose index begins at `start`.
const Expr* loop_over_subrange(Module& m, For loop, const Expr* start, const Expr* end, const Expr* builder);

/// The builders `start` of `loop` for a loop over blocks of so many of its rounds, of which the last may have
/// fewer: appenders know how many a block appends.
const Expr* for_blocks(Module& m, Facts& facts, For loop, const Expr* start, std::int64_t rounds);

/// What the first of several loops that take the place of `loop` starts with, if that was `start`: an appender of one element a
/// round has capacity for `n` rounds from the beginning, and does not move when the next loop begins.
const Expr* with_capacity(Module& m, Facts& facts, For loop, const Expr* start, const Expr* n);

/// `groups`, of which each round takes so many `rounds` of `loop`, the last one perhaps fewer: it says how often a round appends,
/// before vectorize hides that, if builders begin here; else others have made room for just what `loop` appends.
const Expr* with_appends(Module& m, Facts& facts, For loop, std::int64_t rounds, const Expr* groups);

/// `body` where `index` is `start + k`.
const Expr* with_index(Module& m, const Symbol* index, const Expr* start, const Symbol* k, const Expr* body);

}  // namespace weld
