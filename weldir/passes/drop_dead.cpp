// Values that nobody reads and that cannot fail go.
//
//     let a = exp(x);        # a is not read: goes
//     let b = 1 / n;         # not read either, but fails for n = 0: stays
//     x + 1.0
//
// One walk from the end to the beginning: what only dead values read is dead as well. A builder is dead
// together with the `result` that ends it. Calls of kernels that are not pure stay.
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

class Dropper {
  public:
    Dropper(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {
        visit(lambda, [&](const Expr* e) {
            if (Var v = e->as<Var>()) ++reads_[v.symbol()];
        });
    }

    const Expr* rewrite(const Expr* e) {
        if (!e->binds) return e;
        if (Block inner = e->as<Block>()) return rewrite_block(inner);
        return map_args(m_, e, [&](const Expr* a, std::size_t) { return rewrite(a); });
    }

  private:
    const Expr* rewrite_block(Block inner) {
        const Expr* result = rewrite(inner.result());
        bool changed = result != inner.result();
        Lets lets;  // last first
        for (std::size_t i = inner.size(); i-- > 0;) {
            const Expr* value = inner.value(i);
            if (reads_[inner.symbol(i)] == 0 && can_go(value)) {
                forget(value);
                changed = true;
                continue;
            }
            const Expr* kept = rewrite(value);
            changed |= kept != value;
            lets.emplace_back(inner.symbol(i), kept);
        }
        if (!changed) return inner.node;
        std::reverse(lets.begin(), lets.end());
        return block(m_, lets, result, inner.node->loc);
    }

    bool can_go(const Expr* value) {
        const Traits& t = facts_.traits(value);
        if (t.fails_here || t.calls || t.ordered) return false;
        if (!t.builds && !value->type->holds_builder) return true;
        // The builders that it takes over must be able to go with it.
        for (const Symbol* s : free_symbols(value)) {
            if (!s->type->holds_builder) continue;
            const Expr* made = reads_[s] == 1 ? facts_.definition(s) : nullptr;
            if (!made || !can_go(made)) return false;
        }
        return true;
    }

    void forget(const Expr* value) {
        visit(value, [&](const Expr* e) {
            if (Var v = e->as<Var>()) --reads_[v.symbol()];
        });
    }

    Module& m_;
    Facts facts_;
    Table<Symbol, int> reads_;
};

}  // namespace

const Expr* drop_dead(Module& m, const Expr* lambda) { return Dropper(m, lambda).rewrite(lambda); }

}  // namespace weld
