// What lies inside of a vector for sure: as integers, not only as arithmetic that wraps has it.
//
//     let r = len(m) / c;
//     for(rangeiter(0L, r, 1L), ..., |b, o, i|
//       for(rangeiter(0L, c, 1L), ..., |d, n, j| lookup(m, i * c + j)))
//
// In a round, i <= r - 1 and j <= c - 1; so i * c + j < r * c; and that is at most len(m), as division has
// it. All numbers are sums of products of names that are not negative, so what is largest and least of them
// is found by putting in the ends of the counters, and a sum without negative factors is not negative.
//
// `assert(len(m) == r * c)` says less: the product may wrap. It counts where `r` and `c` are known to be
// small. What is missing can be asked for by passes, before a loop.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "weldir/ir/conditions.h"
#include "weldir/ir/facts.h"

namespace weld {

/// What is not known and has to hold: whoever demands it sees to that, by asking.
struct Needs {
    /// `less <= more`, where arithmetic gives both as they are.
    struct Order {
        Count less, more;
        friend bool operator==(const Order&, const Order&) = default;
    };
    std::vector<SmallName> small;
    std::vector<Order> orders;
};

class Bounds {
  public:
    /// The same as Facts says, but for what it takes that names are small and numbers in order: `needs` gets
    /// it, and the caller then sees to that.
    static bool walks_inside(Facts& facts, const Expr* vec, const Expr* from, For loop, Needs& needs);

    /// Relies on what is known of depth 0, and of `depth` or more, around `place`.
    Bounds(Facts& facts, Conditions& conditions, Conditions::Place place, Conditions::Depth depth)
        : facts_(facts), conditions_(conditions), place_(place), depth_(depth) {}

    /// Takes what has to be small to be so, and tells.
    void assume_small(std::vector<SmallName>* small) { small_ = small; }

    /// What a loop demands of its ranges before it runs holds.
    void begin(For loop);
    /// 0 <= from, from <= to, and to <= n. Of loops it relies on those only whose counters are in `from` and
    /// `to`, and on those that were begun: so it stays true as far out as these names are known.
    bool lie_inside(const Count& from, const Count& to, const Count& n);
    /// a < b, or a <= b.
    bool is_less(const Count& a, const Count& b, bool or_equal);

  private:
    bool are_inside(const Count& from, const Count& to, const Count& n);
    struct Counter {
        Count least;
        Count most;
    };
    const Counter* counter(const Expr* name);
    std::optional<Counter> find_counter(const Expr* name);
    bool find_bounded(const Count& to);
    void note_ranges(For loop, std::int64_t rounds);
    void note_least(const Count& n, std::int64_t least);
    Count counted(const Expr* end);
    bool is_length(const Expr* e);
    bool is_quotient(const Expr* e);
    bool ends_somewhere(const Count& most);
    const Expr* division(const Expr* name);
    std::optional<std::int64_t> least(const Expr* name);
    std::optional<std::int64_t> most(const Expr* name, std::size_t degree);
    SmallName& small(const Expr* name);
    bool is_integer(const Count& n);
    bool may_begin_at(const Count& start);
    bool is_beside_name(const Count& n);
    bool follows_from_order(const Count& n);
    std::optional<Count> extreme(Count n, bool largest);
    const Expr* next_counter(const Count& n);
    bool not_negative(const Count& n);
    bool is_sum_of_no_negatives(const Count& n);
    bool demand_not_negative(const Count& n);
    std::optional<Count> without_divisions(Count n);
    std::optional<Count> with_equations(Count n);
    bool cannot_wrap(const Count& n);

    Facts& facts_;
    Conditions& conditions_;
    Conditions::Place place_;
    Conditions::Depth depth_;
    std::vector<SmallName>* small_ = nullptr;
    std::vector<Needs::Order>* orders_ = nullptr;
    std::map<const Expr*, std::optional<Counter>> counters_;
    std::map<const Expr*, std::int64_t> least_;
    std::map<const Expr*, std::int64_t> least_if_positive_;  // because of sums, which might wrap otherwise
    int steps_ = 0;
};

}  // namespace weld
