// `appender[T]`: a vector of what was merged, in order. Its argument is a hint of the size.
#include "weldir/builders/properties.h"

namespace weld {

static bool of_scalars(const Type* b) { return b->elem()->is_scalar(); }

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
    .takes_lanes = of_scalars,
    .indexed = false,
    .probes = false,
    .merge_fails = false,
};

}  // namespace weld
