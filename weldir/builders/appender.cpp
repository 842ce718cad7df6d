// `appender[T]`: a vector of what was merged, in order. Its argument is a hint of the size.
#include "weldir/builders/properties.h"

namespace weld {

static const Type* element(Types&, const Type* b) { return b->elem(); }
static const Type* vector(Types& types, const Type* b) { return types.vec(b->elem()); }
static bool of_scalars(const Type* b) { return b->elem()->is_scalar(); }

const BuilderInfo kAppender = {
    .takes = element,
    .gives = vector,
    .starts = size_hint,
    .needs_start = false,
    .start_counts = false,
    .lists_merges = true,
    .keeps_merges = true,
    .ordered = always,
    .exact = never,
    .takes_lanes = of_scalars,
    .indexed = false,
    .merge_fails = false,
};

}  // namespace weld
