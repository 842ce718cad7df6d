// Loops in which an inner loop strides through a matrix go along its rows instead.
//
// A sum for each column becomes a vector of sums, into which all rows are merged:
//     for(rangeiter(0L, c, 1L), appender[f64], |b, o, j|
//       let s = result(for(rangeiter(0L, r, 1L), merger[f64,+], |d, n, i| merge(d, lookup(m, i * c + j))));
//       merge(b, f(s)))
// becomes
//     if(c >= 8L & c <= 2147483648L & r >= 32L & r <= 2147483648L & r * c <= len(m),
//       let start = result(for(rangeiter(0L, c, 1L), appender[f64], |b, o, j| merge(b, 0.0)));
//       let sums = result(for(rangeiter(0L, r, 1L), vecmerger[f64,+](start), |d, n, i|
//         for(rangeiter(0L, c, 1L), d, |g, o, j| merge(g, {o, lookup(m, i * c + j)}))));
//       for(zip(rangeiter(0L, c, 1L), sums), appender[f64], |b, o, z| let s = z.$1; merge(b, f(s))),
//       ... as before)
// and a vector of the elements by columns, which is the matrix transposed, goes on by tiles:
//     for(rangeiter(0L, c, 1L), appender[f64], |b, o, j|
//       for(rangeiter(0L, r, 1L), b, |d, n, i| merge(d, lookup(m, i * c + j))))
// becomes
//     if(..., @(tile:16) for(...), ... as before)
//
// so that lines of the cache are used up when they are there. Look-ups that go by rows and columns at once
// are marked, `@(tile:true) lookup(m, i * c + j)`: on lanes they are read as they lie, and transposed.
//
// The condition says that no lookup fails: then nobody can tell the order. The index has to be the inner
// counter times what stays the same (by the name of it), plus the outer counter, plus what stays the same;
// other lookups in the inner loop read at one of the counters plus what stays the same, or can't fail. Loops
// with calls of kernels that are not pure stay.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/scalar.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/matrix_loops.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

using matrix_loops::kLeastColumns, matrix_loops::kLeastRows, matrix_loops::kMostNodes,
    matrix_loops::kMostRounds;
constexpr std::string_view kTile =
    "16";  // so many lines of the nearest cache may be of rows that lie a power of two apart

bool is_var(const Expr* e, const Symbol* s) { return e->op == Op::Var && e->attr.symbol == s; }

class Interchanger {
  public:
    Interchanger(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* interchanged(const Expr* e) {
        const For outer = e->as<For>();
        if (!outer || facts_.traits(e).size > kMostNodes || facts_.traits(e).calls) return nullptr;
        if (!std::ranges::all_of(outer.data(), is_repeatable)) return nullptr;
        if (const For inner = plain_last_loop(outer)) return by_tiles(outer, inner);
        return by_rows(outer);
    }

  private:
    // ---- what strides

    static bool is_repeatable(const Expr* datum) { return is_path(datum) || counts_from_zero(datum); }

    /// The name of a count is the counter of `loop`, from 0 on.
    bool is_counter(For loop, const Expr* name) {
        if (name->op == Op::Len || base_of(name) == loop.builder_param()) return false;
        if (name->op == Op::Var && name->attr.symbol == loop.index_param()) return true;
        if (base_of(name) != loop.elem_param()) return false;
        if (loop.data().size() == 1) return name->op == Op::Var && counts_from_zero(loop.data()[0]);
        return name->op == Op::GetField && name->arg(0)->op == Op::Var &&
               counts_from_zero(loop.data()[name->attr.index]);
    }

    /// The two loops, and that no lookup of the inner one fails, if `holds` does; null: none does anyway.
    struct Pair {
        For outer, inner;
        const Expr* holds = nullptr;
        bool strides = false;
        std::unordered_set<const Expr*> across;  ///< look-ups that go by both counters
        bool possible = true;                    ///< false: what would have to hold does not
    };

    /// Both conditions; null is one that holds.
    const Expr* both(const Expr* a, const Expr* b) {
        return a && b ? scalar_op(m_, Op::BitAnd, {a, b}) : a ? a : b;
    }

    /// `least <= most` has to hold.
    void demand(Pair& pair, const Expr* least, const Expr* most) {
        const std::optional<Count> a = facts_.count(least), b = facts_.count(most);
        if (a && b && a->known() && b->known()) {
            pair.possible &= *a->known() <= *b->known();
            return;
        }
        const bool bounds_below = least->op == Op::Literal;  // then it is written as `most >= least`
        pair.holds = both(pair.holds, bounds_below ? scalar_op(m_, Op::Ge, {most, least})
                                                   : scalar_op(m_, Op::Le, {least, most}));
    }

    const Expr* i64(std::int64_t n) { return int_literal(m_, m_.types.i64(), n); }
    const Expr* product(const Expr* a, const Expr* b) {
        const Literal x = a->as<Literal>(), y = b->as<Literal>();
        return x && y ? i64(x.as_int() * y.as_int()) : scalar_op(m_, Op::Mul, {a, b});
    }

    /// The condition under which the body of the inner loop cannot fail; false if there is none.
    bool find_condition(Pair& pair, std::int64_t least_rows) {
        const For outer = pair.outer, inner = pair.inner;
        if (!std::ranges::all_of(inner.data(), is_repeatable)) return false;
        if (!facts_.lengths_agree(outer.data()) || !facts_.lengths_agree(inner.data())) return false;
        std::unordered_set<const Symbol*> inside;
        visit_binding(outer.node,
                      [&](const Expr* e) { inside.insert(e->symbols().begin(), e->symbols().end()); });
        const auto is_fixed = [&](const Expr* e) {
            const std::vector<const Symbol*> read = free_symbols(e);
            return std::ranges::none_of(read, [&](const Symbol* s) { return inside.contains(s); });
        };
        if (!std::ranges::all_of(inner.data(), is_fixed)) return false;
        const Expr *columns = trip_count(m_, outer.data()[0]), *rows = trip_count(m_, inner.data()[0]);
        demand(pair, i64(kLeastColumns), columns);
        demand(pair, columns, i64(kMostRounds));
        // what may fail is asked only if the outer loop runs at all
        const Expr* runs = facts_.traits(rows).fails ? std::exchange(pair.holds, nullptr) : nullptr;
        demand(pair, i64(least_rows), rows);
        demand(pair, rows, i64(kMostRounds));
        bool ok = pair.possible;
        visit(inner.body().body(), [&](const Expr* e) {
            if (!ok) return;
            const Traits t = facts_.own_traits(e);
            if (!t.fails && !t.ordered) return;
            const Lookup at = e->as<Lookup>();
            ok = at && is_path(at.of()) && at.of()->type->is_vec() && is_fixed(at.of()) &&
                 demand_place(pair, at, columns, rows, is_fixed);
        });
        if (runs) pair.holds = pair.holds ? scalar_op(m_, Op::And, {runs, pair.holds}) : runs;
        return ok && pair.possible && pair.strides;
    }

    template <class IsFixed>
    bool demand_place(Pair& pair, Lookup at, const Expr* columns, const Expr* rows, IsFixed is_fixed) {
        const std::optional<Count> key = facts_.count(at.key());
        if (!key) return false;
        const Expr *row_stride = nullptr, *column_stride = nullptr;
        Count offset;
        for (const Count::Product& p : key->sum()) {
            const Expr *counter = nullptr, *others = nullptr;
            for (const Expr* name : p.of) {
                const bool counts = is_counter(pair.inner, name) || is_counter(pair.outer, name);
                if (counts ? counter != nullptr : !is_fixed(name)) return false;
                if (counts) counter = name;
                else others = others ? scalar_op(m_, Op::Mul, {others, name}) : name;
            }
            if (!counter) {
                offset = offset + count_of(p);
                continue;
            }
            const Expr*& stride = is_counter(pair.inner, counter) ? row_stride : column_stride;
            if (stride || (others && (p.factor != 1 || others->op == Op::Mul))) return false;
            stride = others ? others : i64(p.factor);
        }
        if (column_stride && !is_int(column_stride, 1)) return false;
        const Expr* length = len(m_, at.of());
        if (!(offset == Count())) {
            const Expr* start = written(m_, offset);
            demand(pair, i64(0), start);
            length = scalar_op(m_, Op::Sub, {length, start});
        }
        if (!row_stride || !column_stride) {  // an element for each row, or each column, or for all
            if (row_stride && !is_int(row_stride, 1)) return false;
            demand(pair, row_stride ? rows : column_stride ? columns : i64(1), length);
            return true;
        }
        pair.strides |= !is_int(row_stride, 1);
        if (at.node->type->is_scalar()) pair.across.insert(at.node);
        if (!same(row_stride, columns)) {
            demand(pair, columns, row_stride);
            demand(pair, row_stride, i64(kMostRounds));
        }
        if (pair.possible) demand(pair, product(rows, row_stride), length);
        return pair.possible;
    }

    static Count count_of(const Count::Product& p) {
        Count all = p.factor;
        for (const Expr* name : p.of) all = all * Count(name);
        return all;
    }

    // ---- tiles

    /// The loop that the body of `outer` ends with, on its builder, if nothing before it costs or fails.
    For plain_last_loop(For outer) {
        const auto is_plain = [&](const Expr* v) {
            return !v->type->holds_builder && !facts_.traits(v).heavy && facts_.traits(v).free_to_repeat();
        };
        const Block b = outer.body().body()->as<Block>();
        return !b || std::ranges::all_of(b.values(), is_plain) ? last_loop(outer) : For{};
    }

    /// Each round merges once, whatever happens, into the builder that the loop is given.
    static bool merges_once(For loop) {
        const Expr* end = loop.body().body();
        if (const Block b = end->as<Block>()) {
            if (std::ranges::any_of(b.values(), [](const Expr* v) { return v->type->holds_builder; }))
                return false;
            end = b.result();
        }
        const Merge one = end->as<Merge>();
        return one && !one.mask() && is_var(one.builder(), loop.builder_param()) &&
               !has_loop(loop.body().body());
    }

    const Expr* by_tiles(For outer, For inner) {
        const Type* type = outer.node->type;
        if (!type->is_builder(BuilderKind::Appender) || outer.builder()->op != Op::NewBuilder) return nullptr;
        if (!is_var(inner.builder(), outer.builder_param()) || !merges_once(inner)) return nullptr;
        if (outer.node->annotation(AttrKey::Tile)) return nullptr;
        Pair pair{outer, inner};
        if (!find_condition(pair, 0)) return nullptr;
        return guarded(pair.holds, tiled(pair), outer);
    }

    /// The loop with the number of rounds of the inner one, which is known before it, as its size.
    const Expr* tiled(const Pair& pair) {
        const Expr* start = pair.outer.builder();
        const Expr* sized = new_builder(m_, start->type, trip_count(m_, pair.inner.data()[0]), start->loc);
        sized = annotate(m_, with_annotations(m_, sized, start->annotations), AttrKey::Size, "given");
        const Expr* now = rewrite(m_, pair.outer.node, [&](const Expr* e) -> const Expr* {
            if (e == start) return sized;
            return pair.across.contains(e) ? annotate(m_, e, AttrKey::Tile, "true") : nullptr;
        });
        return annotate(m_, now, AttrKey::Tile, kTile);
    }

    /// `interchanged` if `holds`, which is null if that is known.
    const Expr* guarded(const Expr* holds, const Expr* interchanged, For outer) {
        return holds ? if_(m_, holds, interchanged, fresh(m_, outer.node), outer.node->loc) : interchanged;
    }

    // ---- rows

    /// `result(for(..., merger, |d, n, i| merge(d, v)))` with `v` of one number, for each round of `outer`.
    For sum_in(For outer, const Expr* value) {
        const Result result = value->as<Result>();
        const For inner = result ? result.builder()->as<For>() : For{};
        const NewBuilder made = inner ? inner.builder()->as<NewBuilder>() : NewBuilder{};
        if (!made || made.kind() != BuilderKind::Merger || made.arg() ||
            !made.node->type->elem()->is_scalar())
            return {};
        if (!merges_once(inner)) return {};
        std::unordered_set<const Symbol*> bound;  // by the rounds before the sum is
        const Block b = outer.body().body()->as<Block>();
        for (const Symbol* s : b.symbols()) bound.insert(s);
        const std::vector<const Symbol*> read = free_symbols(inner.body().node);
        return std::ranges::none_of(read, [&](const Symbol* s) { return bound.contains(s); }) ? inner : For{};
    }

    struct Sums {
        const Symbol* name;
        For inner;
    };

    const Expr* by_rows(For outer) {
        const Block b = outer.body().body()->as<Block>();
        if (!b || (outer.builder()->op != Op::NewBuilder && outer.builder()->op != Op::Var)) return nullptr;
        std::vector<Sums> all;
        const Expr* holds = nullptr;
        for (std::size_t i = 0; i < b.size(); ++i) {
            const For inner = sum_in(outer, b.value(i));
            Pair pair{outer, inner};
            if (!inner || !find_condition(pair, kLeastRows)) continue;
            all.push_back({b.symbol(i), inner});
            holds = both(holds, pair.holds);
        }
        if (all.empty()) return nullptr;
        return guarded(holds, with_vectors(outer, all), outer);
    }

    const Expr* with_vectors(For outer, const std::vector<Sums>& all) {
        Lets lets;
        std::vector<const Expr*> data(outer.data().begin(), outer.data().end());
        for (const Sums& one : all) {
            const Expr* vector = sums(outer, one.inner, lets);
            const Symbol* name = m_.symbol("sums", vector->type);
            lets.emplace_back(name, vector);
            data.push_back(var(m_, name));
        }
        return block(m_, lets, over_sums(outer, all, data), outer.node->loc);
    }

    /// The sums of all columns, from rows.
    const Expr* sums(For outer, For inner, Lets& lets) {
        const Type* number = inner.builder()->type->elem();
        const MergeOp op = inner.builder()->type->op;
        const Type* elem[] = {number};
        const Symbol* start = m_.symbol("start", m_.types.vec(number));
        lets.emplace_back(start, all_equal(outer, literal(m_, number, identity_bits(op, number->scalar))));

        const Type* type = m_.types.builder(BuilderKind::VecMerger, elem, op);
        const Symbol *d = m_.symbol("d", type), *g = m_.symbol("g", type);
        const Symbol* o = m_.symbol(outer.index_param()->name, m_.types.i64());
        const Symbol* x = m_.symbol(outer.elem_param()->name, outer.elem_param()->type);
        const Expr* body = rewrite(m_, inner.body().body(), [&](const Expr* e) -> const Expr* {
            if (e->op != Op::Merge || !is_var(e->arg(0), inner.builder_param())) return nullptr;
            return merge(m_, var(m_, g), make_struct(m_, {var(m_, o), e->arg(1)}), nullptr, e->loc);
        });
        body = substitute(m_, body, {{outer.index_param(), var(m_, o)}, {outer.elem_param(), var(m_, x)}});
        const Expr* row = loop(m_, outer.data(), var(m_, d), lambda(m_, {g, o, x}, body), inner.node->loc);
        const Expr* f = lambda(m_, {d, inner.index_param(), inner.elem_param()}, row, inner.body().node->loc);
        const Expr* begin = new_builder(m_, type, var(m_, start));
        return result(m_, fresh(m_, loop(m_, inner.data(), begin, f, inner.node->loc)));
    }

    /// A vector of one number for each round of `outer`.
    const Expr* all_equal(For outer, const Expr* number) {
        const Type* elem[] = {number->type};
        const Type* type = m_.types.builder(BuilderKind::Appender, elem);
        const Symbol *b = m_.symbol("b", type), *o = m_.symbol("o", m_.types.i64());
        const Symbol* x = m_.symbol("x", outer.elem_param()->type);
        const Expr* f = lambda(m_, {b, o, x}, merge(m_, var(m_, b), number));
        return result(m_, loop(m_, outer.data(), new_builder(m_, type), f, outer.node->loc));
    }

    /// `outer` with the vectors among its data.
    const Expr* over_sums(For outer, const std::vector<Sums>& all, const std::vector<const Expr*>& data) {
        const std::size_t own = outer.data().size();
        std::vector<const Type*> types;
        for (const Expr* d : data) types.push_back(d->type->elem());
        const Symbol* z = m_.symbol("z", m_.types.structure(types));
        Lets lets;
        if (own == 1) lets.emplace_back(outer.elem_param(), get_field(m_, var(m_, z), 0));
        else {
            std::vector<const Expr*> parts;
            for (std::size_t i = 0; i < own; ++i) parts.push_back(get_field(m_, var(m_, z), i));
            lets.emplace_back(outer.elem_param(), make_struct(m_, parts));
        }
        const Block b = outer.body().body()->as<Block>();
        std::size_t k = 0;
        for (std::size_t i = 0; i < b.size(); ++i) {
            const bool is_sum = k < all.size() && all[k].name == b.symbol(i);
            lets.emplace_back(b.symbol(i), is_sum ? get_field(m_, var(m_, z), own + k++) : b.value(i));
        }
        const Expr* f = lambda(m_, {outer.builder_param(), outer.index_param(), z},
                               block(m_, lets, b.result()), outer.body().node->loc);
        return with_annotations(m_, loop(m_, data, outer.builder(), f, outer.node->loc),
                                outer.node->annotations);
    }

    Module& m_;
    Facts facts_;
};

}  // namespace

const Expr* strides(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    Interchanger interchanger(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) { return interchanger.interchanged(e); });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
