// The surface tree of a script, as the parser makes it: what was written, with its places, and nothing else.
//
// Everything lives in the arena of the Script and goes with it; texts live as long as their Sources, or as
// the arena for texts that `parse` is given.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/daphne/types.h"
#include "weldir/support/arena.h"
#include "weldir/support/diag.h"
#include "weldir/support/source.h"

namespace weld::daphne {

inline constexpr std::uint32_t kMaxNesting = 2'000;  ///< of expressions and statements in a script

enum class Form : std::uint8_t {
    Literal,      ///< `literal`
    Argument,     ///< `$text`
    Name,         ///< `text`, dotted names whole: `lib.f`
    Call,         ///< `text(args)`; `hint` after `::`
    Cast,         ///< `as.DATA<VALUE>(args[0])`: `cast`
    Matrix,       ///< `[args](rows, columns)`: `rows`, `columns` are null where they are not written
    Frame,        ///< `{label: column, ...}`: args are label, column, label, column, ...
    FrameRows,    ///< `{[label, ...], [cell, ...], ...}`: args are Row
    Row,          ///< one row of these
    Extract,      ///< `args[0][rows, columns]`
    Filter,       ///< `args[0][[rows, columns]]`
    Unary,        ///< `op args[0]`: Plus, Minus, Not
    Binary,       ///< `args[0] op args[1]`; `hint` after `::`
    Conditional,  ///< `args[0] ? args[1] : args[2]`
    Error,        ///< has been reported
};

enum class Operator : std::uint8_t {
    MatMul,
    Pow,
    Mod,
    Mul,
    Div,
    Add,
    Sub,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    Plus,
    Minus,
    Not
};
/// As it is written.
std::string_view text_of(Operator op);
/// Gives a truth value for two numbers or two strings.
constexpr bool is_comparison(Operator op) {
    switch (op) {
        case Operator::Eq:
        case Operator::Ne:
        case Operator::Lt:
        case Operator::Le:
        case Operator::Gt:
        case Operator::Ge: return true;
        default: return false;
    }
}

struct Node;

/// Which rows, or columns, an index is about.
struct Index {
    enum Kind : std::uint8_t { All, One, Range } kind = All;  ///< One: a position, a list of them, a label
    Node* first = nullptr;                                    ///< One; Range: the lower bound, or null
    Node* last = nullptr;                                     ///< Range: the upper bound, or null
};

struct Literal {
    ValueType value = ValueType::Si64;
    union {
        std::int64_t integer = 0;  // also of unsigned types and Bool
        double number;             // F32, F64
    };
    std::string_view text;  // Str: decoded
};

struct CastTarget {
    bool has_data = false, has_value = false;
    DataType data = DataType::Scalar;
    ValueType value = ValueType::F64;
};

/// `name = value` among the arguments of a call; positional ones have no name.
struct NamedArgument {
    std::string_view name;
    Loc loc;
};

struct Node {
    Form form = Form::Error;
    Operator op = Operator::Add;
    Loc start;  ///< its first character
    Loc loc;    ///< its operator or name: where it fails at run time
    /// Levels of the tree. Only chains down `args[0]` (`1 + 1 + 1`, `X[0, ][0, ]`, `a ? b : c ? d : e`) make
    /// it much more than kMaxNesting: whoever goes down these in a loop needs no more depth than that
    /// elsewhere.
    std::uint32_t height = 1;
    std::span<Node*> args;
    std::span<NamedArgument> names;  ///< Call: one per argument if some are named, else none
    std::string_view text;
    std::string_view hint;
    Loc hint_loc;
    Literal literal;
    CastTarget cast;
    Index rows, columns;  ///< Extract, Filter; Matrix: dimensions in `rows.first`, `columns.first`
};

/// What is assigned to: a variable, or rows and columns of one.
struct Target {
    std::string_view name;  ///< dotted names whole
    Loc loc;
    bool is_indexed = false;
    Index rows, columns;
};

struct Statement;
using Statements = std::span<Statement*>;

/// The type of a parameter or a result, as far as it is written.
struct WrittenType {
    bool has_data = false, has_value = false;
    DataType data = DataType::Scalar;
    ValueType value = ValueType::F64;
    Loc loc;
};

struct Parameter {
    std::string_view name;
    Loc loc;
    WrittenType type;
};

struct Function {
    std::string_view name;
    Loc loc;
    std::span<Parameter> parameters;
    bool has_result_types = false;
    std::span<WrittenType> results;
    Statements body;
};

struct Statement {
    enum Kind : std::uint8_t {
        Braces,      ///< `body`
        Expression,  ///< `value`
        Assignment,  ///< `targets = value`
        If,          ///< `value`, `body` (one statement), `otherwise` (one statement or none)
        While,       ///< `value`, `body` (one statement)
        DoWhile,     ///< `body` (one statement), `value`
        For,         ///< `targets[0].name in from:to:step`, `body` (one statement); `step` may be null
        Define,      ///< `function`
        Return,      ///< `values`
        Import,      ///< `path` as `alias`
    };
    Kind kind = Braces;
    /// An expression whose values are printed: what an entry ends with, without a `;`.
    bool is_shown = false;
    Loc loc;  ///< its first character
    Node* value = nullptr;
    std::span<Target> targets;
    Statements body;
    Statements otherwise;
    Node *from = nullptr, *to = nullptr, *step = nullptr;
    Function* function = nullptr;
    std::span<Node*> values;
    std::string_view path, alias;
    Loc path_loc, alias_loc;
};

/// One text, parsed.
struct Script {
    Arena arena;
    Statements statements;
    bool is_entry = false;  ///< of a session: its end stands for a `;`
};

/// Parses the text that begins at `text`. Goes on after errors as far as it can; they are in `diagnostics`.
/// `texts` gets what names and string literals say where the source does not say it in one piece. Recurses as
/// deep as the script is nested: call it with a stack of some MiB.
std::unique_ptr<Script> parse(const Sources& sources, Loc text, Arena& texts, Diagnostics& diagnostics,
                              bool is_entry = false);

/// Reads one literal, as script arguments have them: with a `-` before numbers perhaps. False if `text` is
/// none; strings are copied to `texts`.
bool read_literal(std::string_view text, Arena& texts, Literal* literal);

/// The tree as a script, with parentheses around everything that an operator takes.
std::string print_syntax(const Script& script);

}  // namespace weld::daphne
