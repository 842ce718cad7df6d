// The time of day.
#include <chrono>

#include "runtime/kernels/kernel.h"

WELD_KERNEL_BODY(weld_kernel_now) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    *static_cast<std::int64_t*>(result) = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    return weld::runtime::kOk;
}
