// Aggregates of all cells, of rows, of columns; running ones.
#include "frontend/daphne/lower.h"

namespace weld::daphne {

using Named = Lowering::Named;

/// What `kind` gives of the cells that `walk` (text after `for(`) goes through, of which there are `count`.
static std::string folded(std::string_view kind, std::string_view walk, std::string_view count,
                          std::string_view t) {
    if (kind == "sum") return fmt::format("result(for({}, merger[{},+], |o, k, a| merge(o, a)))", walk, t);
    if (kind == "min" || kind == "max")
        return fmt::format("result(for({}, merger[{},{}], |o, k, a| merge(o, a)))", walk, t, kind);
    if (kind == "count") return std::string(count);
    if (kind == "mean")
        return fmt::format("(result(for({0}, merger[{1},+], |o, k, a| merge(o, a))) / {1}({2}))", walk, t,
                           count);
    if (kind == "var" || kind == "stddev")
        return fmt::format(
            "(let middle = result(for({0}, merger[{1},+], |o, k, a| merge(o, a))) / {1}({2}); "
            "{3}(result(for({0}, merger[{1},+], |o, k, a| merge(o, (a - middle) * (a - middle)))) / "
            "{1}({2})))",
            walk, t, count, kind == "var" ? "" : "sqrt");
    const char* op = kind == "idxmin" ? "min" : "max";  // the first of them
    return fmt::format(
        "u64(let best = result(for({0}, merger[{1},{2}], |o, k, a| merge(o, a))); "
        "let at = result(for({0}, merger[i64,min], |o, k, a| if(a == best, merge(o, k), o))); if(at < {3}, "
        "at, 0L))",
        walk, t, op, count);
}

void lower_aggregate(Lowering& l, const GraphNode& n) {
    const Value *x = n.args[0], *out = n.results[0];
    const std::string_view kind = n.builtin->code, t = cell(x);
    const std::string rows = Lowering::rows("x", x), columns = Lowering::columns("x", x);
    const std::vector<Named> args = {{"x", x}};
    if (out->type.is_scalar())
        return l.define(out, folded(kind, "x.$0", rows + " * " + columns, t), args, n.loc);
    const std::string lets = fmt::format("let n = {}; let m = {}; ", rows, columns);
    if (n.args[1]->constant->integer == 0)
        return l.define(
            out,
            fmt::format(
                "{}{{result(for(rangeiter(0L, n, 1L), appender, |out, r, _| merge(out, {}))), n, 1L}}", lets,
                folded(kind, "iter(x.$0, r * m, r * m + m, 1L)", "m", t)),
            args, n.loc);
    auto by_columns = [&](std::string_view value) {
        return fmt::format(
            "result(for(x.$0, vecmerger[{0},+](filled(m, {0}(0))), |o, k, a| merge(o, {{k % m, {1}}})))", t,
            value);
    };
    if (kind == "sum")
        return l.define(out, fmt::format("{}{{{}, 1L, m}}", lets, by_columns("a")), args, n.loc);
    if (kind == "mean")
        return l.define(
            out,
            fmt::format("{}let sums = {}; {{map(sums, |a| a / {}(n)), 1L, m}}", lets, by_columns("a"), t),
            args, n.loc);
    if (kind == "var" || kind == "stddev")
        return l.define(out,
                        fmt::format("{0}let sums = {1}; let middles = map(sums, |a| a / {2}(n)); let squares "
                                    "= {3}; {{map(squares, |a| {4}(a / {2}(n))), 1L, m}}",
                                    lets, by_columns("a"), t,
                                    by_columns("(a - lookup(middles, k % m)) * (a - lookup(middles, k % m))"),
                                    kind == "var" ? "" : "sqrt"),
                        args, n.loc);
    if (kind == "count") return l.define(out, lets + "{filled(m, n), 1L, m}", args, n.loc);
    l.define(
        out,
        fmt::format(
            "{}{{result(for(rangeiter(0L, m, 1L), appender, |out, c, _| let line = result(for(rangeiter(0L, "
            "n, 1L), appender, |o, k, _2| merge(o, lookup(x.$0, k * m + c)))); merge(out, {}))), 1L, m}}",
            lets, folded(kind, "line", "n", t)),
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
