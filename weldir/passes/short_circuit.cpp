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
// Both sides are evaluated then, so the right one must be a few cheap operations that cannot fail, or
// divisions of floats, which take less than a mispredicted branch; lookups, loops and math functions stay
// behind the branch. Fewer branches, and fewer blocks for code generation.
#include <algorithm>

#include "weldir/ir/walk.h"
#include "weldir/passes/cheap.h"
#include "weldir/passes/normal_form.h"

namespace weld {

constexpr std::uint32_t kMostNodes = 8;

/// Takes no longer than a branch that is mispredicted now and then.
static bool is_quick(Facts& facts, const Expr* e) {
    if (is_cheap(facts, e)) return true;
    const bool divides = e->op == Op::Div && is_float(e->type->scalar);
    return facts.traits(e).free_to_repeat() && !facts.own_traits(e).heavy &&
           (divides || !facts.own_traits(e).costly) &&
           std::ranges::all_of(e->args(), [&](const Expr* a) { return is_quick(facts, a); });
}

const Expr* short_circuit(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    const Expr* now = rewrite(m, lambda, [&](const Expr* e) -> const Expr* {
        if (e->op != Op::And && e->op != Op::Or) return nullptr;
        const bool swaps = is_cheap(facts, e->arg(1)) && facts.traits(e->arg(0)).free_to_repeat() &&
                           !is_cheap(facts, e->arg(0));
        const Expr *left = e->arg(swaps), *right = e->arg(!swaps);
        if (facts.traits(right).size <= kMostNodes && is_quick(facts, right))
            return scalar_op(m, e->op == Op::And ? Op::BitAnd : Op::BitOr, {left, right}, e->loc);
        return swaps ? scalar_op(m, e->op, {left, right}, e->loc) : nullptr;
    });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
