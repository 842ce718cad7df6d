// Loops over a part of the elements that a loop goes over.
#pragma once

#include <vector>

#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"

namespace weld {

/// A part of it can be walked, and it cannot fail but by being no range at all.
bool may_be_cut(Facts& facts, const Expr* datum);
/// A builder in `t` is a table, which loops open and close.
bool holds_table(const Type* t);

/// The elements [start, end) of a datum that may be cut.
const Expr* part(Module& m, const Expr* datum, const Expr* start, const Expr* end);
std::vector<const Expr*> parts(Module& m, For loop, const Expr* start, const Expr* end);

/// The rounds [start, end) of `loop`, on `builder`: a copy, whose index begins at `start`.
const Expr* rounds(Module& m, For loop, const Expr* start, const Expr* end, const Expr* builder);

/// `body` where `index` is `start + k`.
const Expr* with_index(Module& m, const Symbol* index, const Expr* start, const Symbol* k, const Expr* body);

}  // namespace weld
