// A program is grown from its result: `expr(t)` makes an expression of type `t` from the names in scope,
// choosing among the forms that give a `t`; `grow(b)` makes a later state of the builder `b`, using it once
// on each path. A budget of nodes is spent on the way; when it is gone, only leaves are made.
//
// Floats are mostly multiples of 1/8, so that sums are exact in any order and most results compare by bits.
#include "tests/driver/generate.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "weldir/ir/build.h"
#include "weldir/ir/scalar.h"

namespace weld::driver {

namespace {

std::uint64_t random_bits(Scalar s, Random& r) {
    if (s == Scalar::Bool) return r.below(2);
    if (is_float(s)) {
        constexpr double special[] = {0.0,
                                      -0.0,
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN(),
                                      1e30,
                                      1e-30,
                                      0.1,
                                      16777217.0};
        const double x = r.percent(8) ? special[r.below(std::size(special))] : double(r.between(-64, 96)) / 8;
        return s == Scalar::F32 ? scalar::to_bits(float(x)) : scalar::to_bits(x);
    }
    const int kind = int(r.below(20));
    if (kind == 0) return identity_bits(MergeOp::Min, s);
    if (kind == 1) return identity_bits(MergeOp::Max, s);
    if (kind == 2) return eval_cast(Scalar::U64, s, r.next());
    return eval_cast(Scalar::I64, s, std::uint64_t(r.between(is_signed(s) ? -6 : 0, 12)));
}

class Generator {
  public:
    Generator(Module& m, Random& r, const GenerateOptions& o) : m_(m), r_(r), options_(o), fuel_(o.size) {}

    void program() {
        const std::size_t num_functions = options_.functions && r_.percent(25) ? 1 + r_.below(2) : 0;
        for (std::size_t i = 0; i < num_functions; ++i) function();
        std::vector<const Symbol*> params;
        for (std::size_t i = 0, n = r_.below(5); i < n; ++i) params.push_back(symbol("p", param_type()));
        m_.main = lambda(m_, params,
                         within(params, [&] { return r_.percent(65) ? pipeline() : expr(data_type(2)); }));
    }

  private:
    using Make = std::function<const Expr*()>;
    struct Choice {
        int weight;
        Make make;
    };

    const Expr* choose(const std::vector<Choice>& choices) {
        int sum = 0;
        for (const Choice& c : choices) sum += c.weight;
        int at = int(r_.below(std::size_t(sum)));
        for (const Choice& c : choices)
            if ((at -= c.weight) < 0) return c.make();
        return nullptr;
    }

    // ---- names

    const Symbol* symbol(const char* name, const Type* type) { return m_.symbol(name, type); }

    /// What `make` makes with `symbols` in scope.
    template <class Fn>
    const Expr* within(const std::vector<const Symbol*>& symbols, Fn&& make) {
        const std::size_t before = scope_.size();
        for (const Symbol* s : symbols)
            if (!s->type->holds_builder) scope_.push_back(s);
        const Expr* e = make();
        scope_.resize(before);
        return e;
    }

    /// Binds `value` and makes what follows from its name.
    template <class Fn>
    const Expr* named(const char* name, const Expr* value, Fn&& make) {
        if (Var v = value->as<Var>()) return make(v.symbol());
        const Symbol* s = symbol(name, value->type);
        return let(m_, s, value, within({s}, [&] { return make(s); }));
    }

    /// A name in scope, or a field of one, of type `t`; null if there is none.
    const Expr* known(const Type* t) {
        std::vector<const Expr*> found;
        for (const Symbol* s : scope_) {
            if (s->type == t) found.push_back(var(m_, s));
            if (!s->type->is_struct()) continue;
            for (std::size_t i = 0; i < s->type->args.size(); ++i)
                if (s->type->args[i] == t) found.push_back(get_field(m_, var(m_, s), i));
        }
        if (found.empty()) return nullptr;
        return found[std::max(r_.below(found.size()), r_.below(found.size()))];  // rather what was made last
    }

    // ---- types

    const Type* scalar(Scalar s) { return m_.types.scalar(s); }
    const Type* scalar_type() {
        constexpr Scalar often[] = {Scalar::I64, Scalar::I64, Scalar::I32,
                                    Scalar::F64, Scalar::F64, Scalar::Bool};
        return scalar(r_.percent(65) ? often[r_.below(std::size(often))] : Scalar(r_.below(kNumScalars)));
    }
    const Type* number_type() {
        const Type* t = scalar_type();
        return t->is_bool() ? m_.types.i64() : t;
    }
    const Type* struct_of(std::size_t n, const std::function<const Type*()>& field) {
        std::vector<const Type*> fields;
        for (std::size_t i = 0; i < n; ++i) fields.push_back(field());
        return m_.types.structure(fields);
    }
    const Type* mergeable_type() {
        if (r_.percent(75)) return number_type();
        return struct_of(1 + r_.below(3), [&] { return number_type(); });
    }
    const Type* key_type() {
        switch (r_.below(8)) {
            case 0: return struct_of(1 + r_.below(3), [&] { return scalar_type(); });
            case 1: return m_.types.vec(scalar(r_.percent(60) ? Scalar::I8 : Scalar::I32));
            case 2:
                return struct_of(
                    2, [&] { return r_.percent(50) ? m_.types.vec(scalar(Scalar::I8)) : scalar_type(); });
            default: return scalar_type();
        }
    }
    const Type* data_type(int depth) {
        const std::size_t kind = r_.below(10);
        if (depth == 0 || kind < 4) return scalar_type();
        if (kind < 7) return m_.types.vec(data_type(depth - 1));
        if (kind < 9) return struct_of(r_.below(4), [&] { return data_type(depth - 1); });
        return m_.types.dict(key_type(), r_.percent(70) ? mergeable_type() : m_.types.vec(data_type(0)));
    }
    /// Programs are called from outside with these: no dictionaries.
    const Type* param_type() {
        for (;;) {
            const Type* t =
                r_.percent(70) ? m_.types.vec(r_.percent(75) ? scalar_type() : data_type(2)) : data_type(2);
            if (!t->holds_dict) return t;
        }
    }

    // ---- leaves

    const Expr* i64(std::int64_t n) { return int_literal(m_, m_.types.i64(), n); }
    const Expr* constant(const Type* t) { return literal(m_, t, random_bits(t->scalar, r_)); }
    /// A constant as wide as `t`: a scalar or simd.
    const Expr* lanes_constant(const Type* t) {
        const Expr* c = constant(scalar(t->scalar));
        return t->is_simd() ? broadcast(m_, c, t->lanes) : c;
    }

    const Expr* leaf(const Type* t) {
        if (r_.percent(75))
            if (const Expr* e = known(t)) return e;
        switch (t->kind) {
            case TypeKind::Scalar: return constant(t);
            case TypeKind::Simd: return lanes_constant(t);
            case TypeKind::Vec: return vector(t, r_.below(4), [&] { return leaf(t->elem()); });
            case TypeKind::Struct: return structure(t, [&](const Type* f) { return leaf(f); });
            case TypeKind::Dict: return small_dict(t);
            case TypeKind::Builder:
            case TypeKind::Function: break;
        }
        return nullptr;
    }

    const Expr* vector(const Type* t, std::size_t n, const Make& make) {
        std::vector<const Expr*> elems;
        for (std::size_t i = 0; i < n; ++i) elems.push_back(make());
        return make_vec(m_, t->elem(), elems);
    }
    const Expr* structure(const Type* t, const std::function<const Expr*(const Type*)>& make) {
        std::vector<const Expr*> fields;
        for (const Type* f : t->args) fields.push_back(make(f));
        return make_struct(m_, fields);
    }

    /// The builder whose result is dictionary `t`.
    const Type* dict_builder(const Type* t) {
        if (t->value()->is_vec() && (!is_mergeable(t->value()) || r_.percent(50))) {
            const Type* args[] = {t->key(), t->value()->elem()};
            return m_.types.builder(BuilderKind::GroupMerger, args);
        }
        return m_.types.builder(BuilderKind::DictMerger, t->args, merge_op());
    }
    const Expr* small_dict(const Type* t) {
        const Expr* b = new_builder(m_, dict_builder(t));
        for (std::size_t i = 0, n = r_.below(3); i < n; ++i)
            b = merge(m_, b, make_struct(m_, {leaf(b->type->key()), leaf(b->type->value())}));
        return result(m_, b);
    }
    MergeOp merge_op() { return r_.percent(50) ? MergeOp::Add : MergeOp(r_.below(4)); }

    // ---- whole programs

    /// As people write them: loop after loop, each over what came before, and some of it in the result.
    const Expr* pipeline() {
        std::vector<std::pair<const Symbol*, const Expr*>> lets;
        const std::size_t before = scope_.size();
        for (std::size_t i = 0, n = 2 + r_.below(5); i < n; ++i) {
            fuel_ = int(r_.between(5, options_.size / 3));
            const Expr* value = expr(step_type());
            lets.emplace_back(symbol("v", value->type), value);
            scope_.push_back(lets.back().first);
        }
        std::vector<const Expr*> out;
        for (std::size_t i = 0, n = 1 + r_.below(3); i < n; ++i)
            out.push_back(
                var(m_, scope_[scope_.size() - 1 - r_.below(std::min<std::size_t>(3, scope_.size()))]));
        const Expr* e = block(m_, lets, out.size() == 1 ? out[0] : make_struct(m_, out));
        scope_.resize(before);
        return e;
    }
    const Type* step_type() {
        switch (r_.below(12)) {
            case 0:
            case 1: return number_type();
            case 2: return mergeable_type();
            case 3:
                return m_.types.dict(key_type(),
                                     r_.percent(70) ? mergeable_type() : m_.types.vec(scalar_type()));
            case 4:
                return struct_of(
                    2, [&] { return r_.percent(50) ? number_type() : m_.types.vec(scalar_type()); });
            case 5: return m_.types.vec(struct_of(1 + r_.below(3), [&] { return scalar_type(); }));
            case 6: return data_type(2);
            default: return m_.types.vec(scalar_type());
        }
    }

    // ---- expressions

    bool spend() { return --fuel_ > 0; }

    const Expr* expr(const Type* t) {
        if (!spend() || r_.percent(12)) return leaf(t);
        std::vector<Choice> choices = forms_of(t);
        if (const Expr* e = known(t)) choices.push_back({4, [=] { return e; }});
        if (!t->is_simd()) add_general(choices, t);
        return maybe_annotated(choose(choices));
    }
    /// A condition; mostly one that can go either way.
    const Expr* boolean() {
        if (r_.percent(35)) return expr(m_.types.boolean());
        const Type* t = scalar_type();
        return scalar_op(m_, comparison_op(), {expr(t), leaf(t)});
    }

    const Expr* maybe_annotated(const Expr* e) {
        if (!r_.percent(6)) return e;
        if (e->op == Op::If) return annotate(m_, e, AttrKey::Predicate, r_.percent(50) ? "true" : "false");
        return e;
    }

    /// Forms for every type.
    void add_general(std::vector<Choice>& choices, const Type* t) {
        choices.push_back({3, [=, this] {
                               return named("v", expr(data_type(2)), [&](const Symbol*) { return expr(t); });
                           }});
        choices.push_back({3, [=, this] { return if_(m_, boolean(), expr(t), expr(t)); }});
        choices.push_back({1, [=, this] { return select(m_, boolean(), expr(t), expr(t)); }});
        choices.push_back({1, [=, this] { return iteration(t); }});
        choices.push_back({2, [=, this] { return element(t); }});
        choices.push_back({1, [=, this] { return from_struct(t); }});
        if (t->is_vec() || is_mergeable(t)) choices.push_back({1, [=, this] { return from_dict(t); }});
        if (!t->holds_dict)
            choices.push_back({1, [=, this] { return deserialize(m_, t, serialize(m_, expr(t))); }});
        for (const Function* f : m_.functions)
            if (f->lambda && f->type->result() == t) choices.push_back({6, [=, this] { return call_of(f); }});
    }

    std::vector<Choice> forms_of(const Type* t) {
        switch (t->kind) {
            case TypeKind::Scalar: return scalar_forms(t);
            case TypeKind::Simd:
                return {{1, [=, this] { return lanes_op(t); }}, {1, [=, this] { return lanes_constant(t); }}};
            case TypeKind::Vec: return vec_forms(t);
            case TypeKind::Struct: return struct_forms(t);
            case TypeKind::Dict:
                return {{1, [=, this] { return small_dict(t); }}, {6, [=, this] { return dict_loop(t); }}};
            case TypeKind::Builder:
            case TypeKind::Function: break;
        }
        return {};
    }

    const Expr* from_struct(const Type* t) {
        const std::size_t before = r_.below(2), after = r_.below(2);
        std::vector<const Expr*> fields;
        for (std::size_t i = 0; i < before; ++i) fields.push_back(expr(scalar_type()));
        fields.push_back(expr(t));
        for (std::size_t i = 0; i < after; ++i) fields.push_back(expr(scalar_type()));
        return get_field(m_, make_struct(m_, fields), before);
    }

    const Expr* iteration(const Type* t) {
        const Type* parts[] = {t, m_.types.i64()};
        const Symbol* s = symbol("s", m_.types.structure(parts));
        const Expr* count = get_field(m_, var(m_, s), 1);
        const Expr* body = within({s}, [&] {
            const Expr* next = make_struct(m_, {expr(t), scalar_op(m_, Op::Add, {count, i64(1)})});
            const Expr* more = scalar_op(m_, Op::Lt, {count, i64(r_.between(-1, 6))});
            if (r_.percent(30)) more = scalar_op(m_, Op::And, {more, boolean()});
            return make_struct(m_, {next, more});
        });
        const Expr* start = make_struct(m_, {expr(t), i64(0)});
        return get_field(m_, iterate(m_, start, lambda(m_, {s}, body)), 0);
    }

    bool risky() { return options_.failures && r_.percent(4); }

    const Expr* is_index(const Symbol* k, const Symbol* v) {
        return scalar_op(m_, Op::And,
                         {scalar_op(m_, Op::Ge, {var(m_, k), i64(0)}),
                          scalar_op(m_, Op::Lt, {var(m_, k), len(m_, var(m_, v))})});
    }

    /// An element of a vector, if there is one.
    const Expr* element(const Type* t) {
        return named("v", expr(m_.types.vec(t)), [&](const Symbol* v) -> const Expr* {
            if (risky()) return lookup(m_, var(m_, v), expr(m_.types.i64()));
            return named("k", expr(m_.types.i64()), [&](const Symbol* k) {
                return if_(m_, is_index(k, v), lookup(m_, var(m_, v), var(m_, k)), leaf(t));
            });
        });
    }

    const Expr* from_dict(const Type* t) {
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

    std::vector<Choice> scalar_forms(const Type* t) {
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
                             return key_exists(m_, expr(m_.types.dict(key_type(), mergeable_type())),
                                               nullptr);
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

    Op comparison_op() {
        constexpr Op ops[] = {Op::Eq, Op::Ne, Op::Lt, Op::Gt, Op::Le, Op::Ge};
        return ops[r_.below(std::size(ops))];
    }
    const Expr* compound_comparison() {
        const Type* t = key_type();
        return scalar_op(m_, comparison_op(), {expr(t), expr(t)});
    }

    /// An operation that gives `t`, a scalar or simd.
    const Expr* lanes_op(const Type* t) {
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
        if (t->is_simd() && r_.percent(15)) return cast(m_, t->scalar, expr(like(scalar_type())));
        if (t->is_simd() && r_.percent(15))
            return select(m_, expr(like(m_.types.boolean())), expr(t), expr(t));
        if (r_.percent(15)) return division(t);
        return is_float(t->scalar) ? float_op(t) : integer_op(t);
    }
    const Expr* integer_op(const Type* t) {
        constexpr Op two[] = {Op::Add, Op::Add,    Op::Sub,   Op::Mul,    Op::Mul, Op::Min,
                              Op::Max, Op::BitAnd, Op::BitOr, Op::BitXor, Op::Shl, Op::Shr};
        if (r_.percent(12)) return scalar_op(m_, r_.percent(50) ? Op::Neg : Op::BitNot, {expr(t)});
        return scalar_op(m_, two[r_.below(std::size(two))], {expr(t), expr(t)});
    }
    const Expr* float_op(const Type* t) {
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
    const Expr* division(const Type* t) {
        const Op op = r_.percent(60) ? Op::Div : Op::Rem;
        const Expr* by = expr(t);
        if (!is_float(t->scalar) && !risky()) {  // odd numbers are not zero
            const Expr* one = int_literal(m_, scalar(t->scalar), 1);
            by = scalar_op(m_, Op::BitOr, {by, t->is_simd() ? broadcast(m_, one, t->lanes) : one});
        }
        return scalar_op(m_, op, {expr(t), by});
    }

    // ---- structs and vectors

    std::vector<Choice> struct_forms(const Type* t) {
        std::vector<Choice> c = {
            {8, [=, this] { return structure(t, [&](const Type* f) { return expr(f); }); }}};
        if (is_mergeable(t)) c.push_back({4, [=, this] { return reduction(t); }});
        if (!t->args.empty()) c.push_back({2, [=, this] { return several_results(t); }});
        if (t->args.size() == 2 && t->args[0]->is_bool() &&
            (t->args[1]->is_vec() || is_mergeable(t->args[1])))
            c.push_back({2, [=, this] {
                             const Expr* d = expr(m_.types.dict(key_type(), t->args[1]));
                             return opt_lookup(m_, d, expr(d->type->key()));
                         }});
        return c;
    }

    std::vector<Choice> vec_forms(const Type* t) {
        const Type* elem = t->elem();
        std::vector<Choice> c = {
            {3, [=, this] { return vector(t, r_.below(5), [&] { return expr(elem); }); }},
            {9, [=, this] { return collected(t); }},
            {2, [=, this] { return sliced(t); }}};
        if (is_comparable(elem)) c.push_back({2, [=, this] { return sorted(t); }});
        if (is_mergeable(elem)) c.push_back({3, [=, this] { return vec_merged(t); }});
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

    const Expr* sliced(const Type* t) {
        return named("v", expr(t), [&](const Symbol* v) {
            if (risky()) return slice(m_, var(m_, v), expr(m_.types.i64()), expr(m_.types.i64()));
            const Expr* start = scalar_op(m_, Op::Min, {len(m_, var(m_, v)), i64(r_.between(0, 4))});
            const Expr* size = r_.percent(50) ? i64(r_.between(0, 8))
                                              : scalar_op(m_, Op::Max, {expr(m_.types.i64()), i64(0)});
            return slice(m_, var(m_, v), start, size);
        });
    }

    const Expr* sorted(const Type* t) {
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
        const Type* i32 = scalar(Scalar::I32);
        const Expr* by =
            if_(m_, scalar_op(m_, Op::Gt, {a, b}), int_literal(m_, i32, 1),
                if_(m_, scalar_op(m_, Op::Lt, {a, b}), int_literal(m_, i32, -1), int_literal(m_, i32, 0)));
        return sort(m_, floats_without_nan(of), lambda(m_, {x, y}, by));
    }
    /// A comparator cannot order NaNs; sort vectors that may hold some by key.
    const Expr* floats_without_nan(const Expr* of) {
        const Type* elem = of->type->elem();
        if (elem->is_scalar() && !is_float(elem->scalar)) return of;
        const Symbol *b = symbol("b", m_.types.builder(BuilderKind::Appender, std::span(&elem, 1))),
                     *i = symbol("i", m_.types.i64()), *x = symbol("x", elem);
        const Expr* keep = if_(m_, scalar_op(m_, Op::Eq, {var(m_, x), var(m_, x)}),
                               merge(m_, var(m_, b), var(m_, x)), var(m_, b));
        return result(m_, loop(m_, std::span(&of, 1), new_builder(m_, b->type), lambda(m_, {b, i, x}, keep)));
    }

    /// `tovec`, put in the order of the keys, which the interpreter and compiled programs agree on.
    const Expr* entries(const Type* t) {
        const Symbol* p = symbol("p", t->elem());
        const Expr* by = lambda(m_, {p}, get_field(m_, var(m_, p), 0));
        return sort(m_, to_vec(m_, expr(m_.types.dict(t->elem()->args[0], t->elem()->args[1]))), by);
    }

    // ---- loops

    /// Every `k`th element of `v`, as far as that goes evenly.
    const Expr* strided(const Symbol* v, std::int64_t k) {
        const Expr* n = len(m_, var(m_, v));
        const Expr* whole = scalar_op(m_, Op::Mul, {scalar_op(m_, Op::Div, {n, i64(k)}), i64(k)});
        const Expr* bounds[] = {i64(0), whole, i64(k)};
        return iter(m_, IterKind::Scalar, var(m_, v), bounds);
    }

    /// The data of a loop over `v`: it alone, parts of it, or zipped with others of the same length.
    std::vector<const Expr*> data_over(const Symbol* v) {
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

    /// `for` over something, from `builder`.
    const Expr* some_loop(const Expr* builder) {
        const std::size_t kind = r_.below(12);
        if (kind == 0) return counted_loop(builder);
        if (kind == 1) return nd_loop(builder);
        const Type* elem = r_.percent(75) ? scalar_type() : data_type(1);
        const Expr* data = r_.percent(70) ? some_vector() : nullptr;
        return named("xs", data ? data : expr(m_.types.vec(elem)), [&](const Symbol* v) -> const Expr* {
            if (kind == 2 && v->type->elem()->is_scalar()) return simd_loops(v, builder);
            return loop_over(data_over(v), builder);
        });
    }
    const Expr* some_vector() {
        std::vector<const Symbol*> found;
        for (const Symbol* s : scope_)
            if (s->type->is_vec()) found.push_back(s);
        return found.empty() ? nullptr : var(m_, found[r_.below(found.size())]);
    }

    const Expr* counted_loop(const Expr* builder) {
        const std::int64_t start = r_.between(0, 3), stride = r_.between(1, 3);
        return loop_over({range_iter(m_, IterKind::Scalar, i64(start), i64(start + stride * r_.between(0, 7)),
                                     i64(stride))},
                         builder);
    }

    const Expr* nd_loop(const Expr* builder) {
        const Type* t = m_.types.vec(number_type());
        const std::int64_t rows = r_.between(1, 3), columns = r_.between(1, 3);
        const Expr* data = vector(t, std::size_t(rows * columns), [&] { return leaf(t->elem()); });
        const bool across = r_.percent(50);
        const Expr *shape[] = {i64(rows), i64(columns)},
                   *strides[] = {i64(across ? 1 : columns), i64(across ? rows : 1)};
        const Expr* bounds[] = {i64(0), i64(rows * columns), i64(1), make_vec(m_, m_.types.i64(), shape),
                                make_vec(m_, m_.types.i64(), strides)};
        return loop_over({iter(m_, IterKind::Scalar, data, bounds)}, builder);
    }

    const Expr* loop_over(const std::vector<const Expr*>& data, const Expr* builder) {
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
        return e;
    }

    /// As a user would vectorise a loop over scalars by hand.
    const Expr* simd_loops(const Symbol* v, const Expr* builder) {
        constexpr std::uint32_t widths[] = {2, 4, 8, 16};
        const std::uint32_t n = widths[r_.below(4)];
        const Expr* simd = iter(m_, IterKind::Simd, var(m_, v), {}, n);
        const Expr* fringe = iter(m_, IterKind::Fringe, var(m_, v), {}, n);
        return loop_over({fringe}, loop_over({simd}, builder));
    }

    // ---- builders

    /// `t` with every scalar in it as wide as the loop's element, if the scope has one that is.
    const Type* widened_like_scope(const Type* t) {
        if (!t->is_scalar() || r_.percent(40)) return nullptr;
        for (std::size_t i = scope_.size(); i-- > 0;)
            if (scope_[i]->type->is_simd()) return m_.types.simd(t->scalar, scope_[i]->type->lanes);
        return nullptr;
    }

    const Expr* merged(const Expr* b) {
        const Type* t = b->type;
        switch (t->builder) {
            case BuilderKind::Appender:
            case BuilderKind::Merger:
                if (const Type* wide = widened_like_scope(t->elem())) {
                    const Expr* mask =
                        r_.percent(30) ? expr(m_.types.simd(Scalar::Bool, wide->lanes)) : nullptr;
                    return merge(m_, b, expr(wide), mask);
                }
                return merge(m_, b, expr(t->elem()));
            case BuilderKind::DictMerger:
            case BuilderKind::GroupMerger:
                return merge(m_, b, make_struct(m_, {expr(t->key()), expr(t->value())}));
            case BuilderKind::VecMerger: break;
        }
        const Expr* at = expr(m_.types.i64());
        const Symbol* initial = initial_[t];
        if (!initial || risky()) return merge(m_, b, make_struct(m_, {at, expr(t->elem())}));
        return named("k", at, [&](const Symbol* k) {
            return if_(m_, is_index(k, initial), merge(m_, b, make_struct(m_, {var(m_, k), expr(t->elem())})),
                       b);
        });
    }

    /// Binds a builder, so that it can be used on both sides of an `if`, or field by field.
    template <class Fn>
    const Expr* builder_named(const Expr* b, Fn&& make) {
        if (b->op == Op::Var || (b->op == Op::GetField && b->arg(0)->op == Op::Var && !b->type->is_struct()))
            return make(b);
        const Symbol* s = symbol("b", b->type);
        return let(m_, s, b, make(var(m_, s)));
    }

    /// A later state of `b`, which is used once on each path.
    const Expr* grow(const Expr* b) {
        if (b->type->is_struct())
            return builder_named(b, [&](const Expr* s) -> const Expr* {
                if (spend() && r_.percent(15)) return if_(m_, boolean(), grow_fields(s), grow_fields(s));
                if (spend() && depth_ < 3 && r_.percent(10)) return some_loop(s);
                return grow_fields(s);
            });
        if (!spend()) return r_.percent(80) ? merged_simply(b) : b;
        return choose(
            {{10, [=, this] { return builder_named(b, [&](const Expr* s) { return merged(s); }); }},
             {1, [=, this] { return b; }},
             {2,
              [=, this] { return builder_named(merged_simply(b), [&](const Expr* s) { return grow(s); }); }},
             {4,
              [=, this] {
                  return builder_named(b,
                                       [&](const Expr* s) { return if_(m_, boolean(), grow(s), grow(s)); });
              }},
             {depth_ < 3 ? 3 : 0,
              [=, this] { return builder_named(b, [&](const Expr* s) { return some_loop(s); }); }},
             {2, [=, this] {
                  return builder_named(b, [&](const Expr* s) {
                      return named("v", expr(data_type(1)), [&](const Symbol*) { return grow(s); });
                  });
              }}});
    }
    const Expr* grow_fields(const Expr* s) {
        std::vector<const Expr*> fields;
        for (std::size_t i = 0; i < s->type->args.size(); ++i) fields.push_back(grow(get_field(m_, s, i)));
        return make_struct(m_, fields);
    }
    /// One merge of a leaf.
    const Expr* merged_simply(const Expr* b) {
        const int fuel = std::exchange(fuel_, 0);
        const Expr* e = builder_named(b, [&](const Expr* s) { return merged(s); });
        fuel_ = fuel;
        return e;
    }

    const Type* builder_of(BuilderKind kind, std::initializer_list<const Type*> args) {
        return m_.types.builder(kind, std::span(args.begin(), args.size()), merge_op());
    }

    const Expr* reduction(const Type* t) {
        const Type* b = builder_of(BuilderKind::Merger, {t});
        return result(m_, some_loop(new_builder(m_, b, r_.percent(25) ? leaf(t) : nullptr)));
    }
    const Expr* collected(const Type* t) {
        const Type* b = builder_of(BuilderKind::Appender, {t->elem()});
        return result(m_, some_loop(new_builder(m_, b, r_.percent(10) ? i64(r_.between(0, 20)) : nullptr)));
    }
    const Expr* dict_loop(const Type* t) { return result(m_, some_loop(new_builder(m_, dict_builder(t)))); }

    const Expr* vec_merged(const Type* t) {
        const Type* b = builder_of(BuilderKind::VecMerger, {t->elem()});
        return named("w", expr(t), [&](const Symbol* w) {
            initial_[b] = w;
            const Expr* e = result(m_, some_loop(new_builder(m_, b, var(m_, w))));
            initial_.erase(b);
            return e;
        });
    }

    /// A struct built in one loop, each field by a builder of its own.
    const Expr* several_results(const Type* t) {
        std::vector<const Type*> builders;
        for (const Type* f : t->args) {
            if (f->is_vec()) builders.push_back(builder_of(BuilderKind::Appender, {f->elem()}));
            else if (f->is_dict()) builders.push_back(dict_builder(f));
            else if (is_mergeable(f)) builders.push_back(builder_of(BuilderKind::Merger, {f}));
            else return structure(t, [&](const Type* field) { return expr(field); });
        }
        std::vector<const Expr*> fresh;
        for (const Type* b : builders) fresh.push_back(new_builder(m_, b));
        const Expr* built = some_loop(make_struct(m_, fresh));
        const Symbol* s = symbol("r", built->type);
        std::vector<const Expr*> results;
        for (std::size_t i = 0; i < builders.size(); ++i)
            results.push_back(result(m_, get_field(m_, var(m_, s), i)));
        return let(m_, s, built, make_struct(m_, results));
    }

    // ---- functions

    void function() {
        std::vector<const Type*> types;
        for (std::size_t i = 0, n = 1 + r_.below(2); i < n; ++i) types.push_back(data_type(1));
        const bool recursive = r_.percent(40);
        if (recursive) types.insert(types.begin(), m_.types.i64());
        const Type* gives = recursive ? types[1] : data_type(1);
        Function* f = m_.function("f" + std::to_string(m_.functions.size()), m_.types.function(types, gives));
        std::vector<const Symbol*> params;
        for (const Type* t : types) params.push_back(symbol("a", t));
        const int fuel = std::exchange(fuel_, 15);
        const Expr* body = within(params, [&] { return recursive ? recursion(f, params) : expr(gives); });
        fuel_ = fuel;
        f->lambda = lambda(m_, params, body);
    }
    const Expr* recursion(const Function* f, const std::vector<const Symbol*>& params) {
        std::vector<const Expr*> args = {scalar_op(m_, Op::Sub, {var(m_, params[0]), i64(1)})};
        for (std::size_t i = 1; i < params.size(); ++i) args.push_back(expr(params[i]->type));
        const Expr* done = scalar_op(m_, Op::Le, {var(m_, params[0]), i64(0)});
        return if_(m_, done, var(m_, params[1]), call(m_, f, args));
    }
    const Expr* call_of(const Function* f) {
        std::vector<const Expr*> args;
        const Lambda l = f->lambda->as<Lambda>();
        for (const Symbol* p : l.params()) args.push_back(expr(p->type));
        if (l.body()->op == Op::If && l.params().size() > 1 && l.param(0)->type->is_scalar(Scalar::I64))
            args[0] = i64(r_.between(-1, 5));  // may be how deep it calls itself
        return call(m_, f, args);
    }

    Module& m_;
    Random& r_;
    const GenerateOptions& options_;
    int fuel_;
    int depth_ = 0;  // of loops
    std::vector<const Symbol*> scope_;
    std::map<const Type*, const Symbol*> initial_;  // the vectors that vecmergers started with
};

interp::Value random_value(const Type* t, Random& r, std::size_t long_vector) {
    switch (t->kind) {
        case TypeKind::Scalar: return interp::scalar_value(random_bits(t->scalar, r));
        case TypeKind::Simd: {
            interp::Values lanes;
            for (std::uint32_t i = 0; i < t->lanes; ++i)
                lanes.push_back(interp::scalar_value(random_bits(t->scalar, r)));
            return interp::list_value(std::move(lanes));
        }
        case TypeKind::Vec: {
            constexpr std::size_t sizes[] = {0, 1, 2, 3, 5, 8, 16, 17, 33, 70};
            const std::size_t n = long_vector ? long_vector : sizes[r.below(std::size(sizes))];
            interp::Values items;
            for (std::size_t i = 0; i < n; ++i) items.push_back(random_value(t->elem(), r, 0));
            return interp::list_value(std::move(items));
        }
        case TypeKind::Struct: {
            interp::Values fields;
            for (const Type* f : t->args) fields.push_back(random_value(f, r, 0));
            return interp::list_value(std::move(fields));
        }
        default: return interp::zero(t);
    }
}

}  // namespace

void generate(Module& m, Random& random, const GenerateOptions& options) {
    Generator(m, random, options).program();
}

std::vector<interp::Value> random_arguments(const Module& m, Random& random) {
    std::vector<interp::Value> values;
    const std::size_t length = random.percent(12) ? 2000 + random.below(60000) : 0;
    for (const Type* t : m.main->type->params()) {
        const bool is_long = length && t->is_vec() && t->elem()->is_scalar();
        values.push_back(random_value(t, random, is_long ? length : 0));
    }
    return values;
}

}  // namespace weld::driver
