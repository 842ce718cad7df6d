// Loops, and builders in and around them.
#include <algorithm>

#include "tests/driver/generator.h"
#include "weldir/ir/builder.h"

namespace weld::driver {

// ---- loops

const Expr* Generator::strided(const Symbol* v, std::int64_t k) {
    const Expr* n = len(m_, var(m_, v));
    const Expr* whole = scalar_op(m_, Op::Mul, {scalar_op(m_, Op::Div, {n, i64(k)}), i64(k)});
    const Expr* bounds[] = {i64(0), whole, i64(k)};
    return iter(m_, IterKind::Scalar, var(m_, v), bounds);
}

std::vector<const Expr*> Generator::data_over(const Symbol* v) {
    const Expr* all = var(m_, v);
    const Expr* n = len(m_, all);
    const Expr* whole[] = {i64(0), n, i64(1)};
    switch (r_.below(risky() ? 11 : 10)) {
        case 0: return {all, range_iter(m_, IterKind::Scalar, i64(0), n, i64(1))};
        case 1: return {all, all};
        case 2: return {iter(m_, IterKind::Scalar, all, whole), all};
        case 3: return {strided(v, r_.between(1, 4))};
        case 4: return {range_iter(m_, IterKind::Scalar, i64(0), n, i64(1)), all, all};
        case 5: {
            const Expr* from = scalar_op(m_, Op::Min, {n, i64(r_.between(0, 3))});
            const Expr* tail[] = {from, n, i64(1)};
            return {iter(m_, IterKind::Scalar, all, tail)};
        }
        case 10: {
            const Expr* wrong[] = {expr(m_.types.i64()), expr(m_.types.i64()), i64(r_.between(0, 3))};
            return {iter(m_, IterKind::Scalar, all, wrong), all};
        }
        default: return {all};
    }
}

const Expr* Generator::some_loop(const Expr* builder) {
    const std::size_t kind = r_.below(13);
    if (kind == 0) return counted_loop(builder);
    if (kind == 1) return nd_loop(builder);
    const Type* elem = r_.percent(75) ? scalar_type() : data_type(1);
    const Expr* data = r_.percent(70) ? some_vector() : nullptr;
    return named("xs", data ? data : expr(m_.types.vec(elem)), [&](const Symbol* v) -> const Expr* {
        if (kind == 2 && v->type->elem()->is_scalar()) return simd_loops(v, builder);
        const Expr* other = kind >= 11 ? some_vector() : nullptr;
        if (other && other->as<Var>().symbol() != v)
            return zipped_loop(v, other->as<Var>().symbol(), builder);
        return loop_over(data_over(v), builder);
    });
}

const Expr* Generator::zipped_loop(const Symbol* v, const Symbol* w, const Expr* builder) {
    const Expr *n = len(m_, var(m_, v)), *k = len(m_, var(m_, w));
    if (r_.percent(50))
        return builder_named(builder, [&](const Expr* b) {
            return if_(m_, scalar_op(m_, Op::Eq, {n, k}), loop_over({var(m_, v), var(m_, w)}, b), b);
        });
    return named("n", scalar_op(m_, Op::Min, {n, k}), [&](const Symbol* least) {
        const Expr* bounds[] = {i64(0), var(m_, least), i64(1)};
        return loop_over(
            {iter(m_, IterKind::Scalar, var(m_, v), bounds), iter(m_, IterKind::Scalar, var(m_, w), bounds)},
            builder);
    });
}

const Expr* Generator::some_vector() {
    std::vector<const Symbol*> found;
    for (const Symbol* s : scope_)
        if (s->type->is_vec()) found.push_back(s);
    return found.empty() ? nullptr : var(m_, found[r_.below(found.size())]);
}

const Expr* Generator::counted_loop(const Expr* builder) {
    const std::int64_t start = r_.between(-4, 3), stride = r_.between(1, 3);
    return loop_over(
        {range_iter(m_, IterKind::Scalar, i64(start), i64(start + stride * r_.between(0, 7)), i64(stride))},
        builder);
}

const Expr* Generator::nd_loop(const Expr* builder) {
    const Type* t = m_.types.vec(number_type());
    std::int64_t size = 1, rounds = 1, start = r_.between(0, 2), last = start;
    std::vector<const Expr*> shape, strides;  // the first axis is the nearest, or in the order of the vector
    for (std::size_t i = 0, rank = r_.below(4); i < rank; ++i) {
        const std::int64_t n = r_.percent(4) ? 0 : r_.between(1, 3);
        const std::int64_t stride = r_.percent(10) ? 0 : r_.percent(25) ? -size : size;
        shape.push_back(i64(n));
        strides.push_back(i64(stride));
        if (stride < 0) start += size * (n - 1);
        last += std::abs(stride) * (n - 1);
        size *= std::max<std::int64_t>(n, 1);
        rounds *= n;
    }
    if (r_.percent(50)) {
        std::reverse(shape.begin(), shape.end());
        std::reverse(strides.begin(), strides.end());
    }
    const std::int64_t length = std::max<std::int64_t>(0, last + (risky() ? 0 : 1 + r_.between(0, 2)));
    return named("grid", vector(t, std::size_t(length), [&] { return leaf(t->elem()); }),
                 [&](const Symbol* v) {
                     const Expr* all = var(m_, v);
                     const Expr* bounds[] = {i64(start), leaf(m_.types.i64()), leaf(m_.types.i64()),
                                             make_vec(m_, m_.types.i64(), shape),
                                             make_vec(m_, m_.types.i64(), strides)};
                     std::vector<const Expr*> data{iter(m_, IterKind::Scalar, all, bounds)};
                     if (rounds == length && r_.percent(25)) data.push_back(all);
                     if (r_.percent(25)) {
                         const std::int64_t from = r_.between(-3, 3);
                         data.insert(data.begin(),
                                     range_iter(m_, IterKind::Scalar, i64(from), i64(from + rounds), i64(1)));
                     }
                     return loop_over(data, builder);
                 });
}

const Expr* Generator::loop_over(const std::vector<const Expr*>& data, const Expr* builder) {
    std::vector<const Type*> yields;
    for (const Expr* d : data) yields.push_back(d->type->elem());
    const Symbol *b = symbol("b", builder->type), *i = symbol("i", m_.types.i64()),
                 *x = symbol("x", yields.size() == 1 ? yields[0] : m_.types.structure(yields));
    ++depth_;
    fuel_ = std::max(fuel_, int(r_.between(2, 10)) / depth_);  // bodies are what it is all about
    const Expr* body = within({i, x}, [&] { return grow(var(m_, b)); });
    --depth_;
    const Expr* e = loop(m_, data, builder, lambda(m_, {b, i, x}, body));
    if (r_.percent(8)) e = annotate(m_, e, AttrKey::Vectorize, "false");
    if (r_.percent(8)) e = annotate(m_, e, AttrKey::Parallel, r_.percent(50) ? "true" : "false");
    if (r_.percent(4)) e = annotate(m_, e, AttrKey::Fuse, "false");
    return e;
}

const Expr* Generator::simd_loops(const Symbol* v, const Expr* builder) {
    constexpr std::uint32_t widths[] = {2, 4, 8, 16};
    const std::uint32_t n = widths[r_.below(4)];
    const Expr* all = var(m_, v);
    const Expr* end = len(m_, all);
    const Expr *whole[] = {i64(0), end, i64(1)},
               *tail[] = {scalar_op(m_, Op::Min, {end, i64(r_.between(0, 3))}), end, i64(1)};
    const std::size_t form = r_.below(8);
    auto data = [&](IterKind kind) -> std::vector<const Expr*> {
        const Expr* plain = iter(m_, kind, all, {}, n);
        switch (form) {
            case 0: return {iter(m_, kind, all, tail, n)};
            case 1: return {plain, iter(m_, kind, all, whole, n)};
            case 2: return {plain, range_iter(m_, kind, i64(0), end, i64(1), n)};
            default: return {plain};
        }
    };
    return loop_over(data(IterKind::Fringe), loop_over(data(IterKind::Simd), builder));
}

// ---- builders

std::uint32_t Generator::lanes_in_scope() const {
    for (std::size_t i = scope_.size(); i-- > 0;) {
        const Type* t = scope_[i]->type;
        while (t->is_struct() && !t->args.empty()) t = t->args[0];
        if (t->is_simd()) return t->lanes;
    }
    return 0;
}

const Type* Generator::widened(const Type* t, std::uint32_t lanes) {
    if (t->is_scalar()) return m_.types.simd(t->scalar, lanes);
    if (!t->is_struct() || t->args.empty()) return nullptr;
    std::vector<const Type*> fields;
    for (const Type* f : t->args) {
        fields.push_back(widened(f, lanes));
        if (!fields.back()) return nullptr;
    }
    return m_.types.structure(fields);
}

const Expr* Generator::wide_expr(const Type* t) {
    if (!t->is_struct()) return expr(t);
    return structure(t, [&](const Type* f) { return wide_expr(f); });
}

const Expr* Generator::merged(const Expr* b) {
    if (const std::uint32_t lanes = lanes_in_scope(); lanes && r_.percent(60))
        if (const Expr* e = merged_lanes(b, lanes)) return e;
    const Type* t = b->type;
    switch (t->builder) {
        case BuilderKind::Appender:
        case BuilderKind::TopK:
        case BuilderKind::Merger: return merge(m_, b, expr(t->elem()));
        case BuilderKind::DictMerger:
        case BuilderKind::GroupMerger:
            return merge(m_, b, make_struct(m_, {expr(t->key()), expr(t->value())}));
        case BuilderKind::VecMerger:
        case BuilderKind::VecSetter: break;
    }
    const Expr* at = expr(m_.types.i64());
    const Symbol* initial = initial_[t];
    if (!initial || risky()) return merge(m_, b, make_struct(m_, {at, expr(t->elem())}));
    return named("k", at, [&](const Symbol* k) {
        return if_(m_, is_index(k, initial), merge(m_, b, make_struct(m_, {var(m_, k), expr(t->elem())})), b);
    });
}

const Expr* Generator::merged_lanes(const Expr* b, std::uint32_t lanes) {
    const Type* t = b->type;
    const Type* some = m_.types.simd(Scalar::Bool, lanes);
    const Expr* mask = r_.percent(30) ? expr(some) : nullptr;
    const bool is_pair = t->builder == BuilderKind::DictMerger || t->builder == BuilderKind::GroupMerger;
    const Type* value = widened(is_pair ? t->value() : t->elem(), lanes);
    if (!value) return nullptr;
    if (is_pair) {
        const Type* key = widened(t->key(), lanes);
        return key ? merge(m_, b, make_struct(m_, {wide_expr(key), wide_expr(value)}), mask) : nullptr;
    }
    if (!info(t).indexed) return merge(m_, b, wide_expr(value), mask);
    const Symbol* initial = initial_[t];
    if (!initial) return nullptr;
    return named("k", expr(m_.types.simd(Scalar::I64, lanes)), [&](const Symbol* k) {
        const Expr *at = var(m_, k), *end = broadcast(m_, len(m_, var(m_, initial)), lanes);
        const Expr* inside = scalar_op(
            m_, Op::And,
            {scalar_op(m_, Op::Ge, {at, broadcast(m_, i64(0), lanes)}), scalar_op(m_, Op::Lt, {at, end})});
        return merge(m_, b, make_struct(m_, {at, wide_expr(value)}),
                     mask ? scalar_op(m_, Op::And, {inside, mask}) : inside);
    });
}

const Expr* Generator::grow(const Expr* b) {
    if (b->type->is_struct())
        return builder_named(b, [&](const Expr* s) -> const Expr* {
            if (spend() && r_.percent(15)) return if_(m_, boolean(), grow_fields(s), grow_fields(s));
            if (spend() && depth_ < 3 && r_.percent(10)) return some_loop(s);
            return grow_fields(s);
        });
    if (!spend()) return r_.percent(80) ? merged_simply(b) : b;
    if (r_.percent(10))
        if (const Expr* e = filled_by_call(b)) return e;
    return choose(
        {{10, [=, this] { return builder_named(b, [&](const Expr* s) { return merged(s); }); }},
         {1, [=] { return b; }},
         {2, [=, this] { return builder_named(merged_simply(b), [&](const Expr* s) { return grow(s); }); }},
         {4,
          [=, this] {
              return builder_named(b, [&](const Expr* s) { return if_(m_, boolean(), grow(s), grow(s)); });
          }},
         {depth_ < 3 ? 3 : 0,
          [=, this] { return builder_named(b, [&](const Expr* s) { return some_loop(s); }); }},
         {2, [=, this] {
              return builder_named(b, [&](const Expr* s) {
                  return named("v", expr(data_type(1)), [&](const Symbol*) { return grow(s); });
              });
          }}});
}

/// A dictionary that one loop fills beside others by the same key.
const Expr* Generator::dict_beside_others(const Type* t) {
    std::vector<const Expr*> starts;
    const std::int64_t all = r_.between(2, 4), wanted = r_.between(0, all - 1);
    for (std::int64_t k = 0; k < all; ++k) {
        const Type* args[] = {t->key(), k == wanted ? t->value() : mergeable_type()};
        starts.push_back(new_builder(m_, m_.types.builder(BuilderKind::DictMerger, args, merge_op())));
    }
    return named("g", filled(make_struct(m_, starts)), [&](const Symbol* g) {
        const auto dict = [&](std::int64_t k) {
            return result(m_, get_field(m_, var(m_, g), std::size_t(k)));
        };
        const Expr* size = nullptr;
        for (std::int64_t k = 0; k < all; ++k) {
            if (k == wanted) continue;
            const Expr* one = len(m_, r_.percent(50) ? dict(k) : to_vec(m_, dict(k)));
            size = size ? scalar_op(m_, Op::Add, {size, one}) : one;
        }
        return named("d", dict(wanted), [&](const Symbol* d) {
            const Expr* expected = scalar_op(m_, Op::Mul, {len(m_, var(m_, d)), i64(all - 1)});
            return named("ok", assert_(m_, scalar_op(m_, Op::Eq, {size, expected})),
                         [&](const Symbol*) { return var(m_, d); });
        });
    });
}

/// Merges into all builders of a struct by one key.
const Expr* Generator::grow_by_one_key(const Expr* s) {
    const Type* of = s->type->args[0]->key();
    const Expr* key = r_.percent(70) ? if_(m_, boolean(), leaf(of), leaf(of)) : expr(of);  // few, mostly
    return named("k", key, [&](const Symbol* k) {
        std::vector<const Expr*> fields;
        for (std::size_t i = 0; i < s->type->args.size(); ++i)
            fields.push_back(merge(m_, get_field(m_, s, i),
                                   make_struct(m_, {var(m_, k), expr(s->type->args[i]->value())})));
        const Expr* all = make_struct(m_, fields);
        return r_.percent(40) ? if_(m_, boolean(), all, s) : all;
    });
}

const Expr* Generator::grow_fields(const Expr* s) {
    const auto is_alike = [&](const Type* b) {
        return b->is_builder(BuilderKind::DictMerger) && b->key() == s->type->args[0]->key();
    };
    if (s->type->args.size() > 1 && std::ranges::all_of(s->type->args, is_alike)) return grow_by_one_key(s);
    std::vector<const Expr*> fields;
    for (std::size_t i = 0; i < s->type->args.size(); ++i) fields.push_back(grow(get_field(m_, s, i)));
    return make_struct(m_, fields);
}

const Expr* Generator::merged_simply(const Expr* b) {
    const int fuel = std::exchange(fuel_, 0);
    const Expr* e = builder_named(b, [&](const Expr* s) { return merged(s); });
    fuel_ = fuel;
    return e;
}

const Type* Generator::builder_of(BuilderKind kind, std::initializer_list<const Type*> args) {
    return m_.types.builder(kind, std::span(args.begin(), args.size()), merge_op());
}

const Expr* Generator::filled(const Expr* builder) {
    if (depth_ < 2 && r_.percent(8)) return filled_by_iterate(builder);
    const Expr* called = r_.percent(15) ? filled_by_call(builder) : nullptr;
    return called ? called : some_loop(builder);
}

const Expr* Generator::filled_by_iterate(const Expr* builder) {
    const Type* parts[] = {builder->type, m_.types.i64()};
    const Symbol* s = symbol("s", m_.types.structure(parts));
    const Expr* count = get_field(m_, var(m_, s), 1);
    ++depth_;
    const Expr* next =
        make_struct(m_, {grow(get_field(m_, var(m_, s), 0)), scalar_op(m_, Op::Add, {count, i64(1)})});
    --depth_;
    const Expr* more = scalar_op(m_, Op::Lt, {count, i64(r_.between(-1, 6))});
    const Expr* last =
        iterate(m_, make_struct(m_, {builder, i64(0)}), lambda(m_, {s}, make_struct(m_, {next, more})));
    return get_field(m_, last, 0);
}

const Expr* Generator::filled_by_call(const Expr* b) {
    for (const Function* f : m_.functions) {
        if (!f->lambda || f->type->result() != b->type) continue;
        std::vector<const Expr*> args = {b};
        for (const Symbol* p : f->lambda->as<Lambda>().params().subspan(1)) args.push_back(expr(p->type));
        return call(m_, f, args);
    }
    return nullptr;
}

const Expr* Generator::reduction(const Type* t) {
    const Type* b = builder_of(BuilderKind::Merger, {t});
    return result(m_, filled(new_builder(m_, b, r_.percent(25) ? leaf(t) : nullptr)));
}

const Expr* Generator::collected(const Type* t) {
    if (!t->elem()->holds_dict && !t->elem()->holds_simd && r_.percent(10))
        return result(
            m_, filled(new_builder(m_, builder_of(BuilderKind::TopK, {t->elem()}), i64(r_.between(-1, 9)))));
    const Type* b = builder_of(BuilderKind::Appender, {t->elem()});
    const Expr* e = new_builder(m_, b, r_.percent(10) ? i64(r_.between(0, 20)) : nullptr);
    if (r_.percent(3)) e = annotate(m_, e, AttrKey::Size, "3");  // no promise, whatever it says
    return result(m_, filled(e));
}

const Expr* Generator::vec_merged(const Type* t) {
    const bool sets = !is_mergeable(t->elem()) || r_.percent(30);
    const Type* b = builder_of(sets ? BuilderKind::VecSetter : BuilderKind::VecMerger, {t->elem()});
    if (r_.percent(20)) return moved_within(b);
    return named("w", expr(t), [&](const Symbol* w) {
        const Symbol* before = std::exchange(initial_[b], w);
        const Expr* e = result(m_, filled(new_builder(m_, b, var(m_, w))));
        initial_[b] = before;
        return e;
    });
}

const Expr* Generator::moved_within(const Type* setter) {
    const Type *elem = setter->elem(), *list = builder_of(BuilderKind::Appender, {elem});
    const Type* i64_type = m_.types.i64();
    const auto each = [&](const Expr* datum, const Type* builder, const Expr* start, auto&& value) {
        const Symbol *b = m_.symbol("b", builder), *i = symbol("i", i64_type),
                     *e = symbol("e", datum->type->elem());
        const Expr* body = merge(m_, var(m_, b), within({i, e}, [&] { return value(i, e); }));
        return result(m_, loop(m_, {{datum}}, start, lambda(m_, {b, i, e}, body)));
    };
    const auto same = [&](const Symbol*, const Symbol* e) { return var(m_, e); };
    const Symbol *w = m_.symbol("w", m_.types.vec(elem)), *third = m_.symbol("third", i64_type),
                 *copy = m_.symbol("copy", w->type);
    const auto thirds = [&](std::int64_t n) { return scalar_op(m_, Op::Mul, {var(m_, third), i64(n)}); };
    const std::int64_t from = r_.between(0, 1), size = r_.between(1, 2);
    const Expr* to = thirds(r_.between(0, 1));
    const auto at_place = [&](const Symbol* i, const Symbol* e) {
        return make_struct(m_, {scalar_op(m_, Op::Add, {to, var(m_, i)}), var(m_, e)});
    };
    const Expr* bounds[] = {thirds(from), thirds(from + size), i64(1)};
    const Expr *part = iter(m_, IterKind::Scalar, var(m_, w), bounds),
               *start = new_builder(m_, setter, var(m_, w));
    const Expr* moved = r_.percent(50) ? each(part, setter, start, at_place)
                                       : let(m_, copy, each(part, list, new_builder(m_, list), same),
                                             each(var(m_, copy), setter, start, at_place));
    const Expr* range = range_iter(m_, IterKind::Scalar, i64(0), i64(r_.between(0, 50)), i64(1));
    const Expr* values = each(range, list, new_builder(m_, list), [&](const Symbol* i, auto...) {
        return elem->is_scalar() && elem->scalar != Scalar::Bool ? cast(m_, elem->scalar, var(m_, i))
                                                                 : expr(elem);
    });
    return let(m_, w, values, let(m_, third, scalar_op(m_, Op::Div, {len(m_, var(m_, w)), i64(3)}), moved));
}

const Type* Generator::builders_for(const Type* t) {
    if (t->is_vec()) return builder_of(BuilderKind::Appender, {t->elem()});
    if (t->is_dict()) return dict_builder(t);
    if (is_mergeable(t) && r_.percent(t->is_struct() ? 40 : 100)) return builder_of(BuilderKind::Merger, {t});
    if (!t->is_struct() || t->args.empty()) return nullptr;
    std::vector<const Type*> fields;
    for (const Type* f : t->args) {
        fields.push_back(builders_for(f));
        if (!fields.back()) return nullptr;
    }
    return m_.types.structure(fields);
}

const Expr* Generator::new_builders(const Type* t) {
    if (!t->is_struct()) return new_builder(m_, t);
    return structure(t, [&](const Type* f) { return new_builders(f); });
}

const Expr* Generator::results_of(const Expr* builders) {
    if (!builders->type->is_struct()) return result(m_, builders);
    std::vector<const Expr*> fields;
    for (std::size_t i = 0; i < builders->type->args.size(); ++i)
        fields.push_back(results_of(get_field(m_, builders, i)));
    return make_struct(m_, fields);
}

const Expr* Generator::several_results(const Type* t) {
    const Type* builders = builders_for(t);
    if (!builders) return structure(t, [&](const Type* field) { return expr(field); });
    const Expr* built = filled(new_builders(builders));
    const Symbol* s = symbol("r", built->type);
    return let(m_, s, built, results_of(var(m_, s)));
}

}  // namespace weld::driver
