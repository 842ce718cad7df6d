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
// So do sums over windows, whose loops over rows have loops over a few columns inside:
//     for(rangeiter(k, c - k, 1L), b, |b, o, x|
//       let s = result(for(rangeiter(0L, w, 1L), merger[f64,+], |d, n, i|
//         for(rangeiter(0L, w, 1L), d, |e, n, j| merge(e, lookup(m, i * c + x + j)))));
//       merge(b, f(s)))
// becomes, with a condition, the same with
//     for(rangeiter(0L, w, 1L), vecmerger[f64,+](start), |d, n, i|
//       for(rangeiter(0L, w, 1L), d, |e, n, j|
//         for(rangeiter(k, c - k, 1L), e, |g, o, x| merge(g, {o, lookup(m, i * c + x + j)}))))
// in which neighbours lie side by side.
//
// Where a loop around the columns makes a few of these vectors, `products`, from the same long rows, all of
// them are made at once, while a row is in the cache:
//     for(rangeiter(0L, n, 1L), B, |b, p, i|
//       for(rangeiter(0L, c, 1L), b, |d, o, j|
//         let s = result(for(rangeiter(0L, r, 1L), merger[f64,+], |g, q, l|
//           merge(g, lookup(m, l * c + i) * lookup(m, l * c + j))));
//         merge(d, f(s))))
// becomes, if n * c is small and r * c is not,
//     let products = result(for(rangeiter(0L, r, 1L), vecmerger[f64,+](start), |d, q, l|
//       for(rangeiter(0L, n, 1L), d, |e, p, i|
//         let t = lookup(m, l * c + i);
//         for(rangeiter(0L, c, 1L), e, |g, o, j| merge(g, {p * c + o, t * lookup(m, l * c + j)})))));
//     for(rangeiter(0L, n, 1L), B, |b, p, i|
//       for(zip(rangeiter(0L, c, 1L), iter(products, p * c, p * c + c, 1L)), b, |d, o, z|
//         let s = z.$1; merge(d, f(s))))
//
// A vector of the elements by columns, which is the matrix transposed, goes on by tiles:
//     for(rangeiter(0L, c, 1L), appender[f64], |b, o, j|
//       for(rangeiter(0L, r, 1L), b, |d, n, i| merge(d, lookup(m, i * c + j))))
// becomes
//     if(..., @(tile:16) for(...), ... as before)
//
// so that lines of the cache are used up when they are there. Look-ups that go by rows and columns at once
// are marked, `@(tile:true) lookup(m, i * c + j)`: on lanes they are read as they lie, and transposed. Others
// may go along the inner loop beside them.
//
// The condition says that no lookup fails, if that is not known: then nobody can tell the order. The index
// has to be the counters of loops over rows times what stays the same (by the name of it), plus the outer
// counter, plus what stays the same; other lookups in the inner loops read at some of the counters in this
// way, or can't fail. What a sum reads of its round, beside the counters, may be looked up too, and is so in
// each row then:
//     let y = lookup(mean, j);
//     result(for(rangeiter(0L, r, 1L), merger[f64,+], |d, n, i| merge(d, lookup(m, i * c + j) - y)))
// Loops with calls of kernels that are not pure stay, and those that say `@(vectorize:false)`.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/scalar.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/matrix_loops.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

using matrix_loops::kLeastColumns, matrix_loops::kLeastRows, matrix_loops::kMostNodes,
    matrix_loops::kMostRounds;
constexpr std::string_view kTile =
    "16";  // so many lines of the nearest cache may be of rows that lie a power of two apart

constexpr std::int64_t kMostSums = 16384;        // that stay in the second-level cache beside some rows
constexpr std::int64_t kLeastElements = 262144;  // that don't

bool is_var(const Expr* e, const Symbol* s) { return e->op == Op::Var && e->attr.symbol == s; }

class Interchanger {
  public:
    Interchanger(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* interchanged(const Expr* e) {
        const For outer = e->as<For>();
        if (!outer || facts_.traits(e).size > kMostNodes || facts_.traits(e).calls) return nullptr;
        if (outer.node->says(AttrKey::Vectorize, false)) return nullptr;
        if (!std::ranges::all_of(outer.data(), [&](const Expr* d) { return is_repeatable(d); }))
            return nullptr;
        if (const For inner = plain_last_loop(outer)) return by_tiles(outer, inner);
        if (const Expr* now = all_at_once(outer)) return now;
        const Expr* now = by_rows(outer);
        if (now) went_by_rows_[now] = e;
        return now;
    }

  private:
    // ---- what strides

    bool is_repeatable(const Expr* datum) {
        const auto bound_is = [&](std::size_t k) { return facts_.traits(datum->arg(k)).free_to_repeat(); };
        return is_path(datum) || counts_from_zero(datum) ||
               (counts_by_one(datum) && bound_is(0) && bound_is(1));
    }

    static bool counts_by_one(const Expr* datum) {
        const Iter it = datum->as<Iter>();
        return it && it.shape().range && it.shape().kind == IterKind::Scalar && is_int(it.stride(), 1);
    }

    using Loops = std::vector<For>;  // each in the one before it

    /// Loops over rows in a loop over columns, and that no lookup of the innermost one fails, if `holds`
    /// does; null: none does anyway.
    struct Nest {
        For outer;
        Loops inner;
        Lets before = {};  ///< what they read of the round of the columns
        const Expr* holds = nullptr;
        bool strides = false;
        bool by_tiles = false;                   ///< so look-ups may go along the inner loop as well
        std::unordered_set<const Expr*> across;  ///< look-ups that go by both counters
        bool possible = true;                    ///< false: what would have to hold does not
    };

    /// Both conditions; null is one that holds.
    const Expr* both(const Expr* a, const Expr* b) {
        return a && b ? scalar_op(m_, Op::BitAnd, {a, b}) : a ? a : b;
    }

    /// `least <= most` has to hold.
    void demand(Nest& nest, const Expr* least, const Expr* most) {
        const std::optional<Count> a = facts_.count(least), b = facts_.count(most);
        if (a && b && a->known() && b->known()) {
            nest.possible &= *a->known() <= *b->known();
            return;
        }
        const bool bounds_below = least->op == Op::Literal;  // then it is written as `most >= least`
        nest.holds = both(nest.holds, bounds_below ? scalar_op(m_, Op::Ge, {most, least})
                                                   : scalar_op(m_, Op::Le, {least, most}));
    }

    const Expr* i64(std::int64_t n) { return int_literal(m_, m_.types.i64(), n); }
    const Expr* product(const Expr* a, const Expr* b) {
        const Literal x = a->as<Literal>(), y = b->as<Literal>();
        return x && y ? i64(x.as_int() * y.as_int()) : scalar_op(m_, Op::Mul, {a, b});
    }

    /// The condition under which the body of the innermost loop cannot fail; false if there is none.
    bool find_condition(Nest& nest, std::int64_t least_rows) {
        const BoundNames inside(nest.outer.node);
        const auto is_fixed = [&](const Expr* e) { return !inside.are_read_by(e); };
        if (!facts_.lengths_agree(nest.outer.data())) return false;
        for (const For inner : nest.inner) {
            if (!std::ranges::all_of(inner.data(), [&](const Expr* d) { return is_repeatable(d); }))
                return false;
            if (!std::ranges::all_of(inner.data(), is_fixed) || !facts_.lengths_agree(inner.data()))
                return false;
        }
        const Expr* columns = trip_count(m_, nest.outer.data()[0]);
        demand(nest, i64(kLeastColumns), columns);
        demand(nest, columns, i64(kMostRounds));
        // what may fail is asked only if the outer loop runs at all
        const Expr* runs = nullptr;
        std::vector<const Expr*> rows;
        for (const For inner : nest.inner) rows.push_back(trip_count(m_, inner.data()[0]));
        if (std::ranges::any_of(rows, [&](const Expr* n) { return facts_.traits(n).fails; })) {
            if (rows.size() > 1) return false;  // nor if the loop around it does not
            runs = std::exchange(nest.holds, nullptr);
        }
        for (auto n = rows.begin(); n != rows.end(); ++n) {
            if (std::any_of(rows.begin(), n, [&](const Expr* other) { return same(other, *n); })) continue;
            demand(nest, i64(least_rows), *n);
            demand(nest, *n, i64(kMostRounds));
        }
        const auto is_of_loop = [&](const Expr* e) {  // which is demanded to run
            return std::ranges::any_of(nest.inner, [&](For f) {
                return e == f.node || std::ranges::find(f.data(), e) != f.data().end();
            });
        };
        bool ok = nest.possible;
        const auto look = [&](const Expr* e) {
            if (!ok) return;
            const Traits t = facts_.own_traits(e);
            const bool may_fail = t.fails || t.ordered;
            const Lookup at = e->as<Lookup>();
            if ((!may_fail && !at) || is_of_loop(e)) return;
            const std::optional<Place> place = at ? place_of(nest, at, is_fixed) : std::nullopt;
            if (place) note_strides(nest, at, *place);
            if (may_fail) ok = place && demand_inside(nest, at, columns, rows, *place);
        };
        for (const auto& [name, value] : nest.before) visit(value, look);
        visit(nest.inner.front().body().body(), look);
        if (runs) nest.holds = nest.holds ? scalar_op(m_, Op::And, {runs, nest.holds}) : runs;
        return ok && nest.possible && nest.strides;
    }

    /// A name of a count, by the index of the loop whose counter it is, if it is one.
    std::optional<Count> by_index(const Nest& nest, const Expr* name) {
        if (name->op == Op::Len) return Count(name);
        const auto has_elem = [&](For f) { return base_of(name) == f.elem_param(); };
        const auto inner = std::ranges::find_if(nest.inner, has_elem);
        const For loop = inner != nest.inner.end() ? *inner : nest.outer;
        const bool zips = loop.data().size() > 1;
        if (!has_elem(loop) || (zips && (name->op != Op::GetField || name->arg(0)->op != Op::Var)))
            return Count(name);
        const Expr* datum = loop.data()[zips ? name->attr.index : 0];
        if (!counts_by_one(datum)) return Count(name);
        return plus(facts_.count(datum->as<Iter>().start()), facts_.count(var(m_, loop.index_param())));
    }

    std::optional<Count> by_indices(const Nest& nest, const Count& n) {
        std::optional<Count> all = Count();
        for (const Count::Product& p : n.sum()) {
            std::optional<Count> product = Count(p.factor);
            for (const Expr* name : p.of) product = times(product, by_index(nest, name));
            all = plus(all, product);
        }
        return all;
    }

    /// Where a look-up reads: at `offset`, plus each loop's counter times its stride, where it has one.
    struct Place {
        std::vector<const Expr*> strides;  ///< of the inner loops, and of the columns, at the end
        Count offset;
    };

    /// Of look-ups in vectors that stay the same, one by one along the columns, or else along the inner loop.
    template <class IsFixed>
    std::optional<Place> place_of(const Nest& nest, Lookup at, IsFixed is_fixed) {
        if (!is_path(at.of()) || !at.of()->type->is_vec() || !is_fixed(at.of())) return {};
        const std::optional<Count> written_key = facts_.count(at.key());
        const std::optional<Count> key = written_key ? by_indices(nest, *written_key) : std::nullopt;
        if (!key) return {};
        Place place{std::vector<const Expr*>(nest.inner.size() + 1), {}};
        const auto counter_of = [&](const Expr* name) -> const Expr** {
            for (std::size_t k = 0; k < nest.inner.size(); ++k)
                if (is_var(name, nest.inner[k].index_param())) return &place.strides[k];
            return is_var(name, nest.outer.index_param()) ? &place.strides.back() : nullptr;
        };
        for (const Count::Product& p : key->sum()) {
            const Expr *others = nullptr, **stride = nullptr;
            for (const Expr* name : p.of) {
                const Expr** counts = counter_of(name);
                if (counts ? stride != nullptr : !is_fixed(name)) return {};
                if (counts) stride = counts;
                else others = others ? scalar_op(m_, Op::Mul, {others, name}) : name;
            }
            if (!stride) {
                place.offset = place.offset + Count(p);
                continue;
            }
            if (*stride || (others && (p.factor != 1 || others->op == Op::Mul))) return {};
            if (!others && p.factor < 0) return {};
            *stride = others ? others : i64(p.factor);
        }
        const Expr* by_column = place.strides.back();
        const bool goes_along = nest.by_tiles && (!place.strides[0] || is_int(place.strides[0], 1));
        if (by_column && !is_int(by_column, 1) && !goes_along) return {};
        return place;
    }

    static void note_strides(Nest& nest, Lookup at, const Place& place) {
        const auto is_long = [](const Expr* stride) { return stride && !is_int(stride, 1); };
        const Expr* by_column = place.strides.back();
        if (!by_column || !is_int(by_column, 1) || std::ranges::none_of(place.strides, is_long)) return;
        nest.strides = true;
        if (at.node->type->is_scalar()) nest.across.insert(at.node);
    }

    /// All that is found lies in the vector.
    bool demand_inside(Nest& nest, Lookup at, const Expr* columns, const std::vector<const Expr*>& rows,
                       const Place& place) {
        const Expr* length = len(m_, at.of());
        if (!(place.offset == Count())) {
            const Expr* start = written(m_, place.offset);
            demand(nest, i64(0), start);
            length = scalar_op(m_, Op::Sub, {length, start});
        }
        if (const Expr* stride = place.strides.back(); stride && !is_int(stride, 1)) {
            demand(nest, i64(0), stride);
            demand(nest, stride, i64(kMostRounds));
            const Expr* before = product(scalar_op(m_, Op::Sub, {columns, i64(1)}), stride);
            const Expr* in_row = place.strides[0] ? rows[0] : i64(1);
            demand(nest, scalar_op(m_, Op::Add, {before, in_row}), length);
            return nest.possible;
        }
        const Expr* reach = place.strides.back() ? columns : i64(1);
        for (std::size_t k = rows.size(); k-- > 0;) {
            const Expr* stride = place.strides[k];
            if (!stride) continue;
            if (!is_int(stride, 1) && !same(stride, columns)) {
                demand(nest, i64(0), stride);
                demand(nest, stride, i64(kMostRounds));
            }
            if (is_int(reach, 1) && is_int(stride, 1)) {
                reach = rows[k];
            } else if (reach == columns && same(stride, columns)) {
                reach = product(rows[k], stride);
            } else {
                const Expr* before = scalar_op(m_, Op::Sub, {rows[k], i64(1)});
                reach = scalar_op(m_, Op::Add, {is_int(stride, 1) ? before : product(before, stride), reach});
            }
        }
        demand(nest, reach, length);
        return nest.possible;
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
        Nest nest{.outer = outer, .inner = {inner}, .by_tiles = true};
        if (!find_condition(nest, 0)) return nullptr;
        return guarded(nest.holds, tiled(nest), outer);
    }

    /// The loop with the number of rounds of the inner one, which is known before it, as its size.
    const Expr* tiled(const Nest& nest) {
        const Expr* start = nest.outer.builder();
        const Expr* sized = new_builder(m_, start->type, trip_count(m_, nest.inner[0].data()[0]), start->loc);
        sized = annotate(m_, with_annotations(m_, sized, start->annotations), AttrKey::Size, "given");
        const Expr* now = rewrite(m_, nest.outer.node, [&](const Expr* e) -> const Expr* {
            if (e == start) return sized;
            return nest.across.contains(e) ? annotate(m_, e, AttrKey::Tile, "true") : nullptr;
        });
        return annotate(m_, now, AttrKey::Tile, kTile);
    }

    /// `interchanged` if `holds`, which is null if that is known.
    const Expr* guarded(const Expr* holds, const Expr* interchanged, For outer) {
        return holds ? if_(m_, holds, interchanged, fresh(m_, outer.node), outer.node->loc) : interchanged;
    }

    // ---- rows

    /// A sum for each round of a loop over columns.
    struct Sums {
        const Symbol* name;
        Loops inner;
        Lets before;  ///< names of the round that it reads
    };

    /// `result(for(..., merger, |d, n, i| merge(d, v)))` with `v` of one number, for each round of `outer`,
    /// or with loops in that loop, of which the innermost one merges.
    std::optional<Sums> sum_in(For outer, const Symbol* name, const Expr* value) {
        const Result result = value->as<Result>();
        For inner = result ? result.builder()->as<For>() : For{};
        const NewBuilder made = inner ? inner.builder()->as<NewBuilder>() : NewBuilder{};
        if (!made || made.kind() != BuilderKind::Merger || made.arg() ||
            !made.node->type->elem()->is_scalar())
            return {};
        Sums sum{name, {inner}, read_of_round(outer.body().body()->as<Block>(), inner.body().node)};
        if (!std::ranges::all_of(sum.before, [&](const auto& l) { return only_looks_up(l.second); }))
            return {};
        for (; !merges_once(inner); sum.inner.push_back(inner)) {
            const For next = plain_last_loop(inner);
            if (!next || !is_var(next.builder(), inner.builder_param())) return {};
            inner = next;
        }
        return sum;
    }

    /// The names of `round` that `e` reads, and those that their values read.
    static Lets read_of_round(Block round, const Expr* e) {
        std::unordered_set<const Symbol*> read;
        const auto add = [&](const Expr* value) {
            for (const Symbol* s : free_symbols(value)) read.insert(s);
        };
        add(e);
        Lets found;
        for (std::size_t i = round.size(); i-- > 0;) {
            if (!read.contains(round.symbol(i))) continue;
            found.emplace_back(round.symbol(i), round.value(i));
            add(round.value(i));
        }
        std::ranges::reverse(found);
        return found;
    }

    /// It is looked up, or made of a few operations: in each row again it costs little.
    bool only_looks_up(const Expr* value) {
        bool ok = true;
        visit(value, [&](const Expr* e) {
            const Traits t = facts_.own_traits(e);
            ok &= e->op == Op::Lookup || (!t.costly && !t.heavy && t.free_to_repeat());
        });
        return ok;
    }

    const Expr* by_rows(For outer) {
        const Block b = outer.body().body()->as<Block>();
        if (!b || (outer.builder()->op != Op::NewBuilder && outer.builder()->op != Op::Var)) return nullptr;
        std::vector<Sums> all;
        const Expr* holds = nullptr;
        for (std::size_t i = 0; i < b.size(); ++i) {
            std::optional<Sums> sum = sum_in(outer, b.symbol(i), b.value(i));
            if (!sum) continue;
            Nest nest{outer, sum->inner, sum->before};
            const bool is_window = nest.inner.size() > 1;
            if (!find_condition(nest, is_window ? 1 : kLeastRows)) continue;
            all.push_back(std::move(*sum));
            holds = both(holds, nest.holds);
        }
        if (all.empty()) return nullptr;
        return guarded(holds, with_vectors(outer, all), outer);
    }

    // ---- all vectors of sums at once

    /// The loop that `outer` ends with, before it went by rows.
    For loop_by_rows_in(For outer) {
        const Expr* end = outer.body().body();
        if (const Block b = end->as<Block>()) end = b.result();
        const auto at = went_by_rows_.find(end);
        return at == went_by_rows_.end() ? For{} : For{{at->second}};
    }

    /// `outer` has a loop over columns inside, which makes one sum in each round, and goes over the same
    /// always.
    const Expr* all_at_once(For outer) {
        const For columns = loop_by_rows_in(outer);
        if (!columns || !is_var(columns.builder(), outer.builder_param())) return nullptr;
        if (outer.builder()->op != Op::NewBuilder && outer.builder()->op != Op::Var) return nullptr;
        const Block b = columns.body().body()->as<Block>(), around = outer.body().body()->as<Block>();
        const auto is_plain = [&](const Expr* v) {
            return !v->type->holds_builder && !facts_.traits(v).heavy && facts_.traits(v).free_to_repeat();
        };
        if (!std::ranges::all_of(around ? around.values() : Args(), is_plain)) return nullptr;
        std::optional<Sums> sum;
        for (std::size_t i = 0; i < b.size(); ++i) {
            std::optional<Sums> one = sum_in(columns, b.symbol(i), b.value(i));
            if (!one) continue;
            if (sum || one->inner.size() > 1 || !one->before.empty()) return nullptr;
            sum = std::move(one);
        }
        const BoundNames inside(outer.node);
        const auto varies = [&](const Expr* d) { return inside.are_read_by(d); };
        if (!sum || std::ranges::any_of(columns.data(), varies) ||
            std::ranges::any_of(sum->inner[0].data(), varies))
            return nullptr;
        Nest nest{columns, {sum->inner[0], outer}};
        if (!find_condition(nest, 1)) return nullptr;
        const Expr *n = trip_count(m_, outer.data()[0]), *c = trip_count(m_, columns.data()[0]),
                   *r = trip_count(m_, sum->inner[0].data()[0]);
        if (same(n, r)) return nullptr;  // not few sums of many rows
        demand(nest, product(n, c), i64(kMostSums));
        demand(nest, i64(kLeastElements), product(r, c));
        return nest.possible ? guarded(nest.holds, from_rows(outer, columns, *sum), outer) : nullptr;
    }

    const Expr* from_rows(For outer, For columns, const Sums& sum) {
        const Expr *n = trip_count(m_, outer.data()[0]), *c = trip_count(m_, columns.data()[0]);
        const For rows = sum.inner[0];
        const Type *builder = rows.builder()->type, *number = builder->elem();
        Lets lets;
        const Expr* places = range_iter(m_, IterKind::Scalar, i64(0), product(n, c), i64(1));
        const Expr* start = all_equal(
            {&places, 1}, literal(m_, number, identity_bits(builder->op, number->scalar)), outer.node->loc);
        const Symbol* start_name = m_.symbol("start", start->type);
        lets.emplace_back(start_name, start);
        const Type* elem[] = {number};
        const Type* type = m_.types.builder(BuilderKind::VecMerger, elem, builder->op);
        const Expr* begin = new_builder(m_, type, var(m_, start_name));
        const Expr* all = result(m_, fresh(m_, products_of_rows(outer, columns, rows, begin, c)));
        const Symbol* products = m_.symbol("products", all->type);
        lets.emplace_back(products, all);

        const Symbol* first = m_.symbol("first", m_.types.i64());
        const Expr* bounds[] = {var(m_, first), scalar_op(m_, Op::Add, {var(m_, first), c}), i64(1)};
        std::vector<const Expr*> data = from_zero(columns.data());
        data.push_back(iter(m_, IterKind::Scalar, var(m_, products), bounds));
        Lets inside;
        if (const Block around = outer.body().body()->as<Block>())
            for (std::size_t i = 0; i < around.size(); ++i)
                inside.emplace_back(around.symbol(i), around.value(i));
        inside.emplace_back(first, product(var(m_, outer.index_param()), c));
        const Expr* body = block(m_, inside, over_sums(columns, {sum}, data));
        const Lambda was = outer.body();
        std::vector<const Expr*> args(outer.node->args().begin(), outer.node->args().end());
        args[1] = lambda(m_, was.params(), body, was.node->loc);
        return block(m_, lets, with_args(m_, outer.node, args), outer.node->loc);
    }

    /// The loops over rows, over the rounds of `outer`, and over columns.
    const Expr* products_of_rows(For outer, For columns, For rows, const Expr* begin, const Expr* c) {
        const Symbol *d = m_.symbol("d", begin->type), *e = m_.symbol("e", begin->type);
        const Symbol* p = outer.index_param();
        const Symbol *x = m_.symbol(rows.elem_param()->name, rows.elem_param()->type),
                     *y = m_.symbol(outer.elem_param()->name, outer.elem_param()->type);
        std::unordered_set<const Symbol*> by_round = {outer.index_param(), outer.elem_param()},
                                          by_column = {columns.index_param(), columns.elem_param()};
        Lets in_row, in_round, in_column;
        in_row.emplace_back(rows.elem_param(), elem_of(rows.data(), var(m_, rows.index_param()), var(m_, x)));
        in_round.emplace_back(outer.elem_param(), elem_of(outer.data(), var(m_, p), var(m_, y)));
        const auto read = [&](const Expr* v, const std::unordered_set<const Symbol*>& names) {
            return std::ranges::any_of(free_symbols(v), [&](const Symbol* s) { return names.contains(s); });
        };
        const auto place = [&](Block b) {
            for (std::size_t i = 0; b && i < b.size(); ++i) {
                const bool of_column = read(b.value(i), by_column), of_round = read(b.value(i), by_round);
                (of_column ? in_column : of_round ? in_round : in_row).emplace_back(b.symbol(i), b.value(i));
                if (of_column) by_column.insert(b.symbol(i));
                else if (of_round) by_round.insert(b.symbol(i));
            }
        };
        place(outer.body().body()->as<Block>());
        const Expr* end = rows.body().body();
        place(end->as<Block>());
        if (const Block b = end->as<Block>()) end = b.result();
        end = with_row_lookups_before(end, by_column, in_round);
        const Symbol* first = m_.symbol("first", m_.types.i64());
        in_round.emplace_back(first, product(var(m_, p), c));
        const Expr* inner = row_of(columns, end->as<Merge>(), e, in_column, var(m_, first));
        const Expr* middle = loop(m_, from_zero(outer.data()), var(m_, d),
                                  lambda(m_, {e, p, y}, block(m_, in_round, inner)), outer.node->loc);
        return loop(m_, from_zero(rows.data()), begin,
                    lambda(m_, {d, rows.index_param(), x}, block(m_, in_row, middle), rows.body().node->loc),
                    rows.node->loc);
    }

    static bool is_shifted(const Expr* datum) { return counts_by_one(datum) && !counts_from_zero(datum); }

    /// The data of a loop with ranges that begin at 0, and so cannot fail and can be cut.
    std::vector<const Expr*> from_zero(Args data) {
        std::vector<const Expr*> now(data.begin(), data.end());
        for (const Expr*& d : now)
            if (is_shifted(d))
                d = range_iter(m_, IterKind::Scalar, i64(0), trip_count(m_, d), i64(1), 0, d->loc);
        return now;
    }

    /// The element of the data as they were, where `elem` is that of the data from zero.
    const Expr* elem_of(Args data, const Expr* index, const Expr* elem) {
        if (std::ranges::none_of(data, is_shifted)) return elem;
        std::vector<const Expr*> parts;
        for (std::size_t i = 0; i < data.size(); ++i)
            parts.push_back(is_shifted(data[i]) ? scalar_op(m_, Op::Add, {data[i]->as<Iter>().start(), index})
                            : data.size() == 1  ? elem
                                                : get_field(m_, elem, i));
        return parts.size() == 1 ? parts[0] : make_struct(m_, parts);
    }

    const Expr* with_vectors(For outer, const std::vector<Sums>& all) {
        Lets lets;
        std::vector<const Expr*> data = from_zero(outer.data());
        for (const Sums& one : all) {
            const Expr* vector = sums(outer, one, lets);
            const Symbol* name = m_.symbol("sums", vector->type);
            lets.emplace_back(name, vector);
            data.push_back(var(m_, name));
        }
        return block(m_, lets, over_sums(outer, all, data), outer.node->loc);
    }

    /// The sums of all columns, from rows.
    const Expr* sums(For outer, const Sums& one, Lets& lets) {
        const Type* builder = one.inner.front().builder()->type;
        const Type* number = builder->elem();
        const Type* elem[] = {number};
        const Symbol* start = m_.symbol("start", m_.types.vec(number));
        const Expr* least = literal(m_, number, identity_bits(builder->op, number->scalar));
        lets.emplace_back(start, all_equal(outer.data(), least, outer.node->loc));

        const Type* type = m_.types.builder(BuilderKind::VecMerger, elem, builder->op);
        const Expr* begin = new_builder(m_, type, var(m_, start));
        std::unordered_set<const Symbol*> by_column = {outer.index_param(), outer.elem_param()};
        for (const auto& [name, value] : one.before) by_column.insert(name);
        return result(m_,
                      fresh(m_, with_row_inside(outer, one.inner, begin, one.before, std::move(by_column))));
    }

    /// Loops over rows on `builder`, and the loop over columns in the innermost one. What is bound in them
    /// and depends on the column goes there: `in_row`, by `by_column`.
    const Expr* with_row_inside(For outer, std::span<const For> inner, const Expr* builder, Lets in_row,
                                std::unordered_set<const Symbol*> by_column) {
        const For f = inner.front();
        const Symbol *d = m_.symbol("d", builder->type), *x = f.elem_param();
        Lets lets;
        if (std::ranges::any_of(f.data(), is_shifted)) {
            x = m_.symbol(x->name, x->type);
            lets.emplace_back(f.elem_param(), elem_of(f.data(), var(m_, f.index_param()), var(m_, x)));
        }
        const Expr* end = f.body().body();
        if (const Block b = end->as<Block>()) {
            end = b.result();
            for (std::size_t i = 0; i < b.size(); ++i) {
                const std::vector<const Symbol*> read = free_symbols(b.value(i));
                const bool moves =
                    std::ranges::any_of(read, [&](const Symbol* s) { return by_column.contains(s); });
                if (moves) by_column.insert(b.symbol(i));
                (moves ? in_row : lets).emplace_back(b.symbol(i), b.value(i));
            }
        }
        if (inner.size() == 1) end = with_row_lookups_before(end, by_column, lets);
        const Expr* now = inner.size() == 1 ? row_of(outer, end->as<Merge>(), d, in_row)
                                            : with_row_inside(outer, inner.subspan(1), var(m_, d),
                                                              std::move(in_row), std::move(by_column));
        const Symbol* params[] = {d, f.index_param(), x};
        return loop(m_, from_zero(f.data()), builder,
                    lambda(m_, params, block(m_, lets, now), f.body().node->loc), f.node->loc);
    }

    /// What is looked up in any case, and is the same for all columns, is so once for a row. It cannot fail.
    const Expr* with_row_lookups_before(const Expr* e, const std::unordered_set<const Symbol*>& by_column,
                                        Lets& lets) {
        if (e->op == Op::Lookup) {
            const std::vector<const Symbol*> read = free_symbols(e);
            if (std::ranges::any_of(read, [&](const Symbol* s) { return by_column.contains(s); })) return e;
            const Symbol* name = m_.symbol("t", e->type);
            lets.emplace_back(name, e);
            return var(m_, name);
        }
        return map_args(m_, e, [&](const Expr* a, std::size_t i) {
            return is_lazy_arg(e, i) ? a : with_row_lookups_before(a, by_column, lets);
        });
    }

    /// The loop over columns, which merges for each what `one` merges for it, after `lets`.
    /// They go to the places from `first` on (null: 0).
    const Expr* row_of(For outer, Merge one, const Symbol* builder, const Lets& lets,
                       const Expr* first = nullptr) {
        const Symbol* g = m_.symbol("g", builder->type);
        const Symbol* o = m_.symbol(outer.index_param()->name, m_.types.i64());
        const Symbol* x = m_.symbol(outer.elem_param()->name, outer.elem_param()->type);
        const Expr* place = first ? scalar_op(m_, Op::Add, {first, var(m_, o)}) : var(m_, o);
        const Expr* sum =
            merge(m_, var(m_, g), make_struct(m_, {place, one.value()}), nullptr, one.node->loc);
        const Expr* body = substitute(m_, block(m_, lets, sum),
                                      {{outer.index_param(), var(m_, o)},
                                       {outer.elem_param(), elem_of(outer.data(), var(m_, o), var(m_, x))}});
        return loop(m_, from_zero(outer.data()), var(m_, builder), lambda(m_, {g, o, x}, body),
                    one.node->loc);
    }

    /// A vector of one number for each round of a loop over `data`.
    const Expr* all_equal(Args data, const Expr* number, Loc loc) {
        const Type* elem[] = {number->type};
        const Type* type = m_.types.builder(BuilderKind::Appender, elem);
        const Symbol *b = m_.symbol("b", type), *o = m_.symbol("o", m_.types.i64());
        const std::vector<const Expr*> rounds = from_zero(data);
        std::vector<const Type*> types;
        for (const Expr* d : rounds) types.push_back(d->type->elem());
        const Symbol* x = m_.symbol("x", types.size() == 1 ? types[0] : m_.types.structure(types));
        const Expr* f = lambda(m_, {b, o, x}, merge(m_, var(m_, b), number));
        return result(m_, loop(m_, rounds, new_builder(m_, type), f, loc));
    }

    /// `outer` with the vectors among its data.
    const Expr* over_sums(For outer, const std::vector<Sums>& all, const std::vector<const Expr*>& data) {
        const std::size_t own = outer.data().size();
        std::vector<const Type*> types;
        for (const Expr* d : data) types.push_back(d->type->elem());
        const Symbol* z = m_.symbol("z", m_.types.structure(types));
        const Expr* elem = get_field(m_, var(m_, z), 0);
        if (own > 1) {
            std::vector<const Expr*> parts;
            for (std::size_t i = 0; i < own; ++i) parts.push_back(get_field(m_, var(m_, z), i));
            elem = make_struct(m_, parts);
        }
        Lets lets;
        lets.emplace_back(outer.elem_param(), elem_of(outer.data(), var(m_, outer.index_param()), elem));
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
    std::unordered_map<const Expr*, const Expr*> went_by_rows_;  ///< the loops that they were
};

}  // namespace

const Expr* strides(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    Interchanger interchanger(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) { return interchanger.interchanged(e); });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
