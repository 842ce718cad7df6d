// The parser's state and the small words that its grammar is written in. parse.cpp has programs,
// parse_expressions.cpp expressions, parse_types.cpp types and annotations.
//
// After a syntax error the parser is in *panic*: nothing more is reported or consumed, all functions return,
// until a place that can go on (the next element of a list, the next `let`, the next item) has found its
// token.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/weld/reader.h"
#include "frontend/weld/tokens.h"

namespace weld::front {

class Parser {
  public:
    Parser(Reader& reader, Loc text, bool internal);

    void program();
    void expression();  ///< one, and nothing after it
    const TypeNode* whole_type();

  private:
    // ---- tokens
    const Token& current() const { return tokens_[at_]; }
    const Token& ahead(std::size_t n) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }
    bool at(int kind) const { return current().kind == kind; }
    std::string_view text_of(const Token& t) const {
        return text_.substr(t.loc.offset - base_.offset, t.length);
    }
    void advance() { at_ += at_ + 1 < tokens_.size(); }
    bool accept(int kind);
    /// Consumes a token of this kind, or panics: "expected ..., found ...".
    bool expect(int kind, std::string_view what);
    std::string found() const;  ///< the current token for a message: "`)`" or "the end of the program"
    Diagnostic& fail(std::string message);
    Node* fail_node(std::string message);
    bool is_word(const Token& t) const;  ///< a name or a reserved word

    // ---- going on after an error
    /// Skips to `stop` outside of all brackets that are opened on the way. Stays before closing brackets and
    /// `;`.
    bool skip_to(int stop, int other_stop);
    bool recover(int stop, int other_stop);

    // ---- depth
    struct Nesting {
        explicit Nesting(Parser& p);
        ~Nesting() { --parser.depth_; }
        Parser& parser;
        bool too_deep;
    };
    Node* give_up(Loc loc, std::uint32_t limit);  ///< too deep: reports once and ends the parse

    // ---- nodes
    Node* make(Form form, Loc start, Loc loc, std::span<Node* const> args);
    Node* make_op(Op op, Loc start, Loc loc, std::span<Node* const> args);
    Node* finish(Node* n);
    std::span<Node*> keep(std::span<Node* const> nodes);
    std::span<Binding> keep(std::span<const Binding> bindings);

    // ---- items
    void alias();
    void macro();
    void definition();
    bool at_definition() const;
    std::size_t behind_annotations() const;
    std::vector<Binding> names_in_parentheses(std::string_view what);
    std::vector<Binding> parameters(int close);
    std::optional<Binding> parameter(std::string_view what);
    void check_distinct(std::span<const Binding> bindings);

    // ---- expressions
    Node* expr();
    Node* block();
    Node* lambda();
    Node* infix(int level);
    Node* ascribed();
    Node* unary();
    Node* prefixed(Op op);
    Node* postfix(Node* of);
    Node* application(Node* of);
    Node* field(Node* of);
    Node* leaf();
    Node* parenthesised();
    Node* annotated();
    Node* number(bool negative, Loc start);
    Node* string();
    Node* bits();
    Node* literal(Loc start, Scalar scalar, std::uint64_t bits);
    Node* cast();
    Node* builder();
    Node* call(Op op);
    Node* broadcast();
    Node* cudf();
    Node* deserialize();
    Node* iterator();
    std::uint16_t lanes_in_brackets();
    /// `a, b, ...` up to the closing bracket, which is consumed; its place goes to `*closed`.
    std::vector<Node*> list(int close, Loc* closed = nullptr);
    /// `(a, b, ...)` with this many arguments.
    std::vector<Node*> arguments(std::string_view name, std::uint32_t min, std::uint32_t max);

    // ---- types and annotations (parse_types.cpp)
    const TypeNode* type();
    const TypeNode* builder_type();
    const TypeNode* simd_type();
    const TypeNode* named_type();
    std::string_view nearest_type(std::string_view name) const;
    const TypeNode* make_type(TypeNode proto, std::span<const TypeNode* const> args);
    std::vector<const TypeNode*> types(std::size_t count);
    const TypeNode* unknown_type() { return make_type({.loc = current().loc}, {}); }
    MergeOp field_ops(std::string_view builder);
    MergeOp merge_op(std::string_view builder);
    std::uint32_t lane_count();
    void annotations(std::vector<Annotation>& out);
    void annotation(std::vector<Annotation>& out);
    std::string_view sizes_text();
    Promises holds(std::span<const Annotation> annotations, std::span<const std::string_view> names,
                   std::string_view result);
    std::int64_t annotation_number(const Token& value, bool negative) const;

    Reader& reader_;
    Diagnostics& diagnostics_;
    Program& program_;
    Loc base_;
    std::string_view text_;
    bool internal_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    std::uint32_t depth_ = 0;
    bool panic_ = false;
    bool gave_up_ = false;
    Diagnostic said_already_;
};

}  // namespace weld::front
