// From the graph to a Module.
//
// A scalar is a scalar of Weld, a string vec[i8]; a matrix is {cells by rows, rows, columns}, a sparse one
// {stored cells by rows, rows, columns, where each row begins and the last ends, the column of each cell}, a
// frame {{cells of each column}, rows}, a list a vector of matrices. Every value of the graph becomes a
// `let`, in order, so effects keep theirs. What an operation does is written in Weld (prelude.weld and texts
// in lower_*.cpp) and becomes nodes through Prelude::apply; numbers of rows and columns that are known stand
// in these texts as literals.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/daphne/builtins.h"
#include "frontend/daphne/graph.h"
#include "frontend/weld/prelude.h"
#include "weldir/ir/build.h"
#include "weldir/support/diag.h"

namespace weld::daphne {

/// The type of cells in Weld: `f64`, `vec[i8]`.
std::string_view weld_name(ValueType v);
std::string weld_name(const Type& t);
/// The type of the cells of `v`.
inline std::string_view cell(const Value* v) { return weld_name(v->type.value); }

/// `text` as a literal of Weld, `"…"`.
std::string weld_string(std::string_view text);
/// `text` in the matrix `x` with the words `rows`, `columns`, `T` in the place of those of `x`.
std::string filled_in(std::string_view text, const Value* x);

/// The text for converting a cell `a`; what an operator does with cells `a`, `b` of `operand`.
std::string conversion(ValueType from, ValueType to);
std::string operator_code(Operator op, ValueType operand, ValueType result);

/// An i32 that says whether the cell `a` comes before `b` (below 0), or after it (above): the bytes of
/// strings are i8 in Weld, and unsigned when they are compared.
std::string comparison(ValueType v, std::string_view a, std::string_view b);

/// A product of a matrix with its transposed one, which is symmetric in every bit.
bool is_product_with_itself(const GraphNode& n);

class Lowering {
  public:
    Lowering(Module& m, const Graph& graph, Diagnostics& diagnostics);
    void run();

    // ---- what lowerings of single nodes are written with

    /// A text of Weld in the values `a`, `b`, … that are its arguments by these names.
    struct Named {
        std::string name;
        const Value* value;
    };
    /// Binds `out` to what `text` says, an expression in `args`.
    void define(const Value* out, std::string_view text, const std::vector<Named>& args, Loc loc);
    /// The same for several results, of a struct that has them as fields.
    void define(const std::vector<Value*>& outs, std::string_view text, const std::vector<Named>& args,
                Loc loc);
    /// Evaluates `text` for what it does.
    void act(std::string_view text, const std::vector<Named>& args, Loc loc);
    /// The run goes on if `condition` holds, else it fails with `message`.
    void demand(std::string_view condition, const std::vector<Named>& args, std::string_view message,
                Loc loc);
    /// That the cells of the matrix that `n` makes can be counted: what has so many rows and columns.
    void demand_countable(const GraphNode& n, std::string_view rows, std::string_view columns,
                          const std::vector<Named>& args);
    const Expr* apply(std::string_view text, const std::vector<Named>& args, Loc loc);
    void bind(const Value* out, const Expr* e);
    const Expr* value(const Value* v);
    const Graph& graph() const { return graph_; }

    // ---- words for texts: the value called `name` has type and shape of `v`

    static std::string rows(std::string_view name, const Value* v);
    static std::string columns(std::string_view name, const Value* v);
    static std::string cells(std::string_view name, const Value* v);  ///< their number
    static std::string size(Dim d, const std::string& otherwise);

    /// Cells of `out` from cells of `operands`, each as `code` says in `a`, `b`, `c` (their types are `T`,
    /// that of the result is `R`). After ` where ` the code has a condition for `a`, after ` : ` what to say.
    void elementwise(const Value* out, const std::vector<const Value*>& operands, std::string_view code,
                     Loc loc, bool is_outer = false);

  private:
    using Lets = std::vector<std::pair<const Symbol*, const Expr*>>;

    const weld::Function* function(const GraphFunction& f);
    const Expr* apply(std::string_view function, const std::vector<const Expr*>& args, Loc loc);
    const Expr* block_of(const Body& r, const std::vector<const Expr*>& params,
                         const std::vector<const Value*>& results, Loc loc);
    void nodes(const Body& r);
    void node(const GraphNode& n);
    void literal(const Value* v);
    void matrix(const GraphNode& n);
    void frame(const GraphNode& n);
    void convert(const GraphNode& n);
    void convert_scalar(const Value* out, const Value* in, Loc loc);
    void product(const GraphNode& n);
    void extract(const GraphNode& n);
    void filter(const GraphNode& n);
    void insert(const GraphNode& n);
    void if_node(const GraphNode& n);
    void loop(const GraphNode& n);
    void repeat(const GraphNode& n);
    void call(const GraphNode& n);
    void map(const GraphNode& n);
    /// The fields of the struct `e`, from the one numbered `from` on.
    void bind_fields(const std::vector<Value*>& outs, const Expr* e, std::size_t from = 0);
    const Type* type_of(const std::vector<Value*>& values);
    /// What is true of the sizes in a struct that has such values as its fields, from the one numbered `from` on.
    Promises sizes_of(const std::vector<Value*>& values, std::size_t from = 0);
    void list_sizes(const Value* v, std::vector<std::size_t> path, std::vector<Promise>& all);
    const weld::Type* weld_type(const daphne::Type& t);
    const Expr* pack(const std::vector<const Value*>& values);

    Module& m_;
    const Graph& graph_;
    Diagnostics& diagnostics_;
    Prelude prelude_;
    Lets* lets_ = nullptr;
    std::unordered_map<const Value*, const Expr*> values_;
    std::unordered_map<const GraphFunction*, weld::Function*> functions_;
};

#define DAPHNE_BUILTIN(name, params, rule, lowering, sparse, code) \
    void lower_##lowering(Lowering& l, const GraphNode& n);
#include "frontend/daphne/builtins.def"

}  // namespace weld::daphne
