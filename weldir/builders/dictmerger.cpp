// `dictmerger[K,V,op]`: a dictionary; values merged under equal keys are combined by `op`. Its argument is a
// hint.
#include "weldir/builders/properties.h"

namespace weld {

static const Type* entry(Types& types, const Type* b) { return pair(types, b->key(), b->value()); }
static const Type* dictionary(Types& types, const Type* b) { return types.dict(b->key(), b->value()); }
static bool exact(const Type* b) { return exact_in_any_order(b->value(), b->op); }

const BuilderInfo kDictMerger = {
    .takes = entry,
    .gives = dictionary,
    .starts = size_hint,
    .needs_start = false,
    .start_counts = false,
    .lists_merges = false,
    .ordered = never,
    .exact = exact,
    .takes_lanes = never,
    .indexed = false,
    .merge_fails = false,
};

}  // namespace weld
