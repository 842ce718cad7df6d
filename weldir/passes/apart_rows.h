// Loops whose rounds change a row of a matrix each, and read that row and others of it.
#pragma once

#include <optional>

#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"

namespace weld {

/// What has to hold before `loop`, so that no round reads of the vector that its builder begins with what another round, or
/// itself before, has put there; nothing if that is not known. Reads by other names of the vector are among them.
std::optional<const Expr*> rows_are_apart(Module& m, Facts& facts, For loop);

}  // namespace weld
