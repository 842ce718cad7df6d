// `merger[T,op]`: all merged values combined by `op`, and with the initial value if there is one.
#include "weldir/builders/properties.h"

namespace weld {

static const Type* value(Types&, const Type* b) { return b->elem(); }
static bool exact(const Type* b) { return exact_in_any_order(b->elem(), b->op); }

const BuilderInfo kMerger = {
    .takes = value,
    .gives = value,
    .starts = value,
    .needs_start = false,
    .start_counts = true,
    .lists_merges = false,
    .keeps_merges = false,
    .ordered = never,
    .exact = exact,
    .takes_lanes = always,
    .indexed = false,
    .merge_fails = false,
};

}  // namespace weld
