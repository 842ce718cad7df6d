// Values, literals, conversions. Control flow and operations of cells and matrices are in the other
// lower_*.cpp.
#include "frontend/daphne/lower.h"

#include <bit>
#include <cmath>

#include "weldir/ir/walk.h"

namespace weld::daphne {

static constexpr char kPrelude[] =
#include "daphne_prelude.inc"
    ;

std::string_view weld_name(ValueType v) {
    switch (v) {
        case ValueType::Bool: return "bool";
        case ValueType::Si8: return "i8";
        case ValueType::Ui8: return "u8";
        case ValueType::Si32: return "i32";
        case ValueType::Ui32: return "u32";
        case ValueType::Si64: return "i64";
        case ValueType::Size:
        case ValueType::Ui64: return "u64";
        case ValueType::F32: return "f32";
        case ValueType::F64: return "f64";
        case ValueType::Str: return "vec[i8]";
    }
    return "";
}

std::string weld_name(const Type& t) {
    const std::string cell(weld_name(t.value));
    switch (t.data) {
        case DataType::Scalar: return cell;
        case DataType::Matrix:
            return "{vec[" + cell + "],i64,i64" + (t.is_sparse ? ",vec[i64],vec[i64]}" : "}");
        case DataType::List: return "vec[{vec[" + cell + "],i64,i64}]";
        case DataType::Frame: break;
    }
    std::string columns;
    for (const Column& c : t.columns)
        columns += fmt::format("{}vec[{}]", columns.empty() ? "" : ",", weld_name(c.value));
    return "{{" + columns + "},i64}";
}

Lowering::Lowering(Module& m, const Graph& graph, Diagnostics& diagnostics)
    : m_(m), graph_(graph), diagnostics_(diagnostics), prelude_(m, "prelude.weld", kPrelude) {}

// ---- words

std::string Lowering::size(Dim d, const std::string& otherwise) {
    return d.known() ? fmt::format("{}L", d.number) : otherwise;
}
std::string Lowering::rows(std::string_view name, const Value* v) {
    return size(v->rows, fmt::format("{}.$1", name));
}
std::string Lowering::columns(std::string_view name, const Value* v) {
    return size(v->columns, fmt::format("{}.$2", name));
}
std::string Lowering::cells(std::string_view name, const Value* v) {
    if (v->rows.known() && v->columns.known()) return fmt::format("{}L", v->rows.number * v->columns.number);
    return fmt::format("({} * {})", rows(name, v), columns(name, v));
}

std::string filled_in(std::string_view text, const Value* x) {
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

std::string weld_string(std::string_view text) {
    std::string literal = "\"";
    for (char ch : text)
        literal += ch == '"' || ch == '\\' ? fmt::format("\\{}", ch)
                   : ch == '\n'            ? "\\n"
                                           : std::string(1, ch);
    return literal + '"';
}

// ---- values

const weld::Type* Lowering::weld_type(const daphne::Type& t) {
    auto scalar = [&](ValueType v) -> const weld::Type* {
        switch (v) {
            case ValueType::Bool: return m_.types.boolean();
            case ValueType::Si8: return m_.types.scalar(Scalar::I8);
            case ValueType::Ui8: return m_.types.scalar(Scalar::U8);
            case ValueType::Si32: return m_.types.scalar(Scalar::I32);
            case ValueType::Ui32: return m_.types.scalar(Scalar::U32);
            case ValueType::Si64: return m_.types.i64();
            case ValueType::Size:
            case ValueType::Ui64: return m_.types.scalar(Scalar::U64);
            case ValueType::F32: return m_.types.scalar(Scalar::F32);
            case ValueType::F64: return m_.types.scalar(Scalar::F64);
            case ValueType::Str: return m_.types.vec(m_.types.scalar(Scalar::I8));
        }
        return nullptr;
    };
    auto matrix = [&](ValueType v, bool is_sparse) {
        const weld::Type *i64 = m_.types.i64(), *places = m_.types.vec(i64);
        const weld::Type* fields[] = {m_.types.vec(scalar(v)), i64, i64, places, places};
        return m_.types.structure(std::span(fields).first(is_sparse ? 5 : 3));
    };
    if (t.is_scalar()) return scalar(t.value);
    if (t.is_matrix()) return matrix(t.value, t.is_sparse);
    if (t.is_list()) return m_.types.vec(matrix(t.value, false));
    std::vector<const weld::Type*> columns;
    for (const Column& c : t.columns) columns.push_back(m_.types.vec(scalar(c.value)));
    const weld::Type* fields[] = {m_.types.structure(columns), m_.types.i64()};
    return m_.types.structure(fields);
}

/// The last thing that `e` does is to write the struct down.
static bool is_written(const Expr* e) {
    return e->op == Op::Block ? is_written(e->as<Block>().last()) : e->op == Op::MakeStruct;
}

/// `e` null: its text was wrong, which has been reported. What goes on with the value then is for nobody.
void Lowering::bind(const Value* out, const Expr* e) {
    if (!e) e = var(m_, m_.symbol("nothing", weld_type(out->type)));
    if (e->op == Op::Var || e->op == Op::Literal) {
        values_[out] = e;
        return;
    }
    std::vector<Promise> sizes;
    if (!is_written(e)) list_sizes(out, {}, sizes);
    const Symbol* s =
        m_.symbol("v" + std::to_string(out->id), e->type, m_.arena.copy(std::span<const Promise>(sizes)));
    lets_->emplace_back(s, e);
    values_[out] = var(m_, s, e->loc);
}

const Expr* Lowering::value(const Value* v) {
    if (v->constant && v->type.is_scalar()) {
        const Constant& c = *v->constant;
        const weld::Type* type = weld_type(v->type);
        if (c.value == ValueType::Str) {
            std::vector<const Expr*> bytes;
            for (char b : c.text) bytes.push_back(int_literal(m_, type->elem(), std::int8_t(b)));
            const Symbol* s = m_.symbol("text", type);
            lets_->emplace_back(s, c.text.size() < 256 ? make_vec(m_, type->elem(), bytes)
                                                       : packed_vec(m_, type->elem(),
                                                                    m_.arena.copy(std::string_view(c.text))));
            return var(m_, s);
        }
        if (is_float(c.value)) return float_literal(m_, type, c.number);
        if (c.value == ValueType::Bool) return bool_literal(m_, c.integer != 0);
        return int_literal(m_, type, c.integer);
    }
    return values_.at(v);
}

const Expr* Lowering::apply(std::string_view text, const std::vector<Named>& args, Loc loc) {
    std::string function = "|";
    std::vector<const Expr*> values;
    for (const Named& a : args) {
        function += fmt::format("{}{}: {}", values.empty() ? "" : ", ", a.name, weld_name(a.value->type));
        values.push_back(value(a.value));
    }
    function += "| ";
    function += text;
    return apply(function, values, loc);
}

const Expr* Lowering::apply(std::string_view function, const std::vector<const Expr*>& args, Loc loc) {
    std::string error;
    const Expr* e = prelude_.apply(std::string(function), args, loc, &error);
    if (!e) diagnostics_.error(loc, "internal error: {} of `{}`", error, function);
    return e;
}

void Lowering::define(const Value* out, std::string_view text, const std::vector<Named>& args, Loc loc) {
    bind(out, apply(text, args, loc));
}

void Lowering::define(const std::vector<Value*>& outs, std::string_view text, const std::vector<Named>& args,
                      Loc loc) {
    if (const Expr* e = apply(text, args, loc)) return bind_fields(outs, e);
    for (const Value* out : outs) bind(out, nullptr);
}

void Lowering::bind_fields(const std::vector<Value*>& outs, const Expr* e, std::size_t from) {
    const Symbol* all = m_.symbol("all", e->type, sizes_of(outs, from));
    lets_->emplace_back(all, e);
    for (std::size_t i = 0; i < outs.size(); ++i)
        bind(outs[i], get_field(m_, var(m_, all), from + i, e->loc));
}

void Lowering::act(std::string_view text, const std::vector<Named>& args, Loc loc) {
    if (const Expr* e = apply(text, args, loc)) lets_->emplace_back(m_.symbol("done", e->type), e);
}

void Lowering::demand(std::string_view condition, const std::vector<Named>& args, std::string_view message,
                      Loc loc) {
    act(fmt::format("assert({}, \"{}\")", condition, message), args, loc);
}

void Lowering::demand_countable(const GraphNode& n, std::string_view rows, std::string_view columns,
                                const std::vector<Named>& args) {
    const Dim r = n.results[0]->rows, c = n.results[0]->columns;
    if (r.known() && c.known() && (c.number == 0 || r.number <= INT64_MAX / c.number)) return;
    demand(fmt::format("if({1} > 0L, {0} <= {2}L / {1}, {1} == 0L)", rows, columns, INT64_MAX), args,
           "a matrix has less than 2^63 cells", n.loc);
}

// ---- sizes

void Lowering::list_sizes(const Value* v, std::vector<std::size_t> path, std::vector<Promise>& all) {
    const auto size = [&](std::initializer_list<std::size_t> at, bool is_length) {
        std::vector<std::size_t> whole = path;
        whole.insert(whole.end(), at);
        return SizeName{.is_length = is_length, .path = m_.arena.copy(std::span<const std::size_t>(whole))};
    };
    const auto product = [&](std::int64_t factor, std::initializer_list<SizeName> of) {
        return Promise::Product{factor, m_.arena.copy(std::span<const SizeName>(of.begin(), of.size()))};
    };
    const auto equal = [&](SizeName what, std::initializer_list<Promise::Product> sum) {
        all.push_back(
            {.size = what, .sum = m_.arena.copy(std::span<const Promise::Product>(sum.begin(), sum.size()))});
    };
    const auto count = [&](SizeName what, Dim d) {
        if (d.known()) equal(what, {product(d.number, {})});
        else all.push_back({.size = what, .kind = Promise::NotNegative});
    };
    if (v->type.is_frame()) {
        const SizeName rows = size({1}, false);
        count(rows, v->rows);
        for (std::size_t i = 0; i < v->type.columns.size(); ++i)
            equal(size({0, i}, true), {product(1, {rows})});
    } else if (v->type.is_matrix()) {
        const SizeName rows = size({1}, false), columns = size({2}, false);
        count(rows, v->rows);
        count(columns, v->columns);
        if (!v->type.is_sparse) return equal(size({0}, true), {product(1, {rows, columns})});
        equal(size({3}, true), {product(1, {rows}), product(1, {})});
        equal(size({4}, true), {product(1, {size({0}, true)})});
    }
}

Promises Lowering::sizes_of(const std::vector<Value*>& values, std::size_t from) {
    std::vector<Promise> all;
    for (std::size_t i = 0; i < values.size(); ++i) list_sizes(values[i], {from + i}, all);
    return m_.arena.copy(std::span<const Promise>(all));
}

// ---- the whole

void Lowering::run() {
    Lets lets;
    lets_ = &lets;
    std::vector<const Symbol*> params;
    for (const Value* v : graph_.main.params) {
        std::vector<Promise> sizes;
        list_sizes(v, {}, sizes);
        params.push_back(m_.symbol(fmt::format("v{}", v->id), weld_type(v->type),
                                   m_.arena.copy(std::span<const Promise>(sizes))));
        bind(v, var(m_, params.back()));
    }
    nodes(graph_.main);
    const Expr* left = pack({graph_.main.results.begin(), graph_.main.results.end()});
    m_.main = lambda(m_, params, block(m_, lets, left));
}

void Lowering::nodes(const Body& r) {
    for (const GraphNode* n : r.nodes) node(*n);
}

void Lowering::node(const GraphNode& n) {
    switch (n.kind) {
        case GraphNode::Constant: return;
        case GraphNode::Builtin: return n.builtin->lower(*this, n);
        case GraphNode::Operator: {
            if (n.op == Operator::MatMul) return product(n);
            const std::vector<const Value*> operands(n.args.begin(), n.args.end());
            return elementwise(n.results[0], operands,
                               operator_code(n.op, n.args[0]->type.value, n.results[0]->type.value), n.loc,
                               n.is_outer);
        }
        case GraphNode::Convert: return convert(n);
        case GraphNode::Matrix: return matrix(n);
        case GraphNode::Frame: return frame(n);
        case GraphNode::Extract: return extract(n);
        case GraphNode::Filter: return filter(n);
        case GraphNode::Insert: return insert(n);
        case GraphNode::Select:
            for (std::size_t i = 1; i < 3; ++i) {
                const Value *c = n.args[0], *v = n.args[i];
                if (v->type.is_matrix() && !(v->rows == c->rows && v->columns == c->columns))
                    demand("c.$1 == x.$1 && c.$2 == x.$2", {{"c", c}, {"x", v}},
                           "the sides of `?:` have the shape of the condition", n.loc);
            }
            return elementwise(n.results[0], {n.args[0], n.args[1], n.args[2]}, "if(a, b, c)", n.loc);
        case GraphNode::If: return if_node(n);
        case GraphNode::Loop: return loop(n);
        case GraphNode::Repeat: return repeat(n);
        case GraphNode::Call: return call(n);
        case GraphNode::Map: return map(n);
    }
}

// ---- literals

void Lowering::matrix(const GraphNode& n) {
    const Value* out = n.results[0];
    const weld::Type* elem = weld_type(out->type)->args[0]->elem();
    std::vector<const Expr*> cells;
    for (std::size_t i = 0; i < n.cells; ++i) cells.push_back(value(n.args[i]));
    const Symbol* data = m_.symbol("cells", m_.types.vec(elem));
    lets_->emplace_back(data, make_vec(m_, elem, cells, n.loc));
    const Expr* dims[2];
    const int at[2] = {n.rows.first, n.columns.first};
    const auto count = std::int64_t(n.cells);
    for (int i = 0; i < 2; ++i) dims[i] = at[i] < 0 ? nullptr : value(n.args[std::size_t(at[i])]);
    if (!dims[0] && !dims[1]) dims[0] = i64_literal(m_, count), dims[1] = i64_literal(m_, 1);
    const Expr* all = i64_literal(m_, count);
    auto quotient = [&](const Expr* by) {
        const Expr* zero = scalar_op(m_, Op::Eq, {by, i64_literal(m_, 0)});
        return if_(m_, zero, i64_literal(m_, 0), scalar_op(m_, Op::Div, {all, by}));
    };
    if (!dims[0]) dims[0] = quotient(dims[1]);
    if (!dims[1]) dims[1] = quotient(dims[0]);
    for (const Expr*& d : dims) {
        const Symbol* s = m_.symbol("dim", m_.types.i64());
        lets_->emplace_back(s, d);
        d = var(m_, s);
    }
    if (!out->rows.known() || !out->columns.known() || out->rows.number * out->columns.number != count) {
        const Expr* fits = scalar_op(m_, Op::Eq, {scalar_op(m_, Op::Mul, {dims[0], dims[1]}), all});
        const Expr* positive = scalar_op(m_, Op::Ge, {dims[0], i64_literal(m_, 0)});
        const Symbol* why = m_.symbol("why", m_.types.vec(m_.types.scalar(Scalar::I8)));
        lets_->emplace_back(
            why, packed_vec(m_, why->type->elem(), "the elements cannot fill a matrix of this shape"));
        lets_->emplace_back(m_.symbol("fits", m_.types.boolean()),
                            assert_(m_, scalar_op(m_, Op::And, {fits, positive}), n.loc, var(m_, why)));
    }
    const Expr* made = make_struct(m_, {var(m_, data), dims[0], dims[1]}, n.loc);
    if (out->type.is_sparse)
        made = apply(fmt::format("|x: {{vec[{0}],i64,i64}}| sparse(x.$0, x.$1, x.$2, {0}(0))", cell(out)),
                     {made}, n.loc);
    bind(out, made);
}

void Lowering::frame(const GraphNode& n) {
    std::vector<Named> args;
    std::string columns, fits;
    for (std::size_t i = 0; i < n.args.size(); ++i) {
        args.push_back({fmt::format("x{}", i), n.args[i]});
        columns += fmt::format("{}x{}.$0", i ? ", " : "", i);
        const Value* v = n.args[i];
        if (!v->columns.is(1)) fits += fmt::format("{}x{}.$2 == 1L", fits.empty() ? "" : " && ", i);
        if (i && !(v->rows == n.args[0]->rows))
            fits += fmt::format("{}x{}.$1 == x0.$1", fits.empty() ? "" : " && ", i);
    }
    if (!fits.empty())
        demand(fits, args, "the columns of a frame are matrices of one column with equally many rows", n.loc);
    const auto& labels = n.results[0]->type.columns;
    for (std::size_t i = 0; i < labels.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
            if (labels[i].label == labels[k].label)
                act("assert(false, \"two columns of a frame have the same label\")", {}, n.loc);
    define(n.results[0], fmt::format("{{{{{}}}, x0.$1}}", columns), args, n.loc);
}

// ---- conversions

std::string conversion(ValueType from, ValueType to) {
    if (weld_name(from) == weld_name(to)) return "a";
    if (to == ValueType::Str) return "cudf[weld_to_text,vec[i8]](a)";
    if (from == ValueType::Str) {
        if (to == ValueType::F64) return "cudf[weld_text_to_f64,f64](a)";
        if (to == ValueType::F32) return "cudf[weld_text_to_f32,f32](a)";
        if (is_unsigned(to)) return fmt::format("{}(cudf[weld_text_to_u64,u64](a))", weld_name(to));
        if (to == ValueType::Bool) return "(cudf[weld_text_to_i64,i64](a) != 0L)";
        return fmt::format("{}(cudf[weld_text_to_i64,i64](a))", weld_name(to));
    }
    if (to == ValueType::Bool) return fmt::format("(a != {}(0))", weld_name(from));
    if (from == ValueType::Bool) return fmt::format("if(a, {0}(1), {0}(0))", weld_name(to));
    return fmt::format("{}(a)", weld_name(to));
}

void Lowering::convert(const GraphNode& n) {
    const Value *in = n.args[0], *out = n.results[0];
    const Type &from = in->type, &to = out->type;
    if (from.is_scalar() && to.is_scalar())
        return define(out, conversion(from.value, to.value), {{"a", in}}, n.loc);
    if (from.is_scalar())
        return define(out, fmt::format("{{[{}], 1L, 1L}}", conversion(from.value, to.value)), {{"a", in}},
                      n.loc);
    if (from.is_sparse && !to.is_sparse && from.value == to.value)
        return define(out, filled_in("{dense(x, rows, columns, T(0)), x.$1, x.$2}", in), {{"x", in}}, n.loc);
    if (from.is_matrix() && to.is_matrix())
        return elementwise(out, {in}, conversion(from.value, to.value), n.loc);
    if (to.is_scalar() && from.is_matrix()) {
        if (!in->rows.is(1) || !in->columns.is(1))
            demand("x.$1 == 1L && x.$2 == 1L", {{"x", in}}, "a single cell is needed here", n.loc);
        return define(out, fmt::format("let a = lookup(x.$0, 0L); {}", conversion(from.value, to.value)),
                      {{"x", in}}, n.loc);
    }
    if (to.is_scalar()) {  // of a frame
        if (from.columns.size() != 1)
            return act("assert(false, \"a single cell is needed here\")", {}, n.loc),
                   define(out,
                          fmt::format("let a = lookup(x.$0.$0, 0L); {}",
                                      conversion(from.columns[0].value, to.value)),
                          {{"x", in}}, n.loc);
        if (!in->rows.is(1)) demand("x.$1 == 1L", {{"x", in}}, "a single cell is needed here", n.loc);
        return define(
            out, fmt::format("let a = lookup(x.$0.$0, 0L); {}", conversion(from.columns[0].value, to.value)),
            {{"x", in}}, n.loc);
    }
    if (from.is_frame()) {  // to a matrix, column by column
        std::string lets, pick;
        const std::size_t count = from.columns.size();
        for (std::size_t i = 0; i < count; ++i) {
            const std::string cell = conversion(from.columns[i].value, to.value);
            const std::string column = fmt::format("x.$0.${}", i);
            lets += fmt::format("let c{} = {}; ", i,
                                cell == "a" ? column : fmt::format("map({}, |a| {})", column, cell));
        }
        if (count == 1) return define(out, fmt::format("{}{{c0, x.$1, 1L}}", lets), {{"x", in}}, n.loc);
        for (std::size_t i = 0; i + 1 < count; ++i) pick += fmt::format("if(j == {0}L, lookup(c{0}, r), ", i);
        pick += fmt::format("lookup(c{}, r)", count - 1) + std::string(count - 1, ')');
        return define(out,
                      fmt::format("{0}{{result(for(rangeiter(0L, x.$1 * {1}L, 1L), appender, |b, i, _| let r "
                                  "= i / {1}L; let j = i % {1}L; merge(b, {2}))), x.$1, {1}L}}",
                                  lets, count, pick),
                      {{"x", in}}, n.loc);
    }
    std::string columns;  // a matrix to a frame
    const std::size_t count = to.columns.size();
    for (std::size_t i = 0; i < count; ++i)
        columns += fmt::format(
            "{}result(for(rangeiter(0L, x.$1, 1L), appender, |b, i, _| merge(b, lookup(x.$0, i * {}L + "
            "{}L))))",
            i ? ", " : "", count, i);
    define(out, fmt::format("{{{{{}}}, x.$1}}", columns), {{"x", in}}, n.loc);
}

}  // namespace weld::daphne
