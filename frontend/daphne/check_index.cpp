// Taking parts of matrices and frames, and assigning to parts of matrices.
#include <algorithm>
#include <cmath>

#include "frontend/daphne/check.h"
#include "frontend/daphne/fold.h"
#include "frontend/daphne/lower.h"
#include "frontend/daphne/represent.h"

namespace weld::daphne {

/// A position that is no number is a failure, where conversions elsewhere give 0.
static void lower_position(Lowering& l, const GraphNode& n) {
    l.demand("a == a", {{"a", n.args[0]}}, "a position is no number", n.loc);
    l.define(n.results[0], "i64(a)", {{"a", n.args[0]}}, n.loc);
}
static constexpr Builtin kPosition = {"(position)", "", nullptr, lower_position, ""};

static void lower_positions(Lowering& l, const GraphNode& n) {
    const bool is_real = is_float(n.args[0]->type.value);
    l.elementwise(n.results[0], {n.args[0]}, is_real ? "i64(a) where a == a : a position is no number" : "a",
                  n.loc);
}
static constexpr Builtin kPositions = {"(positions)", "", nullptr, lower_positions, ""};

/// The cells of a list of positions as whole numbers.
Value* Checker::whole_positions(Value* list, Loc loc) {
    list = to_value_type(list, is_float(list->type.value) ? ValueType::F64 : ValueType::Si64, loc);
    GraphNode* node = emit(GraphNode::Builtin, loc, {list});
    node->builtin = &kPositions;
    return give(node, Type::matrix(ValueType::Si64), list->rows, list->columns);
}

static std::optional<std::int64_t> known_position(const Value* v) {
    if (!v || !v->constant) return std::nullopt;
    return v->constant->integer;
}

bool Checker::subscript(GraphNode* node, const Index& index, bool is_column, bool is_insert,
                        GraphNode::Subscript* to, Dim* size) {
    const Dim all = *size;
    const char* what = is_column ? "column" : "row";
    to->kind = index.kind;
    auto add = [&](Value* v) {
        node->args.push_back(v);
        return int(node->args.size()) - 1;
    };
    auto scalar = [&](const Node* n, Value* v) -> Value* {
        if (v->type.is_frame() || v->type.is_list() || v->type.value == ValueType::Str)
            return error(n->start, "a position of a {} is a number, found {}", what, str(v->type));
        v = to_scalar(v, v->type.value, n->start);
        if (!is_float(v->type.value) || (v->constant && !std::isnan(v->constant->number)))
            return to_scalar(v, ValueType::Si64, n->start);
        if (v->constant) violated(n->start, "a position is no number");
        GraphNode* position = emit(GraphNode::Builtin, n->start, {v});
        position->builtin = &kPosition;
        return give(position, Type::scalar(ValueType::Si64));
    };
    if (index.kind == Index::All) return true;
    if (index.kind == Index::One) {
        const Value* object = node->args[0];
        Value* v = is_column && object->type.is_frame() ? answer(index.first->start, kCells) : nullptr;
        if (!v) v = expression(index.first);
        if (!v) return false;
        if (v->type.is_string() && is_column && object->type.is_frame() && !is_insert) {
            if (!v->constant && node->picks_column) {
                to->first = add(v);
                *size = {1, 0};
                return true;
            }
            if (!v->constant)
                return unknown(index.first->start, "a label has to be known before the run"), false;
            const std::string& label = v->constant->text;
            node->columns_taken.clear();
            for (std::size_t i = 0; i < object->type.columns.size(); ++i) {
                const std::string& at = object->type.columns[i].label;
                const bool every = label.ends_with(".*") && at.starts_with(label.substr(0, label.size() - 1));
                const bool is_first = at == label && node->columns_taken.empty();
                if (is_first || every) node->columns_taken.push_back(int(i));
            }
            if (node->columns_taken.empty())
                return error(index.first->start, "the frame has no column `{}`", label), false;
            *size = {std::int64_t(node->columns_taken.size()), 0};
            return true;
        }
        if (v->type.value == ValueType::Str)
            return error(
                       index.first->start, "{}",
                       v->type.is_matrix() && is_column && object->type.is_frame() && !is_insert
                           ? "one label is needed here, found a matrix of str; `as.scalar` makes one of a "
                             "cell"
                       : is_insert
                           ? "labels are of columns of frames; parts of matrices are assigned to by position"
                           : "labels are of columns of frames"),
                   false;
        if (v->type.is_matrix() && is_insert && !(v->rows.is(1) && v->columns.is(1)))
            return error(index.first->start,
                         "parts are assigned to by position or range, not by lists of positions"),
                   false;
        if (v->type.is_matrix() && !is_insert) {
            if (differ(v->columns, {1, 0}))
                violated(index.first->start, "a list of positions is one column, found {}", shape(v));
            to->first = add(to_value_type(v, is_float(v->type.value) ? ValueType::F64 : ValueType::Si64,
                                          index.first->start));
            *size = v->rows;
            return true;
        }
        if (v->type.is_frame() || v->type.is_list()) return scalar(index.first, v), false;
        v = scalar(index.first, v);
        to->first = add(v);
        if (const auto at = known_position(v); at && all.known() && (*at >= all.number || *at < -all.number))
            violated(index.first->start, "there is no {} {}; there are {}", what, *at, all.number);
        *size = {1, 0};
        return true;
    }
    Value* bounds[2] = {nullptr, nullptr};
    const Node* written[2] = {index.first, index.last};
    for (int i = 0; i < 2; ++i) {
        if (!written[i]) continue;
        Value* v = expression(written[i]);
        if (v) v = scalar(written[i], v);
        if (!v) return false;
        bounds[i] = v;
        (i ? to->last : to->first) = add(v);
    }
    auto lower = bounds[0] ? known_position(bounds[0]) : std::optional<std::int64_t>(0);
    auto upper = bounds[1]     ? known_position(bounds[1])
                 : all.known() ? std::optional(all.number)
                               : std::nullopt;
    const bool from_end = lower && *lower < 0;
    if (from_end && all.known()) *lower += all.number;
    if (upper && bounds[1] && (*upper < 0 || (from_end && *upper == 0)) && all.known())
        *upper = *upper < 0 || !is_insert ? *upper + all.number : *lower + 1;
    const bool known = lower && upper && *lower >= 0 && *upper >= 0;
    if (!bounds[0] && !bounds[1]) return true;
    if (all.known() && lower && upper) {
        const bool fits = *lower >= 0 && *lower < all.number && *lower <= *upper && *upper <= all.number;
        if (!fits)
            violated(index.first ? index.first->start : index.last->start,
                     "the range {}:{} does not lie in {} {}s", *lower, *upper, all.number, what);
    }
    *size = known && *upper >= *lower ? Dim{*upper - *lower, 0} : graph_.fresh_dim();
    return true;
}

/// The numbers of the columns of a frame that are taken by position; false after an error.
bool Checker::take_columns(GraphNode* node, const Node* n) {
    const auto count = std::int64_t(node->args[0]->type.columns.size());
    auto unknown = [&](const Node* at) {
        return Checker::unknown(at->start,
                                "which columns of a frame are taken has to be known before the run"),
               false;
    };
    auto at = [&](int arg, std::int64_t none) -> std::optional<std::int64_t> {
        if (arg < 0) return none;
        const Value* v = node->args[std::size_t(arg)];
        return v->constant ? std::optional(v->constant->integer) : std::nullopt;
    };
    auto take = [&](std::int64_t column, std::int64_t as_written) {
        if (column < 0 || column >= count)
            return error(n->start, "there is no column {}; there are {}", as_written, count), false;
        node->columns_taken.push_back(int(column));
        return true;
    };
    if (n->columns.kind == Index::Range) {
        auto lo = at(node->columns.first, 0), hi = at(node->columns.last, count);
        if (!lo || !hi) return unknown(lo ? n->columns.last : n->columns.first);
        if (*hi < 0 || (*lo < 0 && *hi == 0)) *hi += count;
        if (*lo < 0) *lo += count;
        if (!n->columns.first && !n->columns.last) *lo = 0, *hi = count;
        else if (*lo < 0 || *lo >= count || *lo > *hi || *hi > count)
            return error((n->columns.first ? n->columns.first : n->columns.last)->start,
                         "the range {}:{} does not lie in {} columns", *lo, *hi, count),
                   false;
        for (std::int64_t i = *lo; i < *hi; ++i) node->columns_taken.push_back(int(i));
        return true;
    }
    const Value* v = node->args[std::size_t(node->columns.first)];
    if (v->type.is_scalar()) {
        const auto one = at(node->columns.first, 0);
        return one ? take(*one + (*one < 0 ? count : 0), *one) : unknown(n->columns.first);
    }
    if (v->rows.is(std::int64_t(v->cells.size())))
        return std::ranges::all_of(v->cells, [&](const Constant& cell) {
            return take(cell.integer + (cell.integer < 0 ? count : 0), cell.integer);
        });
    const GraphNode* list = v->maker;
    while (list && list->kind == GraphNode::Convert) list = list->args[0]->maker;
    if (!list || list->kind != GraphNode::Matrix) return unknown(n->columns.first);
    for (std::size_t i = 0; i < list->cells; ++i) {
        const Value* cell = list->args[i];
        const Node* written = n->columns.first;
        if (!cell->constant) return unknown(written->form == Form::Matrix ? written->args[i] : written);
        const auto p = daphne::convert(*cell->constant, ValueType::Si64);
        if (!p) return error(written->start, "a position is no number, or lies outside"), false;
        if (!take(p->integer + (p->integer < 0 ? count : 0), p->integer)) return false;
    }
    return true;
}

/// `F[, label]` in a loop, a branch or a function, which becomes a matrix: the run can find the column if all
/// have the same type.
static bool can_pick_column(const Value* of, const Index& columns) {
    if (!of->type.is_frame() || of->type.columns.empty() || columns.kind != Index::One) return false;
    return std::ranges::all_of(of->type.columns,
                               [&](const Column& c) { return c.value == of->type.columns[0].value; });
}

Value* Checker::extract(const Node* n, bool as_matrix) {
    Value* of = expression(n->args[0]);
    if (!of) return nullptr;
    if (!of->type.is_matrix() && !of->type.is_frame())
        return error(n->start, "only matrices and frames have rows and columns, this is {}", str(of->type));
    GraphNode* node = make_node(GraphNode::Extract, n->loc);
    node->args = {of};
    node->picks_column = as_matrix && body_ != &graph_.main && can_pick_column(of, n->columns);
    Dim rows = of->rows, columns = of->columns;
    const bool good = subscript(node, n->rows, false, false, &node->rows, &rows);
    if (!subscript(node, n->columns, true, false, &node->columns, &columns) || !good) return nullptr;
    if (node->picks_column) {
        const int at = node->columns.first;
        const Value* which = at < 0 ? nullptr : node->args[std::size_t(at)];
        node->picks_column = which && which->type.is_scalar() && !which->constant;
    }
    Type type = of->type;
    if (node->picks_column) {
        type = Type::matrix(of->type.columns[0].value);
    } else if (type.is_frame() && n->columns.kind != Index::All) {
        if (node->columns_taken.empty() && !take_columns(node, n)) return nullptr;
        type.columns.clear();
        for (int i : node->columns_taken) type.columns.push_back(of->type.columns[std::size_t(i)]);
        columns = {std::int64_t(node->columns_taken.size()), 0};
        node->takes_columns = true;
    }
    body_->nodes.push_back(node);
    Value* out = give(node, type, rows, columns);
    out->sparsity = kept_sparsity(*node);
    return out;
}

Value* Checker::filter(const Node* n) {
    Value* of = expression(n->args[0]);
    if (!of) return nullptr;
    if (!of->type.is_matrix() && !of->type.is_frame())
        return error(n->start, "only matrices and frames have rows and columns, this is {}", str(of->type));
    GraphNode* node = make_node(GraphNode::Filter, n->loc);
    node->args = {of};
    Dim dims[2] = {of->rows, of->columns};
    const Index* indices[2] = {&n->rows, &n->columns};
    GraphNode::Subscript* subscripts[2] = {&node->rows, &node->columns};
    for (int i = 0; i < 2; ++i) {
        if (indices[i]->kind == Index::All) continue;
        if (indices[i]->kind == Index::Range)
            return error(n->start, "a filter takes columns of bits, not ranges");
        Value* bits = expression(indices[i]->first);
        if (!bits) return nullptr;
        const Loc at = indices[i]->first->start;
        if (!bits->type.is_matrix() || bits->type.value == ValueType::Str)
            return error(at, "a filter takes a matrix of one column with a bit for each {}, found {}",
                         i ? "column" : "row", str(bits->type));
        if (differ(bits->columns, {1, 0}) || differ(bits->rows, dims[i]))
            violated(at, "a bit for each of {} {}s is needed here, found {}", str(dims[i]),
                     i ? "column" : "row", shape(bits));
        if (i && of->type.is_frame())
            return error(at, "columns of frames are taken by label or position, not by bits");
        subscripts[i]->kind = Index::One;
        subscripts[i]->first = int(node->args.size());
        node->args.push_back(to_value_type(bits, ValueType::Bool, at));
        dims[i] = graph_.fresh_dim();
    }
    body_->nodes.push_back(node);
    Value* out = give(node, of->type, dims[0], dims[1]);
    out->sparsity = kept_sparsity(*node);
    return out;
}

Value* Checker::insert(Value* into, const Target& t, Value* value) {
    if (!into->type.is_matrix())
        return error(t.loc, "parts of matrices can be assigned to, `{}` is {}", t.name, str(into->type));
    GraphNode* node = make_node(GraphNode::Insert, t.loc);
    node->args = {into, value};
    Dim rows = into->rows, columns = into->columns;
    bool good = subscript(node, t.rows, false, true, &node->rows, &rows);
    good &= subscript(node, t.columns, true, true, &node->columns, &columns);
    if (!good || !value) return nullptr;
    if (!value->type.is_matrix())
        return error(t.loc, "a matrix is assigned to a part of a matrix, found {}", str(value->type));
    if (value->type.value != into->type.value)
        return error(t.loc, "`{}` holds {}, found {}; convert it, `as.{}(…)`", t.name,
                     name_of(into->type.value), name_of(value->type.value), name_of(into->type.value));
    if (differ(rows, value->rows) || differ(columns, value->columns))
        violated(t.loc, "the part has {} x {} cells, the value {}", rows.number, columns.number,
                 shape(value));
    body_->nodes.push_back(node);
    return give(node, into->type, into->rows, into->columns);
}

}  // namespace weld::daphne
