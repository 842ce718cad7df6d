// `appender[T]`: a vector of what was merged, in order. Its argument is a hint of the size.
#include "weldir/builders/properties.h"
#include "weldir/ir/layout.h"

namespace weld {

static bool holds_scalars(const Type* t) {
    return t->is_scalar() || (t->is_struct() && std::ranges::all_of(t->args, holds_scalars));
}

/// Elements of a few words, which move in registers (codegen/packing.h).
static bool of_few_words(const Type* b) {
    return holds_scalars(b->elem()) &&
           fits_lanes(size_of(b->elem()) / align_of(b->elem()), align_of(b->elem()));
}

const BuilderInfo kAppender = {
    .takes = "T",
    .gives = "vec[T]",
    .starts = "i64",
    .needs_start = false,
    .start_counts = false,
    .keyed = false,
    .combines_simd = false,
    .words = 3,
    .lists_merges = true,
    .keeps_merges = true,
    .ordered = always,
    .exact = never,
    .takes_lanes = of_few_words,
    .indexed = false,
    .probes = false,
    .merge_fails = false,
};

}  // namespace weld
