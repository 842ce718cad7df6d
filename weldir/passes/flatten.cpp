// The normal form: scalars nest; loops and collections are let-bound in flat blocks.
//
//     merge(b, result(for(row, merger[f64,+], f)) + (let k = x * 2.0; k * k))
// becomes
//     let s = result(for(row, merger[f64,+], f));
//     let k = x * 2.0;
//     merge(b, s + k * k)
//
// Blocks are left only where evaluation is not certain or repeated: on the sides of an `if`, on the right of
// `&& ||`, in the bodies of functions. So a definition always stands in the block of its readers or around
// it, and the passes after this one look for loops in blocks only.
//
// What is lifted out was evaluated anyway, in the same order among things that stand alone. Scalars that stay
// behind are evaluated later than before, which can be told only by which of several failures comes first,
// and that is free.
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

class Flattener {
  public:
    Flattener(Module& m, const Expr* root) : m_(m), facts_(m, root) {}

    /// `e` in a place of its own: what is lifted stays there.
    const Expr* body(const Expr* e) {
        Lets lets;
        const Expr* result = top(e, lets);
        return is_same(e, lets, result) ? e : block(m_, lets, result, e->loc);
    }

  private:
    /// `e` with its parts flat; may stand alone.
    const Expr* top(const Expr* e, Lets& lets) {
        if (Block inner = e->as<Block>()) {
            for (std::size_t i = 0; i < inner.size(); ++i) {
                const Expr* value = top(inner.value(i), lets);
                lets.emplace_back(inner.symbol(i), value);
            }
            return top(inner.result(), lets);
        }
        return map_args(m_, e, [&](const Expr* a, std::size_t i) {
            if (is_lazy_arg(e, i)) return body(a);
            if (e->op == Op::MakeVec && is_constant(a)) return a;
            return e->op == Op::Result ? top(a, lets) : nested(a, lets);
        });
    }

    /// The same as an argument.
    const Expr* nested(const Expr* e, Lets& lets) {
        if (is_atom(e)) return e;
        const Expr* flat = top(e, lets);
        if (!stands_alone(facts_, flat)) return flat;
        const Symbol* name = m_.symbol("t", flat->type);
        lets.emplace_back(name, flat);
        return var(m_, name, e->loc);
    }

    static bool is_same(const Expr* e, const Lets& lets, const Expr* result) {
        Block block = e->as<Block>();
        if (!block) return lets.empty() && result == e;
        if (block.size() != lets.size() || block.result() != result) return false;
        for (std::size_t i = 0; i < lets.size(); ++i)
            if (lets[i].first != block.symbol(i) || lets[i].second != block.value(i)) return false;
        return true;
    }

    Module& m_;
    Facts facts_;
};

}  // namespace

const Expr* flatten(Module& m, const Expr* lambda) {
    const Expr* body = Flattener(m, lambda).body(lambda->arg(0));
    return with_args(m, lambda, {&body, 1});
}

}  // namespace weld
