// `vecmerger[T,op](v)`: a copy of `v`; a merge of `{i, x}` combines element `i` with `x` by `op` and fails
// outside.
#include "weldir/builders/properties.h"

namespace weld {

static const Type* indexed(Types& types, const Type* b) { return pair(types, types.i64(), b->elem()); }
static const Type* vector(Types& types, const Type* b) { return types.vec(b->elem()); }
static bool of_scalars(const Type* b) { return b->elem()->is_scalar(); }
static bool exact(const Type* b) { return exact_in_any_order(b->elem(), b->op); }

const BuilderInfo kVecMerger = {
    .takes = indexed,
    .gives = vector,
    .starts = vector,
    .needs_start = true,
    .start_counts = true,
    .lists_merges = false,
    .keeps_merges = false,
    .ordered = never,
    .exact = exact,
    .takes_lanes = of_scalars,
    .indexed = true,
    .merge_fails = true,
};

}  // namespace weld
