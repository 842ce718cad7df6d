// Programs: tokens, going on after errors, and the items before the expression. The whole grammar, of which
// parse_expressions.cpp and parse_types.cpp have their parts:
//
//   program  := (alias | macro | definition)* expr
//   expr     := ('let' name [':' type] '=' expr ';')* (function | infix)
//   function := '|' parameters '|' expr
//   infix    := the levels of ops.def, over: ascribed := unary (':' type)*
//   unary    := ('-' | '!' | '~') unary | postfix
//   postfix  := leaf ('.' '$'n | '(' expr, ... ')')*
#include "frontend/weld/parse.h"

#include <algorithm>
#include <unordered_set>

namespace weld::front {

void measure(Node* n) {
    const bool infix = is_infix(n);
    n->height = 1;
    n->operators = infix;
    n->has_bound = false;
    for (std::size_t i = 0; i < n->args.size(); ++i) {
        const Node* a = n->args[i];
        if (!a) continue;
        const bool joint = infix && is_infix(a) && !is_lazy_operand(n, i);  // one expression with `n`
        const bool bound = joint && is_bound(a);
        n->height = std::max(n->height, bound ? 2 : a->height + 1);
        if (!joint) continue;
        n->operators += bound ? 0 : a->operators;
        n->has_bound |= bound || a->has_bound;
    }
}

Parser::Parser(Reader& reader, Loc text, bool internal)
    : reader_(reader),
      diagnostics_(reader.diagnostics),
      program_(reader.program),
      base_(text),
      text_(reader.module.sources.text(text)),
      internal_(internal),
      tokens_(lex(reader.module.sources, text, language(), reader.diagnostics)) {}

// ---- tokens

bool Parser::accept(int kind) {
    if (panic_ || !at(kind)) return false;
    advance();
    return true;
}

std::string Parser::found() const {
    if (at(kEnd)) return "the end of the program";
    const std::string_view text = text_of(current());
    if (text.size() <= 40) return fmt::format("`{}`", text);
    return at(kString) ? "a string" : fmt::format("`{}…`", text.substr(0, 40));
}

Diagnostic& Parser::fail(std::string message) {
    panic_ = true;
    if (at(kBad)) return said_already_ = {};
    return diagnostics_.error(current().loc, "{}", message);
}

Node* Parser::fail_node(std::string message) {
    if (!panic_) fail(std::move(message));
    return make(Form::Error, current().loc, current().loc, {});
}

bool Parser::expect(int kind, std::string_view what) {
    if (accept(kind)) return true;
    if (!panic_) fail(fmt::format("expected {}, found {}", what, found()));
    return false;
}

bool Parser::is_word(const Token& t) const {
    const char c = t.kind == kEnd ? '\0' : text_of(t)[0];
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

// ---- going on after an error

bool Parser::skip_to(int stop, int other_stop) {
    for (int open = 0;; advance()) {
        const int kind = current().kind;
        if (open == 0 && (kind == stop || kind == other_stop)) return true;
        if (kind == kEnd) return false;
        if (kind == kLParen || kind == kLBracket || kind == kLBrace) ++open;
        const bool closes = kind == kRParen || kind == kRBracket || kind == kRBrace;
        if (open == 0 && (closes || kind == kSemicolon)) return false;
        open -= closes;
    }
}

bool Parser::recover(int stop, int other_stop) {
    if (!panic_) return true;
    if (gave_up_ || !skip_to(stop, other_stop)) return false;
    panic_ = false;
    return true;
}

// ---- depth

Parser::Nesting::Nesting(Parser& p) : parser(p), too_deep(++p.depth_ > kMaxNesting) {}

Node* Parser::give_up(Loc loc, std::uint32_t limit) {
    if (!gave_up_ && !panic_)
        diagnostics_.error(loc, "the program is nested too deeply here; at most {} levels are possible",
                           limit);
    gave_up_ = panic_ = true;
    at_ = tokens_.size() - 1;
    return make(Form::Error, loc, loc, {});
}

// ---- nodes

std::span<Node*> Parser::keep(std::span<Node* const> nodes) { return reader_.arena.copy(nodes); }
std::span<Binding> Parser::keep(std::span<const Binding> bindings) { return reader_.arena.copy(bindings); }

Node* Parser::make(Form form, Loc start, Loc loc, std::span<Node* const> args) {
    Node* n = reader_.arena.make<Node>();
    n->form = form;
    n->start = start;
    n->loc = loc;
    n->args = keep(args);
    ++program_.num_nodes;
    return finish(n);
}

Node* Parser::make_op(Op op, Loc start, Loc loc, std::span<Node* const> args) {
    Node* n = make(Form::Op, start, loc, args);
    n->op = op;
    return finish(n);
}

Node* Parser::finish(Node* n) {
    measure(n);
    return n->height > kMaxHeight && n->form != Form::Error ? give_up(n->start, kMaxHeight) : n;
}

// ---- items

bool Parser::at_definition() const {
    const std::size_t n = behind_annotations();
    return ahead(n).kind == kName && text_of(ahead(n)) == "def" && ahead(n + 1).kind == kName &&
           ahead(n + 2).kind == kLParen;
}

/// How many tokens the annotations have that begin here.
std::size_t Parser::behind_annotations() const {
    std::size_t n = 0;
    while (ahead(n).kind == kAt) {
        int open = 0;
        for (++n; ahead(n).kind != kEnd; ++n) {
            open += (ahead(n).kind == kLParen) - (ahead(n).kind == kRParen);
            if (open == 0) break;
        }
        n += ahead(n).kind == kRParen;
    }
    return n;
}

void Parser::program() {
    if (at(kEnd)) {
        if (!internal_ && !diagnostics_.has_errors())
            diagnostics_.error(current().loc, "the program is empty; it needs an expression");
        return;
    }
    for (bool item = true; item && !gave_up_;) {
        if (at(kTypeWord)) alias();
        else if (at(kMacro)) macro();
        else if (at_definition()) definition();
        else item = false;
        if (recover(kSemicolon, kSemicolon) && item) accept(kSemicolon);
        else if (panic_) break;  // `;` may be missing; the expression can be read all the same
    }
    if (internal_) return;
    if (at(kEnd) && diagnostics_.has_errors()) return;
    expression();
}

void Parser::expression() {
    program_.main = expr();
    if (panic_ || at(kEnd)) return;
    Diagnostic& d = fail(fmt::format("expected the end of the program, found {}", found()));
    if (at(kSemicolon)) d.note("a program is one expression; no `;` follows it");
}

/// `type name = T;` The name is known from here on, so an alias cannot mean itself.
void Parser::alias() {
    const Loc start = current().loc;
    if (!program_.macros.empty() && !program_.macros.back()->internal)
        diagnostics_.error(start, "type aliases come before macros and the expression");
    advance();
    const std::string_view name = text_of(current());
    if (!expect(kName, "a name for the type") || !expect(kEquals, "`=`")) return;
    const TypeNode* means = type();
    if (!panic_) program_.aliases.insert_or_assign(name, means);
    if (!panic_ && !at(kSemicolon)) expect(kSemicolon, "`;` after the type");
}

/// `macro name(a, b) = expr;`
void Parser::macro() {
    advance();
    auto made = std::make_unique<Macro>();
    made->name = text_of(current());
    made->loc = current().loc;
    made->internal = internal_;
    if (!expect(kName, "a name for the macro")) return;
    const std::vector<Binding> params = names_in_parentheses("a parameter of the macro");
    check_distinct(params);
    made->params = keep(params);
    if (!expect(kEquals, "`=`")) return;
    made->body = expr();
    if (auto [other, added] = program_.macro_of.emplace(made->name, made.get()); !added)
        diagnostics_
            .error(made->loc, "macro `{}` is defined already{}", made->name,
                   other->second->internal ? "; it is one of the standard macros" : "")
            .label(other->second->loc, "here");
    program_.macros.push_back(std::move(made));
    if (!panic_ && !at(kSemicolon)) expect(kSemicolon, "`;` after the macro");
}

/// `def name(x: T, ...): R = expr;`
void Parser::definition() {
    std::vector<Annotation> annotated;
    while (at(kAt) && !panic_) annotations(annotated);
    if (panic_) return;
    advance();
    auto made = std::make_unique<Definition>();
    made->name = text_of(current());
    made->loc = current().loc;
    advance();
    advance();
    const std::vector<Binding> params = parameters(kRParen);
    for (const Binding& p : params)
        if (!p.type && !panic_) diagnostics_.error(p.loc, "the parameters of a `def` need types");
    if (!expect(kRParen, "`)`") || !expect(kColon, "`:` and the type of the result")) return;
    made->result = type();
    std::vector<std::string_view> names;
    for (const Binding& p : params) names.push_back(p.name);
    made->holds = holds(annotated, names, "result");
    if (!expect(kEquals, "`=`")) return;
    Node* body = expr();
    made->lambda = make_op(Op::Lambda, made->loc, made->loc, {&body, 1});
    if (made->lambda->form == Form::Error) return;
    made->lambda->bindings = keep(params);
    if (auto [other, added] = program_.definition_of.emplace(made->name, made.get()); !added)
        diagnostics_.error(made->loc, "function `{}` is defined already", made->name)
            .label(other->second->loc, "here");
    program_.definitions.push_back(std::move(made));
    if (!panic_ && !at(kSemicolon)) expect(kSemicolon, "`;` after the function");
}

std::vector<Binding> Parser::names_in_parentheses(std::string_view what) {
    std::vector<Binding> out;
    if (!expect(kLParen, "`(`")) return out;
    while (!panic_ && !at(kRParen)) {
        out.push_back({.name = text_of(current()), .loc = current().loc});
        if (!expect(kName, what) || !accept(kComma)) break;
    }
    expect(kRParen, "`,` or `)`");
    return out;
}

/// `name [':' type]`; nothing in a panic.
std::optional<Binding> Parser::parameter(std::string_view what) {
    std::vector<Annotation> annotated;
    while (at(kAt) && !panic_) annotations(annotated);
    Binding b = {.name = text_of(current()), .loc = current().loc};
    if (!expect(kName, what)) return std::nullopt;
    b.holds = holds(annotated, {}, b.name);
    if (accept(kColon)) b.type = type();
    return panic_ ? std::nullopt : std::optional(b);
}

std::vector<Binding> Parser::parameters(int close) {
    std::vector<Binding> out;
    while (!panic_ && !at(close)) {
        if (std::optional<Binding> b = parameter("the name of a parameter")) out.push_back(*b);
        if (!accept(kComma)) break;
    }
    check_distinct(out);
    return out;
}

void Parser::check_distinct(std::span<const Binding> bindings) {
    std::unordered_set<std::string_view> seen;
    for (const Binding& b : bindings)
        if (!seen.insert(b.name).second)
            diagnostics_.error(b.loc, "there is a parameter `{}` already; parameters have different names",
                               b.name);
}

void parse(Reader& reader, Loc text, bool internal) { Parser(reader, text, internal).program(); }
void parse_expression(Reader& reader, Loc text) { Parser(reader, text, true).expression(); }
const TypeNode* parse_type(Reader& reader, Loc text) { return Parser(reader, text, false).whole_type(); }

}  // namespace weld::front
