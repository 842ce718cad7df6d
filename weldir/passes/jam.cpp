// Loops over the rows of a matrix that merge at each column take four rows at a time (unroll and jam).
//
//     for(rangeiter(0L, r, 1L), B, |b, n, i|
//       for(iter(m, i * c, (i + 1L) * c, 1L), b, |d, j, e| merge(d, {j, e})))
// becomes
//     let groups = if(r > 0L, if(c >= 896L | c <= 20L | r * c <= 131072L, r / 4L, 0L), 0L);
//     let from = groups * 4L;
//     for(rangeiter(from, r, 1L),
//       for(rangeiter(0L, groups, 1L), B, |b, o, y|
//         let i = y * 4L;
//         let i2 = i + 1L;
//         ...
//         for(zip(iter(m, i * c, ...), iter(m, i2 * c, ...), ...), b, |d, j, e|
//           merge(merge(merge(merge(d, {j, e.$0}), {j, e.$1}), {j, e.$2}), {j, e.$3}))),
//       |b, n, i| ... as before)
//
// so that what is merged into is read and written once for four rows, as is all else that they share. Each
// element takes what it took before, in the order in which it took it: floats come out the same.
//
// Four at a time where it pays: `groups` is 0 if rows are short and there are too many of them for the cache.
//
// The inner loop merges once in each round, at its own index, into a vecmerger or a vecsetter; its rounds are
// equally many in every row; all it does is cheap. What the outer loop goes over can be found by an index.
//
// Between the two may be a loop that goes over what is in the row as well:
//     for(rangeiter(0L, r, 1L), B, |b, n, i|
//       for(iter(m, i * c, (i + 1L) * c, 1L), b, |d, p, x|
//         for(iter(m, i * c, (i + 1L) * c, 1L), d, |g, j, e| merge(g, {p * c + j, x * e}))))
// It takes four rows at a time always, for a row is read again and again.
//
// The inner loop may stand under a condition, as `lookups-to-iters` leaves it: then four rows are taken at a
// time where it holds in all of them, and where it does not, these go on one by one as it is written for that.
#include <algorithm>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/scalar.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/cheap.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/round_groups.h"
#include "weldir/passes/subrange.h"

namespace weld {

namespace {

constexpr std::uint32_t kMostNodes = 80;  // of the body, which is there five times
constexpr int kMostStreams = 2;           // of a row
// Rows one after the other are one stream of memory, which processors see coming; four short ones at a time are
// many that begin and end, and each time wait for memory. In the cache that does not matter, nor if a few lines
// hold all four.
constexpr std::int64_t kShortRow = 160, kLongRow = 7168;  // bytes
constexpr std::int64_t kCached = 1024 * 1024;             // bytes of all rows

class Jammer {
  public:
    Jammer(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* jammed(const Expr* e) {
        const For outer = e->as<For>();
        if (!outer || !outer.node->type->is_builder() || !info(outer.node->type).indexed) return nullptr;
        const Nest nest = nest_of(outer);
        if (!nest.inner || !goes_on(outer, nest.middle ? nest.middle : nest.inner)) return nullptr;
        if (nest.middle && !goes_on(nest.middle, nest.inner)) return nullptr;
        inside_ = BoundNames(outer.node);
        return fits(nest) ? jammed(nest) : nullptr;
    }

  private:
    // ---- which loops

    struct Nest {
        For outer, inner;
        If choice = {};   ///< that the inner loop is the first side of, if any
        For middle = {};  ///< between the two, if any
    };

    static bool goes_on(For outer, For inner) { return is_var(inner.builder(), outer.builder_param()); }

    static Nest nest_of(For outer) {
        if (const For inner = last_loop(outer)) {
            const For innermost = last_loop(inner);
            return innermost ? Nest{outer, innermost, {}, inner} : Nest{outer, inner};
        }
        const Expr* end = outer.body().body();
        if (const Block b = end->as<Block>()) end = b.result();
        const If choice = end->as<If>();
        return choice ? Nest{outer, choice.then()->as<For>(), choice} : Nest{outer, {}};
    }

    bool fits(const Nest& nest) {
        return fits_around(nest.outer) && (!nest.middle || fits_between(nest.middle)) && fits_inside(nest) &&
               facts_.traits(nest.outer.body().node).size <= kMostNodes &&
               (!nest.choice || is_cheap(facts_, nest.choice.cond()));
    }

    /// Its elements can be found by an index, and what comes before the inner loop is straight code.
    bool fits_around(For outer) {
        const auto is_found = [&](const Expr* d) {
            const Iter it = d->as<Iter>();
            return d->type->elem()->is_scalar() && (!it || it.shape().bounded) && may_be_cut(facts_, d);
        };
        if (!std::ranges::all_of(outer.data(), is_found) || outer.node->says(AttrKey::Vectorize, false))
            return false;
        const Block b = outer.body().body()->as<Block>();
        return !b || std::ranges::all_of(b.values(), [&](const Expr* v) {
            const Traits& t = facts_.traits(v);
            return !t.fails_here && !t.calls && !t.ordered && !t.builds && !t.heavy;
        });
    }

    /// Its rounds are equally many in every row, and what comes before the inner loop is straight code.
    bool fits_between(For middle) {
        if (middle.node->says(AttrKey::Vectorize, false)) return false;
        if (!std::ranges::all_of(middle.data(), [&](const Expr* d) { return may_be_cut_by_row(d); }))
            return false;
        const Block b = middle.body().body()->as<Block>();
        const auto is_plain = [&](const Expr* v) { return is_cheap(facts_, v); };
        if (b && !std::ranges::all_of(b.values(), is_plain)) return false;
        const std::optional<Count> n = facts_.iterations(middle.node);
        return n && !inside_.are_read_by(*n);
    }

    bool fits_inside(const Nest& nest) {
        const For inner = nest.inner;
        int streams = 0;
        for (const Expr* d : inner.data()) {
            if (!may_be_cut_by_row(d)) return false;
            streams += varies(d) && !d->as<Iter>().shape().range;
        }
        if (streams == 0 || streams > kMostStreams || inner.node->says(AttrKey::Vectorize, false))
            return false;
        const std::optional<Count> n = facts_.iterations(inner.node);
        return n && !inside_.are_read_by(*n) && merges_at_index(nest, *n);
    }

    /// Consecutive scalars.
    bool may_be_cut_by_row(const Expr* datum) {
        if (!datum->type->elem()->is_scalar()) return false;
        const Iter it = datum->as<Iter>();
        if (!it) return is_path(datum) && !varies(datum);
        const IterShape s = it.shape();
        return s.kind == IterKind::Scalar && !s.nd && (!s.bounded || is_int(it.stride(), 1)) &&
               (s.range || (is_path(it.data()) && !varies(it.data())));
    }

    bool varies(const Expr* e) const { return inside_.are_read_by(e); }

    bool merges_at_index(const Nest& nest, const Count& columns) {
        const For inner = nest.inner;
        const Expr* end = inner.body().body();
        if (const Block b = end->as<Block>()) {
            if (!std::ranges::all_of(b.values(), [&](const Expr* v) { return is_cheap(facts_, v); }))
                return false;
            end = b.result();
        }
        const Merge one = end->as<Merge>();
        return one && !one.mask() && is_var(one.builder(), inner.builder_param()) &&
               one.value()->op == Op::MakeStruct && is_place(nest, one.value()->arg(0), columns) &&
               is_cheap(facts_, one.value()->arg(1));
    }

    /// The counter of the inner loop; behind as many for each round of the one between.
    bool is_place(const Nest& nest, const Expr* place, const Count& columns) {
        if (!nest.middle) return is_counter(nest.inner, place);
        if (place->op != Op::Add) return false;
        for (const int k : {0, 1})
            if (is_counter(nest.inner, place->arg(k)) && begins_row(nest.middle, place->arg(1 - k), columns))
                return true;
        return false;
    }

    /// The counter of `middle` times `columns`.
    bool begins_row(For middle, const Expr* first, const Count& columns) {
        const Block b = middle.body().body()->as<Block>();
        for (std::size_t i = 0; b && i < b.size(); ++i)
            if (is_var(first, b.symbol(i))) first = b.value(i);
        if (first->op != Op::Mul) return false;
        for (const int k : {0, 1}) {
            const std::optional<Count> n = facts_.count(first->arg(1 - k));
            if (n && *n == columns && is_counter(middle, first->arg(k))) return true;
        }
        return false;
    }

    /// The name of a count is the counter of `loop`, from 0 on.
    static bool is_counter(For loop, const Expr* name) {
        if (is_var(name, loop.index_param())) return true;
        if (loop.data().size() == 1)
            return is_var(name, loop.elem_param()) && counts_from_zero(loop.data()[0]);
        return name->op == Op::GetField && is_var(name->arg(0), loop.elem_param()) &&
               counts_from_zero(loop.data()[name->attr.index]);
    }

    // ---- four rows

    const Expr* jammed(const Nest& nest) {
        const auto body = [&](RoundGroup& group, Lets& lets) {
            if (const Block b = nest.outer.body().body()->as<Block>())
                for (SymbolMap& now : group.names)
                    for (std::size_t i = 0; i < b.size(); ++i)
                        now[b.symbol(i)] = named(m_, in_round(m_, b.value(i), now), b.symbol(i)->name, lets);
            return in_group(nest, group);
        };
        return loop_by_groups(m_, facts_, nest.outer, body, [&](Lets&) { return pays(nest); });
    }

    /// Rows are long, or very short, or all of them are in the cache; null: for sure.
    const Expr* pays(const Nest& nest) {
        if (nest.middle) return nullptr;
        std::int64_t bytes = 0;  // of an element of each stream
        for (const Expr* d : nest.inner.data())
            if (varies(d)) bytes = std::max<std::int64_t>(bytes, size_of(d->type->elem()->scalar));
        const Count n = *facts_.iterations(nest.inner.node);
        const std::int64_t least = kLongRow / bytes, most = kCached / bytes, few = kShortRow / bytes;
        if (n.known() && (*n.known() >= least || *n.known() <= few)) return nullptr;
        const Expr *columns = written(m_, n), *rows = trip_count(m_, nest.outer.data()[0]);
        const Expr* is_cached =
            scalar_op(m_, Op::Le, {scalar_op(m_, Op::Mul, {rows, columns}), i64_literal(m_, most)});
        if (n.known()) return is_cached;
        const Expr *is_long = scalar_op(m_, Op::Ge, {columns, i64_literal(m_, least)}),
                   *is_short = scalar_op(m_, Op::Le, {columns, i64_literal(m_, few)});
        return scalar_op(m_, Op::BitOr, {scalar_op(m_, Op::BitOr, {is_long, is_short}), is_cached});
    }

    const Expr* in_group(const Nest& nest, RoundGroup& group) {
        if (nest.middle) return between(nest, group);
        const Expr* together = over_rows(nest.inner, group.builder, group.names);
        if (!nest.choice) return together;
        const Expr* holds = nullptr;
        for (const SymbolMap& now : group.names) {
            const Expr* here = in_round(m_, nest.choice.cond(), now);
            holds = holds ? scalar_op(m_, Op::BitAnd, {holds, here}) : here;
        }
        const Expr* otherwise = rewrite(m_, nest.outer.node, [&](const Expr* e) {
            return e == nest.choice.node ? nest.choice.otherwise() : nullptr;
        });
        const Expr* end = scalar_op(m_, Op::Add, {group.first, i64_literal(m_, RoundGroup::kRounds)});
        return if_(m_, holds, together,
                   loop_over_subrange(m_, otherwise->as<For>(), group.first, end, group.builder),
                   nest.choice.node->loc);
    }

    /// The loop between over all rows at once.
    const Expr* between(const Nest& nest, RoundGroup& group) {
        const For middle = nest.middle;
        const ZippedRounds zipped(m_, middle, group.names, inside_);
        const Symbol* b = m_.symbol(middle.builder_param()->name, middle.node->type);
        const Symbol* j = m_.symbol(middle.index_param()->name, middle.index_param()->type);
        const Symbol* x = m_.symbol(middle.elem_param()->name, zipped.elem());
        Lets lets;
        const Block own = middle.body().body()->as<Block>();
        for (std::size_t k = 0; k < group.names.size(); ++k) {
            SymbolMap &now = group.names[k], &first = group.names[0];
            now[middle.index_param()] = var(m_, j);
            now[middle.elem_param()] = zipped.element(k, var(m_, x));
            for (std::size_t i = 0; own && i < own.size(); ++i) {
                const Expr* value = in_round(m_, own.value(i), now);
                const bool is_shared = k && same(value, in_round(m_, own.value(i), first));
                now[own.symbol(i)] =
                    is_shared ? first[own.symbol(i)] : named(m_, value, own.symbol(i)->name, lets);
            }
        }
        const Expr* body = over_rows(nest.inner, var(m_, b), group.names);
        const Expr* f = lambda(m_, {b, j, x}, block(m_, lets, body), middle.body().node->loc);
        return with_annotations(m_, loop(m_, zipped.data(), group.builder, f, middle.node->loc),
                                middle.node->annotations);
    }

    /// The inner loop over all rows at once.
    const Expr* over_rows(For inner, const Expr* builder, std::vector<SymbolMap>& rows) {
        const ZippedRounds zipped(m_, inner, rows, inside_);
        const Symbol* b = m_.symbol(inner.builder_param()->name, inner.node->type);
        const Symbol* j = m_.symbol(inner.index_param()->name, inner.index_param()->type);
        const Symbol* x = m_.symbol(inner.elem_param()->name, zipped.elem());
        Lets lets;
        const Expr* body = var(m_, b);
        for (std::size_t k = 0; k < rows.size(); ++k) {
            rows[k][inner.index_param()] = var(m_, j);
            rows[k][inner.elem_param()] = zipped.element(k, var(m_, x));
            body = merge(m_, body, merged(inner, rows[k], lets), nullptr, inner.body().body()->loc);
        }
        const Expr* f = lambda(m_, {b, j, x}, block(m_, lets, body), inner.body().node->loc);
        return with_annotations(m_, loop(m_, zipped.data(), builder, f, inner.node->loc),
                                inner.node->annotations);
    }

    /// What a row merges.
    const Expr* merged(For inner, SymbolMap& now, Lets& lets) {
        const Expr* end = inner.body().body();
        const Block b = end->as<Block>();
        for (std::size_t i = 0; b && i < b.size(); ++i)
            now[b.symbol(i)] = named(m_, in_round(m_, b.value(i), now), b.symbol(i)->name, lets);
        if (b) end = b.result();
        return in_round(m_, end->as<Merge>().value(), now);
    }

    Module& m_;
    Facts facts_;
    BoundNames inside_;  // of the outer loop
};

}  // namespace

const Expr* jam(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    Jammer jammer(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) { return jammer.jammed(e); });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
