// Loops in which an inner loop strides through a matrix go along its rows instead.
//
// Sums of columns become vectors of sums, into which all rows are merged (sums_by_rows.cpp has the pictures):
//     for(rangeiter(0L, c, 1L), appender[f64], |b, o, j|
//       let s = result(for(rangeiter(0L, r, 1L), merger[f64,+], |d, n, i| merge(d, lookup(m, i * c + j))));
//       merge(b, f(s)))
// becomes
//     if(c >= 8L & c <= 2147483648L & r >= 32L & r <= 2147483648L & r * c <= len(m),
//       ... rows merged into a vecmerger,
//       ... as before)
// So do sums of columns of vectors of rows, `lookup(lookup(m, i), j)`, if the shortest of the rows is long enough; sums
// over windows of columns; and all sums for pairs of columns at once, if they are few and the rows are long.
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
// The condition says that no look-up fails, if that is not known (strided_nest.h says of which). Loops with
// calls of kernels that are not pure stay, and those that say `@(vectorize:false)`.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/matrix_loops.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/strided_nest.h"
#include "weldir/passes/sums_by_rows.h"

namespace weld {

namespace {

using matrix_loops::kLeastRows, matrix_loops::kMostNodes;
// so many lines of the nearest cache may be of rows that lie a power of two apart
constexpr std::string_view kTile = "16";

constexpr std::int64_t kMostSums = 16384;        // that stay in the second-level cache beside some rows
constexpr std::int64_t kLeastElements = 262144;  // that don't

class Interchanger {
  public:
    Interchanger(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* interchanged(const Expr* e) {
        const For outer = e->as<For>();
        if (!outer || facts_.traits(e).size > kMostNodes || facts_.traits(e).calls) return nullptr;
        if (outer.node->says(AttrKey::Vectorize, false)) return nullptr;
        if (!std::ranges::all_of(outer.data(), [&](const Expr* d) { return is_repeatable(facts_, d); }))
            return nullptr;
        if (const For inner = plain_last_loop(outer)) return by_tiles(outer, inner);
        if (const Expr* now = all_at_once(outer)) return now;
        const Expr* now = by_rows(outer);
        if (now) went_by_rows_[now] = e;
        return now;
    }

  private:
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
        StridedNest nest(m_, facts_, outer, {inner}, {}, true);
        if (!nest.find_condition(0)) return nullptr;
        return guarded(nest.condition(), tiled(outer, inner, nest), outer);
    }

    /// The loop with the number of rounds of the inner one, which is known before it, as its size.
    const Expr* tiled(For outer, For inner, const StridedNest& nest) {
        const Expr* start = outer.builder();
        const Expr* sized = new_builder(m_, start->type, trip_count(m_, inner.data()[0]), start->loc);
        sized = annotate(m_, with_annotations(m_, sized, start->annotations), AttrKey::Size, "given");
        const Expr* now = rewrite(m_, outer.node, [&](const Expr* e) -> const Expr* {
            if (e == start) return sized;
            return nest.goes_across(e) ? annotate(m_, e, AttrKey::Tile, "true") : nullptr;
        });
        return annotate(m_, now, AttrKey::Tile, kTile);
    }

    /// `interchanged` if `holds`, which is null if that is known.
    const Expr* guarded(const Expr* holds, const Expr* interchanged, For outer) {
        return holds ? if_(m_, holds, interchanged, fresh(m_, outer.node), outer.node->loc) : interchanged;
    }

    // ---- rows

    /// `result(for(..., merger, |d, n, i| merge(d, v)))` with `v` of one number, for each round of `outer`,
    /// or with loops in that loop, of which the innermost one merges.
    std::optional<ColumnSum> sum_in(For outer, const Symbol* name, const Expr* value) {
        const Result result = value->as<Result>();
        For inner = result ? result.builder()->as<For>() : For{};
        const NewBuilder made = inner ? inner.builder()->as<NewBuilder>() : NewBuilder{};
        if (!made || made.kind() != BuilderKind::Merger || made.arg() ||
            !made.node->type->elem()->is_scalar())
            return {};
        ColumnSum sum{name, {inner}, read_of_round(outer.body().body()->as<Block>(), inner.body().node)};
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
        std::vector<ColumnSum> all;
        const Expr* holds = nullptr;
        for (std::size_t i = 0; i < b.size(); ++i) {
            std::optional<ColumnSum> sum = sum_in(outer, b.symbol(i), b.value(i));
            if (!sum) continue;
            StridedNest nest(m_, facts_, outer, sum->inner, sum->before);
            const bool is_window = sum->inner.size() > 1;
            if (!nest.find_condition(is_window ? 1 : kLeastRows)) continue;
            all.push_back(std::move(*sum));
            holds = both(m_, holds, nest.condition());
        }
        if (all.empty()) return nullptr;
        return guarded(holds, with_sums_by_rows(m_, outer, all), outer);
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
        std::optional<ColumnSum> sum;
        for (std::size_t i = 0; i < b.size(); ++i) {
            std::optional<ColumnSum> one = sum_in(columns, b.symbol(i), b.value(i));
            if (!one) continue;
            if (sum || one->inner.size() > 1 || !one->before.empty()) return nullptr;
            sum = std::move(one);
        }
        const BoundNames inside(outer.node);
        const auto varies = [&](const Expr* d) { return inside.are_read_by(d); };
        if (!sum || std::ranges::any_of(columns.data(), varies) ||
            std::ranges::any_of(sum->inner[0].data(), varies))
            return nullptr;
        StridedNest nest(m_, facts_, columns, {sum->inner[0], outer});
        if (!nest.find_condition(1)) return nullptr;
        const Expr *n = trip_count(m_, outer.data()[0]), *c = trip_count(m_, columns.data()[0]),
                   *r = trip_count(m_, sum->inner[0].data()[0]);
        if (same(n, r)) return nullptr;  // not few sums of many rows
        if (!nest.demand(product_of(m_, n, c), i64_literal(m_, kMostSums)) ||
            !nest.demand(i64_literal(m_, kLeastElements), product_of(m_, r, c)))
            return nullptr;
        if (nest.condition() && inside.are_read_by(nest.condition())) return nullptr;  // it is asked outside
        return guarded(nest.condition(), with_products_by_rows(m_, outer, columns, *sum), outer);
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
