// Built-in functions of matrices and frames.
#include <algorithm>

#include "frontend/daphne/lower.h"

namespace weld::daphne {

using Named = Lowering::Named;

static std::string_view cell(const Value* v) { return weld_name(v->type.value); }

/// `text` with the words `rows`, `columns`, `T` in the place of those of `x`.
static std::string filled_in(std::string_view text, const Value* x) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        auto is = [&](std::string_view word) {
            const bool begins = i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1]));
            const std::size_t end = i + word.size();
            return begins && text.substr(i).starts_with(word) &&
                   (end == text.size() || !std::isalnum(static_cast<unsigned char>(text[end])));
        };
        if (is("rows")) out += Lowering::rows("x", x), i += 4;
        else if (is("columns")) out += Lowering::columns("x", x), i += 7;
        else if (is("T")) out += cell(x), i += 1;
        else out += text[i++];
    }
    return out;
}

void lower_matrix_code(Lowering& l, const GraphNode& n) {
    l.define(n.results[0], filled_in(n.builtin->code, n.args[0]), {{"x", n.args[0]}}, n.loc);
}

// ---- generation and metadata

void lower_fill(Lowering& l, const GraphNode& n) {
    const Value* out = n.results[0];
    if (!out->rows.known() || !out->columns.known())
        l.demand("r >= 0L && c >= 0L", {{"r", n.args[1]}, {"c", n.args[2]}},
                 "numbers of rows and columns are not negative", n.loc);
    l.define(out, "{filled(r * c, v), r, c}", {{"v", n.args[0]}, {"r", n.args[1]}, {"c", n.args[2]}}, n.loc);
}
void lower_create_frame(Lowering&, const GraphNode&) {}

static std::string seed_of(const GraphNode& n, std::size_t i) {
    const auto& k = n.args[i]->constant;
    return k && k->integer != -1 ? "seed" : "if(seed == -1L, cudf[weld_random_seed,i64](), seed)";
}
void lower_random(Lowering& l, const GraphNode& n) {
    const Value* out = n.results[0];
    l.define(out,
             fmt::format("let s = {}; {{cudf[weld_random,vec[{}]](lo, hi, r, c, sparsity, s), r, c}}",
                         seed_of(n, 5), cell(out)),
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
        return l.define(out,
                        fmt::format("let n = if(inc > {0}(0), if(from <= to, i64((to - from) / inc) + 1L, "
                                    "0L), if(from >= to, i64((from - to) / ({0}(0) - inc)) + 1L, 0L)); "
                                    "{{result(for(rangeiter(0L, n, 1L), appender, |o, k, _| merge(o, from + "
                                    "{0}(k) * inc))), n, 1L}}",
                                    t),
                        args, n.loc);
    l.define(out,
             fmt::format("let slack = {0}(0.0000000000001); let more = |v: {0}| if(inc > {0}(0), v <= to + "
                         "slack, v >= to - slack); "
                         "let cells = result(if(more(from), iterate({{appender[{0}], from}}, |s| "
                         "{{{{merge(s.$0, s.$1), s.$1 + inc}}, more(s.$1 + inc)}}).$0, appender[{0}])); "
                         "{{cells, len(cells), 1L}}",
                         t),
             args, n.loc);
}
void lower_type_of(Lowering& l, const GraphNode& n) {
    const Value *x = n.args[0], *out = n.results[0];
    if (out->constant) return;
    std::string tail;
    if (x->type.is_matrix()) tail = fmt::format(", {})", printed_name(x->type.value));
    else {
        tail = ", [";
        for (std::size_t i = 0; i < x->type.columns.size(); ++i)
            tail += fmt::format("{}{}:{}", i ? ", " : "", x->type.columns[i].label,
                                printed_name(x->type.columns[i].value));
        tail += "])";
    }
    std::string quoted;
    for (char ch : tail) quoted += ch == '"' || ch == '\\' ? fmt::format("\\{}", ch) : std::string(1, ch);
    const std::string columns =
        x->type.is_frame() ? fmt::format("{}L", x->type.columns.size()) : Lowering::columns("x", x);
    l.define(out,
             fmt::format("cudf[weld_concat,vec[i8]](\"{}(\", cudf[weld_to_text,vec[i8]]({}), \"x\", "
                         "cudf[weld_to_text,vec[i8]]({}), \"{}\")",
                         !x->type.is_matrix()     ? "Frame"
                         : l.graph().is_sparse(x) ? "CSRMatrix"
                                                  : "DenseMatrix",
                         Lowering::rows("x", x), columns, quoted),
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
    l.define(n.results[0],
             filled_in("result(for(x.$0, merger[i64,+], |o, k, a| if(a == lookup(x.$0, (k % rows) * rows + k "
                       "/ rows), o, merge(o, 1L)))) == 0L",
                       x),
             {{"x", x}}, n.loc);
}

// ---- aggregation

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

// ---- reorganisation

void lower_reshape(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    const std::vector<Named> args = {{"x", x}, {"r", n.args[1]}, {"c", n.args[2]}};
    l.demand(filled_in("r >= 0L && c >= 0L && r * c == rows * columns", x), args,
             "a matrix keeps the number of its cells", n.loc);
    l.define(n.results[0], "{x.$0, r, c}", args, n.loc);
}
void lower_reverse(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
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
        compare =
            fmt::format("(let a{0} = {1}; let b{0} = {2}; if(a{0} < b{0}, {3}, if(a{0} > b{0}, {4}, {5})))",
                        i, at("p"), at("q"), up ? "-1" : "1", up ? "1" : "-1", compare);
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

// ---- linear algebra

void Lowering::product(const GraphNode& n) {
    const Value *x = n.args[0], *y = n.args[1], *out = n.results[0];
    const std::vector<Named> args = {{"x", x}, {"y", y}};
    if (!(x->columns == y->rows))
        demand("x.$2 == y.$1", args, "`@` needs as many columns on its left as rows on its right", n.loc);
    if (is_float(out->type.value)) {
        const bool squared = x->maker && x->maker->kind == GraphNode::Builtin &&
                             (x->maker->builtin->name == "t" || x->maker->builtin->name == "transpose") &&
                             x->maker->args[0] == y;
        if (squared)
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
void lower_diag_vector(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    l.demand("x.$1 == x.$2", {{"x", x}}, "`diagVector` takes a square matrix", n.loc);
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
        "let n = result(for(x.$0, merger[i64,max](-1L), |o, k, a| merge(o, a))) + 1L; let m = "
        "result(for(y.$0, merger[i64,max](-1L), |o, k, a| merge(o, a))) + 1L; ";
    if (n.args.size() > 3) args.push_back({"n", n.args[3]}), args.push_back({"m", n.args[4]}), shape.clear();
    l.demand(
        "result(for(zip(x.$0, y.$0), merger[i64,+], |o, k, e| if(e.$0 < 0L || e.$1 < 0L, merge(o, 1L), o))) "
        "== 0L",
        args, "positions of `ctable` are not negative", n.loc);
    l.define(n.results[0],
             fmt::format("{0}{{result(for(zip(x.$0, y.$0), vecmerger[{1},+](filled(n * m, {1}(0))), |o, k, "
                         "e| if(e.$0 < n && e.$1 < m, merge(o, {{e.$0 * m + e.$1, w}}), o))), n, m}}",
                         shape, cell(w)),
             args, n.loc);
}

// ---- lists

void lower_create_list(Lowering& l, const GraphNode& n) {
    std::vector<Named> args;
    std::string all;
    for (std::size_t i = 0; i < n.args.size(); ++i) {
        args.push_back({fmt::format("x{}", i), n.args[i]});
        all += fmt::format("{}x{}", i ? ", " : "", i);
    }
    l.define(n.results[0], "[" + all + "]", args, n.loc);
}
void lower_list_length(Lowering& l, const GraphNode& n) {
    l.define(n.results[0], "u64(len(x))", {{"x", n.args[0]}}, n.loc);
}
void lower_list_append(Lowering& l, const GraphNode& n) {
    l.define(n.results[0], "joined(x, [y])", {{"x", n.args[0]}, {"y", n.args[1]}}, n.loc);
}
void lower_list_remove(Lowering& l, const GraphNode& n) {
    const std::vector<Named> args = {{"x", n.args[0]}, {"at", n.args[1]}};
    l.demand("at >= 0L && at < len(x)", args, "the list has no element of this number", n.loc);
    l.define(
        n.results,
        "let gone = lookup(x, at); {result(for(x, appender, |o, k, e| if(k == at, o, merge(o, e)))), gone}",
        args, n.loc);
}

// ---- output, control

/// The labels of a frame as a vector of strings.
static std::string labels_of(const Value* frame) {
    std::string labels;
    for (const Column& c : frame->type.columns) {
        labels += labels.empty() ? "\"" : ", \"";
        for (char ch : c.label)
            labels += ch == '"' || ch == '\\' ? fmt::format("\\{}", ch)
                      : ch == '\n'            ? "\\n"
                                              : std::string(1, ch);
        labels += '"';
    }
    return labels.empty() ? "[]: vec[vec[i8]]" : "[" + labels + "]";
}

void lower_print(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    std::vector<Named> args = {{"x", x}, {"line", n.args[1]}, {"err", n.args[2]}};
    switch (x->type.data) {
        case DataType::Scalar: return l.act("cudf[weld_display,{}](x, line, err)", args, n.loc);
        case DataType::Matrix:
            if (l.graph().is_sparse(x))
                return l.act(
                    fmt::format(
                        "let s = sparse(x.$0, x.$1, x.$2, {}(0)); cudf[weld_display_csr,{{}}](s, x.$2, err)",
                        cell(x)),
                    args, n.loc);
            return l.act("cudf[weld_display_matrix,{}](x, err)", args, n.loc);
        case DataType::List: return l.act("cudf[weld_display_list,{}](x, err)", args, n.loc);
        case DataType::Frame: break;
    }
    l.act(fmt::format("cudf[weld_display_frame,{{}}](x, {}, err)", labels_of(x)), args, n.loc);
}

// ---- files

void lower_read_matrix(Lowering& l, const GraphNode& n) {
    const Value* out = n.results[0];
    l.define(out,
             fmt::format("cudf[weld_read_matrix,{}](path, {}, {})", weld_name(out->type),
                         Lowering::size(out->rows, "-1L"), Lowering::size(out->columns, "-1L")),
             {{"path", n.args[0]}}, n.loc);
}
void lower_read_frame(Lowering& l, const GraphNode& n) {
    const Value* out = n.results[0];
    l.define(out,
             fmt::format("cudf[weld_read_frame,{}](path, {})", weld_name(out->type),
                         Lowering::size(out->rows, "-1L")),
             {{"path", n.args[0]}}, n.loc);
}
void lower_write(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    const std::vector<Named> args = {{"x", x}, {"path", n.args[1]}};
    if (x->type.is_matrix()) return l.act("cudf[weld_write_matrix,{}](x, path)", args, n.loc);
    l.act(fmt::format("cudf[weld_write_frame,{{}}](x, {}, path)", labels_of(x)), args, n.loc);
}
void lower_stop(Lowering& l, const GraphNode& n) {
    l.act("let said = cudf[weld_concat,vec[i8]](\"system stopped: \", x); assert(false, said)",
          {{"x", n.args[0]}}, n.loc);
}
void lower_now(Lowering& l, const GraphNode& n) { l.define(n.results[0], "cudf[weld_now,i64]()", {}, n.loc); }
void lower_nothing(Lowering&, const GraphNode&) {}

// ---- preprocessing

void lower_one_hot(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    const std::vector<Named> args = {{"x", x}, {"info", n.args[1]}};
    l.demand(
        "info.$1 == 1L && info.$2 == x.$2 && result(for(info.$0, merger[i64,+], |o, k, d| if(d < -1L, "
        "merge(o, 1L), o))) == 0L && result(for(info.$0, merger[i64,+], |o, k, d| if(d == 0L, o, merge(o, "
        "1L)))) > 0L",
        args, "`info` of `oneHot` has for each column -1, 0 or a number of codes, and keeps something",
        n.loc);
    const std::string_view t = cell(n.results[0]);
    if (x->type.value == ValueType::Str) {
        l.define(
            n.results[0],
            fmt::format(
                "let n = {0}; let m = {1}; let codes = result(for(rangeiter(0L, m, 1L), appender, |o, j, _| "
                "let firsts = sort(tovec(result(for(rangeiter(0L, n, 1L), dictmerger[vec[i8],i64,min], |d, "
                "r, _2| merge(d, {{lookup(x.$0, r * m + j), r}})))), |e| e.$1); "
                "let coded = result(for(firsts, dictmerger[vec[i8],i64,min], |d, r, e| merge(d, {{e.$0, "
                "r}}))); "
                "for(rangeiter(0L, n, 1L), o, |o2, r, _2| merge(o2, lookup(coded, lookup(x.$0, r * m + "
                "j)))))); "
                "let inside = assert(result(for(codes, merger[i64,+], |o, k, c| let d = lookup(info.$0, k / "
                "n); if(d > 0L && c >= d, merge(o, 1L), o))) == 0L, \"a code of `oneHot` is too large\"); "
                "let width = result(for(info.$0, merger[i64,+], |o, k, d| merge(o, if(d < 0L, 1L, d)))); "
                "{{result(for(rangeiter(0L, n, 1L), appender, |o, r, _| for(info.$0, o, |o2, j, d| let c = "
                "lookup(codes, j * n + r); if(d == -1L, merge(o2, c), "
                "for(rangeiter(0L, d, 1L), o2, |o3, q, _2| merge(o3, if(q == c, 1L, 0L))))))), n, width}}",
                Lowering::rows("x", x), Lowering::columns("x", x)),
            args, n.loc);
        return;
    }
    l.demand(
        "result(for(x.$0, merger[i64,+], |o, k, v| let d = lookup(info.$0, k % x.$2); if(d > 0L && (i64(v) < "
        "0L || i64(v) >= d), merge(o, 1L), o))) == 0L",
        args, "a code of `oneHot` lies outside", n.loc);
    l.define(n.results[0],
             fmt::format("let n = {0}; let m = {1}; let width = result(for(info.$0, merger[i64,+], |o, k, d| "
                         "merge(o, if(d < 0L, 1L, d)))); "
                         "{{result(for(rangeiter(0L, n, 1L), appender, |o, r, _| for(info.$0, o, |o2, j, d| "
                         "let v = lookup(x.$0, r * m + j); if(d == -1L, merge(o2, v), "
                         "for(rangeiter(0L, d, 1L), o2, |o3, q, _2| merge(o3, if(q == i64(v), {2}(1), "
                         "{2}(0)))))))), n, width}}",
                         Lowering::rows("x", x), Lowering::columns("x", x), t),
             args, n.loc);
}
void lower_recode(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    l.define(n.results,
             fmt::format(
                 "let all = tovec(result(for(x.$0, dictmerger[{0},i64,min], |d, k, a| merge(d, {{a, k}})))); "
                 "let first = if(ordered, sort(all, |e| e.$0), sort(all, |e| e.$1)); "
                 "let coded = result(for(first, dictmerger[{0},i64,min], |d, k, e| merge(d, {{e.$0, k}}))); "
                 "{{{{map(x.$0, |a| lookup(coded, a)), {1}, 1L}}, {{map(first, |e| e.$0), len(first), 1L}}}}",
                 cell(x), Lowering::rows("x", x)),
             {{"x", x}, {"ordered", n.args[1]}}, n.loc);
}

}  // namespace weld::daphne
