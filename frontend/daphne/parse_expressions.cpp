// Expressions: recursive descent, one function per form of the grammar (which stands in parse.cpp).
#include "frontend/daphne/literals.h"
#include "frontend/daphne/parse.h"

namespace weld::daphne {

// ---- nodes

Node* Parser::make(Form form, Loc start, Loc loc, const std::vector<Node*>& args) {
    Node* n = script_.arena.make<Node>();
    n->form = form;
    n->start = start;
    n->loc = loc;
    n->args = keep(args);
    for (const Node* a : args) n->height = std::max(n->height, a->height + 1);
    return n;
}

Node* Parser::make(Form form, Loc start, Loc loc, std::initializer_list<Node*> args) {
    return make(form, start, loc, std::vector<Node*>(args));
}

static void add_height(Node* n, const Index& index) {
    for (const Node* part : {index.first, index.last})
        if (part) n->height = std::max(n->height, part->height + 1);
}

Node* Parser::literal(const Literal& value) {
    Node* out = make(Form::Literal, here(), here(), {});
    out->literal = value;
    advance();
    return out;
}

// ---- operators

Node* Parser::expr() {
    const Nesting nesting(*this);
    if (nesting.too_deep) return give_up();
    Node* out = infix(1);
    while (at(kQuestion) && !panic_) {
        const Loc loc = here();
        advance();
        Node* then = expr();
        if (!expect(kColon, "an operator or `:`")) break;
        out = make(Form::Conditional, out->start, loc, {out, then, infix(1)});
    }
    return out;
}

Node* Parser::infix(int level) {
    Node* left = unary();
    while (!panic_) {
        const std::optional<BinaryToken> op = binary_of(current().kind);
        if (!op || op->level < level) break;
        const Loc loc = here();
        advance();
        Loc hint_loc;
        const std::string_view kernel = op->takes_hint ? hint(&hint_loc) : std::string_view();
        left = make(Form::Binary, left->start, loc, {left, infix(op->level + 1)});
        left->op = op->op;
        left->hint = kernel;
        left->hint_loc = hint_loc;
    }
    return left;
}

/// `::kernel`, or nothing.
std::string_view Parser::hint(Loc* loc) {
    if (!accept(kDoubleColon)) return {};
    *loc = here();
    return name("the name of a kernel after `::`");
}

Node* Parser::unary() {
    if (at(kAdd)) return prefixed(Operator::Plus);
    if (at(kSub)) return prefixed(Operator::Minus);
    if (at(kExclamation)) return prefixed(Operator::Not);
    return postfix(leaf());
}

Node* Parser::prefixed(Operator op) {
    const Nesting nesting(*this);
    if (nesting.too_deep) return give_up();
    const Loc loc = here();
    advance();
    Node* out = make(Form::Unary, loc, loc, {unary()});
    out->op = op;
    return out;
}

Node* Parser::postfix(Node* of) {
    while (!panic_) {
        if (at(kLBracket)) of = extract(of);
        else if (at(kLFilter)) of = filter(of);
        else if (at(kLParen))
            return fail_node(
                "unexpected `(`: only names of functions can be called, and only matrix literals have "
                "dimensions behind them");
        else break;
    }
    return of;
}

/// `X[rows, columns]`
Node* Parser::extract(Node* of) {
    const Loc loc = here();
    advance();
    Index rows = index(), columns;
    if (!panic_ && at(kRBracket))
        fail("expected an operator, `:` or `,`, found `]`; rows and columns are both named, as in `X[0, ]`");
    if (expect(kComma, rows.kind == Index::One ? "an operator, `:` or `,`" : "an operator or `,`"))
        columns = index();
    expect(kRBracket, columns.kind == Index::One ? "an operator, `:` or `]`" : "an operator or `]`");
    Node* out = make(Form::Extract, of->start, loc, {of});
    out->rows = rows;
    out->columns = columns;
    add_height(out, rows);
    add_height(out, columns);
    return out;
}

Index Parser::index() {
    Index out;
    if (panic_ || at(kComma) || at(kRBracket)) return out;
    out.kind = Index::One;
    if (!at(kColon)) out.first = expr();
    if (!accept(kColon)) return out;
    out.kind = Index::Range;
    if (!at(kComma) && !at(kRBracket)) out.last = expr();
    return out;
}

/// `X[[rows, columns]]`
Node* Parser::filter(Node* of) {
    const Loc loc = here();
    advance();
    Index rows = bits(), columns;
    if (expect(kComma, "an operator or `,`")) columns = bits();
    expect(kRFilter, "an operator or `]]`");
    Node* out = make(Form::Filter, of->start, loc, {of});
    out->rows = rows;
    out->columns = columns;
    add_height(out, rows);
    add_height(out, columns);
    return out;
}

Index Parser::bits() {
    if (panic_ || at(kComma) || at(kRFilter)) return {};
    return {Index::One, expr(), nullptr};
}

// ---- leaves

Node* Parser::leaf() {
    if (panic_) return fail_node("");
    Literal value;
    if (read_word(current().kind, &value)) return literal(value);
    switch (current().kind) {
        case kNumber: return number();
        case kString: {
            Node* out = make(Form::Literal, here(), here(), {});
            out->literal.value = ValueType::Str;
            out->literal.text = texts_.copy(std::string_view(string()));
            return out;
        }
        case kDollar: return argument();
        case kName: return name_or_call();
        case kAs: return cast();
        case kLParen: return parenthesised();
        case kLBracket: return matrix();
        case kLBrace: return frame();
        case kDot:
            if (ahead(1).kind == kNumber)
                return fail_node("unexpected `.`; a number begins with a digit, as in `0.5`");
            break;
        default: break;
    }
    if (value_type_of(current().kind) || data_type_of(current().kind))
        return fail_node(fmt::format("expected an expression, found the type {}; `as.{}(x)` converts",
                                     found(), text_of(current())));
    return fail_node(fmt::format("expected an expression, found {}", found()));
}

Node* Parser::parenthesised() {
    const Loc start = here();
    advance();
    Node* out = expr();
    expect(kRParen, "an operator or `)`");
    out->start = start;
    return out;
}

Node* Parser::number() {
    Literal value;
    const std::string wrong = read_number(text_of(current()), &value);
    if (!wrong.empty()) diagnostics_.error(here(), "{}", wrong);
    Node* out = literal(value);
    if (at(kDot) && here() == end_of_last())
        fail("unexpected `.`; digits stand on both sides of the `.` of a number, as in `1.0`");
    return out;
}

/// `$name`
Node* Parser::argument() {
    const Loc loc = here();
    advance();
    Node* out = make(Form::Argument, loc, loc, {});
    out->text = name("the name of a script argument after `$`");
    return out;
}

Node* Parser::name_or_call() {
    const Loc start = here();
    const std::string_view name = dotted_name();
    if (!panic_ && (at(kLParen) || at(kDoubleColon))) return call(start, name);
    Node* out = make(Form::Name, start, start, {});
    out->text = name;
    return out;
}

/// `f(a, b, c=d)`, `f::kernel(a)`
Node* Parser::call(Loc start, std::string_view callee) {
    Loc hint_loc;
    const std::string_view kernel = hint(&hint_loc);
    std::vector<Node*> args;
    std::vector<NamedArgument> names;
    bool named = false;
    if (expect(kLParen, "`(` and the arguments")) {
        while (!panic_ && !at(kRParen)) {
            NamedArgument label{{}, here()};
            if (ahead(1).kind == kEquals) {
                label.name = name("the name of a parameter before `=`");
                accept(kEquals);
            } else if (named) {
                diagnostics_.error(here(), "an argument without a name follows one with a name");
            }
            named |= !label.name.empty();
            names.push_back(label);
            args.push_back(expr());
            if (!accept(kComma)) break;
        }
        expect(kRParen, "an operator, `,` or `)`");
    }
    Node* out = make(Form::Call, start, start, args);
    out->text = callee;
    out->hint = kernel;
    out->hint_loc = hint_loc;
    if (named) out->names = keep(names);
    return out;
}

/// `as.matrix<f64>(x)`, `as.matrix(x)`, `as.f64(x)`
Node* Parser::cast() {
    const Loc start = here();
    advance();
    if (!expect(kDot, "`.` and a type after `as`")) return fail_node("");
    CastTarget to;
    const std::optional<DataType> data = data_type_of(current().kind);
    const std::optional<ValueType> value = value_type_of(current().kind);
    if (!data && !value)
        return fail_node(fmt::format(
            "expected `scalar`, `matrix`, `frame` or a type of cells such as `f64`, found {}", found()));
    to = {data.has_value(), value.has_value(), data.value_or(DataType::Scalar),
          value.value_or(ValueType::F64)};
    advance();
    if (data == DataType::Frame && at(kLt))
        fail("the columns of a frame keep their types; convert the matrix before it becomes a frame");
    else if (data) value_type(&to.has_value, &to.value);
    if (!expect(kLParen, "`(`")) return fail_node("");
    Node* of = expr();
    expect(kRParen, "an operator or `)`");
    Node* out = make(Form::Cast, start, start, {of});
    out->cast = to;
    return out;
}

// ---- literals of objects

/// `expr, ... ]`, from behind the `[` on.
std::vector<Node*> Parser::cells(std::string_view of) {
    std::vector<Node*> out;
    if (!panic_ && at(kRBracket)) diagnostics_.error(end_of_last(), "{} needs an element", of);
    else {
        do out.push_back(expr());
        while (accept(kComma));
    }
    expect(kRBracket, "an operator, `,` or `]`");
    return out;
}

/// `[1, 2, 3, 4](2, 2)`
Node* Parser::matrix() {
    const Loc start = here();
    advance();
    Node* out = make(Form::Matrix, start, start, cells("a matrix literal"));
    if (!accept(kLParen)) return out;
    Index rows, columns;
    if (!at(kComma)) rows = {Index::One, expr(), nullptr};
    if (!panic_ && at(kRParen))
        fail("expected an operator or `,`, found `)`; rows and columns have a comma between, as in `(2, )`");
    expect(kComma, "an operator or `,`");
    if (!panic_ && !at(kRParen)) columns = {Index::One, expr(), nullptr};
    expect(kRParen, "an operator or `)`");
    out->rows = rows;
    out->columns = columns;
    add_height(out, rows);
    add_height(out, columns);
    return out;
}

/// `{"a": [1, 2], "b": [3, 4]}`
Node* Parser::frame() {
    const Loc start = here();
    advance();
    ++activations_;
    if (at(kLBracket)) return frame_rows(start);
    std::vector<Node*> args;
    if (!at(kRBrace)) {
        do {
            args.push_back(expr());
            if (expect(kColon, "an operator or `:` after the label of a column")) args.push_back(expr());
        } while (accept(kComma));
    }
    activations_ -= expect(kRBrace, "an operator, `,` or `}`");
    return make(Form::Frame, start, start, args);
}

/// `{["a", "b"], [1, 3], [2, 4]}`
Node* Parser::frame_rows(Loc start) {
    std::vector<Node*> rows;
    do {
        const Loc row = here();
        if (expect(kLBracket, "`[` and a row of the frame"))
            rows.push_back(make(Form::Row, row, row, cells("a row of a frame")));
    } while (accept(kComma));
    activations_ -= expect(kRBrace, "`,` or `}`");
    return make(Form::FrameRows, start, start, rows);
}

}  // namespace weld::daphne
