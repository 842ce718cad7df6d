// Making loops over subranges: of the bounds of each datum, and of the index, which begins elsewhere.
#include "weldir/passes/subrange.h"

#include <functional>

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"

namespace weld {

bool may_be_cut(Facts& facts, const Expr* datum) {
    const Iter it = datum->as<Iter>();
    if (!it) return is_path(datum);
    if (it.shape().kind != IterKind::Scalar || it.shape().nd) return false;
    if (!it.shape().bounded) return is_path(it.data());
    if (!is_int(it.stride(), 1) || (it.data() && !is_path(it.data()))) return false;
    return counts_from_zero(datum) || !facts.traits(datum).fails_here;
}

bool holds_table(const Type* t) {
    if (t->is_builder()) return t->gives->is_dict();
    return std::ranges::any_of(t->args, [&](const Type* f) { return f->holds_builder && holds_table(f); });
}

static const Expr* sum(Module& m, const Expr* a, const Expr* b) {
    return is_int(a, 0) ? b : scalar_op(m, Op::Add, {a, b});
}

const Expr* subrange(Module& m, const Expr* datum, const Expr* start, const Expr* end) {
    const Iter it = datum->as<Iter>();
    const Expr* own = it && it.shape().bounded ? it.start() : i64_literal(m, 0);
    const Expr* bounds[] = {sum(m, own, start), sum(m, own, end), i64_literal(m, 1)};
    if (it && it.shape().range)
        return range_iter(m, IterKind::Scalar, bounds[0], bounds[1], bounds[2], 0, datum->loc);
    return iter(m, IterKind::Scalar, it ? it.data() : datum, bounds, 0, datum->loc);
}

std::vector<const Expr*> subranges(Module& m, For loop, const Expr* start, const Expr* end) {
    std::vector<const Expr*> all;
    for (const Expr* d : loop.data()) all.push_back(subrange(m, d, start, end));
    return all;
}

static const Expr* for_blocks(Module& m, Facts& facts, For loop, const Expr* start, std::int64_t rounds,
                              std::vector<std::size_t> path) {
    if (start->op == Op::MakeStruct)
        return map_args(m, start, [&](const Expr* field, std::size_t i) {
            std::vector<std::size_t> inside = path;
            inside.push_back(i);
            return for_blocks(m, facts, loop, field, rounds, inside);
        });
    const NewBuilder made = start->as<NewBuilder>();
    if (!made || !info(made.kind()).lists_merges || (made.arg() && facts.traits(made.arg()).fails))
        return start;
    const std::optional<Count> n = facts.merges_per_iteration(loop.node, path);
    if (!n || !n->known()) return start;
    const Expr* each = i64_literal(m, *n->known() * rounds);
    const Expr* sized = new_builder(m, start->type, each, start->loc);
    return annotate(m, with_annotations(m, sized, start->annotations), AttrKey::Size, "most");
}

const Expr* for_blocks(Module& m, Facts& facts, For loop, const Expr* start, std::int64_t rounds) {
    return for_blocks(m, facts, loop, start, rounds, {});
}

const Expr* with_capacity(Module& m, Facts& facts, For loop, const Expr* start, const Expr* n) {
    const NewBuilder made = start->as<NewBuilder>();
    if (!made || made.arg() || !info(made.kind()).lists_merges) return start;
    const std::optional<Count> each = facts.merges_per_iteration(loop.node, {});
    if (!each || each->known() != 1) return start;
    const bool is_counted = n->op == Op::Literal || n->op == Op::Len;  // or the end of no range
    const Expr* all = is_counted ? n : scalar_op(m, Op::Max, {n, i64_literal(m, 0)});
    const Expr* sized = new_builder(m, made.node->type, all, made.node->loc);
    return annotate(m, with_annotations(m, sized, made.node->annotations), AttrKey::Capacity, "true");
}

/// New builders, perhaps behind other loops.
static bool begins_here(const Expr* builder) {
    if (builder->op == Op::MakeStruct) return std::ranges::all_of(builder->args(), begins_here);
    const For before = builder->as<For>();
    return before ? begins_here(before.builder()) : builder->op == Op::NewBuilder;
}

const Expr* with_appends(Module& m, Facts& facts, For loop, std::int64_t rounds, const Expr* groups) {
    std::vector<std::int64_t> all;
    bool any = false;
    const std::function<void(const Type*, Facts::Path)> note = [&](const Type* t, const Facts::Path& path) {
        for (std::size_t i = 0; t->is_struct() && i < t->args.size(); ++i) {
            Facts::Path inside = path;
            inside.push_back(i);
            note(t->args[i], inside);
        }
        if (!t->is_builder() || !info(t).keeps_merges) return;
        const std::optional<Count> each = facts.merges_per_iteration(loop.node, path);
        any |= each && each->known();
        all.push_back(each && each->known() ? *each->known() * rounds : -1);
    };
    if (begins_here(loop.builder())) note(loop.node->type, {});
    return any ? annotate(m, groups, AttrKey::Appends, all) : groups;
}

const Expr* with_index(Module& m, const Symbol* index, const Expr* start, const Symbol* k, const Expr* body) {
    return mentions(body, index) ? let(m, index, sum(m, start, var(m, k)), body) : body;
}

const Expr* loop_over_subrange(Module& m, For loop, const Expr* start, const Expr* end, const Expr* builder) {
    const Lambda as_it_was = fresh(m, loop.body().node)->as<Lambda>();
    const Symbol *i = as_it_was.param(1), *k = m.symbol(i->name, i->type);
    const Expr* f = lambda(m, {as_it_was.param(0), k, as_it_was.param(2)},
                           with_index(m, i, start, k, as_it_was.body()), as_it_was.node->loc);
    const Expr* all = weld::loop(m, subranges(m, loop, start, end), builder, f, loop.node->loc);
    return with_annotations(m, all, loop.node->annotations);
}

}  // namespace weld
