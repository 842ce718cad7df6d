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

const Expr* lies_inside(Module& m, Facts& facts, For outer, const BoundNames& inside, const Expr* datum,
                        const Expr* n) {
    // Of fewer rounds and elements products of the two do not wrap around.
    constexpr std::int64_t most = std::int64_t(1) << 31;
    const Iter it = datum->as<Iter>();
    if (!it || it.shape().kind != IterKind::Scalar || it.shape().nd || it.shape().range ||
        !it.shape().bounded || !is_int(it.stride(), 1) || inside.are_read_by(it.data()))
        return nullptr;
    const std::optional<Places> places = places_of(facts, outer, inside, it.start());
    const std::optional<Count> end = facts.count(it.end());
    if (!places || !end) return nullptr;
    const Count length = *end - *facts.count(it.start());
    if (inside.are_read_by(length)) return nullptr;

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
        if (e->op != Op::Len) also(Op::Ge, e, i64(0));
        also(Op::Lt, e, i64(most));
    }
    also(Op::Lt, n, i64(most));
    const Expr* last = scalar_op(m, Op::Sub, {n, i64(1)});
    const Expr* ends = scalar_op(m, Op::Mul, {last, written(m, places->step)});
    ends = scalar_op(m, Op::Add, {ends, written(m, length + places->first)});
    also(Op::Le, ends, len(m, it.data()));
    return holds;
}

}  // namespace weld
