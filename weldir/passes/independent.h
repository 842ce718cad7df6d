// Loops that put elements into a vector and read that vector beside it. For the passes that ask before they
// make such a loop (fuse_vertical.cpp), and for the one that writes down which are safe (independent.cpp).
#pragma once

#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"

namespace weld {

/// `e` reads the vector at the path `vector`, by that name.
bool reads(const Expr* e, const Expr* vector);

/// What `loop` reads of the vector that its builder begins with are data of its own, and none of its rounds
/// reads there what another one puts: it may do so in place.
bool rounds_are_independent(Facts& facts, For loop);

}  // namespace weld
