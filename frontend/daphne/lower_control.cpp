// Control flow: branches, loops, functions and their calls.
#include "frontend/daphne/lower.h"
#include "weldir/ir/walk.h"

namespace weld::daphne {

static std::vector<const Value*> all_of(const std::vector<Value*>& values) {
    return {values.begin(), values.end()};
}

const Expr* Lowering::pack(const std::vector<const Value*>& values) {
    std::vector<const Expr*> fields;
    for (const Value* v : values) fields.push_back(value(v));
    return make_struct(m_, fields);
}

/// The body as a block that gives a struct of `results`.
const Expr* Lowering::block_of(const Body& r, const std::vector<const Expr*>& params,
                               const std::vector<const Value*>& results, Loc loc) {
    Lets lets;
    Lets* outer = std::exchange(lets_, &lets);
    for (std::size_t i = 0; i < r.params.size(); ++i) bind(r.params[i], params[i]);
    nodes(r);
    const Expr* all = pack(results);
    lets_ = outer;
    return block(m_, lets, all, loc);
}

void Lowering::if_node(const GraphNode& n) {
    const Expr* c = value(n.args[0]);
    const Expr* then = block_of(n.bodies[0], {}, all_of(n.bodies[0].results), n.loc);
    const Expr* otherwise = block_of(n.bodies[1], {}, all_of(n.bodies[1].results), n.loc);
    bind_fields(n.results, if_(m_, c, then, otherwise, n.loc));
}

/// `count` fields of a state.
static std::vector<const Expr*> fields(Module& m, const Symbol* state, std::size_t from, std::size_t count) {
    std::vector<const Expr*> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(get_field(m, var(m, state), from + i));
    return all;
}

void Lowering::loop(const GraphNode& n) {
    const Body &test = n.bodies[0], &body = n.bodies[1];
    const std::vector<const Value*> before(n.args.begin(), n.args.end());
    const Expr* init = pack(before);
    const Symbol* state = m_.symbol("state", init->type, sizes_of(body.params));
    const std::size_t count = before.size();
    // Named, since it may have effects.
    auto condition = [&](const std::vector<const Expr*>& params, Lets& lets) {
        const Expr* made = block_of(test, params, {test.results[0]}, n.loc);
        const Symbol* goes = m_.symbol("goes", made->type);
        lets.emplace_back(goes, made);
        return get_field(m_, var(m_, goes), 0);
    };
    auto round = [&](bool with_condition) {
        std::vector<const Value*> results = all_of(body.results);
        if (with_condition) results.push_back(test.results[0]);
        return block_of(body, fields(m_, state, 0, count), results, n.loc);
    };
    const Expr* rounds;
    if (n.does_first) {
        const Expr* made = round(true);
        const Symbol* after = m_.symbol("after", made->type, sizes_of(body.results));
        std::vector<const Expr*> next = fields(m_, after, 0, count);
        const Expr* pair = let(
            m_, after, made, make_struct(m_, {make_struct(m_, next), get_field(m_, var(m_, after), count)}));
        rounds = iterate(m_, init, lambda(m_, {state}, pair), n.loc);
    } else {
        const Expr* made = round(false);
        const Symbol* after = m_.symbol("after", made->type, sizes_of(body.results));
        Lets lets = {{after, made}};
        const Expr* again = condition(fields(m_, after, 0, count), lets);
        const Expr* pair = block(m_, lets, make_struct(m_, {var(m_, after), again}));
        const Symbol* first = m_.symbol("first", init->type);
        lets_->emplace_back(first, init);
        const Expr* enters = condition(fields(m_, first, 0, count), *lets_);
        const Expr* all = iterate(m_, var(m_, first), lambda(m_, {state}, pair), n.loc);
        rounds = if_(m_, enters, all, var(m_, first), n.loc);
    }
    bind_fields(n.results, rounds);
}

void Lowering::repeat(const GraphNode& n) {
    const weld::Type* i64 = m_.types.i64();
    auto number = [&](std::int64_t k) { return int_literal(m_, i64, k); };
    auto named = [&](const char* name, const Expr* e) {
        const Symbol* s = m_.symbol(name, e->type);
        lets_->emplace_back(s, e);
        return var(m_, s);
    };
    const Expr* from = value(n.args[0]);
    const Expr* to = value(n.args[1]);
    const Expr* step = n.args[2]
                           ? value(n.args[2])
                           : named("step", if_(m_, scalar_op(m_, Op::Ge, {to, from}), number(1), number(-1)));
    // How many rounds there are, in unsigned arithmetic that cannot overflow: 0 if the step leads away or
    // nowhere.
    const Expr* up = scalar_op(m_, Op::Gt, {step, number(0)});
    const Expr* down = scalar_op(m_, Op::Lt, {step, number(0)});
    const weld::Type* u64 = m_.types.scalar(Scalar::U64);
    auto u = [&](const Expr* e) { return cast(m_, Scalar::U64, e); };
    const Expr* one = int_literal(m_, u64, 1);
    auto rounds_of = [&](const Expr* way, const Expr* stride) {
        return scalar_op(m_, Op::Add, {scalar_op(m_, Op::Div, {way, stride}), one});
    };
    const Expr* zero = int_literal(m_, u64, 0);
    const Expr* ups = if_(m_, scalar_op(m_, Op::Le, {from, to}),
                          rounds_of(scalar_op(m_, Op::Sub, {u(to), u(from)}), u(step)), zero);
    const Expr* downs =
        if_(m_, scalar_op(m_, Op::Ge, {from, to}),
            rounds_of(scalar_op(m_, Op::Sub, {u(from), u(to)}), u(scalar_op(m_, Op::Neg, {step}))), zero);
    const Expr* count = named("rounds", cast(m_, Scalar::I64, if_(m_, up, ups, if_(m_, down, downs, zero))));

    const Body& body = n.bodies[0];
    const std::vector<const Value*> before(n.args.begin() + 3, n.args.end());
    std::vector<const Expr*> initial = {number(0)};
    for (const Value* v : before) initial.push_back(value(v));
    const Expr* init = named("first", make_struct(m_, initial));
    const std::vector<Value*> of_state(body.params.begin() + 1, body.params.end());
    const Symbol* state = m_.symbol("state", init->type, sizes_of(of_state, 1));
    std::vector<const Expr*> params = {
        scalar_op(m_, Op::Add, {from, scalar_op(m_, Op::Mul, {get_field(m_, var(m_, state), 0), step})})};
    for (const Expr* field : fields(m_, state, 1, before.size())) params.push_back(field);
    const Expr* made = block_of(body, params, all_of(body.results), n.loc);
    const Symbol* after = m_.symbol("after", made->type, sizes_of(body.results));
    const Symbol* next = m_.symbol("next", i64);
    std::vector<const Expr*> new_state = {var(m_, next)};
    for (const Expr* field : fields(m_, after, 0, before.size())) new_state.push_back(field);
    const Expr* pair =
        make_struct(m_, {make_struct(m_, new_state), scalar_op(m_, Op::Lt, {var(m_, next), count})});
    const std::pair<const Symbol*, const Expr*> lets[] = {
        {after, made}, {next, scalar_op(m_, Op::Add, {get_field(m_, var(m_, state), 0), number(1)})}};
    const Expr* all = iterate(m_, init, lambda(m_, {state}, block(m_, lets, pair)), n.loc);
    const Expr* rounds = if_(m_, scalar_op(m_, Op::Gt, {count, number(0)}), all, init, n.loc);
    bind_fields(n.results, rounds, 1);
}

// ---- functions

const weld::Function* Lowering::function(const GraphFunction& f) {
    if (auto known = functions_.find(&f); known != functions_.end()) return known->second;
    std::vector<const weld::Type*> params, results;
    for (const Value* p : f.body.params) params.push_back(weld_type(p->type));
    for (const Value* r : f.body.results) results.push_back(weld_type(r->type));
    weld::Function* made = m_.function(fmt::format("{}_{}", f.name, functions_.size()),
                                       m_.types.function(params, m_.types.structure(results)));
    functions_[&f] = made;
    Lets* outer = std::exchange(lets_, nullptr);
    std::vector<const Symbol*> symbols;
    std::vector<const Expr*> vars;
    for (std::size_t i = 0; i < params.size(); ++i) {
        std::vector<Promise> sizes;
        list_sizes(f.body.params[i], {}, sizes);
        symbols.push_back(
            m_.symbol("p" + std::to_string(i), params[i], m_.arena.copy(std::span<const Promise>(sizes))));
        vars.push_back(var(m_, symbols.back()));
    }
    made->lambda = lambda(m_, symbols, block_of(f.body, vars, all_of(f.body.results), f.loc), f.loc);
    lets_ = outer;
    return made;
}

void Lowering::map(const GraphNode& n) {
    const weld::Function* f = function(*n.function);
    const Value* of = n.args[0];
    const Symbol* x = m_.symbol("x", weld_type(of->type));
    lets_->emplace_back(x, value(of));
    const weld::Type* cell = weld_type(n.results[0]->type)->args[0]->elem();
    const weld::Type* elem = x->type->args[0]->elem();
    const weld::Type* args[] = {cell};
    const Symbol *b = m_.symbol("b", m_.types.builder(BuilderKind::Appender, args)),
                 *i = m_.symbol("i", m_.types.i64()), *e = m_.symbol("e", elem);
    const Expr* call_it = weld::call(m_, f, std::vector<const Expr*>{var(m_, e)}, n.loc);
    const Symbol* made = m_.symbol("made", call_it->type);  // the function may print
    const Expr* one = made->type->is_struct() ? get_field(m_, var(m_, made), 0) : var(m_, made);
    const Expr* body = let(m_, made, call_it, merge(m_, var(m_, b), one));
    const Expr* data = get_field(m_, var(m_, x), 0);
    const Expr* all = weld::result(m_, weld::loop(m_, std::vector<const Expr*>{data},
                                                  new_builder(m_, b->type), lambda(m_, {b, i, e}, body)));
    const Symbol* cells = m_.symbol("cells", all->type);
    lets_->emplace_back(cells, all);
    bind(n.results[0],
         make_struct(m_, {var(m_, cells), get_field(m_, var(m_, x), 1), get_field(m_, var(m_, x), 2)}));
}

void Lowering::call(const GraphNode& n) {
    const weld::Function* f = function(*n.function);
    std::vector<const Expr*> args;
    for (const Value* a : n.args) args.push_back(value(a));
    bind_fields(n.results, weld::call(m_, f, args, n.loc));
}

}  // namespace weld::daphne
