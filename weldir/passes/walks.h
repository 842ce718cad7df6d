// Lookups whose index goes on by one from round to round of a loop.
//
//     lookup(v, i)    lookup(v, k + x)                  always
//     lookup(v, max(i - 1L, 0L))                        in the middle: in all rounds but the first
//     lookup(v, if(i < k, i + 1L, k))                   in those before k
//     lookup(v, (i + n - 1L) % n)                       from 1 on, before n + 1
#pragma once

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"

namespace weld {

/// Offsets up to this are small numbers: so many rounds at the ends of a loop may stand apart.
constexpr std::int64_t kFarthestWalk = 1024;
/// Farther than any index, and far from where numbers wrap around.
constexpr std::int64_t kFar = std::int64_t(1) << 62;

/// Lookups in `vec` at counter + `offset` (null: 0).
struct Walk {
    const Expr* vec;
    const Expr* counter_start;  ///< where the counter begins
    const Expr* offset;
    bool is_whole;   ///< it yields all of `vec` for sure
    bool is_inside;  ///< all of it lies in `vec` for sure

    /// Where it begins.
    const Expr* start(Module& m) const;

    /// How far it is ahead of the rounds of its loop, if that is a small number.
    std::optional<std::int64_t> distance() const;
    /// How far it is behind them, if that is no number: `lookup(v, i - k)` begins in round k. Null otherwise.
    const Expr* behind() const;
};

/// Rounds of a loop in which conditions on its counter hold that keep an index inside.
class Middle {
  public:
    /// It ends before round `limit + plus`.
    struct Last {
        const Expr* limit;
        std::int64_t plus;
    };

    std::int64_t from() const { return from_; }
    const std::vector<Last>& lasts() const { return lasts_; }
    /// Some rounds may not belong to it.
    bool is_part() const { return from_ > 0 || !lasts_.empty(); }

    void begin_at(std::int64_t round) { from_ = std::max(from_, round); }
    void end_before(const Expr* limit, std::int64_t plus);

  private:
    std::int64_t from_ = 0;
    std::vector<Last> lasts_;
};

class WalkFinder {
  public:
    /// `clamped`: also those that walk in the middle() only.
    WalkFinder(Module& m, Facts& facts, For loop, bool clamped);

    const std::vector<Walk>& walks() const { return walks_; }
    const Middle& middle() const { return middle_; }
    bool all_inside() const;
    /// Whether a comparison of the counter holds in all rounds from `first` on in which all walks lie inside;
    /// nothing if it holds in some of them only, or that can't be told.
    std::optional<bool> settled(const Expr* cond, std::int64_t first);
    /// What a remainder is in the middle, where that is the counter and a number; null otherwise.
    const Expr* without_ring(const Expr* rem);
    /// The number of the walk that a lookup belongs to, or -1.
    int walk_of(const Expr* lookup);
    /// Whether it looks up the same number in all rounds.
    bool is_still(const Expr* e);

  private:
    /// `fn()`, if it takes no rounds from the middle; nothing otherwise.
    template <class Fn>
    auto within_middle(Fn&& fn) -> decltype(fn());
    bool begins_at(const Expr* round) const;
    void look(const Expr* e);
    int position(const Walk& w) const;
    bool reads_vector(Lookup at) const;
    std::optional<Walk> as_walk(const Expr* e);
    bool take_apart(const Expr* key, Walk& w);
    void add_offset(Walk& w, Op op, const Expr* by);
    bool is_the_same_always(const Expr* e);
    const Expr* counter_start(const Expr* e);

    const Expr* in_middle(const Expr* key);
    const Expr* unwrapped(const Expr* key);
    std::optional<bool> holds_in_middle(const Expr* cond);
    struct Compared {
        Op op;  ///< of the counter, on the left
        std::int64_t ahead;
        const Expr* limit;
    };
    std::optional<Compared> compared(const Expr* cond);
    std::optional<std::int64_t> ahead(const Expr* e);
    std::optional<bool> at_begin(const Expr* limit, std::int64_t ahead);

    Module& m_;
    Facts& facts_;
    For loop_;
    bool clamped_;
    std::unordered_set<const Symbol*> inside_;
    std::vector<Walk> walks_;
    Middle middle_;
};

}  // namespace weld
