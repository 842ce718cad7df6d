// Loops: checked again while something that is known of a variable before them does not hold after a round.
// Or round by round, where a round needs to know something that is another in each:
//
//     for (i in 1:3) print(sum(readMatrix("part" + i + ".csv")));
//
// There the rounds themselves have to be known, and few. They become statements one after the other.
#include <algorithm>

#include "frontend/daphne/check.h"
#include "frontend/daphne/check_types.h"
#include "frontend/daphne/fold.h"

namespace weld::daphne {

void assigned_names(Statements all, std::vector<std::string_view>* names) {
    for (const Statement* s : all) {
        if (s->kind == Statement::Assignment)
            for (const Target& t : s->targets)
                if (std::ranges::find(*names, t.name) == names->end()) names->push_back(t.name);
        assigned_names(s->body, names);
        assigned_names(s->otherwise, names);
    }
}

/// Forgets of `known` what does not hold of `v`. Has anything been forgotten? What is forgotten of shapes has
/// no name either.
static bool widen(Value* known, const Value* v) {
    bool changed = false;
    auto forget = [&](bool differs, auto&& action) {
        if (differs) action(), changed = true;
    };
    const bool shaped = known->type.is_matrix() || known->type.is_frame();
    for (const auto dim : {&Value::rows, &Value::columns}) {
        const bool is_known = known->*dim == known->*dim;
        forget(shaped && is_known && !(known->*dim == v->*dim), [&] { known->*dim = {}; });
    }
    forget(known->sparsity >= 0 && known->sparsity != v->sparsity, [&] { known->sparsity = -1; });
    forget(known->symmetric && !v->symmetric, [&] { known->symmetric = false; });
    forget(known->constant && known->constant != v->constant, [&] { known->constant.reset(); });
    return changed;
}

/// What a variable holds in a loop has one type, but for the number and the labels of the columns of frames.
bool Checker::keeps_cells(const Type& before, const Type& after, std::string_view name, Loc loc) {
    if (have_same_cells(before, after)) return true;
    if (before.is_frame() && after.is_frame() && before.columns.size() != after.columns.size()) return true;
    error(loc, "`{}` is {} before the loop and {} after a round; its type cannot change", name,
          str_of_cells(before), str_of_cells(after));
    return false;
}

/// Numbers of rows and columns that nothing is known of get names.
void Checker::name_dims(Value* v) {
    for (const auto dim : {&Value::rows, &Value::columns})
        if (!(v->*dim == v->*dim)) v->*dim = graph_.fresh_dim();
}

/// Checks the bodies of a loop until what it assumes of its state holds after each round. `node->args` from
/// `first_state` on become the state before; `check` makes the bodies' nodes, with `body_` to be set by it.
/// What it knows holds in the first round, so the run comes to what cannot fit if it comes to that
/// (`certain_`).
void Checker::loop_over(GraphNode* node, const Statement* s, std::size_t first_state,
                        const std::function<void(Body&)>& check) {
    std::vector<std::string_view> assigned;
    assigned_names(s->body, &assigned);
    std::vector<std::string_view> names;
    for (std::string_view name : assigned) {
        const Names::Variable* v = names_.find(name);
        if (!v || v->read_only || !v->value) continue;
        names.push_back(name);
        node->args.push_back(v->value);
    }
    std::vector<Value>& known = widened_[{s, activation_->number}];
    if (known.size() != names.size()) {
        known.clear();
        for (std::size_t i = 0; i < names.size(); ++i) known.push_back(*node->args[first_state + i]);
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!(known[i].type == node->args[first_state + i]->type)) known[i] = *node->args[first_state + i];
        widen(&known[i], node->args[first_state + i]);
    }
    Body* outer = body_;
    const bool was_certain = certain_;
    const Names::Mark before = names_.mark();
    const Effects done = effects;
    Effects may_be_done = effects;  // before a round
    const std::vector<Body> empty = node->bodies;
    for (bool again = true; again;) {
        again = false;
        node->bodies = empty;
        names_.undo(before);
        const Effects before_round = may_be_done;
        effects = may_be_done;
        std::vector<Value*> params;
        for (std::size_t i = 0; i < names.size(); ++i) {
            Value* p = graph_.like(known[i]);
            name_dims(p);
            params.push_back(p);
            names_.set(names[i], p);
        }
        for (Body& r : node->bodies) r.params.insert(r.params.end(), params.begin(), params.end());
        certain_ = was_certain;
        check(node->bodies.back());
        for (std::size_t i = 0; i < names.size(); ++i) {
            Value* after = names_.find(names[i])->value;
            if (after && !keeps_cells(known[i].type, after->type, names[i], s->loc)) after = nullptr;
            if (after && !(after->type == known[i].type))
                after = unknown(s->loc,
                                "`{}` has other columns after a round than before the loop; they have to be "
                                "known before the run",
                                names[i]);
            node->bodies.back().results.push_back(after);
            if (after && widen(&known[i], after)) again = true;
        }
        may_be_done.views = done.views;
        may_be_done.may_add(effects);
        if (may_be_done.written != before_round.written ||
            may_be_done.wrote_others != before_round.wrote_others)
            again = true;
    }
    body_ = outer;
    certain_ = was_certain;
    names_.undo(before);
    effects = std::move(may_be_done);
    for (std::size_t i = 0; i < names.size(); ++i) {
        Value* after = graph_.like(known[i]);
        name_dims(after);
        after->maker = node;
        node->results.push_back(after);
        names_.set(names[i], node->bodies.back().results[i] ? after : nullptr);
    }
    body_->nodes.push_back(node);
}

void Checker::while_loop(const Statement* s) {
    const bool does_first = s->kind == Statement::DoWhile;
    auto as_loop = [&] {
        GraphNode* node = make_node(GraphNode::Loop, s->loc);
        node->does_first = does_first;
        node->bodies.resize(2);
        bool is_first = true, has_rounds = does_first;
        loop_over(node, s, 0, [&](Body& body) {
            Body& test = node->bodies[0];
            if (!does_first) {
                body_ = &test;
                Value* c = condition(s->value);
                test.results = {c};
                if (std::exchange(is_first, false)) has_rounds = c && c->constant && c->constant->integer;
            }
            certain_ &= has_rounds;
            body_ = &body;
            scoped(s->body);
            if (does_first) test.results = {condition(s->value)};  // of what the round has made, at its end
        });
    };
    auto as_rounds = [&] {
        for (bool is_first = true;; is_first = false) {
            if (!is_first || !does_first) {
                const Value* c = condition(s->value);
                if (!c || !c->constant) return c == nullptr;
                if (!c->constant->integer) return true;
            }
            if (!round(s, [] {})) return false;
        }
    };
    loop(as_loop, as_rounds);
}

Checker::Bounds Checker::bounds_of(const Statement* s) {
    auto bound = [&](const Node* n) -> Value* {
        Value* v = n ? expression(n) : nullptr;
        if (!v) return nullptr;
        if (v->type.is_frame() || v->type.is_list() || v->type.value == ValueType::Str)
            return error(n->start, "a loop counts with numbers, found {}", str(v->type));
        return to_scalar(v, ValueType::Si64, n->start);
    };
    Value* from = bound(s->from);
    Value* to = bound(s->to);
    return {from, to, bound(s->step)};
}

void Checker::for_loop(const Statement* s) {
    auto [from, to, step] = bounds_of(s);
    if (!s->step && from && to && from->constant && to->constant)
        step = constant(integer_constant(to->constant->integer >= from->constant->integer ? 1 : -1), s->loc);
    auto as_rounds = [&] {
        if (!from || !to || !step || !from->constant || !to->constant || !step->constant) return false;
        const std::int64_t last = to->constant->integer, by = step->constant->integer;
        for (std::int64_t i = from->constant->integer; by > 0 ? i <= last : by < 0 && i >= last;) {
            if (!round(s, [&] { bind_counter(s, constant(integer_constant(i), s->loc)); })) return false;
            if (__builtin_add_overflow(i, by, &i)) break;
        }
        return true;
    };
    loop([&] { counted_loop(s, from, to, step); }, as_rounds);
}

void Checker::bind_counter(const Statement* s, Value* value) {
    names_.declare(s->targets[0].name, {value, true});
}

void Checker::counted_loop(const Statement* s, Value* from, Value* to, Value* step) {
    GraphNode* node = make_node(GraphNode::Repeat, s->loc);
    node->args = {from, to, step};
    node->bodies.resize(1);
    const bool known = from && to && step && from->constant && to->constant && step->constant;
    const bool has_rounds =
        known && (step->constant->integer > 0
                      ? from->constant->integer <= to->constant->integer
                      : step->constant->integer < 0 && from->constant->integer >= to->constant->integer);
    loop_over(node, s, 3, [&](Body& body) {
        certain_ &= has_rounds;
        body_ = &body;
        const std::size_t depth = names_.depth();
        names_.open();
        Value* i = graph_.value(Type::scalar(ValueType::Si64));
        body.params.insert(body.params.begin(), i);
        bind_counter(s, i);
        scoped(s->body);
        names_.close_to(depth);
    });
}

// ---- round by round

/// Checks a loop, or its rounds if something in it has to be known. `as_rounds` gives false if that does not
/// say more.
void Checker::loop(const std::function<void()>& as_loop, const std::function<bool()>& as_rounds) {
    const Mark before = mark();
    const std::size_t errors = diagnostics_.num_errors();
    const bool needed_rounds = std::exchange(needs_rounds_, false);
    needs_value_ = false;
    as_loop();
    if ((needs_value_ || needs_rounds_) && rounds_left_ > 0) {
        undo(before);
        needs_value_ = needs_rounds_ = false;
        const bool in_rounds = std::exchange(in_rounds_, true);
        const bool good = as_rounds();
        in_rounds_ = in_rounds;
        if (!good && (needs_value_ || diagnostics_.num_errors() == errors)) {
            undo(before);
            as_loop();
        }
    }
    needs_value_ |= before.needs_value;
    needs_rounds_ |= needed_rounds;
}

/// One round, after what `begin` says to its scope. False if there were too many, or something is wrong.
bool Checker::round(const Statement* s, const std::function<void()>& begin) {
    const std::size_t errors = diagnostics_.num_errors(), nodes = graph_.num_nodes();
    if (rounds_left_ == 0) return false;
    std::vector<std::string_view> names;
    assigned_names(s->body, &names);
    std::vector<std::pair<std::string_view, Type>> before;
    for (const std::string_view name : names)
        if (const Names::Variable* v = names_.find(name); v && v->value)
            before.emplace_back(name, v->value->type);
    const auto views = effects.views;
    const std::size_t depth = names_.depth();
    names_.open();
    begin();
    scoped(s->body);
    names_.close_to(depth);
    effects.views = views;
    rounds_left_ -= std::min(rounds_left_, 1 + graph_.num_nodes() - nodes);
    for (const auto& [name, type] : before)
        if (const Value* after = names_.find(name)->value) keeps_cells(type, after->type, name, s->loc);
    return diagnostics_.num_errors() == errors;
}

}  // namespace weld::daphne
