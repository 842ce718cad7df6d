// Type inference: one walk that unifies as it goes. A node whose rule depends on a type that is not known yet
// (which field? vector or dictionary?) waits for it. What still waits at the end gets the rule's default, if
// it has one; types that stay unknown are for `check` to report.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "frontend/weld/advice.h"
#include "frontend/weld/reader.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/kernels.h"

namespace weld::front {
namespace {

class Inference {
  public:
    explicit Inference(Reader& reader) : r_(reader), t_(reader.terms) {}

    void run() {
        Program& p = r_.program;
        for (const auto& d : p.definitions) declare(*d);
        for (const auto& d : p.definitions) define(*d);
        infer(p.main);
        for (Node* f : p.unused) infer(f);
        drain();
        settle();
    }

  private:
    // ---- messages

    static std::optional<Scalar> scalar_of(Term* term) {
        term = Terms::find(term);
        const bool is_scalar = term->kind == Term::Known && term->type->is_scalar();
        return is_scalar ? std::optional(term->type->scalar) : std::nullopt;
    }

    /// What to write in the place of `at` to get the type, where that is easily said.
    static void suggest(Diagnostic& d, const Node* at, Term* want) {
        const auto to = scalar_of(want), found = scalar_of(at->term);
        if (to && found) d.note(advice(at, *found, *to));
    }
    /// The same where either of two can change.
    static void suggest_one_type(Diagnostic& d, const Node* a, const Node* b) {
        const auto type_a = scalar_of(a->term), type_b = scalar_of(b->term);
        if (type_a && type_b) d.note(advice_for_both(a, *type_a, b, *type_b));
    }

    /// Demands that `at` has type `want`; `what` says of what kind of thing that is demanded.
    bool demand(Node* at, Term* want, std::string_view what) {
        if (t_.unify(want, at->term)) return true;
        Diagnostic& d = error_at(r_, at, "{} is `{}`, found `{}`", what, t_.str(want), t_.str(at->term));
        suggest(d, at, want);
        return false;
    }

    // ---- waiting

    /// Applies the rule of a node, or lets it wait for the variable that keeps the rule from being applied.
    Term* attempt(Node* n) {
        Term* blocker = nullptr;
        if (Term* known = solve(n, &blocker)) return known;
        t_.wait(blocker, n);
        waiting_.push_back(n);
        unsolved_.insert(n);
        return t_.variable(n->start);
    }

    void retry(Node* n) {
        if (!unsolved_.contains(n)) return;
        Term* blocker = nullptr;
        Term* known = solve(n, &blocker);
        if (!known) return t_.wait(blocker, n);
        unsolved_.erase(n);
        settle_result(n, known);
    }

    void settle_result(Node* n, Term* known) {
        if (!t_.unify(n->term, known))
            error_at(r_, n, "this is `{}`, but `{}` is needed here", t_.str(known), t_.str(n->term));
    }

    void drain() {
        for (std::vector<Node*> ready = t_.take_ready(); !ready.empty(); ready = t_.take_ready())
            for (auto n = ready.rbegin(); n != ready.rend(); ++n) retry(*n);
    }

    /// The end: lanes of loops, defaults in program order, then what must have become a scalar.
    void settle() {
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

    Term* default_of(Node* n) {
        if (n->is(Op::Merge)) return plain_merge(n, taken_by(n->args[0]->term));
        if (n->is(Op::Select)) return plain_select(n);
        if (n->form == Form::Op && is_comparison(n->op)) return t_.boolean();
        return nullptr;
    }

    void check_scalar(Node* at, Term* term) {
        if (Terms::is_unknown(term) || Terms::is_error(term) || Terms::is(term, TypeKind::Scalar)) return;
        error_at(r_, at, "simd values are made of scalars, found `{}`", t_.str(term));
    }

    // ---- functions and programs

    void declare(Definition& d) {
        std::vector<Term*> params;
        for (Binding& b : d.lambda->bindings) {
            b.local->term = b.type ? t_.of(b.type) : t_.variable(b.loc);
            params.push_back(b.local->term);
        }
        d.term = t_.of(d.result);
        d.lambda->term = t_.function(params, d.term);
    }

    void define(Definition& d) {
        Node* body = d.lambda->args[0];
        infer(body);
        if (!t_.unify(d.term, body->term))
            error_at(r_, body, "`{}` gives `{}`, found `{}`", d.name, t_.str(d.term), t_.str(body->term));
        drain();
    }

    /// A function that stands alone: the program, or one that is never called.
    Term* function(Node* n) {
        std::vector<Term*> params;
        for (Binding& b : n->bindings) {
            b.local->term = b.type ? t_.of(b.type) : t_.variable(b.loc);
            params.push_back(b.local->term);
        }
        Term* body = infer(n->args[0]);
        drain();
        return t_.function(params, body);
    }

    /// The function under a `for`, `iterate` or `sort`: gives its parameters their types and infers its body.
    /// False if it is none, or has another number of parameters.
    bool enter(Node* f, std::string_view what, std::span<Term* const> params, const char* names) {
        if (f->form == Form::Error) return false;
        if (f->bindings.size() != params.size()) {
            error_at(r_, f, "the function of `{}` has {} parameter{} ({}), this one has {}", what,
                     params.size(), params.size() == 1 ? "" : "s", names, f->bindings.size());
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

    /// What a function gives, without the lets before it: for labels.
    static const Node* result_of(const Node* f) {
        const Node* body = f->args[0];
        return body->is(Op::Block) ? body->args.back() : body;
    }

    void demand_result(Node* f, Term* want, std::string_view what) {
        Node* body = f->args[0];
        if (t_.unify(want, body->term)) return;
        error_at(r_, f, "the function of `{}` gives `{}`, found `{}`", what, t_.str(want), t_.str(body->term))
            .label(result_of(f)->start, fmt::format("this is `{}`", t_.str(body->term)));
    }

    // ---- the tree

    Term* infer(Node* n) {
        if (is_infix(n)) return infix(n);
        return n->term = dispatch(n);
    }

    Term* dispatch(Node* n) {
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
            case Op::Assert:
                demand(n->args[0], t_.boolean(), "the condition of `assert`");
                return t_.boolean();
            default: return is_scalar_op(n->op) ? scalar_op(n) : attempt(n);
        }
    }

    Term* ascribe(Node* n) {
        Term* want = t_.of(n->type_node);
        infer(n->args[0]);
        demand(n->args[0], want, "the type that is written for this");
        return want;
    }

    Term* block(Node* n) {
        for (std::size_t i = 0; i < n->bindings.size(); ++i) {
            Binding& b = n->bindings[i];
            Term* value = infer(n->args[i]);
            b.local->term = b.type ? t_.of(b.type) : value;
            if (b.type) demand(n->args[i], b.local->term, fmt::format("`{}`", b.name));
            drain();
        }
        return infer(n->args.back());
    }

    // ---- scalars

    Term* infix(Node* top) {
        const std::vector<Node*> spine = left_spine(top);
        infer(spine.back()->args[0]);
        for (auto n = spine.rbegin(); n != spine.rend(); ++n) {
            infer((*n)->args[1]);
            (*n)->term = scalar_op(*n);
        }
        return top->term;
    }

    Term* scalar_op(Node* n) {
        Node* first = n->args[0];
        for (const Node* a : n->args)
            if (Terms::is_error(a->term)) return error_or_bool(n);
        if (n->args.size() == 2) {
            Node* second = n->args[1];
            if (info(n->op).rule == TypeRule::Bool && !bools(n)) return t_.error();
            if (!t_.unify(first->term, second->term)) {
                Diagnostic& d =
                    error_at(r_, second, "`{}` takes two operands of one type, found `{}` and `{}`",
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

    /// Each side of `&&` and `||` can be wrong by itself; the right one is looked at first.
    bool bools(Node* n) {
        for (Node* a : {n->args[1], n->args[0]}) {
            const Term* t = Terms::find(a->term);
            if (t->kind != Term::Known || (t->type->is_lanes() && t->type->scalar == Scalar::Bool)) continue;
            error_at(r_, a, "`{}` takes bools, found `{}`", info(n->op).text, t_.str(a->term));
            return false;
        }
        return true;
    }

    /// After an error: a comparison is bool all the same.
    Term* error_or_bool(const Node* n) {
        return info(n->op).rule == TypeRule::Compare ? t_.boolean() : t_.error();
    }

    Term* broadcast(Node* n) {
        Term* of = n->args[0]->term;
        scalars_.emplace_back(n->args[0], of);
        if (Terms::find(of)->kind == Term::Known && !Terms::is(of, TypeKind::Scalar)) return t_.error();
        return t_.simd(of, t_.lanes(n->lanes));
    }

    // ---- structure

    Term* make_struct(Node* n) {
        std::vector<Term*> fields;
        for (Node* a : n->args) fields.push_back(a->term);
        return structure(n, fields);
    }

    Term* structure(Node* n, std::span<Term* const> fields) {
        Term* made = t_.structure(fields);
        if (t_.leaves(made) <= kMaxTypeLeaves) return made;
        error_at(r_, n, "this struct has more than {} parts", kMaxTypeLeaves);
        return t_.error();
    }

    Term* make_vec(Node* n) {
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

    Term* choose(Node* n) {
        demand(n->args[0], t_.boolean(), "the condition of `if`");
        return same_sides(n);
    }

    Term* same_sides(Node* n) {
        Node *then = n->args[1], *otherwise = n->args[2];
        if (!t_.unify(then->term, otherwise->term)) {
            Diagnostic& d = error_at(r_, otherwise, "both sides of `{}` have one type, found `{}` and `{}`",
                                     info(n->op).text, t_.str(then->term), t_.str(otherwise->term));
            suggest_one_type(d, then, otherwise);
            return t_.error();
        }
        return then->term;
    }

    Term* plain_select(Node* n) {
        demand(n->args[0], t_.boolean(), "the condition of `select`");
        return same_sides(n);
    }

    /// With a simd condition the sides are simd of as many lanes, or structs of such.
    Term* select(Node* n, Term** blocker) {
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

    /// Gives all simd in `t` these lanes. A variable in the way is returned.
    Term* match_lanes(Term* t, Lanes* lanes, Node* at, std::string_view what) {
        if (Terms::is_unknown(t)) return t;
        if (Terms::is_error(t) || !t_.first_visit(t)) return nullptr;
        if (Terms::is(t, TypeKind::Struct)) {
            for (std::size_t i = 0; i < t_.num_args(t); ++i)
                if (Term* unknown = match_lanes(t_.arg(t, i), lanes, at, what)) return unknown;
        } else if (!Terms::is(t, TypeKind::Simd) || !t_.unify(t_.lanes_of(t), lanes)) {
            error_at(r_, at, "with a simd condition `{}` takes simd values of as many lanes, found `{}`",
                     what, t_.str(at->term));
        }
        return nullptr;
    }

    Term* iterate(Node* n) {
        Term* state = infer(n->args[0]);
        if (!enter(n->args[1], "iterate", {&state, 1}, "the state")) return state;
        const Node* f = n->args[1];
        Term* found = f->args[0]->term;
        const bool pair = Terms::is(found, TypeKind::Struct) && t_.num_args(found) == 2;
        Term* again = pair ? t_.arg(found, 1) : t_.boolean();
        const bool lanes = Terms::is(again, TypeKind::Simd) && t_.unify(t_.arg(again, 0), t_.boolean());
        Term* fields[] = {state, lanes ? again : t_.boolean()};
        demand_result(n->args[1], t_.structure(fields), "iterate");
        Node* one = n->args.size() > 2 ? n->args[2] : nullptr;
        if (!lanes) {
            if (one)
                error_at(r_, one,
                         "a second function is for the lanes of an `iterate` over lanes, one by one");
            return state;
        }
        t_.begin_walk();
        if (match_lanes(state, t_.lanes_of(again), n->args[0], "iterate"))
            error_at(r_, n->args[0], "the state of an `iterate` over lanes has a type that is known before");
        else if (one) one_lane(one, state);
        return state;
    }

    /// How one lane of `state` goes on.
    void one_lane(Node* f, Term* state) {
        Term* lane = lane_of(state);
        Term* fields[] = {lane, t_.boolean()};
        if (enter(f, "iterate", {&lane, 1}, "one lane of the state"))
            demand_result(f, t_.structure(fields), "iterate");
    }
    Term* lane_of(Term* t) {
        if (Terms::is(t, TypeKind::Simd)) return t_.arg(t, 0);
        std::vector<Term*> fields;
        for (std::size_t i = 0; Terms::is(t, TypeKind::Struct) && i < t_.num_args(t); ++i)
            fields.push_back(lane_of(t_.arg(t, i)));
        return t_.structure(fields);
    }

    Term* sort(Node* n) {
        Term* elem = t_.variable(n->args[0]->start);
        infer(n->args[0]);
        if (!t_.unify(t_.vec(elem), n->args[0]->term)) {
            error_at(r_, n->args[0], "`sort` takes a vector, found `{}`", t_.str(n->args[0]->term));
            elem = t_.error();
        }
        if (n->args.size() > 2) {
            infer(n->args[2]);
            demand(n->args[2], t_.i64(), "the limit of a `sort`");
        }
        Node* by = n->args[1];
        Term* params[] = {elem, elem};
        if (by->form == Form::Error) return t_.vec(elem);
        if (by->bindings.size() == 1) {
            enter(by, "sort", {params, 1}, "the element");
        } else if (enter(by, "sort", params, "two elements")) {
            demand_result(by, t_.scalar(Scalar::I32), "sort");
        }
        return t_.vec(elem);
    }

    // ---- loops

    Term* loop(Node* n) {
        Term* elem = data(n->args[0]);
        Term* builder = infer(n->args[1]);
        Term* found = Terms::find(builder);
        const bool no_builder = found->kind != Term::Variable && found->kind != Term::Error &&
                                !Terms::is(builder, TypeKind::Builder) &&
                                !Terms::is(builder, TypeKind::Struct);
        if (no_builder) {
            error_at(r_, n->args[1], "`for` takes a builder here, or a struct of builders, found `{}`",
                     t_.str(builder));
            builder = t_.error();
        }
        Term* params[] = {builder, t_.i64(), elem};
        if (enter(n->args[2], "for", params, "builder, index, element"))
            demand_result(n->args[2], builder, "for");
        return builder;
    }

    /// The element that a loop's data give: one, or a struct of them.
    Term* data(Node* n) {
        if (n->form == Form::Error) return t_.error();
        std::span<Node*> all = n->form == Form::Zip ? n->args : std::span<Node*>(&n, 1);
        std::vector<Term*> elems;
        for (Node* d : all) elems.push_back(datum(d));
        join_iterators(all, elems);
        return elems.size() == 1 ? elems[0] : structure(n, elems);
    }

    /// The element of a vector, or of the vector that an iterator walks.
    Term* datum(Node* n) {
        if (n->form == Form::Error) return t_.error();
        if (n->form == Form::Zip) {
            error_at(r_, n, "`zip` takes vectors and iterators, not another `zip`");
            n->form = Form::Error;
            return t_.error();
        }
        if (!n->is(Op::Iter)) {
            infer(n);
            return element_of(n, "for");
        }
        for (Node* a : n->args) infer(a);
        Term* elem = n->iter.range ? t_.i64() : element_of(n->args[0], info(n->op).text);
        const std::size_t bounds = n->iter.range ? 0 : 1;
        const char* names[] = {"the start of an iterator", "the end of an iterator",
                               "the stride of an iterator"};
        for (std::size_t i = bounds; i < n->args.size() && i < bounds + 3; ++i)
            demand(n->args[i], t_.i64(), names[i - bounds]);
        for (std::size_t i = 4; n->iter.nd && i < n->args.size(); ++i)
            demand(n->args[i], t_.vec(t_.i64()),
                   i == 4 ? "the shape of an `nditer`" : "the strides of an `nditer`");
        return elem;
    }

    Term* element_of(Node* n, std::string_view what) {
        if (Terms::is_error(n->term)) return t_.error();
        Term* elem = t_.variable(n->start);
        if (t_.unify(t_.vec(elem), n->term)) return elem;
        Diagnostic& d = error_at(r_, n, "`{}` goes over vectors, found `{}`", what, t_.str(n->term));
        if (Terms::is(n->term, TypeKind::Dict))
            d.note("`tovec` gives the entries of a dictionary as a vector");
        return t_.error();
    }

    static IterKind kind_of(const Node* n) { return n->is(Op::Iter) ? n->iter.kind : IterKind::Scalar; }

    /// Iterators that are zipped are of one kind; simd and fringe iterators of one lane count.
    void join_iterators(std::span<Node*> all, std::vector<Term*>& elems) {
        const IterKind kind = kind_of(all[0]);
        for (Node* d : all) {
            if (d->form == Form::Error || kind_of(d) == kind) continue;
            error_at(r_, d,
                     "iterators that are zipped walk alike: all plain, all `simditer` or all `fringeiter`");
            for (Term*& e : elems) e = t_.error();
            for (Node* other : all) other->term = t_.error();
            return;
        }
        if (kind == IterKind::Scalar) {
            for (std::size_t i = 0; i < all.size(); ++i) all[i]->term = t_.vec(elems[i]);
            return;
        }
        Lanes* lanes = shared_lanes(all, elems);
        for (std::size_t i = 0; i < all.size(); ++i) {
            scalars_.emplace_back(all[i], elems[i]);
            if (Terms::find(elems[i])->kind == Term::Known && !Terms::is(elems[i], TypeKind::Scalar))
                elems[i] = t_.error();
            if (kind == IterKind::Simd) elems[i] = t_.simd(elems[i], lanes);
            else fringes_.emplace_back(all[i], lanes);
            all[i]->term = t_.vec(elems[i]);
        }
    }

    /// What is written counts; else the default of the widest element, so that all fit a register. Only the
    /// loop's own elements decide, because the loop over the fringe must come to the same number.
    Lanes* shared_lanes(std::span<Node*> all, const std::vector<Term*>& elems) {
        Lanes* lanes = t_.lanes(0);
        for (Node* d : all)
            if (d->lanes && !t_.unify(lanes, t_.lanes(d->lanes)))
                error_at(r_, d, "iterators that are zipped have the same number of lanes");
        if (t_.count(lanes)) return lanes;
        const bool known =
            std::all_of(elems.begin(), elems.end(), [](Term* e) { return !Terms::is_unknown(e); });
        if (known) set_lanes(lanes, elems);
        else late_lanes_.push_back({lanes, elems});
        return lanes;
    }

    void set_lanes(Lanes* lanes, std::span<Term* const> elems) {
        std::uint32_t widest = 1;
        for (Term* e : elems)
            if (Terms::is(e, TypeKind::Scalar))
                widest = std::max(widest, std::uint32_t(size_of(Terms::find(e)->type->scalar)));
        t_.unify(lanes, t_.lanes(std::max(1u, kLaneBytes / widest)));
    }

    // ---- builders

    Term* new_builder(Node* n) {
        Term* builder = t_.of(n->type_node, n->start);
        const BuilderInfo& made = info(n->type_node->builder);
        if (n->args.empty() || made.starts.empty()) return builder;
        infer(n->args[0]);
        const char* name = weld::name_of(n->type_node->builder);
        demand(n->args[0], typed(made.starts, builder),
               made.start_counts ? fmt::format("what a `{}` begins with", name)
                                 : fmt::format("the size hint of `{}`", name));
        return builder;
    }

    static const BuilderInfo& info_of(Term* builder) { return info(Terms::builder_kind(builder)); }

    /// What a pattern of a BuilderInfo means for `builder`.
    Term* typed(std::string_view pattern, Term* builder) {
        std::vector<Term*> args;
        for (std::size_t i = 0; i < t_.num_args(builder); ++i) args.push_back(t_.arg(builder, i));
        return typed_by(pattern, std::span<Term* const>(args), t_);
    }

    Term* taken_by(Term* builder) { return typed(info_of(builder).takes, builder); }

    Term* pair(Term* a, Term* b) {
        Term* fields[] = {a, b};
        return t_.structure(fields);
    }

    enum class Shape { Plain, Wide, Unknown };
    /// Wide: simd, or a struct of nothing but simd, at any depth.
    Shape shape_of(Term* t, Term** unknown) {
        t_.begin_walk();
        return shape_below(t, unknown);
    }

    Shape shape_below(Term* t, Term** unknown) {
        if (Terms::is_unknown(t)) return *unknown = t, Shape::Unknown;
        if (Terms::is(t, TypeKind::Simd)) return Shape::Wide;
        if (!Terms::is(t, TypeKind::Struct) || t_.num_args(t) == 0) return Shape::Plain;
        Shape all = Shape::Wide;
        if (!t_.first_visit(t)) return all;  // what it is has been taken into account
        for (std::size_t i = 0; i < t_.num_args(t); ++i) {
            const Shape field = shape_below(t_.arg(t, i), unknown);
            if (field == Shape::Plain) return field;
            if (field == Shape::Unknown) all = field;
        }
        return all;
    }

    Term* merge(Node* n, Term** blocker) {
        Term* builder = n->args[0]->term;
        if (Terms::is_error(builder)) return builder;
        if (Terms::is_unknown(builder)) return *blocker = builder, nullptr;
        if (!Terms::is(builder, TypeKind::Builder)) {
            error_at(r_, n->args[0], "`merge` takes a builder, found `{}`", t_.str(builder));
            return t_.error();
        }
        Term *item = taken_by(builder), *unused = nullptr;
        if (is_row_merge(builder, n->args[1]->term)) return row_merge(n, item);
        const Shape shape = shape_of(n->args[1]->term, blocker);
        if (shape == Shape::Plain || shape_of(item, &unused) == Shape::Wide) return plain_merge(n, item);
        if (shape == Shape::Unknown) return nullptr;
        Lanes* lanes = t_.lanes(0);
        widened_ = 0;
        if (!widen(item, n->args[1]->term, lanes)) return merge_error(n, item);
        if (n->args.size() == 3) demand(n->args[2], t_.simd(t_.boolean(), lanes), "the mask of a `merge`");
        return builder;
    }

    Term* plain_merge(Node* n, Term* item) {
        if (!t_.unify(item, n->args[1]->term)) return merge_error(n, item);
        Term* unused = nullptr;
        if (n->args.size() < 3) return n->args[0]->term;
        if (Terms::is(item, TypeKind::Simd) && info_of(n->args[0]->term).combines_simd)
            demand(n->args[2], t_.simd(t_.boolean(), t_.lanes_of(item)), "the mask of a `merge`");
        else if (shape_of(item, &unused) != Shape::Wide)
            error_at(r_, n->args[2], "a `merge` has a mask only if it takes simd values");
        return n->args[0]->term;
    }

    /// `{i, lanes}`: lanes at the indices from i on.
    bool is_row_merge(Term* builder, Term* value) {
        Term* unused = nullptr;
        return info_of(builder).indexed && Terms::is(value, TypeKind::Struct) && t_.num_args(value) == 2 &&
               !Terms::is_unknown(t_.arg(value, 0)) && shape_of(t_.arg(value, 0), &unused) == Shape::Plain &&
               shape_of(t_.arg(value, 1), &unused) == Shape::Wide &&
               shape_of(t_.arg(builder, 0), &unused) != Shape::Wide;
    }

    Term* row_merge(Node* n, Term* item) {
        Term* value = n->args[1]->term;
        Lanes* lanes = t_.lanes(0);
        widened_ = 0;
        if (!t_.unify(t_.arg(item, 0), t_.arg(value, 0)) || !widen(t_.arg(item, 1), t_.arg(value, 1), lanes))
            return merge_error(n, item);
        if (n->args.size() == 3) demand(n->args[2], t_.simd(t_.boolean(), lanes), "the mask of a `merge`");
        return n->args[0]->term;
    }

    Term* merge_error(Node* n, Term* item) {
        Term *builder = n->args[0]->term, *value = n->args[1]->term;
        Diagnostic& d = error_at(r_, n->args[1], "`merge` into `{}` takes `{}`, found `{}`", t_.str(builder),
                                 t_.str(item), t_.str(value));
        suggest(d, n->args[1], item);
        return builder;
    }

    /// Makes `wide` a simd form of `item`, with these lanes.
    bool widen(Term* item, Term* wide, Lanes* lanes) {
        if (++widened_ > 2 * kMaxTypeLeaves) return false;
        if (Terms::is(wide, TypeKind::Simd))
            return t_.unify(t_.lanes_of(wide), lanes) && t_.unify(item, t_.arg(wide, 0));
        if (Terms::is_unknown(item)) {
            std::vector<Term*> fields;
            for (std::size_t i = 0; i < t_.num_args(wide); ++i)
                fields.push_back(t_.variable(Terms::find(item)->origin));
            t_.unify(item, t_.structure(fields));
        }
        if (!Terms::is(item, TypeKind::Struct) || t_.num_args(item) != t_.num_args(wide)) return false;
        for (std::size_t i = 0; i < t_.num_args(wide); ++i)
            if (!widen(t_.arg(item, i), t_.arg(wide, i), lanes)) return false;
        return true;
    }

    Term* result(Node* n, Term** blocker) {
        Term* builder = n->args[0]->term;
        if (Terms::is_unknown(builder)) return *blocker = builder, nullptr;
        if (!Terms::is(builder, TypeKind::Builder)) {
            Diagnostic& d = error_at(r_, n->args[0], "`result` takes a builder, found `{}`", t_.str(builder));
            if (Terms::is(builder, TypeKind::Struct))
                d.note("of a struct of builders, take the result of each field");
            return t_.error();
        }
        return typed(info_of(builder).gives, builder);
    }

    // ---- collections and calls

    /// Rules that look into the type of the first argument.
    Term* solve(Node* n, Term** blocker) {
        Term* of = n->args[0]->term;
        if (Terms::is_error(of)) return is_comparison(n->op) ? t_.boolean() : t_.error();
        if (n->op == Op::Merge) return merge(n, blocker);
        if (n->op == Op::Result) return result(n, blocker);
        if (n->op == Op::Select) return select(n, blocker);
        if (Terms::is_unknown(of)) return *blocker = of, nullptr;
        if (is_comparison(n->op))
            return Terms::is(of, TypeKind::Simd) ? t_.simd(t_.boolean(), t_.lanes_of(of)) : t_.boolean();
        switch (n->op) {
            case Op::GetField: return field(n, of);
            case Op::Cast: return cast(n, of);
            case Op::ToVec:
                if (!collection(n, false, true)) return t_.error();
                return t_.vec(pair(t_.arg(of, 0), t_.arg(of, 1)));
            case Op::Len: return collection(n, true, true) ? t_.i64() : t_.error();
            case Op::Lookup: return collection(n, true, true) && key(n) ? found_in(of) : t_.error();
            case Op::OptLookup:
                return collection(n, false, true) && key(n) ? pair(t_.boolean(), found_in(of)) : t_.error();
            case Op::OptLanes:
                if (!r_.options.is_printed_module) {
                    error_at(r_, n, "`optlookup` with lanes is for the optimiser alone");
                    return t_.error();
                }
                if (!collection(n, true, false)) return t_.error();
                demand(n->args[1], t_.i64(), "the index of an element");
                return pair(t_.boolean(), found_lanes(n, t_.arg(of, 0)));
            case Op::KeyExists: return collection(n, false, true) && key(n) ? t_.boolean() : t_.error();
            case Op::Slice:
                if (!collection(n, true, false)) return t_.error();
                demand(n->args[1], t_.i64(), "the start of a `slice`");
                demand(n->args[2], t_.i64(), "the size of a `slice`");
                return of;
            default: return t_.error();
        }
    }

    bool collection(Node* n, bool vec, bool dict) {
        Term* of = n->args[0]->term;
        if ((vec && Terms::is(of, TypeKind::Vec)) || (dict && Terms::is(of, TypeKind::Dict))) return true;
        error_at(r_, n->args[0], "`{}` takes a {}, found `{}`", info(n->op).text,
                 vec && dict ? "vector or dictionary"
                 : vec       ? "vector"
                             : "dictionary",
                 t_.str(of));
        return false;
    }

    bool key(Node* n) {
        Term* of = n->args[0]->term;
        if (Terms::is(of, TypeKind::Vec)) return demand(n->args[1], t_.i64(), "the index of an element");
        return demand(n->args[1], t_.arg(of, 0), "the key of this dictionary");
    }

    Term* found_in(Term* of) { return t_.arg(of, Terms::is(of, TypeKind::Dict) ? 1 : 0); }

    /// What `optlookup[8]` finds in a vector of `elem`.
    Term* found_lanes(Node* n, Term* elem) {
        if (Terms::is(elem, TypeKind::Scalar)) return t_.simd(elem, t_.lanes(n->lanes));
        if (Terms::is(elem, TypeKind::Vec) && Terms::is(t_.arg(elem, 0), TypeKind::Scalar))
            return t_.vec(t_.simd(t_.arg(elem, 0), t_.lanes(n->lanes)));
        error_at(r_, n->args[0], "lanes are of scalars, or of vectors of scalars, found `{}`", t_.str(elem));
        return t_.error();
    }

    Term* field(Node* n, Term* of) {
        if (!Terms::is(of, TypeKind::Struct)) {
            error_at(r_, n->args[0], "only structs have fields, found `{}`", t_.str(of));
            return t_.error();
        }
        const std::size_t count = t_.num_args(of);
        if (n->index < count) return t_.arg(of, n->index);
        Node at = *n;
        at.start = n->loc;
        Diagnostic& d = error_at(r_, &at, "`{}` has no such field", t_.str(of));
        if (count > 0) d.note(fmt::format("its fields are `$0` to `${}`", count - 1));
        return t_.error();
    }

    Term* cast(Node* n, Term* of) {
        if (Terms::is(of, TypeKind::Scalar)) return t_.scalar(n->scalar);
        if (Terms::is(of, TypeKind::Simd)) return t_.simd(t_.scalar(n->scalar), t_.lanes_of(of));
        error_at(r_, n->args[0], "`{}(...)` converts scalars, found `{}`", weld::name_of(n->scalar),
                 t_.str(of));
        return t_.scalar(n->scalar);
    }

    Term* deserialize(Node* n) {
        demand(n->args[0], t_.vec(t_.scalar(Scalar::U8)), "the type of what `deserialize` reads");
        return t_.of(n->type_node);
    }

    Term* kernel(Node* n) {
        for (Node* a : n->args) infer(a);
        const auto& has_symbol = r_.options.has_symbol;
        const auto* allowed = r_.options.allowed_functions;
        Node at = *n;
        at.start = n->name;
        if (is_builtin_kernel(n->text) && !(allowed && reaches_files(n->text))) return t_.of(n->type_node);
        if (allowed && std::ranges::find(*allowed, n->text) == allowed->end()) {
            error_at(r_, &at, "`cudf` may not call `{}` here", n->text)
                .note("`weld.cudf.allow` says which functions programs may call");
        } else if (!is_builtin_kernel(n->text) && has_symbol && !has_symbol(n->text)) {
            Diagnostic& d = error_at(r_, &at, "unknown function `{}` for `cudf`", n->text);
            d.note(r_.options.searched.empty() ? "no library is loaded" : "searched: " + r_.options.searched);
        }
        return t_.of(n->type_node);
    }

    Term* call(Node* n) {
        const Definition& d = *n->definition;
        for (std::size_t i = 0; i < n->args.size(); ++i) {
            infer(n->args[i]);
            demand(n->args[i], d.lambda->bindings[i].local->term,
                   fmt::format("parameter `{}` of `{}`", d.lambda->bindings[i].name, d.name));
        }
        return d.term;
    }

    Reader& r_;
    Terms& t_;
    std::uint32_t widened_ = 0;           // parts of the merge at hand
    std::vector<Node*> waiting_;          // in the order in which they began to
    std::unordered_set<Node*> unsolved_;  // of these
    struct LateLanes {
        Lanes* lanes;
        std::vector<Term*> elems;
    };
    std::vector<LateLanes> late_lanes_;             // of loops over elements of unknown type
    std::vector<std::pair<Node*, Term*>> scalars_;  // what simd is made of
    std::vector<std::pair<Node*, Lanes*>> fringes_;
};

}  // namespace

void infer(Reader& reader) { Inference(reader).run(); }

}  // namespace weld::front
