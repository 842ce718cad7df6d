// `dictmerger[K,V,op]`: a dictionary; values merged under equal keys are combined by `op`. Its argument is a
// hint.
#include "weldir/builders/properties.h"
#include "weldir/ir/layout.h"

namespace weld {

static bool is_of_integers(const Type* t) {
    if (t->is_struct()) return std::all_of(t->args.begin(), t->args.end(), is_of_integers);
    return t->is_scalar() && !is_float(t->scalar);
}

static std::int64_t sum_of_sizes(const Type* t) {
    if (!t->is_struct()) return size_of(t);
    std::int64_t sum = 0;
    for (const Type* f : t->args) sum += sum_of_sizes(f);
    return sum;
}

/// A few groups fit the registers of the target: keys are one word of integers, values are few.
static bool fits_registers(const Type* b) {
    constexpr std::size_t kMostValues = 12;
    if (!is_of_integers(b->key())) return false;
    const std::int64_t bytes = size_of(b->key());
    const bool is_word = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    return is_word && sum_of_sizes(b->key()) == bytes && b->value()->args.size() <= kMostValues;
}

static bool exact(const Type* b) { return exact_in_any_order(b->value(), b->op); }

const BuilderInfo kDictMerger = {
    .takes = "{K,V}",
    .gives = "dict[K,V]",
    .starts = "i64",
    .needs_start = false,
    .start_counts = false,
    .keyed = true,
    .combines_simd = false,
    .words = 1,
    .lists_merges = false,
    .keeps_merges = false,
    .ordered = never,
    .exact = exact,
    .takes_lanes = fits_registers,
    .indexed = false,
    .probes = true,
    .merge_fails = false,
};

}  // namespace weld
