// Loops that read the vector into which they put elements say so if no round reads what another one has put.
//
//     for(zip(iter(z, (i - 1L) * c, i * c, 1L), iter(x, i * c, (i + 1L) * c, 1L)), vecsetter[f64](z),
//       |b, k, e| merge(b, {i * c + k, e.$0 * 0.5 + e.$1}))
// becomes
//     for(zip(...), @(independent:true) vecsetter[f64](z), |b, k, e| ...)
//
// So do loops that put elements into rows of a matrix in the state of an `iterate` and read others, and no others of their
// own (apart_rows.cpp), where what has to hold for that is asked:
//
//     if(0L <= k & n <= 2147483648L & ..., for(..., @(independent:true) vecsetter[f64](a), ...), for(..., vecsetter[f64](a), ...))
//
// Then `reuse` lets it change `z` in place, if nobody reads that later. In the first kind round k has to put its elements at a
// place that goes on by one, `first + k`, and what it reads of the vector has to be iterators that do so as
// well: the very same element, or others than all those that any round puts.
#include "weldir/passes/independent.h"

#include <algorithm>

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/apart_rows.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/normal_form.h"

namespace weld {

bool reads(const Expr* e, const Expr* vector) {
    if (is_path(e)) return e->type == vector->type && same(e, vector);
    return std::ranges::any_of(e->args(), [&](const Expr* a) { return reads(a, vector); });
}

/// The place at which round 0 of `loop` puts an element, if round k does so k places behind it.
static std::optional<Count> first_place(Facts& facts, For loop) {
    if (has_loop(loop.body().body())) return {};
    const BoundNames inside(loop.node);
    std::optional<Count> first;
    bool ok = true;
    visit(loop.body().body(), [&](const Expr* e) {
        const Merge merge = e->as<Merge>();
        if (!merge || !ok) return;
        const MakeStruct pair = merge.value()->as<MakeStruct>();
        const std::optional<Count> place = pair ? facts.count(pair.node->arg(0)) : std::nullopt;
        ok = false;
        if (!place) return;
        Count here;
        bool goes_on = false;
        for (const Count::Product& p : place->sum()) {
            const bool is_index = p.of.size() == 1 && is_var(p.of[0], loop.index_param());
            if (is_index ? p.factor != 1 : std::ranges::any_of(p.of, [&](const Expr* name) {
                    return inside.are_read_by(name);
                }))
                return;
            goes_on |= is_index;
            if (!is_index) here = here + Count(p);
        }
        ok = goes_on && (!first || *first == here);
        first = here;
    });
    return ok ? first : std::nullopt;
}

/// Not negative, whatever the names in it are; for two places of a vector `a - b` says then that `a` is not
/// before `b`.
static bool is_distance(Facts& facts, const Count& n) {
    if (const auto known = n.known()) return *known >= 0;
    const Expr* name = n.name();
    return name && (name->op == Op::Len || facts.is_promised_not_negative(name));
}

/// The elements that rounds read of `vector` as `datum` are those that they put themselves, or nobody puts.
static bool is_read_apart(Facts& facts, const Expr* datum, const Expr* vector, const Count& first) {
    std::optional<Count> start = Count(), end = facts.length(vector);
    if (const Iter it = datum->as<Iter>()) {
        if (it.shape().kind != IterKind::Scalar || it.shape().range || it.shape().nd || !is_path(it.data()))
            return false;
        if (it.shape().bounded) {
            if (!is_int(it.stride(), 1)) return false;
            start = facts.count(it.start()), end = facts.count(it.end());
        }
    } else if (!is_path(datum)) {
        return false;
    }
    if (!start || !end) return false;
    if (*start == first) return true;
    const Count last = first + (*end - *start);
    return is_distance(facts, first - *end) || is_distance(facts, *start - last);
}

bool rounds_are_independent(Facts& facts, For loop) {
    const NewBuilder start = loop.builder()->as<NewBuilder>();
    if (!start || !info(start.kind()).indexed || !is_path(start.arg())) return false;
    const std::optional<Count> first = first_place(facts, loop);
    return first && !reads(loop.body().body(), start.arg()) &&
           std::ranges::all_of(loop.data(), [&](const Expr* d) {
               return !reads(d, start.arg()) || is_read_apart(facts, d, start.arg(), *first);
           });
}

namespace {

class Independence {
  public:
    Independence(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {
        visit(lambda, [&](const Expr* e) {
            if (const Iterate it = e->as<Iterate>()) states_.insert(it.body().param(0));
        });
    }

    /// `e` or a loop that says that its rounds are independent.
    const Expr* of(const Expr* e) {
        const For loop = e->as<For>();
        const NewBuilder start = loop ? loop.builder()->as<NewBuilder>() : NewBuilder{};
        if (!start || !info(start.kind()).indexed || !is_path(start.arg())) return nullptr;
        const bool reads_it =
            std::ranges::any_of(loop.data(), [&](const Expr* d) { return reads(d, start.arg()); });
        if (reads_it && rounds_are_independent(facts_, loop)) return marked(e);
        const bool changes_state = states_.contains(base_of(facts_.root(start.arg())));
        if (!changes_state || e->says(AttrKey::Vectorize, false)) return nullptr;
        const auto condition = rows_are_apart(m_, facts_, loop);
        if (!condition) return nullptr;
        const Expr* apart = marked(with_one_name(loop, start.arg()));
        return *condition ? if_(m_, *condition, apart, fresh(m_, e), e->loc) : apart;
    }

  private:
    const Expr* marked(const Expr* loop) {
        std::vector<const Expr*> args(loop->args().begin(), loop->args().end());
        args[0] = annotate(m_, args[0], AttrKey::Independent, "true");
        return with_args(m_, loop, args);
    }

    /// `loop`, which reads the vector at `path` by that name alone.
    const Expr* with_one_name(For loop, const Expr* path) {
        const Expr* root = facts_.root(path);
        return rewrite(m_, loop.node, [&](const Expr* e) {
            const bool is_other = is_path(e) && e->type == path->type && !same(e, path);
            return is_other && same(facts_.root(e), root) ? path : nullptr;
        });
    }

    Module& m_;
    Facts facts_;
    std::unordered_set<const Symbol*> states_;
};

}  // namespace

const Expr* independent(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    Independence independence(m, lambda);
    return in_normal_form(m, lambda, rewrite(m, lambda, [&](const Expr* e) { return independence.of(e); }));
}

}  // namespace weld
