// Checking a module: one walk in program order. Here the nodes one by one, and the place of effects.
#include "weldir/ir/verify.h"

#include "weldir/ir/facts.h"
#include "weldir/ir/verifier.h"

namespace weld {

std::string Verifier::run() {
    check_functions();
    find_effects();
    find_summaries();
    for (const Function* f : m_.functions)
        if (f->lambda && error_.empty()) function(f->lambda);
    if (error_.empty()) {
        if (!m_.main || m_.main->op != Op::Lambda) return "the module has no main program";
        function(m_.main);
    }
    return error_;
}

void Verifier::check_functions() {
    std::unordered_set<std::string_view> names;
    for (const Function* f : m_.functions) {
        if (!names.insert(f->name).second) error_ = fmt::format("two functions are called `{}`", f->name);
        if (f->lambda && (f->lambda->op != Op::Lambda || f->lambda->type != f->type))
            error_ = fmt::format("the body of `{}` has another type", f->name);
        if (!fit(f->holds, f->type->params(), f->type->result()))
            error_ = fmt::format("`{}` holds sizes that are not there", f->name);
    }
}

void Verifier::find_effects() {
    std::unordered_map<const Function*, std::vector<const Function*>> callers;
    std::vector<const Function*> work;
    for (const Function* f : m_.functions) {
        if (!f->lambda) continue;
        visit_nodes(f->lambda, [&](const Expr* e) {
            if (e->op == Op::Call) callers[e->attr.function].push_back(f);
            if (e->op == Op::Kernel && e->attr.kernel->effect && effects_.insert(f).second) work.push_back(f);
        });
    }
    while (!work.empty()) {
        const Function* f = work.back();
        work.pop_back();
        for (const Function* caller : callers[f])
            if (effects_.insert(caller).second) work.push_back(caller);
    }
}

static const Expr* result_of(Lambda function) {
    const Expr* body = function.body();
    return body->op == Op::Block ? body->as<Block>().result() : body;
}

void Verifier::check(const Expr* e) {
    if (!error_.empty()) return;
    if (std::string error = type_error(e); !error.empty()) fail(e, "{}", error);
    if (e->annotation(AttrKey::Function) && e != result_of(root_))
        fail(e, "the result of a function's body says how the function is compiled");
}

Origins Verifier::walk(const Expr* e, bool ordered) {
    check(e);
    if (!error_.empty()) return Origins(e->type ? leaves(e->type) : 0, kAny);
    switch (e->op) {
        case Op::Var: return variable(e);
        case Op::GetField: return field(e, ordered);
        case Op::Block: return block(e->as<Block>(), ordered);
        case Op::MakeStruct: return make_struct(e, ordered);
        case Op::If: return branches(e, ordered);
        case Op::Iterate: return iterate(e->as<Iterate>(), ordered);
        case Op::For: return loop(e->as<For>(), ordered);
        case Op::NewBuilder:
            arguments(e, ordered);
            if (e->annotation(AttrKey::Over) && !laid_over_.contains(e))
                fail(e, "an appender with which no loop starts goes over a datum");
            if (e->says(AttrKey::InPlace, true)) start_in_place(e);
            return {next_origin_++};
        case Op::ToVec: lists(e->arg(0), ordered); return {};
        case Op::Result:
            if (e->annotation(AttrKey::Listed) && may_list_ != e)
                fail(e, "a dictionary that is only listed has another reader");
            arguments(e, ordered);
            return {};
        case Op::Len: {
            if (e->arg(0)->type->is_dict()) return lists(e->arg(0), ordered), Origins();
            const Expr* of = e->arg(0);  // the length of a vector is no part of its memory
            if (!is_path(of) || !of->type->is_vec() || !is_freed(base_of(of))) arguments(e, ordered);
            return {};
        }
        case Op::Merge: return merge(e);
        case Op::Sort:
            walk(e->arg(0), false);
            ++loops_;
            inside(e->arg(1)->as<Lambda>(), {}, false);
            --loops_;
            if (e->num_args == 3) walk(e->arg(2), false);
            return {};
        case Op::Call: return call(e, ordered);
        case Op::Kernel:
            if (e->attr.kernel->effect && !ordered)
                fail(e, "an effect where the order of evaluation is not plain");
            arguments(e, ordered);
            return {};
        case Op::Lambda: fail(e, "a function where a value is wanted"); return {};
        case Op::Iter: fail(e, "an iterator outside of a loop"); return {};
        default: arguments(e, ordered); return {};
    }
}

Origins Verifier::arguments(const Expr* e, bool ordered) {
    Origins all;
    for (const Expr* a : e->args()) {
        const Origins o = walk(a, ordered && e->num_args == 1);
        all.insert(all.end(), o.begin(), o.end());
    }
    return all;
}

Origins Verifier::make_struct(const Expr* e, bool ordered) { return arguments(e, ordered); }

Origins Verifier::variable(const Expr* e) {
    const Symbol* s = e->attr.symbol;
    if (listed_.contains(s)) fail(e, "a dictionary that is only listed has another reader");
    read(s, e);
    return error_.empty() && s->type->holds_builder ? use(s, 0, leaves(s->type), e) : Origins();
}

Origins Verifier::field(const Expr* e, bool ordered) {
    std::size_t from = 0;
    const Expr* of = e;
    while (of->op == Op::GetField) {
        if (of != e) check(of);
        if (!error_.empty()) return {};
        from += leaves_before(of->arg(0)->type, of->attr.index);
        of = of->arg(0);
    }
    const std::size_t n = leaves(e->type);
    if (of->op == Op::Var) {
        check(of);
        // numbers beside a vector are no part of its memory
        if (error_.empty() && (e->type->holds_pointer || !is_freed(of->attr.symbol)))
            read(of->attr.symbol, of);
        return n && error_.empty() ? use(of->attr.symbol, from, from + n, e) : Origins();
    }
    Origins o = walk(of, ordered);
    if (o.size() != n) fail(e, "a builder is dropped");
    return o;
}

Origins Verifier::inside(Lambda l, Origins origins, bool ordered) {
    check(l.node);
    if (!error_.empty()) return {};
    ++depth_;
    bool is_first = true;
    for (const Symbol* p : l.params()) {
        bind(p, is_first && !origins.empty() ? origins : new_origins(p->type), l.node);
        is_first = false;
    }
    Origins out = walk(l.body(), ordered);
    for (const Symbol* p : l.params()) unbind(p, l.node);
    --depth_;
    return out;
}

Origins Verifier::iterate(Iterate it, bool ordered) {
    Origins state = walk(it.init(), false);
    const Origins in = new_origins(it.node->type);
    const Origins out = inside(it.body(), in, ordered);
    if (it.one_lane()) inside(it.one_lane(), {}, false);
    for (std::size_t i = 0; i < state.size() && i < out.size(); ++i)
        if (out[i] != in[i] && out[i] != kAny) state[i] = next_origin_++;
    return state;
}

/// What a loop, on lanes and one by one, changes in place and may read nevertheless, since its rounds are independent.
static const Symbol* read_while_it_changes(For f) {
    const Expr* start = f.builder();
    while (start->op == Op::For) start = start->as<For>().builder();
    const bool is_safe = start->says(AttrKey::InPlace, true) && start->says(AttrKey::Independent, true);
    return is_safe && start->arg(0)->op == Op::Var ? start->arg(0)->attr.symbol : nullptr;
}

Origins Verifier::loop(For f, bool ordered) {
    if (const Annotation* work = f.node->annotation(AttrKey::Work))
        for (const Symbol* s : work->symbols) read(s, f.node);
    for (const Expr* d : f.data()) {
        if (d->op != Op::Iter) {
            walk(d, false);
            continue;
        }
        check(d);
        arguments(d, false);
    }
    lay_over(f, f.builder());
    Origins state = walk(f.builder(), false);
    const Symbol* changed = read_while_it_changes(f);
    if (changed && !reused_.empty()) reused_.pop_back();
    const Origins in = new_origins(f.node->type);
    const Annotation* when = f.node->annotation(AttrKey::Optimize);
    if (loops_ > 0 && when && when->text == "later" && !f.node->annotation(AttrKey::Short))
        fail(f.node, "a loop in a loop is optimised with it, but for one that may be short");
    ++loops_;
    const Origins out = inside(f.body(), in, ordered && !f.node->says(AttrKey::Parallel, true));
    --loops_;
    for (std::size_t i = 0; i < in.size() && i < out.size(); ++i)
        if (out[i] != in[i] && out[i] != kAny)
            fail(f.node, "the function of a loop gives a builder that does not derive from its own");
    if (changed) reused_.push_back(changed);
    return state;
}

Origins Verifier::merge(const Expr* e) {
    // What is merged first is computed before a vector that the builder starts with changes.
    const bool starts = e->arg(0)->op == Op::NewBuilder;
    const Origins before = starts ? Origins() : walk(e->arg(0), false);
    for (std::size_t i = 1; i < e->num_args; ++i) walk(e->arg(i), false);
    return starts ? walk(e->arg(0), false) : before;
}

Origins Verifier::call(const Expr* e, bool ordered) {
    if (!ordered && effects_.count(e->attr.function))
        fail(e, "a call with an effect where the order of evaluation is not plain");
    if (e->annotation(AttrKey::TailCall) && !last_calls_.contains(e))
        fail(e, "a tail call is not the last thing that its function does");
    const Origins args = arguments(e, ordered);
    if (const Annotation* given = e->annotation(AttrKey::Give))
        for (const Symbol* s : given->symbols) {
            read(s, e);
            reused_.push_back(s);
        }
    auto at = summaries_.find(e->attr.function);
    if (at == summaries_.end()) return {};
    Origins out;
    for (Origin o : at->second)
        out.push_back(o >= 0 && std::size_t(o) < args.size() ? args[std::size_t(o)]
                      : o == kAny                            ? kAny
                                                             : next_origin_++);
    return out;
}

std::string verify(const Module& m) { return Verifier(m).run(); }

}  // namespace weld
