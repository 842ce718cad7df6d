// Facts: what holds in every round of an `iterate`, because it holds in the first one, and what a round ends
// with sees to it that it does in the next.
//
//     if(n > 0L, iterate({0L, v, 0.0}, |s|
//       let i = s.$0 + 1L;
//       {{i, s.$1, s.$2 + lookup(s.$1, s.$0)}, i < n}), ...)
//
// s.$1 is v in all rounds. Another round follows only where i is less than n, so s.$0 is, which is 0 at first
// and then grows by one: 0 <= s.$0 < n.
#include <algorithm>
#include <iterator>

#include "weldir/ir/facts.h"
#include "weldir/ir/walk.h"

namespace weld {

using Path = Facts::Path;

Facts::RoundEnd Facts::end_of_round(Iterate it) const {
    const Expr* end = it.body().body();
    if (const Block block = end->as<Block>()) end = block.result();
    const MakeStruct both = resolve(end)->as<MakeStruct>();
    return both && !it.lanes() ? RoundEnd{both.fields()[0], both.fields()[1]} : RoundEnd{};
}

/// No round of an `iterate` changes the size at `path` of its state.
bool Facts::stays(const Expr* e, const Path& path, bool is_length) {
    const Iterate it{{e}};
    const auto [found, is_new] = staying_.try_emplace(e);
    if (const Expr* next = is_new ? end_of_round(it).next : nullptr) {
        const Symbol* state = it.body().param(0);
        std::vector<SizeName> staying;  // while that is asked, none does
        for (const SizeName& size : sizes_in(m_.arena, state->type)) {
            const Path of_size(size.path.begin(), size.path.end());
            const std::optional<Count> n = this->size(next, of_size, size.is_length);
            if (n && *n == named(path_to(state, of_size), size.is_length)) staying.push_back(size);
        }
        if (!staying.empty()) lengths_.clear(), counts_.clear();  // they name what now is known
        staying_[e] = std::move(staying);
    }
    return std::ranges::find(staying_[e], SizeName{.is_length = is_length, .path = path}) !=
           staying_[e].end();
}

// ---- conditions

void Facts::find_in_rounds(Iterate it, Place place, Depth depth) {
    find_conditions(it.init(), place, depth, false);
    const Place there = in_rounds(it, place, depth + 1);
    find_conditions(it.body().body(), there, depth + (there != place), false);
    if (it.one_lane()) find_conditions(it.one_lane().body(), place, depth, false);
}

/// The place in the rounds, with what holds of the counters in the state.
Conditions::Place Facts::in_rounds(Iterate it, Place place, Depth depth) {
    const auto [next, again] = end_of_round(it);
    if (!again) return place;
    const Symbol* state = it.body().param(0);
    const auto says_no_limit = [&](const Comparison& c) {
        return c.op == Op::Eq || !is_fixed_in(c.b, it.node);
    };
    std::vector<Comparison> goes_on, limits;
    list_comparisons(again, true, goes_on);
    std::ranges::remove_copy_if(goes_on, std::back_inserter(limits), says_no_limit);
    Place there = place;
    for (const SizeName& size : sizes_in(m_.arena, state->type)) {
        const Path path(size.path.begin(), size.path.end());
        const Expr* after = size.is_length ? nullptr : number_at(next, path);
        const std::optional<Count> first = after ? this->size(it.init(), path, false) : std::nullopt;
        const Count now = named(path_to(state, path), false);
        if (!first || stays(it.node, path, false)) continue;
        std::vector<Comparison> own;
        if (const If choice = resolve(after)->as<If>()) list_comparisons(choice.cond(), true, own);
        std::erase_if(own, says_no_limit);
        own.insert(own.end(), limits.begin(), limits.end());
        bool is_bounded = false;
        for (const Comparison& most : own) {
            if (is_less(*first, most.b, most.op == Op::Le, place) == Conditions::kNever) continue;
            if (!stays_below(after, now, most, place, goes_on)) continue;
            there = conditions_.add(there, depth, most.op, now, most.b);
            is_bounded |= most.op == Op::Lt;
        }
        const bool begins = first->known() ? *first->known() >= 0
                                           : conditions_.not_negative(*first, place) != Conditions::kNever;
        if (is_bounded && begins && never_falls(after, now))
            there = conditions_.add(there, depth, Op::Le, Count(), now);
    }
    return there;
}

/// The i64 at `path` of `e`; null if `e` does not say it.
const Expr* Facts::number_at(const Expr* e, const Path& path) const {
    for (std::size_t i : path) {
        e = resolve(e);
        const MakeStruct made = e->as<MakeStruct>();
        if (!made) return nullptr;
        e = made.fields()[i];
    }
    return e;
}

/// The conditions of what depth see to `a < b`, or `a <= b`.
Conditions::Depth Facts::is_less(const Count& a, const Count& b, bool or_equal, Place place) {
    const std::optional<std::int64_t> n = a.known();
    if (n && b.known()) return *n < *b.known() || (or_equal && *n == *b.known()) ? 0 : Conditions::kNever;
    if (const Depth holds = conditions_.less(a, b, place); holds != Conditions::kNever) return holds;
    if (!n) return Conditions::kNever;
    return conditions_.first_depth(place, true, [&](Depth least) {
        const std::optional<std::int64_t> from = conditions_.least(b, place, least);
        return from && (*n < *from || (or_equal && *n == *from));
    });
}

/// The next number is below `most.b`, if that of the round is, and what is known holds.
bool Facts::stays_below(const Expr* next, const Count& state, const Comparison& most, Place place,
                        const std::vector<Comparison>& known) {
    if (const std::optional<Count> n = count(next)) {
        if (*n == state || is_less(*n, most.b, most.op == Op::Le, place) != Conditions::kNever) return true;
        if (std::ranges::any_of(known, [&](const Comparison& c) {
                return c.a == *n && c.b == most.b && (c.op == Op::Lt || c.op == most.op);
            }))
            return true;
    }
    const If choice = resolve(next)->as<If>();
    if (!choice) return false;
    std::vector<Comparison> then = known, otherwise = known;
    list_comparisons(choice.cond(), true, then);
    list_comparisons(choice.cond(), false, otherwise);
    return stays_below(choice.then(), state, most, place, then) &&
           stays_below(choice.otherwise(), state, most, place, otherwise);
}

/// The next number is that of the round, or that and one, or a number that is not negative.
bool Facts::never_falls(const Expr* next, const Count& state) {
    if (const std::optional<Count> n = count(next)) {
        const Count grows = *n - state;
        if (grows == Count() || grows == Count(1) || n->known() >= 0) return true;
    }
    const If choice = resolve(next)->as<If>();
    return choice && never_falls(choice.then(), state) && never_falls(choice.otherwise(), state);
}

}  // namespace weld
