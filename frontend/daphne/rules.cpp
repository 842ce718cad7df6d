// Types and shapes of what built-in functions give: made anew, cell by cell, aggregated; lists, output.
#include "frontend/daphne/rules.h"

#include <algorithm>
#include <cmath>

#include "frontend/daphne/fold.h"

namespace weld::daphne {

// ---- generation and metadata

bool rule_fill(Call& c) {
    if (!c.want_scalar(0) || !c.want_integer(1) || !c.want_integer(2)) return false;
    Value* out = c.give(Type::matrix(c[0]->type.value), c.checker.dim_of(c[1]), c.checker.dim_of(c[2]));
    if (const auto& k = c[0]->constant; k && k->value != ValueType::Str)
        out->sparsity = is_float(k->value) ? k->number != 0 : k->integer != 0;
    out->symmetric = out->rows == out->columns;
    return true;
}

bool rule_create_frame(Call& c) {
    std::size_t columns = 0;
    while (columns < c.size() && c[columns]->type.is_matrix()) ++columns;
    if (columns == 0) return c.wrong(0, "`createFrame` takes columns, then labels or none");
    std::vector<std::string> labels;
    for (std::size_t i = columns; i < c.size(); ++i) {
        const auto label = c.known_text(i);
        if (!label) return false;
        labels.push_back(*label);
    }
    if (labels.empty())
        for (std::size_t i = 0; i < columns; ++i) labels.push_back("col_" + std::to_string(i));
    if (labels.size() != columns)
        return c.wrong(columns, "{} columns need as many labels, or none; found {}", columns, labels.size());
    c.args.resize(columns);
    c.results = {c.checker.make_frame(c.args, labels, c.loc)};
    return true;
}

bool rule_diag_matrix(Call& c) {
    if (!c.want_numbers(0)) return false;
    if (differ(c[0]->columns, kOne)) c.violated(0, "`diagMatrix` takes a matrix of one column");
    Value* out = c.give(c[0]->type, c[0]->rows, c[0]->rows);
    out->symmetric = true;
    if (out->rows.known() && out->rows.number > 0)
        out->sparsity = std::max(0.0, c[0]->sparsity < 0 ? 1.0 : c[0]->sparsity) / double(out->rows.number);
    return true;
}

bool rule_random(Call& c) {
    if (!c.want_integer(0) || !c.want_integer(1) || !c.want_scalar(2) || !c.want_scalar(3) ||
        !c.want_float(4) || !c.want_integer(5))
        return false;
    const ValueType value = as_number(c[2]->type.value);
    if (value == ValueType::Str) return c.wrong(2, "`rand` makes numbers, found {}", str(c[2]->type));
    if (c[2]->type.value != c[3]->type.value)
        return c.wrong(3, "`min` and `max` of `rand` have one type, found {} and {}",
                       name_of(c[2]->type.value), name_of(c[3]->type.value));
    c.args[2] = c.checker.to_scalar(c[2], value, c.locs[2]);
    c.args[3] = c.checker.to_scalar(c[3], value, c.locs[3]);
    Value* out = c.give(Type::matrix(value), c.checker.dim_of(c[0]), c.checker.dim_of(c[1]));
    if (c[4]->constant) out->sparsity = c[4]->constant->number;
    return true;
}

bool rule_sample(Call& c) {
    if (!c.want_scalar(0) || !c.want_integer(1) || !c.want_bool(2) || !c.want_integer(3)) return false;
    if (c[0]->type.value == ValueType::Str) return c.wrong(0, "`range` of `sample` is a number");
    c.args[0] = c.checker.to_scalar(c[0], as_number(c[0]->type.value), c.locs[0]);
    c.give(Type::matrix(c[0]->type.value), c.checker.dim_of(c[1]), kOne);
    return true;
}

bool rule_sequence(Call& c) {
    ValueType value = ValueType::Bool;
    for (std::size_t i = 0; i < 3; ++i) {
        if (!c.has(i)) continue;
        if (!c.want_scalar(i)) return false;
        if (c[i]->type.value == ValueType::Str)
            return c.wrong(i, "`{}` of `seq` is a number, found {}", c.param(i), str(c[i]->type));
        value = std::max(value, c[i]->type.value);
    }
    value = as_number(value);
    if (!c.has(2)) {
        Constant one = integer_constant(1, ValueType::Si64);
        c.args[2] = c.checker.constant(*convert(one, value), c.loc);
        c.locs[2] = c.loc;
    }
    for (std::size_t i = 0; i < 3; ++i) c.args[i] = c.checker.to_scalar(c[i], value, c.locs[i]);
    Dim rows = c.checker.graph().fresh_dim();
    if (c[0]->constant && c[1]->constant && c[2]->constant && is_integer(value)) {
        const std::int64_t from = c[0]->constant->integer, to = c[1]->constant->integer,
                           inc = c[2]->constant->integer;
        const bool is_small = std::abs(from) < (1LL << 60) && std::abs(to) < (1LL << 60);
        const bool rises = inc > 0 || is_unsigned(value);
        if (inc != 0 && is_small && rises != (to > from) && to != from) rows = {0, 0};
        else if (inc != 0 && is_small && (inc > 0 || !is_unsigned(value))) rows = {(to - from) / inc + 1, 0};
    }
    c.give(Type::matrix(value), rows, kOne);
    return true;
}

bool rule_type_of(Call& c) {
    Value* out = c.give(Type::scalar(ValueType::Str));
    if (c[0]->type.is_scalar())
        out->constant = Constant{.value = ValueType::Str,
                                 .integer = 0,
                                 .number = 0,
                                 .text = c[0]->type.value == ValueType::Str
                                             ? "const char*"
                                             : std::string(printed_name(c[0]->type.value))};
    return true;
}

bool rule_count_of(Call& c) {
    if (!c.want_data(0)) return false;
    const std::string_view what = c.builtin.code;
    const Dim n = what == "rows"      ? c[0]->rows
                  : what == "columns" ? c[0]->columns
                                      : c.checker.product(c[0]->rows, c[0]->columns);
    Value* out = c.give(Type::scalar(ValueType::Size));
    if (n.known()) out->constant = integer_constant(n.number, ValueType::Size);
    return true;
}

bool rule_sparsity(Call& c) {
    if (!c.want_numbers(0)) return false;
    c.give(Type::scalar(ValueType::F64));
    return true;
}

bool rule_is_symmetric(Call& c) {
    if (!c.want_matrix(0)) return false;
    if (differ(c[0]->rows, c[0]->columns)) c.violated(0, "only square matrices can be symmetric");
    c.give(Type::scalar(ValueType::Bool));
    return true;
}

// ---- cells

static bool cells(Call& c, ValueType result, std::size_t operands) {
    bool any_matrix = false;
    Dim rows, columns;
    c.checker.broadcast({c.args.begin(), c.args.begin() + std::ptrdiff_t(operands)}, c.loc, &any_matrix,
                        &rows, &columns);
    if (any_matrix) c.give(Type::matrix(result), rows, columns);
    else c.give(Type::scalar(result));
    return true;
}

static bool want_cells(Call& c, std::size_t i, bool text) {
    if (c[i]->type.is_frame() || c[i]->type.is_list())
        return c.wrong(i, "`{}` takes scalars and matrices, found {}", c.builtin.name, str(c[i]->type));
    if ((c[i]->type.value == ValueType::Str) != text)
        return c.wrong(i, "`{}` takes {}, found {}", c.builtin.name, text ? "strings" : "numbers",
                       str(c[i]->type));
    return true;
}

bool rule_keep_cells(Call& c) {
    if (!want_cells(c, 0, false)) return false;
    const ValueType value = as_number(c[0]->type.value);
    convert_to(c, value);
    return cells(c, value, 1);
}
bool rule_float_cells(Call& c) {
    if (!want_cells(c, 0, false)) return false;
    const ValueType value = as_float(c[0]->type.value);
    convert_to(c, value);
    return cells(c, value, 1);
}
bool rule_text_cells(Call& c) { return want_cells(c, 0, true) && cells(c, ValueType::Str, 1); }

bool rule_binary_cells(Call& c) {
    if (!want_cells(c, 0, false) || !want_cells(c, 1, false)) return false;
    const ValueType value = as_number(std::max(c[0]->type.value, c[1]->type.value));
    convert_to(c, value);
    return cells(c, value, 2);
}
bool rule_power_cells(Call& c) {
    if (!want_cells(c, 0, false) || !want_cells(c, 1, false)) return false;
    Value* out = c.checker.operate(Operator::Pow, c[0], c[1], c.loc);
    c.results = {out};
    return out != nullptr;
}
bool rule_log_cells(Call& c) {
    if (!want_cells(c, 0, false) || !want_cells(c, 1, false)) return false;
    const ValueType value = as_float(std::max(c[0]->type.value, c[1]->type.value));
    convert_to(c, value);
    return cells(c, value, 2);
}
bool rule_concat_cells(Call& c) {
    for (std::size_t i = 0; i < 2; ++i)
        if (c[i]->type.is_frame() || c[i]->type.is_list())
            return c.wrong(i, "`concat` takes strings, found {}", str(c[i]->type));
    convert_to(c, ValueType::Str);
    return cells(c, ValueType::Str, 2);
}

static bool want_outer(Call& c) {
    if (!c.want_matrix(0) || !c.want_matrix(1)) return false;
    if (differ(c[0]->columns, kOne))
        c.violated(0, "`{}` takes a matrix of one column and one of one row", c.builtin.name);
    if (differ(c[1]->rows, kOne))
        c.violated(1, "`{}` takes a matrix of one column and one of one row", c.builtin.name);
    return true;
}

bool rule_outer_operator(Call& c) {
    if (!want_outer(c)) return false;
    for (int i = int(Operator::MatMul); i <= int(Operator::Or); ++i) {
        if (text_of(Operator(i)) != c.builtin.code) continue;
        Value* out = c.checker.operate(Operator(i), c[0], c[1], c.loc);
        if (!out) return false;
        out->rows = c[0]->rows, out->columns = c[1]->columns;
        out->maker->is_outer = true;
        c.results = {out};
        return true;
    }
    return false;
}
static bool outer(Call& c, ValueType operand, ValueType result) {
    convert_to(c, operand);
    c.give(Type::matrix(result), c[0]->rows, c[1]->columns);
    c.node->is_outer = true;
    return true;
}
bool rule_outer_cells(Call& c) {
    if (!want_outer(c) || !want_cells(c, 0, false) || !want_cells(c, 1, false)) return false;
    const ValueType v = as_number(std::max(c[0]->type.value, c[1]->type.value));
    return outer(c, v, v);
}
bool rule_outer_log(Call& c) {
    if (!want_outer(c) || !want_cells(c, 0, false) || !want_cells(c, 1, false)) return false;
    const ValueType v = as_float(std::max(c[0]->type.value, c[1]->type.value));
    return outer(c, v, v);
}
bool rule_outer_xor(Call& c) {
    if (!want_outer(c) || !want_cells(c, 0, false) || !want_cells(c, 1, false)) return false;
    const ValueType v = std::max(c[0]->type.value, c[1]->type.value);
    return outer(c, ValueType::Bool, is_float(v) ? ValueType::Ui64 : v);
}
bool rule_outer_concat(Call& c) { return want_outer(c) && outer(c, ValueType::Str, ValueType::Str); }

// ---- aggregation

/// `f(arg, groupIds, numGroups)`: a row for each group.
static bool aggregated_by_groups(Call& c, ValueType result) {
    if (!c.want_numbers(1) || !c.want_integer(2)) return false;
    c.args[1] = c.checker.to_value_type(c[1], ValueType::Si64, c.locs[1]);
    if (differ(c[1]->columns, kOne)) c.violated(1, "groups of `{}` stand in one column", c.builtin.name);
    if (differ(c[1]->rows, c[0]->rows))
        c.violated(1, "`{}` takes a group for each row, found {} for {}", c.builtin.name, c[1]->rows.number,
                   c[0]->rows.number);
    c.give(Type::matrix(result), c.checker.dim_of(c[2]), c[0]->columns);
    return true;
}

/// All cells, rows (axis 0), columns (axis 1), groups of rows.
static bool aggregated(Call& c, ValueType cells, ValueType result) {
    if (!c.want_numbers(0)) return false;
    c.args[0] = c.checker.to_value_type(c[0], cells, c.locs[0]);
    if (c.has(2)) return aggregated_by_groups(c, result);
    if (!c.has(1)) {
        c.args.resize(1);
        c.give(Type::scalar(result));
        return true;
    }
    const Value* written = c[1];
    if (!c.want_integer(1)) return false;
    if (!c[1]->constant) {
        c.checker.unwritten(c.locs[1], "the axis of `{}` does not depend on data; it is 0 or 1",
                            c.builtin.name);
        return false;
    }
    const auto axis = c[1]->constant->integer;
    const bool is_whole =
        !written->constant || !is_float(written->type.value) || written->constant->number == double(axis);
    if (!is_whole || (axis != 0 && axis != 1))
        return c.wrong(1, "an axis is 0, for a value of each row, or 1, for one of each column; found {}",
                       axis);
    c.args.resize(2);
    if (axis == 0) c.give(Type::matrix(result), c[0]->rows, kOne);
    else c.give(Type::matrix(result), kOne, c[0]->columns);
    return true;
}
bool rule_aggregate(Call& c) {
    if (!c.want_numbers(0)) return false;
    const ValueType v = as_number(c[0]->type.value);
    return aggregated(c, v, v);
}
bool rule_aggregate_float(Call& c) {
    if (!c.want_numbers(0)) return false;
    const ValueType v = as_float(c[0]->type.value);
    return aggregated(c, v, v);
}
bool rule_aggregate_count(Call& c) {
    if (!c.want_numbers(0)) return false;
    return aggregated(c, as_number(c[0]->type.value), ValueType::Si64);
}
bool rule_aggregate_index(Call& c) {
    if (!c.want_numbers(0)) return false;
    return aggregated(c, as_number(c[0]->type.value), ValueType::Size);
}
bool rule_cumulate(Call& c) {
    if (!c.want_numbers(0)) return false;
    convert_to(c, as_number(c[0]->type.value));
    c.give(c[0]->type, c[0]->rows, c[0]->columns);
    return true;
}

// ---- lists

bool rule_create_list(Call& c) {
    if (c.size() == 0) return c.wrong(0, "`createList` takes at least one matrix");
    for (std::size_t i = 0; i < c.size(); ++i) {
        if (!c.want_matrix(i)) return false;
        if (c[i]->type.value != c[0]->type.value)
            return c.wrong(i, "a list holds matrices of one type, found {} and {}", str(c[0]->type),
                           str(c[i]->type));
    }
    c.give(Type::list(c[0]->type.value));
    return true;
}
static bool want_list(Call& c) {
    if (c[0]->type.is_list()) return true;
    return c.wrong(0, "`{}` takes a list, found {}", c.builtin.name, str(c[0]->type));
}
bool rule_list_length(Call& c) {
    if (!want_list(c)) return false;
    c.give(Type::scalar(ValueType::Size));
    return true;
}
bool rule_list_append(Call& c) {
    if (!want_list(c) || !c.want_matrix(1)) return false;
    if (c[0]->type.value != c[1]->type.value)
        return c.wrong(1, "the list holds {}, found {}", name_of(c[0]->type.value), str(c[1]->type));
    c.give(c[0]->type);
    return true;
}
bool rule_list_remove(Call& c) {
    if (!want_list(c) || !c.want_integer(1)) return false;
    c.give(c[0]->type);
    c.give(Type::matrix(c[0]->type.value), c.checker.graph().fresh_dim(), c.checker.graph().fresh_dim());
    return true;
}

// ---- output, control

bool rule_print(Call& c) {
    for (std::size_t i = 1; i < 3; ++i) {
        if (!c.has(i))
            c.args[i] = c.checker.constant(integer_constant(i == 1, ValueType::Bool), c.loc),
            c.locs[i] = c.loc;
        else if (!c.want_bool(i)) return false;
    }
    c.act();
    return true;
}
bool rule_stop(Call& c) {
    if (!c.has(0))
        c.args[0] = c.checker.constant(
            {.value = ValueType::Str, .integer = 0, .number = 0, .text = "unspecified reason"}, c.loc),
        c.locs[0] = c.loc;
    if (!c.want_scalar(0)) return false;
    c.args[0] = c.checker.to_scalar(c[0], ValueType::Str, c.locs[0]);
    c.act();
    return true;
}
bool rule_now(Call& c) {
    c.args.clear();
    c.give(Type::scalar(ValueType::Si64));
    return true;
}
bool rule_profiling(Call& c) {
    c.act();
    return true;
}

// ---- preprocessing

bool rule_one_hot(Call& c) {
    if (!c.want_matrix(0) || !c.want_numbers(1)) return false;
    c.args[1] = c.checker.to_value_type(c[1], ValueType::Si64, c.locs[1]);
    if (differ(c[1]->rows, kOne) || differ(c[1]->columns, c[0]->columns))
        c.violated(1, "`info` of `oneHot` has one row, and a number for each column");
    const bool text = c[0]->type.value == ValueType::Str;
    c.give(text ? Type::matrix(ValueType::Si64) : c[0]->type, c[0]->rows, c.checker.graph().fresh_dim());
    return true;
}
bool rule_recode(Call& c) {
    if (!c.want_matrix(0) || !c.want_bool(1)) return false;
    if (differ(c[0]->columns, kOne)) c.violated(0, "`recode` takes a matrix of one column");
    c.give(Type::matrix(ValueType::Si64), c[0]->rows, kOne);
    c.give(c[0]->type, c.checker.graph().fresh_dim(), kOne);
    return true;
}
bool rule_bin(Call& c) {
    if (!c.want_numbers(0) || !c.want_integer(1)) return false;
    if (c.has(2) != c.has(3)) return c.wrong(2, "`bin` takes both bounds or none");
    Value* bins = c[1];
    convert_to(c, as_number(c[0]->type.value));
    c.args[1] = bins;
    for (std::size_t i = 2; i < 4 && c.has(2); ++i)
        if (!c.want_float(i)) return false;
    if (!c.has(2)) c.args.resize(2);
    c.give(c[0]->type, c[0]->rows, c[0]->columns);
    return true;
}
bool rule_quantize(Call& c) {
    if (!c.want_numbers(0)) return false;
    for (std::size_t i = 1; i < 3; ++i) {
        if (!c.want_scalar(i)) return false;
        c.args[i] = c.checker.to_scalar(c[i], ValueType::F32, c.locs[i]);
    }
    c.args[0] = c.checker.to_value_type(c[0], ValueType::F32, c.locs[0]);
    c.give(Type::matrix(ValueType::Ui8), c[0]->rows, c[0]->columns);
    return true;
}

}  // namespace weld::daphne
