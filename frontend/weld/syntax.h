// The surface tree: what the parser makes of a text, and what expansion makes of that. Both have one shape;
// an expanded tree has no macros, no function values and no applications, and its names are Locals.
//
// Everything lives in the arena of the Reader and goes with it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "weldir/ir/module.h"
#include "weldir/support/diag.h"

namespace weld::front {

struct Term;  // a type with unknown parts: terms.h
struct Node;
struct Macro;
struct Definition;

/// Limits that keep every later step, here and in the compiler, within its means.
inline constexpr std::uint32_t kMaxNesting = 60'000;    ///< of brackets and prefix operators in a text
inline constexpr std::uint32_t kMaxHeight = 10'000;     ///< of a tree that `lower` makes
inline constexpr std::uint32_t kMostOperators = 64;     ///< infix, that `lower` leaves in one tree
inline constexpr std::uint32_t kMaxTypeHeight = 1'000;  ///< vec[vec[...]]
inline constexpr std::uint32_t kMaxTypeLeaves =
    4'096;  ///< fields of a struct with all structs in it written out
inline constexpr std::uint32_t kMaxLanes = 512;

/// A type as written. An alias stands for the node of its definition.
struct TypeNode {
    enum Kind : std::uint8_t { Unknown, Scalar, Simd, Vec, Dict, Struct, Builder };
    Kind kind = Unknown;
    weld::Scalar scalar = weld::Scalar::Bool;
    BuilderKind builder = BuilderKind::Appender;
    MergeOp op = MergeOp::Add;
    std::uint32_t lanes = 0;  ///< Simd: as written, 0 if not
    std::uint32_t height = 1;
    std::uint32_t leaves = 1;
    Loc loc;
    std::span<const TypeNode* const> args;
    mutable Term* known = nullptr;  ///< what it means, if that is the same at each use
};

/// A variable of an expanded tree: bound once, by one `let`, parameter or function.
struct Local {
    std::string_view name;
    Loc loc;
    Term* term = nullptr;
    const Type* type = nullptr;      ///< set by `check`
    const Symbol* symbol = nullptr;  ///< set by `lower`
    std::uint32_t leaf = 0;          ///< set by `check_linearity`: its first builder
    bool is_left_behind = false;     ///< set by `check_linearity`: a new builder that nobody names
};

/// A name that the text binds.
struct Binding {
    std::string_view name;
    Loc loc;
    const TypeNode* type = nullptr;  ///< `x: T`
    std::uint32_t depth = 0;         ///< surface: the function it belongs to, counted from the outermost,
    std::uint32_t slot = 0;          ///< and its place in the frame of that
    bool is_function = false;        ///< surface: bound to something that may be a function
    Promises holds = {};
    Local* local = nullptr;  ///< expanded
};

enum class Form : std::uint8_t {
    Op,       ///< a row of ops.def; arguments and the rest as its view in weldir/ir/expr.h says, except that
              ///< For is (data, builder, function) and Kernel, NewBuilder, Deserialize have `type_node`
    Name,     ///< surface: `text`, then `binding`; expanded: `local`
    Apply,    ///< surface: args[0](the others); if args[0] is null, `macro`, `definition` or `cast` says what
              ///< to call
    Ascribe,  ///< args[0]: type_node
    Zip,      ///< args are iterators or vectors
    String,   ///< `text` is the bytes, which live as long as the Module
    Error,    ///< has been reported
};

/// One macro call that an expanded node came through.
struct Expansion {
    std::string_view name;
    Loc call;
    const Expansion* outer;
};

struct Node {
    Form form = Form::Error;
    Op op = Op::Literal;
    Scalar scalar = Scalar::Bool;  ///< Literal, Cast
    IterShape iter;                ///< Iter
    bool has_bound = false;        ///< infix: some operand below is bound to a name, see `is_bound`
    std::uint16_t lanes = 0;       ///< Iter, Broadcast: as written, 0 if not
    std::uint32_t height = 1;      ///< of the tree that `lower` makes of it
    std::uint32_t operators = 0;   ///< infix: it and those below it, down to bound ones
    Loc start;                     ///< its first character: where it is called wrong
    Loc loc;                       ///< its operator or name: where it fails at run time
    std::uint32_t frame_size = 0;  ///< Lambda, surface: slots of its frame
    std::span<Node*> args;
    std::span<Binding> bindings;  ///< Block: one per value; Lambda: parameters
    std::string_view text;
    union {
        std::uint64_t bits;      // Literal
        std::uint64_t index;     // GetField
        Binding* binding;        // Name, surface
        Local* local;            // Name, expanded
        Macro* macro;            // Apply, surface
        Definition* definition;  // Apply, surface; Call, expanded
        Loc name;                // Kernel: of the name of the function
    };
    enum class Callee : std::uint8_t { Value, Macro, Definition, Cast } callee = Callee::Value;  ///< Apply
    const TypeNode* type_node = nullptr;
    const std::vector<Annotation>* annotations = nullptr;  ///< owned by the Program
    const Expansion* expansion = nullptr;
    Term* term = nullptr;        ///< set by `infer`
    const Type* type = nullptr;  ///< set by `check`

    Node() : bits(0) {}
    bool is(Op o) const { return form == Form::Op && op == o; }
};

/// An infix operator. Chains of them associate to the left and may be long: see `left_spine`.
inline bool is_infix(const Node* n) {
    return n->form == Form::Op && is_scalar_op(n->op) && n->args.size() == 2 && info(n->op).level > 0;
}

/// The infix operators that begin with `top` and go down its left operands, topmost first: they are visited
/// in a loop, not by recursion, because generated programs have thousands of them.
inline std::vector<Node*> left_spine(Node* top) {
    std::vector<Node*> out;
    for (; is_infix(top); top = top->args[0]) out.push_back(top);
    return out;
}

/// As an operand it is bound to a name by `lower`, so that no tree of operators gets deep or large.
inline bool is_bound(const Node* infix) { return infix->operators >= kMostOperators; }

/// The right side of `&& ||`: evaluated only sometimes, so it keeps its names to itself.
inline bool is_lazy_operand(const Node* infix, std::size_t i) {
    return i == 1 && (infix->is(Op::And) || infix->is(Op::Or));
}

/// Sets `height`, `operators` and `has_bound` from the arguments.
void measure(Node* n);

struct Macro {
    std::string_view name;
    Loc loc;
    bool internal = false;  ///< one of standard.weld
    std::span<Binding> params;
    Node* body = nullptr;
    std::uint32_t frame_size = 0;
    std::vector<std::pair<Macro*, Loc>> calls;  ///< from its body
    enum { New, Open, Done } visited = New;
    bool recursive = false;  ///< has been reported, and is not expanded
};

/// `def name(x: T, ...): R = body;`
struct Definition {
    std::string_view name;
    Loc loc;
    Node* lambda = nullptr;  ///< surface, then expanded
    const TypeNode* result = nullptr;
    Promises holds = {};
    Term* term = nullptr;  ///< a function
    Function* function = nullptr;
    enum { New, Open, Done } visited = New;
    std::vector<std::uint32_t> origins;  ///< of the builders in its result: see linearity.cpp
};

/// What a text consists of.
struct Program {
    std::map<std::string_view, const TypeNode*> aliases;  ///< a later one of the same name counts
    std::vector<std::unique_ptr<Macro>> macros;
    std::unordered_map<std::string_view, Macro*> macro_of;
    std::vector<std::unique_ptr<Definition>> definitions;
    std::unordered_map<std::string_view, Definition*> definition_of;
    Node* main = nullptr;  ///< a Lambda, or another expression: then the program has no parameters
    std::uint32_t frame_size = 0;
    std::size_t num_nodes = 0;
    std::vector<std::unique_ptr<std::vector<Annotation>>> annotations;
    bool may_have_effects = false;            ///< set by `check`: some `cudf` has one
    std::unordered_set<const Node*> effects;  ///< set by `find_effects`: these have one, in them or below
    std::vector<Node*> unused;  ///< expanded: bodies of functions that nobody calls; they are typed, no more
};

}  // namespace weld::front
