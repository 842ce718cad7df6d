// A sort of which only the first elements are read is told how many.
//
//     let s = sort(v, by);
//     slice(s, 0L, n)
// becomes, if nobody else reads `s` and `n` is known before it,
//     let s = sort(v, by, n);
//     slice(s, 0L, n)
//
// so that the others need not be sorted.
#include "weldir/ir/build.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/pass.h"

namespace weld {

namespace {

class LimitFinder {
  public:
    explicit LimitFinder(const Expr* lambda) : uses_(lambda) { look(lambda); }

    /// How many of the first elements of `sorted` are read, or null.
    const Expr* limit(const Symbol* sorted) const {
        const Expr* const* found = limits_.find(sorted);
        return found ? *found : nullptr;
    }

  private:
    void look(const Expr* e) {
        if (e->op == Op::Lambda)
            for (const Symbol* s : e->as<Lambda>().params()) note(s);
        if (const Block block = e->as<Block>()) {
            for (std::size_t i = 0; i < block.size(); ++i) {
                look(block.value(i));
                note(block.symbol(i));
                if (block.value(i)->op == Op::Sort && !block.value(i)->as<Sort>().limit())
                    is_sort_[block.symbol(i)] = true;
            }
            return look(block.result());
        }
        for (const Expr* a : e->args()) look(a);
        if (const Slice s = e->as<Slice>()) consider(s);
    }

    void note(const Symbol* s) { place_[s] = next_++; }

    void consider(Slice s) {
        const Var of = s.of()->as<Var>();
        if (!of || !is_sort_.contains(of.symbol()) || uses_.count(of.symbol()) != 1) return;
        if (!is_int(s.start(), 0)) return;
        const Var size = s.size()->as<Var>();
        const bool known =
            s.size()->op == Op::Literal || (size && *place_.find(size.symbol()) < *place_.find(of.symbol()));
        if (known) limits_[of.symbol()] = s.size();
    }

    Uses uses_;
    Table<Symbol, std::size_t> place_;  // in the order of binding
    std::size_t next_ = 0;
    Table<Symbol, bool> is_sort_;
    Table<Symbol, const Expr*> limits_;
};

}  // namespace

const Expr* limit_sorts(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    const LimitFinder finder(lambda);
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const Block block = e->as<Block>();
        if (!block) return nullptr;
        return map_args(m, e, [&](const Expr* a, std::size_t i) {
            const Expr* limit = i < block.size() ? finder.limit(block.symbol(i)) : nullptr;
            const Sort s = limit ? a->as<Sort>() : Sort{};
            return s ? sort(m, s.of(), s.by().node, a->loc, limit) : a;
        });
    });
}

}  // namespace weld
