// Loops of a certain form, by which annotations say that they go on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "weldir/ir/expr.h"

namespace weld {

/// Lanes of `type` whose places lie no farther apart are looked up by reading all that lies between (`apart`).
constexpr std::int64_t farthest_lane(const Type* type) {
    constexpr std::int64_t elements = 8, bytes = 32;
    return std::min(elements, bytes / size_of(type->scalar));
}

/// The end of the body of a loop: `if` with the loop's builder, as it came, on one side. Rounds in which
/// something is done may be found before any of it is (`selection`).
struct Filter {
    Block lets;        ///< before it; may be none
    const Expr* cond;  ///< what is asked
    bool wanted;       ///< what it has to be
    const Expr* work;  ///< what is done then
};
std::optional<Filter> filter_of(For f);

/// Calls `f` for the conditions that all hold where `cond` does.
void each_condition(const Expr* cond, const std::function<void(const Expr*)>& f);

/// It goes over plain elements, one after the other.
bool goes_one_by_one(For f);

/// Lets and condition may be evaluated for many rounds before any of these is done.
bool is_known_early(const Filter& filter);

/// What all merges of a loop over lanes demand of a lane, as far as that can be told from some of its data
/// without reading the others. Rounds in which no lane has it do nothing, and cannot fail.
struct Demand {
    Block lets;                      ///< before the merges; may be none
    std::vector<const Expr*> conds;  ///< masks, all of which a lane must pass; they cannot fail
    std::vector<bool> reads;         ///< by datum
};
std::optional<Demand> demand_of(For f);

/// An `iterate` that counts: each round increases a field of the state by one, and another one follows exactly where that, or
/// what it was before, is less (or no more) than what no round changes.
struct Counting {
    std::size_t field;
    const Expr* limit;      ///< reads nothing that the rounds bind
    std::int64_t more = 0;  ///< rounds than it takes to come from the count to the limit
};
std::optional<Counting> counting_of(Iterate it);

/// All that it merges, one by one and once in a round, goes into a dictmerger whose keys may have places (keys.h).
bool merges_at_places(For f);

/// Of a loop over fringes, the loop over lanes of the same data that it begins with, if the two can be one
/// whose last round has a mask (`tail:masked`).
For masked_loop(For rest);

/// Of a loop that appends as often in each round as a loop inside goes on, which is known before it begins
/// (`size:given`), that loop inside: each knows its place in the result, so their rounds may come in any
/// order (`tile`).
For tiled_loop(For outer);

/// That of the data of `loop` which `path` is the element of; else null.
const Expr* datum_of(For loop, const Expr* path);

/// Each iteration just hands the builder on: the loop fails before the first one, or not at all.
bool does_nothing(For loop);

/// The loop that the body of `f` ends with, or none.
For last_loop(For f);

}  // namespace weld
