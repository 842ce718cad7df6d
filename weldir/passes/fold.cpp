// Operations on constants become constants.
//
//     x * (2.0 * 3.0) + f64(1)
// becomes
//     x * 6.0 + 1.0
//
// with the functions of scalar.h, which emitted code agrees with in every bit. Left alone: math functions
// (their bits are those of the runtime's routines), divisions by zero (they fail when they are run, if they
// are), simd values.
#include "weldir/ir/scalar.h"
#include "weldir/ir/walk.h"

namespace weld {

static const Expr* fold_operation(Module& m, const Expr* e) {
    const Literal a = e->arg(0)->as<Literal>(), b = e->arg(e->num_args - 1)->as<Literal>();
    std::uint64_t bits = 0;
    if (!a || !b || !eval_scalar(e->op, a.node->type->scalar, a.bits(), b.bits(), &bits)) return nullptr;
    return literal(m, e->type, bits, e->loc);
}

static const Expr* fold_cast(Module& m, const Expr* e) {
    const Literal of = e->as<Cast>().of()->as<Literal>();
    if (!of) return nullptr;
    return literal(m, e->type, eval_cast(of.node->type->scalar, e->type->scalar, of.bits()), e->loc);
}

const Expr* fold(Module& m, const Expr* lambda) {
    return rewrite(m, lambda, [&](const Expr* e) -> const Expr* {
        if (is_scalar_op(e->op)) return fold_operation(m, e);
        return e->op == Op::Cast ? fold_cast(m, e) : nullptr;
    });
}

}  // namespace weld
