// How built-in kernels are written, and what they share.
//
// A kernel has the type WeldKernelFn (weld_abi.h) and is defined as WELD_KERNEL_BODY(symbol) { ... }, which
// sees `task`, `call` and `result`. It returns a status, and after Task::fail that of a failure; exceptions
// become failures. What its result points to is allocated in the memory of `task`; arguments are read-only.
// Work that may be long is cut into parts by the size of the arguments, never by the number of threads, and
// given to `run_parts`, which looks whether to stop before each; a part that may be longer than some ms asks
// Task::should_stop as well, or uses `in_strips`.
#pragma once

#include <cstdint>
#include <new>
#include <string_view>

#include <fmt/format.h>

#include "runtime/abi/weld_abi.h"
#include "runtime/task.h"

extern "C" {
#define WELD_KERNEL(symbol, name, effect, fails, fresh, params, result) WeldKernelFn symbol;
#include "runtime/abi/kernels.def"
}

namespace weld::runtime {

/// Argument `i`, which is a T.
template <class T>
const T& argument(const WeldCall* call, int i) {
    return *static_cast<const T*>(call->args[i]);
}

/// The bytes of a vec[i8] or vec[u8].
inline std::string_view text_of(const WeldVec& v) {
    return {static_cast<const char*>(v.data), std::size_t(v.len)};
}

/// Records that the call fails because of what `text` says. Status.
template <class... Args>
std::int32_t fail_call(Task* task, const WeldCall* call, fmt::format_string<Args...> text, Args&&... args) {
    return task->fail(kWeldKernelError, call->loc, fmt::format(text, std::forward<Args>(args)...));
}

using KernelBody = std::int32_t (*)(Task* task, const WeldCall* call, void* result);

/// What `body` gives; a failure of the run if it throws.
inline std::int32_t guarded(KernelBody body, WeldTask* t, const WeldCall* call, void* result) noexcept {
    Task* task = task_of(t);
    try {
        return body(task, call, result);
    } catch (const std::bad_alloc&) {
        return task->fail_memory(call->loc, Shortage::Machine);
    } catch (...) {
        return task->fail(kWeldKernelError, call->loc, "a kernel threw");  // short: needs no memory
    }
}

}  // namespace weld::runtime

/// Begins the definition of a kernel; what it does follows in braces.
#define WELD_KERNEL_BODY(symbol)                                                                      \
    static std::int32_t symbol##_body(weld::runtime::Task* task, const WeldCall* call, void* result); \
    extern "C" std::int32_t symbol(WeldTask* task, const WeldCall* call, void* result) noexcept {     \
        return weld::runtime::guarded(symbol##_body, task, call, result);                             \
    }                                                                                                 \
    static std::int32_t symbol##_body([[maybe_unused]] weld::runtime::Task* task,                     \
                                      [[maybe_unused]] const WeldCall* call, [[maybe_unused]] void* result)
