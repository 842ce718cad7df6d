// Nests of loops whose look-ups walk along a vector ask before they begin what it takes for all of these to
// lie inside: whether rows and columns are so few that their product does not wrap, and whether the last
// place that is looked up is there.
//
//     for(rangeiter(0L, n - w + 1L, 1L), B, |b, o, i|
//       merge(b, result(for(rangeiter(0L, w, 1L), merger[f64,+], |d, k, j| merge(d, lookup(x, i + j))))))
// becomes
//     if(n >= 0L & n <= len(x),
//       for(rangeiter(0L, n - w + 1L, 1L), ... as before),
//       @(vectorize:false) for(... as before))
// and
//     let ok = assert(len(m) == r * c);
//     for(rangeiter(0L, r, 1L), B, |b, o, i|
//       for(rangeiter(0L, c, 1L), b, |d, n, j| merge(d, lookup(m, i * c + j))))
// becomes
//     let ok = assert(len(m) == r * c);
//     if(r <= 2147483648L & c <= 2147483648L,
//       for(rangeiter(0L, r, 1L), ... as before),
//       @(vectorize:false) for(... as before))
//
// so that lookups-to-iters need not make two loops of the inner one, which ask in each round. Other nests
// fail where the program said, or are so large that it is all one. (Where the last place may be one
// that no round comes to, since inner loops begin or end elsewhere in each round, or an offset may be
// negative, the second nest stays as fast as it was.)
//
// Done for a loop in no other one, if with this nothing is left to ask for in the loops inside. What only
// some rounds look up may lie outside in others, and is not asked for. Not done for large nests, which are
// there twice.
#include <unordered_set>

#include "weldir/ir/bounds.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/lengths.h"
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
        inside_ = BoundNames(e);
        Needs needs;
        if (!find_needs(loop.body().body(), true, needs)) return nullptr;
        const Expr* holds = condition(needs);
        if (!holds) return nullptr;
        const Expr* slow = fresh(m_, e);
        if (needs.orders.empty() || fails_otherwise(loop, needs))
            slow = rewrite_binding(m_, slow, [&](const Expr* inner) {
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

    // ---- what has to hold

    /// For all walks of the loops in `e` to lie inside; false if that is not to be had. `certain`: every
    /// round of the loops around comes to it.
    bool find_needs(const Expr* e, bool certain, Needs& needs) {
        if (!e->binds) return true;
        if (const For loop = e->as<For>(); loop && !find_walks(loop, certain, needs)) return false;
        for (std::size_t i = 0; i < e->num_args; ++i)
            if (!find_needs(e->arg(i), certain && is_always(e, i), needs)) return false;
        return true;
    }

    bool find_walks(For loop, bool certain, Needs& needs) {
        WalkFinder finder(m_, facts_, loop, false);
        std::unordered_set<int> always;
        if (certain) find_always(loop.body().body(), finder, always);
        for (std::size_t i = 0; i < finder.walks().size(); ++i) {
            const Walk& w = finder.walks()[i];
            if (w.is_inside) continue;
            const Expr* start = w.start(m_);
            std::vector<SmallName> small = needs.small;
            if (facts_.walks_inside(w.vec, start, loop.node, &small)) needs.small = std::move(small);
            else if (!always.contains(int(i)) || !Bounds::walks_inside(facts_, w.vec, start, loop, needs))
                return false;
        }
        return true;
    }

    /// The walks of which each round looks something up.
    static void find_always(const Expr* e, WalkFinder& finder, std::unordered_set<int>& walks) {
        if (e->op == Op::Lookup) walks.insert(finder.walk_of(e));
        for (std::size_t i = 0; i < e->num_args; ++i)
            if (!is_lazy_arg(e, i)) find_always(e->arg(i), finder, walks);
    }

    static bool is_always(const Expr* e, std::size_t i) { return e->op == Op::Lambda || !is_lazy_arg(e, i); }

    /// The condition that all of it holds; null if nothing is needed, or it can't be asked before the nest.
    const Expr* condition(const Needs& needs) {
        const Expr* holds = nullptr;
        const auto demand = [&](Op op, const Expr* a, const Expr* b) {
            const Expr* one = scalar_op(m_, op, {a, b});
            holds = holds ? scalar_op(m_, Op::BitAnd, {holds, one}) : one;
        };
        const auto number = [&](std::int64_t n) { return i64_literal(m_, n); };
        for (const SmallName& s : needs.small) {
            if (inside_.are_read_by(s.name)) return nullptr;
            if (s.may_be_negative) demand(Op::Ge, s.name, number(0));
            if (s.most) demand(Op::Le, s.name, number(*s.most));
        }
        for (const Needs::Order& order : needs.orders) {
            if (inside_.are_read_by(order.less) || inside_.are_read_by(order.more)) return nullptr;
            const bool bounds_below = order.less.known().has_value();
            const Expr *less = written(m_, order.less), *more = written(m_, order.more);
            if (bounds_below) demand(Op::Ge, more, less);
            else demand(Op::Le, less, more);
        }
        return holds;
    }

    /// Without what is needed a look-up or a range fails, or numbers are very large: all loops go over the
    /// same in each round, so the last place is looked up, and what may not be negative is what ranges are
    /// made of.
    bool fails_otherwise(For nest, const Needs& needs) {
        bool same_always = true;
        std::unordered_set<const Expr*> in_ranges;
        visit_binding(nest.node, [&](const Expr* e) {
            const For loop = e->as<For>();
            for (const Expr* d : loop ? loop.data() : Args()) {
                same_always &= !inside_.are_read_by(d);
                if (const Iter it = d->as<Iter>(); it && it.shape().range)
                    for (const Expr* bound : {it.start(), it.end()}) add_names(bound, in_ranges);
            }
        });
        return same_always && std::ranges::all_of(needs.small, [&](const SmallName& s) {
                   return !s.may_be_negative || in_ranges.contains(s.name);
               });
    }

    void add_names(const Expr* number, std::unordered_set<const Expr*>& names) {
        if (const std::optional<Count> n = facts_.count(number))
            for (const Count::Product& p : n->sum()) names.insert(p.of.begin(), p.of.end());
    }

    Module& m_;
    Facts facts_;
    std::unordered_set<const Expr*> outermost_;
    BoundNames inside_;  // of the nest that is looked at
};

}  // namespace

const Expr* ask_sizes(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    Asker asker(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) { return asker.guarded(e); });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
