// Whole programs, their functions and arguments.
#include <string>

#include "tests/driver/generator.h"

namespace weld::driver {

// ---- whole programs

void Generator::program() {
    const std::size_t num_functions = options_.functions && r_.percent(25) ? 1 + r_.below(2) : 0;
    for (std::size_t i = 0; i < num_functions; ++i) {
        const int kind = int(r_.below(10));
        kind < 3 ? builder_function() : kind < 6 ? cycle() : function();
    }
    std::vector<const Symbol*> params;
    for (std::size_t i = 0, n = r_.below(5); i < n; ++i) params.push_back(symbol("p", param_type()));
    m_.main = lambda(m_, params, within(params, [&] {
                         if (r_.percent(12)) return matrices();
                         return r_.percent(65) ? pipeline() : expr(data_type(2));
                     }));
}

const Expr* Generator::pipeline() {
    std::vector<std::pair<const Symbol*, const Expr*>> lets;
    const std::size_t before = scope_.size();
    for (std::size_t i = 0, n = 2 + r_.below(5); i < n; ++i) {
        fuel_ = int(r_.between(5, options_.size / 3));
        const Expr* value =
            i < m_.functions.size() && r_.percent(60) ? use_of(m_.functions[i]) : expr(step_type());
        lets.emplace_back(symbol("v", value->type), value);
        scope_.push_back(lets.back().first);
    }
    std::vector<const Expr*> out;
    for (std::size_t i = 0, n = 1 + r_.below(3); i < n; ++i)
        out.push_back(var(m_, scope_[scope_.size() - 1 - r_.below(std::min<std::size_t>(3, scope_.size()))]));
    const Expr* e = block(m_, lets, out.size() == 1 ? out[0] : make_struct(m_, out));
    scope_.resize(before);
    return e;
}

const Type* Generator::step_type() {
    switch (r_.below(12)) {
        case 0:
        case 1: return number_type();
        case 2: return mergeable_type();
        case 3:
            return m_.types.dict(key_type(), r_.percent(70) ? mergeable_type() : m_.types.vec(scalar_type()));
        case 4:
            return struct_of(2, [&] { return r_.percent(50) ? number_type() : m_.types.vec(scalar_type()); });
        case 5: return m_.types.vec(struct_of(1 + r_.below(3), [&] { return scalar_type(); }));
        case 6: return data_type(2);
        default: return m_.types.vec(scalar_type());
    }
}

// ---- functions

void Generator::function() {
    std::vector<const Type*> types;
    for (std::size_t i = 0, n = 1 + r_.below(2); i < n; ++i) types.push_back(data_type(1));
    const Type* gives = data_type(1);
    Function* f = m_.function("f" + std::to_string(m_.functions.size()), m_.types.function(types, gives));
    f->lambda = body_of(f, [&](auto&) { return expr(gives); });
}

/// One to three functions that call each other. They are defined together at the end, so that nothing in them
/// begins to count anew.
void Generator::cycle() {
    const Type* gives = data_type(1);
    std::vector<Function*> all;
    for (std::size_t i = 0, n = 1 + r_.below(3); i < n; ++i) {
        std::vector<const Type*> types = {m_.types.i64(), gives};
        if (r_.percent(50)) types.push_back(data_type(1));
        const std::string name = "f" + std::to_string(m_.functions.size());
        all.push_back(m_.function(name, m_.types.function(types, gives)));
    }
    std::vector<const Expr*> lambdas;
    for (const Function* f : all)
        lambdas.push_back(
            body_of(f, [&](auto& params) { return recursion(all[r_.below(all.size())], params); }));
    for (std::size_t i = 0; i < all.size(); ++i) all[i]->lambda = lambdas[i];
}

template <class Body>
const Expr* Generator::body_of(const Function* f, const Body& body) {
    std::vector<const Symbol*> params;
    for (const Type* t : f->type->params()) params.push_back(symbol("a", t));
    const int fuel = std::exchange(fuel_, 15);
    const Expr* made = within(params, [&] { return body(params); });
    fuel_ = fuel;
    return lambda(m_, params, made);
}

void Generator::builder_function() {
    const Type* types[] = {r_.percent(50) ? m_.types.vec(data_type(1)) : mergeable_type(), data_type(1)};
    const Type* builder =
        r_.percent(30) ? dict_builder(m_.types.dict(key_type(), mergeable_type())) : builders_for(types[0]);
    const Type* takes[] = {builder, types[1]};
    Function* f = m_.function("f" + std::to_string(m_.functions.size()), m_.types.function(takes, builder));
    const Symbol *b = symbol("b", builder), *a = symbol("a", types[1]);
    const int fuel = std::exchange(fuel_, 15);
    const Expr* body = within({a}, [&] { return grow(var(m_, b)); });
    fuel_ = fuel;
    f->lambda = lambda(m_, {b, a}, body);
}

/// Calls `f` with one less than the first of `params`, until that is 0.
const Expr* Generator::recursion(const Function* f, const std::vector<const Symbol*>& params) {
    const auto types = f->type->params();
    std::vector<const Expr*> args = {scalar_op(m_, Op::Sub, {var(m_, params[0]), i64(1)})};
    for (std::size_t i = 1; i < types.size(); ++i) args.push_back(expr(types[i]));
    const Expr* done = scalar_op(m_, Op::Le, {var(m_, params[0]), i64(0)});
    const Expr* next = call(m_, f, args);
    if (r_.percent(40)) next = named("r", next, [&](const Symbol* s) { return expr(s->type); });
    return if_(m_, done, var(m_, params[1]), next);
}

const Expr* Generator::call_of(const Function* f) {
    std::vector<const Expr*> args;
    const Lambda l = f->lambda->as<Lambda>();
    for (const Symbol* p : l.params()) args.push_back(expr(p->type));
    if (l.body()->op == Op::If && l.params().size() > 1 && l.param(0)->type->is_scalar(Scalar::I64))
        args[0] = i64(r_.between(-1, 5));  // may be how deep it calls itself
    return call(m_, f, args);
}

const Expr* Generator::use_of(const Function* f) {
    const Type* gives = f->type->result();
    if (!gives->holds_builder) return call_of(f);
    const Symbol* s = symbol("r", gives);
    return let(m_, s, filled_by_call(new_builders(gives)), results_of(var(m_, s)));
}

// ---- arguments

/// `length`: of vectors that are not inside of others; 0 for any.
static interp::Value random_value(const Type* t, Random& r, std::size_t length) {
    interp::Values parts;
    switch (t->kind) {
        case TypeKind::Scalar: return interp::scalar_value(random_bits(t->scalar, r));
        case TypeKind::Simd:
            for (std::uint32_t i = 0; i < t->lanes; ++i)
                parts.push_back(interp::scalar_value(random_bits(t->scalar, r)));
            break;
        case TypeKind::Vec: {
            constexpr std::size_t sizes[] = {0, 1, 2, 3, 5, 8, 16, 17, 33, 70};
            const std::size_t n = length ? length : sizes[r.below(std::size(sizes))];
            for (std::size_t i = 0; i < n; ++i) parts.push_back(random_value(t->elem(), r, 0));
            break;
        }
        case TypeKind::Struct:
            for (const Type* f : t->args) parts.push_back(random_value(f, r, length));
            break;
        default: return interp::zero(t);
    }
    return interp::list_value(std::move(parts));
}

void generate(Module& m, Random& random, const GenerateOptions& options) {
    Generator(m, random, options).program();
}

std::vector<interp::Value> random_arguments(const Module& m, Random& random) {
    std::size_t length = 0;  // many programs zip their arguments
    if (random.percent(30)) length = 1 + random.below(40);
    else if (random.percent(20)) length = 2000 + random.below(60000);
    std::vector<interp::Value> values;
    for (const Type* t : m.main->type->params()) {
        const bool nested = t->is_vec() && !t->elem()->is_scalar();
        values.push_back(random_value(t, random, nested && length > 5000 ? 5000 : length));
    }
    return values;
}

}  // namespace weld::driver
