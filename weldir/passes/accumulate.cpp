// Loops merge into several copies of their builder by turns, so that merges do not wait for each other.
//
//     result(for(simditer[8](xs), merger[f64,+], |b, i, x| merge(b, x)))
// becomes
//     result(@(accumulators:4, apart:256) for(simditer[8](xs), merger[f64,+], |b, i, x| merge(b, x)))
//
// An addition of floats takes four cycles, and in that time four others can begin. The copies are combined in
// the end, in an order that the program alone decides. There are copies for
// - mergers in loops over lanes: vectors that collect lanes;
// - mergers of lanes: two, since the loops around them are short; none for short rows side by side;
// - vecmergers of scalars, two: each copy has a vector of its own (`privatise:8192`), if that turns out to be
//   small when the loop runs, and the loop to be long (`rounds:8`): a histogram of few values, in which the
//   same element comes again and again. Both together take half of a first-level cache of 32 KiB; four of
//   a thousand bins, all of it, took twice as long on Zen 4.
// `apart`: each copy takes a part of the elements of its own, since memory that is read at several places at
// once gives more; but not if there are few, since the processor fetches what follows only after a page or
// two, nor of too many vectors, nor where a round may fail: which one fails first must not depend on it.
//
// Large bodies have enough to do in between, and so have those that look up lanes one by one, which have two copies; code grows
// with each.
#include <algorithm>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::uint32_t kLargestBody = 40;  // nodes
constexpr std::ptrdiff_t kMostVectorsApart = 2;
constexpr std::string_view kRoundsApart = "256";  // of lanes
constexpr std::string_view kMostBytes = "8192";   // of a vector that is copied
constexpr std::string_view kLeastRounds = "8";    // for each of its elements

bool is_merger(const BuilderInfo& b) { return is_value(b); }
bool is_other(const BuilderInfo& b) { return !is_value(b); }
bool is_table(const BuilderInfo& b) { return b.probes; }

IterKind kind_of(For loop) {
    const Iter it = loop.data()[0]->as<Iter>();
    return it ? it.shape().kind : IterKind::Scalar;
}

/// Of scalars, which come one by one.
bool is_histogram(For loop) {
    const Type* t = loop.node->type;
    const Expr* body = loop.body().body();
    return kind_of(loop) == IterKind::Scalar && t->is_builder() && info(t).indexed &&
           has_operator(t->builder) && t->elem()->is_scalar() && !has_loop(body) && !may_allocate(body);
}

/// Lanes are looked up one by one, which takes longer than a merge waits.
bool gathers(const Expr* body) {
    bool any = false;
    visit(body, [&](const Expr* e) { any |= e->op == Op::LookupLanes && !e->annotation(AttrKey::Apart); });
    return any;
}

/// How many copies pay.
int copies(For loop, Facts& facts) {
    const Type* t = loop.node->type;
    const Expr* body = loop.body().body();
    if (facts.traits(body).size > kLargestBody) return 1;
    switch (kind_of(loop)) {
        case IterKind::Fringe: return 1;
        case IterKind::Simd:
            if (!any_builder(t, is_merger) || any_builder(t, is_table)) return 1;
            return gathers(body) ? 2 : 4;
        case IterKind::Scalar: break;
    }
    if (t->is_builder() && is_value(info(t)))
        return t->holds_simd && !most_in_short_rows(facts, loop.data()[0]) ? 2 : 1;
    return is_histogram(loop) ? 2 : 1;
}

bool reads_apart(For loop, Facts& facts) {
    const auto is_vector = [](const Expr* datum) {
        const Iter it = datum->as<Iter>();
        return !it || !it.shape().range;
    };
    return kind_of(loop) == IterKind::Simd && !any_builder(loop.node->type, is_other) &&
           std::ranges::count_if(loop.data(), is_vector) <= kMostVectorsApart &&
           !facts.traits(loop.body().body()).fails;
}

}  // namespace

const Expr* accumulate(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const For loop = e->as<For>();
        if (!loop || does_nothing(loop) || e->annotation(AttrKey::Accumulators)) return nullptr;
        const int n = copies(loop, facts);
        if (n == 1) return nullptr;
        const Expr* by_turns = annotate(m, e, AttrKey::Accumulators, std::to_string(n));
        if (is_histogram(loop))
            return annotate(m, annotate(m, by_turns, AttrKey::Privatise, kMostBytes), AttrKey::Rounds,
                            kLeastRounds);
        return reads_apart(loop, facts) ? annotate(m, by_turns, AttrKey::Apart, kRoundsApart) : by_turns;
    });
}

}  // namespace weld
