// Products, solvers, and other operations of matrices.
#include "frontend/daphne/lower_sparse.h"

namespace weld::daphne {

using Named = Lowering::Named;

/// Before it was made dense.
static const Value* as_stored(const Value* v) {
    return v->maker && v->maker->kind == GraphNode::Convert && v->maker->args[0]->type.is_sparse &&
                   v->maker->args[0]->type.value == v->type.value
               ? v->maker->args[0]
               : v;
}
static bool is_transposed(const Value* v, const Value* of) {
    v = as_stored(v), of = as_stored(of);
    return v->maker && v->maker->kind == GraphNode::Builtin &&
           (v->maker->builtin->name == "t" || v->maker->builtin->name == "transpose") &&
           are_same(v->maker->args[0], of);
}

bool is_product_with_itself(const GraphNode& n) {
    return is_transposed(n.args[0], n.args[1]) || is_transposed(n.args[1], n.args[0]);
}

/// So few terms that the call of a kernel takes longer than they do. As loops they are unrolled, and become
/// one with what is around them.
static bool is_small_product(const Value* x, const Value* y) {
    constexpr std::int64_t most = 64;
    const auto is_short = [](Dim d) { return d.known() && d.number <= most; };
    return is_short(x->rows) && is_short(x->columns) && is_short(y->columns) &&
           x->rows.number * x->columns.number * y->columns.number <= most;
}

void Lowering::product(const GraphNode& n) {
    const Value *x = n.args[0], *y = n.args[1], *out = n.results[0];
    const std::vector<Named> args = {{"x", x}, {"y", y}};
    if (!(x->columns == y->rows))
        demand("x.$2 == y.$1", args, "`@` needs as many columns on its left as rows on its right", n.loc);
    if (x->type.is_sparse) return lower_sparse_product(*this, n);
    if (is_float(out->type.value) && !is_small_product(x, y)) {
        if (is_product_with_itself(n))  // symmetric in every bit
            return define(out, fmt::format("cudf[weld_syrk,{}](y)", weld_name(out->type)), args, n.loc);
        return define(out, fmt::format("cudf[weld_matmul,{}](x, y)", weld_name(out->type)), args, n.loc);
    }
    define(out,
           fmt::format("let n = {}; let h = {}; let m = {}; {{result(for(rangeiter(0L, n * m, 1L), appender, "
                       "|o, k, _| let r = k / m; let c = k % m; "
                       "merge(o, result(for(rangeiter(0L, h, 1L), merger[{},+], |s, i, _2| merge(s, "
                       "lookup(x.$0, r * h + i) * lookup(y.$0, i * m + c)))))))  , n, m}}",
                       rows("x", x), columns("x", x), columns("y", y), cell(out)),
           args, n.loc);
}
void lower_solve(Lowering& l, const GraphNode& n) {
    const std::vector<Named> args = {{"x", n.args[0]}, {"y", n.args[1]}};
    l.demand("x.$1 == x.$2 && x.$1 == y.$1 && y.$2 == 1L", args,
             "`solve` takes a square matrix and one column of equally many rows", n.loc);
    l.define(n.results[0], fmt::format("cudf[weld_solve,{}](x, y)", weld_name(n.results[0]->type)), args,
             n.loc);
}
void lower_eigen(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    l.define(
        n.results,
        fmt::format(
            "let e = cudf[weld_eigen,{{vec[{0}],vec[{0}]}}](x); {{{{e.$0, {1}, 1L}}, {{e.$1, {1}, {1}}}}}",
            cell(x), Lowering::rows("x", x)),
        {{"x", x}}, n.loc);
}
void lower_syrk(Lowering& l, const GraphNode& n) {
    const Value *x = n.args[0], *out = n.results[0];
    if (is_float(out->type.value))
        return l.define(out, fmt::format("cudf[weld_syrk,{}](x)", weld_name(out->type)), {{"x", x}}, n.loc);
    l.define(out,
             filled_in("let n = rows; let m = columns; {result(for(rangeiter(0L, m * m, 1L), appender, |o, "
                       "k, _| merge(o, result(for(rangeiter(0L, n, 1L), merger[T,+], |s, i, _2| merge(s, "
                       "lookup(x.$0, i * m + k / m) * lookup(x.$0, i * m + k % m))))))), m, m}",
                       x),
             {{"x", x}}, n.loc);
}
void lower_gemv(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    const std::vector<Named> args = {{"x", x}, {"y", n.args[1]}};
    l.demand("x.$1 == y.$1 && y.$2 == 1L", args, "`gemv` takes a matrix and a column of equally many rows",
             n.loc);
    l.define(n.results[0],
             filled_in("let m = columns; {result(for(x.$0, vecmerger[T,+](filled(m, T(0))), |o, k, a| "
                       "merge(o, {k % m, a * lookup(y.$0, k / m)}))), m, 1L}",
                       x),
             args, n.loc);
}
void lower_diag_matrix(Lowering& l, const GraphNode& n) {
    const Value *x = n.args[0], *out = n.results[0];
    if (!x->columns.is(1))
        l.demand("x.$2 == 1L", {{"x", x}}, "`diagMatrix` takes a matrix of one column", n.loc);
    l.define(out,
             filled_in(
                 out->type.is_sparse
                     ? "let n = rows; {x.$0, n, n, counted(n + 1L), counted(n)}"
                     : "let n = rows; {result(for(rangeiter(0L, n * n, 1L), appender, |out, k, _| merge(out, "
                       "if(k / n == k % n, lookup(x.$0, k / n), T(0))))), n, n}",
                 x),
             {{"x", x}}, n.loc);
}
void lower_diag_vector(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    l.demand("x.$1 == x.$2", {{"x", x}}, "`diagVector` takes a square matrix", n.loc);
    if (x->type.is_sparse)
        return l.define(n.results[0], filled_in("{sparse_diagonal(x, rows, merger[T,+]), rows, 1L}", x),
                        {{"x", x}}, n.loc);
    l.define(n.results[0],
             filled_in("let n = rows; {result(for(rangeiter(0L, n, 1L), appender, |o, k, _| merge(o, "
                       "lookup(x.$0, k * n + k)))), n, 1L}",
                       x),
             {{"x", x}}, n.loc);
}
void lower_triangle(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    const std::vector<Named> args = {{"x", x}, {"diagonal", n.args[1]}, {"values", n.args[2]}};
    l.demand("x.$1 == x.$2", args, fmt::format("`{}` takes a square matrix", n.builtin->name), n.loc);
    if (x->type.is_sparse)
        return l.define(
            n.results[0],
            filled_in("let n = rows; ", x) +
                stored_rows({.count = "n",
                             .columns = "n",
                             .row = "r",
                             .condition = fmt::format("r {} j || (diagonal && r == j)", n.builtin->code),
                             .cell = fmt::format("if(values || a == {0}(0), a, {0}(1))", cell(x))}),
            args, n.loc);
    l.define(
        n.results[0],
        filled_in(
            fmt::format("let n = rows; {{result(for(x.$0, appender, |o, k, a| let r = k / n; let c = k % n; "
                        "merge(o, if(r {} c || (diagonal && r == c), if(values || a == T(0), a, T(1)), "
                        "T(0))))), n, n}}",
                        n.builtin->code),
            x),
        args, n.loc);
}
void lower_ctable(Lowering& l, const GraphNode& n) {
    const Value* w = n.args[2];
    std::vector<Named> args = {{"x", n.args[0]}, {"y", n.args[1]}, {"w", w}};
    l.demand("x.$1 == y.$1 && x.$2 == 1L && y.$2 == 1L", args,
             "`ctable` takes two columns of equally many rows", n.loc);
    std::string shape =
        "let n = result(for(x.$0, merger[i64,max](-1L), |o, k, a| merge(o, i64(a)))) + 1L; let m = "
        "result(for(y.$0, merger[i64,max](-1L), |o, k, a| merge(o, i64(a)))) + 1L; ";
    if (n.args.size() > 3) args.push_back({"n", n.args[3]}), args.push_back({"m", n.args[4]}), shape.clear();
    l.demand(
        "result(for(zip(x.$0, y.$0), merger[i64,+], |o, k, e| if(i64(e.$0) < 0L || i64(e.$1) < 0L || e.$0 != "
        "e.$0 || "
        "e.$1 != e.$1, merge(o, 1L), o))) == 0L",
        args, "positions of `ctable` are numbers from 0 on", n.loc);
    l.define(
        n.results[0],
        fmt::format("{0}{{result(for(zip(x.$0, y.$0), vecmerger[{1},+](filled(n * m, {1}(0))), |o, k, "
                    "e| let r = i64(e.$0); let c = i64(e.$1); if(r < n && c < m, merge(o, {{r * m + c, w}}), "
                    "o))), n, m}}",
                    shape, cell(w)),
        args, n.loc);
}

void lower_transpose(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    if (x->type.is_sparse) return lower_sparse_transpose(l, n);
    l.define(n.results[0], filled_in("{transposed(x.$0, rows, columns), columns, rows}", x), {{"x", x}},
             n.loc);
}

void lower_matrix_code(Lowering& l, const GraphNode& n) {
    l.define(n.results[0], filled_in(n.builtin->code, n.args[0]), {{"x", n.args[0]}}, n.loc);
}

}  // namespace weld::daphne
