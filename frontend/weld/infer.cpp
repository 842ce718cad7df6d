// Type inference: one walk that unifies as it goes. A node whose rule depends on a type that is not known yet
// (which field? vector or dictionary?) waits for it. What still waits at the end gets the rule's default, if
// it has one; types that stay unknown are for `check` to report.
#include <algorithm>

#include "frontend/weld/advice.h"
#include "frontend/weld/inference.h"

namespace weld::front {

void Inference::run() {
    Program& p = r_.program;
    for (const auto& d : p.definitions) declare(*d);
    for (const auto& d : p.definitions) define(*d);
    infer(p.main);
    for (Node* f : p.unused) infer(f);
    drain();
    settle();
}

// ---- messages ------------------------------------------------------------------------------------------

std::optional<Scalar> Inference::scalar_of(Term* term) {
    term = Terms::find(term);
    const bool is_scalar = term->kind == Term::Known && term->type->is_scalar();
    return is_scalar ? std::optional(term->type->scalar) : std::nullopt;
}

void Inference::suggest(Diagnostic& d, const Node* at, Term* want) {
    const auto to = scalar_of(want), found = scalar_of(at->term);
    if (to && found) d.note(advice(at, *found, *to));
}

void Inference::suggest_one_type(Diagnostic& d, const Node* a, const Node* b) {
    const auto type_a = scalar_of(a->term), type_b = scalar_of(b->term);
    if (type_a && type_b) d.note(advice_for_both(a, *type_a, b, *type_b));
}

bool Inference::demand(Node* at, Term* want, std::string_view what) {
    if (t_.unify(want, at->term)) return true;
    Diagnostic& d = error_at(r_, at, "{} is `{}`, found `{}`", what, t_.str(want), t_.str(at->term));
    suggest(d, at, want);
    return false;
}

// ---- waiting -------------------------------------------------------------------------------------------

Term* Inference::attempt(Node* n) {
    Term* blocker = nullptr;
    if (Term* known = solve(n, &blocker)) return known;
    t_.wait(blocker, n);
    waiting_.push_back(n);
    unsolved_.insert(n);
    return t_.variable(n->start);
}

void Inference::retry(Node* n) {
    if (!unsolved_.contains(n)) return;
    Term* blocker = nullptr;
    Term* known = solve(n, &blocker);
    if (!known) return t_.wait(blocker, n);
    unsolved_.erase(n);
    settle_result(n, known);
}

void Inference::settle_result(Node* n, Term* known) {
    if (!t_.unify(n->term, known))
        error_at(r_, n, "this is `{}`, but `{}` is needed here", t_.str(known), t_.str(n->term));
}

void Inference::drain() {
    for (std::vector<Node*> ready = t_.take_ready(); !ready.empty(); ready = t_.take_ready())
        for (auto n = ready.rbegin(); n != ready.rend(); ++n) retry(*n);
}

void Inference::settle() {
    for (const auto& late : late_lanes_) set_lanes(late.lanes, late.elems);
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
        Node* n = waiting_[i];
        if (!unsolved_.contains(n)) continue;
        if (Term* known = default_of(n)) {
            unsolved_.erase(n);
            settle_result(n, known);
        }
        drain();
    }
    t_.settle_lanes();
    for (auto [at, term] : scalars_) check_scalar(at, term);
    for (auto [n, lanes] : fringes_) n->lanes = std::uint16_t(t_.count(lanes));
}

Term* Inference::default_of(Node* n) {
    if (n->is(Op::Merge)) return plain_merge(n, taken_by(n->args[0]->term));
    if (n->is(Op::Select)) return plain_select(n);
    if (n->form == Form::Op && is_comparison(n->op)) return t_.boolean();
    return nullptr;
}

void Inference::check_scalar(Node* at, Term* term) {
    if (Terms::is_unknown(term) || Terms::is_error(term) || Terms::is(term, TypeKind::Scalar)) return;
    error_at(r_, at, "simd values are made of scalars, found `{}`", t_.str(term));
}

// ---- functions and programs ----------------------------------------------------------------------------

void Inference::declare(Definition& d) {
    std::vector<Term*> params;
    for (Binding& b : d.lambda->bindings) {
        b.local->term = b.type ? t_.of(b.type) : t_.variable(b.loc);
        params.push_back(b.local->term);
    }
    d.term = t_.of(d.result);
    d.lambda->term = t_.function(params, d.term);
}

void Inference::define(Definition& d) {
    Node* body = d.lambda->args[0];
    infer(body);
    if (!t_.unify(d.term, body->term))
        error_at(r_, body, "`{}` gives `{}`, found `{}`", d.name, t_.str(d.term), t_.str(body->term));
    drain();
}

Term* Inference::function(Node* n) {
    std::vector<Term*> params;
    for (Binding& b : n->bindings) {
        b.local->term = b.type ? t_.of(b.type) : t_.variable(b.loc);
        params.push_back(b.local->term);
    }
    Term* body = infer(n->args[0]);
    drain();
    return t_.function(params, body);
}

bool Inference::enter(Node* f, std::string_view what, std::span<Term* const> params, const char* names) {
    if (f->form == Form::Error) return false;
    if (f->bindings.size() != params.size()) {
        error_at(r_, f, "the function of `{}` has {} parameter{} ({}), this one has {}", what, params.size(),
                 params.size() == 1 ? "" : "s", names, f->bindings.size());
        f->form = Form::Error;
        return false;
    }
    for (std::size_t i = 0; i < params.size(); ++i) {
        Binding& b = f->bindings[i];
        b.local->term = params[i];
        if (!b.type || t_.unify(params[i], t_.of(b.type))) continue;
        Diagnostic& d = r_.diagnostics.error(b.type->loc, "parameter `{}` is `{}` here, not `{}`", b.name,
                                             t_.str(params[i]), t_.str(t_.of(b.type)));
        if (Terms::is(params[i], TypeKind::Simd)) d.note("a `simditer` gives simd values");
    }
    f->term = t_.function(params, infer(f->args[0]));
    return true;
}

const Node* Inference::result_of(const Node* f) {
    const Node* body = f->args[0];
    return body->is(Op::Block) ? body->args.back() : body;
}

void Inference::demand_result(Node* f, Term* want, std::string_view what) {
    Node* body = f->args[0];
    if (t_.unify(want, body->term)) return;
    error_at(r_, f, "the function of `{}` has to give `{}`, found `{}`", what, t_.str(want),
             t_.str(body->term))
        .label(result_of(f)->start, fmt::format("this is `{}`", t_.str(body->term)));
}

// ---- the tree ------------------------------------------------------------------------------------------

Term* Inference::infer(Node* n) {
    if (is_infix(n)) return infix(n);
    return n->term = dispatch(n);
}

Term* Inference::dispatch(Node* n) {
    switch (n->form) {
        case Form::Error: return t_.error();
        case Form::String: return t_.vec(t_.scalar(Scalar::I8));
        case Form::Name: return n->local->term;
        case Form::Ascribe: return ascribe(n);
        case Form::Apply:
        case Form::Zip: return t_.error();  // gone, or handled by `loop`
        case Form::Op: break;
    }
    switch (n->op) {
        case Op::Literal: return t_.scalar(n->scalar);
        case Op::Block: return block(n);
        case Op::Lambda: return function(n);
        case Op::For: return loop(n);
        case Op::Iterate: return iterate(n);
        case Op::Sort: return sort(n);
        case Op::NewBuilder: return new_builder(n);
        case Op::Kernel: return kernel(n);
        case Op::Call: return call(n);
        default: break;
    }
    for (Node* a : n->args) infer(a);
    switch (n->op) {
        case Op::MakeStruct: return make_struct(n);
        case Op::MakeVec: return make_vec(n);
        case Op::Broadcast: return broadcast(n);
        case Op::If: return choose(n);
        case Op::Serialize: return t_.vec(t_.scalar(Scalar::U8));
        case Op::Deserialize: return deserialize(n);
        case Op::Assert: demand(n->args[0], t_.boolean(), "the condition of `assert`"); return t_.boolean();
        default: return is_scalar_op(n->op) ? scalar_op(n) : attempt(n);
    }
}

Term* Inference::ascribe(Node* n) {
    Term* want = t_.of(n->type_node);
    infer(n->args[0]);
    demand(n->args[0], want, "the type that is written for this");
    return want;
}

Term* Inference::block(Node* n) {
    for (std::size_t i = 0; i < n->bindings.size(); ++i) {
        Binding& b = n->bindings[i];
        Term* value = infer(n->args[i]);
        b.local->term = b.type ? t_.of(b.type) : value;
        if (b.type) demand(n->args[i], b.local->term, fmt::format("`{}`", b.name));
        drain();
    }
    return infer(n->args.back());
}

// ---- scalars -------------------------------------------------------------------------------------------

Term* Inference::infix(Node* top) {
    const std::vector<Node*> spine = left_spine(top);
    infer(spine.back()->args[0]);
    for (auto n = spine.rbegin(); n != spine.rend(); ++n) {
        infer((*n)->args[1]);
        (*n)->term = scalar_op(*n);
    }
    return top->term;
}

Term* Inference::scalar_op(Node* n) {
    Node* first = n->args[0];
    for (const Node* a : n->args)
        if (Terms::is_error(a->term)) return error_or_bool(n);
    if (n->args.size() == 2) {
        Node* second = n->args[1];
        if (info(n->op).rule == TypeRule::Bool && !bools(n)) return t_.error();
        if (!t_.unify(first->term, second->term)) {
            Diagnostic& d = error_at(r_, second, "`{}` takes two operands of one type, found `{}` and `{}`",
                                     info(n->op).text, t_.str(first->term), t_.str(second->term));
            suggest_one_type(d, first, second);
            return error_or_bool(n);
        }
    }
    if (Term* t = Terms::find(first->term); t->kind == Term::Known) {
        const Type* types[] = {t->type, t->type};
        if (!check_operands(r_, n, std::span<const Type* const>(types).first(n->args.size())))
            return error_or_bool(n);
    }
    return info(n->op).rule == TypeRule::Compare ? attempt(n) : first->term;
}

bool Inference::bools(Node* n) {
    for (Node* a : {n->args[1], n->args[0]}) {
        const Term* t = Terms::find(a->term);
        if (t->kind != Term::Known || (t->type->is_lanes() && t->type->scalar == Scalar::Bool)) continue;
        error_at(r_, a, "`{}` takes bools, found `{}`", info(n->op).text, t_.str(a->term));
        return false;
    }
    return true;
}

Term* Inference::error_or_bool(const Node* n) {
    return info(n->op).rule == TypeRule::Compare ? t_.boolean() : t_.error();
}

Term* Inference::broadcast(Node* n) {
    Term* of = n->args[0]->term;
    scalars_.emplace_back(n->args[0], of);
    if (Terms::find(of)->kind == Term::Known && !Terms::is(of, TypeKind::Scalar)) return t_.error();
    return t_.simd(of, t_.lanes(n->lanes));
}

// ---- structure -----------------------------------------------------------------------------------------

Term* Inference::make_struct(Node* n) {
    std::vector<Term*> fields;
    for (Node* a : n->args) fields.push_back(a->term);
    return structure(n, fields);
}

Term* Inference::structure(Node* n, std::span<Term* const> fields) {
    Term* made = t_.structure(fields);
    if (t_.leaves(made) <= kMaxTypeLeaves) return made;
    error_at(r_, n, "this struct has more than {} parts", kMaxTypeLeaves);
    return t_.error();
}

Term* Inference::make_vec(Node* n) {
    if (n->args.empty()) return t_.vec(t_.variable(n->start));
    Term* elem = n->args[0]->term;
    for (Node* a : n->args.subspan(1)) {
        if (t_.unify(elem, a->term)) continue;
        Diagnostic& d =
            error_at(r_, a, "the elements of a vector have one type; the first is `{}`, this `{}`",
                     t_.str(elem), t_.str(a->term));
        suggest_one_type(d, n->args[0], a);
        break;
    }
    return t_.vec(elem);
}

Term* Inference::choose(Node* n) {
    demand(n->args[0], t_.boolean(), "the condition of `if`");
    return same_sides(n);
}

Term* Inference::same_sides(Node* n) {
    Node *then = n->args[1], *otherwise = n->args[2];
    if (!t_.unify(then->term, otherwise->term)) {
        Diagnostic& d = error_at(r_, otherwise, "both sides of `{}` have one type, found `{}` and `{}`",
                                 info(n->op).text, t_.str(then->term), t_.str(otherwise->term));
        suggest_one_type(d, then, otherwise);
        return t_.error();
    }
    return then->term;
}

Term* Inference::plain_select(Node* n) {
    demand(n->args[0], t_.boolean(), "the condition of `select`");
    return same_sides(n);
}

Term* Inference::select(Node* n, Term** blocker) {
    Term* cond = n->args[0]->term;
    if (Terms::is_unknown(cond)) return *blocker = cond, nullptr;
    if (!Terms::is(cond, TypeKind::Simd)) return plain_select(n);
    if (!t_.unify(t_.arg(cond, 0), t_.boolean())) return plain_select(n);  // reports
    Term* side = same_sides(n);
    if (Terms::is_error(side)) return side;
    t_.begin_walk();
    if (Term* unknown = match_lanes(side, t_.lanes_of(cond), n->args[1], "select"))
        return *blocker = unknown, nullptr;
    return side;
}

Term* Inference::match_lanes(Term* t, Lanes* lanes, Node* at, std::string_view what) {
    if (Terms::is_unknown(t)) return t;
    if (Terms::is_error(t) || !t_.first_visit(t)) return nullptr;
    if (Terms::is(t, TypeKind::Struct)) {
        for (std::size_t i = 0; i < t_.num_args(t); ++i)
            if (Term* unknown = match_lanes(t_.arg(t, i), lanes, at, what)) return unknown;
    } else if (!Terms::is(t, TypeKind::Simd) || !t_.unify(t_.lanes_of(t), lanes)) {
        error_at(r_, at, "with a simd condition `{}` takes simd values of as many lanes, found `{}`", what,
                 t_.str(at->term));
    }
    return nullptr;
}

void infer(Reader& reader) { Inference(reader).run(); }

}  // namespace weld::front
