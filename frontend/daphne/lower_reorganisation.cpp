// Cells in another order or shape.
#include "frontend/daphne/lower_sparse.h"

namespace weld::daphne {

using Named = Lowering::Named;

void lower_reshape(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    const std::vector<Named> args = {{"x", x}, {"r", n.args[1]}, {"c", n.args[2]}};
    l.demand(filled_in("r >= 0L && c >= 0L && r * c == rows * columns", x), args,
             "a matrix keeps the number of its cells", n.loc);
    if (x->type.is_sparse) return lower_sparse_reshape(l, n);
    l.define(n.results[0], "{x.$0, r, c}", args, n.loc);
}
void lower_reverse(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    if (x->type.is_sparse)
        return l.define(n.results[0],
                        filled_in("let n = rows; let m = columns; ", x) +
                            stored_rows({.count = "n", .columns = "m", .row = "(n - 1L - r)"}),
                        {{"x", x}}, n.loc);
    if (x->type.is_matrix())
        return l.define(
            n.results[0],
            filled_in("let n = rows; let m = columns; {result(for(rangeiter(0L, n * m, 1L), appender, |o, k, "
                      "_| merge(o, lookup(x.$0, (n - 1L - k / m) * m + k % m)))), n, m}",
                      x),
            {{"x", x}}, n.loc);
    std::string columns;
    for (std::size_t i = 0; i < x->type.columns.size(); ++i)
        columns += fmt::format(
            "{}result(for(rangeiter(0L, x.$1, 1L), appender, |o, k, _| merge(o, lookup(x.$0.${}, x.$1 - 1L - "
            "k))))",
            i ? ", " : "", i);
    l.define(n.results[0], fmt::format("{{{{{}}}, x.$1}}", columns), {{"x", x}}, n.loc);
}
void lower_cbind(Lowering& l, const GraphNode& n) {
    const Value *x = n.args[0], *y = n.args[1];
    const std::vector<Named> args = {{"x", x}, {"y", y}};
    if (!(x->rows == y->rows)) l.demand("x.$1 == y.$1", args, "`cbind` takes equally many rows", n.loc);
    if (n.results[0]->type.is_sparse) {
        const std::string rows = Lowering::rows("x", x), left = Lowering::columns("x", x);
        const std::string columns = fmt::format("({} + {})", left, Lowering::columns("y", y));
        l.demand_countable(n, rows, columns, args);
        return l.define(n.results[0],
                        fmt::format("sparse_side_by_side(x, y, {}, {}, {})", rows, left, columns), args,
                        n.loc);
    }
    if (x->type.is_matrix())
        return l.define(
            n.results[0],
            fmt::format("{{side_by_side(x.$0, {0}, y.$0, {1}), {2}, {0} + {1}}}", Lowering::columns("x", x),
                        Lowering::columns("y", y), Lowering::rows("x", x)),
            args, n.loc);
    std::string columns;
    for (std::size_t i = 0; i < x->type.columns.size(); ++i)
        columns += fmt::format("{}x.$0.${}", columns.empty() ? "" : ", ", i);
    for (std::size_t i = 0; i < y->type.columns.size(); ++i)
        columns += fmt::format("{}y.$0.${}", columns.empty() ? "" : ", ", i);
    for (const Column& a : x->type.columns)
        for (const Column& b : y->type.columns)
            if (a.label == b.label)
                l.act("assert(false, \"both frames have a column of the same label\")", {}, n.loc);
    l.define(n.results[0], fmt::format("{{{{{}}}, x.$1}}", columns), args, n.loc);
}
void lower_rbind(Lowering& l, const GraphNode& n) {
    const Value *x = n.args[0], *y = n.args[1];
    const std::vector<Named> args = {{"x", x}, {"y", y}};
    if (x->type.is_matrix()) {
        if (!(x->columns == y->columns))
            l.demand("x.$2 == y.$2", args, "`rbind` takes equally many columns", n.loc);
        if (n.results[0]->type.is_sparse) {
            const std::string rows = fmt::format("({} + {})", Lowering::rows("x", x), Lowering::rows("y", y));
            const std::string columns = Lowering::columns("x", x);
            l.demand_countable(n, rows, columns, args);
            return l.define(n.results[0], fmt::format("sparse_joined(x, y, {}, {})", rows, columns), args,
                            n.loc);
        }
        return l.define(n.results[0],
                        fmt::format("{{joined(x.$0, y.$0), {} + {}, {}}}", Lowering::rows("x", x),
                                    Lowering::rows("y", y), Lowering::columns("x", x)),
                        args, n.loc);
    }
    std::string columns;
    for (std::size_t i = 0; i < x->type.columns.size(); ++i)
        columns += fmt::format("{}joined(x.$0.${}, y.$0.${})", i ? ", " : "", i, i);
    l.define(n.results[0], fmt::format("{{{{{}}}, x.$1 + y.$1}}", columns), args, n.loc);
}
void lower_order(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    const std::size_t keys = (n.args.size() - 2) / 2;
    std::string compare = "0";
    for (std::size_t i = keys; i >= 1; --i) {
        const std::int64_t c = n.args[i]->constant->integer;
        const bool up = n.args[i + keys]->constant->integer;
        auto at = [&](const char* p) {
            return x->type.is_frame()
                       ? fmt::format("lookup(x.$0.${}, {})", c, p)
                       : fmt::format("lookup(x.$0, {} * {} + {}L)", p, Lowering::columns("x", x), c);
        };
        // NaN comes after all numbers
        const ValueType value = x->type.is_frame() ? x->type.columns[std::size_t(c)].value : x->type.value;
        auto less = [&](const char* p, const char* q) {
            if (value == ValueType::Str)
                return comparison(value, fmt::format("{}{}", p, i), fmt::format("{}{}", q, i)) + " < 0";
            if (!is_float(value)) return fmt::format("{0}{2} < {1}{2}", p, q, i);
            return fmt::format("({0}{2} < {1}{2} || ({0}{2} == {0}{2} && {1}{2} != {1}{2}))", p, q, i);
        };
        compare =
            fmt::format("(let a{0} = {1}; let b{0} = {2}; if({6}, {3}, if({7}, {4}, {5})))", i, at("p"),
                        at("q"), up ? "-1" : "1", up ? "1" : "-1", compare, less("a", "b"), less("b", "a"));
    }
    const std::string rows = Lowering::rows("x", x);
    const std::string places = fmt::format("let at = sort(counted({}), |p, q| {}); ", rows, compare);
    const bool positions = n.args.back()->constant->integer;
    if (positions)
        return l.define(n.results[0], fmt::format("{}{{map(at, |p| u64(p)), {}, 1L}}", places, rows),
                        {{"x", x}}, n.loc);
    if (x->type.is_matrix())
        return l.define(
            n.results[0],
            places + filled_in("let m = columns; {result(for(at, appender, |o, k, p| for(rangeiter(0L, m, "
                               "1L), o, |o2, c, _| merge(o2, lookup(x.$0, p * m + c))))), rows, m}",
                               x),
            {{"x", x}}, n.loc);
    std::string columns;
    for (std::size_t i = 0; i < x->type.columns.size(); ++i)
        columns += fmt::format("{}taken(x.$0.${}, at)", i ? ", " : "", i);
    l.define(n.results[0], fmt::format("{}{{{{{}}}, x.$1}}", places, columns), {{"x", x}}, n.loc);
}

}  // namespace weld::daphne
