// Expressions that are no builders.
#include "tests/driver/generator.h"

namespace weld::driver {

// ---- expressions

const Expr* Generator::choose(const std::vector<Choice>& choices) {
    int sum = 0;
    for (const Choice& c : choices) sum += c.weight;
    int at = int(r_.below(std::size_t(sum)));
    for (const Choice& c : choices)
        if ((at -= c.weight) < 0) return c.make();
    return nullptr;
}

const Expr* Generator::expr(const Type* t) {
    if (!spend() || r_.percent(12)) return leaf(t);
    std::vector<Choice> choices = forms_of(t);
    if (const Expr* e = known(t)) choices.push_back({4, [=] { return e; }});
    if (!t->is_simd()) add_general(choices, t);
    return maybe_annotated(choose(choices));
}

const Expr* Generator::boolean() {
    if (r_.percent(35)) return expr(m_.types.boolean());
    const Type* t = scalar_type();
    return scalar_op(m_, comparison_op(), {expr(t), leaf(t)});
}

const Expr* Generator::maybe_annotated(const Expr* e) {
    if (!r_.percent(6)) return e;
    if (e->op == Op::If) return annotate(m_, e, AttrKey::Predicate, r_.percent(50) ? "true" : "false");
    return e;
}

void Generator::add_general(std::vector<Choice>& choices, const Type* t) {
    choices.push_back(
        {3, [=, this] { return named("v", expr(data_type(2)), [&](const Symbol*) { return expr(t); }); }});
    choices.push_back({3, [=, this] { return if_(m_, boolean(), expr(t), expr(t)); }});
    choices.push_back({1, [=, this] { return select(m_, boolean(), expr(t), expr(t)); }});
    choices.push_back({1, [=, this] { return iteration(t); }});
    choices.push_back({2, [=, this] { return element(t); }});
    choices.push_back({1, [=, this] { return from_struct(t); }});
    if (t->is_vec() || is_mergeable(t)) choices.push_back({1, [=, this] { return from_dict(t); }});
    choices.push_back({1, [=, this] { return deserialize(m_, t, serialize(m_, expr(t))); }});
    for (const Function* f : m_.functions)
        if (f->lambda && f->type->result() == t) choices.push_back({6, [=, this] { return call_of(f); }});
}

std::vector<Generator::Choice> Generator::forms_of(const Type* t) {
    switch (t->kind) {
        case TypeKind::Scalar: return scalar_forms(t);
        case TypeKind::Simd:
            return {{1, [=, this] { return lanes_op(t); }}, {1, [=, this] { return lanes_constant(t); }}};
        case TypeKind::Vec: return vec_forms(t);
        case TypeKind::Struct: return struct_forms(t);
        case TypeKind::Dict:
            return {{1, [=, this] { return small_dict(t); }},
                    {6, [=, this] { return dict_loop(t); }},
                    {is_mergeable(t->value()) ? 8 : 0, [=, this] { return dict_beside_others(t); }}};
        case TypeKind::Builder:
        case TypeKind::Function: break;
    }
    return {};
}

const Expr* Generator::from_struct(const Type* t) {
    const std::size_t before = r_.below(2), after = r_.below(2);
    std::vector<const Expr*> fields;
    for (std::size_t i = 0; i < before; ++i) fields.push_back(expr(scalar_type()));
    fields.push_back(expr(t));
    for (std::size_t i = 0; i < after; ++i) fields.push_back(expr(scalar_type()));
    return get_field(m_, make_struct(m_, fields), before);
}

const Expr* Generator::iteration(const Type* t) {
    const bool has_numbers = t->is_vec() && t->elem()->is_scalar() && !t->elem()->is_bool();
    if (has_numbers && r_.percent(50)) return rounds_of_updates(t);
    const Type* parts[] = {t, m_.types.i64()};
    const Symbol* s = symbol("s", m_.types.structure(parts));
    const Expr* count = get_field(m_, var(m_, s), 1);
    const Expr* body = within({s}, [&] {
        const Expr* next = make_struct(m_, {expr(t), scalar_op(m_, Op::Add, {count, i64(1)})});
        const Expr* more = scalar_op(m_, Op::Lt, {count, i64(r_.between(-1, 6))});
        if (r_.percent(30)) more = scalar_op(m_, Op::And, {more, boolean()});
        if (r_.percent(50)) return make_struct(m_, {next, more});
        const Expr* goes_on = make_struct(m_, {next, r_.percent(80) ? bool_literal(m_, true) : boolean()});
        const Expr* ends = make_struct(m_, {var(m_, s), bool_literal(m_, false)});
        if (r_.percent(50)) return if_(m_, more, goes_on, ends);
        return if_(m_, scalar_op(m_, Op::Not, {more}), ends, goes_on);
    });
    const Expr* start = make_struct(m_, {expr(t), i64(0)});
    return get_field(m_, iterate(m_, start, lambda(m_, {s}, body)), 0);
}

const Expr* Generator::updated(const Expr* vec) {
    return named("v", vec, [&](const Symbol* v) {
        const Type* elem = v->type->elem();
        const Expr* k = i64(r_.between(0, 3));
        const Expr* there = lookup(m_, var(m_, v), i64(0));
        const Expr* b = new_builder(
            m_, builder_of(r_.percent(50) ? BuilderKind::VecMerger : BuilderKind::VecSetter, {elem}),
            var(m_, v));
        for (std::size_t n = 1 + r_.below(2); n > 0; --n)
            b = merge(m_, b, make_struct(m_, {k, r_.percent(50) ? there : expr(elem)}));
        const Expr* fits = scalar_op(m_, Op::Lt, {k, len(m_, var(m_, v))});
        return if_(m_, fits, result(m_, b), var(m_, v));
    });
}

const Expr* Generator::rounds_of_updates(const Type* t) {
    const Type* parts[] = {t, t, m_.types.i64()};
    const Symbol* s = symbol("s", m_.types.structure(parts));
    const auto field = [&](std::size_t i) { return get_field(m_, var(m_, s), i); };
    const auto vec = [&] { return field(r_.below(2)); };
    const auto next = [&](std::size_t own) -> const Expr* {
        if (r_.percent(50)) return updated(r_.percent(70) ? field(own) : vec());
        if (r_.percent(30)) return expr(t);
        if (r_.percent(30)) return slice(m_, vec(), i64(0), i64(r_.between(1, 5)));
        return r_.percent(70) ? field(own) : vec();
    };
    return named("a", expr(t), [&](const Symbol* a) {
        const Expr* start = make_struct(m_, {var(m_, a), r_.percent(50) ? var(m_, a) : expr(t), i64(0)});
        const Expr* body = within({s}, [&] {
            const Expr* more = scalar_op(m_, Op::Lt, {field(2), i64(r_.between(0, 4))});
            const Expr* count = scalar_op(m_, Op::Add, {field(2), i64(1)});
            return make_struct(m_, {make_struct(m_, {next(0), next(1), count}), more});
        });
        return named("r", iterate(m_, start, lambda(m_, {s}, body)), [&](const Symbol* r) -> const Expr* {
            const Expr* last = get_field(m_, var(m_, r), r_.below(2));
            return r_.percent(50) ? updated(last) : last;
        });
    });
}

const Expr* Generator::is_index(const Symbol* k, const Symbol* v) {
    return scalar_op(m_, Op::And,
                     {scalar_op(m_, Op::Ge, {var(m_, k), i64(0)}),
                      scalar_op(m_, Op::Lt, {var(m_, k), len(m_, var(m_, v))})});
}

const Expr* Generator::element(const Type* t) {
    return named("v", expr(m_.types.vec(t)), [&](const Symbol* v) -> const Expr* {
        if (risky()) return lookup(m_, var(m_, v), expr(m_.types.i64()));
        return named("k", expr(m_.types.i64()), [&](const Symbol* k) {
            return if_(m_, is_index(k, v), lookup(m_, var(m_, v), var(m_, k)), leaf(t));
        });
    });
}

const Expr* Generator::from_dict(const Type* t) {
    return named("d", expr(m_.types.dict(key_type(), t)), [&](const Symbol* d) -> const Expr* {
        const Expr *of = var(m_, d), *key = expr(d->type->key());
        if (risky()) return lookup(m_, of, key);
        if (r_.percent(50)) return get_field(m_, opt_lookup(m_, of, key), 1);
        return named("k", key, [&](const Symbol* k) {
            return if_(m_, key_exists(m_, of, var(m_, k)), lookup(m_, of, var(m_, k)), leaf(t));
        });
    });
}

// ---- scalars

std::vector<Generator::Choice> Generator::scalar_forms(const Type* t) {
    std::vector<Choice> c = {{16, [=, this] { return lanes_op(t); }},
                             {3, [=, this] { return cast(m_, t->scalar, expr(scalar_type())); }}};
    if (t->is_scalar(Scalar::I64) && options_.functions_of_test) {
        c.push_back({1, [=, this] {
                         const Expr* arg = expr(t);
                         return kernel(m_, {"weld_test_note"}, t, std::span(&arg, 1));
                     }});
    }
    if (t->is_scalar(Scalar::F64) && options_.functions_of_test)
        c.push_back({1, [=, this] {
                         const Expr* args[] = {expr(t), expr(t)};
                         return kernel(m_, {"weld_test_mix", r_.percent(50)}, t, args);
                     }});
    if (is_number(t->scalar)) c.push_back({5, [=, this] { return reduction(t); }});
    if (t->is_scalar(Scalar::I64)) {
        c.push_back({2, [this] { return len(m_, expr(m_.types.vec(data_type(1)))); }});
        c.push_back({1, [this] { return len(m_, expr(m_.types.dict(key_type(), mergeable_type()))); }});
    }
    if (t->is_bool()) {
        c.push_back({1, [this] { return compound_comparison(); }});
        c.push_back({1, [this] {
                         return key_exists(m_, expr(m_.types.dict(key_type(), mergeable_type())), nullptr);
                     }});
        c.back() = {1, [this] {
                        const Expr* d = expr(m_.types.dict(key_type(), mergeable_type()));
                        return key_exists(m_, d, expr(d->type->key()));
                    }};
        if (options_.failures)
            c.push_back({1, [this] {
                             const Expr* sure = r_.percent(15) ? boolean() : bool_literal(m_, true);
                             return assert_(m_, scalar_op(m_, Op::Or, {sure, boolean()}));
                         }});
    }
    return c;
}

Op Generator::comparison_op() {
    constexpr Op ops[] = {Op::Eq, Op::Ne, Op::Lt, Op::Gt, Op::Le, Op::Ge};
    return ops[r_.below(std::size(ops))];
}

const Expr* Generator::compound_comparison() {
    const Type* t = key_type();
    return scalar_op(m_, comparison_op(), {expr(t), expr(t)});
}

const Expr* Generator::lanes_op(const Type* t) {
    auto like = [&](const Type* s) { return t->is_simd() ? m_.types.simd(s->scalar, t->lanes) : s; };
    if (t->scalar == Scalar::Bool) {
        switch (r_.below(6)) {
            case 0: return scalar_op(m_, Op::Not, {expr(t)});
            case 1: return scalar_op(m_, Op::And, {expr(t), expr(t)});
            case 2: return scalar_op(m_, Op::Or, {expr(t), expr(t)});
            case 3: return scalar_op(m_, Op::BitXor, {expr(t), expr(t)});
            default: {
                const Type* of = like(scalar_type());
                return scalar_op(m_, comparison_op(), {expr(of), expr(of)});
            }
        }
    }
    if (t->is_simd() && r_.percent(8)) return broadcast(m_, expr(scalar(t->scalar)), t->lanes);
    if (t->is_simd() && r_.percent(15)) return cast(m_, t->scalar, expr(like(scalar_type())));
    if (t->is_simd() && r_.percent(15)) return select(m_, expr(like(m_.types.boolean())), expr(t), expr(t));
    if (r_.percent(15)) return division(t);
    return is_float(t->scalar) ? float_op(t) : integer_op(t);
}

const Expr* Generator::integer_op(const Type* t) {
    constexpr Op two[] = {Op::Add, Op::Add,    Op::Sub,   Op::Mul,    Op::Mul, Op::Min,
                          Op::Max, Op::BitAnd, Op::BitOr, Op::BitXor, Op::Shl, Op::Shr};
    if (r_.percent(12)) return scalar_op(m_, r_.percent(50) ? Op::Neg : Op::BitNot, {expr(t)});
    return scalar_op(m_, two[r_.below(std::size(two))], {expr(t), expr(t)});
}

const Expr* Generator::float_op(const Type* t) {
    constexpr Op two[] = {Op::Add, Op::Add, Op::Sub, Op::Mul, Op::Mul, Op::Min, Op::Max};
    constexpr Op math[] = {Op::Exp,  Op::Log,  Op::Erf,  Op::Sin,  Op::Cos,  Op::Tan,
                           Op::Asin, Op::Acos, Op::Atan, Op::Sinh, Op::Cosh, Op::Tanh};
    if (r_.percent(12)) return scalar_op(m_, r_.percent(50) ? Op::Neg : Op::Sqrt, {expr(t)});
    if (options_.math && r_.percent(10)) {
        if (r_.percent(15)) return scalar_op(m_, Op::Pow, {expr(t), expr(t)});
        return scalar_op(m_, math[r_.below(std::size(math))], {expr(t)});
    }
    return scalar_op(m_, two[r_.below(std::size(two))], {expr(t), expr(t)});
}

const Expr* Generator::division(const Type* t) {
    const Op op = r_.percent(60) ? Op::Div : Op::Rem;
    const Expr* by = expr(t);
    if (!is_float(t->scalar) && !risky()) {  // odd numbers are not zero
        const Expr* one = int_literal(m_, scalar(t->scalar), 1);
        by = scalar_op(m_, Op::BitOr, {by, t->is_simd() ? broadcast(m_, one, t->lanes) : one});
    }
    return scalar_op(m_, op, {expr(t), by});
}

// ---- structs and vectors

std::vector<Generator::Choice> Generator::struct_forms(const Type* t) {
    std::vector<Choice> c = {{8, [=, this] { return structure(t, [&](const Type* f) { return expr(f); }); }}};
    if (is_mergeable(t)) c.push_back({4, [=, this] { return reduction(t); }});
    if (!t->args.empty()) c.push_back({2, [=, this] { return several_results(t); }});
    if (t->args.size() == 2 && t->args[0]->is_bool() && (t->args[1]->is_vec() || is_mergeable(t->args[1])))
        c.push_back({2, [=, this] {
                         const Expr* d = expr(m_.types.dict(key_type(), t->args[1]));
                         return opt_lookup(m_, d, expr(d->type->key()));
                     }});
    return c;
}

std::vector<Generator::Choice> Generator::vec_forms(const Type* t) {
    const Type* elem = t->elem();
    std::vector<Choice> c = {{3, [=, this] { return vector(t, r_.below(5), [&] { return expr(elem); }); }},
                             {9, [=, this] { return collected(t); }},
                             {2, [=, this] { return sliced(t); }}};
    if (is_comparable(elem)) c.push_back({2, [=, this] { return sorted(t); }});
    if (!elem->holds_pointer && !elem->holds_simd) c.push_back({3, [=, this] { return vec_merged(t); }});
    if (elem->is_struct() && elem->args.size() == 2 && is_comparable(elem->args[0]) &&
        (elem->args[1]->is_vec() || is_mergeable(elem->args[1])))
        c.push_back({3, [=, this] { return entries(t); }});
    if (elem->is_scalar(Scalar::U8))
        c.push_back({3, [this] {
                         const Type* of = data_type(2);
                         return serialize(m_, expr(of->holds_dict ? m_.types.i64() : of));
                     }});
    return c;
}

const Expr* Generator::sliced(const Type* t) {
    return named("v", expr(t), [&](const Symbol* v) {
        if (risky()) return slice(m_, var(m_, v), expr(m_.types.i64()), expr(m_.types.i64()));
        const Expr* start = scalar_op(m_, Op::Min, {len(m_, var(m_, v)), i64(r_.between(0, 4))});
        const Expr* size =
            r_.percent(50) ? i64(r_.between(0, 8)) : scalar_op(m_, Op::Max, {expr(m_.types.i64()), i64(0)});
        return slice(m_, var(m_, v), start, size);
    });
}

const Expr* Generator::sorted(const Type* t) {
    const Expr* all = sorted_whole(t);
    const auto number = [&](std::int64_t n) { return i64_literal(m_, n); };
    return r_.percent(30) ? slice(m_, all, number(0), number(std::int64_t(r_.below(5)))) : all;
}

const Expr* Generator::sorted_whole(const Type* t) {
    const Type* elem = t->elem();
    const Expr* of = expr(t);
    if (r_.percent(50)) {  // by a key
        const Symbol* x = symbol("x", elem);
        const Type* key = r_.percent(50) ? elem : scalar_type();
        return sort(m_, of,
                    lambda(m_, {x}, within({x}, [&] { return key == elem ? var(m_, x) : expr(key); })));
    }
    const Symbol *x = symbol("x", elem), *y = symbol("y", elem);
    const Expr *a = var(m_, x), *b = var(m_, y);
    if (r_.percent(30)) std::swap(a, b);
    const Expr* by = compared(a, b);
    if (elem->is_struct() && elem->args.size() > 1 &&
        r_.percent(60)) {  // by two fields, in an order of their own
        const std::size_t first = r_.below(elem->args.size()), then = r_.below(elem->args.size());
        by = compared(get_field(m_, a, first), get_field(m_, b, first));
        if (r_.percent(60))
            by = if_(m_, scalar_op(m_, Op::Eq, {get_field(m_, a, first), get_field(m_, b, first)}),
                     compared(get_field(m_, b, then), get_field(m_, a, then)), by);
    } else if (elem->is_scalar() && is_integer(elem->scalar) && r_.percent(50)) {
        const Expr* c = constant(elem);
        constexpr Op ops[] = {Op::BitAnd, Op::BitXor, Op::Mul, Op::Max};
        const Op op = ops[r_.below(std::size(ops))];
        by = compared(scalar_op(m_, op, {a, c}), scalar_op(m_, op, {b, c}));
    }
    return sort(m_, floats_without_nan(of), lambda(m_, {x, y}, by));
}

const Expr* Generator::compared(const Expr* a, const Expr* b) {
    const Type* i32 = scalar(Scalar::I32);
    const Expr *more = scalar_op(m_, Op::Gt, {a, b}), *less = scalar_op(m_, Op::Lt, {a, b});
    auto number = [&](int n) { return int_literal(m_, i32, n); };
    switch (r_.below(3)) {
        case 0: return scalar_op(m_, Op::Sub, {cast(m_, Scalar::I32, more), cast(m_, Scalar::I32, less)});
        case 1: return select(m_, less, number(-1), select(m_, more, number(1), number(0)));
        default: return if_(m_, more, number(1), if_(m_, less, number(-1), number(0)));
    }
}

const Expr* Generator::floats_without_nan(const Expr* of) {
    const Type* elem = of->type->elem();
    if (elem->is_scalar() && !is_float(elem->scalar)) return of;
    const Symbol *b = symbol("b", m_.types.builder(BuilderKind::Appender, std::span(&elem, 1))),
                 *i = symbol("i", m_.types.i64()), *x = symbol("x", elem);
    const Expr* keep = if_(m_, scalar_op(m_, Op::Eq, {var(m_, x), var(m_, x)}),
                           merge(m_, var(m_, b), var(m_, x)), var(m_, b));
    return result(m_, loop(m_, std::span(&of, 1), new_builder(m_, b->type), lambda(m_, {b, i, x}, keep)));
}

const Expr* Generator::entries(const Type* t) {
    const Symbol* p = symbol("p", t->elem());
    const Expr* by = lambda(m_, {p}, get_field(m_, var(m_, p), 0));
    return sort(m_, to_vec(m_, expr(m_.types.dict(t->elem()->args[0], t->elem()->args[1]))), by);
}

}  // namespace weld::driver
