// vecsetter[T]: a vector whose elements are replaced, by the last merge of each. Whether an element was
// merged to is known nowhere, so there are no pieces: such loops run serially.
#include "runtime/builders/parts.h"

namespace weld::runtime {

static Cut cut(const WeldType*, const void*, CutQuestion*) { return Cut::Whole; }

/// Never called.
static std::int32_t start(Task*, const WeldType*, const void*, void*, std::int32_t) { return kFailed; }
static std::int32_t combine(Task*, const WeldType*, void*, std::span<void* const>, std::int32_t) {
    return kFailed;
}

static bool seamless(const WeldType*) { return true; }

static void reach(Tracer& tracer, const WeldType* type, const void* state) {
    const auto* v = static_cast<const WeldVec*>(state);
    tracer.elements(type->args[0], v->data, v->len);
}

const BuilderParts kVecSetterParts{
    .cut = cut, .start = start, .combine = combine, .seamless = seamless, .reach = reach};

}  // namespace weld::runtime
