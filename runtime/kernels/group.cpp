// A column of values grouped by a column of keys.
#include "runtime/groups.h"
#include "runtime/kernels/kernel.h"

using namespace weld::runtime;

static std::int32_t group(Task* task, const WeldCall* call, const WeldType* key, WeldDict** to) {
    const auto keys = argument<WeldVec>(call, 0), values = argument<WeldVec>(call, 1);
    if (keys.len != values.len)
        return fail_call(task, call, "{} keys and {} values to be grouped", keys.len, values.len);
    *to = group_columns(task, key, call->types[1], keys.data, values.data, keys.len, call->loc);
    return *to ? kOk : kFailed;
}

WELD_KERNEL_BODY(weld_kernel_group) {
    return group(task, call, call->types[0], static_cast<WeldDict**>(result));
}

WELD_KERNEL_BODY(weld_kernel_group_strings) {
    const WeldType* const elem[] = {call->types[0]};
    const WeldType string{.kind = kWeldVec,
                          .holds_pointer = true,
                          .num_args = 1,
                          .size = sizeof(WeldVec),
                          .align = alignof(WeldVec),
                          .args = elem};
    return group(task, call, &string, static_cast<WeldDict**>(result));
}
