// A lookup that walks along with its loop becomes a datum of the loop.
//
//     for(rangeiter(0L, n, 1L), B, |b, i, x| merge(b, lookup(u, x) * lookup(v, k + x)))
// becomes, where `u` has `n` elements for sure and nothing is known of `v`,
//     let end = k + n;
//     if(k >= 0L & k <= end & end <= len(v),
//       for(zip(rangeiter(0L, n, 1L), u, iter(v, k, end, 1L)), B, |b, i, z| merge(b, z.$1 * z.$2)),
//       for(zip(rangeiter(0L, n, 1L), u), B, |b, i, z| merge(b, z.$1 * lookup(v, k + z.$0))))
//
// so that the check of the index is made once, and the loop can run on lanes. The second loop runs only if
// some index might lie outside, and fails where the program said. Two loops are made only if the first can be
// vectorised.
//
// Where the offsets are numbers, the rounds in which some index lies outside stand apart: the first, the
// last, or both.
//
//     for(xs, B, |b, i, x| merge(b, if(i == 0L, x, x - lookup(xs, i - 1L))))
// becomes
//     for(zip(iter(xs, 1L, n, 1L), iter(xs, 0L, n - 1L, 1L)), for(iter(xs, 0L, 1L, 1L), B, as it was),
//       |b, k, z| merge(b, z.$0 - z.$1)))
//
// Likewise where an index is kept inside, by `max`, `min`, `if` or `select`: in the rounds between, it is
// what it would be without.
//
//     for(v, B, |b, i, x| merge(b, lookup(v, max(i - 1L, 0L)) + lookup(v, if(i < k, i + 1L, k))))
// becomes
//     let to = min(k, len(v) - 1L);
//     for(iter(v, to, …),
//       for(zip(iter(v, 0L, to - 1L), iter(v, 2L, to + 1L)), for(iter(v, 0L, 1L), B, as it was),
//         |b, i, z| merge(b, z.$0 + z.$1)), as it was)
//
// So do the rounds before that in which an index begins to lie inside:
//
//     for(v, B, |b, i, x| merge(b, if(i >= k, x - lookup(v, i - k), x)))
// becomes
//     let from = min(max(k, 0L), len(v));
//     for(zip(iter(v, from, …), iter(v, from - k, …)), for(iter(v, 0L, from), B, as it was),
//       |b, i, z| merge(b, z.$0 - z.$1)))
//
// Comparisons of the counter that come out the same in all rounds between are constants there.
//
// What is looked up at an index that stays the same, under a condition, is looked up once, before the first loop:
//
//     for(rangeiter(0L, n, 1L), B, |b, i, x| merge(b, if(x >= k, lookup(v, x) - lookup(v, h), 0.0)))
// becomes
//     if(n <= len(v) & h >= 0L & h < len(v),
//       let still = lookup(v, h);
//       for(iter(v, 0L, n, 1L), B, |b, i, z| merge(b, if(i >= k, z - still, 0.0))),
//       as it was)
//
// The index must be a loop's index, or the element of a range with stride 1, plus what does not change in the
// loop. Lookups in vectors that the loop makes itself, in dictionaries, and inside inner functions are left
// alone.
#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/subrange.h"
#include "weldir/passes/vectorize.h"
#include "weldir/passes/walks.h"

namespace weld {

namespace {

constexpr std::int64_t kLeastRounds = 32;  // that are worth three loops where it has to be asked anyway
constexpr std::uint32_t kMostNodes = 150;  // of bodies that are there three times
constexpr std::int64_t kFewRounds = 16;    // at an end, which lanes are not worth

class Converter {
  public:
    Converter(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* converted(const Expr* e) {
        const For loop = e->as<For>();
        if (!loop) return nullptr;
        for (const Expr* d : loop.data())
            if (Iter it = d->as<Iter>(); it && it.shape().kind != IterKind::Scalar) return nullptr;
        WalkFinder kept_inside(m_, facts_, loop, true);
        if (kept_inside.middle().is_part())
            if (const Expr* apart = with_ends_apart(loop, kept_inside)) return apart;
        WalkFinder finder(m_, facts_, loop, false);
        if (finder.walks().empty()) return nullptr;
        if (finder.all_inside())
            if (const Expr* plain = inside(loop, finder)) return plain;
        const Expr* apart = with_ends_apart(loop, finder);
        return apart ? apart : in_two_ways(loop, finder);
    }

  private:
    using Pair = std::pair<const Symbol*, const Expr*>;

    const Expr* name(const Expr* e, std::string_view as, Lets& lets) {
        if (is_atom(e)) return e;
        const Symbol* s = m_.symbol(as, e->type);
        lets.emplace_back(s, e);
        return var(m_, s);
    }

    const Expr* i64(std::int64_t n) { return i64_literal(m_, n); }
    const Expr* select_if(Op op, const Expr* a, const Expr* b, const Expr* then, const Expr* otherwise) {
        return select(m_, scalar_op(m_, op, {a, b}), then, otherwise);
    }

    /// `n` between `least` and a number with which sums do not wrap around.
    const Expr* clamped(const Expr* n, std::int64_t least) {
        return scalar_op(m_, Op::Min, {scalar_op(m_, Op::Max, {n, i64(least)}), i64(kFar)});
    }

    /// `a < b ? a : b`, of names.
    const Expr* least(const Expr* a, const Expr* b, Lets& lets) {
        return name(select_if(Op::Lt, a, b, a, b), "to", lets);
    }

    /// The rounds in which all lookups lie inside, and their clamps do nothing, walk along with `loop`; those
    /// before and behind them are as they were. Null if no round stands apart, or offsets are no small
    /// numbers. Where clamped ones are not, whether they lie inside is asked before.
    const Expr* with_ends_apart(For loop, WalkFinder& finder) {
        const Traits& body = facts_.traits(loop.body().node);
        if (body.ordered || body.size > kMostNodes || holds_table(loop.node->type)) return nullptr;
        if (!std::ranges::all_of(loop.data(), [&](const Expr* d) { return may_be_cut(facts_, d); }))
            return nullptr;
        const Middle& middle_rounds = finder.middle();
        std::int64_t before = middle_rounds.from();
        bool any = middle_rounds.is_part();
        for (const Walk& w : finder.walks()) {
            const std::optional<std::int64_t> by = w.distance();
            any |= w.behind() != nullptr;
            if (!by && !w.behind() && (!middle_rounds.is_part() || !is_int(w.counter_start, 0)))
                return nullptr;
            if (!by) continue;
            before = std::max(before, -*by);
            any |= *by != 0;
        }
        if (!any) return nullptr;
        Lets lets;
        if (const Expr* check = length_check(m_, facts_, loop.data(), loop.node->loc))
            name(check, "equal", lets);
        const Expr* n = name(weld::trip_count(m_, loop.data()[0]), "n", lets);
        const Expr* from =
            before ? name(select_if(Op::Lt, n, i64(before), n, i64(before)), "from", lets) : i64(0);
        std::vector<const Expr*> behind;  // by walk
        for (const Walk& w : finder.walks()) {
            behind.push_back(w.behind() ? name(clamped(w.behind(), -kFar), "behind", lets) : nullptr);
            if (!w.behind()) continue;
            const Expr* later = name(scalar_op(m_, Op::Max, {from, behind.back()}), "from", lets);
            from = name(scalar_op(m_, Op::Min, {later, n}), "from", lets);
        }
        // Rounds behind those in which all that is looked up in any case lies inside fail.
        const std::optional<Count> rounds = facts_.iterations(loop.node);
        const auto ends_early = [&](const Middle::Last& last) {
            const Expr* at = last.limit->op == Op::Select ? last.limit->arg(1) : last.limit;  // of a ring
            const std::optional<Count> limit = facts_.count(at);
            const std::optional<std::int64_t> left =
                rounds && limit ? (*rounds - *limit).known() : std::nullopt;
            return !left || *left - last.plus > kFewRounds;
        };
        bool few_behind = std::ranges::none_of(middle_rounds.lasts(), ends_early);
        const Expr* to = n;
        for (const Middle::Last& last : middle_rounds.lasts()) {
            const Expr* at = clamped(last.limit, -4 * kFarthestWalk);
            if (last.plus) at = scalar_op(m_, Op::Add, {at, i64(last.plus)});
            to = least(name(at, "last", lets), to, lets);
        }
        for (std::size_t k = 0; k < finder.walks().size(); ++k) {
            const Walk& w = finder.walks()[k];
            if (behind[k])
                to = least(name(scalar_op(m_, Op::Add, {len(m_, w.vec), behind[k]}), "last", lets), to, lets);
            few_behind &= !behind[k];
            if (!w.distance()) continue;
            const std::int64_t by = *w.distance();
            const std::optional<Count> length = facts_.length(w.vec);
            if (by <= 0 && rounds && length && facts_.agree(*rounds, *length, loop.index_param())) continue;
            const Expr* last = by ? scalar_op(m_, Op::Sub, {len(m_, w.vec), i64(by)}) : len(m_, w.vec);
            to = least(name(last, "last", lets), to, lets);
        }
        const bool all_to_end = to == n;
        if (!all_to_end) to = name(select_if(Op::Lt, to, from, from, to), "to", lets);
        const Expr* inside = scalar_op(m_, Op::Lt, {from, to});
        const Expr* count = name(scalar_op(m_, Op::Sub, {to, from}), "count", lets);
        std::vector<const Expr*> data = subranges(m_, loop, from, to);
        const Expr* fits = nullptr;
        for (std::size_t k = 0; k < finder.walks().size(); ++k) {
            const Walk& w = finder.walks()[k];
            if (!w.distance() && !behind[k]) {
                data.push_back(checked(w, from, count, lets, fits));
                continue;
            }
            const std::int64_t by = w.distance().value_or(0);
            const Expr* start = by ? scalar_op(m_, Op::Add, {from, i64(by)}) : from;
            if (behind[k]) start = scalar_op(m_, Op::Sub, {from, behind[k]});
            start = name(select(m_, inside, start, i64(0)), "start", lets);
            const Expr* bounds[] = {start, scalar_op(m_, Op::Add, {start, count}), i64(1)};
            data.push_back(iter(m_, IterKind::Scalar, w.vec, bounds));
        }
        const Expr* middle = with_data(loop, data, finder, loop.body().body(), from, before);
        if (!can_vectorize(m_, facts_, middle)) return nullptr;
        const Expr* own = fits ? shared(loop.builder(), lets) : loop.builder();
        const Expr* start = with_capacity(m_, facts_, loop, own, n);
        const bool few_before =
            before <= kFewRounds && std::ranges::none_of(behind, [](const Expr* b) { return b; });
        const Expr* first = !is_int(from, 0) ? end_of(loop, i64(0), from, start, few_before) : start;
        const Expr* all = with_builder(middle, first);
        if (!all_to_end) all = end_of(loop, to, n, all, few_behind);
        if (fits) fits = scalar_op(m_, Op::BitAnd, {scalar_op(m_, Op::Ge, {n, i64(kLeastRounds)}), fits});
        if (fits) all = if_(m_, fits, all, with_builder(fresh(m_, loop.node), own), loop.node->loc);
        return block(m_, lets, all, loop.node->loc);
    }

    /// The rounds of `loop` in a range at one end of it, which stay one by one if they are `few`.
    const Expr* end_of(For loop, const Expr* from, const Expr* to, const Expr* builder, bool few) {
        const Expr* end = loop_over_subrange(m_, loop, from, to, builder);
        return few && !end->annotation(AttrKey::Vectorize) ? annotate(m_, end, AttrKey::Vectorize, "false")
                                                           : end;
    }

    /// A builder that two loops begin with, of which one runs.
    const Expr* shared(const Expr* builder, Lets& lets) {
        if (builder->op == Op::NewBuilder || builder->op == Op::Var || all_new(builder)) return builder;
        return name(builder, "b", lets);
    }

    /// No lookup of the loop can fail. Null if its rounds are not consecutive.
    const Expr* inside(For loop, WalkFinder& finder) {
        Lets lets;
        std::vector<const Expr*> data(loop.data().begin(), loop.data().end());
        const Expr* n = nullptr;
        for (const Walk& w : finder.walks()) {
            if (!w.is_whole && !std::ranges::all_of(loop.data(), is_consecutive)) return nullptr;
            if (!w.is_whole && !n) n = name(trip_count(loop.data()[0], lets), "n", lets);
            const Expr* holds = nullptr;
            data.push_back(w.is_whole ? w.vec : checked(w, i64(0), n, lets, holds));
        }
        return block(m_, lets, with_data(loop, data, finder, loop.body().body()), loop.node->loc);
    }

    const Expr* in_two_ways(For loop, WalkFinder& finder) {
        for (const Expr* d : loop.data())
            if (!is_consecutive(d)) return nullptr;
        Lets lets;
        const Expr* n = name(trip_count(loop.data()[0], lets), "n", lets);
        std::vector<const Expr*> data(loop.data().begin(), loop.data().end());
        const Expr* fits = nullptr;
        for (const Walk& w : finder.walks()) {
            const Expr* none = nullptr;
            if (w.is_whole) data.push_back(w.vec);
            else if (w.is_inside) data.push_back(checked(w, i64(0), n, lets, none));
            else if (w.distance().value_or(0) < 0) return nullptr;  // its first round fails
            else data.push_back(checked(w, i64(0), n, lets, fits));
        }
        Lets found;
        const Expr* body = with_stills(loop, finder, found, fits);
        const Expr* builder = shared(loop.builder(), lets);
        const Expr* fast = with_builder(with_data(loop, data, finder, body), builder);
        if (!can_vectorize(m_, facts_, fast)) return nullptr;
        const Expr* slow = with_builder(fresh(m_, loop.node), builder);
        fast = block(m_, found, fast, loop.node->loc);
        return block(m_, lets, if_(m_, fits, fast, slow, loop.node->loc), loop.node->loc);
    }

    /// The body of `loop`, in which what is looked up at an index that never changes has a name of `found`. That it is
    /// there, `fits` learns: who asks for it under a condition only does not mind an element more.
    const Expr* with_stills(For loop, WalkFinder& finder, Lets& found, const Expr*& fits) {
        std::vector<const Expr*> stills;
        return rewrite(m_, loop.body().body(), [&](const Expr* e) -> const Expr* {
            if (!finder.is_still(e)) return nullptr;
            const auto known = std::ranges::find_if(stills, [&](const Expr* s) { return same(s, e); });
            const std::size_t k = std::size_t(known - stills.begin());
            if (known == stills.end()) {
                const Lookup at = e->as<Lookup>();
                demand(fits, Op::Ge, at.key(), i64(0));
                demand(fits, Op::Lt, at.key(), len(m_, at.of()));
                stills.push_back(e);
                found.emplace_back(m_.symbol("still", e->type), e);
            }
            return var(m_, found[k].first);
        });
    }

    void demand(const Expr*& fits, Op op, const Expr* a, const Expr* b) {
        const Expr* holds = scalar_op(m_, op, {a, b});
        fits = fits ? scalar_op(m_, Op::BitAnd, {fits, holds}) : holds;
    }

    static bool all_new(const Expr* b) {
        return b->op == Op::MakeStruct && std::all_of(b->args().begin(), b->args().end(),
                                                      [](const Expr* f) { return f->op == Op::NewBuilder; });
    }

    const Expr* trip_count(const Expr* datum, Lets& lets) {
        const Iter it = datum->as<Iter>();
        const Expr* v = it ? it.data() : datum;
        if ((it && it.shape().bounded) || is_path(v)) return weld::trip_count(m_, datum);
        return len(m_, name(v, "d", lets));
    }

    static bool is_consecutive(const Expr* datum) {
        const Iter it = datum->as<Iter>();
        if (!it || !it.shape().bounded) return true;
        if (it.shape().nd) return false;
        const Literal stride = it.stride()->as<Literal>();
        return stride && stride.as_int() == 1;
    }

    /// The part of the vector that `n` rounds of the loop from `from` on walk along; `fits` learns that it
    /// must be there.
    const Expr* checked(const Walk& w, const Expr* from, const Expr* n, Lets& lets, const Expr*& fits) {
        const Expr* start = nullptr;
        for (const Expr* part : {w.counter_start, w.offset, from})
            if (part && !is_int(part, 0)) start = start ? scalar_op(m_, Op::Add, {start, part}) : part;
        if (!start) start = i64(0);
        start = name(start, "start", lets);
        const bool at_zero = start->op == Op::Literal && start->as<Literal>().as_int() == 0;
        const Expr* end = at_zero ? n : name(scalar_op(m_, Op::Add, {start, n}), "end", lets);
        if (!at_zero) demand(fits, Op::Ge, start, i64(0));
        demand(fits, Op::Le, start, end);
        demand(fits, Op::Le, end, len(m_, w.vec));
        const Expr* bounds[] = {start, end, i64(1)};
        return iter(m_, IterKind::Scalar, w.vec, bounds);
    }

    const Expr* with_builder(const Expr* loop, const Expr* builder) {
        std::vector<const Expr*> args(loop->args().begin(), loop->args().end());
        args[0] = builder;
        return with_args(m_, loop, args);
    }

    /// The loop over more data, with lookups of its `body` replaced by their elements. Its index begins at `from`, if
    /// given, which is `first` if there are rounds.
    const Expr* with_data(For loop, const std::vector<const Expr*>& data, WalkFinder& finder,
                          const Expr* body, const Expr* from = nullptr, std::int64_t first = 0) {
        const std::size_t own = loop.data().size();
        std::vector<const Type*> types;
        for (const Expr* d : data) types.push_back(d->type->elem());
        const Symbol* z = m_.symbol("z", m_.types.structure(types));
        std::vector<const Expr*> parts;
        for (std::size_t i = 0; i < own; ++i) parts.push_back(get_field(m_, var(m_, z), i));
        body = rewrite(m_, body, [&](const Expr* e) -> const Expr* {
            if (from && is_comparison(e->op))
                if (const std::optional<bool> holds = finder.settled(e, first))
                    return bool_literal(m_, *holds);
            if (const Expr* index = from && e->op == Op::Rem ? finder.without_ring(e) : nullptr) return index;
            const int k = e->op == Op::Lookup ? finder.walk_of(e) : -1;
            return k < 0 ? nullptr : get_field(m_, var(m_, z), own + std::size_t(k), e->loc);
        });
        body = let(m_, loop.elem_param(), own == 1 ? parts[0] : make_struct(m_, parts), body);
        const Symbol* index = loop.index_param();
        if (from) {
            const Symbol* k = m_.symbol(index->name, index->type);
            body = with_index(m_, index, from, k, body);
            index = k;
        }
        const Expr* f = lambda(m_, {loop.builder_param(), index, z}, body, loop.body().node->loc);
        std::vector<const Expr*> args = {loop.builder(), f};
        args.insert(args.end(), data.begin(), data.end());
        return with_args(m_, loop.node, args);
    }

    Module& m_;
    Facts facts_;
};

}  // namespace

const Expr* lookups_to_iters(Module& m, const Expr* lambda) {
    Converter converter(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) { return converter.converted(e); });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
