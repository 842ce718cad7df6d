// `groupmerger[K,V]`: a dictionary of vectors; the values of a key in the order of merges.
#include "weldir/builders/properties.h"

namespace weld {

static const Type* entry(Types& types, const Type* b) { return pair(types, b->key(), b->value()); }
static const Type* groups(Types& types, const Type* b) { return types.dict(b->key(), types.vec(b->value())); }

const BuilderInfo kGroupMerger = {
    .takes = entry,
    .gives = groups,
    .starts = no_start,
    .needs_start = false,
    .start_counts = false,
    .lists_merges = false,
    .keeps_merges = true,
    .ordered = always,
    .exact = never,
    .takes_lanes = never,
    .indexed = false,
    .merge_fails = false,
};

}  // namespace weld
