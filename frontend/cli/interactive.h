// The interactive mode: programs are typed, results appear.
#pragma once

#include "frontend/cli/options.h"

namespace weld {

/// Reads and runs until the end of input or `:quit`. Gives an exit code.
int run_interactive(const Options& options);

}  // namespace weld
