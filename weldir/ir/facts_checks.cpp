// Facts: checks that hold, of look-ups and of iterators; comparisons that hold, or never do.
#include "weldir/ir/bounds.h"
#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/walk.h"

namespace weld {

/// Not negative for sure: a few times the number of things that are in memory.
static bool not_negative(const Count& c) {
    return std::ranges::all_of(c.sum(), [](const Count::Product& p) {
        if (p.of.empty()) return p.factor >= 0 && p.factor <= INT64_MAX / 2;
        return p.factor >= 0 && p.factor < 1 << 10 && p.of.size() == 1 && p.of[0]->op == Op::Len;
    });
}

/// A range whose end is not before its start, nor farther away than an i64 can say.
static bool is_range(const Count& start, const Count& end) {
    constexpr std::int64_t kFar = std::int64_t(1) << 61;
    if (!start.known()) return false;
    if (!end.known()) return -kFar <= *start.known() && *start.known() <= 0 && not_negative(end);
    const __int128 span = __int128(*end.known()) - *start.known();
    return 0 <= span && span <= INT64_MAX;
}

/// Conditions of what depth see to it that an iterator stays inside of its vector.
Conditions::Depth Facts::bounds_hold_under(const Expr* e) {
    const Iter iter{{e}};
    if (!iter.shape().bounded) return 0;
    if (iter.shape().nd || !is_int(iter.stride(), 1)) return Conditions::kNever;
    const std::optional<Count> start = count(iter.start()), end = count(iter.end());
    if (!start || !end) return Conditions::kNever;
    if (iter.shape().range) return is_range(*start, *end) ? 0 : Conditions::kNever;
    const std::optional<Count> n = length(iter.data());
    if (!n) return Conditions::kNever;
    if (start->known() == 0 && *n == *end) return 0;
    const Place place = place_of(e);
    return conditions_.first_depth(place, true, [&](Depth least) {
        return Bounds(*this, conditions_, place, least).lie_inside(*start, *end, *n);
    });
}

/// The loop over 0, 1, ... that `i` runs through: `i` is its index, or the element of a range from 0.
static const Expr* counting_loop(const Facts& facts, const Expr* i) {
    const Expr* loop = is_path(i) ? facts.loop_of(base_of(i)) : nullptr;
    if (!loop) return nullptr;
    const For view{{loop}};
    if (is_var(i, view.index_param())) return loop;
    std::size_t datum = 0;
    if (i->op == Op::GetField && i->arg(0)->op == Op::Var && view.data().size() > 1) datum = i->attr.index;
    else if (i->op != Op::Var || view.data().size() > 1) return nullptr;
    if (base_of(i) != view.elem_param()) return nullptr;
    const Iter range = view.data()[datum]->as<Iter>();
    if (!range || !range.shape().range || range.shape().kind != IterKind::Scalar) return nullptr;
    return is_int(range.start(), 0) && is_int(range.stride(), 1) ? loop : nullptr;
}

/// Conditions of what depth see to it that a look-up lies inside.
Conditions::Depth Facts::index_holds_under(const Expr* e) {
    const Lookup at{{e}};
    if (!at.of()->type->is_vec()) return Conditions::kNever;
    const std::optional<Count> n = length(at.of());
    if (!n) return Conditions::kNever;
    const Expr* key = resolve(at.key());
    if (Literal l = key->as<Literal>(); l && n->known())
        return 0 <= l.as_int() && l.as_int() < *n->known() ? 0 : Conditions::kNever;
    const Place place = place_of(e);
    const Expr* loop = counting_loop(*this, key);
    if (const std::optional<Count> times = loop ? iterations(loop) : std::nullopt) {
        const Place there = std::max(place, place_of(For{{loop}}.index_param()));
        if (const Depth same = conditions_.equal(*times, *n, there); same != Conditions::kNever) return same;
    }
    const std::optional<Count> k = count(at.key());
    if (!k) return Conditions::kNever;
    const Depth above = counts_up(*k) ? 0 : conditions_.not_negative(*k, place);
    const Depth holds = Conditions::outer(above, conditions_.less(*k, *n, place));
    if (holds != Conditions::kNever) return holds;
    return conditions_.first_depth(place, true, [&](Depth least) {
        return Bounds(*this, conditions_, place, least).lie_inside(*k, *k + Count(1), *n);
    });
}

/// A sum of lengths and of counters, which begin at 0.
bool Facts::counts_up(const Count& n) {
    return std::ranges::all_of(n.sum(), [&](const Count::Product& p) {
        if (p.of.empty()) return p.factor >= 0 && p.factor <= INT32_MAX;
        return p.factor >= 0 && p.factor < 1 << 10 && p.of.size() == 1 &&
               (p.of[0]->op == Op::Len || counting_loop(*this, p.of[0]));
    });
}

bool Facts::walks_inside(const Expr* vec, const Expr* from, const Expr* e, std::vector<SmallName>* small) {
    const For loop{{e}};
    const std::optional<Count> start = count(from), rounds = iterations(e), n = length(vec);
    if (!start || !rounds || !n) return false;
    const Place place = place_of(loop.index_param());
    const std::vector<SmallName> before = small ? *small : std::vector<SmallName>();
    return conditions_.first_depth(place, true, [&](Depth least) {
        if (small) *small = before;
        Bounds bounds(*this, conditions_, place, least);
        if (small) bounds.assume_small(small);
        bounds.begin(loop);
        return bounds.lie_inside(*start, *start + *rounds, *n);
    }) != Conditions::kNever;
}

// ---- comparisons

std::optional<bool> Facts::decided(const Expr* e) {
    if (!is_comparison(e->op) || e->arg(0)->type != m_.types.i64()) return {};
    const std::optional<Count> a = count(e->arg(0)), b = count(e->arg(1));
    if (!a || !b) return {};
    const Place place = place_of(e);
    const auto less = [&](const Count& x, const Count& y, bool or_equal) {
        return Bounds(*this, conditions_, place, 1).is_less(x, y, or_equal);
    };
    const auto one_of = [](bool yes, bool no) { return yes || no ? std::optional(yes) : std::nullopt; };
    switch (e->op) {
        case Op::Lt: return one_of(less(*a, *b, false), less(*b, *a, true));
        case Op::Le: return one_of(less(*a, *b, true), less(*b, *a, false));
        case Op::Gt: return one_of(less(*b, *a, false), less(*a, *b, true));
        case Op::Ge: return one_of(less(*b, *a, true), less(*a, *b, false));
        default: break;
    }
    const bool same = conditions_.equal(*a, *b, place) != Conditions::kNever;
    const bool differ = !same && (less(*a, *b, false) || less(*b, *a, false));
    return e->op == Op::Eq ? one_of(same, differ) : one_of(differ, same);
}

}  // namespace weld
