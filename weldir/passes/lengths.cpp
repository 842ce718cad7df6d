// Lengths, written out.
#include "weldir/passes/lengths.h"

#include "weldir/ir/walk.h"

namespace weld {

bool counts_by_one(const Expr* datum) {
    const Iter it = datum->as<Iter>();
    return it && it.shape().range && it.shape().kind == IterKind::Scalar && is_int(it.stride(), 1);
}

bool counts_from_zero(const Expr* datum) {
    return counts_by_one(datum) && is_int(datum->as<Iter>().start(), 0);
}

const Expr* trip_count(Module& m, const Expr* datum) {
    const Iter it = datum->as<Iter>();
    if (!it) return len(m, datum);
    if (!it.shape().bounded) return len(m, it.data());
    return is_int(it.start(), 0) ? it.end() : scalar_op(m, Op::Sub, {it.end(), it.start()});
}

const Expr* product_of(Module& m, const Expr* a, const Expr* b) {
    const Literal x = a->as<Literal>(), y = b->as<Literal>();
    return x && y ? i64_literal(m, x.as_int() * y.as_int()) : scalar_op(m, Op::Mul, {a, b});
}

const Expr* written(Module& m, const Count& n, Loc loc) {
    const Expr* sum = nullptr;
    for (const Count::Product& p : n.sum()) {
        const Expr* product = nullptr;
        for (const Expr* name : p.of) product = product ? scalar_op(m, Op::Mul, {product, name}, loc) : name;
        if (p.factor != 1 || !product) {
            const Expr* factor = i64_literal(m, p.factor, loc);
            product = product ? scalar_op(m, Op::Mul, {product, factor}, loc) : factor;
        }
        sum = sum ? scalar_op(m, Op::Add, {sum, product}, loc) : product;
    }
    return sum ? sum : i64_literal(m, 0, loc);
}

/// A datum that is as long as `d`, and costs nothing to walk along.
static const Expr* as_long_as(Module& m, Facts& facts, const Expr* d) {
    const std::optional<Count> n = is_path(d) ? facts.length(d) : std::nullopt;
    const Len of = n && n->name() ? n->name()->as<Len>() : Len{};
    if (of && of.of()->type->is_vec()) return of.of();
    return d->binds ? fresh(m, d) : d;
}

const Expr* counting_loop(Module& m, Args data, std::int64_t step, Loc loc) {
    const Type* i64[] = {m.types.i64()};
    const Type* type = m.types.builder(BuilderKind::Merger, i64, MergeOp::Add);
    std::vector<const Type*> types;
    for (const Expr* d : data) types.push_back(d->type->elem());
    const Symbol* b = m.symbol("b", type);
    const Symbol* x = m.symbol("x", types.size() == 1 ? types[0] : m.types.structure(types));
    const Expr* body = step ? merge(m, var(m, b), i64_literal(m, step, loc), nullptr, loc) : var(m, b);
    return loop(m, data, new_builder(m, type), lambda(m, {b, m.symbol("i", i64[0]), x}, body), loc);
}

const Expr* empty_loop(Module& m, Args data, Loc loc) { return result(m, counting_loop(m, data, 0, loc)); }

const Expr* length_check(Module& m, Facts& facts, Args data, Loc loc, const Symbol* at) {
    if (facts.lengths_agree(data, at)) return nullptr;
    std::vector<const Expr*> lengths;
    for (const Expr* d : data) lengths.push_back(as_long_as(m, facts, d));
    return empty_loop(m, lengths, loc);
}

/// `e - less` at most, as far as its form and that of what it names tells. `roughly`: unless sums in it wrap around.
static std::optional<std::int64_t> at_most(Facts& facts, const Expr* e, const Count& less, bool roughly) {
    const Expr* value = facts.resolve(e);
    const auto side = [&](std::size_t i, const Count& n) {
        return at_most(facts, value->arg(i), n, roughly);
    };
    if (value->op == Op::Min) {
        const auto a = side(0, less), b = side(1, less);
        return a && b ? std::min(*a, *b) : a ? a : b;
    }
    if (roughly && value->op == Op::Sub)
        if (const auto taken = facts.count(value->arg(1))) return side(0, less + *taken);
    if (roughly && value->op == Op::Add)
        for (const std::size_t i : {0, 1})
            if (const auto more = facts.count(value->arg(i))) return side(1 - i, less - *more);
    if (roughly && value->op == Op::Div) {
        const Literal by = facts.resolve(value->arg(1))->as<Literal>();
        const auto of = by && by.as_int() > 0 && less.known() == 0 ? side(0, less) : std::nullopt;
        if (of) return *of / by.as_int();
    }
    const std::optional<Count> count = facts.count(e);
    return count ? (*count - less).known() : std::nullopt;
}

static std::optional<std::int64_t> most_rounds(Facts& facts, For loop, bool roughly) {
    const Expr* datum = loop.data()[0];
    if (const auto most = most_in_short_rows(facts, datum)) return most;
    const Iter range = datum->as<Iter>();
    if (!range || !range.shape().bounded || range.shape().nd || !is_int(range.stride(), 1)) return {};
    const std::optional<Count> begin = facts.count(range.start());
    return begin ? at_most(facts, range.end(), *begin, roughly) : std::nullopt;
}

std::optional<std::int64_t> most_rounds(Facts& facts, For loop) { return most_rounds(facts, loop, false); }
std::optional<std::int64_t> likely_rounds(Facts& facts, For loop) { return most_rounds(facts, loop, true); }

std::optional<std::int64_t> most_in_short_rows(Facts& facts, const Expr* datum) {
    const OptLanes rows =
        datum->op == Op::GetField ? facts.resolve(datum->arg(0))->as<OptLanes>() : OptLanes{};
    if (rows) return rows.most() ? std::optional(rows.most()->as<Literal>().as_int()) : std::nullopt;
    const Result made = facts.resolve(datum)->as<Result>();
    if (!made) return {};
    const bool is_field = made.builder()->op == Op::GetField;
    const Expr* loop = facts.resolve(is_field ? made.builder()->arg(0) : made.builder());
    if (loop->op != Op::For) return {};
    Facts::Path path;
    if (is_field) path.push_back(made.builder()->attr.index);
    const std::optional<Count> each = facts.merges_per_iteration(loop, path);
    if (!each || each->known() != 1) return {};
    std::optional<std::int64_t> most;
    for (const Expr* d : loop->as<For>().data())
        if (!most) most = most_in_short_rows(facts, d);
    return most;
}

}  // namespace weld
