// Where each row begins, and where the last one ends.
#include "weldir/passes/rows_inside.h"

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/passes/lengths.h"

namespace weld {

namespace {

/// Where a part begins in round `i`: `step * i + first`.
struct Places {
    Count step, first;
};

}  // namespace

/// Nothing if that is no such number, or not a known one.
static std::optional<Places> places_of(Facts& facts, For outer, const BoundNames& inside, const Expr* start) {
    const std::optional<Count> at = facts.count(start);
    if (!at) return {};
    // What a name that counts the rounds is in the first one; nothing of other names.
    const auto counts_from = [&](const Expr* name) -> std::optional<Count> {
        if (is_var(name, outer.index_param())) return Count();
        const Expr* of = is_path(name) ? datum_of(outer, name) : nullptr;
        return of && counts_by_one(of) ? facts.count(of->as<Iter>().start()) : std::nullopt;
    };
    Places places;
    for (const Count::Product& p : at->sum()) {
        Count::Product factors{p.factor, {}};
        std::optional<Count> from;
        for (const Expr* name : p.of) {
            const std::optional<Count> begin = counts_from(name);
            if (from && begin) return {};
            if (begin) from = begin;
            else if (inside.are_read_by(name)) return {};
            else factors.of.push_back(name);
        }
        const Count product(factors);
        if (from) places.step = places.step + product;
        places.first = places.first + (from ? product * *from : product);
    }
    return places;
}

/// A part of a vector that has a name: where it begins, and how long it is.
static const Expr* as_part(Module& m, const Expr* datum) {
    if (const Slice s = datum->as<Slice>()) {
        const Expr* bounds[] = {s.start(), scalar_op(m, Op::Add, {s.start(), s.size()}), i64_literal(m, 1)};
        return iter(m, IterKind::Scalar, s.of(), bounds, 0, datum->loc);
    }
    const Iter it = datum->as<Iter>();
    const bool is_part = it && it.shape().kind == IterKind::Scalar && !it.shape().nd && !it.shape().range &&
                         it.shape().bounded && is_int(it.stride(), 1);
    return is_part ? datum : nullptr;
}

RowsInside rows_inside(Module& m, Facts& facts, For outer, const BoundNames& inside, const Expr* datum,
                       const Expr* n) {
    // No vector has more elements, and sums of such numbers do not wrap around.
    constexpr std::int64_t most = std::int64_t(1) << 40;
    const Expr* part = as_part(m, datum);
    if (!part || inside.are_read_by(part->as<Iter>().data())) return {};
    const Iter it = part->as<Iter>();
    const std::optional<Places> places = places_of(facts, outer, inside, it.start());
    const std::optional<Count> end = places ? facts.count(it.end()) : std::nullopt;
    if (!end) return {};
    const Count length = *end - *facts.count(it.start());
    if (inside.are_read_by(length)) return {};

    const auto i64 = [&](std::int64_t k) { return i64_literal(m, k); };
    const Expr* holds = nullptr;
    const auto also = [&](Op op, const Expr* a, const Expr* b) {
        const Expr* c = scalar_op(m, op, {a, b});
        holds = holds ? scalar_op(m, Op::BitAnd, {holds, c}) : c;
    };
    std::vector<Count> asked;
    for (const Count& number : {length, places->step, places->first}) {
        if (number.known() && *number.known() >= 0 && *number.known() < most) continue;
        if (std::ranges::find(asked, number) != asked.end()) continue;
        asked.push_back(number);
        const Expr* e = written(m, number);
        if (e->op == Op::Len) continue;
        also(Op::Ge, e, i64(0));
        also(Op::Lt, e, i64(most));
    }
    const Expr *all = len(m, it.data()), *first_end = written(m, length + places->first);
    also(Op::Le, first_end, all);
    const Expr* distance = scalar_op(m, Op::Max, {written(m, places->step), i64(1)});
    const Expr* others = scalar_op(m, Op::Div, {scalar_op(m, Op::Sub, {all, first_end}), distance});
    const Expr* rows = scalar_op(m, Op::Min, {n, scalar_op(m, Op::Add, {others, i64(1)})});
    return {annotate(m, part, AttrKey::Inside, "true"), if_(m, holds, rows, i64(0), datum->loc)};
}

}  // namespace weld
