// Aggregates of all cells, of rows, of columns; running ones.
#include "frontend/daphne/lower_aggregates.h"

#include "frontend/daphne/lower_sparse.h"

namespace weld::daphne {

using Named = Lowering::Named;

/// A builder for the least or greatest (`op`) of cells; of none it gives infinity, or the last number there
/// is.
static std::string extreme(std::string_view op, std::string_view t) {
    const bool is_float = t.starts_with('f');
    return fmt::format("merger[{0},{1}]{2}", t, op,
                       is_float ? fmt::format("({}({}) / {}(0))", t, op == "min" ? "1" : "-1", t) : "");
}

/// The number of the first cell that is the least or greatest; a NaN is so only if it is the first of all.
static std::string place_of_extreme(std::string_view op, std::string_view data, std::string_view first,
                                    std::string_view count, std::string_view t) {
    return fmt::format(
        "u64(let best = result(for({0}, {1}, |o, k, a| merge(o, a))); "
        "let at = result(for({0}, merger[i64,min], |o, k, a| if(a == best, merge(o, k), o))); "
        "if(at < {2}{3}, at, 0L))",
        data, extreme(op, t), count, t.starts_with('f') ? fmt::format(" && {0} == {0}", first) : "");
}

std::string total(std::string_view data, std::string_view t, std::string_view cell) {
    return fmt::format("result(for({}, merger[{},+], |o, k, a| merge(o, {})))", data, t, cell);
}

std::string folded(std::string_view kind, std::string_view data, std::string_view first,
                   std::string_view count, std::string_view t, const Sum& sum_of) {
    const std::string sum = sum_of(data, t, "a");
    if (kind == "sum") return sum;
    if (kind == "min" || kind == "max")
        return fmt::format("result(for({}, {}, |o, k, a| merge(o, a)))", data, extreme(kind, t));
    if (kind == "count") return std::string(count);
    if (kind == "mean") return fmt::format("({} / {}({}))", sum, t, count);
    if (kind == "var" || kind == "stddev")
        return fmt::format("(let middle = {0} / {1}({2}); {3}({4} / {1}({2})))", sum, t, count,
                           kind == "var" ? "" : "sqrt", sum_of(data, t, "(a - middle) * (a - middle)"));
    return place_of_extreme(kind == "idxmin" ? "min" : "max", data, first, count, t);
}

std::string into_bins(std::string_view kind, std::string_view t, const Bins& bins) {
    auto merged = [&](std::string_view op, std::string_view start, std::string_view value) {
        return fmt::format(
            "result(for(x.$0, vecmerger[{0},{1}](filled({2}, {3})), |o, k, a| merge(o, {{{4}, {5}}})))", t,
            op, bins.size, start, bins.of_cell, value);
    };
    const std::string zero = fmt::format("{}(0)", t);
    if (kind == "min" || kind == "max")
        return fmt::format("let cells = {}; ", merged(kind, "result(" + extreme(kind, t) + ")", "a"));
    const std::string sums = merged("+", zero, "a");
    if (kind == "sum") return fmt::format("let cells = {}; ", sums);
    auto divided = [&](std::string_view what, std::string_view function) {
        return fmt::format("result(for({}, appender, |o, p, a| merge(o, {}(a / {}({})))))", what, function, t,
                           bins.count);
    };
    if (kind == "mean") return fmt::format("let sums = {}; let cells = {}; ", sums, divided("sums", ""));
    const std::string from_middle = fmt::format("(a - lookup(middles, {}))", bins.of_cell);
    return fmt::format("let sums = {}; let middles = {}; let squares = {}; let cells = {}; ", sums,
                       divided("sums", ""), merged("+", zero, from_middle + " * " + from_middle),
                       divided("squares", kind == "var" ? "" : "sqrt"));
}

/// The rows of each group: a row for each of `numGroups`, column by column.
static void aggregate_groups(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    const std::string_view kind = n.builtin->code;
    const std::vector<Named> args = {{"x", x}, {"group", n.args[1]}, {"g", n.args[2]}};
    l.demand(
        filled_in("g >= 0L && group.$1 == rows && group.$2 == 1L && result(for(group.$0, merger[i64,+], |o, "
                  "k, i| if(i < 0L || i >= g, merge(o, 1L), o))) == 0L",
                  x),
        args, fmt::format("`{}` takes a group from 0 to numGroups - 1 for each row", n.builtin->name), n.loc);
    const std::string lets = filled_in(
        "let m = columns; let counts = result(for(group.$0, vecmerger[i64,+](filled(g, 0L)), |o, k, i| "
        "merge(o, "
        "{i, 1L}))); ",
        x);
    const std::string cells =
        kind == "count"
            ? "let cells = result(for(rangeiter(0L, g * m, 1L), appender, |o, p, _| merge(o, lookup(counts, "
              "p / "
              "m)))); "
            : into_bins(kind, cell(x),
                        {"g * m", "lookup(group.$0, k / m) * m + k % m", "lookup(counts, p / m)"});
    l.define(n.results[0], lets + cells + "{cells, g, m}", args, n.loc);
}

/// Of so few cells sums have the bits of DAPHNE's. More are added on lanes, and by several threads.
constexpr std::int64_t kFewCells = 128;
/// Loops into a vecmerger of fewer rounds add one after the other in any case, and take less time to compile.
constexpr std::int64_t kRoundsInOrder = 64;

static bool has_few_cells(const Value* x) {
    return is_float(x->type.value) && x->rows.known() && x->columns.known() && x->rows.number <= kFewCells &&
           x->columns.number <= kFewCells && x->rows.number * x->columns.number <= kFewCells;
}

/// Before `for(`: one cell after the other.
constexpr std::string_view kInOrder = "@(vectorize:false, parallel:false) ";

static std::string total_in_order(std::string_view data, std::string_view t, std::string_view cell) {
    return fmt::format("result({}for({}, merger[{},+], |o, k, a| merge(o, {})))", kInOrder, data, t, cell);
}

/// Four sums, of every fourth cell, of `count` in `data`; then what is left, one after the other.
static std::string total_by_fours(std::string_view data, std::string_view t, std::string_view cell,
                                  std::int64_t count) {
    if (count < 4) return total_in_order(data, t, cell);
    const std::int64_t rounds = count / 4;
    const auto cell_at = [&](const std::string& at) {
        return fmt::format("(let a = lookup(all, {}); {})", at, cell);
    };
    std::string sums, merges, rest;
    for (int i = 0; i < 4; ++i) {
        const char* comma = i ? ", " : "";
        sums += fmt::format("{}merger[{},+]", comma, t);
        merges += fmt::format("{}merge(o.${}, {})", comma, i, cell_at(fmt::format("r * 4L + {}L", i)));
    }
    for (std::int64_t i = rounds * 4; i < count; ++i) rest += " + " + cell_at(fmt::format("{}L", i));
    return fmt::format(
        "(let all = {}; let four = {}for(rangeiter(0L, {}L, 1L), {{{}}}, |o, r, _| {{{}}}); "
        "((result(four.$0) + result(four.$1)) + (result(four.$2) + result(four.$3))){})",
        data, kInOrder, rounds, sums, merges, rest);
}

void lower_aggregate(Lowering& l, const GraphNode& n) {
    const Value *x = n.args[0], *out = n.results[0];
    const std::string_view kind = n.builtin->code, t = cell(x);
    if (n.args.size() > 2) return aggregate_groups(l, n);
    if (x->type.is_sparse) return lower_sparse_aggregate(l, n);
    const std::string rows = Lowering::rows("x", x), columns = Lowering::columns("x", x);
    const std::vector<Named> args = {{"x", x}};
    const bool few = has_few_cells(x);
    if (out->type.is_scalar()) {
        const Sum by_fours = [&](std::string_view data, std::string_view type, std::string_view of) {
            return total_by_fours(data, type, of, x->rows.number * x->columns.number);
        };
        return l.define(
            out, folded(kind, "x.$0", "lookup(x.$0, 0L)", rows + " * " + columns, t, few ? by_fours : total),
            args, n.loc);
    }
    const std::string lets = fmt::format("let n = {}; let m = {}; ", rows, columns);
    if (n.args[1]->constant->integer == 0)
        return l.define(
            out,
            fmt::format(
                "{}{{result(for(rangeiter(0L, n, 1L), appender, |out, r, _| merge(out, {}))), n, 1L}}", lets,
                folded(kind, "iter(x.$0, r * m, r * m + m, 1L)", "lookup(x.$0, r * m)", "m", t,
                       few ? total_in_order : total)),
            args, n.loc);
    if (kind == "count") return l.define(out, lets + "{filled(m, n), 1L, m}", args, n.loc);
    if (few && x->rows.number * x->columns.number >= kRoundsInOrder)
        return l.define(
            out,
            fmt::format(
                "{}let y = transposed(x.$0, n, m); {{result(for(rangeiter(0L, m, 1L), appender, |out, c, _| "
                "merge(out, {}))), 1L, m}}",
                lets,
                folded(kind, "iter(y, c * n, c * n + n, 1L)", "lookup(y, c * n)", "n", t, total_in_order)),
            args, n.loc);
    const Bins bins{"m", "k % m", "n"};
    if (!kind.starts_with("idx"))
        return l.define(out, lets + into_bins(kind, t, bins) + "{cells, 1L, m}", args, n.loc);
    l.define(
        out,
        fmt::format("{}{}let firsts = result(for(x.$0, vecmerger[i64,min](filled(m, n)), |o, k, a| if(a == "
                    "lookup(cells, k % m), merge(o, {{k % m, k / m}}), o))); "
                    "{{result(for(firsts, appender, |o, c, r| merge(o, u64(if(r < n{}, r, 0L))))), 1L, m}}",
                    lets, into_bins(kind.substr(3), t, bins),
                    is_float(x->type.value) ? " && lookup(x.$0, c) == lookup(x.$0, c)" : ""),
        args, n.loc);
}

void lower_cumulate(Lowering& l, const GraphNode& n) {
    l.define(n.results[0],
             filled_in(fmt::format("let n = rows; let m = columns; let down = result(for(rangeiter(0L, m, "
                                   "1L), appender[T], |out, c, _| "
                                   "if(n == 0L, out, iterate({{merge(out, lookup(x.$0, c)), 1L, lookup(x.$0, "
                                   "c)}}, |state| if(state.$1 >= n, {{state, false}}, "
                                   "(let e = lookup(x.$0, state.$1 * m + c); let s = state.$2; let v = {}; "
                                   "{{{{merge(state.$0, v), state.$1 + 1L, v}}, true}}))).$0))); "
                                   "{{transposed(down, m, n), n, m}}",
                                   n.builtin->code),
                       n.args[0]),
             {{"x", n.args[0]}}, n.loc);
}

}  // namespace weld::daphne
