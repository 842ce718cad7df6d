// Loops learn how often each round merges into what keeps what is merged, appenders and groupmergers.
//
//     for(xs, {appender[f64], merger[f64,+], appender[f64]}, |b, i, x|
//       {merge(merge(b.$0, x), -x), merge(b.$1, x), if(x > 0.0, merge(b.$2, x), b.$2)})
// becomes
//     @(appends:2, appends:-1) for(…)
//
// Rounds of an `iterate` learn how often they do at most: `@(most:1)`, and whether they count up to something:
// `@(most:1, counts:2)`, in field 2 of their state, so that none of a block asks whether there is another one, and `exact:true` if each of them
// appends as many, so that room is made for all; `pairs:true` says that two of them go between branches. Room is made
// before the loop then, no merge looks whether there is any, and chunks write to their places.
// -1 stands for numbers that vary; those that are known only when the loop begins, `sizes` writes down. After
// vectorize, since a merge of lanes counts as many.
#include <optional>
#include <string>
#include <vector>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

static const Expr* counted(Module& m, const Expr* e, AttrKey key, const std::vector<std::int64_t>& counts,
                           std::int64_t least) {
    const bool any = std::ranges::any_of(counts, [=](std::int64_t n) { return n >= least; });
    return any ? annotate(m, e, key, counts) : nullptr;
}

/// Two rounds are worth a branch less: what they do themselves takes no longer than a few of these.
static bool is_small(Iterate it) {
    constexpr int most_nodes = 40;
    int nodes = 0;
    bool plain = true;
    visit(it.body().node, [&](const Expr* e) {
        ++nodes;
        plain &= e->op != Op::For && e->op != Op::Iterate && e->op != Op::Call && e->op != Op::Kernel;
    });
    return plain && nodes <= most_nodes;
}

static const Expr* with_count(Module& m, Iterate it, const Expr* counted) {
    const std::optional<Counting> counting = counted ? counting_of(it) : std::nullopt;
    if (!counting) return counted;
    counted = annotate(m, counted, AttrKey::Counts, std::to_string(counting->field));
    if (is_small(it)) counted = annotate(m, counted, AttrKey::Pairs, "true");
    const bool is_exact = appends_per_round(it) == most_appends_per_round(it);
    return is_exact ? annotate(m, counted, AttrKey::Exact, "true") : counted;
}

const Expr* count_appends(Module& m, const Expr* lambda) {
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        if (const For loop = e->as<For>(); loop && !e->annotation(AttrKey::Appends))
            return counted(m, e, AttrKey::Appends, appends_per_iteration(loop), 0);
        if (const Iterate it = e->as<Iterate>(); it && !it.lanes() && !e->annotation(AttrKey::Most))
            return with_count(m, it, counted(m, e, AttrKey::Most, most_appends_per_round(it), 1));
        return nullptr;
    });
}

}  // namespace weld
