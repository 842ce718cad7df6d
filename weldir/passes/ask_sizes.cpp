// Nests of loops that walk along a matrix ask before they begin whether its rows and columns are so few that
// their product does not wrap. If so, an assert that there are as many elements as that says that all lookups
// lie inside.
//
//     let ok = assert(len(m) == r * c);
//     for(rangeiter(0L, r, 1L), B, |b, o, i|
//       for(rangeiter(0L, c, 1L), b, |d, n, j| merge(d, lookup(m, i * c + j))))
// becomes
//     let ok = assert(len(m) == r * c);
//     if(r <= 2147483648L & c <= 2147483648L,
//       for(rangeiter(0L, r, 1L), ... as before),
//       @(vectorize:false) for(... as before))
//
// so that lookups-to-iters need not make two loops of the inner one, which ask in each round. Other matrices
// fail where the program said, or are so large that it is all one.
//
// Done for a loop in no other one, if with this nothing is left to ask for in the loops inside. Not done for
// large nests, which are there twice.
#include <unordered_set>

#include "weldir/ir/walk.h"
#include "weldir/passes/matrix_loops.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/subrange.h"
#include "weldir/passes/walks.h"

namespace weld {

namespace {

class Asker {
  public:
    Asker(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) { find_outermost(lambda, false); }

    const Expr* guarded(const Expr* e) {
        const For loop = e->as<For>();
        if (!loop || !outermost_.contains(e)) return nullptr;
        if (loop.builder()->op != Op::NewBuilder && loop.builder()->op != Op::Var) return nullptr;
        if (facts_.traits(e).size > matrix_loops::kMostNodes || holds_table(e->type)) return nullptr;
        std::vector<SmallName> small;
        if (!find_small(loop.body().body(), small) || small.empty()) return nullptr;
        const Expr* holds = nullptr;
        for (const SmallName& s : small) {
            if (is_bound_in(s.name, e)) return nullptr;
            if (s.may_be_negative) demand(holds, Op::Ge, s.name, 0);
            if (s.most) demand(holds, Op::Le, s.name, *s.most);
        }
        const Expr* slow = rewrite_binding(m_, fresh(m_, e), [&](const Expr* inner) {
            return inner->op == Op::For ? annotate(m_, inner, AttrKey::Vectorize, "false") : nullptr;
        });
        return if_(m_, holds, e, slow, e->loc);
    }

  private:
    void find_outermost(const Expr* e, bool in_loop) {
        if (!e->binds) return;
        if (e->op == Op::For && !in_loop) outermost_.insert(e);
        for (const Expr* a : e->args()) find_outermost(a, in_loop || e->op == Op::For);
    }

    /// What has to be small for all walks of the loops in `e` to lie inside; false if that is not all.
    bool find_small(const Expr* e, std::vector<SmallName>& small) {
        if (!e->binds) return true;
        if (const For loop = e->as<For>()) {
            const WalkFinder finder(m_, facts_, loop, false);
            for (const Walk& w : finder.walks())
                if (!w.is_inside && !facts_.walks_inside(w.vec, w.start(m_), loop.node, &small)) return false;
        }
        return std::ranges::all_of(e->args(), [&](const Expr* a) { return find_small(a, small); });
    }

    static bool is_bound_in(const Expr* name, const Expr* loop) {
        const Symbol* base = base_of(name->op == Op::Len ? name->arg(0) : name);
        bool found = false;
        visit_binding(loop, [&](const Expr* e) { found |= std::ranges::count(e->symbols(), base) > 0; });
        return found;
    }

    void demand(const Expr*& holds, Op op, const Expr* name, std::int64_t number) {
        const Expr* one = scalar_op(m_, op, {name, int_literal(m_, m_.types.i64(), number)});
        holds = holds ? scalar_op(m_, Op::BitAnd, {holds, one}) : one;
    }

    Module& m_;
    Facts facts_;
    std::unordered_set<const Expr*> outermost_;
};

}  // namespace

const Expr* ask_sizes(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    Asker asker(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) { return asker.guarded(e); });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
