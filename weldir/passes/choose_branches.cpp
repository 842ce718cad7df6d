// What is computed though it may not be needed, because a branch would cost more; and where a branch pays.
//
//     if(x > 0.0, merge(b, x * 2.0), b)                      # appends
//     for(xs, vecmerger[i64,+](v), |b, i, x| if(x > 0L, merge(b, {x, 1L}), b))
//     merge(b, exp(x), x > 0.0)                              # lanes, under a mask
//     x > 0.0 & exp(x) < y                                   # of lanes
// becomes
//     @(always:true) if(x > 0.0, merge(b, x * 2.0), b)
//     for(xs, vecmerger[i64,+](v), |b, i, x| @(always:true, often:12) if(x > 0L, merge(b, {x, 1L}), b))
//     @(branch:true, often:12) merge(b, exp(x), x > 0.0)
//     @(branch:true, often:12) (x > 0.0 & exp(x) < y)
//
//
//     iterate({0L, 0.0}, |s| {{s.$0 + 1L, max(s.$1, lookup(v, s.$0))}, s.$0 < n})
// becomes
//     iterate({0L, 0.0}, |s| {{s.$0 + 1L, @(branch:true) max(s.$1, lookup(v, s.$0))}, s.$0 < n})
//
// `always`: a few operations on scalars take less time than a mispredicted branch; the value is written
// behind the others, and counts if the condition holds. `branch`: lanes that are not needed cost nothing more
// where another lane is needed, but where none is, something costly can be left out. `often`: not where that
// cannot be guessed, in so many of the last 64 rounds or more; and what is added to elements of a vector is added in any case, to
// spare elements otherwise, only where the condition is another than in the round before in so many of 64. Of the least and the
// largest float, rounds that wait for that of the round before ask whether one is NaN or -0.0, since one
// comparison tells of all others. After vectorize.
#include "weldir/ir/builder.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/cheap.h"
#include "weldir/passes/cost.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::int64_t kWorthABranch = 4'000;  // picoseconds
constexpr std::int64_t kWrongGuess = 12'000;   // of a branch behind which lanes wait: much is thrown away
constexpr std::int64_t kRoundsCounted = 64;
constexpr std::string_view kChanges =
    "12";  // of a condition, in 64 rounds: guesses cost more than all additions
constexpr std::uint32_t kMostNodes = 16;  // of what is written in any case
constexpr std::int64_t kMostBytes = 64;

bool is_small(Facts& facts, Merge one) {
    return size_of(one.value()->type) <= kMostBytes && is_cheap(facts, one.value()) &&
           facts.traits(one.value()).size <= kMostNodes;
}

bool merges_always(Facts& facts, If choice) {
    if (choice.node->says(AttrKey::Predicate, false)) return false;
    const Merge one = conditional_merge(choice);
    return one && info(one.node->type).keeps_merges && is_small(facts, one);
}

/// The `if` that is all that a round of `loop` does, and adds to an element of a vector; null if it is not.
const Expr* addition(Facts& facts, For loop) {
    const std::optional<Filter> filter = filter_of(loop);
    if (!filter || !is_known_early(*filter) || !goes_one_by_one(loop)) return nullptr;
    const Expr* body = loop.body().body();
    const If choice = (filter->lets ? filter->lets.result() : body)->as<If>();
    const Merge one = conditional_merge(choice);
    const bool fits = one && info(one.node->type).indexed && is_small(facts, one) &&
                      !choice.node->says(AttrKey::Predicate, false) &&
                      !choice.node->annotation(AttrKey::Always);
    return fits ? choice.node : nullptr;
}

bool is_worth_a_branch(const Expr* e) { return picoseconds(e) >= kWorthABranch && is_movable(e); }

/// A branch before `value`, lanes. Where they are needed in some rounds and not in others, computing them in all takes less
/// than what wrong guesses cost, unless they are that costly themselves.
const Expr* with_branch(Module& m, const Expr* e, const Expr* value) {
    const Expr* now = annotate(m, e, AttrKey::Branch, "true");
    const std::int64_t cost = picoseconds(value);
    if (cost >= kWrongGuess) return now;
    const std::int64_t often = (kRoundsCounted * cost + cost + kWrongGuess - 1) / (cost + kWrongGuess);
    return annotate(m, now, AttrKey::Often, std::to_string(often));
}

bool asks_first(const Expr* e) {
    switch (e->op) {
        case Op::Merge: return e->num_args > 2 && !e->type->holds_simd && is_worth_a_branch(e->arg(1));
        case Op::BitAnd:
        case Op::BitOr:
            return e->type->is_simd() && e->type->scalar == Scalar::Bool && is_worth_a_branch(e->arg(1));
        default: return false;
    }
}

/// `e`, in a round of an `iterate` and of no loop in it.
const Expr* with_numbers_first(Module& m, const Expr* e) {
    if (e->op == Op::For || e->op == Op::Iterate || e->op == Op::Lambda) return e;
    const Expr* now = map_args(m, e, [&](const Expr* a, std::size_t) { return with_numbers_first(m, a); });
    const bool waits = (e->op == Op::Min || e->op == Op::Max) && e->type->is_scalar() &&
                       is_float(e->type->scalar) && e->arg(0)->op != Op::Literal &&
                       e->arg(1)->op != Op::Literal;
    return waits && !e->annotation(AttrKey::Branch) ? annotate(m, now, AttrKey::Branch, "true") : now;
}

const Expr* with_numbers_first(Module& m, Iterate it) {
    const Expr* body = it.body().body();
    const Expr* now = with_numbers_first(m, body);
    return now == body ? nullptr : with_body(m, it.node, now);
}

}  // namespace

const Expr* choose_branches(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    return rewrite(m, lambda, [&](const Expr* e) -> const Expr* {
        if (const If choice = e->as<If>();
            choice && !e->annotation(AttrKey::Always) && merges_always(facts, choice))
            return annotate(m, e, AttrKey::Always, "true");
        if (const Expr* adds = e->op == Op::For ? addition(facts, e->as<For>()) : nullptr) {
            const Expr* always =
                annotate(m, annotate(m, adds, AttrKey::Always, "true"), AttrKey::Often, kChanges);
            return with_body(m, e, rewrite(m, e->as<For>().body().body(), [&](const Expr* part) {
                                 return part == adds ? always : nullptr;
                             }));
        }
        if (const Iterate it = e->as<Iterate>(); it && !it.lanes()) return with_numbers_first(m, it);
        if (!e->annotation(AttrKey::Branch) && asks_first(e)) return with_branch(m, e, e->arg(1));
        return nullptr;
    });
}

}  // namespace weld
