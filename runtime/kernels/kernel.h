// How built-in kernels are called, and what they share.
//
// A kernel has the type WeldKernelFn: `args` are pointers to its arguments, `result` is room for what it
// gives, `loc` the place of the call. It returns a status, and after Task::fail that of a failure. What its
// result points to is allocated with `loc` in the memory of `task`; arguments are read-only. Work that may be
// long is cut into parts by the size of the arguments, never by the number of threads, and given to
// `run_parts`, which looks whether to stop before each; a part that may be longer than some ms asks
// Task::should_stop as well, or uses `in_strips`.
#pragma once

#include <cstdint>
#include <new>

#include "runtime/abi/weld_abi.h"
#include "runtime/task.h"

extern "C" {
using WeldKernelFn = std::int32_t(WeldTask* task, const void* const* args, void* result,
                                  std::int32_t loc) noexcept;
#define WELD_KERNEL(symbol, name, effect, params, result) WeldKernelFn symbol;
#include "runtime/abi/kernels.def"
}

namespace weld::runtime {

/// Argument `i`, which is a T.
template <class T>
const T& argument(const void* const* args, int i) {
    return *static_cast<const T*>(args[i]);
}

/// `f()`, a status. C++ memory that it does not get is a failure of the run.
template <class F>
std::int32_t guarded(Task* task, std::int32_t loc, const F& f) noexcept {
    try {
        return f();
    } catch (const std::bad_alloc&) {
        return task->fail_memory(loc, Shortage::Machine);
    }
}

}  // namespace weld::runtime
