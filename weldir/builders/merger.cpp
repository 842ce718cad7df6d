// `merger[T,op]`: all merged values combined by `op`, and with the initial value if there is one.
#include "weldir/builders/properties.h"

namespace weld {

static bool exact(const Type* b) { return exact_in_any_order(b->elem(), b->op); }

const BuilderInfo kMerger = {
    .takes = "T",
    .gives = "T",
    .starts = "T",
    .needs_start = false,
    .start_counts = true,
    .keyed = false,
    .combines_simd = true,
    .words = 0,
    .lists_merges = false,
    .keeps_merges = false,
    .ordered = never,
    .exact = exact,
    .takes_lanes = always,
    .indexed = false,
    .probes = false,
    .merge_fails = false,
};

}  // namespace weld
