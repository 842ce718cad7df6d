// Loops that change a few elements of a vector which they read beforehand note the changes, and make them in the
// end.
//
//     iterate({v, 1L}, |s|
//       let t = result(for(rangeiter(0L, n, 1L), vecsetter[i64](s.$0), |b, i, x|
//         merge(b, {x * n, lookup(s.$0, x * n + s.$1)})));
//       {{t, s.$1 + 1L}, s.$1 < n})
// becomes
//     iterate({v, 1L}, |s|
//       let t = result(if(n * 4L <= len(s.$0),
//         (let changes = result(for(rangeiter(0L, n, 1L), appender[{i64,i64}], |c, i, x|
//            merge(c, {x * n, lookup(s.$0, x * n + s.$1)})));
//          for(changes, vecsetter[i64](s.$0), |b, i, x| merge(b, x))),
//         ... as before));
//       {{t, s.$1 + 1L}, s.$1 < n})
//
// Then `reuse` lets the second loop change the vector in place, where the first would have to copy all of it to
// change a few elements. Of a state of an `iterate`, which is what changes again and again, and that nobody reads
// behind the loop; not where no round reads what another one changes (`independent`), since that needs no copy.
#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/independent.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/other_builder.h"

namespace weld {

namespace {

constexpr std::int64_t kWorthIt = 4;  // elements that are copied, for each change that is noted

class Deferrer {
  public:
    Deferrer(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* deferred(Iterate it) {
        const Block b = it.body().body()->as<Block>();
        if (!b) return nullptr;
        const Expr* body = map_args(m_, b.node, [&](const Expr* value, std::size_t i) {
            const For loop = value->op == Op::Result ? value->arg(0)->as<For>() : For{};
            const Expr* changed = i < b.size() && loop ? changed_by(loop) : nullptr;
            const Expr* state = changed ? facts_.root(changed) : nullptr;
            if (!state || base_of(state) != it.body().param(0)) return value;
            if (is_read_behind(b, i, changed) || is_read_behind(b, i, state)) return value;
            const Expr* now = in_the_end(loop, changed);
            return now ? result(m_, now, value->loc) : value;
        });
        return body == b.node ? nullptr : with_body(m_, it.node, body);
    }

  private:
    /// The vector that `loop` begins to change, and reads; null if there is none.
    static const Expr* changed_by(For loop) {
        const Expr* start = loop.builder();
        while (start->op == Op::Merge) start = start->arg(0);
        const NewBuilder made = start->as<NewBuilder>();
        if (!made || !info(made.kind()).indexed || !is_path(made.arg())) return nullptr;
        if (made.node->annotation(AttrKey::Independent)) return nullptr;
        bool is_read = reads(loop.body().body(), made.arg());
        for (const Expr* d : loop.data()) is_read |= reads(d, made.arg());
        return is_read ? made.arg() : nullptr;
    }

    static bool is_read_behind(Block b, std::size_t i, const Expr* vector) {
        const auto mentions_it = [&](const Expr* e) {
            return reads(e, vector) || is_whole(e, base_of(vector));
        };
        for (std::size_t k = i + 1; k < b.size(); ++k)
            if (mentions_it(b.value(k))) return true;
        return mentions_it(b.result());
    }

    /// `s` is read otherwise than by its fields.
    static bool is_whole(const Expr* e, const Symbol* s) {
        if (e->op == Op::GetField && is_path(e)) return false;
        if (is_var(e, s)) return true;
        return std::ranges::any_of(e->args(), [&](const Expr* a) { return is_whole(a, s); });
    }

    const Expr* in_the_end(For loop, const Expr* vector) {
        const Traits& body = facts_.traits(loop.body().node);
        if (body.ordered || body.calls) return nullptr;
        const Expr* total = changes_of(loop);
        if (!total) return nullptr;
        const Type *type = loop.node->type, *number = m_.types.i64(), *elem = type->elem();
        const Type* change = m_.types.structure(std::vector<const Type*>{number, elem});
        const Type* list = m_.types.builder(BuilderKind::Appender, {&change, 1});
        const Loc loc = loop.node->loc;
        const Expr* again = fresh(m_, loop.node);
        const auto note = [&](Merge g, const Expr* before) {
            return merge(m_, before, g.value(), nullptr, g.node->loc);
        };
        const Expr* noted =
            OtherBuilder(m_, type, list, note).loop(again->as<For>(), new_builder(m_, list, nullptr, loc));
        if (!noted) return nullptr;
        const Symbol* changes = m_.symbol("changes", m_.types.vec(change));
        const Symbol *b = m_.symbol("b", type), *i = m_.symbol("i", number), *x = m_.symbol("x", change);
        const Expr* all = var(m_, changes);
        const Expr* merges = lambda(m_, {b, i, x}, merge(m_, var(m_, b), var(m_, x), nullptr, loc), loc);
        const Expr* then = weld::loop(m_, {&all, 1}, again->arg(0), merges, loc);
        const Expr* few = scalar_op(
            m_, Op::Le, {scalar_op(m_, Op::Mul, {total, i64_literal(m_, kWorthIt)}), len(m_, vector)});
        return if_(m_, few, let(m_, changes, result(m_, noted, loc), then), loop.node, loc);
    }

    /// How many elements the loop changes; null if that is not known before it.
    const Expr* changes_of(For loop) {
        const std::optional<Count> rounds = facts_.iterations(loop.node);
        const std::optional<Count> each = facts_.merges_per_iteration(loop.node);
        if (!rounds || !each) return nullptr;
        const Count all = *rounds * *each;
        const BoundNames inside(loop.node);
        for (const Count::Product& p : all.sum())
            for (const Expr* name : p.of)
                if (inside.are_read_by(name)) return nullptr;
        return all.is_small() ? written(m_, all, loop.node->loc) : nullptr;
    }

    Module& m_;
    Facts facts_;
};

}  // namespace

const Expr* defer_merges(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    Deferrer deferrer(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const Iterate it = e->as<Iterate>();
        return it ? deferrer.deferred(it) : nullptr;
    });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
