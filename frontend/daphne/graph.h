// A script as a graph of values: matrices, frames and scalars with all that is known of them before the run,
// and the operations that make them, effects among them, in the order in which they happen.
//
// `check` makes it from the surface tree, `represent` says which matrices are stored sparsely; `print_graph`
// shows it (`--explain=properties`); `lower` makes a Module of it. Control flow is nodes with bodies: what a
// body reads from outside it reads directly, what it changes are its parameters and results.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/daphne/syntax.h"
#include "frontend/daphne/types.h"
#include "weldir/ir/expr.h"

namespace weld::daphne {

/// A number of rows or columns: known, or found at run time. Two that are found at run time are known to be
/// equal if they have the same name.
struct Dim {
    std::int64_t number = -1;
    std::uint32_t name = 0;
    bool known() const { return number >= 0; }
    bool is(std::int64_t n) const { return number == n; }
    friend bool operator==(Dim a, Dim b) {
        return a.known() || b.known() ? a.number == b.number : a.name == b.name && a.name != 0;
    }
};
/// They differ for certain.
inline bool differ(Dim a, Dim b) { return a.known() && b.known() && a.number != b.number; }

/// A scalar that is known before the run.
struct Constant {
    ValueType value = ValueType::Si64;
    std::int64_t integer = 0;  ///< of integers (unsigned ones by their bits) and of Bool
    double number = 0;         ///< of floats
    std::string text;          ///< of strings
    friend bool operator==(const Constant&, const Constant&) = default;
};

struct GraphNode;

/// What a node gives, or a parameter of a body.
struct Value {
    std::uint32_t id = 0;
    Type type;
    Dim rows, columns;       ///< of matrices and frames
    double sparsity = -1;    ///< share of cells that are not zero, if it is known
    bool symmetric = false;  ///< known to be
    std::optional<Constant> constant;
    std::vector<Constant> cells;  ///< of a list of positions, if they are known
    GraphNode* maker = nullptr;   ///< null for parameters
};

/// For messages: `3`, `?`; `3 x ?`.
std::string str(Dim d);
std::string shape(const Value* v);

/// What is evaluated as a whole: a script, a function, a side of an `if`, the condition of a loop, its
/// rounds.
struct Body {
    std::vector<Value*> params;
    std::vector<GraphNode*> nodes;
    std::vector<Value*> results;
};

struct Builtin;
struct GraphFunction;

struct GraphNode {
    enum Kind : std::uint8_t {
        Constant,  ///< results[0].constant
        Builtin,   ///< `builtin` of `args`
        Operator,  ///< `op` of `args`: elementwise, or a product of matrices
        Convert,   ///< args[0] as the type of the result
        Matrix,    ///< the literal of cells `args`
        Frame,     ///< the literal of columns `args`
        Extract,   ///< args[0] at `rows`, `columns`
        Filter,    ///< the same by bits
        Insert,    ///< args[0] with args[1] at `rows`, `columns`
        Select,    ///< args[0] ? args[1] : args[2], cell by cell
        If,        ///< bodies {then, otherwise}; args[0] is the condition
        Loop,      ///< while: bodies {condition, rounds}; args are the state before. If `does_first`, the
                   ///< condition's result is a value of the rounds
        Repeat,    ///< for: bodies {rounds}, whose first parameter counts; args are from, to, step, then the
                   ///< state
        Call,      ///< `function` of `args`
        Map,       ///< `function` of each cell of args[0]
    };
    Kind kind = Constant;
    Loc loc;
    const daphne::Builtin* builtin = nullptr;
    daphne::Operator op = daphne::Operator::Add;
    const GraphFunction* function = nullptr;
    bool does_first = false;  ///< Loop: the body comes before the condition
    std::string text;         ///< Builtin groupBy: a character for each aggregate (relations.cpp)
    std::vector<Value*> args;
    std::vector<Value*> results;
    std::vector<Body> bodies;

    /// Which rows or columns Extract, Filter and Insert are about: numbers of arguments, -1 where none is.
    struct Subscript {
        Index::Kind kind = Index::All;
        int first = -1, last = -1;
    };
    Subscript rows, columns;
    std::size_t cells = 0;       ///< Matrix: how many of `args` are cells
    bool is_outer = false;       ///< cells of a column with those of a row
    bool takes_columns = false;  ///< Extract of a frame: those of `columns_taken`
    bool picks_column = false;   ///< Extract of a frame: one, as a matrix; which one, `columns.first` says
    std::vector<int> columns_taken;
};

/// A function of the script for arguments of certain types.
struct GraphFunction {
    std::string name;
    Loc loc;
    Body body;
    bool is_done = false;
    bool is_wrong = false;          ///< nobody calls it then
    std::vector<Value*> signature;  ///< the results as they are written, while the body is checked
};

/// Owns all of it.
class Graph {
  public:
    Body main;
    std::deque<GraphFunction> functions;
    double sparsity_threshold = 0;  ///< with a smaller share of cells that are not zero, matrices are sparse

    Value* value(const Type& type);
    /// Another value of which the same is known.
    Value* like(const Value& known);
    GraphNode* node(GraphNode::Kind kind, Loc loc);
    std::size_t num_nodes() const { return nodes_.size(); }
    Dim fresh_dim() { return {-1, ++dims_}; }

  private:
    std::deque<Value> values_;
    std::deque<GraphNode> nodes_;
    std::uint32_t dims_ = 0;
};

/// They are the same for certain: one value, or made by the same operations of the same values.
bool are_same(const Value* a, const Value* b, int most_nodes = 16);

/// The graph as text, one node a line.
std::string print_graph(const Graph& graph);

}  // namespace weld::daphne
