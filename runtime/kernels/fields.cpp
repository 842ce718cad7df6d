// Structs of equal numbers are these numbers one after the other: a vector of structs is one of numbers.
#include "runtime/kernels/kernel.h"

namespace weld::runtime {

static std::int32_t fields(const WeldCall* call, std::int64_t of_each, void* result) {
    const WeldVec& rows = argument<WeldVec>(call, 0);
    *static_cast<WeldVec*>(result) = {rows.data, rows.len * of_each};
    return kOk;
}

}  // namespace weld::runtime

using namespace weld::runtime;

WELD_KERNEL_BODY(weld_kernel_fields_of_two) { return fields(call, 2, result); }
WELD_KERNEL_BODY(weld_kernel_fields_of_three) { return fields(call, 3, result); }
WELD_KERNEL_BODY(weld_kernel_fields_of_four) { return fields(call, 4, result); }
WELD_KERNEL_BODY(weld_kernel_fields_of_eight) { return fields(call, 8, result); }
