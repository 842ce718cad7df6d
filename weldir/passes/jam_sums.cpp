// Loops over rows that make a sum of each row take four rows at a time (unroll and jam).
//
//     for(rows, appender[f64], |b, i, row|
//       let s = result(for(zip(row, v), merger[f64,+], |d, j, e| merge(d, e.$0 * e.$1)));
//       merge(b, f(s)))
// becomes
//     let groups = if(len(rows) > 0L, if(len(lookup(rows, 0L)) >= 2048L, len(rows) / 4L, 0L), 0L);
//     for(iter(rows, groups * 4L, len(rows), 1L),
//       for(rangeiter(0L, groups, 1L), appender[f64], |b, o, y|
//         let first = y * 4L;
//         let x = lookup(rows, first);
//         let x2 = lookup(rows, first + 1L);
//         ...
//         if(len(x) >= 2048L & len(x) == len(x2) & ...,
//           (let sums = for(zip(x, x2, x3, x4, v), {merger[f64,+], ...}, |d, j, e|
//              {merge(d.$0, e.$0 * e.$4), merge(d.$1, e.$1 * e.$4), ...});
//            let s = result(sums.$0);
//            let b2 = merge(b, f(s));
//            ...
//            merge(b4, f(s4))),
//           for(iter(rows, first, first + 4L, 1L), b, ... as before))),
//       |b, i, row| ... as before)
//
// so that what the rows share, `v`, is read once for four of them, and memory is read at four places at once.
// Rows of less than some pages are better read one after the other, as they lie: the processor does not know
// in time that there are four.
//
// Rows are vectors among the elements, or iterators that begin elsewhere in each round; something must be
// shared. What is done for an element cannot fail, and what is done with the sum holds no loop, nor fails if
// rows may. Of loops in loops those are taken that are all that the loop around does (sums for all pairs of
// rows); others stay: their rows may be in the cache already, and vectorize-outer takes several at a time.
#include <algorithm>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/cheap.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/round_groups.h"
#include "weldir/passes/subrange.h"

namespace weld {

namespace {

constexpr std::int64_t kLeastBytes = 16384;  // of a row
constexpr std::uint32_t kMostNodes = 100;    // of the body, of which parts are there five times
constexpr int kMostStreams = 2;              // of a row

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
        return map_args(m_, e,
                        [&](const Expr* a, std::size_t) { return a->op == Op::Lambda ? a : jammed(a); });
    }

  private:
    // ---- which loops

    /// The value in the body of a loop that is a sum of the row.
    struct Sum {
        std::size_t at = 0;  ///< among those that the body binds
        For loop = {};
        If choice = {};  ///< that the loop is the first side of, if any
    };

    std::optional<Sum> sum_in(For outer) {
        const Block b = outer.body().body()->as<Block>();
        if (!b || has_loop(b.result())) return {};
        std::optional<Sum> found;
        for (std::size_t i = 0; i < b.size(); ++i) {
            if (!has_loop(b.value(i))) continue;
            const Result result = b.value(i)->as<Result>();
            if (!result || found) return {};
            const If choice = result.builder()->as<If>();
            found = Sum{i, (choice ? choice.then() : result.builder())->as<For>(), choice};
        }
        return found && found->loop ? found : std::nullopt;
    }

    bool fits(For outer, const Sum& sum) {
        const auto is_found = [&](const Expr* d) {
            const Iter it = d->as<Iter>();
            return it ? it.shape().range && may_be_cut(facts_, d) : is_path(d);
        };
        if (!std::ranges::all_of(outer.data(), is_found) || outer.node->says(AttrKey::Vectorize, false))
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
        return fits_inside(sum.loop);
    }

    bool fits_inside(For inner) {
        const NewBuilder made = inner.builder()->as<NewBuilder>();
        if (!made || made.kind() != BuilderKind::Merger || made.arg() ||
            !made.node->type->elem()->is_scalar() || inner.node->says(AttrKey::Vectorize, false))
            return false;
        int streams = 0, shared = 0;
        for (const Expr* d : inner.data()) {
            if (!is_walked(d)) return false;
            const Iter it = d->as<Iter>();
            if (it && it.shape().range) continue;
            ++(varies(d) ? streams : shared);
        }
        const std::optional<Count> n = facts_.iterations(inner.node);
        if (n && n->known() && *n->known() < least_rounds(inner)) return false;
        const Traits& body = facts_.traits(inner.body().body());
        return streams > 0 && streams <= kMostStreams && shared > 0 && !body.fails &&
               !has_loop(inner.body().body());
    }

    std::int64_t least_rounds(For inner) const {
        std::int64_t widest = 1;
        for (const Expr* d : inner.data())
            if (varies(d)) widest = std::max<std::int64_t>(widest, size_of(d->type->elem()->scalar));
        return kLeastBytes / widest;
    }

    /// Consecutive scalars.
    bool is_walked(const Expr* datum) {
        if (!datum->type->elem()->is_scalar()) return false;
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
        const auto group = [&](RoundGroup& rows, Lets& lets) {
            for (SymbolMap& row : rows.names) bind(row, lets);
            return in_group(outer, *sum, rows);
        };
        const auto pays = [&](Lets& lets) {
            SymbolMap first = names_in(m_, outer, i64_literal(m_, 0), lets);
            bind(first, lets);
            return is_long(sum->loop, first);
        };
        return loop_by_groups(m_, facts_, outer, group, pays);
    }

    const Expr* in_group(For outer, const Sum& sum, RoundGroup& group) {
        const std::vector<SymbolMap>& rows = group.names;
        const Expr* holds = nullptr;
        const auto also = [&](const Expr* c) { holds = holds ? scalar_op(m_, Op::BitAnd, {holds, c}) : c; };
        if (!are_equally_long(sum.loop)) {
            also(is_long(sum.loop, rows[0]));
            for (const Expr* d : sum.loop.data())
                for (std::size_t k = 1; k < rows.size() && varies(d); ++k)
                    also(scalar_op(m_, Op::Eq, {rounds(d, rows[0]), rounds(d, rows[k])}));
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

    const Expr* is_long(For inner, const SymbolMap& row) {
        const Expr* least = i64_literal(m_, least_rounds(inner));
        return scalar_op(m_, Op::Ge, {rounds(inner.data()[0], row), least});
    }
    const Expr* rounds(const Expr* datum, const SymbolMap& row) {
        return trip_count(m_, in_round(m_, datum, row));
    }

    /// The sums of four rows, and what is done with each, in turn.
    const Expr* together(For outer, const Sum& sum, RoundGroup& group) {
        std::vector<SymbolMap>& rows = group.names;
        Lets lets;
        const Expr* sums = named(m_, sums_of(sum.loop, rows), "sums", lets);
        const Block b = outer.body().body()->as<Block>();
        std::vector<const Expr*> results;
        for (std::size_t k = 0; k < rows.size(); ++k)
            results.push_back(named(m_, result(m_, get_field(m_, sums, k)), b.symbol(sum.at)->name, lets));
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
        for (std::size_t k = 0; k < rows.size(); ++k) begin.push_back(new_builder(m_, inner.builder()->type));
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
        return with_annotations(m_, loop(m_, zipped.data(), start, f, inner.node->loc),
                                inner.node->annotations);
    }

    Module& m_;
    Facts facts_;
    BoundNames inside_;  // of the outer loop
};

}  // namespace

const Expr* jam_sums(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    return in_normal_form(m, lambda, SumJammer(m, lambda).jammed(lambda));
}

}  // namespace weld
