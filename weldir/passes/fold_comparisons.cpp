// Comparisons of counters and sizes that come out the same whenever they are asked become constants:
//
//     iterate({0L, v}, |s|
//       let i = s.$0 + 1L;
//       let checked = assert(i >= 0L && i < 4096L);
//       {{i, ...}, i < 4095L})
// becomes
//     iterate({0L, v}, |s|
//       let i = s.$0 + 1L;
//       let checked = assert(true && true);
//       {{i, ...}, i < 4095L})
//
// So the positions of a script's `X[i, ]` are not tested where its loop says what they are. What is known of
// them is in Facts: conditions around a place, the counters of loops and of `iterate`s, sizes.
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

const Expr* fold_comparisons(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    const Expr* now = rewrite(m, lambda, [&](const Expr* e) -> const Expr* {
        const std::optional<bool> holds = facts.decided(e);
        return holds ? bool_literal(m, *holds, e->loc) : nullptr;
    });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
