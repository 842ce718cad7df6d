// Types and shapes of what built-in functions make of whole matrices: reorganised, joined, multiplied,
// solved.
#include <algorithm>

#include "frontend/daphne/rules.h"

namespace weld::daphne {

// ---- reorganisation

bool rule_reshape(Call& c) {
    if (!c.want_matrix(0) || !c.want_integer(1) || !c.want_integer(2)) return false;
    const Dim rows = c.checker.dim_of(c[1]), columns = c.checker.dim_of(c[2]);
    if (differ(c.checker.product(rows, columns), c.checker.product(c[0]->rows, c[0]->columns)))
        c.violated(1, "{} x {} cells cannot become {} x {}", c[0]->rows.number, c[0]->columns.number,
                   rows.number, columns.number);
    c.give(c[0]->type, rows, columns)->sparsity = c[0]->sparsity;
    return true;
}
bool rule_transpose(Call& c) {
    if (!c.want_matrix(0)) return false;
    Value* out = c.give(c[0]->type, c[0]->columns, c[0]->rows);
    out->sparsity = c[0]->sparsity;
    out->symmetric = c[0]->symmetric;
    return true;
}
bool rule_reverse(Call& c) {
    if (!c.want_data(0)) return false;
    c.give(c[0]->type, c[0]->rows, c[0]->columns)->sparsity = c[0]->sparsity;
    return true;
}

static bool both_matrices(Call& c) {
    if (!c.want_data(0) || !c.want_data(1)) return false;
    if (c[0]->type.data != c[1]->type.data)
        return c.wrong(1, "`{}` takes two matrices or two frames", c.builtin.name);
    if (!c[0]->type.is_matrix()) return true;
    if ((c[0]->type.value == ValueType::Str) != (c[1]->type.value == ValueType::Str))
        return c.wrong(1, "`{}` takes numbers or strings, found {} and {}", c.builtin.name, str(c[0]->type),
                       str(c[1]->type));
    convert_to(c, std::max(c[0]->type.value, c[1]->type.value));
    return true;
}
bool rule_cbind(Call& c) {
    if (!both_matrices(c)) return false;
    if (differ(c[0]->rows, c[1]->rows))
        c.violated(1, "`cbind` takes equally many rows, found {} and {}", c[0]->rows.number,
                   c[1]->rows.number);
    Type type = c[0]->type;
    for (const Column& one : c[1]->type.columns) {
        if (std::ranges::find(type.columns, one.label, &Column::label) != type.columns.end())
            c.violated(1, "both frames have a column `{}`", one.label);
        type.columns.push_back(one);
    }
    c.give(type, c[0]->rows.known() ? c[0]->rows : c[1]->rows, c.checker.sum(c[0]->columns, c[1]->columns));
    return true;
}
bool rule_rbind(Call& c) {
    if (!both_matrices(c)) return false;
    if (differ(c[0]->columns, c[1]->columns))
        c.violated(1, "`rbind` takes equally many columns, found {} and {}", c[0]->columns.number,
                   c[1]->columns.number);
    if (c[0]->type.is_frame() && !(c[0]->type == c[1]->type))
        return c.wrong(1, "`rbind` takes frames of the same columns");
    c.give(c[0]->type, c.checker.sum(c[0]->rows, c[1]->rows),
           c[0]->columns.known() ? c[0]->columns : c[1]->columns);
    return true;
}

bool rule_order(Call& c) {
    if (c.size() < 4 || c.size() % 2)
        return c.wrong(
            0,
            "`order` takes data, numbers of columns, as many truth values, and whether positions are wanted");
    if (!c.want_data(0)) return false;
    const std::size_t keys = (c.size() - 2) / 2;
    for (std::size_t i = 1; i <= keys; ++i) {
        if (!c.known_integer(i)) return false;
        const std::int64_t at = c[i]->constant->integer;
        if (at < 0 || (c[0]->columns.known() && at >= c[0]->columns.number))
            return c.wrong(i, "there is no column {}", at);
    }
    for (std::size_t i = keys + 1; i < c.size(); ++i) {
        if (!c.want_bool(i)) return false;
        if (!c[i]->constant)
            return c.checker.unknown(c.locs[i], "`order` has to know before the run which way it goes"),
                   false;
    }
    const bool positions = c[c.size() - 1]->constant->integer;
    if (positions) c.give(Type::matrix(ValueType::Size), c[0]->rows, kOne);
    else c.give(c[0]->type, c[0]->rows, c[0]->columns);
    return true;
}

// ---- matrices

bool rule_solve(Call& c) {
    if (!c.want_numbers(0) || !c.want_numbers(1)) return false;
    convert_to(c, as_float(std::max(c[0]->type.value, c[1]->type.value)));
    if (differ(c[0]->rows, c[0]->columns)) c.violated(0, "`solve` takes a square matrix");
    if (differ(c[0]->rows, c[1]->rows)) c.violated(1, "`solve` takes equally many rows on both sides");
    if (differ(c[1]->columns, kOne)) c.violated(1, "`rhs` of `solve` has one column");
    c.give(c[0]->type, c[0]->columns, kOne);
    return true;
}
bool rule_eigen(Call& c) {
    if (!c.want_numbers(0)) return false;
    convert_to(c, as_float(c[0]->type.value));
    if (differ(c[0]->rows, c[0]->columns)) c.violated(0, "`eigen` takes a square matrix");
    c.give(c[0]->type, c[0]->rows, kOne);
    c.give(c[0]->type, c[0]->rows, c[0]->rows);
    return true;
}
bool rule_syrk(Call& c) {
    if (!c.want_numbers(0)) return false;
    convert_to(c, as_number(c[0]->type.value));
    c.give(c[0]->type, c[0]->columns, c[0]->columns)->symmetric = true;
    return true;
}
bool rule_gemv(Call& c) {
    if (!c.want_numbers(0) || !c.want_numbers(1)) return false;
    convert_to(c, as_number(std::max(c[0]->type.value, c[1]->type.value)));
    if (differ(c[0]->rows, c[1]->rows) || differ(c[1]->columns, kOne))
        c.violated(1, "`gemv` takes a matrix and a column of equally many rows");
    c.give(c[0]->type, c[0]->columns, kOne);
    return true;
}
bool rule_diag_vector(Call& c) {
    if (!c.want_matrix(0)) return false;
    if (differ(c[0]->rows, c[0]->columns)) c.violated(0, "`diagVector` takes a square matrix");
    c.give(c[0]->type, c[0]->rows, kOne);
    return true;
}
bool rule_triangle(Call& c) {
    if (!c.want_numbers(0) || !c.want_bool(1) || !c.want_bool(2)) return false;
    if (differ(c[0]->rows, c[0]->columns)) c.violated(0, "`{}` takes a square matrix", c.builtin.name);
    c.give(c[0]->type, c[0]->rows, c[0]->columns);
    return true;
}
bool rule_replace(Call& c) {
    if (!c.want_matrix(0) || !c.want_scalar(1) || !c.want_scalar(2)) return false;
    for (std::size_t i = 1; i < 3; ++i) {
        if ((c[i]->type.value == ValueType::Str) != (c[0]->type.value == ValueType::Str))
            return c.wrong(i, "`{}` of `replace` is like the cells, found {}", c.param(i), str(c[i]->type));
        c.args[i] = c.checker.to_scalar(c[i], c[0]->type.value, c.locs[i]);
    }
    c.give(c[0]->type, c[0]->rows, c[0]->columns);
    return true;
}
bool rule_ctable(Call& c) {
    if (!c.want_numbers(0) || !c.want_numbers(1)) return false;
    if (c.has(2) && c.has(3) && !c.has(4)) {  // four arguments: no weight, but a shape
        for (std::size_t i = 4; i > 2; --i) c.args[i] = c[i - 1], c.locs[i] = c.locs[i - 1];
        c.args[2] = nullptr;
    }
    const bool weighted = c.has(2), shaped = c.has(3);
    if (c.has(4) != shaped)
        return c.wrong(shaped ? 3 : 4, "`ctable` takes both numbers of its shape or none");
    Value* weight = weighted ? c[2]
                             : c.checker.constant(
                                   {.value = ValueType::F64, .integer = 0, .number = 1, .text = {}}, c.loc);
    if (!weight->type.is_scalar() || weight->type.value == ValueType::Str)
        return c.wrong(2, "`weight` of `ctable` is a number");
    std::vector<Value*> args;
    for (std::size_t i = 0; i < 2; ++i)
        args.push_back(c.checker.to_value_type(c[i], as_number(c[i]->type.value), c.locs[i]));
    args.push_back(c.checker.to_scalar(weight, as_number(weight->type.value), c.loc));
    if (differ(c[0]->columns, kOne) || differ(c[1]->columns, kOne) || differ(c[0]->rows, c[1]->rows))
        c.violated(1, "`ctable` takes two columns of equally many rows");
    Dim rows = c.checker.graph().fresh_dim(), columns = c.checker.graph().fresh_dim();
    if (shaped) {
        if (!c.want_integer(3) || !c.want_integer(4)) return false;
        args.push_back(c[3]), args.push_back(c[4]);
        rows = c.checker.dim_of(c[3]), columns = c.checker.dim_of(c[4]);
    }
    c.args = args;
    c.give(Type::matrix(args[2]->type.value), rows, columns);
    return true;
}

}  // namespace weld::daphne
