// Loops learn how often each round merges into what keeps what is merged, appenders and groupmergers.
//
//     for(xs, {appender[f64], merger[f64,+], appender[f64]}, |b, i, x|
//       {merge(merge(b.$0, x), -x), merge(b.$1, x), if(x > 0.0, merge(b.$2, x), b.$2)})
// becomes
//     @(appends:2, appends:-1) for(…)
//
// Room is made before the loop then, no merge looks whether there is any, and chunks write to their places.
// -1 stands for numbers that vary; those that are known only when the loop begins, `sizes` writes down. After
// vectorize, since a merge of lanes counts as many.
#include <vector>

#include "weldir/ir/builder.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

const Expr* count_appends(Module& m, const Expr* lambda) {
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const For loop = e->as<For>();
        if (!loop || e->annotation(AttrKey::Appends)) return nullptr;
        const std::vector<std::int64_t> counts = appends_per_iteration(loop);
        const bool any = std::ranges::any_of(counts, [](std::int64_t n) { return n >= 0; });
        return any ? annotate(m, e, AttrKey::Appends, counts) : nullptr;
    });
}

}  // namespace weld
