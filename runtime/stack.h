// Where the stack of the running code ends, and more of it for deep recursion.
//
// A task knows the lowest address that its code may use (WeldTask::stack_end); functions that call themselves
// compare their frame with it. Below, the call goes to another stack: one for each thread that recursed so
// deep, far larger than a thread's own. Where that ends, too, the run fails.
#pragma once

#include <cstdint>
#include <functional>

namespace weld::runtime {

/// The lowest address that code which starts here may use, with room left for what it calls. On a stack that
/// is neither the thread's own nor of on_deep_stack (a coroutine's) nobody knows: above all addresses then.
const char* end_of_stack();

/// Calls `work(end)` on a stack of its own, `end` being the lowest address that may be used there. False, and
/// nothing was called, if there is no memory for one or the thread is on it already. `most`: bytes.
bool on_more_stack(std::int64_t most, const std::function<void(const char* end)>& work);

}  // namespace weld::runtime
