// A loop over columns with loops over rows inside: where its look-ups read, and what has to hold so that none
// of them fails.
#include "weldir/passes/strided_nest.h"

#include <algorithm>
#include <utility>

#include "weldir/ir/loop_forms.h"
#include "weldir/ir/scalar.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/matrix_loops.h"

namespace weld {

using matrix_loops::kLeastColumns, matrix_loops::kMostRounds;

/// Elements of a vector of rows: of fewer the columns are as well read side by side, sixteen at a time.
static constexpr std::int64_t kLeastInRows = 1 << 17;

/// The length of the shortest of `rows`, which is a path.
static const Expr* least_length(Module& m, const Expr* rows) {
    const Type *number = m.types.i64(), *elem = rows->type->elem();
    const Type* type = m.types.builder(BuilderKind::Merger, {&number, 1}, MergeOp::Min);
    const Symbol *b = m.symbol("b", type), *i = m.symbol("i", number), *row = m.symbol("row", elem);
    const Expr* step = merge(m, var(m, b), len(m, var(m, row)));
    return result(m, loop(m, {&rows, 1}, new_builder(m, type), lambda(m, {b, i, row}, step), rows->loc),
                  rows->loc);
}

bool is_repeatable(Facts& facts, const Expr* datum) {
    const auto bound_is = [&](std::size_t k) { return facts.traits(datum->arg(k)).free_to_repeat(); };
    return is_path(datum) || counts_from_zero(datum) || (counts_by_one(datum) && bound_is(0) && bound_is(1));
}

const Expr* both(Module& m, const Expr* a, const Expr* b) {
    return a && b ? scalar_op(m, Op::BitAnd, {a, b}) : a ? a : b;
}

bool StridedNest::demand(const Expr* least, const Expr* most) {
    const std::optional<Count> a = facts_.count(least), b = facts_.count(most);
    if (a && b && a->known() && b->known()) {
        possible_ &= *a->known() <= *b->known();
        return possible_;
    }
    const bool bounds_below = least->op == Op::Literal;  // then it is written as `most >= least`
    holds_ = both(m_, holds_,
                  bounds_below ? scalar_op(m_, Op::Ge, {most, least}) : scalar_op(m_, Op::Le, {least, most}));
    return possible_;
}

bool StridedNest::find_condition(std::int64_t least_rows) {
    const BoundNames inside(outer_.node);
    const auto is_fixed = [&](const Expr* e) { return !inside.are_read_by(e); };
    if (!facts_.lengths_agree(outer_.data())) return false;
    for (const For inner : inner_) {
        if (!std::ranges::all_of(inner.data(), [&](const Expr* d) { return is_repeatable(facts_, d); }))
            return false;
        if (!std::ranges::all_of(inner.data(), is_fixed) || !facts_.lengths_agree(inner.data())) return false;
    }
    const Expr* columns = trip_count(m_, outer_.data()[0]);
    demand(i64_literal(m_, kLeastColumns), columns);
    demand(columns, i64_literal(m_, kMostRounds));
    // what may fail is asked only if the outer loop runs at all
    const Expr* runs = nullptr;
    std::vector<const Expr*> rows;
    for (const For inner : inner_) rows.push_back(trip_count(m_, inner.data()[0]));
    if (std::ranges::any_of(rows, [&](const Expr* n) { return facts_.traits(n).fails; })) {
        if (rows.size() > 1) return false;  // nor if the loop around it does not
        runs = std::exchange(holds_, nullptr);
    }
    for (auto n = rows.begin(); n != rows.end(); ++n) {
        if (std::any_of(rows.begin(), n, [&](const Expr* other) { return same(other, *n); })) continue;
        demand(i64_literal(m_, least_rows), *n);
        demand(*n, i64_literal(m_, kMostRounds));
    }
    const auto is_of_loop = [&](const Expr* e) {  // which is demanded to run
        return std::ranges::any_of(
            inner_, [&](For f) { return e == f.node || std::ranges::find(f.data(), e) != f.data().end(); });
    };
    bool ok = possible_;
    const auto look = [&](const Expr* e) {
        if (!ok) return;
        const Traits t = facts_.own_traits(e);
        const bool may_fail = t.fails || t.ordered;
        const Lookup at = e->as<Lookup>();
        if ((!may_fail && !at) || is_of_loop(e)) return;
        const std::optional<Place> place = at ? place_of(at, inside) : std::nullopt;
        if (place) note_strides(at, *place);
        if (!place && at) ok = demand_in_row(at, columns, rows, inside) || !may_fail;
        else if (may_fail) ok = place && demand_inside(at, columns, rows, *place);
    };
    for (const auto& [name, value] : before_) visit(value, look);
    visit(inner_.front().body().body(), look);
    if (runs) holds_ = holds_ ? scalar_op(m_, Op::And, {runs, holds_}) : runs;
    return ok && possible_ && strides_;
}

std::optional<Count> StridedNest::by_index(const Expr* name) {
    if (name->op == Op::Len) return Count(name);
    const auto has_elem = [&](For f) { return base_of(name) == f.elem_param(); };
    const auto inner = std::ranges::find_if(inner_, has_elem);
    const For loop = inner != inner_.end() ? *inner : outer_;
    const Expr* datum = datum_of(loop, name);
    if (!datum || !counts_by_one(datum)) return Count(name);
    return plus(facts_.count(datum->as<Iter>().start()), facts_.count(var(m_, loop.index_param())));
}

std::optional<Count> StridedNest::by_indices(const Count& n) {
    std::optional<Count> all = Count();
    for (const Count::Product& p : n.sum()) {
        std::optional<Count> product = Count(p.factor);
        for (const Expr* name : p.of) product = times(product, by_index(name));
        all = plus(all, product);
    }
    return all;
}

std::optional<StridedNest::Place> StridedNest::place_of(Lookup at, const BoundNames& inside) {
    const auto is_fixed = [&](const Expr* e) { return !inside.are_read_by(e); };
    if (!is_path(at.of()) || !at.of()->type->is_vec() || !is_fixed(at.of())) return {};
    return place_of_key(at.key(), inside);
}

std::optional<StridedNest::Place> StridedNest::place_of_key(const Expr* at, const BoundNames& inside) {
    const auto is_fixed = [&](const Expr* e) { return !inside.are_read_by(e); };
    const std::optional<Count> written_key = facts_.count(at);
    const std::optional<Count> key = written_key ? by_indices(*written_key) : std::nullopt;
    if (!key) return {};
    Place place{std::vector<const Expr*>(inner_.size() + 1), {}};
    const auto counter_of = [&](const Expr* name) -> const Expr** {
        for (std::size_t k = 0; k < inner_.size(); ++k)
            if (is_var(name, inner_[k].index_param())) return &place.strides[k];
        return is_var(name, outer_.index_param()) ? &place.strides.back() : nullptr;
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
        *stride = others ? others : i64_literal(m_, p.factor);
    }
    const Expr* by_column = place.strides.back();
    const bool goes_along = by_tiles_ && (!place.strides[0] || is_int(place.strides[0], 1));
    if (by_column && !is_int(by_column, 1) && !goes_along) return {};
    return place;
}

void StridedNest::note_strides(Lookup at, const Place& place) {
    const auto is_long = [](const Expr* stride) { return stride && !is_int(stride, 1); };
    const Expr* by_column = place.strides.back();
    if (!by_column || !is_int(by_column, 1) || std::ranges::none_of(place.strides, is_long)) return;
    strides_ = true;
    if (at.node->type->is_scalar()) across_.insert(at.node);
}

bool StridedNest::demand_inside(Lookup at, const Expr* columns, const std::vector<const Expr*>& rows,
                                const Place& place) {
    const Expr* length = len(m_, at.of());
    if (!(place.offset == Count())) {
        const Expr* start = written(m_, place.offset);
        demand(i64_literal(m_, 0), start);
        length = scalar_op(m_, Op::Sub, {length, start});
    }
    if (const Expr* stride = place.strides.back(); stride && !is_int(stride, 1)) {
        demand(i64_literal(m_, 0), stride);
        demand(stride, i64_literal(m_, kMostRounds));
        const Expr* before = product_of(m_, scalar_op(m_, Op::Sub, {columns, i64_literal(m_, 1)}), stride);
        const Expr* in_row = place.strides[0] ? rows[0] : i64_literal(m_, 1);
        return demand(scalar_op(m_, Op::Add, {before, in_row}), length);
    }
    const Expr* reach = place.strides.back() ? columns : i64_literal(m_, 1);
    for (std::size_t k = rows.size(); k-- > 0;) {
        const Expr* stride = place.strides[k];
        if (!stride) continue;
        if (!is_int(stride, 1) && !same(stride, columns)) {
            demand(i64_literal(m_, 0), stride);
            demand(stride, i64_literal(m_, kMostRounds));
        }
        if (is_int(reach, 1) && is_int(stride, 1)) {
            reach = rows[k];
        } else if (reach == columns && same(stride, columns)) {
            reach = product_of(m_, rows[k], stride);
        } else {
            const Expr* before = scalar_op(m_, Op::Sub, {rows[k], i64_literal(m_, 1)});
            reach =
                scalar_op(m_, Op::Add, {is_int(stride, 1) ? before : product_of(m_, before, stride), reach});
        }
    }
    return demand(reach, length);
}

bool StridedNest::demand_in_row(Lookup at, const Expr* columns, const std::vector<const Expr*>& rows,
                                const BoundNames& inside) {
    if (!at.node->type->is_scalar() || rows.size() > 1 || by_tiles_) return false;
    const auto is_one = [](const Expr* stride) { return stride && is_int(stride, 1); };
    const Expr* row = facts_.resolve(at.of());
    const Expr* all = base_of(row) == inner_[0].elem_param() ? datum_of(inner_[0], row) : nullptr;
    if (const Lookup by = row->as<Lookup>()) {
        const std::optional<Place> place = place_of(by, inside);
        if (place && is_one(place->strides[0]) && !place->strides[1]) all = by.of();
    }
    if (!all || !is_path(all) || !row->type->is_vec()) return false;
    const std::optional<Place> in_row = place_of_key(at.key(), inside);
    if (!in_row || in_row->strides[0] || !is_one(in_row->strides[1])) return false;
    const Expr* length = least_length(m_, all);
    if (!(in_row->offset == Count())) {
        const Expr* start = written(m_, in_row->offset);
        demand(i64_literal(m_, 0), start);
        length = scalar_op(m_, Op::Sub, {length, start});
    }
    demand(i64_literal(m_, kLeastInRows), product_of(m_, rows[0], columns));
    strides_ = true;
    return demand(columns, length);
}

}  // namespace weld
