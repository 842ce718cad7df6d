// Types of what has rounds, and of builders: who merges what, and on how many lanes.
#include <algorithm>

#include "frontend/weld/advice.h"
#include "frontend/weld/inference.h"

namespace weld::front {

Term* Inference::iterate(Node* n) {
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
            error_at(r_, one, "a second function is for the lanes of an `iterate` over lanes, one by one");
        return state;
    }
    t_.begin_walk();
    if (match_lanes(state, t_.lanes_of(again), n->args[0], "iterate"))
        error_at(r_, n->args[0], "the state of an `iterate` over lanes has a type that is known before");
    else if (one) one_lane(one, state);
    return state;
}

void Inference::one_lane(Node* f, Term* state) {
    Term* lane = lane_of(state);
    Term* fields[] = {lane, t_.boolean()};
    if (enter(f, "iterate", {&lane, 1}, "one lane of the state"))
        demand_result(f, t_.structure(fields), "iterate");
}

Term* Inference::lane_of(Term* t) {
    if (Terms::is(t, TypeKind::Simd)) return t_.arg(t, 0);
    std::vector<Term*> fields;
    for (std::size_t i = 0; Terms::is(t, TypeKind::Struct) && i < t_.num_args(t); ++i)
        fields.push_back(lane_of(t_.arg(t, i)));
    return t_.structure(fields);
}

Term* Inference::sort(Node* n) {
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

// ---- loops ---------------------------------------------------------------------------------------------

Term* Inference::loop(Node* n) {
    Term* elem = data(n->args[0]);
    Term* builder = infer(n->args[1]);
    Term* found = Terms::find(builder);
    const bool no_builder = found->kind != Term::Variable && found->kind != Term::Error &&
                            !Terms::is(builder, TypeKind::Builder) && !Terms::is(builder, TypeKind::Struct);
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

Term* Inference::data(Node* n) {
    if (n->form == Form::Error) return t_.error();
    std::span<Node*> all = n->form == Form::Zip ? n->args : std::span<Node*>(&n, 1);
    std::vector<Term*> elems;
    for (Node* d : all) elems.push_back(datum(d));
    join_iterators(all, elems);
    return elems.size() == 1 ? elems[0] : structure(n, elems);
}

Term* Inference::datum(Node* n) {
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
    const char* names[] = {"the start of an iterator", "the end of an iterator", "the stride of an iterator"};
    for (std::size_t i = bounds; i < n->args.size() && i < bounds + 3; ++i)
        demand(n->args[i], t_.i64(), names[i - bounds]);
    for (std::size_t i = 4; n->iter.nd && i < n->args.size(); ++i)
        demand(n->args[i], t_.vec(t_.i64()),
               i == 4 ? "the shape of an `nditer`" : "the strides of an `nditer`");
    return elem;
}

Term* Inference::element_of(Node* n, std::string_view what) {
    if (Terms::is_error(n->term)) return t_.error();
    Term* elem = t_.variable(n->start);
    if (t_.unify(t_.vec(elem), n->term)) return elem;
    Diagnostic& d = error_at(r_, n, "`{}` goes over vectors, found `{}`", what, t_.str(n->term));
    if (Terms::is(n->term, TypeKind::Dict)) d.note("`tovec` gives the entries of a dictionary as a vector");
    return t_.error();
}

IterKind Inference::kind_of(const Node* n) { return n->is(Op::Iter) ? n->iter.kind : IterKind::Scalar; }

void Inference::join_iterators(std::span<Node*> all, std::vector<Term*>& elems) {
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

Lanes* Inference::shared_lanes(std::span<Node*> all, const std::vector<Term*>& elems) {
    Lanes* lanes = t_.lanes(0);
    for (Node* d : all)
        if (d->lanes && !t_.unify(lanes, t_.lanes(d->lanes)))
            error_at(r_, d, "iterators that are zipped have the same number of lanes");
    if (t_.count(lanes)) return lanes;
    const bool known = std::all_of(elems.begin(), elems.end(), [](Term* e) { return !Terms::is_unknown(e); });
    if (known) set_lanes(lanes, elems);
    else late_lanes_.push_back({lanes, elems});
    return lanes;
}

void Inference::set_lanes(Lanes* lanes, std::span<Term* const> elems) {
    std::uint32_t widest = 1;
    for (Term* e : elems)
        if (Terms::is(e, TypeKind::Scalar))
            widest = std::max(widest, std::uint32_t(size_of(Terms::find(e)->type->scalar)));
    t_.unify(lanes, t_.lanes(std::max(1u, kLaneBytes / widest)));
}

// ---- builders ------------------------------------------------------------------------------------------

Term* Inference::new_builder(Node* n) {
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

const BuilderInfo& Inference::info_of(Term* builder) { return info(Terms::builder_kind(builder)); }

Term* Inference::typed(std::string_view pattern, Term* builder) {
    std::vector<Term*> args;
    for (std::size_t i = 0; i < t_.num_args(builder); ++i) args.push_back(t_.arg(builder, i));
    return typed_by(pattern, std::span<Term* const>(args), t_);
}

Term* Inference::taken_by(Term* builder) { return typed(info_of(builder).takes, builder); }

Term* Inference::pair(Term* a, Term* b) {
    Term* fields[] = {a, b};
    return t_.structure(fields);
}

Inference::Shape Inference::shape_of(Term* t, Term** unknown) {
    t_.begin_walk();
    return shape_below(t, unknown);
}

Inference::Shape Inference::shape_below(Term* t, Term** unknown) {
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

Term* Inference::merge(Node* n, Term** blocker) {
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
    if (is_merge_of_rows(item, n->args[1]->term)) return merge_of_rows(n, item);
    if (shape == Shape::Plain || shape_of(item, &unused) == Shape::Wide) return plain_merge(n, item);
    if (shape == Shape::Unknown) return nullptr;
    Lanes* lanes = t_.lanes(0);
    widened_ = 0;
    if (!widen(item, n->args[1]->term, lanes)) return merge_error(n, item);
    if (n->args.size() == 3) demand(n->args[2], t_.simd(t_.boolean(), lanes), "the mask of a `merge`");
    return builder;
}

Term* Inference::plain_merge(Node* n, Term* item) {
    if (!t_.unify(item, n->args[1]->term)) return merge_error(n, item);
    Term* unused = nullptr;
    if (n->args.size() < 3) return n->args[0]->term;
    if (Terms::is(item, TypeKind::Simd) && info_of(n->args[0]->term).combines_simd)
        demand(n->args[2], t_.simd(t_.boolean(), t_.lanes_of(item)), "the mask of a `merge`");
    else if (shape_of(item, &unused) != Shape::Wide)
        error_at(r_, n->args[2], "a `merge` has a mask only if it takes simd values");
    return n->args[0]->term;
}

bool Inference::is_row_merge(Term* builder, Term* value) {
    Term* unused = nullptr;
    return info_of(builder).indexed && Terms::is(value, TypeKind::Struct) && t_.num_args(value) == 2 &&
           !Terms::is_unknown(t_.arg(value, 0)) && shape_of(t_.arg(value, 0), &unused) == Shape::Plain &&
           shape_of(t_.arg(value, 1), &unused) == Shape::Wide &&
           shape_of(t_.arg(builder, 0), &unused) != Shape::Wide;
}

Term* Inference::row_merge(Node* n, Term* item) {
    Term* value = n->args[1]->term;
    Lanes* lanes = t_.lanes(0);
    widened_ = 0;
    if (!t_.unify(t_.arg(item, 0), t_.arg(value, 0)) || !widen(t_.arg(item, 1), t_.arg(value, 1), lanes))
        return merge_error(n, item);
    if (n->args.size() == 3) demand(n->args[2], t_.simd(t_.boolean(), lanes), "the mask of a `merge`");
    return n->args[0]->term;
}

bool Inference::is_merge_of_rows(Term* item, Term* value) {
    const bool rows = Terms::is(value, TypeKind::Vec) && Terms::is(t_.arg(value, 0), TypeKind::Simd);
    const bool vector = Terms::is(item, TypeKind::Vec);
    return rows && Terms::is(vector ? t_.arg(item, 0) : item, TypeKind::Scalar);
}

Term* Inference::merge_of_rows(Node* n, Term* item) {
    Term* of = Terms::is(item, TypeKind::Vec) ? t_.arg(item, 0) : item;
    const bool is_appender = Terms::builder_kind(n->args[0]->term) == BuilderKind::Appender;
    if (!is_appender || !t_.unify(of, t_.arg(t_.arg(n->args[1]->term, 0), 0))) return merge_error(n, item);
    if (n->args.size() == 3) error_at(r_, n->args[2], "a `merge` of rows side by side has no mask");
    return n->args[0]->term;
}

Term* Inference::merge_error(Node* n, Term* item) {
    Term *builder = n->args[0]->term, *value = n->args[1]->term;
    Diagnostic& d = error_at(r_, n->args[1], "`merge` into `{}` takes `{}`, found `{}`", t_.str(builder),
                             t_.str(item), t_.str(value));
    suggest(d, n->args[1], item);
    return builder;
}

bool Inference::widen(Term* item, Term* wide, Lanes* lanes) {
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

Term* Inference::result(Node* n, Term** blocker) {
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

}  // namespace weld::front
