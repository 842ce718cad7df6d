// `groupmerger[K,V]`: a dictionary of vectors; the values of a key in the order of merges.
#include "weldir/builders/properties.h"

namespace weld {

const BuilderInfo kGroupMerger = {
    .takes = "{K,V}",
    .gives = "dict[K,vec[V]]",
    .starts = "",
    .needs_start = false,
    .start_counts = false,
    .keyed = true,
    .combines_simd = false,
    .words = 1,
    .lists_merges = false,
    .keeps_merges = true,
    .ordered = always,
    .exact = never,
    .takes_lanes = never,
    .indexed = false,
    .probes = false,
    .merge_fails = false,
};

}  // namespace weld
