// What follows from the conditions around a node: each equation there says what one name is, and is put into
// the counts that are compared.
#include "weldir/ir/conditions.h"

#include <algorithm>
#include <ranges>

namespace weld {

static constexpr std::uint32_t kMostAround = 32;

Conditions::Place Conditions::add(Place around, Depth depth, Op op, const Count& a, const Count& b) {
    const std::uint32_t above = around ? at(around).above + 1 : 0;
    if (above == kMostAround) return around;
    all_.push_back({op, a, b, around, depth, above});
    return Place(all_.size());
}

Conditions::Place Conditions::common(Place a, Place b) const {
    while (a != b) (a > b ? a : b) = at(std::max(a, b)).around;
    return a;
}

/// With what equations say put in.
template <class Equations>
static Count with(const Equations& equations, Count n) {
    for (const auto& [name, is] : equations) {
        const auto has_name = [&](const Count::Product& p) { return std::ranges::count(p.of, name) > 0; };
        if (std::ranges::none_of(n.sum(), has_name)) continue;
        Count now;
        for (const Count::Product& p : n.sum()) {
            if (!has_name(p)) {
                now = now + Count(p);
                continue;
            }
            Count product = p.factor;
            for (const Expr* other : p.of) product = product * (other == name ? is : Count(other));
            now = now + product;
        }
        if (!now.is_small()) return n;
        n = now;
    }
    return n;
}

/// Equations say first of all what lengths are, and what is newer by way of what is older.
static bool is_better(const Expr* a, const Expr* b) {
    const auto symbol = [](const Expr* name) {
        while (name->op != Op::Var) name = name->arg(0);
        return name->attr.symbol->id;
    };
    if ((a->op == Op::Len) != (b->op == Op::Len)) return a->op == Op::Len;
    return symbol(a) > symbol(b);
}

const std::vector<Conditions::Equal>& Conditions::solved(Place place, Depth least) {
    const auto [known, is_new] = solved_.try_emplace({place, least});
    std::vector<Equal>& equal = known->second;
    if (!is_new) return equal;
    std::vector<const Condition*> chain;
    for (Place p = place; p; p = at(p).around)
        if (at(p).op == Op::Eq && (at(p).depth == 0 || at(p).depth >= least)) chain.push_back(&at(p));
    for (const Condition* c : std::views::reverse(chain)) {
        const Count zero = with(equal, c->a - c->b);
        const Expr* name = nullptr;
        std::int64_t factor = 0;
        for (const Count::Product& p : zero.sum()) {
            if (p.of.size() != 1 || (p.factor != 1 && p.factor != -1)) continue;
            const auto holds = std::ranges::count_if(
                zero.sum(), [&](const Count::Product& q) { return std::ranges::count(q.of, p.of[0]) > 0; });
            if (holds != 1 || (name && !is_better(p.of[0], name))) continue;
            name = p.of[0];
            factor = p.factor;
        }
        if (name) equal.push_back({name, Count(name) - Count(factor) * zero});
    }
    return equal;
}

Conditions::Depth Conditions::equal(const Count& a, const Count& b, Place place) {
    if (a == b) return 0;
    if (!place) return kNever;
    return first_depth(place, false,
                       [&](Depth least) { return with(solved(place, least), a - b).known() == 0; });
}

Conditions::Depth Conditions::less(const Count& a, const Count& b, Place place) {
    Depth best = kNever;
    for (Place p = place; p; p = at(p).around) {
        const Condition& c = at(p);
        if (c.op == Op::Eq || !(c.a == a)) continue;
        const Count bound = c.op == Op::Lt ? c.b : c.b + Count(1);
        const Depth same = equal(bound, b, place);
        if (same == kNever) continue;
        const Depth both = outer(c.depth, same);
        if (best == kNever || !both || (best && both > best)) best = both;
    }
    return best;
}

Conditions::Depth Conditions::not_negative(const Count& a, Place place) {
    Depth best = kNever;
    for (Place p = place; p; p = at(p).around) {
        const Condition& c = at(p);
        if (c.op == Op::Eq || !(c.b == a) || !c.a.known()) continue;
        if (*c.a.known() < (c.op == Op::Lt ? -1 : 0)) continue;
        if (best == kNever || !c.depth || (best && c.depth > best)) best = c.depth;
    }
    return best;
}

std::optional<std::int64_t> Conditions::bound(const Count& a, bool from_below, Place place,
                                              Depth least) const {
    std::optional<std::int64_t> best;
    for (Place p = place; p; p = at(p).around) {
        const Condition& c = at(p);
        if (c.op == Op::Eq || !((from_below ? c.b : c.a) == a) || (c.depth && c.depth < least)) continue;
        const std::optional<std::int64_t> n = (from_below ? c.a : c.b).known();
        const bool is_strict = c.op == Op::Lt;
        if (!n || (is_strict && *n == (from_below ? INT64_MAX : INT64_MIN))) continue;
        if (from_below) best = std::max(best.value_or(INT64_MIN), *n + is_strict);
        else best = std::min(best.value_or(INT64_MAX), *n - is_strict);
    }
    return best;
}

}  // namespace weld
