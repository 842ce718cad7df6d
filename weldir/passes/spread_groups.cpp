// Loops that merge into a dictmerger by integers spread its groups, where these turn out to be few and close together.
//
//     @(parallel:true) for(zip(ks, vs), dictmerger[i32,f64,+], |b, i, r| merge(b, r))
// becomes
//     @(parallel:true, spread:131072) for(zip(ks, vs), dictmerger[i32,f64,+], |b, i, r| merge(b, r))
//
// While rows are merged each group lies where the numbers in its key say, and nothing is looked up (codegen/builders/spread.h).
// Rows are merged in the same order as without: nobody can tell it from the result.
#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

constexpr std::int64_t kMostBytes = 1 << 17;  // so that they stay in a cache that is near

/// Worth it for many rows: the loop, or the one over lanes that it goes on for, may run in parallel.
static bool may_be_long(For f) {
    return f.node->annotation(AttrKey::Parallel) ||
           (f.builder()->op == Op::For && f.builder()->annotation(AttrKey::Parallel));
}

const Expr* spread_groups(Module& m, const Expr* lambda) {
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const For f = e->as<For>();
        if (!f || e->annotation(AttrKey::Spread) || !may_be_long(f) || !merges_at_places(f)) return nullptr;
        return annotate(m, e, AttrKey::Spread, std::to_string(kMostBytes));
    });
}

}  // namespace weld
