// Statements: tokens, going on after errors, and all that is no expression. The whole grammar, of which
// parse_expressions.cpp has its part:
//
//   script     := statement*
//   statement  := '{' statement* '}' [';'] | expr ';' | target (',' target)* '=' expr ';'
//               | 'if' '(' expr ')' statement ['else' statement] | 'while' '(' expr ')' statement
//               | 'do' statement 'while' '(' expr ')' [';'] | 'for' '(' name 'in' expr ':' expr [':' expr]
//               ')' statement | 'return' [expr (',' expr)*] ';' | 'import' string ['as' string] ';' | 'def'
//               name '(' [name [':' type] , ...] ')' ['->' type (',' type)*] '{' statement* '}' [';']
//   expr       := infix ('?' expr ':' infix)*
//   infix      := the levels of tokens.def, over: unary := ('+' | '-' | '!') unary | postfix
//   postfix    := leaf ('[' index ',' index ']' | '[[' [expr] ',' [expr] ']]')*
//   index      := [expr] | [expr] ':' [expr]
//   leaf       := literal | '$' name | name | name ['::' name] '(' [[name '='] expr , ...] ')' | '(' expr ')'
//               | 'as' '.' type '(' expr ')' | '[' expr, ... ']' ['(' [expr] ',' [expr] ')']
//               | '{' expr ':' expr, ... '}' | '{' row, ... '}'
#include "frontend/daphne/parse.h"

#include <algorithm>
#include <unordered_set>

#include "frontend/daphne/literals.h"

namespace weld::daphne {

Parser::Parser(const Sources& sources, Loc text, Arena& texts, Diagnostics& diagnostics, Script& script)
    : texts_(texts),
      diagnostics_(diagnostics),
      script_(script),
      base_(text),
      text_(sources.text(text)),
      tokens_(lex(sources, text, language(), diagnostics)) {}

// ---- tokens

Loc Parser::end_of_last() const {
    if (at_ == 0) return base_;
    const Token& last = tokens_[at_ - 1];
    return {last.loc.offset + last.length};
}

bool Parser::accept(int kind) {
    if (panic_ || !at(kind)) return false;
    advance();
    return true;
}

std::string Parser::found() const {
    if (at(kEnd)) return "the end of the script";
    const std::string_view text = text_of(current());
    if (at(kString) && text.size() > 40) return "a string";
    return fmt::format("`{}`", text.substr(0, 40));
}

Diagnostic& Parser::fail(std::string message) {
    if (panic_ || at(kBad)) {
        panic_ = true;
        return said_already_ = {};
    }
    panic_ = true;
    Diagnostic& d = diagnostics_.error(here(), "{}", message);
    if (at(kLFilter))
        d.note("`[[` is one token, which begins a bit vector; two brackets have a blank between");
    if (at(kRFilter)) d.note("`]]` is one token, which ends a bit vector; two brackets have a blank between");
    return d;
}

Node* Parser::fail_node(std::string message) {
    fail(std::move(message));
    return make(Form::Error, here(), here(), {});
}

bool Parser::expect(int kind, std::string_view what) {
    if (accept(kind)) return true;
    fail(fmt::format("expected {}, found {}", what, found()));
    return false;
}

std::string_view Parser::name(std::string_view what) {
    const Token token = current();
    if (!panic_ && is_reserved_word(token.kind)) {
        fail(fmt::format("`{}` is a reserved word and cannot be a name", text_of(token)));
        advance();  // it begins no statement
    }
    return expect(kName, what) ? text_of(token) : std::string_view();
}

std::string_view Parser::dotted_name() {
    const Loc start = here();
    std::string joined(text_of(current()));
    advance();
    while (accept(kDot)) (joined += '.') += name("a name after `.`");
    const std::string_view written =
        text_.substr(start.offset - base_.offset, end_of_last().offset - start.offset);
    return written == joined ? written : texts_.copy(std::string_view(joined));
}

std::string Parser::string() {
    std::size_t bad;
    const Loc start = here();
    std::string out = read_string(text_of(current()), &bad);
    if (bad != std::string::npos)
        diagnostics_.error({start.offset + std::uint32_t(bad)},
                           "unknown escape in a string; there are `\\b \\f \\n \\r \\t \\\" \\\\`");
    advance();
    return out;
}

// ---- going on after an error

static bool begins_statement(std::uint8_t kind) {
    return kind == kIf || kind == kWhile || kind == kDo || kind == kFor || kind == kDef || kind == kReturn ||
           kind == kImport;
}

/// Goes on behind the next `;` that is in no deeper block, or at a word that begins a statement, or before
/// the `}` of this block.
void Parser::recover() {
    if (gave_up_) return;
    panic_ = false;
    for (int open = 0, frames = std::exchange(activations_, 0); !at(kEnd); advance()) {
        if (at(kRBrace) && open == 0 && frames > 0) {
            --frames;
            continue;
        }
        if (open == 0 && (at(kRBrace) || begins_statement(current().kind))) return;
        if (open == 0 && accept(kSemicolon)) return;
        open += at(kLBrace);
        open -= at(kRBrace);
        const std::uint8_t next = ahead(1).kind;
        if (at(kRBrace) && open == 0 && (next == kName || next == kEnd)) return advance();
    }
}

/// The `;`. Where only that is missing, at the end of a line, the next line is read as if it were there.
void Parser::end_of_statement() {
    if (panic_ || accept(kSemicolon) || (at(kEnd) && script_.is_entry)) return;
    const Loc last = end_of_last();
    const std::string_view between = text_.substr(last.offset - base_.offset, here().offset - last.offset);
    const bool can_go_on = at(kName) || at(kRBrace) || at(kEnd) || begins_statement(current().kind);
    if (!can_go_on || (between.find('\n') == between.npos && !at(kEnd)))
        fail(fmt::format("expected an operator or `;`, found {}", found()));
    else diagnostics_.error(last, "expected an operator or `;` at the end of this statement");
}

// ---- depth

Node* Parser::give_up() {
    if (!gave_up_ && !panic_)
        diagnostics_.error(here(), "the script is nested too deeply here; at most {} levels are possible",
                           kMaxNesting);
    gave_up_ = panic_ = true;
    at_ = tokens_.size() - 1;
    return make(Form::Error, here(), here(), {});
}

// ---- statements

Statement* Parser::make(Statement::Kind kind, Loc loc) {
    Statement* s = script_.arena.make<Statement>();
    s->kind = kind;
    s->loc = loc;
    return s;
}

void Parser::script() {
    std::vector<Statement*> all;
    for (;;) {
        const Statements some = statements();
        all.insert(all.end(), some.begin(), some.end());
        if (at(kEnd)) break;
        diagnostics_.error(here(), "unexpected `}}`; no block is open here");
        advance();
    }
    script_.statements = keep(all);
}

Statements Parser::statements() {
    std::vector<Statement*> out;
    bool unreachable = false;
    while (!at(kRBrace) && !at(kEnd)) {
        const Loc start = here();
        if (!out.empty() && out.back()->kind == Statement::Return && !unreachable) {
            diagnostics_.warning(start, "what follows `return` never runs");
            unreachable = true;
        }
        Statement* s = statement();
        if (panic_) recover();
        else if (!unreachable) out.push_back(s);
    }
    return keep(out);
}

Statement* Parser::statement() {
    const Nesting nesting(*this);
    if (nesting.too_deep) return give_up(), nullptr;
    if (is_reserved_word(current().kind) && ahead(1).kind == kEquals) return name(""), nullptr;
    switch (current().kind) {
        case kLBrace: return at_frame() ? expression_or_assignment() : block();
        case kIf: return if_statement();
        case kWhile: return while_statement();
        case kDo: return do_statement();
        case kFor: return for_statement();
        case kDef: return define();
        case kReturn: return return_statement();
        case kImport: return import();
        case kSemicolon: fail("expected a statement, found `;`; there is no empty statement"); break;
        case kElse: fail("an `else` without its `if`"); break;
        default: return expression_or_assignment();
    }
    return nullptr;
}

Statements Parser::one_statement() {
    ++inside_;
    Statement* s = statement();
    if (panic_) recover();
    --inside_;
    return s && !gave_up_ ? keep(std::vector<Statement*>{s}) : Statements();
}

/// `{ statement* }`
Statements Parser::in_braces() {
    const Loc open = here();
    if (!expect(kLBrace, "`{`")) return {};
    const Statements out = statements();
    if (!accept(kRBrace) && !panic_)
        fail("expected `}`, found the end of the script").label(open, "opened here");
    return out;
}

Statement* Parser::block() {
    Statement* out = make(Statement::Braces, here());
    ++inside_;
    out->body = in_braces();
    --inside_;
    accept(kSemicolon);
    return out;
}

/// Is the `{` here, where a statement begins, one of a frame literal? That has a `:` of its own, or rows in
/// brackets.
bool Parser::at_frame() const {
    const std::uint8_t first = ahead(1).kind;
    if (first == kRBrace || first == kLBrace || begins_statement(first)) return false;
    int open = 0, questions = 0;
    bool rows = first == kLBracket;
    for (std::size_t i = at_ + 1; i + 1 < tokens_.size(); ++i) {
        const std::uint8_t kind = tokens_[i].kind;
        const bool opens = kind == kLParen || kind == kLBracket || kind == kLFilter || kind == kLBrace;
        const bool closes = kind == kRParen || kind == kRBracket || kind == kRFilter || kind == kRBrace;
        if (kind == kSemicolon || (closes && open == 0) || (kind == kEquals && open == 0)) return false;
        open += opens - closes;
        if (open > 0) continue;
        const std::uint8_t next = tokens_[i + 1].kind;
        if (rows && closes) {
            if (next == kComma || next == kRBrace) return true;
            rows = false;
        }
        if (kind == kColon && questions-- == 0) return true;
        questions += kind == kQuestion;
    }
    return false;
}

Statement* Parser::expression_or_assignment() {
    Statement* out = make(Statement::Expression, here());
    std::vector<Node*> written = {expr()};
    while (accept(kComma)) written.push_back(expr());
    if (!panic_ && written.size() > 1 && !at(kEquals))
        fail(fmt::format("expected `=` after the variables that are assigned to, found {}", found()));
    if (!accept(kEquals)) {
        out->value = written[0];
        out->is_shown = at(kEnd) && script_.is_entry && inside_ == 0;
        end_of_statement();
        return out;
    }
    out->kind = Statement::Assignment;
    out->targets = keep(std::vector<Target>(written.size()));
    for (std::size_t i = 0; i < written.size(); ++i) target(written[i], &out->targets[i]);
    out->value = expr();
    end_of_statement();
    return out;
}

/// What was read as an expression is assigned to.
void Parser::target(const Node* written, Target* target) {
    const Node* variable = written->form == Form::Extract ? written->args[0] : written;
    target->loc = variable->loc;
    if (variable->form == Form::Name && variable->start == variable->loc &&
        written->start == variable->start) {
        target->name = variable->text;
        target->is_indexed = variable != written;
        target->rows = written->rows;
        target->columns = written->columns;
    } else if (written->form == Form::Filter) {
        diagnostics_.error(written->loc,
                           "nothing can be assigned to a choice by bit vectors; name rows and columns "
                           "by positions or ranges");
    } else if (written->form != Form::Error) {
        diagnostics_.error(written->start,
                           "only variables, and rows and columns of them, can be assigned to");
    }
}

Node* Parser::condition(std::string_view after) {
    if (!expect(kLParen, fmt::format("`(` after `{}`", after))) return nullptr;
    Node* out = expr();
    if (!panic_ && at(kEquals)) fail("expected an operator or `)`, found `=`; `==` compares");
    expect(kRParen, "an operator or `)`");
    return out;
}

Statement* Parser::if_statement() {
    Statement* out = make(Statement::If, here());
    advance();
    out->value = condition("if");
    if (panic_) return out;
    out->body = one_statement();
    if (accept(kElse)) out->otherwise = one_statement();
    return out;
}

Statement* Parser::while_statement() {
    Statement* out = make(Statement::While, here());
    advance();
    out->value = condition("while");
    if (panic_) return out;
    ++loops_;
    out->body = one_statement();
    --loops_;
    return out;
}

Statement* Parser::do_statement() {
    Statement* out = make(Statement::DoWhile, here());
    advance();
    ++loops_;
    out->body = one_statement();
    --loops_;
    if (!expect(kWhile, "`while` after the body of `do`")) return out;
    out->value = condition("while");
    accept(kSemicolon);
    return out;
}

Statement* Parser::for_statement() {
    Statement* out = make(Statement::For, here());
    advance();
    if (!expect(kLParen, "`(` after `for`")) return out;
    out->targets = keep(std::vector<Target>(1));
    out->targets[0].loc = here();
    out->targets[0].name = name("the name of the loop's variable");
    if (!expect(kIn, "`in`")) return out;
    out->from = expr();
    if (!expect(kColon, "an operator or `:` and where the loop ends")) return out;
    out->to = expr();
    if (accept(kColon)) out->step = expr();
    if (!expect(kRParen, out->step ? "an operator or `)`" : "an operator, `:` or `)`")) return out;
    ++loops_;
    out->body = one_statement();
    --loops_;
    return out;
}

Statement* Parser::return_statement() {
    Statement* out = make(Statement::Return, here());
    if (!in_function_) diagnostics_.error(here(), "`return` stands in functions only");
    else if (loops_) diagnostics_.error(here(), "`return` cannot stand in a loop");
    advance();
    std::vector<Node*> values;
    if (!at(kSemicolon)) {
        do values.push_back(expr());
        while (accept(kComma));
    }
    end_of_statement();
    out->values = keep(values);
    return out;
}

std::string_view Parser::file_name(std::string_view what, Loc* loc) {
    *loc = here();
    if (at(kString)) return texts_.copy(std::string_view(string()));
    expect(kString, what);
    return {};
}

Statement* Parser::import() {
    Statement* out = make(Statement::Import, here());
    if (inside_ || in_function_)
        diagnostics_.error(here(), "`import` stands outside of all blocks and functions only");
    advance();
    out->path = file_name("the path of a script in quotation marks after `import`", &out->path_loc);
    if (accept(kAs)) out->alias = file_name("a prefix in quotation marks after `as`", &out->alias_loc);
    end_of_statement();
    return out;
}

// ---- functions

Statement* Parser::define() {
    Statement* out = make(Statement::Define, here());
    if (inside_ || in_function_)
        diagnostics_.error(here(), "functions are defined outside of all blocks and functions only");
    advance();
    const std::uint32_t inside = std::exchange(inside_, 0), loops = std::exchange(loops_, 0);
    const bool in_function = std::exchange(in_function_, true);
    out->function = function();
    inside_ = inside;
    loops_ = loops;
    in_function_ = in_function;
    return out;
}

Function* Parser::function() {
    Function* out = script_.arena.make<Function>();
    out->loc = here();
    out->name = name("the name of the function after `def`");
    if (!expect(kLParen, "`(` and the parameters")) return out;
    out->parameters = keep(parameters());
    if (accept(kArrow)) {
        std::vector<WrittenType> results;
        do results.push_back(written_type());
        while (accept(kComma));
        out->has_result_types = true;
        out->results = keep(results);
    }
    if (panic_) return out;
    if (!at(kLBrace))
        fail(fmt::format("expected {}, found {}",
                         out->has_result_types ? "`,` or `{` and the body of the function"
                                               : "`->` or `{` and the body of the function",
                         found()));
    out->body = in_braces();
    accept(kSemicolon);
    return out;
}

std::vector<Parameter> Parser::parameters() {
    std::vector<Parameter> out;
    std::unordered_set<std::string_view> seen;
    while (!panic_ && !at(kRParen)) {
        Parameter p;
        p.loc = here();
        p.name = name("the name of a parameter or `)`");
        if (!panic_ && !seen.insert(p.name).second)
            diagnostics_.error(p.loc, "there is a parameter `{}` already; parameters have different names",
                               p.name);
        if (accept(kColon)) p.type = written_type();
        out.push_back(p);
        if (!accept(kComma)) break;
    }
    expect(kRParen, "`,` or `)`");
    return out;
}

/// `matrix`, `matrix<f64>`, `f64`
WrittenType Parser::written_type() {
    WrittenType out;
    out.loc = here();
    const Token word = current();
    if (const std::optional<ValueType> value = value_type_of(word.kind)) {
        out = {true, true, DataType::Scalar, *value, word.loc};
    } else if (word.kind == kMatrix) {
        out.has_data = true;
        out.data = DataType::Matrix;
    } else {
        fail(fmt::format("expected a type, found {}", found()))
            .note(
                "there are `matrix`, `matrix<f64>` and other types of cells, and `f64` and other scalars; "
                "frames "
                "and lists go without a type");
        return out;
    }
    advance();
    if (word.kind == kMatrix) value_type(&out.has_value, &out.value);
    return out;
}

void Parser::value_type(bool* has_value, ValueType* value) {
    if (!accept(kLt)) return;
    const std::optional<ValueType> type = value_type_of(current().kind);
    if (!type) {
        fail(fmt::format("expected a type of cells such as `f64`, found {}", found()));
        return;
    }
    advance();
    *has_value = true;
    *value = *type;
    expect(kGt, "`>`");
}

std::unique_ptr<Script> parse(const Sources& sources, Loc text, Arena& texts, Diagnostics& diagnostics,
                              bool is_entry) {
    auto script = std::make_unique<Script>();
    script->is_entry = is_entry;
    script->arena.set_budget(texts.budget());
    Parser(sources, text, texts, diagnostics, *script).script();
    return script;
}

}  // namespace weld::daphne
