// Operations on constants become constants.
//
//     let a = 2.0 * 3.0;
//     x * a + f64(1)
// becomes
//     let a = 6.0;
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

namespace {

class Folder {
  public:
    explicit Folder(Module& m) : m_(m) {}

    const Expr* folded(const Expr* e) {
        if (Block inner = e->as<Block>()) return folded_block(inner);
        if (e->op == Op::Var) {
            const Expr* const* value = constants_.find(e->attr.symbol);
            return value ? *value : e;
        }
        e = map_args(m_, e, [&](const Expr* a, std::size_t) { return folded(a); });
        const Expr* constant = is_scalar_op(e->op) ? fold_operation(m_, e)
                               : e->op == Op::Cast ? fold_cast(m_, e)
                                                   : nullptr;
        return constant ? constant : e;
    }

  private:
    const Expr* folded_block(Block inner) {
        return map_args(m_, inner.node, [&](const Expr* a, std::size_t i) {
            const Expr* value = folded(a);
            if (i < inner.size() && value->op == Op::Literal) constants_[inner.symbol(i)] = value;
            return value;
        });
    }

    Module& m_;
    Table<Symbol, const Expr*> constants_;  // names of literals
};

}  // namespace

const Expr* fold(Module& m, const Expr* lambda) { return Folder(m).folded(lambda); }

}  // namespace weld
