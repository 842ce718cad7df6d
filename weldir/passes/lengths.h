// Lengths, written out: as expressions, and as comparisons. A comparison is what is left of a `zip` that
// fails if its vectors differ in length, when the loop that it fed goes elsewhere:
//
//     let equal = result(for(zip(xs, ys), merger[i64,+], |b, i, x| b));
//
// A loop that does nothing, and so is emitted as the comparison alone. It stands where the loop stood and has
// its place, so the failure is told as in the program that was written.
#pragma once

#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"

namespace weld {

/// A range from 0 in steps of 1: its elements are the loop's index.
bool counts_from_zero(const Expr* datum);
/// A range in steps of 1.
bool counts_by_one(const Expr* datum);
/// How often a loop over consecutive elements runs.
const Expr* trip_count(Module& m, const Expr* datum);

/// `a * b`; of literals a literal.
const Expr* product_of(Module& m, const Expr* a, const Expr* b);
/// The count as an expression; its names are in scope wherever the names that it was found from are.
const Expr* written(Module& m, const Count& n, Loc loc = {});

/// A loop over `data` that sums `step`.
const Expr* counting_loop(Module& m, Args data, std::int64_t step, Loc loc);
/// A loop with its `result`: all that is left of a loop over `data` is how it may fail.
const Expr* empty_loop(Module& m, Args data, Loc loc);
/// The same; null if the data have one length for sure. Of a vector that a loop makes it
/// reads what has as many elements before that loop: the two may yet fuse with others. `at`: see
/// Facts::agree.
const Expr* length_check(Module& m, Facts& facts, Args data, Loc loc, const Symbol* at = nullptr);

/// How many elements rows have at most that `optlookup[N](of, first, most)` has put side by side, if these are `datum`.
std::optional<std::int64_t> most_in_short_rows(Facts& facts, const Expr* datum);

/// How many rounds `loop` has at most: it goes over such rows, or over a range or a part of a vector that is never longer.
std::optional<std::int64_t> most_rounds(Facts& facts, For loop);
/// The same where its bounds are computed by sums and quotients that do not wrap around: an estimate.
std::optional<std::int64_t> likely_rounds(Facts& facts, For loop);

}  // namespace weld
