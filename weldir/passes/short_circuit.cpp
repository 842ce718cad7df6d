// `&&` and `||`: cheap sides first, and where the right one costs no more than a branch, `&` and `|`.
//
//     x > 0 && y < 10 && lookup(v, i) == 3
// becomes
//     x > 0 & y < 10 && lookup(v, i) == 3
//
// A costly left side and a cheap right one change places first, if neither can fail:
//
//     exp(x) > 3.0 && y < 10
// becomes
//     y < 10 && exp(x) > 3.0
//
// Both sides are evaluated then, so the right one must be a few cheap operations that cannot fail; lookups,
// loops and math functions stay behind the branch. Fewer branches, and fewer blocks for code generation.
#include "weldir/ir/walk.h"
#include "weldir/passes/cheap.h"
#include "weldir/passes/normal_form.h"

namespace weld {

constexpr std::uint32_t kMostNodes = 8;

const Expr* short_circuit(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    const Expr* now = rewrite(m, lambda, [&](const Expr* e) -> const Expr* {
        if (e->op != Op::And && e->op != Op::Or) return nullptr;
        if (is_cheap(facts, e->arg(1)) && facts.traits(e->arg(0)).free_to_repeat() &&
            !is_cheap(facts, e->arg(0)))
            return scalar_op(m, e->op, {e->arg(1), e->arg(0)}, e->loc);
        if (!is_cheap(facts, e->arg(1)) || facts.traits(e->arg(1)).size > kMostNodes) return nullptr;
        return scalar_op(m, e->op == Op::And ? Op::BitAnd : Op::BitOr, e->args(), e->loc);
    });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
