// DaphneDSL scripts in, Module out.
#pragma once

#include <string>

#include "frontend/weld/weld.h"
#include "weldir/ir/module.h"
#include "weldir/support/diag.h"

namespace weld {

/// Reads a script into an empty module, as read_weld reads a program.
bool read_daphne(Module& m, std::string name, std::string text, const ReadOptions& options,
                 Diagnostics& diagnostics);

}  // namespace weld
