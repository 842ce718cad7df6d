// The rules of types of `iterate`, loops, iterators and builders.
#include <algorithm>

#include "weldir/ir/builder.h"
#include "weldir/ir/demands.h"

namespace weld {

namespace {

bool is_shape(const Type* t) { return t->is_vec() && is_i64(t->elem()); }

/// `t` is `of` with every scalar in it widened to simd of the same number of lanes; that number, or 0.
std::uint32_t lanes_of_widened(const Type* t, const Type* of) {
    if (of->is_scalar()) return t->is_simd() && t->scalar == of->scalar ? t->lanes : 0;
    if (!of->is_struct() || !t->is_struct() || t->args.size() != of->args.size()) return 0;
    std::uint32_t lanes = 0;
    for (std::size_t i = 0; i < t->args.size(); ++i) {
        const std::uint32_t n = lanes_of_widened(t->args[i], of->args[i]);
        if (n == 0 || (i > 0 && n != lanes)) return 0;
        lanes = n;
    }
    return lanes;
}

/// A Lambda as argument `i`, with `params` parameters.
bool function_argument(Demands& d, const Expr* e, std::size_t i, std::size_t params) {
    return d.that(e->arg(i)->op == Op::Lambda && e->arg(i)->num_symbols == params,
                  "argument {} is no function of {} parameters", i, params);
}

/// `t` is what one lane of `lanes` is.
bool is_lane_of(const Type* t, const Type* lanes) {
    if (!lanes->is_struct()) return lanes->is_simd() && t->is_scalar() && t->scalar == lanes->scalar;
    return t->is_struct() && std::ranges::equal(t->args, lanes->args, is_lane_of);
}

bool only_builders(const Type* t) {
    if (!t->is_struct()) return t->is_builder();
    for (const Type* f : t->args)
        if (!only_builders(f)) return false;
    return !t->args.empty();
}

void same_walk(Demands& d, For f) {
    auto kind = [](const Expr* x) { return x->op == Op::Iter ? x->attr.iter.kind : IterKind::Scalar; };
    auto lanes = [](const Expr* x) {
        const bool known =
            x->op == Op::Iter && (x->attr.iter.kind != IterKind::Fringe || x->annotation(AttrKey::Size));
        return known ? x->as<Iter>().lanes() : 1;
    };
    for (const Expr* x : f.data())
        d.that(kind(x) == kind(f.data()[0]) && lanes(x) == lanes(f.data()[0]),
               "plain, simd and fringe iterators, or such of different lanes, in one loop");
}

/// Rows side by side go into builder `b` one after the other, each as a vector or element by element.
bool takes_rows(const Type* b, const Type* rows) {
    const Type* of = b->takes->is_vec() ? b->takes->elem() : b->takes;
    return b->is_builder(BuilderKind::Appender) && of->is_scalar(rows->elem()->scalar);
}

/// `value` goes into builder `b`: nothing in `*lanes` if as it is, else the number of lanes.
bool fits(const Type* b, const Type* value, std::uint32_t* lanes) {
    *lanes = 0;
    if (value == b->takes) {
        if (value->is_simd() && info(b).combines_simd) *lanes = value->lanes;  // lane by lane
        return true;
    }
    if (rows_in(value)) return takes_rows(b, value);
    if (info(b).indexed && value->is_struct() && value->args.size() == 2 && is_i64(value->args[0]))
        return (*lanes = lanes_of_widened(value->args[1], b->takes->args[1])) > 0;
    return (*lanes = lanes_of_widened(value, b->takes)) > 0;
}

}  // namespace

void iterate_rules(Demands& d, const Expr* e) {
    if (!d.arity(e, 2, 3) || !function_argument(d, e, 1, 1)) return;
    const Iterate it = e->as<Iterate>();
    d.equal(e->type, it.init()->type, "`iterate`");
    d.equal(it.body().param(0)->type, e->type, "the parameter");
    const Type* out = it.body().body()->type;
    const auto may_go_on = [&](const Type* again) {
        const bool lanes = again->is_simd() && again->scalar == Scalar::Bool;
        return again->is_bool() || (lanes && all_lanes(e->type, again->lanes));
    };
    const bool goes_on =
        out->is_struct() && out->args.size() == 2 && out->args[0] == e->type && may_go_on(out->args[1]);
    if (!d.that(goes_on, "the function of `iterate` over `{}` gives `{}`", e->type, out)) return;
    if (e->num_args == 2 || !function_argument(d, e, 2, 1)) return;
    const Type *lane = it.one_lane().param(0)->type, *one = it.one_lane().body()->type;
    d.that(it.lanes() && is_lane_of(lane, e->type) && one->is_struct() && one->args.size() == 2 &&
               one->args[0] == lane && one->args[1]->is_bool(),
           "the second function of `iterate` over `{}` takes `{}` and gives `{}`", e->type, lane, one);
}

void loop_rules(Demands& d, const Expr* e) {
    if (!d.that(e->num_args >= 3, "a loop without data") || !function_argument(d, e, 1, 3)) return;
    const For f = e->as<For>();
    d.equal(f.builder()->type, e->type, "the builder");
    d.that(only_builders(e->type), "a loop over `{}`, which is no builder", e->type);
    d.equal(f.builder_param()->type, e->type, "the builder parameter");
    d.equal(f.body().body()->type, e->type, "the body");
    d.that(is_i64(f.index_param()->type), "the index parameter is i64");
    for (const Expr* x : f.data())
        if (!d.that(x->type->is_vec(), "a loop over `{}`", x->type)) return;
    same_walk(d, f);
    const Type* elem = f.elem_param()->type;
    if (f.data().size() == 1) return void(d.equal(elem, f.data()[0]->type->elem(), "the element parameter"));
    if (!d.that(elem->is_struct() && elem->args.size() == f.data().size(),
                "the element parameter does not match"))
        return;
    for (std::size_t i = 0; i < f.data().size(); ++i)
        d.equal(elem->args[i], f.data()[i]->type->elem(), "a field of the element parameter");
}

void iterator_rules(Demands& d, const Expr* e) {
    const IterShape s = e->attr.iter;
    const std::size_t n = (s.range ? 0 : 1) + (s.bounded ? 3 : 0) + (s.nd ? 2 : 0);
    if (!d.arity(e, n, n) || !d.that(e->type->is_vec(), "an iterator yields elements of a vector")) return;
    d.that(s.bounded || (!s.range && !s.nd), "a range without bounds");
    d.that(s.bounded || s.kind != IterKind::Scalar, "a plain iterator without bounds is just its vector");
    d.that(!s.nd || (s.kind == IterKind::Scalar && !s.range), "`nditer` has no other forms");
    const std::size_t first = s.range ? 0 : 1;
    if (!s.range && !d.that(e->arg(0)->type->is_vec(), "an iterator over what is no vector")) return;
    for (std::size_t i = first; i < first + (s.bounded ? 3 : 0); ++i)
        d.that(is_i64(e->arg(i)->type), "the bounds of an iterator are i64");
    if (s.nd)
        d.that(is_shape(e->arg(4)->type) && is_shape(e->arg(5)->type),
               "shape and strides are vectors of i64");
    const Type* yields = e->type->elem();
    if (s.kind != IterKind::Simd) {
        if (s.range) d.that(is_i64(yields), "a range yields i64");
        else d.equal(yields, e->arg(0)->type->elem(), "what the iterator yields");
    } else {
        const Scalar scalar = s.range ? Scalar::I64 : e->arg(0)->type->elem()->scalar;
        d.that((s.range || e->arg(0)->type->elem()->is_scalar()) && yields->is_simd() &&
                   yields->scalar == scalar,
               "a simd iterator yields simd of the elements");
    }
    if (s.kind == IterKind::Fringe) {
        d.that(yields->is_scalar(), "a fringe of what is no scalar");
        const Annotation* lanes = e->annotation(AttrKey::Size);
        d.that(lanes && lanes->number > 0, "a fringe without lanes");
    }
}

void new_builder_rules(Demands& d, const Expr* e) {
    if (!d.that(e->type->is_builder(), "a new builder that is none")) return;
    const Type* t = e->type;
    if (!d.arity(e, info(t).needs_start, t->starts ? 1 : 0)) return;
    if (e->num_args == 1) d.equal(e->arg(0)->type, t->starts, "what a builder begins with");
}

void merge_rules(Demands& d, const Expr* e) {
    if (!d.arity(e, 2, 3)) return;
    const Merge m = e->as<Merge>();
    d.equal(m.builder()->type, e->type, "the builder");
    if (!d.that(e->type->is_builder(), "a merge into what is no builder")) return;
    std::uint32_t lanes = 0;
    d.that(fits(e->type, m.value()->type, &lanes), "a merge of `{}` into `{}`", m.value()->type, e->type);
    if (!m.mask()) return;
    d.that(!m.rows(), "a mask of rows");
    const Type* mask = m.mask()->type;
    d.that(mask->is_simd() && mask->scalar == Scalar::Bool && mask->lanes == lanes, "a mask of `{}` for `{}`",
           mask, m.value()->type);
}

void result_rules(Demands& d, const Expr* e) {
    if (!d.arity(e, 1, 1)) return;
    const Type *b = e->arg(0)->type, *t = e->type;
    if (!d.that(b->is_builder(), "the result of what is no builder")) return;
    d.that(t == b->gives, "the result of `{}` is not `{}`", b, t);
}

}  // namespace weld
