// Threads, by TBB.
#include "runtime/parallel.h"

#include "runtime/entry.h"

namespace weld::runtime {

void close_arena(WeldRun*) {}

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" std::int32_t weld_rt_loop(WeldTask* t, const WeldLoop* loop, const void* captures, void* state,
                                     std::int64_t n) noexcept {
    Task* task = task_of(t);
    Region region;
    enter_region(task, &region);
    const std::int32_t status = n > 0 ? loop->body(task, captures, state, 0, n) : kOk;
    exit_region(task, &region);
    return status;
}
