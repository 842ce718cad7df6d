// The proof: counters are replaced by their ends, one at a time, until the sum that is left shows its sign.
#include "weldir/ir/bounds.h"

#include <algorithm>
#include <limits>

#include "weldir/ir/build.h"
#include "weldir/ir/walk.h"

namespace weld {

static constexpr int kMostSteps = 12;
static constexpr std::int64_t kMostKnown = 8;  // of names: they are put in, and factors grow
static constexpr std::int64_t kMostFactor = std::int64_t(1) << 40;
static constexpr std::int64_t kMostElements = std::int64_t(1) << 50;  // that fit into any memory

/// Sums of these are far from wrapping.
static bool has_small_factors(const Count& n) {
    return n.is_small() && std::ranges::all_of(n.sum(), [](const Count::Product& p) {
               return -kMostFactor <= p.factor && p.factor <= kMostFactor;
           });
}

static std::int64_t largest_factor(const Count& n) {
    std::int64_t most = 0;
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();  // which has no opposite
    for (const Count::Product& p : n.sum()) most = std::max(most, std::abs(std::max(p.factor, least + 1)));
    return most;
}

/// Nothing if factors could wrap.
static std::optional<Count> product(const Count& a, const Count& b) {
    if (!has_small_factors(a) || !has_small_factors(b)) return {};
    if (__int128(largest_factor(a)) * largest_factor(b) > kMostFactor) return {};
    const Count all = a * b;
    return has_small_factors(all) ? std::optional(all) : std::nullopt;
}

/// `p` divided by one of its names.
static Count::Product without(Count::Product p, const Expr* name) {
    p.of.erase(std::ranges::find(p.of, name));
    return p;
}

static bool has(const Count::Product& p, const Expr* name) { return std::ranges::count(p.of, name) > 0; }
static bool has(const Count& n, const Expr* name) {
    return std::ranges::any_of(n.sum(), [&](const Count::Product& p) { return has(p, name); });
}

/// `n` with `is` in the place of a name.
static std::optional<Count> with(const Count& n, const Expr* name, const Count& is) {
    Count sum;
    for (Count::Product p : n.sum()) {
        std::optional<Count> power;
        for (; has(p, name); p = without(p, name)) {
            power = power ? product(*power, is) : is;
            if (!power) return {};
        }
        const std::optional<Count> all = power ? product(Count(p), *power) : Count(p);
        if (!all) return {};
        sum = sum + *all;
    }
    return has_small_factors(sum) ? std::optional(sum) : std::nullopt;
}

// ---- names

/// The number that a range ends with. What Facts has no Count for is a name by itself, here.
Count Bounds::counted(const Expr* end) {
    const std::optional<Count> n = facts_.count(end);
    return n ? *n : Count(facts_.resolve(end));
}

/// The division that a name stands for.
const Expr* Bounds::division(const Expr* name) {
    const Expr* e = name->op == Op::Len ? name : facts_.resolve(name);
    return e->op == Op::Div ? e : nullptr;
}

/// It is the length of something, so not negative, and no arithmetic.
bool Bounds::is_length(const Expr* e) {
    const Expr* name = counted(e).name();
    return facts_.resolve(e)->op == Op::Len || (name && name->op == Op::Len);
}

void Bounds::note_least(const Count& n, std::int64_t least) {
    const Expr* name = n.name();
    if (!name) {
        std::int64_t number = 0;
        for (const Count::Product& p : n.sum())
            if (p.of.empty()) number = p.factor;
        const Expr* of = (n - Count(number)).name();
        if (!of || number < -kMostFactor || number > kMostFactor) return;
        std::int64_t& known = least_if_positive_.try_emplace(of, 0).first->second;
        known = std::max(known, std::min(least - number, kMostKnown));
        return;
    }
    std::int64_t& known = least_.try_emplace(name, 0).first->second;
    known = std::max(known, std::min(least, kMostKnown));
    // it fits into what is divided, so the divisor is no less than 1
    if (const Expr* by = least >= 1 ? division(name) : nullptr; by && is_length(by->arg(0)))
        note_least(counted(by->arg(1)), 1);
}

/// The ranges of a loop whose index gets to `rounds - 1`.
void Bounds::note_ranges(For loop, std::int64_t rounds) {
    for (const Expr* datum : loop.data()) {
        const Iter it = datum->as<Iter>();
        if (!it || !it.shape().range || it.shape().kind != IterKind::Scalar) continue;
        const Literal start = it.start()->as<Literal>();
        if (start && start.as_int() >= 0 && start.as_int() <= kMostFactor)
            note_least(counted(it.end()), start.as_int() + rounds);
    }
}

void Bounds::begin(For loop) { note_ranges(loop, 0); }

const Bounds::Counter* Bounds::counter(const Expr* name) {
    auto [at, added] = counters_.try_emplace(name);
    if (added) at->second = find_counter(name);
    return at->second ? &*at->second : nullptr;
}

std::optional<Bounds::Counter> Bounds::find_counter(const Expr* name) {
    if (!is_path(name)) return {};
    const Expr* e = facts_.loop_of(base_of(name));
    if (!e) return {};
    const For loop{{e}};
    std::optional<Counter> found;
    if (is_var(name, loop.index_param())) {
        for (const Expr* datum : loop.data()) {
            const Iter it = datum->as<Iter>();
            if (it && it.shape().kind != IterKind::Scalar) return {};
            const bool counts = it && it.shape().range && is_int(it.start(), 0) && is_int(it.stride(), 1);
            const std::optional<Count> n = counts ? counted(it.end()) : facts_.iterations_of(datum);
            if (n && !found) found = Counter{0, *n - Count(1)};
        }
    } else if (base_of(name) == loop.elem_param()) {
        std::size_t datum = 0;
        if (name->op == Op::GetField && name->arg(0)->op == Op::Var && loop.data().size() > 1)
            datum = name->attr.index;
        else if (name->op != Op::Var || loop.data().size() > 1) return {};
        const Iter it = loop.data()[datum]->as<Iter>();
        if (!it || !it.shape().range || it.shape().kind != IterKind::Scalar) return {};
        const Literal stride = it.stride()->as<Literal>();
        const std::optional<Count> start = facts_.count(it.start());
        if (!start || !stride || stride.as_int() < 1 || !may_begin_at(*start)) return {};
        found = Counter{*start, counted(it.end()) - Count(1)};
    }
    if (found) note_ranges(loop, 1);
    return found;
}

/// A range that begins there has no numbers below it: arithmetic has not wrapped.
bool Bounds::may_begin_at(const Count& start) {
    if (const auto known = start.known()) return -kMostFactor <= *known && *known <= kMostFactor;
    const Expr* negated = (Count(-1) * start).name();
    return negated ? least(negated).has_value() : is_integer(start);
}

/// Names in `to` of which conditions say that they are not negative, and below what is not known before a
/// run, are counters from now on; but not those that are such a bound. Says whether there are any.
bool Bounds::find_bounded(const Count& to) {
    std::map<const Expr*, Counter> found;
    for (const Count::Product& p : to.sum())
        for (const Expr* name : p.of) {
            const std::optional<std::int64_t> from = conditions_.least(Count(name), place_, depth_);
            if (!is_path(name) || !(from >= 0)) continue;
            if (const Counter* c = counter(name); c && not_negative(c->least)) continue;
            conditions_.any_order(place_, depth_, [&](Op op, const Count& a, const Count& b) {
                if (!(a == Count(name)) || b.known() || !is_integer(b)) return false;
                const std::int64_t least = std::min(*from, kMostKnown);
                note_least(b, least + (op == Op::Lt));
                found.try_emplace(name, Counter{Count(least), b - Count(op == Op::Lt)});
                return true;
            });
        }
    const auto is_bound = [&](const Expr* name) {
        return std::ranges::any_of(found, [&](const auto& other) { return has(other.second.most, name); });
    };
    std::vector<const Expr*> bounds;
    for (const auto& [name, counter] : found)
        if (is_bound(name)) bounds.push_back(name);
    for (const Expr* name : bounds) found.erase(name);
    for (const auto& [name, counter] : found) counters_[name] = counter;
    return !found.empty();
}

/// A length divided, as often as it may be, by what is not negative.
bool Bounds::is_quotient(const Expr* name) {
    const Expr* by = steps_ < kMostSteps ? division(name) : nullptr;
    if (!by) return false;
    ++steps_;
    const bool is = (is_length(by->arg(0)) || is_quotient(by->arg(0))) && not_negative(counted(by->arg(1)));
    --steps_;
    return is;
}

/// A name is at least that.
std::optional<std::int64_t> Bounds::least(const Expr* name) {
    const Counter* c = counter(name);
    if (c && not_negative(c->least)) return std::min(c->least.known().value_or(0), kMostKnown);
    std::optional<std::int64_t> best;
    if (name->op == Op::Len || is_quotient(name) || facts_.is_promised_not_negative(name)) best = 0;
    if (const auto at = least_.find(name); at != least_.end()) best = at->second;
    if (name->op != Op::Len && is_path(name))
        if (const auto known = conditions_.least(Count(name), place_, depth_))
            best = std::max(best.value_or(INT64_MIN), std::min(*known, kMostKnown));
    if (!(best >= 0)) {
        if (!small_ || !is_path(name) || c) return {};
        small(name).may_be_negative = true;
        best = 0;
    }
    const auto at = least_if_positive_.find(name);
    return at == least_if_positive_.end() ? best : std::max(*best, at->second);
}

SmallName& Bounds::small(const Expr* name) {
    const auto at = std::ranges::find(*small_, name, &SmallName::name);
    return at != small_->end() ? *at : small_->emplace_back(SmallName{name});
}

/// A name is at most that, in a product of so many.
std::optional<std::int64_t> Bounds::most(const Expr* name, std::size_t degree) {
    if (!is_path(name) && name->op != Op::Len) return {};
    if (const auto known = conditions_.most(Count(name), place_, depth_)) return known;
    if (name->op == Op::Len) return kMostElements;
    if (!small_) return {};
    const std::int64_t most = degree == 1 ? kMostFactor : std::int64_t(1) << (62 / degree);
    SmallName& s = small(name);
    s.most = std::min(s.most.value_or(most), most);
    return s.most;
}

// ---- sums

bool Bounds::not_negative(const Count& n) {
    if (!small_) return is_sum_of_no_negatives(n);
    const std::vector<SmallName> before = *small_;
    if (is_sum_of_no_negatives(n)) return true;
    *small_ = before;
    return false;
}

/// Nothing makes up for a negative factor, whatever is least of the names: that takes a product of these
/// names and others.
static bool has_plain_negative(const Count& n) {
    return std::ranges::any_of(n.sum(), [&](const Count::Product& p) {
        return p.factor < 0 && std::ranges::none_of(
                                   n.sum(),
                                   [&](const Count::Product& q) {
                                       return q.factor > 0 && q.of.size() > p.of.size() &&
                                              std::ranges::includes(q.of, p.of, {}, &Expr::id, &Expr::id);
                                   });
    });
}

/// Each name at its least: if then no factor is negative, the sum is not.
bool Bounds::is_sum_of_no_negatives(const Count& n) {
    if (has_plain_negative(n)) return false;
    std::vector<const Expr*> names;
    for (const Count::Product& p : n.sum())
        for (const Expr* name : p.of)
            if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    std::optional<Count> now = n;
    for (const Expr* name : names) {
        const std::optional<std::int64_t> from = least(name);
        if (!from) return false;
        if (*from && now) now = with(*now, name, Count(name) + Count(*from));
    }
    return now && std::ranges::all_of(now->sum(), [](const Count::Product& p) { return p.factor >= 0; });
}

/// One of the counters in `n`, if possible one that bounds no other: of a triangle the inner one.
const Expr* Bounds::next_counter(const Count& n) {
    std::vector<const Expr*> all;
    for (const Count::Product& p : n.sum())
        for (const Expr* name : p.of)
            if (counter(name) && std::ranges::find(all, name) == all.end()) all.push_back(name);
    for (const Expr* c : all)
        if (std::ranges::none_of(all, [&](const Expr* other) {
                return has(counter(other)->most, c) || has(counter(other)->least, c);
            }))
            return c;
    return all.empty() ? nullptr : all[0];
}

/// A range that ends behind `most` has no rounds if that is negative as an integer: what is subtracted in it
/// is too little for arithmetic to make a positive number of that.
bool Bounds::ends_somewhere(const Count& most) {
    int names = 0;
    std::int64_t number = 0;
    for (const Count::Product& p : most.sum()) {
        if (!std::ranges::all_of(p.of, [&](const Expr* name) { return least(name).has_value(); }))
            return false;
        if (p.of.empty()) number = p.factor;
        else if (p.factor < 0 && (p.factor != -1 || p.of.size() != 1 || names++)) return false;
    }
    return number >= (names ? -1 : -kMostFactor);
}

/// The largest or the least that `n` gets in the rounds of all counters in it, or beyond.
std::optional<Count> Bounds::extreme(Count n, bool largest) {
    for (int step = 0;; ++step) {
        const Expr* name = next_counter(n);
        if (!name) return n;
        if (step == kMostSteps) return {};
        Count times;
        for (const Count::Product& p : n.sum()) {
            if (!has(p, name)) continue;
            times = times + Count(without(p, name));
            if (has(times, name)) return {};  // a square
        }
        const bool grows = not_negative(times);
        if (!grows && !not_negative(Count(-1) * times)) return {};
        const Counter& c = *counter(name);
        // `most` has wrapped if what is subtracted from is: then there are no rounds, unless it is far below
        if (!ends_somewhere(c.most)) return {};
        const std::optional<Count> now = with(n, name, grows == largest ? c.most : c.least);
        if (!now) return {};
        n = *now;
    }
}

/// No larger than `n`: of products with `r = l / c`, `r * c` is at most `l`.
std::optional<Count> Bounds::without_divisions(Count n) {
    for (int step = 0; step < kMostSteps; ++step) {
        const Count before = n;
        for (const Count::Product& p : before.sum()) {
            if (p.factor >= 0) continue;
            for (const Expr* r : p.of) {
                const Expr* by = division(r);
                if (!by) continue;
                // what is divided is no sum that could have wrapped
                const Count of = counted(by->arg(0)), c = counted(by->arg(1));
                if (!is_length(by->arg(0)) && !is_quotient(by->arg(0))) continue;
                Count::Product rest = without(p, r);
                if (const auto known = c.known()) {
                    if (*known < 1 || rest.factor % *known != 0) continue;
                    rest.factor /= *known;
                } else {
                    if (!c.name() || !has(rest, c.name()) || !least(c.name())) continue;
                    rest = without(rest, c.name());
                }
                const Count times = Count(rest);
                if (!not_negative(Count(-1) * times)) continue;
                const std::optional<Count> instead = product(times, of);
                if (!instead) return {};
                n = n - Count(p) + *instead;
                break;
            }
            if (!(n == before)) break;
        }
        if (n == before) return n;
    }
    return n;
}

/// Its names are so small that arithmetic gives what it is as an integer, and that is not negative.
bool Bounds::cannot_wrap(const Count& n) {
    if (!has_small_factors(n) || !not_negative(n)) return false;
    __int128 sum = 0;
    for (const Count::Product& p : n.sum()) {
        __int128 largest = std::abs(p.factor);
        for (const Expr* name : p.of) {
            const std::optional<std::int64_t> most = this->most(name, p.of.size());
            if (!most || *most < 0) return false;
            largest *= *most;
            if (largest > INT64_MAX) return false;
        }
        sum += largest;
    }
    return sum <= INT64_MAX;
}

/// With what equations say of lengths, as far as that can't have wrapped.
std::optional<Count> Bounds::with_equations(Count n) {
    for (const auto& [name, is] : conditions_.solved(place_, depth_)) {
        if (!has(n, name)) continue;
        const auto from = least(name);
        if (!from || !cannot_wrap(is)) continue;
        const std::optional<Count> now = with(n, name, is);
        if (!now) return {};
        n = *now;
    }
    return n;
}

/// Arithmetic gives what it is as an integer.
bool Bounds::is_integer(const Count& n) {
    return n.known() || n.name() || cannot_wrap(n) || is_beside_name(n);
}

/// One more than a name that is less than something, or less than a name that is not negative.
bool Bounds::is_beside_name(const Count& n) {
    std::int64_t number = 0;
    for (const Count::Product& p : n.sum())
        if (p.of.empty()) number = p.factor;
    const Expr* name = (n - Count(number)).name();
    if (!name || number > 1 || number < -kMostFactor) return false;
    if (number < 0) return least(name) >= 0;
    return counter(name) || conditions_.any_order(place_, depth_, [&](Op op, const Count& a, const Count&) {
        return op == Op::Lt && a == Count(name);
    });
}

/// It is not negative because of a condition `a <= b`.
bool Bounds::follows_from_order(const Count& n) {
    if (small_) return false;
    return conditions_.any_order(place_, depth_, [&](Op op, const Count& a, const Count& b) {
        const auto shares = [&](const Count::Product& p) {
            return std::ranges::any_of(n.sum(), [&](const Count::Product& q) { return q.of == p.of; });
        };
        if (!std::ranges::all_of(a.sum(), shares)) return false;
        if (!has_small_factors(a) || !has_small_factors(b)) return false;
        return not_negative(n - (b - a - Count(op == Op::Lt))) && is_integer(a) && is_integer(b);
    });
}

/// Demands that it is not negative, as an order of what arithmetic gives as it is.
bool Bounds::demand_not_negative(const Count& n) {
    if (!orders_ || n.known()) return false;
    const std::vector<SmallName> before = *small_;
    if (not_negative(Count(-1) * n)) return *small_ = before, false;  // it is in vain
    Count less, more;
    std::int64_t number = 0;
    for (const Count::Product& p : n.sum()) {
        if (p.of.empty()) number = p.factor;
        else (p.factor < 0 ? less : more) = (p.factor < 0 ? less - Count(p) : more + Count(p));
    }
    if (number > 0 && !(less == Count())) more = more + Count(number);
    else less = less - Count(number);
    if (!is_integer(less) || !is_integer(more)) return *small_ = before, false;
    const Needs::Order order{less, more};
    if (!std::ranges::count(*orders_, order)) orders_->push_back(order);
    return true;
}

bool Bounds::is_less(const Count& a, const Count& b, bool or_equal) {
    for (const Count* c : {&a, &b})
        if (!has_small_factors(*c) || !is_integer(*c)) return false;
    std::optional<Count> left = extreme(b - a - Count(!or_equal), false);
    if (left && !not_negative(*left)) left = with_equations(*left);
    return (left && not_negative(*left)) || follows_from_order(b - a - Count(!or_equal));
}

bool Bounds::lie_inside(const Count& from, const Count& to, const Count& n) {
    if (are_inside(from, to, n)) return true;
    counters_.clear();
    return find_bounded(to) && are_inside(from, to, n);
}

bool Bounds::are_inside(const Count& from, const Count& to, const Count& n) {
    for (const Count* c : {&from, &to, &n})
        if (!has_small_factors(*c)) return false;
    const auto holds = [&](const std::optional<Count>& sum) {
        return sum && (not_negative(*sum) || follows_from_order(*sum) || demand_not_negative(*sum));
    };
    const std::optional<Count> lowest = extreme(from, false), highest = extreme(to, true);
    if (!highest || !holds(lowest) || !holds(extreme(to - from, false))) return false;
    if (!n.is_exact() && !cannot_wrap(n)) return false;
    std::optional<Count> left = n - *highest;
    if (not_negative(*left)) return true;
    left = without_divisions(*left);
    if (left && !not_negative(*left)) left = with_equations(*left);
    return holds(left);
}

bool Bounds::walks_inside(Facts& facts, const Expr* vec, const Expr* from, For loop, Needs& needs) {
    const std::optional<Count> start = facts.count(from), rounds = facts.iterations(loop.node);
    const std::optional<Count> n = facts.length(vec);
    if (!start || !rounds || !n) return false;
    Needs more = needs;
    const Conditions::Depth innermost = 1;  // the nest stays where it is
    Bounds bounds(facts, facts.conditions_, facts.place_of(loop.index_param()), innermost);
    bounds.small_ = &more.small;
    bounds.orders_ = &more.orders;
    bounds.begin(loop);
    if (!bounds.lie_inside(*start, *start + *rounds, *n)) return false;
    needs = std::move(more);
    return true;
}

}  // namespace weld
