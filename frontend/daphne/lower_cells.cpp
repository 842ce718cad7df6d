// Operations of cells, one by one.
#include <algorithm>

#include "frontend/daphne/lower.h"

namespace weld::daphne {

std::string comparison(ValueType v, std::string_view a, std::string_view b) {
    if (v == ValueType::Str) return fmt::format("i32(cudf[weld_compare,i64]({}, {}))", a, b);
    return fmt::format("compare({}, {})", a, b);
}

std::string operator_code(Operator op, ValueType operand, ValueType result) {
    auto truth = [&](std::string condition) {
        return result == ValueType::Bool ? condition : fmt::format("if({}, R(1), R(0))", condition);
    };
    const bool text = operand == ValueType::Str;
    switch (op) {
        case Operator::Add: return text ? "cudf[weld_concat,vec[i8]](a, b)" : "a + b";
        case Operator::Sub: return "a - b";
        case Operator::Mul: return "a * b";
        case Operator::Div: return "a / b";
        case Operator::Mod: return "a % b";
        case Operator::Pow: return is_float(operand) ? "pow(a, b)" : "T(pow(f64(a), f64(b)))";
        case Operator::And: return truth("a & b");
        case Operator::Or: return truth("a | b");
        case Operator::Not: return operand == ValueType::Bool ? "!a" : "a == T(0)";
        case Operator::Minus: return "-a";
        case Operator::Plus: return "a";
        case Operator::MatMul: return "";
        case Operator::Eq:
        case Operator::Ne: return truth(fmt::format("a {} b", text_of(op)));
        default:
            if (text) return truth(fmt::format("{} {} 0", comparison(operand, "a", "b"), text_of(op)));
            return truth(fmt::format("a {} b", text_of(op)));
    }
}

/// `code` with the names of types in the place of `T` and `R`.
static std::string with_types(std::string_view code, std::string_view t, std::string_view r) {
    std::string out;
    for (std::size_t i = 0; i < code.size(); ++i) {
        const bool alone = (i == 0 || !std::isalnum(static_cast<unsigned char>(code[i - 1]))) &&
                           i + 1 < code.size() && (code[i + 1] == '(' || code[i + 1] == ',');
        if (alone && code[i] == 'T') out += t;
        else if (alone && code[i] == 'R') out += r;
        else out += code[i];
    }
    return out;
}

/// `what` of the stored cells of the one operand that is sparse; the others are scalars. Zero gives zero
/// where they are known; else the run looks, and stores all cells if it doesn't.
static std::string of_stored_cells(const Value* out, const std::vector<const Value*>& operands,
                                   const std::string& what) {
    std::string scalars, x, cell;
    bool is_known = true;
    const char* names[] = {"a", "b", "c"};
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i]->type.is_matrix()) {
            x = fmt::format("x{}", i), cell = names[i];
            continue;
        }
        scalars += fmt::format("let {} = x{}; ", names[i], i);
        is_known &= operands[i]->constant.has_value();
    }
    const std::string_view t = weld_name(operands[0]->type.value), r = weld_name(out->type.value);
    const auto cells = [&](std::string_view data) {
        return fmt::format("result(for({}, appender, |out, k, {}| merge(out, {})))", data, cell, what);
    };
    const std::string stored = fmt::format("{{{}, n, m, {}.$3, {}.$4}}", cells(x + ".$0"), x, x);
    if (is_known) return scalars + stored;
    return scalars +
           fmt::format(
               "let keeps = if(len({0}.$0) == n * m, true, (let {1} = {2}(0); {3} == {4}(0))); if(keeps, "
               "{5}, (let full = dense({0}, n, m, {2}(0)); let made = {6}; sparse(made, n, m, {4}(0))))",
               x, cell, t, what, r, stored, cells("full"));
}

void Lowering::elementwise(const Value* out, const std::vector<const Value*>& operands, std::string_view code,
                           Loc loc, bool is_outer) {
    const std::string_view t = weld_name(operands[0]->type.value), r = weld_name(out->type.value);
    std::string what = with_types(code, t, r), condition, message;
    if (const std::size_t where = what.find(" where "); where != what.npos) {
        const std::size_t colon = what.find(" : ", where);
        condition = what.substr(where + 7, colon - where - 7);
        message = what.substr(colon + 3);
        what.resize(where);
    }
    std::vector<Named> args;
    for (std::size_t i = 0; i < operands.size(); ++i) args.push_back({fmt::format("x{}", i), operands[i]});
    const char* names[] = {"a", "b", "c"};
    if (out->type.is_scalar()) {
        std::string text;
        for (std::size_t i = 0; i < operands.size(); ++i) text += fmt::format("let {} = x{}; ", names[i], i);
        if (!condition.empty()) text += fmt::format("let fits = assert({}, \"{}\"); ", condition, message);
        return define(out, text + what, args, loc);
    }
    if (!condition.empty() && operands[0]->type.is_matrix())
        demand(fmt::format("result(for(x0.$0, merger[i64,+], |out, k, a| if({}, out, merge(out, 1L)))) == 0L",
                           condition),
               {args[0]}, message, loc);
    else if (!condition.empty()) demand(fmt::format("let a = x0; {}", condition), {args[0]}, message, loc);

    if (out->type.is_sparse) {
        if (std::ranges::count_if(operands, [](const Value* v) { return v->type.is_sparse; }) == 2)
            return define(out,
                          fmt::format("sparse_of_two(x0, x1, {}, {}, {}(0), {}(0), |a, b| {})",
                                      rows("x0", operands[0]), columns("x0", operands[0]), t, r, what),
                          args, loc);
        const Value* x = *std::ranges::find_if(operands, [](const Value* v) { return v->type.is_sparse; });
        const std::string name = x == operands[0] ? "x0" : "x1";
        return define(out,
                      fmt::format("let n = {}; let m = {}; {}", rows(name, x), columns(name, x),
                                  of_stored_cells(out, operands, what)),
                      args, loc);
    }

    // The shape of the result: of the operands that are not known to be repeated.
    enum Form { Whole, Single, Cell, Row, Column, Unknown };
    std::vector<Form> forms, likely(operands.size());
    std::string as_likely;  // those of unknown form have the likely one
    std::string rows = size(out->rows, ""), columns = size(out->columns, "");
    std::string fits;
    auto also = [&](const std::string& c) { fits += (fits.empty() ? "" : " && ") + c; };
    const Value* first = nullptr;
    std::string rows_of, columns_of;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const Value* v = operands[i];
        if (v->type.is_scalar()) {
            forms.push_back(Single);
            continue;
        }
        const std::string x = fmt::format("x{}", i), its_rows = Lowering::rows(x, v),
                          its_columns = Lowering::columns(x, v);
        if (is_outer) {
            forms.push_back(i == 0 ? Column : Row);
            (i == 0 ? rows_of : columns_of) = i == 0 ? its_rows : its_columns;
            if (i == 0 && !v->columns.is(1)) also(its_columns + " == 1L");
            if (i == 1 && !v->rows.is(1)) also(its_rows + " == 1L");
            continue;
        }
        if (!first) rows_of = its_rows, columns_of = its_columns;
        else {
            if (!(v->rows == out->rows) || !(operands[0]->rows == out->rows))
                rows_of = fmt::format("if({0} == 1L, {1}, {0})", rows_of, its_rows);
            if (!(v->columns == out->columns) || !(operands[0]->columns == out->columns))
                columns_of = fmt::format("if({0} == 1L, {1}, {0})", columns_of, its_columns);
        }
        first = v;
        const bool same_rows = v->rows == out->rows, same_columns = v->columns == out->columns;
        const bool alone =
            std::ranges::count_if(operands, [](const Value* o) { return !o->type.is_scalar(); }) == 1;
        if (alone || (same_rows && same_columns)) forms.push_back(Whole);
        else if (v->rows.is(1) && v->columns.is(1)) forms.push_back(Cell);
        else if (v->rows.is(1) && same_columns) forms.push_back(Row);
        else if (v->columns.is(1) && same_rows) forms.push_back(Column);
        else {
            forms.push_back(Unknown);
            const Form form = likely[i] = v->rows.is(1) ? Row : v->columns.is(1) ? Column : Whole;
            if (!as_likely.empty()) as_likely += " && ";
            as_likely += form == Row      ? its_columns + " == m"
                         : form == Column ? its_rows + " == n"
                                          : fmt::format("{} == n && {} == m", its_rows, its_columns);
            if (!same_rows && !v->rows.is(1)) also(fmt::format("({0} == n || {0} == 1L)", its_rows));
            if (!same_columns && !v->columns.is(1)) also(fmt::format("({0} == m || {0} == 1L)", its_columns));
        }
    }
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (forms[i] != Unknown) likely[i] = forms[i];
    if (rows.empty()) rows = rows_of;
    if (columns.empty()) columns = columns_of;
    std::string text = fmt::format("let n = {}; let m = {}; ", rows, columns);
    if (!fits.empty())
        text +=
            fmt::format("let fits = assert({}, \"the shapes of the operands do not fit together\"); ", fits);
    auto loop = [&](const std::vector<Form>& forms) {
        std::string data, lets;
        int zipped = 0;
        for (std::size_t i = 0; i < operands.size(); ++i)
            if (forms[i] == Whole) data += fmt::format("{}x{}.$0", zipped++ ? ", " : "", i);
        int at = 0;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            std::string cell;
            switch (forms[i]) {
                case Whole: cell = zipped > 1 ? fmt::format("e.${}", at++) : "e"; break;
                case Single: cell = fmt::format("x{}", i); break;
                case Cell: cell = fmt::format("lookup(x{}.$0, 0L)", i); break;
                case Row: cell = fmt::format("lookup(x{}.$0, k % m)", i); break;
                case Column: cell = fmt::format("lookup(x{}.$0, k / m)", i); break;
                case Unknown:
                    cell = fmt::format(
                        "lookup(x{0}.$0, if(x{0}.$1 == 1L, 0L, k / m) * x{0}.$2 + if(x{0}.$2 == 1L, 0L, k % "
                        "m))",
                        i);
                    break;
            }
            lets += fmt::format("let {} = {}; ", names[i], cell);
        }
        const std::string over = zipped == 0   ? "rangeiter(0L, n * m, 1L)"
                                 : zipped == 1 ? data
                                               : "zip(" + data + ")";
        return fmt::format("result(for({}, appender, |out, k, e| {}merge(out, {})))", over, lets, what);
    };
    if (as_likely.empty()) text += fmt::format("{{{}, n, m}}", loop(forms));
    else text += fmt::format("{{if({}, {}, {}), n, m}}", as_likely, loop(likely), loop(forms));
    define(out, text, args, loc);
}

// ---- built-in functions of cells

void lower_cells(Lowering& l, const GraphNode& n) {
    const std::vector<const Value*> operands(n.args.begin(), n.args.end());
    l.elementwise(n.results[0], operands, n.builtin->code, n.loc, n.is_outer);
}

/// Of whole numbers it is the number itself.
void lower_whole(Lowering& l, const GraphNode& n) {
    const bool whole = !is_float(n.args[0]->type.value);
    l.elementwise(n.results[0], {n.args[0]}, whole ? "a" : n.builtin->code, n.loc);
}

void lower_replace(Lowering& l, const GraphNode& n) {
    const bool text = n.args[0]->type.value == ValueType::Str;
    l.elementwise(n.results[0], {n.args[0], n.args[1], n.args[2]},
                  text ? "if(a == b, c, a)" : "if(a == b | (a != a & b != b), c, a)", n.loc);
}

void lower_quantize(Lowering& l, const GraphNode& n) {
    l.elementwise(
        n.results[0], {n.args[0], n.args[1], n.args[2]},
        "let lo = if(b < T(0), b, T(0)); let hi = if(c > T(0), c, T(0)); let scale = (hi - lo) / T(256); "
        "let zero = rounded(T(0) - lo / scale, T(0), T(1), T(0.5), T(8388608.0), |x| T(i64(x))); "
        "let q = rounded(a / scale + zero, T(0), T(1), T(0.5), T(8388608.0), |x| T(i64(x))); "
        "u8(i64(if(q < T(0), T(0), if(q > T(255), T(255), q))))",
        n.loc);
}

void lower_bin(Lowering& l, const GraphNode& n) {
    const Value* x = n.args[0];
    std::vector<Lowering::Named> args = {{"x", x}, {"count", n.args[1]}};
    if (n.args.size() > 2) args.push_back({"lo", n.args[2]}), args.push_back({"hi", n.args[3]});
    const std::string_view t = weld_name(x->type.value);
    const std::string bounds =
        n.args.size() > 2
            ? ""
            : fmt::format(
                  "let lo = f64(result(for(x.$0, merger[{0},min], |out, k, a| merge(out, a)))); let hi = "
                  "f64(result(for(x.$0, merger[{0},max], |out, k, a| merge(out, a)))); ",
                  t);
    l.demand(
        bounds + "count > 0L && lo <= hi && lo - lo == 0.0 && hi - hi == 0.0 && (lo < hi || count == 1L)",
        args, "`bin` needs at least one bin, and finite bounds that differ", n.loc);
    l.define(n.results[0],
             bounds + fmt::format("let width = (hi - lo) / f64(count); {{result(for(x.$0, appender, |out, k, "
                                  "v| let q = (f64(v) - lo) / width; "
                                  "let up = -floored(-q, 1.0, 4503599627370496.0, |y| f64(i64(y))) - 1.0; "
                                  "let most = f64(count) - 1.0; "
                                  "merge(out, if(v == v, {0}(if(lo == hi, 0.0, if(up < 0.0, 0.0, if(up > "
                                  "most, most, up)))), v)))), x.$1, x.$2}}",
                                  t),
             args, n.loc);
}

}  // namespace weld::daphne
