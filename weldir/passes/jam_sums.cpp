// Loops over rows that make a sum or two of each row take four rows at a time (unroll and jam).
//
//     for(rows, appender[f64], |b, i, row|
//       let s = result(for(zip(row, v), merger[f64,+], |d, j, e| merge(d, e.$0 * e.$1)));
//       merge(b, f(s)))
// becomes
//     let groups = if(len(rows) > 0L, if(is_long_or_short(lookup(rows, 0L)) & ..., len(rows) / 4L, 0L), 0L);
//     for(iter(rows, groups * 4L, len(rows), 1L),
//       for(rangeiter(0L, groups, 1L), appender[f64], |b, o, y|
//         let first = y * 4L;
//         let x = lookup(rows, first);
//         let x2 = lookup(rows, first + 1L);
//         ...
//         if(is_long_or_short(x) & len(x) == len(x2) & ...,
//           (let sums = @(accumulators:1) for(zip(x, x2, x3, x4, v), {merger[f64,+], ...}, |d, j, e|
//              {merge(d.$0, e.$0 * e.$4), merge(d.$1, e.$1 * e.$4), ...});
//            let s = result(sums.$0);
//            let b2 = merge(b, f(s));
//            ...
//            merge(b4, f(s4))),
//           for(iter(rows, first, first + 4L, 1L), b, ... as before))),
//       |b, i, row| ... as before)
//
// Four long rows read what they share, `v`, once, and memory at four places. Rows of less than some pages are better
// read one after the other, as they lie, since the processor does not know in time that there are four; but not short
// ones, which are over before they have begun: four are asked once, and the lanes of their sums are combined together. Still shorter
// ones go side by side (vectorize-outer). Rows of different lengths go one by one: the first, the one in the middle
// and the last tell.
//
// Rows of a flat matrix, which follow each other at one distance, are not asked in groups: how many of them lie inside is asked
// before the loop (rows_inside.h), and as many go by fours.
//
// Rows are vectors among the elements, or iterators or slices that begin elsewhere in each round. Windows, of which the next one
// begins an element behind, are taken only if they are long. What is done for an element cannot fail, and what is done with the
// sum, or with both sums, holds no loop, nor fails if rows may. Of loops in loops those are taken that are all that the loop
// around does (sums for all pairs of rows), or whose loop around goes over blocks of their rounds; others stay: their rows may be
// in the cache already, and vectorize-outer takes several at a time.
#include <algorithm>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/cheap.h"
#include "weldir/passes/cost.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/round_groups.h"
#include "weldir/passes/rows_inside.h"
#include "weldir/passes/subrange.h"

namespace weld {

namespace {

constexpr std::int64_t kLeastBytes = 16384;     // of a long row
constexpr std::int64_t kMostShortBytes = 1024;  // of a short one that shares something
constexpr std::int64_t kMostAloneBytes = 384;   // of another: longer ones are summed as fast as memory gives
// Of a short one that comes from memory, since four longer ones at a time are over before a processor sees them coming; and of
// all rows that a cache holds.
constexpr std::int64_t kMostFarBytes = 192, kNearBytes = 4 << 20;
constexpr std::int64_t kShortest = 13;        // elements; fewer go side by side (vectorize-outer)
constexpr std::int64_t kShortestFlat = 8;     // of rows of a flat matrix of numbers of 8 bytes
constexpr std::int64_t kShortestCostly = 17;  // where what follows takes long, which lanes do at once
constexpr std::int64_t kCostly = 2000;        // picoseconds
constexpr std::uint32_t kMostNodes = 100;     // of the body, of which parts are there five times
constexpr int kMostStreams = 2;               // of a row
constexpr std::size_t kMostSums = 2;          // of a row: eight are the registers that AVX2 has

class SumJammer {
  public:
    SumJammer(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    /// `e` with its outermost loops jammed.
    const Expr* jammed(const Expr* e) {
        const For loop = e->as<For>();
        if (!loop) return map_args(m_, e, [&](const Expr* a, std::size_t) { return jammed(a); });
        if (const Expr* now = by_groups(loop)) return now;
        if (const For inner = last_loop(loop); inner && is_var(inner.builder(), loop.builder_param()))
            if (const Expr* now = by_groups(inner))
                return rewrite_binding(m_, e, [&](const Expr* x) { return x == inner.node ? now : nullptr; });
        const bool by_blocks = loop.node->says(AttrKey::Blocks, true);
        return map_args(m_, e, [&](const Expr* a, std::size_t) {
            return a->op == Op::Lambda && !by_blocks ? a : jammed(a);
        });
    }

  private:
    // ---- which loops

    /// The value in the body of a loop that is a sum of the row, or the mergers of several.
    struct Sum {
        std::size_t at = 0;  ///< among those that the body binds
        For loop = {};
        If choice = {};           ///< that the loop is the first side of, if any
        bool are_inside = false;  ///< rows of groups, as is known when they begin
    };

    std::optional<Sum> sum_in(For outer) {
        const Block b = outer.body().body()->as<Block>();
        if (!b || has_loop(b.result())) return {};
        std::optional<Sum> found;
        for (std::size_t i = 0; i < b.size(); ++i) {
            if (!has_loop(b.value(i))) continue;
            if (found) return {};
            const Result result = b.value(i)->as<Result>();
            const Expr* made = result ? result.builder() : b.value(i);
            const If choice = made->as<If>();
            found = Sum{i, (choice ? choice.then() : made)->as<For>(), choice};
        }
        return found && found->loop ? found : std::nullopt;
    }

    bool fits(For outer, const Sum& sum) {
        const auto is_walked_by = [&](const Expr* d) {
            return may_be_cut(facts_, d) || (outer.data().size() == 1 && is_part(d));
        };
        if (!std::ranges::all_of(outer.data(), is_walked_by) || outer.node->says(AttrKey::Vectorize, false))
            return false;
        const Traits& body = facts_.traits(outer.body().node);
        if (body.size > kMostNodes || body.calls || body.ordered || holds_table(outer.node->type))
            return false;
        const Block b = outer.body().body()->as<Block>();
        for (std::size_t i = 0; i < sum.at; ++i)
            if (!facts_.traits(b.value(i)).free_to_repeat() || facts_.traits(b.value(i)).heavy) return false;
        bool may_fail_after = facts_.traits(b.result()).fails;  // in a row before one that fails itself
        for (std::size_t i = sum.at + 1; i < b.size(); ++i) may_fail_after |= facts_.traits(b.value(i)).fails;
        if (may_fail_after && facts_.traits(b.value(sum.at)).fails) return false;
        if (sum.choice && !is_cheap(facts_, sum.choice.cond())) return false;
        may_be_short_ =
            std::ranges::none_of(sum.loop.data(), [&](const Expr* d) { return is_window(outer, d); });
        shortest_ = shortest(b, sum);
        return (may_be_short_ || shares(sum.loop)) && fits_inside(sum.loop);
    }

    /// The fewest elements of rows of which four together pay.
    std::int64_t shortest(Block body, const Sum& sum) const {
        std::int64_t after = picoseconds(body.result());
        for (std::size_t i = sum.at + 1; i < body.size(); ++i) after += picoseconds(body.value(i));
        if (after >= kCostly) return kShortestCostly;
        const bool are_flat = std::ranges::all_of(sum.loop.data(), [&](const Expr* d) {
            return !is_stream(d) ||
                   ((d->op == Op::Iter || d->op == Op::Slice) && size_of(d->type->elem()->scalar) == 8);
        });
        return are_flat ? kShortestFlat : kShortest;
    }

    /// Of a vector, which may be none of it when it runs.
    static bool is_part(const Expr* datum) {
        const Iter it = datum->as<Iter>();
        return it && it.shape().kind == IterKind::Scalar && !it.shape().nd && it.shape().bounded &&
               is_int(it.stride(), 1) && it.data() && is_path(it.data());
    }

    static bool is_new_sum(const Expr* builder) {
        const NewBuilder made = builder->as<NewBuilder>();
        return made && made.kind() == BuilderKind::Merger && !made.arg() &&
               builder->type->elem()->is_scalar();
    }

    bool fits_inside(For inner) {
        const Expr* made = inner.builder();
        const bool several = made->op == Op::MakeStruct && made->args().size() <= kMostSums;
        if (!(several ? std::ranges::all_of(made->args(), is_new_sum) : is_new_sum(made)) ||
            inner.node->says(AttrKey::Vectorize, false))
            return false;
        int streams = 0;
        for (const Expr* d : inner.data()) {
            if (!is_walked(d)) return false;
            streams += is_stream(d);
        }
        const std::optional<Count> n = facts_.iterations(inner.node);
        if (n && n->known() && !pays(inner, *n->known())) return false;
        const Traits& body = facts_.traits(inner.body().body());
        return streams > 0 && streams <= kMostStreams && !body.fails && !has_loop(inner.body().body());
    }

    /// Whether four rows of `n` elements together pay: long ones that share something, and short ones.
    bool pays(For inner, std::int64_t n) {
        return (may_be_short_ && n >= shortest_ && n <= most_short(inner)) ||
               (shares(inner) && n >= least_long(inner));
    }
    /// The row of the next round begins one element behind: windows, which go side by side (vectorize-outer).
    bool is_window(For outer, const Expr* datum) {
        const Iter it = datum->as<Iter>();
        const Slice s = datum->as<Slice>();
        const Expr* start = s                                               ? s.start()
                            : it && !it.shape().range && it.shape().bounded ? it.start()
                                                                            : nullptr;
        const std::optional<Count> n = start ? facts_.count(start) : std::nullopt;
        const auto counts = [&](const Expr* name) {
            if (!is_path(name)) return false;
            if (is_var(name, outer.index_param())) return true;
            const Expr* of = datum_of(outer, name);
            return of && counts_by_one(of);
        };
        return n && std::ranges::any_of(n->sum(), [&](const Count::Product& p) {
                   return p.of.size() == 1 && (p.factor == 1 || p.factor == -1) && counts(p.of[0]);
               });
    }
    bool shares(For inner) const {
        return std::ranges::any_of(inner.data(), [&](const Expr* d) { return !is_range(d) && !varies(d); });
    }
    bool is_stream(const Expr* datum) const { return !is_range(datum) && varies(datum); }
    static bool is_range(const Expr* datum) {
        const Iter it = datum->as<Iter>();
        return it && it.shape().range;
    }

    std::int64_t least_long(For inner) const { return kLeastBytes / widest(inner); }
    std::int64_t most_short(For inner) const {
        return (shares(inner) ? kMostShortBytes : kMostAloneBytes) / widest(inner);
    }
    std::int64_t widest(For inner) const {
        std::int64_t widest = 1;
        for (const Expr* d : inner.data())
            if (varies(d)) widest = std::max<std::int64_t>(widest, size_of(d->type->elem()->scalar));
        return widest;
    }

    /// Consecutive scalars.
    bool is_walked(const Expr* datum) {
        if (!datum->type->elem()->is_scalar()) return false;
        if (const Slice s = datum->as<Slice>()) return is_path(s.of());
        const Iter it = datum->as<Iter>();
        if (!it) return is_path(datum);
        const IterShape s = it.shape();
        return s.kind == IterKind::Scalar && !s.nd && (!s.bounded || is_int(it.stride(), 1)) &&
               (s.range || is_path(it.data()));
    }

    bool varies(const Expr* e) const { return inside_.are_read_by(e); }

    // ---- four rows

    const Expr* by_groups(For outer) {
        const std::optional<Sum> sum = sum_in(outer);
        if (!sum) return nullptr;
        inside_ = BoundNames(outer.node);
        if (!fits(outer, *sum)) return nullptr;
        const auto bind = [&](SymbolMap& row, Lets& lets) {  // what the sum needs
            const Block b = outer.body().body()->as<Block>();
            for (std::size_t i = 0; i < sum->at; ++i)
                row[b.symbol(i)] = named(m_, in_round(m_, b.value(i), row), b.symbol(i)->name, lets);
        };
        Sum known = *sum;  // with rows that lie inside, as `pays`, which comes first, may find
        const auto group = [&](RoundGroup& rows, Lets& lets) {
            for (SymbolMap& row : rows.names) bind(row, lets);
            return in_group(outer, known, rows);
        };
        const auto pays = [&](const Expr* n, Lets& lets) {
            const auto row = [&](const Expr* at, Lets& own) {
                SymbolMap names = names_in(m_, outer, named(m_, at, "row", own), own);
                bind(names, own);
                return names;
            };
            return where_it_is_there(outer.data()[0], lets, [&](Lets& own) {
                const SymbolMap first = row(i64_literal(m_, 0), own);
                const Expr *all = pays_of(sum->loop, first), *rounds = nullptr;
                if (may_be_short_)
                    all = scalar_op(m_, Op::BitAnd, {all, pays_from_memory(sum->loop, first, n)});
                if (!fails_before(outer, *sum)) {
                    rounds = inside_rounds(outer, &known, n);
                    if (!rounds && !are_equally_long(sum->loop)) {
                        const Expr* middle = scalar_op(m_, Op::Div, {n, i64_literal(m_, 2)});
                        for (const Expr* at : {middle, scalar_op(m_, Op::Sub, {n, i64_literal(m_, 1)})})
                            all =
                                scalar_op(m_, Op::BitAnd, {all, same_length(sum->loop, first, row(at, own))});
                    }
                }
                return if_(m_, all, rounds ? rounds : n, i64_literal(m_, 0));
            });
        };
        return loop_by_groups(m_, facts_, outer, group, pays);
    }

    /// How many rounds of `outer`, of the first of `n`, have all rows of the sum inside their vectors, where that can be asked
    /// before: these are marked, and as long as one another; null else.
    const Expr* inside_rounds(For outer, Sum* sum, const Expr* n) {
        std::vector<const Expr*> args(sum->loop.node->args().begin(), sum->loop.node->args().end());
        const Expr* rounds = nullptr;
        for (const Expr*& d : std::span(args).subspan(2)) {
            if (!varies(d)) continue;
            const RowsInside rows = rows_inside(m_, facts_, outer, inside_, d, rounds ? rounds : n);
            if (!rows.datum) return nullptr;
            d = rows.datum;
            rounds = rows.rounds;
        }
        sum->loop = with_args(m_, sum->loop.node, args)->as<For>();
        sum->are_inside = true;
        return rounds;
    }

    /// What comes before the sum may fail, and must not fail for a later row first.
    bool fails_before(For outer, const Sum& sum) {
        const Block b = outer.body().body()->as<Block>();
        bool any = false;
        for (std::size_t i = 0; i < sum.at; ++i) any |= facts_.traits(b.value(i)).fails;
        return any;
    }

    /// `rounds`, which reads elements of `datum`; 0 if these are not all there.
    const Expr* where_it_is_there(const Expr* datum, Lets& lets, auto&& rounds) {
        if (may_be_cut(facts_, datum)) return rounds(lets);
        const Iter part = datum->as<Iter>();
        const Expr* begins = scalar_op(m_, Op::Ge, {part.start(), i64_literal(m_, 0)});
        const Expr* ends = scalar_op(m_, Op::Le, {part.end(), len(m_, part.data())});
        Lets own;
        const Expr* all = rounds(own);
        return if_(m_, scalar_op(m_, Op::BitAnd, {begins, ends}), block(m_, own, all), i64_literal(m_, 0));
    }

    const Expr* in_group(For outer, const Sum& sum, RoundGroup& group) {
        const std::vector<SymbolMap>& rows = group.names;
        const Expr* holds = nullptr;
        const auto also = [&](const Expr* c) { holds = holds ? scalar_op(m_, Op::BitAnd, {holds, c}) : c; };
        if (!sum.are_inside && !are_equally_long(sum.loop)) {
            also(pays_of(sum.loop, rows[0]));
            for (std::size_t k = 1; k < rows.size(); ++k) also(same_length(sum.loop, rows[0], rows[k]));
        }
        for (const SymbolMap& now : rows)
            if (sum.choice) also(in_round(m_, sum.choice.cond(), now));
        if (!holds) return together(outer, sum, group);
        const Expr* end = scalar_op(m_, Op::Add, {group.first, i64_literal(m_, RoundGroup::kRounds)});
        const Expr* one_by_one = loop_over_subrange(m_, outer, group.first, end, group.builder);
        return if_(m_, holds, together(outer, sum, group), one_by_one, outer.node->loc);
    }

    /// The data of all rounds of the loop around, as far as is known.
    bool are_equally_long(For inner) {
        const std::optional<Count> n = facts_.iterations(inner.node);
        return n && facts_.lengths_agree(inner.data()) && !inside_.are_read_by(*n);
    }

    const Expr* same_length(For inner, const SymbolMap& row, const SymbolMap& other) {
        const Expr* all = nullptr;
        for (const Expr* d : inner.data()) {
            if (!varies(d)) continue;
            const Expr* same = scalar_op(m_, Op::Eq, {rounds(d, row), rounds(d, other)});
            all = all ? scalar_op(m_, Op::BitAnd, {all, same}) : same;
        }
        return all;
    }

    /// Whether four rows together pay: long ones that share something, and short ones.
    const Expr* pays_of(For inner, const SymbolMap& row) {
        const auto i64 = [&](std::int64_t n) { return i64_literal(m_, n); };
        const Expr* n = rounds(inner.data()[0], row);
        const Expr* is_long = scalar_op(m_, Op::Ge, {n, i64(least_long(inner))});
        if (!may_be_short_) return is_long;
        const Expr* is_short = scalar_op(
            m_, Op::BitAnd,
            {scalar_op(m_, Op::Ge, {n, i64(shortest_)}), scalar_op(m_, Op::Le, {n, i64(most_short(inner))})});
        if (!shares(inner)) return is_short;
        return scalar_op(m_, Op::BitOr, {is_long, is_short});
    }
    /// The `n` rows are short or long enough for memory, or come from a cache.
    const Expr* pays_from_memory(For inner, const SymbolMap& row, const Expr* n) {
        const auto i64 = [&](std::int64_t n) { return i64_literal(m_, n); };
        const Expr* one = rounds(inner.data()[0], row);
        const Expr* are_short = scalar_op(m_, Op::Le, {one, i64(kMostFarBytes / widest(inner))});
        const Expr* all = scalar_op(m_, Op::Mul, {n, one});
        const Expr* pays = scalar_op(
            m_, Op::BitOr, {are_short, scalar_op(m_, Op::Le, {all, i64(kNearBytes / widest(inner))})});
        if (!shares(inner)) return pays;
        return scalar_op(m_, Op::BitOr, {pays, scalar_op(m_, Op::Ge, {one, i64(least_long(inner))})});
    }
    /// How many elements a row has; of a slice that is none, any number.
    const Expr* rounds(const Expr* datum, const SymbolMap& row) {
        const Slice s = datum->as<Slice>();
        if (!s) return trip_count(m_, in_round(m_, datum, row));
        const Expr* left = scalar_op(m_, Op::Sub, {len(m_, s.of()), s.start()});
        return in_round(m_, scalar_op(m_, Op::Min, {s.size(), left}), row);
    }

    /// The sums of four rows, and what is done with each, in turn.
    const Expr* together(For outer, const Sum& sum, RoundGroup& group) {
        std::vector<SymbolMap>& rows = group.names;
        Lets lets;
        const Expr* sums = named(m_, sums_of(sum.loop, rows), "sums", lets);
        const Block b = outer.body().body()->as<Block>();
        std::vector<const Expr*> results;
        for (std::size_t k = 0; k < rows.size(); ++k) {
            const Expr* own = get_field(m_, sums, k);
            const bool ends = b.value(sum.at)->op == Op::Result;
            results.push_back(ends ? named(m_, result(m_, own), b.symbol(sum.at)->name, lets) : own);
        }
        const Expr* now = group.builder;
        Lets after;
        for (std::size_t i = sum.at + 1; i < b.size(); ++i) after.emplace_back(b.symbol(i), b.value(i));
        const Expr* rest = block(m_, after, b.result());
        for (std::size_t k = 0; k < rows.size(); ++k) {
            rows[k][b.symbol(sum.at)] = results[k];
            rows[k][outer.builder_param()] = now;
            now = in_round(m_, rest, rows[k]);
            if (k + 1 < rows.size()) now = named(m_, now, outer.builder_param()->name, lets);
        }
        return block(m_, lets, now);
    }

    const Expr* sums_of(For inner, const std::vector<SymbolMap>& rows) {
        const ZippedRounds zipped(m_, inner, rows, inside_);
        std::vector<const Expr*> begin;
        for (std::size_t k = 0; k < rows.size(); ++k) begin.push_back(fresh(m_, inner.builder()));
        const Expr* start = make_struct(m_, begin);
        const Symbol* d = m_.symbol(inner.builder_param()->name, start->type);
        const Symbol* j = m_.symbol(inner.index_param()->name, inner.index_param()->type);
        const Symbol* e = m_.symbol(inner.elem_param()->name, zipped.elem());
        std::vector<const Expr*> merged;
        for (std::size_t k = 0; k < rows.size(); ++k) {
            SymbolMap now = rows[k];
            now[inner.builder_param()] = get_field(m_, var(m_, d), k);
            now[inner.index_param()] = var(m_, j);
            now[inner.elem_param()] = zipped.element(k, var(m_, e));
            merged.push_back(in_round(m_, inner.body().body(), now));
        }
        const Expr* f = lambda(m_, {d, j, e}, make_struct(m_, merged), inner.body().node->loc);
        const Expr* all =
            with_annotations(m_, loop(m_, zipped.data(), start, f, inner.node->loc), inner.node->annotations);
        return annotate(m_, all, AttrKey::Accumulators, "1");
    }

    Module& m_;
    Facts facts_;
    BoundNames inside_;          // of the outer loop
    bool may_be_short_ = false;  // rows that are no windows
    std::int64_t shortest_ = 0;  // of those
};

}  // namespace

const Expr* jam_sums(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    return in_normal_form(m, lambda, SumJammer(m, lambda).jammed(lambda));
}

}  // namespace weld
