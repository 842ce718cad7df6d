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

#define WELD_FIELDS(name, of_each) \
    WELD_KERNEL_BODY(weld_kernel_fields_of_##name) { return fields(call, of_each, result); }

WELD_FIELDS(two, 2)
WELD_FIELDS(three, 3)
WELD_FIELDS(four, 4)
WELD_FIELDS(five, 5)
WELD_FIELDS(six, 6)
WELD_FIELDS(seven, 7)
WELD_FIELDS(eight, 8)
WELD_FIELDS(nine, 9)
WELD_FIELDS(ten, 10)
WELD_FIELDS(eleven, 11)
WELD_FIELDS(twelve, 12)
WELD_FIELDS(thirteen, 13)
WELD_FIELDS(fourteen, 14)
WELD_FIELDS(fifteen, 15)
WELD_FIELDS(sixteen, 16)
