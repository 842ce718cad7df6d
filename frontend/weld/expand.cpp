// Expansion of expressions: copies of nodes with what their names mean, within limits of size and depth.
#include "frontend/weld/expander.h"

namespace weld::front {

void Expander::run() {
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

Frame* Expander::make_frame(std::uint32_t size, Frame* outer) {
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

Value& Expander::slot(const Binding* b, Frame* frame) {
    while (frame->depth > b->depth) frame = frame->outer;
    return frame->slots[b->slot];
}

Local* Expander::make_local(const Binding& b, const Frame* frame) {
    Local* l = reader_.arena.make<Local>();
    l->name = b.name;
    l->loc = frame->call ? frame->call->start : b.loc;
    return l;
}

Node* Expander::copy(const Node* n, const Frame* frame, std::span<Node* const> args) {
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

Loc Expander::argument_start(const Node* call) {
    return call->args.size() > 1 ? call->args[1]->start : call->start;
}

Node* Expander::finish(Node* out) {
    measure(out);
    if (out->height > kMaxHeight && out->form != Form::Error) return too_much(out, "is nested too deeply");
    if (++copied_ > budget_) return too_much(out, "grows too large");
    return out;
}

Node* Expander::error_like(const Node* n) {
    Node* out = reader_.arena.make<Node>(*n);
    out->form = Form::Error;
    out->args = {};
    out->bindings = {};
    measure(out);
    return out;
}

Node* Expander::too_much(Node* at, const char* how) {
    const Expansion* outermost = at->expansion;
    while (outermost && outermost->outer) outermost = outermost->outer;
    if (!exhausted_)
        reader_.diagnostics.error(outermost ? outermost->call : at->start,
                                  "the program {} when its macros and functions are expanded", how);
    exhausted_ = true;
    return error_like(at);
}

Node* Expander::name_of(Local* local, const Node* like, const Frame* frame) {
    Node* out = copy(like, frame, {});
    out->form = Form::Name;
    out->text = local->name;
    out->local = local;
    return out;
}

Node* Expander::expand(Node* n, Frame* frame, Where where) {
    if (exhausted_) return error_like(n);
    if (depth_ > kMaxNesting) return too_much(n, "is nested too deeply");
    ++depth_;
    Node* out = is_infix(n) ? infix(n, frame) : dispatch(n, frame, where);
    --depth_;
    return out;
}

Node* Expander::dispatch(Node* n, Frame* frame, Where where) {
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

Node* Expander::operation(Node* n, Frame* frame, Where where) {
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

Node* Expander::constant(Node* n, const Frame* frame) {
    return frame->call || frame->expansion ? copy(n, frame, {}) : n;
}

Node* Expander::all_args(Node* n, Frame* frame, Where where) {
    std::vector<Node*> args;
    args.reserve(n->args.size());
    for (Node* a : n->args) args.push_back(expand(a, frame, where));
    return copy(n, frame, args);
}

Node* Expander::infix(Node* n, Frame* frame) {
    const std::vector<Node*> spine = left_spine(n);
    Node* left = expand(spine.back()->args[0], frame);
    for (auto at = spine.rbegin(); at != spine.rend(); ++at) {
        Node* args[] = {left, expand((*at)->args[1], frame)};
        left = copy(*at, frame, args);
    }
    return left;
}

Node* Expander::not_data(Node* n, const char* what) {
    error_at(reader_, n,
             "{} stands only where a loop takes its data: `for(zip(...), ...)`, `for(iter(...), ...)`", what);
    return error_like(n);
}

Node* Expander::no_value(Node* n, const Frame* frame) {
    Node* at = copy(n, frame, {});
    error_at(reader_, at,
             "functions are not values; they can be called, bound with `let`, and given to `for`, "
             "`iterate`, `sort` and macros");
    return error_like(at);
}

Node* Expander::name(Node* n, Frame* frame, Where where) {
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

Local* Expander::stands_for(Local* local, const Node* at) {
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

Node* Expander::block(Node* n, Frame* frame) {
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

void Expander::bind(const Binding& b, Frame* frame, std::vector<Binding>& bindings) {
    Local* local = make_local(b, frame);
    slot(&b, frame) = {.kind = Value::Variable, .local = local};
    bindings.push_back(b);
    bindings.back().local = local;
}

Node* Expander::with_bindings(const Node* n, const Frame* frame, std::span<const Binding> bindings,
                              std::span<Node* const> args) {
    Node* out = copy(n, frame, args);
    if (out->form != Form::Error) out->bindings = reader_.arena.copy(bindings);
    return out;
}

void Expander::unused_function(Value& v) {
    if (v.kind != Value::Function || v.called || v.definition) return;
    v.called = true;
    reader_.program.unused.push_back(lambda(v, v.node));
}

void expand(Reader& reader) { Expander(reader).run(); }

}  // namespace weld::front
