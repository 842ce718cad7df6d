// Taking parts of matrices and frames, and changing parts of matrices.
#include "frontend/daphne/lower_sparse.h"

namespace weld::daphne {

namespace {

/// What a subscript means at run time: lets that find and check `first` and `count`, or a list of positions.
struct Positions {
    std::string lets;
    bool is_list = false;  ///< `NAMElist` is a vec[i64] of positions
};

}  // namespace

/// `what` is `row` or `column`; `all` the text of how many there are; values are called `NAMEfirst`,
/// `NAMElast`.
static Positions positions_at(const GraphNode& n, const GraphNode::Subscript& p, const std::string& name,
                              const std::string& all, bool is_insert) {
    Positions out;
    auto arg = [&](int i) { return fmt::format("p{}", i); };
    auto check = [&](const std::string& condition, const char* message) {
        out.lets += fmt::format("let {}fits = assert({}, \"{}\"); ", name, condition, message);
    };
    const std::string first = name + "first", count = name + "count";
    out.lets += fmt::format("let {}all = {}; ", name, all);
    if (p.kind == Index::All) {
        out.lets += fmt::format("let {} = 0L; let {} = {}all; ", first, count, name);
        return out;
    }
    if (p.kind == Index::One && n.args[std::size_t(p.first)]->type.is_matrix()) {
        out.is_list = true;
        const std::string x = arg(p.first);
        if (!n.args[std::size_t(p.first)]->columns.known())
            check(x + ".$2 == 1L", "a list of positions is one column");
        const bool real = is_float(n.args[std::size_t(p.first)]->type.value);
        if (real)
            check(fmt::format(
                      "result(for({}.$0, merger[i64,+], |o, k, e| if(e == e, o, merge(o, 1L)))) == 0L", x),
                  "a position is no number");
        out.lets += fmt::format(
            "let {0}list = result(for({1}.$0, appender, |o, k, e| let w = i64(e); let at = if(w < 0L, w + "
            "{0}all, w); merge(o, at))); ",
            name, x);
        out.lets += fmt::format(
            "let {0}inside = assert(result(for({0}list, merger[i64,+], |o, k, e| if(e >= 0L & e < {0}all, o, "
            "merge(o, 1L)))) == 0L, \"a position lies outside\"); ",
            name);
        out.lets += fmt::format("let {} = len({}list); ", count, name);
        return out;
    }
    if (p.kind == Index::One) {
        out.lets += fmt::format("let {0} = if({1} < 0L, {1} + {2}all, {1}); let {3} = 1L; ", first,
                                arg(p.first), name, count);
        check(fmt::format("{0} >= 0L && {0} < {1}all", first, name), "a position lies outside");
        return out;
    }
    if (p.first < 0 && p.last < 0) {
        out.lets += fmt::format("let {} = 0L; let {} = {}all; ", first, count, name);
        return out;
    }
    const std::string lo = p.first < 0 ? "0L" : arg(p.first), hi = p.last < 0 ? name + "all" : arg(p.last);
    out.lets += fmt::format("let {0} = if({1} < 0L, {1} + {2}all, {1}); ", first, lo, name);
    const std::string zero = p.first < 0 ? "false" : fmt::format("({} == 0L && {} < 0L)", hi, lo);
    out.lets += fmt::format("let {0}last = if({1} < 0L, {1} + {0}all, if({2}, {3}, {1})); ", name, hi,
                            p.last < 0 ? "false" : zero, is_insert ? first + " + 1L" : name + "all");
    check(fmt::format("{0} >= 0L && {0} < {1}all && {0} <= {1}last && {1}last <= {1}all", first, name),
          "a range lies outside");
    out.lets += fmt::format("let {} = {}last - {}; ", count, name, first);
    return out;
}

static std::vector<Lowering::Named> args_of(const GraphNode& n) {
    std::vector<Lowering::Named> args = {{"x", n.args[0]}};
    for (std::size_t i = 1; i < n.args.size(); ++i) args.push_back({fmt::format("p{}", i), n.args[i]});
    return args;
}

/// Lets that say in `picked` which column of the frame `x` is meant by the label or the position `of`.
static std::string column_picked(const GraphNode& n, const std::string& of) {
    const auto& columns = n.args[0]->type.columns;
    const bool by_label = n.args[std::size_t(n.columns.first)]->type.is_string();
    std::string picked;
    if (!by_label) picked = fmt::format("if({0} < 0L, {0} + {1}L, {0})", of, columns.size());
    for (std::size_t i = 0; by_label && i < columns.size(); ++i)
        picked += fmt::format("if({} == {}, {}L, ", of, weld_string(columns[i].label), i);
    if (by_label) picked += "-1L" + std::string(columns.size(), ')');
    return fmt::format("let picked = {}; let there = assert(picked >= 0L && picked < {}L, \"{}\"); ", picked,
                       columns.size(),
                       by_label ? "the frame has no column of this label" : "a position lies outside");
}

void Lowering::extract(const GraphNode& n) {
    const Value *of = n.args[0], *out = n.results[0];
    const bool is_frame = of->type.is_frame();
    const std::string all_rows = rows("x", of);
    const Positions r = positions_at(n, n.rows, "row", all_rows, false);
    const std::string row = r.is_list ? "lookup(rowlist, r)" : "(rowfirst + r)";
    const auto cells_of = [&](const std::string& column) {
        if (n.rows.kind == Index::All) return column;
        return fmt::format(
            "result(for(rangeiter(0L, rowcount, 1L), appender, |o, r, _| merge(o, lookup({}, {}))))", column,
            row);
    };
    if (n.picks_column) {
        const std::size_t last = of->type.columns.size() - 1;
        std::string column;
        for (std::size_t i = 0; i < last; ++i) column += fmt::format("if(picked == {0}L, x.$0.${0}, ", i);
        column += fmt::format("x.$0.${}", last) + std::string(last, ')');
        return define(
            out,
            fmt::format("{}{}let column = {}; {{{}, rowcount, 1L}}", r.lets,
                        column_picked(n, fmt::format("p{}", n.columns.first)), column, cells_of("column")),
            args_of(n), n.loc);
    }
    if (is_frame) {
        std::vector<int> taken = n.columns_taken;
        if (!n.takes_columns)
            for (std::size_t i = 0; i < of->type.columns.size(); ++i) taken.push_back(int(i));
        std::string columns;
        for (std::size_t i = 0; i < taken.size(); ++i) {
            columns += i ? ", " : "";
            columns += cells_of(fmt::format("x.$0.${}", taken[i]));
        }
        return define(out, fmt::format("{}{{{{{}}}, rowcount}}", r.lets, columns), args_of(n), n.loc);
    }
    const Positions c = positions_at(n, n.columns, "column", columns("x", of), false);
    const std::string count_rows = size(out->rows, "rowcount"),
                      count_columns = size(out->columns, "columncount");
    if (of->type.is_sparse) {
        const bool all = n.columns.kind == Index::All;
        return define(
            out,
            r.lets + c.lets +
                stored_rows({.count = count_rows,
                             .columns = count_columns,
                             .row = row,
                             .condition = all ? "true" : "j >= columnfirst && j < columnfirst + columncount",
                             .column = all ? "j" : "j - columnfirst"}),
            args_of(n), n.loc);
    }
    std::string data;
    if (n.rows.kind == Index::All && n.columns.kind == Index::All) data = "x.$0";
    else if (n.columns.kind == Index::All && !r.is_list)
        data = fmt::format(
            "result(for(iter(x.$0, rowfirst * columnall, (rowfirst + {}) * columnall, 1L), appender, |o, k, "
            "e| merge(o, e)))",
            count_rows);
    else {
        const std::string column = c.is_list ? "lookup(columnlist, c)" : "(columnfirst + c)";
        data = fmt::format(
            "result(for(rangeiter(0L, {0} * {1}, 1L), appender, |o, k, _| let r = k / {1}; let c = k % {1}; "
            "merge(o, lookup(x.$0, {2} * columnall + {3}))))",
            count_rows, count_columns, row, column);
    }
    define(out, fmt::format("{}{}{{{}, {}, {}}}", r.lets, c.lets, data, count_rows, count_columns),
           args_of(n), n.loc);
}

void Lowering::filter(const GraphNode& n) {
    const Value *of = n.args[0], *out = n.results[0];
    const std::vector<Named> args = args_of(n);
    auto positions = [&](const GraphNode::Subscript& p, const std::string& name, const std::string& all) {
        if (p.kind == Index::All)
            return fmt::format("let {0}list = counted({1}); let {0}count = {1}; ", name, all);
        return fmt::format(
            "let {0}fits = assert(p{1}.$2 == 1L && p{1}.$1 == {2}, \"a filter needs one bit for each of "
            "them\"); "
            "let {0}list = result(for(p{1}.$0, appender, |o, k, e| if(e, merge(o, k), o))); let {0}count = "
            "len({0}list); ",
            name, p.first, all);
    };
    std::string text = positions(n.rows, "row", rows("x", of));
    if (of->type.is_frame()) {
        std::string columns;
        for (std::size_t i = 0; i < of->type.columns.size(); ++i)
            columns += fmt::format("{}taken(x.$0.${}, rowlist)", i ? ", " : "", i);
        return define(out, fmt::format("{}{{{{{}}}, rowcount}}", text, columns), args, n.loc);
    }
    if (of->type.is_sparse)
        return define(
            out,
            text +
                stored_rows({.count = "rowcount", .columns = columns("x", of), .row = "lookup(rowlist, r)"}),
            args, n.loc);
    text += positions(n.columns, "column", columns("x", of));
    define(out,
           fmt::format("{}let all = {}; {{result(for(rowlist, appender, |o, r, at| for(columnlist, o, |o2, "
                       "c, j| merge(o2, lookup(x.$0, at * all + j))))), rowcount, columncount}}",
                       text, columns("x", of)),
           args, n.loc);
}

void Lowering::insert(const GraphNode& n) {
    const Value *of = n.args[0], *value = n.args[1], *out = n.results[0];
    const Positions r = positions_at(n, n.rows, "row", rows("x", of), true);
    const Positions c = positions_at(n, n.columns, "column", columns("x", of), true);
    std::string text = r.lets + c.lets;
    text += fmt::format(
        "let shaped = assert({} == rowcount && {} == columncount, \"the part and the value differ in "
        "shape\"); ",
        rows("p1", value), columns("p1", value));
    std::string data;
    if (n.rows.kind == Index::All && n.columns.kind == Index::All) data = "p1.$0";
    else if (of->type.value == ValueType::Str)
        data =
            "result(for(x.$0, appender, |o, k, e| let r = k / columnall - rowfirst; let c = k % columnall - "
            "columnfirst; merge(o, if(r >= 0L && r < rowcount && c >= 0L && c < columncount, lookup(p1.$0, r "
            "* columncount + c), e))))";
    else {
        // In place where nobody else reads the matrix.
        const std::string setter = fmt::format("vecsetter[{}](x.$0)", weld_name(of->type.value));
        if (n.rows.kind == Index::One && n.columns.kind == Index::One)
            data = fmt::format("result(merge({}, {{rowfirst * columnall + columnfirst, lookup(p1.$0, 0L)}}))",
                               setter);
        else if (n.columns.kind == Index::All)
            data = fmt::format(
                "let begin = rowfirst * columnall; result(for(p1.$0, {}, |o, k, e| merge(o, {{begin + k, "
                "e}})))",
                setter);
        else
            data = fmt::format(
                "result(for(rangeiter(0L, rowcount, 1L), {}, |o, r, _| let begin = (rowfirst + r) * "
                "columnall "
                "+ columnfirst; for(iter(p1.$0, r * columncount, (r + 1L) * columncount, 1L), o, |o2, k, e| "
                "merge(o2, {{begin + k, e}}))))",
                setter);
    }
    define(out, fmt::format("{}{{({}), x.$1, x.$2}}", text, data), args_of(n), n.loc);
}

}  // namespace weld::daphne
