// Expressions: names, casts, operators.
#include <algorithm>
#include <cmath>

#include "frontend/daphne/check.h"
#include "frontend/daphne/check_types.h"
#include "frontend/daphne/fold.h"
#include "frontend/daphne/hints.h"
#include "frontend/daphne/represent.h"

namespace weld::daphne {

// ---- making nodes

Loc Checker::shown(Loc loc) const { return file_->call && loc >= file_->text ? file_->call : loc; }

GraphNode* Checker::emit(GraphNode::Kind kind, Loc loc, std::vector<Value*> args) {
    GraphNode* node = make_node(kind, loc);
    node->args = std::move(args);
    body_->nodes.push_back(node);
    return node;
}

Value* Checker::give(GraphNode* node, const Type& type, Dim rows, Dim columns) {
    Value* v = graph_.value(type);
    v->rows = rows, v->columns = columns;
    v->maker = node;
    node->results.push_back(v);
    return v;
}

Value* Checker::constant(const Constant& c, Loc loc) {
    Value* v = give(emit(GraphNode::Constant, loc, {}), Type::scalar(c.value));
    v->constant = c;
    return v;
}

/// The text of a single cell of a literal, at a known place: labels and names of files may stand there.
/// (Numbers are left to the run, which may fail with them.)
static std::optional<Constant> known_text_of(const Value* v) {
    const GraphNode* n = v->maker;
    if (!v->type.is_matrix() || v->type.value != ValueType::Str || !n) return {};
    std::int64_t row = 0, column = 0;
    if (n->kind == GraphNode::Extract) {
        const Value* of = n->args[0];
        auto number = [&](const GraphNode::Subscript& p, Dim all, std::int64_t* at) {
            if (p.kind == Index::All) return all.is(1);
            if (p.kind != Index::One) return false;
            const Value* one = n->args[std::size_t(p.first)];
            if (!one->constant || !is_integer(one->constant->value)) return false;
            *at = one->constant->integer + (one->constant->integer < 0 ? all.number : 0);
            return *at >= 0 && *at < all.number;
        };
        if (!of->rows.known() || !of->columns.known() || !number(n->rows, of->rows, &row) ||
            !number(n->columns, of->columns, &column))
            return {};
        row *= of->columns.number;
        n = of->maker;
    }
    if (!n || n->kind != GraphNode::Matrix || std::size_t(row + column) >= n->cells) return {};
    if (n->cells > 1 && n == v->maker) return {};
    return n->args[std::size_t(row + column)]->constant;
}

Value* Checker::convert(Value* v, const Type& to, Loc loc) {
    if (!v) return nullptr;
    if (v->type == to) return v;
    if (v->constant && to.is_scalar())
        if (const auto c = daphne::convert(*v->constant, to.value)) return constant(*c, loc);
    if (const auto text = to.is_string() ? known_text_of(v) : std::nullopt) return constant(*text, loc);
    const bool whole = v->type.is_scalar() || v->type.is_list();
    const Dim one{1, 0};
    if (to.is_scalar() && !whole && (differ(v->rows, one) || differ(v->columns, one)))
        violated(loc, "a single cell is needed here; this is {}", shape(v));
    GraphNode* node = emit(GraphNode::Convert, loc, {v});
    if (to.is_scalar()) return give(node, to);
    if (v->type.is_scalar()) return give(node, to, one, one);
    Value* out = give(node, to, v->rows, v->columns);
    out->sparsity = v->sparsity;
    out->symmetric = v->symmetric;
    return out;
}

Value* Checker::to_value_type(Value* v, ValueType to, Loc loc) {
    if (!v) return nullptr;
    Type type = v->type;
    type.value = to;
    return convert(v, type, loc);
}

Dim Checker::dim_of(const Value* v) {
    if (v && v->constant && v->constant->integer >= 0) return {v->constant->integer, 0};
    return graph_.fresh_dim();
}

Dim Checker::product(Dim a, Dim b) {
    if (a.is(0) || b.is(0)) return {0, 0};
    if (a.is(1)) return b;
    if (b.is(1)) return a;
    std::int64_t n;
    if (a.known() && b.known() && !__builtin_mul_overflow(a.number, b.number, &n)) return {n, 0};
    return graph_.fresh_dim();
}

Dim Checker::sum(Dim a, Dim b) {
    std::int64_t n;
    if (a.known() && b.known() && !__builtin_add_overflow(a.number, b.number, &n)) return {n, 0};
    if (a.is(0)) return b;
    if (b.is(0)) return a;
    return graph_.fresh_dim();
}

void Checker::broadcast(const std::vector<Value*>& operands, Loc loc, bool* any_matrix, Dim* rows,
                        Dim* columns) {
    *any_matrix = false;
    const Value* first = nullptr;
    auto fit = [&](Dim* all, Dim one, const Value* v) {
        if (*all == one || one.is(1)) return;
        if (all->is(1)) *all = one;
        else if (differ(*all, one))
            violated(loc, "the shapes {} and {} do not fit together", shape(first), shape(v));
        else if (one.known()) *all = one;
        else if (!all->known()) *all = graph_.fresh_dim();
    };
    for (Value* v : operands) {
        if (v->type.is_scalar()) continue;
        if (!std::exchange(*any_matrix, true)) {
            *rows = v->rows, *columns = v->columns;
            first = v;
            continue;
        }
        fit(rows, v->rows, v);
        fit(columns, v->columns, v);
    }
}

// ---- leaves

Value* Checker::expression(const Node* n) {
    if (Value* known = answer(n->start)) return known;
    const std::vector<Value*> all = results(n);
    if (all.size() == 1) return all[0];
    if (all.empty()) return error(n->start, "this has no value");
    return error(n->start, "this has {} values, where one is needed", all.size());
}

static Constant constant_of(const Literal& l) {
    Constant c{.value = l.value, .integer = 0, .number = 0, .text = {}};
    if (l.value == ValueType::Str) c.text = l.text;
    else if (is_float(l.value)) c.number = l.number;
    else c.integer = l.integer;
    return c;
}

std::vector<Value*> Checker::results(const Node* n) {
    switch (n->form) {
        case Form::Literal: return {constant(constant_of(n->literal), n->start)};
        case Form::Argument: return {argument(n)};
        case Form::Name: return {name(n)};
        case Form::Call:
            if (const auto known = answers_of_call(n)) return *known;
            return call(n);
        case Form::Cast: return {cast(n)};
        case Form::Matrix: return {literal_matrix(n)};
        case Form::Frame: return {literal_frame(n)};
        case Form::FrameRows: return {literal_frame_of_rows(n)};
        case Form::Extract: return {extract(n)};
        case Form::Filter: return {filter(n)};
        case Form::Unary: return {unary(n)};
        case Form::Binary: return {binary_chain(n)};
        case Form::Conditional: return {conditional(n)};
        case Form::Row:
        case Form::Error: return {nullptr};
    }
    return {nullptr};
}

Value* Checker::argument(const Node* n) {
    for (const ScriptArgument& a : inputs_.arguments)
        if (a.name == n->text) return constant(constant_of(a.value), n->start);
    return error(n->start, "the script needs an argument `{}`, given after the file as `{}=VALUE`", n->text,
                 n->text);
}

Value* Checker::name(const Node* n) {
    if (const Names::Variable* v = names_.find(n->text)) return v->value;
    if (!definitions_of(n->text).empty() || find_builtin(n->text))
        return error(n->start, "`{}` is a function; call it with its arguments", n->text);
    return error(n->start, "unknown variable `{}`", n->text);
}

// ---- casts

Value* Checker::cast(const Node* n) {
    const CastTarget& to = n->cast;
    const bool is_cells = to.has_data && to.data != DataType::Frame && n->args[0]->form == Form::Extract;
    Value* v = is_cells ? extract(n->args[0], true) : expression(n->args[0]);
    if (!v) return nullptr;
    Type type = v->type;
    if (to.has_data) type.data = to.data;
    if (to.has_value) type.value = to.value;
    if (v->type.is_list() || type.is_list()) return error(n->start, "lists cannot be converted");
    if (v->type.is_frame() && type.is_frame()) {
        if (to.has_value)
            return error(n->start, "the columns of a frame keep their types; convert them one by one");
        return v;
    }
    if (v->type.is_frame() && !to.has_value) {
        if (v->type.columns.empty()) return error(n->start, "the frame has no columns");
        type.value = v->type.columns[0].value;
    }
    if (type.is_frame()) {
        if (to.has_value)
            return error(n->start, "`as.frame` keeps the type of the cells; convert these before");
        Value* matrix = v->type.is_scalar() ? convert(v, Type::matrix(v->type.value), n->start) : v;
        if (!matrix->columns.known())
            return unknown(n->start, "how many columns the matrix has must be known before the run");
        for (std::int64_t i = 0; i < matrix->columns.number; ++i)
            type.columns.push_back({"col_" + std::to_string(i), v->type.value});
        type.value = ValueType::F64;
        return give(emit(GraphNode::Convert, n->start, {matrix}), type, matrix->rows, matrix->columns);
    }
    type.columns.clear();
    return convert(v, type, n->start);
}

// ---- operators

Value* Checker::unary(const Node* n) {
    Value* v = expression(n->args[0]);
    if (!v) return nullptr;
    if (v->type.is_frame() || v->type.is_list() || v->type.value == ValueType::Str)
        return error(n->start, "`{}` takes numbers, found {}", text_of(n->op), str(v->type));
    if (n->op == Operator::Plus) return v;
    if (n->op == Operator::Not) {
        if (v->constant)
            return constant(
                integer_constant(!daphne::convert(*v->constant, ValueType::Bool)->integer, ValueType::Bool),
                n->start);
        GraphNode* node = emit(GraphNode::Operator, n->start, {v});
        node->op = Operator::Not;
        return give(node, {.data = v->type.data, .value = ValueType::Bool}, v->rows, v->columns);
    }
    if (v->type.value == ValueType::Bool) v = to_value_type(v, ValueType::Si64, n->start);
    if (v->constant) {
        Constant c = *v->constant;
        if (is_float(c.value)) c.number = -c.number;
        else c = *fold(Operator::Sub, integer_constant(0, c.value), c, c.value);
        return constant(c, n->start);
    }
    GraphNode* node = emit(GraphNode::Operator, n->start, {v});
    node->op = Operator::Minus;
    Value* out = give(node, v->type, v->rows, v->columns);
    out->sparsity = v->sparsity;
    out->symmetric = v->symmetric;
    return out;
}

/// Long chains of operators lean to the left: it goes down these in a loop.
Value* Checker::binary_chain(const Node* n) {
    std::vector<const Node*> chain;
    for (; n->form == Form::Binary; n = n->args[0]) chain.push_back(n);
    Value* left = expression(n);
    for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
        Value* right = expression((*at)->args[1]);
        if (!(*at)->hint.empty()) check_hint(*at, operation_of((*at)->op), text_of((*at)->op));
        left = left && right ? operate((*at)->op, left, right, (*at)->loc) : nullptr;
    }
    return left;
}

static bool is_logical(Operator op) { return op == Operator::And || op == Operator::Or; }

Value* Checker::product_of(Value* a, Value* b, Loc loc) {
    if (!a->type.is_matrix() || !b->type.is_matrix() || a->type.value == ValueType::Str ||
        b->type.value == ValueType::Str)
        return error(loc, "`@` takes two matrices of numbers, found {} and {}", str(a->type), str(b->type));
    if (differ(a->columns, b->rows))
        violated(loc, "`@` needs as many columns on its left as rows on its right, found {} and {}", shape(a),
                 shape(b));
    ValueType value = std::max(a->type.value, b->type.value);
    if (value == ValueType::Bool) value = ValueType::Si64;
    a = to_value_type(a, value, loc);
    b = to_value_type(b, value, loc);
    GraphNode* node = emit(GraphNode::Operator, loc, {a, b});
    node->op = Operator::MatMul;
    return give(node, Type::matrix(value), a->rows, b->columns);
}

Value* Checker::operate(Operator op, Value* a, Value* b, Loc loc) {
    if (op == Operator::MatMul) return product_of(a, b, loc);
    for (const Value* v : {a, b})
        if (v->type.is_frame() || v->type.is_list())
            return error(loc, "`{}` takes scalars and matrices, found {}", text_of(op), str(v->type));
    ValueType operand = std::max(a->type.value, b->type.value), result = operand;
    if (operand == ValueType::Str) {
        if (op != Operator::Add && !is_comparison(op))
            return error(loc, "`{}` takes numbers, found {} and {}", text_of(op), str(a->type), str(b->type));
        if (is_comparison(op) && a->type.value != b->type.value)
            return error(loc, "`{}` cannot compare {} and {}", text_of(op), str(a->type), str(b->type));
        if (is_comparison(op)) result = ValueType::Si64;
    } else if (is_logical(op)) {
        if (is_float(operand)) result = ValueType::Ui64;
        operand = ValueType::Bool;
    } else if (operand == ValueType::Bool && !is_comparison(op)) {
        operand = result = ValueType::Si64;
    }
    a = to_value_type(a, operand, loc);
    b = to_value_type(b, operand, loc);
    if (a->constant && b->constant) {
        if (const auto c = fold(op, *a->constant, *b->constant, result)) return constant(*c, loc);
        const bool divides = (op == Operator::Div || op == Operator::Mod) && is_integer(operand);
        if (divides && b->constant->integer == 0) violated(loc, "division by zero");
    }
    bool is_matrix = false;
    Dim rows, columns;
    broadcast({a, b}, loc, &is_matrix, &rows, &columns);
    GraphNode* node = emit(GraphNode::Operator, loc, {a, b});
    node->op = op;
    const DataType data = is_matrix ? DataType::Matrix : DataType::Scalar;
    Value* out = give(node, {.data = data, .value = result}, rows, columns);
    if (is_matrix) out->sparsity = kept_sparsity(*node);
    return out;
}

Value* Checker::conditional(const Node* n) {
    if (Value* known = answer(n->loc)) return known;
    Value* c = answer(n->loc, "?");
    if (!c) c = expression(n->args[0]);
    if (!c) return expression(n->args[1]), expression(n->args[2]), nullptr;
    if (c->type.is_frame() || c->type.is_list() || c->type.value == ValueType::Str)
        return error(n->args[0]->start, "a condition is a number or a truth value, found {}", str(c->type));
    if (c->type.is_matrix()) {
        Value* then = expression(n->args[1]);
        Value* otherwise = expression(n->args[2]);
        if (!then || !otherwise) return nullptr;
        for (int i = 1; i <= 2; ++i) {
            const Value* v = i == 1 ? then : otherwise;
            if (v->type.is_frame() || v->type.is_list())
                return error(n->args[std::size_t(i)]->start, "a scalar or a matrix is needed here, found {}",
                             str(v->type));
            if (v->type.is_matrix() && (differ(v->rows, c->rows) || differ(v->columns, c->columns)))
                violated(n->args[std::size_t(i)]->start,
                         "this is {}, the condition {}; they have the same shape", shape(v), shape(c));
        }
        if (then->type.value != otherwise->type.value)
            return error(n->loc, "both sides of `?:` have the same type, found {} and {}", str(then->type),
                         str(otherwise->type));
        c = to_value_type(c, ValueType::Bool, n->args[0]->start);
        return give(emit(GraphNode::Select, n->loc, {c, then, otherwise}), Type::matrix(then->type.value),
                    c->rows, c->columns);
    }
    c = to_scalar(c, ValueType::Bool, n->args[0]->start);
    GraphNode* node = make_node(GraphNode::If, n->loc);
    node->args = {c};
    node->bodies.resize(2);
    Value* sides[2];
    bool is_needless = false;  // the other side, which may have to know more than can be known
    check_sides(node, [&](std::size_t side) {
        const Mark before = mark();
        const bool is_taken = !c->constant || (c->constant->integer != 0) == (side == 0);
        if (!is_taken) needs_value_ = false;
        sides[side] = expression(n->args[side + 1]);
        if (is_taken) return;
        if (needs_value_) undo(before), is_needless = true;
        needs_value_ |= before.needs_value;
    });
    if (is_needless) {
        const std::size_t taken = c->constant->integer != 0 ? 0 : 1;
        const auto& nodes = node->bodies[taken].nodes;
        body_->nodes.insert(body_->nodes.end(), nodes.begin(), nodes.end());
        return sides[taken];
    }
    body_->nodes.push_back(node);
    if (!sides[0] || !sides[1]) return nullptr;
    if (!have_same_cells(sides[0]->type, sides[1]->type))
        return error(n->loc, "both sides of `?:` have the same type, found {} and {}",
                     str_of_cells(sides[0]->type), str_of_cells(sides[1]->type));
    Value* joined = join(c, sides[0], sides[1], n->loc, "this");
    if (!joined) return nullptr;
    return give_either(node, sides[0], sides[1], taken(c, sides[0], sides[1], joined));
}

}  // namespace weld::daphne
