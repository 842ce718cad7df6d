// Matrices from numbers and chance, and what is asked of them: type, counts, symmetry.
#include "frontend/daphne/lower_sparse.h"

namespace weld::daphne {

using Named = Lowering::Named;

void lower_fill(Lowering& l, const GraphNode& n) {
    const Value* out = n.results[0];
    if (!out->rows.known() || !out->columns.known())
        l.demand("r >= 0L && c >= 0L", {{"r", n.args[1]}, {"c", n.args[2]}},
                 "numbers of rows and columns are not negative", n.loc);
    l.demand_countable(n, "r", "c", {{"r", n.args[1]}, {"c", n.args[2]}});
    if (out->type.is_sparse)
        return l.define(
            out,
            fmt::format("{{result(appender[{}]), r, c, filled(r + 1L, 0L), result(appender[i64])}}",
                        cell(out)),
            {{"r", n.args[1]}, {"c", n.args[2]}}, n.loc);
    l.define(out, "{filled(r * c, v), r, c}", {{"v", n.args[0]}, {"r", n.args[1]}, {"c", n.args[2]}}, n.loc);
}

static std::string seed_of(const GraphNode& n, std::size_t i) {
    const auto& k = n.args[i]->constant;
    return k && k->integer != -1 ? "seed" : "if(seed == -1L, cudf[weld_random_seed,i64](), seed)";
}
void lower_random(Lowering& l, const GraphNode& n) {
    const Value* out = n.results[0];
    constexpr std::string_view numbers = "(lo, hi, r, c, sparsity, s)";
    l.define(
        out,
        fmt::format("let s = {}; ", seed_of(n, 5)) +
            (out->type.is_sparse ? fmt::format("cudf[weld_random_csr,{}]{}", weld_name(out->type), numbers)
                                 : fmt::format("{{cudf[weld_random,vec[{}]]{}, r, c}}", cell(out), numbers)),
        {{"r", n.args[0]},
         {"c", n.args[1]},
         {"lo", n.args[2]},
         {"hi", n.args[3]},
         {"sparsity", n.args[4]},
         {"seed", n.args[5]}},
        n.loc);
}
void lower_sample(Lowering& l, const GraphNode& n) {
    const Value* out = n.results[0];
    l.define(out,
             fmt::format("let s = {}; {{cudf[weld_sample,vec[{}]](range, count, again, s), count, 1L}}",
                         seed_of(n, 3), cell(out)),
             {{"range", n.args[0]}, {"count", n.args[1]}, {"again", n.args[2]}, {"seed", n.args[3]}}, n.loc);
}
void lower_sequence(Lowering& l, const GraphNode& n) {
    const Value* out = n.results[0];
    const std::vector<Named> args = {{"from", n.args[0]}, {"to", n.args[1]}, {"inc", n.args[2]}};
    const std::string_view t = cell(out);
    l.demand(fmt::format("inc != {0}(0) && inc == inc && from == from && to == to", t), args,
             "`seq` needs a step that is not zero, and no NaN", n.loc);
    if (!is_float(out->type.value))
        return l.define(
            out,
            fmt::format("let n = if(inc > {0}(0), if(from <= to, i64(({1}(to) - {1}(from)) / {1}(inc)) "
                        "+ 1L, 0L), if(from >= to, i64(({1}(from) - {1}(to)) / ({1}(0) - {1}(inc))) + 1L, "
                        "0L)); {{result(for(rangeiter(0L, n, 1L), appender, |o, k, _| merge(o, from + "
                        "{0}(k) * inc))), n, 1L}}",
                        t, is_unsigned(out->type.value) ? "u64" : "i64"),
            args, n.loc);
    // A step too small to change what it is added to is made as often as others, not for ever.
    l.demand(fmt::format("(to - from) / inc < {}({}.0)", t, INT64_MAX), args,
             "a matrix has less than 2^63 cells", n.loc);
    l.define(out,
             fmt::format("let slack = {0}(0.0000000000001); let more = |v: {0}| if(inc > {0}(0), v <= to + "
                         "slack, v >= to - slack); "
                         "let steps = (to - from) / inc; let most = i64(steps) + if({0}(i64(steps)) < steps, "
                         "1L, 0L); "
                         "let cells = result(if(more(from), iterate({{appender[{0}], from, 0L}}, |s| "
                         "{{{{merge(s.$0, s.$1), s.$1 + inc, s.$2 + 1L}}, s.$2 < most && more(s.$1 + "
                         "inc)}}).$0, appender[{0}])); "
                         "{{cells, len(cells), 1L}}",
                         t),
             args, n.loc);
}
void lower_type_of(Lowering& l, const GraphNode& n) {
    const Value *x = n.args[0], *out = n.results[0];
    if (out->constant) return;
    if (x->type.is_list())
        return l.define(
            out,
            fmt::format("cudf[weld_concat,vec[i8]](\"List(\", cudf[weld_to_text,vec[i8]](len(x)), \", "
                        "DenseMatrix, {})\")",
                        printed_name(x->type.value)),
            {{"x", x}}, n.loc);
    std::string tail;
    if (x->type.is_matrix()) tail = fmt::format(", {})", printed_name(x->type.value));
    else {
        tail = ", [";
        for (std::size_t i = 0; i < x->type.columns.size(); ++i)
            tail += fmt::format("{}{}:{}", i ? ", " : "", x->type.columns[i].label,
                                printed_name(x->type.columns[i].value));
        tail += "])";
    }
    const std::string columns =
        x->type.is_frame() ? fmt::format("{}L", x->type.columns.size()) : Lowering::columns("x", x);
    l.define(out,
             fmt::format("cudf[weld_concat,vec[i8]](\"{}(\", cudf[weld_to_text,vec[i8]]({}), \"x\", "
                         "cudf[weld_to_text,vec[i8]]({}), {})",
                         !x->type.is_matrix() ? "Frame"
                         : x->type.is_sparse  ? "CSRMatrix"
                                              : "DenseMatrix",
                         Lowering::rows("x", x), columns, weld_string(tail)),
             {{"x", x}}, n.loc);
}
void lower_count_of(Lowering& l, const GraphNode& n) {
    const Value *x = n.args[0], *out = n.results[0];
    if (out->constant) return;
    const std::string columns =
        x->type.is_frame() ? fmt::format("{}L", x->type.columns.size()) : Lowering::columns("x", x);
    const std::string rows = Lowering::rows("x", x);
    const std::string_view what = n.builtin->code;
    l.define(out,
             fmt::format("u64({})", what == "rows"      ? rows
                                    : what == "columns" ? columns
                                                        : rows + " * " + columns),
             {{"x", x}}, n.loc);
}
void lower_sparsity(Lowering& l, const GraphNode& n) {
    l.define(n.results[0],
             filled_in("let nonzero = result(for(map(x.$0, |a| if(a == a, a, a)), merger[i64,+], |o, k, a| "
                       "if(a != T(0), merge(o, 1L), o))); f64(nonzero) / f64(rows * columns)",
                       n.args[0]),
             {{"x", n.args[0]}}, n.loc);
}
void lower_is_symmetric(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    if (!(x->rows == x->columns))
        l.demand("x.$1 == x.$2", {{"x", x}}, "only square matrices can be symmetric", n.loc);
    if (x->type.is_sparse) return lower_sparse_symmetry(l, n);
    l.define(n.results[0],
             filled_in("result(for(x.$0, merger[i64,+], |o, k, a| if(a == lookup(x.$0, (k % rows) * rows + k "
                       "/ rows), o, merge(o, 1L)))) == 0L",
                       x),
             {{"x", x}}, n.loc);
}

}  // namespace weld::daphne
