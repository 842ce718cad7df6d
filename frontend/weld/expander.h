// Expansion: macro calls become the bodies of the macros, calls of functions become blocks that bind the
// arguments. Expressions in expand.cpp, functions and calls in expand_calls.cpp.
//
//   macro inc(x) = x + 1; let f = |y| inc(y) * 2; f(3)    becomes    let y = 3; (y + 1) * 2
//
// A function of the text that is entered gets a *frame* with a value for each name that it binds: a Local, a
// function together with the frame around it, or (parameters of macros) a tree together with the frame to
// read it in. That makes expansion hygienic without renaming: a tree always means what it means where it was
// written. Positions of nodes that come from standard.weld are those of the user's call.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "frontend/weld/reader.h"

namespace weld::front {

struct Frame;

/// What a slot holds.
struct Value {
    enum Kind : std::uint8_t { None, Variable, Function, Tree } kind = None;
    bool called = false;  ///< Function: somewhere
    Local* local = nullptr;
    Node* node = nullptr;  ///< Function: a Lambda; Tree
    Frame* frame = nullptr;
    Definition* definition = nullptr;  ///< Function: instead of node and frame
};

struct Frame {
    std::uint32_t depth = 0;
    Frame* outer = nullptr;  ///< of the function around this one
    Value* slots = nullptr;
    const Node* call = nullptr;            ///< in a standard macro: the user's call, else null
    const Expansion* expansion = nullptr;  ///< the user's macros that led here
};

/// What may stand at a place.
enum class Where { Value, Data };

class Expander {
  public:
    explicit Expander(Reader& reader) : reader_(reader), budget_(200'000 + 50 * reader.program.num_nodes) {}

    void run();

  private:
    // ---- frames

    Frame* make_frame(std::uint32_t size, Frame* outer);
    static Value& slot(const Binding* b, Frame* frame);
    Local* make_local(const Binding& b, const Frame* frame);

    // ---- nodes

    /// A copy of `n` with other arguments, placed where the user can see it.
    Node* copy(const Node* n, const Frame* frame, std::span<Node* const> args);

    /// Where what does not fit in a standard macro is most likely written.
    static Loc argument_start(const Node* call);
    Node* finish(Node* out);
    Node* error_like(const Node* n);
    Node* too_much(Node* at, const char* how);
    Node* name_of(Local* local, const Node* like, const Frame* frame);

    // ---- expressions

    Node* expand(Node* n, Frame* frame, Where where = Where::Value);
    Node* dispatch(Node* n, Frame* frame, Where where);
    Node* operation(Node* n, Frame* frame, Where where);

    /// Constants mean the same everywhere, so most are shared with the surface tree.
    Node* constant(Node* n, const Frame* frame);
    Node* all_args(Node* n, Frame* frame, Where where);
    Node* infix(Node* n, Frame* frame);
    Node* not_data(Node* n, const char* what);
    Node* no_value(Node* n, const Frame* frame);
    Node* name(Node* n, Frame* frame, Where where);

    /// Inside the function of a loop that was handed the builder `b` by name, `b` is what the function calls
    /// it.
    Local* stands_for(Local* local, const Node* at);
    Node* block(Node* n, Frame* frame);
    void bind(const Binding& b, Frame* frame, std::vector<Binding>& bindings);
    Node* with_bindings(const Node* n, const Frame* frame, std::span<const Binding> bindings,
                        std::span<Node* const> args);

    /// A function that nobody calls is typed all the same, as far as that goes.
    void unused_function(Value& v);

    // ---- functions

    /// The function that `n` means, if it means one without computing anything.
    std::optional<Value> as_function(Node* n, Frame* frame);
    static bool is_function_body(const Node* n);

    /// A copy of a function, for its place under a loop, `iterate` or `sort`.
    Node* lambda(const Value& f, const Node* at);

    /// `|x, y| f(x, y)` for a definition `f`.
    Node* call_of(Definition* d, const Node* at);
    Node* definition_call(Definition* d, const Node* at, const Frame* frame, std::span<Node* const> args);

    /// `sort(v, f)`, `sort(v, f, n)`, `iterate(x, f)`
    Node* with_function(Node* n, Frame* frame, const char* what, const char* shape);
    Node* with_functions(Node* n, Frame* frame);
    Node* function_arg(Node* n, Frame* frame, const char* what, const char* shape);
    Node* loop(Node* n, Frame* frame);
    Node* loop_function(Node* n, const Node* builder, Frame* frame);

    // ---- calls

    Node* apply(Node* n, Frame* frame, Where where);

    /// The frame to read the body of a macro in.
    Frame* enter_macro(Node* n, Frame* frame);
    Node* call_macro(Node* n, Frame* frame, Where where);

    /// Annotations of a macro call go to what it is about: the loop, if it makes the result of one.
    Node* annotate(Node* out, const Node* call);

    /// `f(a, b)` is a block that binds the parameters; functions among the arguments are not bound but known.
    Node* call_function(Node* n, Frame* frame);
    Node* inline_call(Node* n, const Value& f, Frame* frame);
    Node* not_a_function(Node* n, Frame* frame);

    /// For what is wrong inside, where it is not known what may stand there.
    Node* expand_any(Node* n, Frame* frame);

    /// Where a call begins for the user: at the function, which in a standard macro is the user's argument.
    Node* expand_place(Node* n, Frame* frame);

    Reader& reader_;
    std::vector<std::pair<Local*, Local*>> handed_;  // builders given to the loops around here, by what
    std::size_t budget_;
    std::size_t copied_ = 0;
    std::uint32_t depth_ = 0;
    bool exhausted_ = false;
};

}  // namespace weld::front
