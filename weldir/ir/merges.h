// How often a round of a loop merges, counted in values: a merge of lanes is as many.
#pragma once

#include <cstdint>
#include <vector>

#include "weldir/ir/expr.h"

namespace weld {

/// Builders in a value of type `t`.
int num_builders(const Type* t);

/// For each builder in the loop's builder type (depth first) the number of values that every iteration merges
/// into it, whatever happens; -1 where that varies. (`Facts` knows of more loops, but not of lanes.)
std::vector<std::int32_t> merges_per_iteration(For f);

/// The same of those builders that keep what is merged alone: what `@(appends:…)` says.
std::vector<std::int64_t> appends_per_iteration(For f);

/// The most values that a round of `f` may merge into one of the builders that keep them; -1 where that is not
/// known, or there is none.
std::int64_t most_appends_per_iteration(For f);

/// By builder in the state of `it` that keeps what is merged (depth first) the most values that a round may merge into it;
/// -1 where that is not known: what `@(most:…)` says.
std::vector<std::int64_t> most_appends_per_round(Iterate it);

/// The same where every round merges as many, whatever happens; -1 where that varies: what `@(exact:true)` says of them.
std::vector<std::int64_t> appends_per_round(Iterate it);

/// `if(c, merge(b, v), b)` or the other way round, of one value into a builder that keeps what is merged, or a number that is
/// added to an element of a vector: the merge, or nothing.
Merge conditional_merge(If choice);

}  // namespace weld
