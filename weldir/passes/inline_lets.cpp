// A value that is read once moves to its reader.
//
//     let a = x * 2.0;
//     let l = for(ys, appender[f64], f);
//     let r = result(l);
//     {r, a + 1.0}
// becomes
//     let r = result(for(ys, appender[f64], f));
//     {r, x * 2.0 + 1.0}
//
// so that trees show what is computed, `result` meets its loop, and chains of merges are chains. Names of
// names and of constants are replaced everywhere.
//
// A value moves only within the straight line that it stands in: not into a function (it would be computed
// again each time), and into the side of an `if` or the right of `&&` only if nobody can tell that it was not
// computed. What may fail does not move past an effect. What stands alone in the normal form stays. Trees are
// kept to a moderate size, so that a long chain of `let`s stays long rather than deep. An unread value that
// nobody can miss goes; drop-dead knows more.
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::uint32_t kMostNodes = 200;
constexpr std::uint32_t kMostDepth = 50;

/// A stretch of code that is evaluated as a whole or not at all.
struct Scope {
    std::size_t loop;  ///< the scope of the innermost function around it
};

/// Where a symbol is bound and read.
struct Life {
    std::size_t bound_in = 0, bound_at = 0;  ///< scope, and effects before
    std::size_t read_in = 0, read_at = 0;
    int reads = 0;
};

class Inliner {
  public:
    Inliner(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {
        scopes_.push_back({0});
        look(lambda->arg(0), 0);
    }

    const Expr* rewrite(const Expr* e) {
        if (Var v = e->as<Var>()) {
            const Expr* const* value = values_.find(v.symbol());
            return value ? *value : e;
        }
        if (Block inner = e->as<Block>()) return rewrite_block(inner);
        return map_args(m_, e, [&](const Expr* a, std::size_t) { return rewrite(a); });
    }

  private:
    /// Notes the life of each symbol, in the order of evaluation.
    void look(const Expr* e, std::size_t scope) {
        if (Var v = e->as<Var>()) {
            Life& life = lives_[v.symbol()];
            ++life.reads;
            life.read_in = scope;
            life.read_at = effects_;
            return;
        }
        for (std::size_t i = 0; i < e->num_args; ++i) {
            look(e->arg(i), is_lazy_arg(e, i) ? new_scope(e, scope) : scope);
            if (e->op == Op::Block && i < e->num_symbols) {
                Life& life = lives_[e->attr.symbols[i]];
                life.bound_in = scope;
                life.bound_at = effects_;
            }
        }
        if ((e->op == Op::Kernel || e->op == Op::Call) && facts_.traits(e).ordered) ++effects_;
    }

    std::size_t new_scope(const Expr* e, std::size_t outer) {
        scopes_.push_back({e->op == Op::Lambda ? scopes_.size() : scopes_[outer].loop});
        return scopes_.size() - 1;
    }

    const Expr* rewrite_block(Block inner) {
        Lets lets;
        bool changed = false;
        for (std::size_t i = 0; i < inner.size(); ++i) {
            const Symbol* s = inner.symbol(i);
            const Expr* value = rewrite(inner.value(i));
            changed |= value != inner.value(i);
            if (goes(s, value)) {
                values_[s] = value;
                changed = true;
            } else {
                lets.emplace_back(s, value);
            }
        }
        const Expr* result = rewrite(inner.result());
        if (!changed && result == inner.result()) return inner.node;
        return block(m_, lets, result, inner.node->loc);
    }

    bool goes(const Symbol* s, const Expr* value) {
        if (is_atom(value)) return true;
        const Life& life = lives_[s];
        const Traits& t = facts_.traits(value);
        if (life.reads == 0) return t.free_to_repeat() && !s->type->holds_builder;
        if (life.reads > 1 || stands_alone(facts_, value)) return false;
        if (t.size > kMostNodes || t.depth > kMostDepth) return false;
        const bool moves_freely = !t.fails && !t.calls && !t.ordered;
        if (life.read_in == life.bound_in) return life.read_at == life.bound_at || moves_freely;
        return moves_freely && !t.builds && scopes_[life.read_in].loop == scopes_[life.bound_in].loop;
    }

    Module& m_;
    Facts facts_;
    std::vector<Scope> scopes_;
    Table<Symbol, Life> lives_;
    Table<Symbol, const Expr*> values_;
    std::size_t effects_ = 0;
};

}  // namespace

const Expr* inline_lets(Module& m, const Expr* lambda) {
    Inliner inliner(m, lambda);
    return inliner.rewrite(lambda);
}

}  // namespace weld
