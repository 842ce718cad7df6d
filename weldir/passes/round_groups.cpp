// Loops that take several rounds at a time: the loop over groups, and the one over what is left.
#include "weldir/passes/round_groups.h"

#include "weldir/passes/lengths.h"
#include "weldir/passes/subrange.h"

namespace weld {

const Expr* named(Module& m, const Expr* e, std::string_view name, Lets& lets) {
    if (is_atom(e)) return e;
    const Symbol* s = m.symbol(name, e->type);
    lets.emplace_back(s, e);
    return var(m, s);
}

const Expr* element_at(Module& m, const Expr* datum, const Expr* at) {
    const Iter it = datum->as<Iter>();
    if (!it) return lookup(m, datum, at, datum->loc);
    if (!it.shape().bounded) return lookup(m, it.data(), at, datum->loc);
    const Expr* place = is_int(it.start(), 0) ? at : scalar_op(m, Op::Add, {it.start(), at});
    return it.shape().range ? place : lookup(m, it.data(), place, datum->loc);
}

const Expr* in_round(Module& m, const Expr* e, const SymbolMap& names) {
    const Expr* copy = fresh(m, substitute(m, e, names));
    return rewrite(m, copy, [&](const Expr* f) -> const Expr* {
        return f->op == Op::GetField && f->arg(0)->op == Op::MakeStruct ? f->arg(0)->arg(f->attr.index)
                                                                        : nullptr;
    });
}

ZippedRounds::ZippedRounds(Module& m, For inner, const std::vector<SymbolMap>& rounds,
                           const BoundNames& varying)
    : m_(m), parts_(rounds.size()) {
    for (const Expr* d : inner.data())
        for (std::size_t k = 0; k < rounds.size(); ++k) {
            if (k == 0 || varying.are_read_by(d)) data_.push_back(in_round(m, d, rounds[k]));
            parts_[k].push_back(data_.size() - 1);
        }
    std::vector<const Type*> types;
    for (const Expr* d : data_) types.push_back(d->type->elem());
    elem_ = types.size() == 1 ? types[0] : m.types.structure(types);
}

const Expr* ZippedRounds::element(std::size_t k, const Expr* e) const {
    std::vector<const Expr*> own;
    for (const std::size_t part : parts_[k]) own.push_back(data_.size() == 1 ? e : get_field(m_, e, part));
    return own.size() == 1 ? own[0] : make_struct(m_, own);
}

SymbolMap names_in(Module& m, For loop, const Expr* at, Lets& lets) {
    std::vector<const Expr*> elements;
    for (const Expr* d : loop.data()) elements.push_back(named(m, element_at(m, d, at), "x", lets));
    return {{loop.index_param(), at},
            {loop.elem_param(), elements.size() == 1 ? elements[0] : make_struct(m, elements)}};
}

/// Group `number` of the rounds of `loop`, on `builder`; no round behind `last`, if that is given.
static RoundGroup group_of(Module& m, For loop, const Symbol* builder, const Symbol* number, const Expr* last,
                           Lets& lets) {
    const auto i64 = [&](std::int64_t n) { return i64_literal(m, n); };
    const Expr* first = scalar_op(m, Op::Mul, {var(m, number), i64(RoundGroup::kRounds)});
    RoundGroup group = {var(m, builder), named(m, first, "first", lets), {}};
    for (std::int64_t k = 0; k < RoundGroup::kRounds; ++k) {
        const Expr* at = k ? scalar_op(m, Op::Add, {group.first, i64(k)}) : group.first;
        if (k && last) at = scalar_op(m, Op::Min, {at, last});
        group.names.push_back(names_in(m, loop, named(m, at, "row", lets), lets));
    }
    return group;
}

const Expr* loop_by_groups(Module& m, Facts& facts, For loop,
                           const std::function<const Expr*(RoundGroup& group, Lets& lets)>& body,
                           const std::function<const Expr*(const Expr* n, Lets& lets)>& pays) {
    const auto i64 = [&](std::int64_t n) { return i64_literal(m, n); };
    const Expr* const each = i64(RoundGroup::kRounds);
    Lets lets;
    if (const Expr* check = length_check(m, facts, loop.data(), loop.node->loc))
        named(m, check, "equal", lets);
    const Expr* n = named(m, trip_count(m, loop.data()[0]), "n", lets);
    const Literal known = n->as<Literal>();
    if (known && known.as_int() < RoundGroup::kRounds) return nullptr;
    Lets before;
    const Expr* rounds = pays(n, before);
    const Expr* groups = !rounds && known ? i64(known.as_int() / RoundGroup::kRounds)
                                          : scalar_op(m, Op::Div, {rounds ? rounds : n, each});
    groups = block(m, before, groups);
    if (!known) groups = if_(m, scalar_op(m, Op::Gt, {n, i64(0)}), groups, i64(0));
    groups = named(m, groups, "groups", lets);
    const Literal count = groups->as<Literal>();
    const Expr* from = count ? i64(count.as_int() * RoundGroup::kRounds)
                             : named(m, scalar_op(m, Op::Mul, {groups, each}), "from", lets);

    const Symbol* b = m.symbol(loop.builder_param()->name, loop.node->type);
    const Symbol *o = m.symbol("o", m.types.i64()), *y = m.symbol("y", m.types.i64());
    Lets inside;
    RoundGroup group = group_of(m, loop, b, y, nullptr, inside);
    const Expr* together = body(group, inside);
    const Expr* f = lambda(m, {b, o, y}, block(m, inside, together), loop.body().node->loc);
    const Expr* range = range_iter(m, IterKind::Scalar, i64(0), groups, i64(1));
    // What is left may go by groups of lanes, which make room for a whole last one.
    constexpr std::int64_t slack = 64;
    const Expr* most = known ? i64(known.as_int() + slack) : scalar_op(m, Op::Add, {n, i64(slack)});
    const Expr* start = with_capacity(m, facts, loop, loop.builder(), most);
    const Expr* all =
        with_annotations(m, weld::loop(m, {&range, 1}, start, f, loop.node->loc), loop.node->annotations);
    all = with_appends(m, facts, loop, RoundGroup::kRounds, all);
    return block(m, lets, loop_over_subrange(m, loop, from, n, all), loop.node->loc);
}

const Expr* loop_over_groups(Module& m, Facts& facts, For loop,
                             const std::function<const Expr*(RoundGroup& group, Lets& lets)>& body,
                             const std::function<const Expr*(const RoundGroup& group)>& holds) {
    const auto i64 = [&](std::int64_t n) { return i64_literal(m, n); };
    Lets lets;
    if (const Expr* check = length_check(m, facts, loop.data(), loop.node->loc))
        named(m, check, "equal", lets);
    const Expr* n = named(m, trip_count(m, loop.data()[0]), "n", lets);
    const Expr* groups = scalar_op(
        m, Op::Div, {scalar_op(m, Op::Add, {n, i64(RoundGroup::kRounds - 1)}), i64(RoundGroup::kRounds)});

    const Symbol* b = m.symbol(loop.builder_param()->name, loop.node->type);
    const Symbol *o = m.symbol("o", m.types.i64()), *y = m.symbol("y", m.types.i64());
    Lets inside;
    const Expr* last = named(m, scalar_op(m, Op::Sub, {n, i64(1)}), "last", lets);
    RoundGroup group = group_of(m, loop, b, y, last, inside);
    const Expr* end = scalar_op(m, Op::Add, {group.first, i64(RoundGroup::kRounds)});
    end = named(m, end, "end", inside);
    const Expr* all_hold = scalar_op(m, Op::BitAnd, {scalar_op(m, Op::Le, {end, n}), holds(group)});
    Lets together;
    const Expr* done = body(group, together);
    const Expr* one_by_one =
        loop_over_subrange(m, loop, group.first, scalar_op(m, Op::Min, {end, n}), group.builder);
    const Expr* choice = if_(m, all_hold, block(m, together, done), one_by_one, loop.node->loc);
    const Expr* f = lambda(m, {b, o, y}, block(m, inside, choice), loop.body().node->loc);
    const Expr* range = range_iter(m, IterKind::Scalar, i64(0), named(m, groups, "groups", lets), i64(1));
    const Expr* all = weld::loop(m, {&range, 1}, loop.builder(), f, loop.node->loc);
    return block(m, lets, with_annotations(m, all, loop.node->annotations), loop.node->loc);
}

}  // namespace weld
