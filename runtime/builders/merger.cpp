// merger[T,op]: one value. Pieces are neutral values, one per chunk, because floats must be added in their
// order.
#include "runtime/builders/pieces.h"
#include "runtime/merge.h"

namespace weld::runtime {

static Cut cut(const WeldType*, const void*, CutQuestion*) { return Cut::Chunk; }

static std::int32_t start(Task*, const WeldType* type, const void*, void* piece, std::int32_t) {
    set_neutral(type->args[0], WeldMergeOp(type->op), piece);
    return kOk;
}

static std::int32_t combine(Task*, const WeldType* type, void* whole, std::span<void* const> pieces,
                            std::int32_t) {
    for (const void* piece : pieces) merge_value(type->args[0], WeldMergeOp(type->op), whole, piece);
    return kOk;
}

static bool seamless(const WeldType* type) { return merges_exactly(type->args[0], WeldMergeOp(type->op)); }

static const void* memory(const WeldType*, const void*) { return nullptr; }  // a state is its value
static bool is_new(const WeldType*, const void*) { return true; }

const BuilderPieces kMergerPieces{
    .cut = cut, .start = start, .combine = combine, .seamless = seamless, .memory = memory, .is_new = is_new};

}  // namespace weld::runtime
