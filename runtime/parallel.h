// Threads: the only part of the runtime that knows TBB.
#pragma once

#include <cstdint>

#include "runtime/task.h"

namespace weld::runtime {

/// Lets go of the threads of a run that has ended.
void close_arena(WeldRun* run);

}  // namespace weld::runtime
