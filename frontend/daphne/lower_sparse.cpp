// In time of the cells that are stored, the rows and the columns.
#include "frontend/daphne/lower_sparse.h"

#include "frontend/daphne/lower_aggregates.h"

namespace weld::daphne {

std::string stored_rows(const StoredRows& rows) {
    const std::string all_of_row = "rangeiter(lookup(x.$3, row), lookup(x.$3, row + 1L), 1L)";
    const auto if_kept = [&](std::string_view then, std::string_view otherwise) {
        return rows.condition.empty() ? std::string(then)
                                      : fmt::format("if({}, {}, {})", rows.condition, then, otherwise);
    };
    const auto of_each = [&](std::string_view what) {
        return fmt::format(
            "result(for(rangeiter(0L, {}, 1L), appender, |o, r, _| let row = {}; for({}, o, |o2, _2, at| let "
            "j = "
            "lookup(x.$4, at); {})))",
            rows.count, rows.row, all_of_row, if_kept(fmt::format("merge(o2, {})", what), "o2"));
    };
    const std::string counts =
        rows.condition.empty()
            ? "lookup(x.$3, row + 1L) - lookup(x.$3, row)"
            : fmt::format("result(for({}, merger[i64,+], |s, _2, at| let j = lookup(x.$4, at); {}))",
                          all_of_row, if_kept("merge(s, 1L)", "s"));
    return fmt::format(
        "{{{}, {}, {}, begins({}, result(for(rangeiter(0L, {}, 1L), appender, |o, r, _| let row = {}; "
        "merge(o, "
        "{})))), {}}}",
        of_each(rows.cell), rows.count, rows.columns, rows.count, rows.count, rows.row, counts,
        of_each(rows.column));
}

// ---- aggregates

/// What `kind` gives of stored cells, and of `holes` zeros; `e` is what it gives of the stored cells alone.
static std::string with_holes(std::string_view kind, std::string_view e, std::string_view holes,
                              std::string_view t) {
    if (kind != "min" && kind != "max") return std::string(e);
    return fmt::format("(let e = {0}; if({1} > 0L, if({2}(0) {3} e, {2}(0), e), e))", e, holes, t,
                       kind == "min" ? "<" : ">");
}

/// `kind` of the stored cells that `walk` goes through, of `count` cells in all.
static std::string folded_stored(std::string_view kind, const std::string& walk, const std::string& stored,
                                 const std::string& count, std::string_view t) {
    const std::string holes = fmt::format("({} - {})", count, stored);
    if (kind != "var" && kind != "stddev")
        return with_holes(kind, folded(kind, walk, "", count, t), holes, t);
    return fmt::format(
        "(let middle = {0}; {1}((result(for({2}, merger[{3},+], |o, k, a| merge(o, (a - middle) * (a - "
        "middle)))) + "
        "{3}({4}) * middle * middle) / {3}({5})))",
        folded("mean", walk, "", count, t), kind == "var" ? "" : "sqrt", walk, t, holes, count);
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
    std::string text = lets + into_places(spreads ? "sum" : kind, t, {"m", "lookup(x.$4, k)", "n"});
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

/// With a dense matrix on its right: each row in the order of its cells.
void lower_sparse_product(Lowering& l, const GraphNode& n) {
    const Value *x = n.args[0], *y = n.args[1];
    l.define(n.results[0],
             fmt::format(
                 "let n = {}; let m = {}; {{result(for(rangeiter(0L, n, 1L), appender, |o, r, _| let first = "
                 "lookup(x.$3, r); let last = lookup(x.$3, r + 1L); for(rangeiter(0L, m, 1L), o, |o2, _2, c| "
                 "merge(o2, result(for(rangeiter(first, last, 1L), merger[{},+], |s, _3, at| merge(s, "
                 "lookup(x.$0, at) * lookup(y.$0, lookup(x.$4, at) * m + c)))))))), n, m}}",
                 Lowering::rows("x", x), Lowering::columns("y", y), cell(x)),
             {{"x", x}, {"y", y}}, n.loc);
}

void lower_sparse_transpose(Lowering& l, const GraphNode& n) {
    l.define(
        n.results[0],
        filled_in(
            "let n = rows; let m = columns; "
            "let of_row = result(for(rangeiter(0L, n, 1L), appender, |o, r, _| for(rangeiter(lookup(x.$3, "
            "r), "
            "lookup(x.$3, r + 1L), 1L), o, |o2, _2, _3| merge(o2, r)))); "
            "let order = sort(counted(len(x.$4)), |p, q| let a = lookup(x.$4, p); let b = lookup(x.$4, q); "
            "if(a < b, -1, if(a > b, 1, 0))); "
            "let counts = result(for(x.$4, vecmerger[i64,+](filled(m, 0L)), |o, _, j| merge(o, {j, 1L}))); "
            "{taken(x.$0, order), m, n, begins(m, counts), taken(of_row, order)}",
            n.args[0]),
        {{"x", n.args[0]}}, n.loc);
}

void lower_sparse_reshape(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    l.define(
        n.results[0],
        filled_in(
            "let m = columns; let places = result(for(rangeiter(0L, rows, 1L), appender, |o, r, _| "
            "for(rangeiter(lookup(x.$3, r), lookup(x.$3, r + 1L), 1L), o, |o2, _2, at| merge(o2, r * m + "
            "lookup(x.$4, at))))); "
            "let counts = result(for(places, vecmerger[i64,+](filled(rr, 0L)), |o, _, p| merge(o, {p / cc, "
            "1L}))); {x.$0, rr, cc, begins(rr, counts), map(places, |p| p % cc)}",
            x),
        {{"x", x}, {"rr", n.args[1]}, {"cc", n.args[2]}}, n.loc);
}

}  // namespace weld::daphne
