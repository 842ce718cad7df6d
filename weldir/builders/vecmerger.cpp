// `vecmerger[T,op](v)`: a copy of `v`; a merge of `{i, x}` combines element `i` with `x` by `op` and fails
// outside.
#include "weldir/builders/properties.h"

namespace weld {

static bool of_scalars(const Type* b) { return b->elem()->is_scalar(); }
static bool exact(const Type* b) { return exact_in_any_order(b->elem(), b->op); }

const BuilderInfo kVecMerger = {
    .takes = "{i64,T}",
    .gives = "vec[T]",
    .starts = "vec[T]",
    .needs_start = true,
    .start_counts = true,
    .keyed = false,
    .combines_simd = false,
    .words = 2,
    .lists_merges = false,
    .keeps_merges = false,
    .ordered = never,
    .exact = exact,
    .takes_lanes = of_scalars,
    .indexed = true,
    .probes = false,
    .merge_fails = true,
};

}  // namespace weld
