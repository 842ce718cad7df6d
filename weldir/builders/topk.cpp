// `topk[T](n)`: a vector of the n least elements in ascending order; of equal ones the first.
#include "weldir/builders/properties.h"

namespace weld {

static bool holds_float(const Type* t) {
    return t->is_scalar() ? is_float(t->scalar) : std::ranges::any_of(t->args, holds_float);
}
/// Zeros are equal, and NaNs, and yet not the same.
static bool ordered(const Type* b) { return holds_float(b->elem()); }
static bool exact(const Type* b) { return !ordered(b); }

static bool holds_numbers(const Type* t) {
    if (t->is_struct()) return !t->args.empty() && std::ranges::all_of(t->args, holds_numbers);
    return t->is_scalar() && !t->is_bool();
}
/// Lanes are compared with the last of those that stay, and few are less.
static bool of_numbers(const Type* b) { return holds_numbers(b->elem()); }

const BuilderInfo kTopK = {
    .takes = "T",
    .gives = "vec[T]",
    .starts = "i64",
    .needs_start = true,
    .start_counts = true,
    .keyed = true,
    .combines_simd = false,
    .words = 1,
    .lists_merges = false,
    .keeps_merges = false,
    .ordered = ordered,
    .exact = exact,
    .takes_lanes = of_numbers,
    .indexed = false,
    .probes = false,
    .merge_fails = false,
};

}  // namespace weld
