// What an `iterate` looks up at a place of its state that is either kept or replaced by the place of another look-up, the
// state has itself:
//
//     iterate({0L, 1L}, |s|
//       {{if(lookup(v, s.$1) > lookup(v, s.$0), s.$1, s.$0), s.$1 + 1L}, s.$1 + 1L < len(v)})
// becomes
//     let x = lookup(v, 1L);
//     let y = lookup(v, 0L);
//     let r = iterate({0L, 1L, y}, |s|
//       let x2 = lookup(v, s.$1);
//       let c = x2 > s.$2;
//       {{if(c, s.$1, s.$0), s.$1 + 1L, if(c, x2, s.$2)}, s.$1 + 1L < len(v)});
//     let t = {r.$0, r.$1};
//
// so that no round waits for memory at a place that the round before has chosen: the place of the largest element. Both
// look-ups are made in each round, before all else that may fail, so that they fail in the first one if at all, as they do
// before the loop.
#include <algorithm>
#include <functional>

#include "weldir/ir/build.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

class Carrier {
  public:
    Carrier(Module& m, Facts& facts, Iterate it) : m_(m), facts_(facts), it_(it) {}

    /// The state of the iterate as a value, by one that carries what it looks up; null if nothing is to be carried.
    const Expr* carried(Lets& lets) {
        if (it_.one_lane() || !it_.node->type->is_struct() || it_.init()->op != Op::MakeStruct)
            return nullptr;
        const Expr* body = it_.body().body();
        if (const Block b = body->as<Block>())
            for (std::size_t i = 0; i < b.size(); ++i) before_.emplace_back(b.symbol(i), b.value(i));
        end_ = body->op == Op::Block ? body->as<Block>().result() : body;
        if (!reads_fields_only(body)) return nullptr;
        if (end_->op != Op::MakeStruct || facts_.traits(body).ordered || facts_.traits(body).calls)
            return nullptr;
        for (std::size_t k = 0; k < it_.node->type->args.size(); ++k)
            if (find(k)) return carry(k, lets);
        return nullptr;
    }

  private:
    bool is_state(const Expr* e) const { return is_var(e, it_.body().param(0)); }
    bool reads_fields_only(const Expr* body) const {
        int all = 0, of_fields = 0;
        visit(body, [&](const Expr* e) {
            all += is_state(e);
            of_fields += e->op == Op::GetField && is_state(e->arg(0));
        });
        return all == of_fields;
    }
    bool is_field(const Expr* e, std::size_t k) const {
        return e->op == Op::GetField && e->attr.index == k && is_state(e->arg(0));
    }
    /// It follows from fields of the state alone: known at the beginning of a round, before any of its lets.
    bool is_of_state(const Expr* e) const {
        if (e->op == Op::GetField && is_state(e->arg(0))) return true;
        if (e->op == Op::Literal) return true;
        return is_scalar_op(e->op) && is_movable(e) &&
               std::ranges::all_of(e->args(), [&](const Expr* a) { return is_of_state(a); });
    }

    /// Whether field `k` is a place that a round keeps or replaces, both of which it has looked up.
    bool find(std::size_t k) {
        const Expr* next = end_->arg(0);
        const bool is_whole = next->op != Op::MakeStruct;  // a choice between states, not between places
        if (!is_whole) next = next->arg(k);
        if (next->op != Op::If && next->op != Op::Select) return false;
        const auto place = [&](std::size_t side) -> const Expr* {
            const Expr* e = next->arg(side);
            if (!is_whole) return e;
            return e->op == Op::MakeStruct ? e->arg(k) : nullptr;
        };
        const Expr *yes = place(1), *no = place(2);
        // States are chosen field by field, which evaluates the sides of a select by turns.
        const bool sides_fail = facts_.traits(next->arg(1)).fails || facts_.traits(next->arg(2)).fails;
        if (is_whole && next->op == Op::Select && sides_fail) return false;
        if (!yes || !no || yes->type != m_.types.i64() || is_field(yes, k) == is_field(no, k)) return false;
        choice_ = next;
        other_ = is_field(no, k) ? yes : no;
        replaces_if_ = is_field(no, k);
        return is_of_state(other_) && looks_up_first(k);
    }

    /// The first two that may fail in a round look up at the place and at the other one, in a vector from outside.
    bool looks_up_first(std::size_t k) {
        own_ = of_other_ = nullptr;
        const auto is_done = [&] { return own_ && of_other_; };
        // False: something else comes before them.
        const std::function<bool(const Expr*)> walk = [&](const Expr* e) {
            for (std::size_t i = 0; i < e->num_args && !is_done(); ++i) {
                if (is_lazy_arg(e, i) || e->arg(i)->type->holds_builder) {
                    if (facts_.traits(e->arg(i)).fails) return false;
                } else if (!walk(e->arg(i))) {
                    return false;
                }
            }
            if (is_done() || !facts_.own_traits(e).fails) return true;
            if (e->op != Op::Lookup || !is_vector_outside(e->arg(0)) || !e->type->is_scalar()) return false;
            const bool is_own = is_field(e->arg(1), k);
            const Expr*& found = is_own ? own_ : of_other_;
            if (found || (!is_own && !same(e->arg(1), other_))) return false;
            found = e;
            order_.push_back(e);
            return true;
        };
        order_.clear();
        const Expr* body = it_.body().body();
        return walk(body) && is_done() && same(own_->arg(0), of_other_->arg(0)) &&
               fails_no_other(choice_->arg(0));
    }

    /// The choice moves before all else that the round ends with.
    bool fails_no_other(const Expr* e) {
        const bool is_known = same(e, own_) || same(e, of_other_);
        return (is_known || !facts_.own_traits(e).fails) &&
               std::ranges::all_of(e->args(), [&](const Expr* a) { return fails_no_other(a); });
    }

    bool is_vector_outside(const Expr* e) const {
        if (!e->type->is_vec() || !is_path(e)) return false;
        while (e->op == Op::GetField) e = e->arg(0);
        const auto is_inside = [&](const auto& let) { return let.first == e->attr.symbol; };
        return !is_state(e) && std::ranges::none_of(before_, is_inside);
    }

    /// `e` in terms of the state that the loop begins with.
    const Expr* at_first(const Expr* e) {
        return rewrite(m_, e, [&](const Expr* x) -> const Expr* {
            return x->op == Op::GetField && is_state(x->arg(0)) ? it_.init()->arg(x->attr.index) : nullptr;
        });
    }

    const Expr* carry(std::size_t k, Lets& lets) {
        const Loc loc = it_.node->loc;
        const Expr* begin = nullptr;
        for (const Expr* found : order_) {  // they fail in this order
            const Symbol* s = m_.symbol("first", found->type);
            lets.emplace_back(s, at_first(found));
            if (found == own_) begin = var(m_, s);
        }
        std::vector<const Expr*> fields(it_.init()->args().begin(), it_.init()->args().end());
        const std::size_t n = fields.size();
        fields.push_back(begin);
        const Expr* init = make_struct(m_, fields, it_.init()->loc);
        const Symbol* state = m_.symbol(it_.body().param(0)->name, init->type);

        // The round, by the names of what it has looked up and of its choice.
        const Symbol *seen = m_.symbol("seen", of_other_->type),
                     *chosen = m_.symbol("chosen", m_.types.boolean());
        const Expr* kept = get_field(m_, var(m_, state), n);
        const auto of_state = [&](const Expr* x) {
            return x->op == Op::GetField && is_state(x->arg(0)) ? get_field(m_, var(m_, state), x->attr.index)
                                                                : nullptr;
        };
        const Expr *own_now = get_field(m_, var(m_, state), k), *other_now = rewrite(m_, other_, of_state);
        const auto now = [&](const Expr* e) {
            return rewrite(m_, e, [&](const Expr* x) -> const Expr* {
                if (x->op != Op::Lookup || !same(x->arg(0), own_->arg(0))) return of_state(x);
                if (same(x->arg(1), own_now)) return kept;
                return same(x->arg(1), other_now) ? var(m_, seen) : nullptr;
            });
        };
        Lets round{{seen, lookup(m_, own_->arg(0), other_now, of_other_->loc)}};
        for (const auto& [symbol, value] : before_) round.emplace_back(symbol, now(value));
        round.emplace_back(chosen, now(choice_->arg(0)));
        const auto choose = [&](const Expr* yes, const Expr* no) {
            if (same(yes, no)) return yes;
            const Expr* c = var(m_, chosen);
            return choice_->op == Op::If ? if_(m_, c, yes, no, choice_->loc)
                                         : select(m_, c, yes, no, choice_->loc);
        };
        const Expr* next = end_->arg(0);
        std::vector<const Expr*> last;
        for (std::size_t i = 0; i < n; ++i) {
            const Expr* field = next == choice_ ? nullptr : next->arg(i);
            if (field && field != choice_) last.push_back(now(field));
            else if (field) last.push_back(choose(now(field->arg(1)), now(field->arg(2))));
            else last.push_back(choose(now(next->arg(1)->arg(i)), now(next->arg(2)->arg(i))));
        }
        last.push_back(replaces_if_ ? choose(var(m_, seen), kept) : choose(kept, var(m_, seen)));
        const Expr* end = make_struct(m_, {make_struct(m_, last), now(end_->arg(1))}, end_->loc);
        const Expr* f = lambda(m_, {state}, block(m_, round, end, loc), it_.body().node->loc);
        const Expr* all = with_annotations(m_, iterate(m_, init, f, loc), it_.node->annotations);
        const Symbol* result = m_.symbol("carried", all->type);
        lets.emplace_back(result, all);
        std::vector<const Expr*> before;
        for (std::size_t i = 0; i < n; ++i) before.push_back(get_field(m_, var(m_, result), i));
        return make_struct(m_, before, loc);
    }

    Module& m_;
    Facts& facts_;
    Iterate it_;
    Lets before_;
    const Expr* end_ = nullptr;                        // of a round: {next, again}
    const Expr *choice_ = nullptr, *other_ = nullptr;  // what chooses the place; the one that may replace it
    const Expr *own_ = nullptr, *of_other_ = nullptr;  // the look-ups
    std::vector<const Expr*> order_;                   // the look-ups, in the order of evaluation
    bool replaces_if_ = true;                          // the choice holds
};

}  // namespace

const Expr* carry_lookups(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    const auto carried = [&](const Expr* value, Lets& lets) {
        const Iterate it = value->as<Iterate>();
        const Expr* now = it ? Carrier(m, facts, it).carried(lets) : nullptr;
        return now ? now : value;
    };
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        Lets lets;
        if (const Block b = e->as<Block>()) {
            for (std::size_t i = 0; i < b.size(); ++i) {
                const Expr* value = carried(b.value(i), lets);
                lets.emplace_back(b.symbol(i), value);
            }
            const Expr* result = carried(b.result(), lets);
            return lets.size() > b.size() ? block(m, lets, result, b.node->loc) : nullptr;
        }
        if (e->op != Op::Lambda) return nullptr;
        return map_args(m, e, [&](const Expr* body, std::size_t) {
            const Expr* result = carried(body, lets);
            return lets.empty() ? body : block(m, lets, result, body->loc);
        });
    });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
