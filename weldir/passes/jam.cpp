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
// so that what is merged into is read and written once for four rows, as is all else that they share. In a
// chunk each element takes what it took before, in the order in which it took it.
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
//
// `jam-rows` does the same with three loops where rows are vectors among the elements of the outer one, before
// look-ups beside them become iterators: four rows go together that turn out to be equally long, and no longer
// than `c`, so that no two rounds of a row merge at the same place.
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
constexpr std::int64_t kMostColumns = INT32_MAX;          // the place of a column cannot wrap around

/// What the rows are: parts of a vector that the outer loop finds by its index, or vectors among its elements.
enum class Rows { Parts, Vectors };

class Jammer {
  public:
    Jammer(Module& m, const Expr* lambda, Rows rows) : m_(m), facts_(m, lambda), rows_(rows) {}

    const Expr* jammed(const Expr* e) {
        const For outer = e->as<For>();
        if (!outer || !outer.node->type->is_builder() || !info(outer.node->type).indexed) return nullptr;
        const Nest nest = nest_of(outer);
        if (rows_ == Rows::Vectors && !nest.middle) return nullptr;
        if (!nest.inner || !goes_on(outer, nest.middle ? nest.middle : nest.inner)) return nullptr;
        if (nest.middle && !goes_on(nest.middle, nest.inner)) return nullptr;
        inside_ = BoundNames(outer.node);
        elem_ = outer.elem_param();
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

    static bool has_rows(const Expr* datum) {
        const Type* elem = datum->type->elem();
        return elem->is_vec() && elem->elem()->is_scalar();
    }

    /// Its elements can be found by an index, and what comes before the inner loop is straight code.
    bool fits_around(For outer) {
        const auto is_found = [&](const Expr* d) {
            const Iter it = d->as<Iter>();
            if (rows_ == Rows::Vectors) return is_path(d) && (d->type->elem()->is_scalar() || has_rows(d));
            return d->type->elem()->is_scalar() && (!it || it.shape().bounded) && may_be_cut(facts_, d);
        };
        if (!std::ranges::all_of(outer.data(), is_found) || outer.node->says(AttrKey::Vectorize, false))
            return false;
        const Block b = outer.body().body()->as<Block>();
        return !b || std::ranges::all_of(b.values(), [&](const Expr* v) {
            const Traits& t = facts_.traits(v);
            if (rows_ == Rows::Vectors && t.fails) return false;
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
        return goes_over_row(middle) || are_equally_many(facts_.iterations(middle.node));
    }

    bool are_equally_many(const std::optional<Count>& rounds) {
        return rounds && !inside_.are_read_by(*rounds);
    }

    /// A vector among the elements of the outer loop.
    bool is_row(const Expr* datum) {
        return rows_ == Rows::Vectors && is_path(datum) && base_of(datum) == elem_;
    }
    bool goes_over_row(For f) {
        return std::ranges::any_of(f.data(), [&](const Expr* d) { return is_row(d); });
    }

    bool fits_inside(const Nest& nest) {
        const For inner = nest.inner;
        int streams = 0;
        for (const Expr* d : inner.data()) {
            if (!may_be_cut_by_row(d)) return false;
            const Iter it = d->as<Iter>();
            streams += varies(d) && !(it && it.shape().range);
        }
        if (streams == 0 || streams > kMostStreams || inner.node->says(AttrKey::Vectorize, false))
            return false;
        const bool is_even =
            rows_ == Rows::Vectors ? goes_over_row(inner) : are_equally_many(facts_.iterations(inner.node));
        return is_even && merges_at_index(nest);
    }

    /// Consecutive scalars.
    bool may_be_cut_by_row(const Expr* datum) {
        if (!datum->type->elem()->is_scalar()) return false;
        if (rows_ == Rows::Vectors) return is_row(datum) || (!varies(datum) && is_walked(datum));
        return is_walked(datum);
    }
    bool is_walked(const Expr* datum) {
        const Iter it = datum->as<Iter>();
        if (!it) return is_path(datum) && !varies(datum);
        const IterShape s = it.shape();
        return s.kind == IterKind::Scalar && !s.nd && (!s.bounded || is_int(it.stride(), 1)) &&
               (s.range || (is_path(it.data()) && !varies(it.data())));
    }

    bool varies(const Expr* e) const { return inside_.are_read_by(e); }

    bool merges_at_index(const Nest& nest) {
        const For inner = nest.inner;
        const Expr* end = inner.body().body();
        if (const Block b = end->as<Block>()) {
            if (!std::ranges::all_of(b.values(), [&](const Expr* v) { return is_cheap(facts_, v); }))
                return false;
            end = b.result();
        }
        const Merge one = end->as<Merge>();
        return one && !one.mask() && is_var(one.builder(), inner.builder_param()) &&
               one.value()->op == Op::MakeStruct && is_place(nest, one.value()->arg(0)) &&
               is_plain(nest, one.value()->arg(1));
    }

    /// Cheap, or asks for elements at a counter, of which the first that is not there is so in the first row.
    bool is_plain(const Nest& nest, const Expr* e) {
        if (is_cheap(facts_, e)) return true;
        if (const Lookup l = e->as<Lookup>(); l && rows_ == Rows::Vectors)
            return e->type->is_scalar() && is_path(l.of()) && !varies(l.of()) && l.of()->type->is_vec() &&
                   (is_counter(nest.inner, l.key()) || is_counter(nest.middle, l.key()));
        const Traits own = facts_.own_traits(e);
        if (e->binds || !own.free_to_repeat() || own.heavy || own.costly) return false;
        for (std::size_t i = 0; i < e->num_args; ++i)
            if (is_lazy_arg(e, i) ? !is_cheap(facts_, e->arg(i)) : !is_plain(nest, e->arg(i))) return false;
        return true;
    }

    /// The counter of the inner loop; behind as many for each round of the one between.
    bool is_place(const Nest& nest, const Expr* place) {
        return nest.middle ? columns(nest, place) != nullptr : is_counter(nest.inner, place);
    }

    /// What the counter of the loop between is multiplied by in a place that adds the counter of the inner loop:
    /// as many as that has rounds, or what is compared with these in each group. Null if it is something else.
    const Expr* columns(const Nest& nest, const Expr* place) {
        if (place->op != Op::Add) return nullptr;
        const int own = is_counter(nest.inner, place->arg(0)) ? 0 : 1;
        if (!is_counter(nest.inner, place->arg(own))) return nullptr;
        const Expr* first = place->arg(1 - own);
        const Block b = nest.middle.body().body()->as<Block>();
        for (std::size_t i = 0; b && i < b.size(); ++i)
            if (is_var(first, b.symbol(i))) first = b.value(i);
        if (first->op != Op::Mul) return nullptr;
        const std::optional<Count> rounds = facts_.iterations(nest.inner.node);
        for (const int k : {0, 1}) {
            if (!is_counter(nest.middle, first->arg(k))) continue;
            const Expr* c = first->arg(1 - k);
            if (is_count(c, rounds)) return c;
            if (rows_ == Rows::Vectors && is_atom(c) && !varies(c)) return c;
        }
        return nullptr;
    }

    bool is_count(const Expr* e, const std::optional<Count>& rounds) {
        const std::optional<Count> n = facts_.count(e);
        return n && rounds && *n == *rounds;
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
        if (rows_ == Rows::Parts)
            return loop_by_groups(m_, facts_, nest.outer, body, [&](const Expr* n, Lets&) -> const Expr* {
                const Expr* holds = pays(nest);
                return holds ? if_(m_, holds, n, i64_literal(m_, 0)) : nullptr;
            });
        return loop_over_groups(m_, facts_, nest.outer, body,
                                [&](const RoundGroup& group) { return are_alike(nest, group.names); });
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

    /// The rows of a group are equally long, and no longer than the columns are many.
    const Expr* are_alike(const Nest& nest, const std::vector<SymbolMap>& rows) {
        const Expr *length = nullptr, *all = nullptr;
        const auto also = [&](const Expr* c) { all = all ? scalar_op(m_, Op::BitAnd, {all, c}) : c; };
        std::vector<const Expr*> seen;
        for (const For f : {nest.inner, nest.middle})
            for (const Expr* d : f.data()) {
                const auto is_same = [&](const Expr* other) { return same(d, other); };
                if (!is_row(d) || std::ranges::any_of(seen, is_same)) continue;
                seen.push_back(d);
                for (const SymbolMap& now : rows) {
                    const Expr* n = len(m_, in_round(m_, d, now));
                    if (length) also(scalar_op(m_, Op::Eq, {length, n}));
                    else length = n;
                }
            }
        const Expr* end = nest.inner.body().body();
        if (const Block b = end->as<Block>()) end = b.result();
        const Expr* c = columns(nest, end->as<Merge>().value()->arg(0));
        if (is_count(c, facts_.iterations(nest.inner.node))) return all;
        also(scalar_op(m_, Op::Le, {length, c}));
        also(scalar_op(m_, Op::Le, {c, i64_literal(m_, kMostColumns)}));
        return all;
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
    Rows rows_;
    BoundNames inside_;             // of the outer loop
    const Symbol* elem_ = nullptr;  // of it
};

const Expr* jammed(Module& m, const Expr* lambda, Rows rows) {
    if (!has_loop(lambda)) return lambda;
    Jammer jammer(m, lambda, rows);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) { return jammer.jammed(e); });
    return in_normal_form(m, lambda, now);
}

}  // namespace

const Expr* jam(Module& m, const Expr* lambda) { return jammed(m, lambda, Rows::Parts); }
const Expr* jam_rows(Module& m, const Expr* lambda) { return jammed(m, lambda, Rows::Vectors); }

}  // namespace weld
