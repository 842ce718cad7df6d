// Expansion of functions and calls: the bodies of functions and macros in the place of their calls.
#include "frontend/weld/expander.h"

namespace weld::front {

std::optional<Value> Expander::as_function(Node* n, Frame* frame) {
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

bool Expander::is_function_body(const Node* n) {
    return n->is(Op::Lambda) || n->form == Form::Name ||
           (n->form == Form::Apply && n->callee == Node::Callee::Macro);
}

Node* Expander::lambda(const Value& f, const Node* at) {
    if (f.definition) return call_of(f.definition, at);
    Frame* frame = make_frame(f.node->frame_size, f.frame);
    std::vector<Binding> bindings;
    for (const Binding& p : f.node->bindings) bind(p, frame, bindings);
    Node* body = expand(f.node->args[0], frame);
    return with_bindings(f.node, frame, bindings, {&body, 1});
}

Node* Expander::call_of(Definition* d, const Node* at) {
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

Node* Expander::definition_call(Definition* d, const Node* at, const Frame* frame,
                                std::span<Node* const> args) {
    Node* out = copy(at, frame, args);
    if (out->form == Form::Error) return out;
    out->form = Form::Op;
    out->op = Op::Call;
    out->definition = d;
    return out;
}

Node* Expander::with_function(Node* n, Frame* frame, const char* what, const char* shape) {
    Node* first = expand(n->args[0], frame);
    Node* function = function_arg(n->args[1], frame, what, shape);
    Node* args[] = {first, function, n->args.size() > 2 ? expand(n->args[2], frame) : nullptr};
    return copy(n, frame, std::span(args).first(n->args.size()));
}

Node* Expander::with_functions(Node* n, Frame* frame) {
    std::vector<Node*> args = {expand(n->args[0], frame)};
    for (Node* f : n->args.subspan(1))
        args.push_back(function_arg(f, frame, "iterate", "|state| {..., again}"));
    return copy(n, frame, args);
}

Node* Expander::function_arg(Node* n, Frame* frame, const char* what, const char* shape) {
    if (n->form == Form::Error) return n;
    if (std::optional<Value> f = as_function(n, frame)) return lambda(*f, n);
    if (exhausted_) return error_like(n);
    const std::size_t errors = reader_.diagnostics.num_errors();
    Node* found = expand(n, frame);  // for its place, and for what is wrong inside
    if (reader_.diagnostics.num_errors() == errors && found->form != Form::Error)
        error_at(reader_, found, "`{}` takes a function here: `{}`", what, shape);
    return error_like(found);
}

Node* Expander::loop(Node* n, Frame* frame) {
    Node* data = expand(n->args[0], frame, Where::Data);
    Node* builder = expand(n->args[1], frame);
    Node* args[] = {data, builder, loop_function(n->args[2], builder, frame)};
    return copy(n, frame, args);
}

Node* Expander::loop_function(Node* n, const Node* builder, Frame* frame) {
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

Node* Expander::apply(Node* n, Frame* frame, Where where) {
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

Frame* Expander::enter_macro(Node* n, Frame* frame) {
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

Node* Expander::call_macro(Node* n, Frame* frame, Where where) {
    if (n->macro->recursive) return error_like(n);
    Node* out = expand(n->macro->body, enter_macro(n, frame), where);
    return n->annotations ? annotate(out, n) : out;
}

Node* Expander::annotate(Node* out, const Node* call) {
    Node* at = out;
    if (at->is(Op::Result) && at->args[0]->is(Op::For)) at = at->args[0];
    if (at->annotations) return out;
    if (at == out) out = at = reader_.arena.make<Node>(*at);  // it may be a part of the surface tree
    at->annotations = call->annotations;
    return out;
}

Node* Expander::call_function(Node* n, Frame* frame) {
    std::optional<Value> f = as_function(n->args[0], frame);
    if (!f) return not_a_function(n, frame);
    const std::size_t want =
        f->definition ? f->definition->lambda->bindings.size() : f->node->bindings.size();
    if (want != n->args.size() - 1) {
        Node* at = expand_place(n, frame);
        error_at(reader_, at, "this function takes {} argument{}, and is called with {}", want,
                 want == 1 ? "" : "s", n->args.size() - 1);
        return error_like(at);
    }
    if (f->definition) {
        std::vector<Node*> args;
        for (Node* a : n->args.subspan(1)) args.push_back(expand(a, frame));
        return definition_call(f->definition, n, frame, args);
    }
    return inline_call(n, *f, frame);
}

Node* Expander::inline_call(Node* n, const Value& f, Frame* frame) {
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

Node* Expander::not_a_function(Node* n, Frame* frame) {
    const std::size_t errors = reader_.diagnostics.num_errors();
    Node* callee = expand(n->args[0], frame);
    for (Node* a : n->args.subspan(1)) (void)expand_any(a, frame);
    if (callee->form == Form::Error || reader_.diagnostics.num_errors() > errors) return error_like(callee);
    if (callee->form == Form::Name) error_at(reader_, callee, "`{}` is not a function", callee->text);
    else error_at(reader_, callee, "this is not a function, so it cannot be called");
    return error_like(callee);
}

Node* Expander::expand_any(Node* n, Frame* frame) {
    if (std::optional<Value> f = as_function(n, frame)) return lambda(*f, n);
    return expand(n, frame, Where::Data);
}

Node* Expander::expand_place(Node* n, Frame* frame) {
    Node* out = error_like(n);
    out->expansion = frame->expansion;
    if (!frame->call) return out;
    out->loc = frame->call->loc;
    out->start = frame->call->start;
    for (Node* callee = n->args[0]; callee->form == Form::Name && callee->callee == Node::Callee::Value;) {
        const Value& v = slot(callee->binding, frame);
        if (v.kind != Value::Tree) break;
        callee = v.node;
        frame = v.frame;
        if (!frame->call) out->start = callee->start;
    }
    return out;
}

}  // namespace weld::front
