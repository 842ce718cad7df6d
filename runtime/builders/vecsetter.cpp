// vecsetter[T]: a vector whose elements are replaced, by the last merge of each. Whether an element was
// merged to is known nowhere, so there are no pieces: such loops run serially.
#include "runtime/builders/pieces.h"

namespace weld::runtime {

static Cut cut(const WeldType*, const void*, CutQuestion*) { return Cut::Whole; }

static bool seamless(const WeldType*) { return true; }

static void reach(Tracer& tracer, const WeldType* type, const void* state) {
    const auto* v = static_cast<const WeldVec*>(state);
    tracer.elements(type->args[0], v->data, v->len);
}

const BuilderPieces kVecSetterPieces{
    .cut = cut, .seamless = seamless, .reach = reach, .memory = memory_of_vec, .is_new = is_new_vec};

}  // namespace weld::runtime
