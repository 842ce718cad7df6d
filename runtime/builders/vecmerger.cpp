// vecmerger[T,op]: a vector whose elements are merged into. Pieces are copies filled with what merging leaves as it was.
#include <algorithm>
#include <cstring>

#include "runtime/builders/pieces.h"
#include "runtime/merge.h"
#include "runtime/parallel.h"

namespace weld::runtime {

static constexpr std::int64_t kSmallPiece = 256 << 10;     // stays in the cache of a core
static constexpr std::int64_t kLargestCopies = 256 << 20;  // of all chunks together

static bool seamless(const WeldType* type) { return merges_exactly(type->args[0], WeldMergeOp(type->op)); }

/// An iteration takes so long (ps) if it has loops of its own, which may merge a whole row of elements.
static constexpr std::int64_t kCostOfRows = 10'000;
static constexpr std::int64_t kCostOfCopy = 1'000;  // of an element: filling and combining it
// What a round is thought to take may be far off: a copy of more elements than a few is for so many rows at least.
static constexpr std::int64_t kFewElements = 256, kRowsOfCopy = 16;
static constexpr std::int64_t kRowsOfLargeCopy = 4;  // for each of its elements

/// Copies must pay: filling and combining one takes as long as merging into each of its elements. How often
/// an iteration merges isn't known if it has loops of its own.
static Cut cut(const WeldType* type, const void* state, CutQuestion* question) {
    const std::int64_t len = std::max<std::int64_t>(1, static_cast<const WeldVec*>(state)->len);
    const std::int64_t bytes = len * type->args[0]->size;
    const bool by_row = question->work / question->n >= kCostOfRows;
    std::int64_t paying = by_row ? question->work / len / kCostOfCopy : question->n / len;
    if (by_row && len > kFewElements) paying = std::min(paying, question->n / kRowsOfCopy);
    if (seamless(type))
        return bytes <= kSmallPiece || (paying > 1 && bytes <= kLargestCopies) ? Cut::Worker : Cut::Whole;
    const std::int64_t affordable =
        bytes <= kSmallPiece ? kFewChunks : std::min(kFewChunks, kLargestCopies / bytes);
    // Filling and combining go through memory that rounds of one vector would not touch.
    if (!by_row && bytes > kSmallPiece)
        paying = std::max(std::min<std::int64_t>(2, paying), paying / kRowsOfLargeCopy);
    const std::int64_t chunks = std::min({question->chunks, affordable, std::max<std::int64_t>(1, paying)});
    if (chunks < 2) return Cut::Whole;
    question->chunks = chunks;
    return Cut::Chunk;
}

static std::int32_t start(Task* task, const WeldType* type, const void* whole, void* piece,
                          std::int32_t loc) {
    const WeldType* elem = type->args[0];
    const std::int64_t len = static_cast<const WeldVec*>(whole)->len;
    char* data = static_cast<char*>(allocate_array(task, len, elem->size, loc));
    if (!data) return kFailed;
    *static_cast<WeldVec*>(piece) = {data, len};
    return in_strips(task, 0, len, loc, [&](std::int64_t lo, std::int64_t hi) {
        char* const begin = data + lo * elem->size;
        const std::int64_t bytes = (hi - lo) * elem->size;
        set_nothing(elem, type->op, begin);
        for (std::int64_t filled = elem->size; filled < bytes; filled *= 2)
            std::memcpy(begin + filled, begin, std::size_t(std::min(filled, bytes - filled)));
    });
}

/// Merges `n` scalars of kind `kind`, one every `stride` bytes.
static void merge_scalars(int kind, WeldMergeOp op, char* whole, const char* piece, std::int64_t n,
                          std::int64_t stride) {
    with_scalar(kind, [&]<class T>(T) {
        const auto all = [&](auto constant_op, auto step) {
            for (std::int64_t i = 0; i < n; ++i) {
                T& to = *reinterpret_cast<T*>(whole + i * step);
                to = merged<T>(constant_op(), to, *reinterpret_cast<const T*>(piece + i * step));
            }
        };
        const auto with_step = [&](auto constant_op) {
            if (stride == sizeof(T)) all(constant_op, std::integral_constant<std::int64_t, sizeof(T)>());
            else all(constant_op, stride);
        };
        switch (op) {
            case kWeldAdd: return with_step(std::integral_constant<WeldMergeOp, kWeldAdd>());
            case kWeldMul: return with_step(std::integral_constant<WeldMergeOp, kWeldMul>());
            case kWeldMin: return with_step(std::integral_constant<WeldMergeOp, kWeldMin>());
            case kWeldMax: return with_step(std::integral_constant<WeldMergeOp, kWeldMax>());
        }
    });
}

/// The type of all scalars of an element, if they are of one type and fill it.
static const WeldType* only_scalar(const WeldType* elem) {
    const WeldType* first = nullptr;
    std::int64_t bytes = 0;
    bool same = true;
    for_each_scalar(elem, 0, [&](const WeldType* field, std::int64_t) {
        if (!first) first = field;
        same &= field->kind == first->kind;
        bytes += field->size;
    });
    return same && bytes == elem->size ? first : nullptr;
}

/// Merges elements [lo, hi) of `piece` into those of `whole`.
static void merge_range(const WeldType* elem, WeldMergeOp op, char* whole, const char* piece, std::int64_t lo,
                        std::int64_t hi) {
    constexpr std::int64_t kStrip = 256;  // in the cache while fields are merged one after the other
    if (const WeldType* scalar = only_scalar(elem))
        return merge_scalars(scalar->kind, op, whole + lo * elem->size, piece + lo * elem->size,
                             (hi - lo) * (elem->size / scalar->size), scalar->size);
    for (std::int64_t end; lo < hi; lo = end) {
        end = std::min(hi, lo + kStrip);
        for_each_scalar(elem, lo * elem->size, [&](const WeldType* field, std::int64_t at) {
            merge_scalars(field->kind, op, whole + at, piece + at, end - lo, elem->size);
        });
    }
}

static std::int32_t combine(Task* task, const WeldType* type, void* whole, std::span<void* const> pieces,
                            std::int32_t loc) {
    const WeldVec* to = static_cast<const WeldVec*>(whole);
    const auto merge_strip = [&](std::int64_t lo, std::int64_t hi) {
        for (const void* piece : pieces) {
            const WeldVec& from = *static_cast<const WeldVec*>(piece);
            merge_range(type->args[0], WeldMergeOp(type->op), static_cast<char*>(to->data),
                        static_cast<const char*>(from.data), lo, hi);
        }
    };
    if (for_pieces(task, to->len, 1 << 14, loc, merge_strip)) return kFailed;
    for (void* piece : pieces) release(task, static_cast<const WeldVec*>(piece)->data);
    return kOk;
}

static void reach(Tracer& tracer, const WeldType* type, const void* state) {
    const auto* v = static_cast<const WeldVec*>(state);
    tracer.elements(type->args[0], v->data, v->len);
}

const BuilderPieces kVecMergerPieces{.cut = cut,
                                     .start = start,
                                     .combine = combine,
                                     .seamless = seamless,
                                     .reach = reach,
                                     .memory = memory_of_vec,
                                     .is_new = is_new_vec};

}  // namespace weld::runtime
