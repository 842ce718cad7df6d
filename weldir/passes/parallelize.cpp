// Loops that may run in parallel say so.
//
//     result(for(xs, merger[f64,+], f))
// becomes
//     result(@(parallel:true) for(xs, merger[f64,+], f))
//
// Every loop whose body has no effect and no call that keeps its order: the builders see to it that chunks
// combine to the same result. Inner loops are marked as well; which of them are cut into chunks is decided
// when they run, from their trip counts. `@(parallel:false)` stays. The few rounds of a fringe are left
// alone.
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

static bool is_fringe(For loop) {
    const Iter it = loop.data()[0]->as<Iter>();
    return it && it.shape().kind == IterKind::Fringe;
}

const Expr* parallelize(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const For loop = e->as<For>();
        if (!loop || is_fringe(loop) || does_nothing(loop) || e->annotation(AttrKey::Parallel))
            return nullptr;
        if (facts.traits(loop.body().node).ordered) return nullptr;
        return annotate(m, e, AttrKey::Parallel, "true");
    });
}

}  // namespace weld
