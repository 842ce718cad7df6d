// The parser's state and the small words that its grammar is written in. parse.cpp has statements,
// parse_expressions.cpp expressions.
//
// After a syntax error the parser is in *panic*: nothing more is reported or consumed, all functions return,
// until the list of statements that the error is in goes on behind the next `;`.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "frontend/daphne/syntax.h"
#include "frontend/daphne/tokens.h"

namespace weld::daphne {

class Parser {
  public:
    Parser(const Sources& sources, Loc text, Arena& texts, Diagnostics& diagnostics, Script& script);

    void script();

  private:
    // ---- tokens
    const Token& current() const { return tokens_[at_]; }
    const Token& ahead(std::size_t n) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }
    bool at(int kind) const { return current().kind == kind; }
    Loc here() const { return current().loc; }
    std::string_view text_of(const Token& t) const {
        return text_.substr(t.loc.offset - base_.offset, t.length);
    }
    Loc end_of_last() const;  ///< behind the last token that was consumed
    void advance() { at_ += at_ + 1 < tokens_.size(); }
    bool accept(int kind);
    /// Consumes a token of this kind, or panics: "expected ..., found ...".
    bool expect(int kind, std::string_view what);
    /// Consumes a name, or panics and gives an empty one.
    std::string_view name(std::string_view what);
    std::string_view dotted_name();  ///< from the name here on
    std::string string();            ///< the one here, decoded
    std::string found() const;       ///< the current token for a message: "`)`" or "the end of the script"
    Diagnostic& fail(std::string message);
    Node* fail_node(std::string message);

    // ---- going on after an error
    void recover();
    void end_of_statement();

    // ---- depth
    struct Nesting {
        explicit Nesting(Parser& p) : parser(p), too_deep(++p.depth_ > kMaxNesting) {}
        ~Nesting() { --parser.depth_; }
        Parser& parser;
        bool too_deep;
    };
    Node* give_up();  ///< too deep: reports once and ends the parse

    // ---- statements
    Statements statements();  ///< up to a `}` or the end
    Statement* statement();
    Statements one_statement();  ///< what a branch or a loop has
    Statement* block();
    Statements in_braces();
    bool at_frame() const;
    Statement* expression_or_assignment();
    void target(const Node* written, Target* target);
    Node* condition(std::string_view after);
    Statement* if_statement();
    Statement* while_statement();
    Statement* do_statement();
    Statement* for_statement();
    Statement* define();
    Statement* return_statement();
    Statement* import();
    std::string_view file_name(std::string_view what, Loc* loc);
    Function* function();
    std::vector<Parameter> parameters();
    WrittenType written_type();
    void value_type(bool* has_value, ValueType* value);  ///< `<f64>`

    // ---- expressions
    Node* expr();
    Node* infix(int level);
    Node* unary();
    Node* prefixed(Operator op);
    Node* postfix(Node* of);
    Node* extract(Node* of);
    Node* filter(Node* of);
    Index index();
    Index bits();
    Node* leaf();
    Node* parenthesised();
    Node* number();
    Node* argument();
    Node* name_or_call();
    Node* call(Loc start, std::string_view name);
    Node* cast();
    Node* matrix();
    Node* frame();
    Node* frame_rows(Loc start);
    std::vector<Node*> cells(std::string_view of);
    std::string_view hint(Loc* loc);

    // ---- nodes
    Node* make(Form form, Loc start, Loc loc, std::initializer_list<Node*> args);
    Node* make(Form form, Loc start, Loc loc, const std::vector<Node*>& args);
    Node* literal(const Literal& value);  ///< and consumes its token
    Statement* make(Statement::Kind kind, Loc loc);
    template <class T>
    std::span<T> keep(const std::vector<T>& all) {
        return script_.arena.copy(std::span<const T>(all));
    }

    Arena& texts_;
    Diagnostics& diagnostics_;
    Script& script_;
    Loc base_;
    std::string_view text_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    std::uint32_t depth_ = 0;
    std::uint32_t inside_ = 0;  ///< statements around the current one
    std::uint32_t loops_ = 0;   ///< loops around it, in the same function
    int activations_ = 0;       ///< literals of frames that are open, also after an error in them
    bool in_function_ = false;
    bool panic_ = false;
    bool gave_up_ = false;
    Diagnostic said_already_;
};

}  // namespace weld::daphne
