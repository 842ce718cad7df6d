// Expansion: macro calls become the bodies of the macros, calls of functions become blocks that bind the
// arguments.
//
//   macro inc(x) = x + 1; let f = |y| inc(y) * 2; f(3)    becomes    let y = 3; (y + 1) * 2
//
// A function of the text that is entered gets a *frame* with a value for each name that it binds: a Local, a
// function together with the frame around it, or (parameters of macros) a tree together with the frame to
// read it in. That makes expansion hygienic without renaming: a tree always means what it means where it was
// written. Positions of nodes that come from standard.weld are those of the user's call.
#include <optional>

#include "frontend/weld/reader.h"

namespace weld::front {
namespace {

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

    void run() {
        Program& p = reader_.program;
        for (const auto& d : p.definitions) {
            Frame* frame = make_frame(0, nullptr);
            d->lambda = lambda({.kind = Value::Function, .node = d->lambda, .frame = frame}, d->lambda);
        }
        Frame* frame = make_frame(p.frame_size, nullptr);
        if (p.main->is(Op::Lambda))
            p.main = lambda({.kind = Value::Function, .node = p.main, .frame = frame}, p.main);
        else p.main = expand(p.main, frame);
    }

  private:
    // ---- frames

    Frame* make_frame(std::uint32_t size, Frame* outer) {
        Frame* f = reader_.arena.make<Frame>();
        f->slots = static_cast<Value*>(reader_.arena.allocate(size * sizeof(Value), alignof(Value)));
        for (std::uint32_t i = 0; i < size; ++i) new (f->slots + i) Value();
        f->outer = outer;
        if (outer) {
            f->depth = outer->depth + 1;
            f->call = outer->call;
            f->expansion = outer->expansion;
        }
        return f;
    }

    static Value& slot(const Binding* b, Frame* frame) {
        while (frame->depth > b->depth) frame = frame->outer;
        return frame->slots[b->slot];
    }

    Local* make_local(const Binding& b, const Frame* frame) {
        Local* l = reader_.arena.make<Local>();
        l->name = b.name;
        l->loc = frame->call ? frame->call->start : b.loc;
        return l;
    }

    // ---- nodes

    /// A copy of `n` with other arguments, placed where the user can see it.
    Node* copy(const Node* n, const Frame* frame, std::span<Node* const> args) {
        Node* out = reader_.arena.make<Node>(*n);
        out->args = reader_.arena.copy(args);
        out->expansion = frame->expansion;
        if (frame->call) {
            out->loc = frame->call->loc;
            const bool begins_with_arg =
                is_infix(n) || n->form == Form::Apply || n->form == Form::Ascribe || n->is(Op::GetField);
            out->start = begins_with_arg && !args.empty() ? args[0]->start : argument_start(frame->call);
        }
        return finish(out);
    }

    /// Where what does not fit in a standard macro is most likely written.
    static Loc argument_start(const Node* call) {
        return call->args.size() > 1 ? call->args[1]->start : call->start;
    }

    Node* finish(Node* out) {
        measure(out);
        if (out->height > kMaxHeight && out->form != Form::Error)
            return too_much(out, "is nested too deeply");
        if (++copied_ > budget_) return too_much(out, "grows too large");
        return out;
    }

    Node* error_like(const Node* n) {
        Node* out = reader_.arena.make<Node>(*n);
        out->form = Form::Error;
        out->args = {};
        out->bindings = {};
        measure(out);
        return out;
    }

    Node* too_much(Node* at, const char* how) {
        const Expansion* outermost = at->expansion;
        while (outermost && outermost->outer) outermost = outermost->outer;
        if (!exhausted_)
            reader_.diagnostics.error(outermost ? outermost->call : at->start,
                                      "the program {} when its macros and functions are expanded", how);
        exhausted_ = true;
        return error_like(at);
    }

    Node* name_of(Local* local, const Node* like, const Frame* frame) {
        Node* out = copy(like, frame, {});
        out->form = Form::Name;
        out->text = local->name;
        out->local = local;
        return out;
    }

    // ---- expressions

    Node* expand(Node* n, Frame* frame, Where where = Where::Value) {
        if (exhausted_) return error_like(n);
        if (depth_ > kMaxNesting) return too_much(n, "is nested too deeply");
        ++depth_;
        Node* out = is_infix(n) ? infix(n, frame) : dispatch(n, frame, where);
        --depth_;
        return out;
    }

    Node* dispatch(Node* n, Frame* frame, Where where) {
        switch (n->form) {
            case Form::Error: return n;
            case Form::String: return constant(n, frame);
            case Form::Name: return name(n, frame, where);
            case Form::Apply: return apply(n, frame, where);
            case Form::Ascribe: return all_args(n, frame, Where::Value);
            case Form::Zip:
                if (where == Where::Data) return all_args(n, frame, Where::Data);
                return not_data(n, "`zip`");
            case Form::Op: return operation(n, frame, where);
        }
        return n;
    }

    Node* operation(Node* n, Frame* frame, Where where) {
        switch (n->op) {
            case Op::Literal: return constant(n, frame);
            case Op::Block: return block(n, frame);
            case Op::Lambda: return no_value(n, frame);
            case Op::For: return loop(n, frame);
            case Op::Sort: return with_function(n, frame, "sort", "|x, y| ...");
            case Op::Iterate: return with_functions(n, frame);
            case Op::Iter:
                if (where == Where::Data) return all_args(n, frame, Where::Value);
                return not_data(n, "an iterator");
            default: return all_args(n, frame, Where::Value);
        }
    }

    /// Constants mean the same everywhere, so most are shared with the surface tree.
    Node* constant(Node* n, const Frame* frame) {
        return frame->call || frame->expansion ? copy(n, frame, {}) : n;
    }

    Node* all_args(Node* n, Frame* frame, Where where) {
        std::vector<Node*> args;
        args.reserve(n->args.size());
        for (Node* a : n->args) args.push_back(expand(a, frame, where));
        return copy(n, frame, args);
    }

    Node* infix(Node* n, Frame* frame) {
        const std::vector<Node*> spine = left_spine(n);
        Node* left = expand(spine.back()->args[0], frame);
        for (auto at = spine.rbegin(); at != spine.rend(); ++at) {
            Node* args[] = {left, expand((*at)->args[1], frame)};
            left = copy(*at, frame, args);
        }
        return left;
    }

    Node* not_data(Node* n, const char* what) {
        error_at(reader_, n,
                 "{} stands only where a loop takes its data: `for(zip(...), ...)`, `for(iter(...), ...)`",
                 what);
        return error_like(n);
    }

    Node* no_value(Node* n, const Frame* frame) {
        Node* at = copy(n, frame, {});
        error_at(reader_, at,
                 "functions are not values; they can be called, bound with `let`, and given to `for`, "
                 "`iterate`, `sort` and macros");
        return error_like(at);
    }

    Node* name(Node* n, Frame* frame, Where where) {
        if (n->callee == Node::Callee::Definition) return no_value(n, frame);
        const Value& v = slot(n->binding, frame);
        switch (v.kind) {
            case Value::Variable: return name_of(stands_for(v.local, n), n, frame);
            case Value::Tree: return expand(v.node, v.frame, where);
            case Value::Function: slot(n->binding, frame).called = true; return no_value(n, frame);
            case Value::None: break;
        }
        return error_like(n);  // its binding has been reported
    }

    /// Inside the function of a loop that was handed the builder `b` by name, `b` is what the function calls
    /// it.
    Local* stands_for(Local* local, const Node* at) {
        const Local* written = local;
        for (auto [outer, inner] : handed_)
            if (outer == local) local = inner;
        if (local != written)
            reader_.diagnostics
                .warning(at->start, "`{}` was handed to the loop; inside, it stands for `{}`", written->name,
                         local->name)
                .label(local->loc, "the builder of the loop");
        return local;
    }

    Node* block(Node* n, Frame* frame) {
        std::vector<Node*> args;
        std::vector<Binding> bindings;
        for (std::size_t i = 0; i < n->bindings.size(); ++i) {
            const Binding& b = n->bindings[i];
            if (std::optional<Value> f = as_function(n->args[i], frame)) {
                if (b.type)
                    reader_.diagnostics.error(b.type->loc, "`{}` is a function, which has no written type",
                                              b.name);
                slot(&b, frame) = *f;
                slot(&b, frame).called = false;
                continue;
            }
            args.push_back(expand(n->args[i], frame));
            bind(b, frame, bindings);
        }
        args.push_back(expand(n->args.back(), frame));
        for (const Binding& b : n->bindings) unused_function(slot(&b, frame));
        if (bindings.empty()) return args.back();
        return with_bindings(n, frame, bindings, args);
    }

    void bind(const Binding& b, Frame* frame, std::vector<Binding>& bindings) {
        Local* local = make_local(b, frame);
        slot(&b, frame) = {.kind = Value::Variable, .local = local};
        bindings.push_back(b);
        bindings.back().local = local;
    }

    Node* with_bindings(const Node* n, const Frame* frame, std::span<const Binding> bindings,
                        std::span<Node* const> args) {
        Node* out = copy(n, frame, args);
        if (out->form != Form::Error) out->bindings = reader_.arena.copy(bindings);
        return out;
    }

    /// A function that nobody calls is typed all the same, as far as that goes.
    void unused_function(Value& v) {
        if (v.kind != Value::Function || v.called || v.definition) return;
        v.called = true;
        reader_.program.unused.push_back(lambda(v, v.node));
    }

    // ---- functions

    /// The function that `n` means, if it means one without computing anything.
    std::optional<Value> as_function(Node* n, Frame* frame) {
        if (exhausted_) return std::nullopt;
        if (n->is(Op::Lambda)) return Value{.kind = Value::Function, .node = n, .frame = frame};
        if (n->form == Form::Name && n->callee == Node::Callee::Definition)
            return Value{.kind = Value::Function, .definition = n->definition};
        if (n->form == Form::Name && n->binding) {
            Value& v = slot(n->binding, frame);
            if (v.kind == Value::Tree) return as_function(v.node, v.frame);
            if (v.kind != Value::Function) return std::nullopt;
            v.called = true;
            return v;
        }
        if (n->form == Form::Apply && n->callee == Node::Callee::Macro && !n->macro->recursive) {
            if (depth_ > kMaxNesting) return std::nullopt;
            ++depth_;
            std::optional<Value> out;
            if (is_function_body(n->macro->body)) out = as_function(n->macro->body, enter_macro(n, frame));
            --depth_;
            return out;
        }
        return std::nullopt;
    }

    static bool is_function_body(const Node* n) {
        return n->is(Op::Lambda) || n->form == Form::Name ||
               (n->form == Form::Apply && n->callee == Node::Callee::Macro);
    }

    /// A copy of a function, for its place under a loop, `iterate` or `sort`.
    Node* lambda(const Value& f, const Node* at) {
        if (f.definition) return call_of(f.definition, at);
        Frame* frame = make_frame(f.node->frame_size, f.frame);
        std::vector<Binding> bindings;
        for (const Binding& p : f.node->bindings) bind(p, frame, bindings);
        Node* body = expand(f.node->args[0], frame);
        return with_bindings(f.node, frame, bindings, {&body, 1});
    }

    /// `|x, y| f(x, y)` for a definition `f`.
    Node* call_of(Definition* d, const Node* at) {
        Frame outside;
        std::vector<Binding> bindings(d->lambda->bindings.begin(), d->lambda->bindings.end());
        std::vector<Node*> args;
        for (Binding& b : bindings) {
            b.local = make_local(b, &outside);
            args.push_back(name_of(b.local, at, &outside));
        }
        Node* body = definition_call(d, at, &outside, args);
        Node* out = error_like(at);
        out->form = Form::Op;
        out->op = Op::Lambda;
        out->bindings = reader_.arena.copy(std::span<const Binding>(bindings));
        out->args = reader_.arena.copy(std::span<Node* const>(&body, 1));
        return finish(out);
    }

    Node* definition_call(Definition* d, const Node* at, const Frame* frame, std::span<Node* const> args) {
        Node* out = copy(at, frame, args);
        if (out->form == Form::Error) return out;
        out->form = Form::Op;
        out->op = Op::Call;
        out->definition = d;
        return out;
    }

    /// `sort(v, f)`, `sort(v, f, n)`, `iterate(x, f)`
    Node* with_function(Node* n, Frame* frame, const char* what, const char* shape) {
        Node* first = expand(n->args[0], frame);
        Node* function = function_arg(n->args[1], frame, what, shape);
        Node* args[] = {first, function, n->args.size() > 2 ? expand(n->args[2], frame) : nullptr};
        return copy(n, frame, std::span(args).first(n->args.size()));
    }

    Node* with_functions(Node* n, Frame* frame) {
        std::vector<Node*> args = {expand(n->args[0], frame)};
        for (Node* f : n->args.subspan(1))
            args.push_back(function_arg(f, frame, "iterate", "|state| {..., again}"));
        return copy(n, frame, args);
    }

    Node* function_arg(Node* n, Frame* frame, const char* what, const char* shape) {
        if (n->form == Form::Error) return n;
        if (std::optional<Value> f = as_function(n, frame)) return lambda(*f, n);
        if (exhausted_) return error_like(n);
        const std::size_t errors = reader_.diagnostics.num_errors();
        Node* found = expand(n, frame);  // for its place, and for what is wrong inside
        if (reader_.diagnostics.num_errors() == errors && found->form != Form::Error)
            error_at(reader_, found, "`{}` takes a function here: `{}`", what, shape);
        return error_like(found);
    }

    Node* loop(Node* n, Frame* frame) {
        Node* data = expand(n->args[0], frame, Where::Data);
        Node* builder = expand(n->args[1], frame);
        Node* args[] = {data, builder, loop_function(n->args[2], builder, frame)};
        return copy(n, frame, args);
    }

    Node* loop_function(Node* n, const Node* builder, Frame* frame) {
        std::optional<Value> f = as_function(n, frame);
        if (!f || f->definition || f->node->bindings.size() != 3 || builder->form != Form::Name)
            return function_arg(n, frame, "for", "|builder, index, element| ...");
        Frame* inside = make_frame(f->node->frame_size, f->frame);
        std::vector<Binding> bindings;
        for (const Binding& p : f->node->bindings) bind(p, inside, bindings);
        handed_.emplace_back(builder->local, bindings[0].local);
        Node* body = expand(f->node->args[0], inside);
        handed_.pop_back();
        return with_bindings(f->node, inside, bindings, {&body, 1});
    }

    // ---- calls

    Node* apply(Node* n, Frame* frame, Where where) {
        switch (n->callee) {
            case Node::Callee::Macro: return call_macro(n, frame, where);
            case Node::Callee::Definition: {
                std::vector<Node*> args;
                for (Node* a : n->args.subspan(1)) args.push_back(expand(a, frame));
                return definition_call(n->definition, n, frame, args);
            }
            case Node::Callee::Cast: {
                Node* of = expand(n->args[1], frame);
                Node* out = copy(n, frame, {&of, 1});
                if (out->form == Form::Error) return out;
                out->form = Form::Op;
                out->op = Op::Cast;
                return out;
            }
            case Node::Callee::Value: break;
        }
        return call_function(n, frame);
    }

    /// The frame to read the body of a macro in.
    Frame* enter_macro(Node* n, Frame* frame) {
        Macro* m = n->macro;
        Frame* inside = make_frame(m->frame_size, nullptr);
        if (m->internal) {
            inside->call = frame->call ? frame->call : n;
            inside->expansion = frame->expansion;
        } else {
            inside->expansion = reader_.arena.make<Expansion>(
                m->name, frame->call ? frame->call->start : n->start, frame->expansion);
        }
        for (std::size_t i = 0; i < m->params.size(); ++i)
            slot(&m->params[i], inside) = {.kind = Value::Tree, .node = n->args[i + 1], .frame = frame};
        return inside;
    }

    Node* call_macro(Node* n, Frame* frame, Where where) {
        if (n->macro->recursive) return error_like(n);
        Node* out = expand(n->macro->body, enter_macro(n, frame), where);
        return n->annotations ? annotate(out, n) : out;
    }

    /// Annotations of a macro call go to what it is about: the loop, if it makes the result of one.
    Node* annotate(Node* out, const Node* call) {
        Node* at = out;
        if (at->is(Op::Result) && at->args[0]->is(Op::For)) at = at->args[0];
        if (at->annotations) return out;
        if (at == out) out = at = reader_.arena.make<Node>(*at);  // it may be a part of the surface tree
        at->annotations = call->annotations;
        return out;
    }

    /// `f(a, b)` is a block that binds the parameters; functions among the arguments are not bound but known.
    Node* call_function(Node* n, Frame* frame) {
        std::optional<Value> f = as_function(n->args[0], frame);
        if (!f) return not_a_function(n, frame);
        const std::size_t want =
            f->definition ? f->definition->lambda->bindings.size() : f->node->bindings.size();
        if (want != n->args.size() - 1) {
            Node* at = expand_place(n, frame);
            error_at(reader_, at, "this function takes {} argument{}, found {}", want, want == 1 ? "" : "s",
                     n->args.size() - 1);
            return error_like(at);
        }
        if (f->definition) {
            std::vector<Node*> args;
            for (Node* a : n->args.subspan(1)) args.push_back(expand(a, frame));
            return definition_call(f->definition, n, frame, args);
        }
        return inline_call(n, *f, frame);
    }

    Node* inline_call(Node* n, const Value& f, Frame* frame) {
        Frame* inside = make_frame(f.node->frame_size, f.frame);
        std::vector<Binding> bindings;
        std::vector<Node*> args;
        for (std::size_t i = 0; i < f.node->bindings.size(); ++i) {
            const Binding& p = f.node->bindings[i];
            Node* arg = n->args[i + 1];
            if (std::optional<Value> g = as_function(arg, frame)) {
                slot(&p, inside) = *g;
                continue;
            }
            args.push_back(expand(arg, frame));
            bind(p, inside, bindings);
        }
        args.push_back(expand(f.node->args[0], inside));
        if (bindings.empty()) return args.back();
        Node* out = with_bindings(f.node, inside, bindings, args);
        if (out->form == Form::Error) return out;
        out->op = Op::Block;
        out->start = expand_place(n, frame)->start;
        return out;
    }

    Node* not_a_function(Node* n, Frame* frame) {
        const std::size_t errors = reader_.diagnostics.num_errors();
        Node* callee = expand(n->args[0], frame);
        for (Node* a : n->args.subspan(1)) (void)expand_any(a, frame);
        if (callee->form == Form::Error || reader_.diagnostics.num_errors() > errors)
            return error_like(callee);
        if (callee->form == Form::Name) error_at(reader_, callee, "`{}` is not a function", callee->text);
        else error_at(reader_, callee, "this is not a function, so it cannot be called");
        return error_like(callee);
    }

    /// For what is wrong inside, where it is not known what may stand there.
    Node* expand_any(Node* n, Frame* frame) {
        if (std::optional<Value> f = as_function(n, frame)) return lambda(*f, n);
        return expand(n, frame, Where::Data);
    }

    /// Where a call begins for the user: at the function, which in a standard macro is the user's argument.
    Node* expand_place(Node* n, Frame* frame) {
        Node* out = error_like(n);
        out->expansion = frame->expansion;
        if (!frame->call) return out;
        out->loc = frame->call->loc;
        out->start = frame->call->start;
        for (Node* callee = n->args[0];
             callee->form == Form::Name && callee->callee == Node::Callee::Value;) {
            const Value& v = slot(callee->binding, frame);
            if (v.kind != Value::Tree) break;
            callee = v.node;
            frame = v.frame;
            if (!frame->call) out->start = callee->start;
        }
        return out;
    }

    Reader& reader_;
    std::vector<std::pair<Local*, Local*>> handed_;  // builders given to the loops around here, by what
    std::size_t budget_;
    std::size_t copied_ = 0;
    std::uint32_t depth_ = 0;
    bool exhausted_ = false;
};

}  // namespace

void expand(Reader& reader) { Expander(reader).run(); }

}  // namespace weld::front
