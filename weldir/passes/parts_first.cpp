// A round of an `iterate` reads parts of a vector before it changes that vector, so that it changes in place (`reuse`).
//
//     iterate({m, 0L}, |s|
//       let v = result(for(slice(s.$0, c, n), vecsetter[f64](s.$0), |b, i, x| merge(b, {a + i, x})));
//       let w = result(for(slice(s.$0, a, n), vecsetter[f64](v), |b, i, x| merge(b, {c + i, x})));
//       {{w, s.$1 + 1L}, s.$1 < n})
// becomes
//     iterate({m, 0L}, |s|
//       let part = result(for(slice(s.$0, c, n), appender[f64], |b, i, x| merge(b, x)));
//       let part2 = result(for(slice(s.$0, a, n), appender[f64], |b, i, x| merge(b, x)));
//       let v = result(for(part, vecsetter[f64](s.$0), |b, i, x| merge(b, {a + i, x})));
//       let w = result(for(part2, vecsetter[f64](v), |b, i, x| merge(b, {c + i, x})));
//       {{w, s.$1 + 1L}, s.$1 < n})
//
// since copies of two rows cost less than one of the whole matrix. A loop that reads such a part and needs nothing of what the round
// has changed moves before the change as it is, and so do sorts. Where something else reads the vector behind the change, it is
// copied in any case, and nothing moves; but for look-ups, which `read-first` moves. What stands behind an effect stays there.
#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/apart_rows.h"
#include "weldir/passes/independent.h"
#include "weldir/passes/moved_lets.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::size_t kMostLets = 256;  // behind a change that are looked at

/// What stands at a change of the vector at `path`, and behind it.
class BehindChange {
  public:
    BehindChange(Module& m, Facts& facts, const Expr* path, Lets before, Lets lets, const Expr* result)
        : m_(m),
          facts_(facts),
          root_(facts.root(path)),
          before_(std::move(before)),
          staying_(std::move(lets)),
          result_(result) {}

    /// False if that does not make it change in place.
    bool reorder() {
        for (const auto& [name, value] : before_.all) note_view(name, value);
        late_.insert(staying_[0].first);
        for (std::size_t i = 1; i < staying_.size(); ++i) sort_out(staying_[i]);
        behind_effect_ = false;
        for (auto& [name, value] : staying_) {
            const bool is_effect = facts_.traits(value).ordered;
            if (!before_.pulled(name) && !views_.contains(name)) value = over_copies(value, Certain);
            behind_effect_ |= is_effect;
        }
        result_ = over_copies(result_, Certain);
        std::erase_if(staying_, [&](const Lets::value_type& let) { return before_.pulled(let.first); });
        return ok_ && (any_loop_ || !copies_.empty());
    }

    /// The round then: what stands before the change, that and what stands behind it, what the round gives.
    const Lets& before() const { return before_.all; }
    const Lets& staying() const { return staying_; }
    const Expr* result() const { return result_; }

  private:
    enum When { Certain, Perhaps, InRounds };  ///< something is evaluated, in the round of the `iterate`

    bool is_vector(const Expr* e) const {
        return is_path(e) && e->type == root_->type && same(facts_.root(e), root_);
    }

    void note_view(const Symbol* name, const Expr* value) {
        if (value->op == Op::Slice && is_vector(value->arg(0))) views_.insert(name);
    }

    bool is_early(const Expr* e) const {
        return std::ranges::none_of(free_symbols(e), [&](const Symbol* s) { return late_.contains(s); });
    }

    bool reads_vector(const Expr* e) const {
        if (is_path(e)) return is_vector(e) || views_.contains(base_of(e));
        return std::ranges::any_of(e->args(), [&](const Expr* a) { return reads_vector(a); });
    }

    /// Moves a let behind the change, notes that it may, or that it stays.
    void sort_out(const Lets::value_type& let) {
        const auto& [name, value] = let;
        const Traits& traits = facts_.traits(value);
        behind_effect_ |= traits.ordered;
        const bool is_loop = value->op == Op::Result || value->op == Op::Sort;
        const bool is_plain =
            value->op == Op::Slice || (value->type->is_scalar() && !traits.heavy && !traits.builds);
        if (behind_effect_ || traits.calls || !(is_loop || is_plain) || !is_early(value) ||
            changes_any(value)) {
            late_.insert(name);
            return;
        }
        note_view(name, value);
        before_.wait(name, value);
        if (!is_loop || !reads_vector(value)) return;
        any_loop_ = true;
        before_.pull(name);
    }

    /// `e` begins to change a vector that has a name: it would do so before what else stands here.
    static bool changes_any(const Expr* e) {
        if (e->op == Op::NewBuilder && info(e->type).indexed && is_path(e->arg(0))) return true;
        return std::ranges::any_of(e->args(), changes_any);
    }

    /// `e`, which stays, reading copies of parts.
    const Expr* over_copies(const Expr* e, When when) {
        if (is_path(e)) {
            if (views_.contains(base_of(e))) return copied(e);
            ok_ &= !is_vector(e) && !is_all(e);
            return e;
        }
        if (e->op == Op::Len && is_vector(e->arg(0))) return e;
        if (when != InRounds && e->op == Op::Lookup && is_vector(e->arg(0)) && is_early(e->arg(1))) return e;
        if (e->op == Op::NewBuilder && e->num_args && is_vector(e->arg(0))) {
            ok_ &= !std::exchange(changed_, true);
            return e;
        }
        if (const For loop = e->as<For>(); loop && reads_in_place(loop)) {
            changed_ = true;
            return e;
        }
        return map_args(m_, e, [&](const Expr* a, std::size_t i) {
            const bool is_datum = e->op == Op::For && i >= 2;
            if (is_datum && when == Certain && !behind_effect_ && is_part(a)) return copied(a);
            return over_copies(a, e->op == Op::Lambda ? InRounds
                                  : is_lazy_arg(e, i) ? std::max(when, Perhaps)
                                                      : when);
        });
    }

    /// `e` is something of which the vector is a field.
    bool is_all(const Expr* e) const {
        if (!e->type->is_struct()) return false;
        const Expr* root = facts_.root(e);
        for (const Expr* field = root_; field->op == Op::GetField; field = field->arg(0))
            if (same(root, field->arg(0))) return true;
        return false;
    }

    bool is_part(const Expr* datum) const {
        if (datum->op == Op::Slice) return is_vector(datum->arg(0)) && is_early(datum);
        const Iter it = datum->as<Iter>();
        return it && it.shape().kind == IterKind::Scalar && it.shape().bounded && !it.shape().range &&
               !it.shape().nd && is_vector(it.data()) && is_int(it.stride(), 1) && is_early(datum);
    }

    /// `loop` changes the vector, and reads it so that it may do that in place (`independent`).
    bool reads_in_place(For loop) {
        const NewBuilder start = loop.builder()->as<NewBuilder>();
        if (!start || !info(start.kind()).indexed || !is_vector(start.arg())) return false;
        return std::ranges::none_of(free_symbols(loop.node),
                                    [&](const Symbol* s) { return views_.contains(s); }) &&
               (rounds_are_independent(facts_, loop) || rows_are_apart(m_, facts_, loop));
    }

    /// A copy of a part, made before the change.
    const Expr* copied(const Expr* part) {
        for (const auto& [of, name] : copies_)
            if (same(of, part)) return var(m_, name);
        before_.pull_for(part);
        const Type* vector = part->op == Op::Iter ? m_.types.vec(part->as<Iter>().yields()) : part->type;
        const Type* elem = vector->elem();
        const Type* list = m_.types.builder(BuilderKind::Appender, {&elem, 1});
        const Symbol *b = m_.symbol("b", list), *i = m_.symbol("i", m_.types.i64()),
                     *x = m_.symbol("x", elem);
        const Expr* body = lambda(m_, {b, i, x}, merge(m_, var(m_, b), var(m_, x)), part->loc);
        const Expr* copy = loop(m_, {&part, 1}, new_builder(m_, list, nullptr, part->loc), body, part->loc);
        const Symbol* name = m_.symbol("part", vector);
        before_.all.emplace_back(name, weld::result(m_, copy, part->loc));
        copies_.emplace_back(part, name);
        return var(m_, name);
    }

    Module& m_;
    Facts& facts_;
    const Expr* root_;
    MovedLets before_;
    Lets staying_;
    const Expr* result_;
    std::vector<std::pair<const Expr*, const Symbol*>> copies_;
    std::unordered_set<const Symbol*> late_, views_;
    bool ok_ = true, changed_ = false, any_loop_ = false, behind_effect_ = false;
};

/// The vectors of the state `s` that `e` begins to change, but in loops inside.
void find_changed(Facts& facts, const Expr* e, const Symbol* s, std::vector<const Expr*>& all) {
    if (e->op == Op::Lambda) return;
    if (e->op == Op::NewBuilder && info(e->type).indexed && is_path(e->arg(0)) &&
        base_of(facts.root(e->arg(0))) == s)
        all.push_back(e->arg(0));
    for (const Expr* a : e->args()) find_changed(facts, a, s, all);
}

const Expr* ordered_round(Module& m, Facts& facts, Iterate it) {
    const Block b = it.body().body()->as<Block>();
    if (!b) return nullptr;
    Lets lets;
    for (std::size_t i = 0; i < b.size(); ++i) lets.emplace_back(b.symbol(i), b.value(i));
    const Expr* result = b.result();
    bool any = false;
    for (std::size_t k = 0; k < lets.size(); ++k) {
        std::vector<const Expr*> changed;
        find_changed(facts, lets[k].second, it.body().param(0), changed);
        if (changed.empty() || lets.size() - k > kMostLets || facts.traits(lets[k].second).ordered) continue;
        for (const Expr* path : changed) {
            const auto at = lets.begin() + std::ptrdiff_t(k);
            BehindChange behind(m, facts, path, Lets(lets.begin(), at), Lets(at, lets.end()), result);
            if (!behind.reorder()) continue;
            k = behind.before().size();
            lets = behind.before();
            std::ranges::copy(behind.staying(), std::back_inserter(lets));
            result = behind.result();
            any = true;
        }
    }
    return any ? with_body(m, it.node, block(m, lets, result, b.node->loc)) : nullptr;
}

}  // namespace

const Expr* parts_first(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    Facts facts(m, lambda);
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const Iterate it = e->as<Iterate>();
        return it ? ordered_round(m, facts, it) : nullptr;
    });
}

}  // namespace weld
