// In time of the cells that are stored, the rows and the columns.
#include "frontend/daphne/lower_sparse.h"

#include "frontend/daphne/lower_aggregates.h"

namespace weld::daphne {

std::string stored_rows(const StoredRows& rows) {
    return fmt::format("stored_rows(x, {}, {}, |r| {}, |r, j| {}, |j| {}, |a| {})", rows.count, rows.columns,
                       rows.row, rows.condition, rows.column, rows.cell);
}

// ---- aggregates

/// What `kind` gives of stored cells, and of `holes` zeros; `e` is what it gives of the stored cells alone.
static std::string with_holes(std::string_view kind, std::string_view e, std::string_view holes,
                              std::string_view t) {
    if (kind != "min" && kind != "max") return std::string(e);
    return fmt::format("(let e = {0}; if({1} > 0L, if({2}(0) {3} e, {2}(0), e), e))", e, holes, t,
                       kind == "min" ? "<" : ">");
}

/// `kind` of the stored cells that `data` has, of `count` cells in all.
static std::string folded_stored(std::string_view kind, const std::string& data, const std::string& stored,
                                 const std::string& count, std::string_view t) {
    const std::string holes = fmt::format("({} - {})", count, stored);
    if (kind != "var" && kind != "stddev")
        return with_holes(kind, folded(kind, data, "", count, t), holes, t);
    return fmt::format(
        "(let middle = {0}; {1}((result(for({2}, merger[{3},+], |o, k, a| merge(o, (a - middle) * (a - "
        "middle)))) + "
        "{3}({4}) * middle * middle) / {3}({5})))",
        folded("mean", data, "", count, t), kind == "var" ? "" : "sqrt", data, t, holes, count);
}

void lower_sparse_aggregate(Lowering& l, const GraphNode& n) {
    const Value *x = n.args[0], *out = n.results[0];
    const std::string kind(n.builtin->code), t(cell(x));
    const std::vector<Lowering::Named> args = {{"x", x}};
    const std::string lets =
        fmt::format("let n = {}; let m = {}; ", Lowering::rows("x", x), Lowering::columns("x", x));
    if (out->type.is_scalar())
        return l.define(out, lets + folded_stored(kind, "x.$0", "len(x.$0)", "(n * m)", t), args, n.loc);
    if (n.args[1]->constant->integer == 0)
        return l.define(
            out,
            lets + fmt::format("{{result(for(rangeiter(0L, n, 1L), appender, |out, r, _| let first = "
                               "lookup(x.$3, r); let "
                               "last = lookup(x.$3, r + 1L); merge(out, {}))), n, 1L}}",
                               folded_stored(kind, "iter(x.$0, first, last, 1L)", "(last - first)", "m", t)),
            args, n.loc);
    if (kind == "count") return l.define(out, lets + "{filled(m, n), 1L, m}", args, n.loc);
    const bool spreads = kind == "var" || kind == "stddev";
    std::string text = lets + into_bins(spreads ? "sum" : kind, t, {"m", "lookup(x.$4, k)", "n"});
    if (kind == "sum" || kind == "mean") return l.define(out, text + "{cells, 1L, m}", args, n.loc);
    text += "let stored = result(for(x.$4, vecmerger[i64,+](filled(m, 0L)), |o, k, j| merge(o, {j, 1L}))); ";
    if (!spreads)
        text += fmt::format("{{result(for(cells, appender, |o, j, c| merge(o, {}))), 1L, m}}",
                            with_holes(kind, "c", "(n - lookup(stored, j))", t));
    else
        text += fmt::format(
            "let middles = map(cells, |a| a / {0}(n)); let squares = result(for(x.$0, "
            "vecmerger[{0},+](filled(m, {0}(0))), "
            "|o, k, a| let d = a - lookup(middles, lookup(x.$4, k)); merge(o, {{lookup(x.$4, k), d * d}}))); "
            "{{result(for(squares, appender, |o, j, s| let d = lookup(middles, j); merge(o, {1}((s + {0}(n - "
            "lookup(stored, j)) * d * d) / {0}(n))))), 1L, m}}",
            t, kind == "var" ? "" : "sqrt");
    l.define(out, text, args, n.loc);
}

// ---- matrices

static std::string shape_of_product(const GraphNode& n) {
    return fmt::format("{}, {}", Lowering::rows("x", n.args[0]), Lowering::columns("y", n.args[1]));
}

void lower_sparse_product(Lowering& l, const GraphNode& n) {
    const Value *x = n.args[0], *y = n.args[1];
    if (y->type.is_sparse)
        l.demand_countable(n, Lowering::rows("x", x), Lowering::columns("y", y), {{"x", x}, {"y", y}});
    l.define(n.results[0],
             y->type.is_sparse
                 ? fmt::format("sparse_by_sparse(x, y, {0}, {1}(0), dictmerger[i64,{1},+])",
                               shape_of_product(n), cell(x))
                 : fmt::format("sparse_by_dense(x, y, {}, merger[{},+])", shape_of_product(n), cell(x)),
             {{"x", x}, {"y", y}}, n.loc);
}

void lower_sparse_transpose(Lowering& l, const GraphNode& n) {
    l.define(n.results[0], filled_in("sparse_transposed(x, rows, columns)", n.args[0]), {{"x", n.args[0]}},
             n.loc);
}

void lower_sparse_reshape(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    l.define(n.results[0], filled_in("sparse_reshaped(x, rows, columns, r, c)", x),
             {{"x", x}, {"r", n.args[1]}, {"c", n.args[2]}}, n.loc);
}

void lower_sparse_symmetry(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    l.define(n.results[0],
             filled_in("let other = sparse_transposed(x, rows, rows); let differ = sparse_of_two(x, other, "
                       "rows, rows, T(0), false, |a, b| a != b); len(differ.$0) == 0L",
                       x),
             {{"x", x}}, n.loc);
}

}  // namespace weld::daphne
