// `vecsetter[T](v)`: a copy of `v`; a merge of `{i, x}` puts `x` in the place of element `i` and fails
// outside. Of several for one element the last one stays.
#include "weldir/builders/properties.h"

namespace weld {

static bool of_numbers(const Type* b) { return b->elem()->is_scalar() && !b->elem()->is_bool(); }

const BuilderInfo kVecSetter = {
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
    .ordered = always,
    .exact = never,
    .takes_lanes = of_numbers,
    .indexed = true,
    .probes = false,
    .merge_fails = true,
};

}  // namespace weld
