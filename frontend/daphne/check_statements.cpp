// Statements: scopes, control flow, definitions, imports.
#include <algorithm>
#include <array>

#include "frontend/daphne/check.h"
#include "frontend/daphne/check_types.h"
#include "frontend/daphne/fold.h"

namespace weld::daphne {

Checker::Checker(Module& m, Graph& graph, const Inputs& inputs, Diagnostics& diagnostics)
    : module_(m), graph_(graph), inputs_(inputs), diagnostics_(diagnostics) {}
Checker::~Checker() = default;

// ---- names

void Checker::assign(std::string_view name, Value* value, Loc loc) {
    const Names::Variable* known = names_.find(name);
    if (known && known->read_only) {
        error(loc, "`{}` cannot be assigned to: the loop around it counts with it", name);
        return;
    }
    if (known) names_.set(name, value);
    else names_.declare(name, {value});
}

// ---- sequences

/// Is there a `return` somewhere in it?
bool Checker::may_return(const Statement* s) {
    if (s->kind == Statement::Return) return true;
    auto any = [](Statements all) { return std::ranges::any_of(all, may_return); };
    return any(s->body) || any(s->otherwise);
}

/// What follows a statement that may return is checked by that statement.
void Checker::statements(Statements all, const Rest* rest) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Statement* s = all[i];
        const Rest after{all.subspan(i + 1), names_.depth(), rest};
        if (s->kind == Statement::If && may_return(s)) return returning_if(s, &after);
        if (s->kind == Statement::Braces && may_return(s)) {
            names_.open();
            return statements(s->body, &after);
        }
        statement(s);
        if (activation_->returned) {
            if (i + 1 < all.size())
                diagnostics_.warning(all[i + 1]->loc, "what follows a `return` is never run");
            return;
        }
    }
    if (!rest) return;
    names_.close_to(rest->depth);
    statements(rest->all, rest->next);
}

void Checker::scoped(Statements all) {
    const std::size_t depth = names_.depth();
    names_.open();
    statements(all, nullptr);
    names_.close_to(depth);
}

void Checker::statement(const Statement* s) {
    switch (s->kind) {
        case Statement::Braces: return scoped(s->body);
        case Statement::Expression: return expression_statement(s);
        case Statement::Assignment: return assignment(s);
        case Statement::If: return if_statement(s);
        case Statement::While:
        case Statement::DoWhile: return while_loop(s);
        case Statement::For: return for_loop(s);
        case Statement::Define: return;  // has been declared
        case Statement::Return: return return_statement(s);
        case Statement::Import: return import(s);
    }
}

void Checker::expression_statement(const Statement* s) {
    for (Value* v : results(s->value)) {
        if (!s->is_shown || !v) continue;
        Call print{*this, *find_builtin("print"), s->loc, {v, nullptr, nullptr}, {}, {}, nullptr, {}};
        print.locs.resize(print.args.size());
        print.builtin.rule(print);
    }
}

void Checker::assignment(const Statement* s) {
    if (s->targets.size() == 1) {
        const std::vector<Value*> all = results(s->value);
        if (all.size() == 1) return assign_target(s->targets[0], all[0]);
        if (all.empty()) error(s->value->start, "this has no value");
        else error(s->value->start, "this has {} values; write as many variables, `a, b = …`", all.size());
        return assign_target(s->targets[0], nullptr);
    }
    std::vector<Value*> all = results(s->value);
    if (all.size() != s->targets.size()) {
        if (all.size() != 1 || all[0])
            error(s->value->start, "{} values are needed here, one for each variable; this has {}",
                  s->targets.size(), all.size());
        all.assign(s->targets.size(), nullptr);
    }
    for (std::size_t i = 0; i < all.size(); ++i) assign_target(s->targets[i], all[i]);
}

void Checker::assign_target(const Target& t, Value* value) {
    if (!t.is_indexed) return assign(t.name, value, t.loc);
    const Names::Variable* into = names_.find(t.name);
    if (!into) {
        error(t.loc, "unknown variable `{}`; parts can be assigned to when there is a matrix", t.name);
        return;
    }
    if (Value* whole = into->value)
        if (Value* changed = insert(whole, t, value)) assign(t.name, changed, t.loc);
}

Value* Checker::condition(const Node* n) {
    Value* v = expression(n);
    if (!v) return nullptr;
    if (v->type.is_frame() || v->type.is_list() || v->type.value == ValueType::Str)
        return error(n->start, "a condition is a number or a truth value, found {}", str(v->type));
    return to_scalar(v, ValueType::Bool, n->start);
}

/// Of an `if`; it may have been evaluated before.
Value* Checker::condition_of(const Statement* s) {
    Value* known = answer(s->loc);
    return known ? known : condition(s->value);
}

// ---- branches

/// What is known of both; null and a report if their types differ. Which of two frames it is decides about
/// the labels, which are known before the run: then the condition has to be.
Value* Checker::join(const Value* condition, Value* a, Value* b, Loc loc, std::string_view what) {
    if (!a || !b) return nullptr;
    if (!have_same_cells(a->type, b->type))
        return error(loc, "{} is {} after one branch and {} after the other", what, str_of_cells(a->type),
                     str_of_cells(b->type));
    const bool is_known = condition && condition->constant;
    if (!(a->type == b->type) && !is_known)
        return unknown(loc,
                       "{} has other labels after one branch than after the other; labels cannot depend "
                       "on what only the run knows",
                       what);
    Value* v = graph_.value(is_known && !condition->constant->integer ? b->type : a->type);
    v->rows = a->rows == b->rows ? a->rows : graph_.fresh_dim();
    v->columns = a->columns == b->columns ? a->columns : graph_.fresh_dim();
    v->sparsity = a->sparsity == b->sparsity ? a->sparsity : -1;
    v->symmetric = a->symmetric && b->symmetric;
    if (a->constant == b->constant) v->constant = a->constant;
    return v;
}

/// `joined`, or as much as is known of the side that is taken, if that is known.
Value* Checker::taken(const Value* condition, const Value* then, const Value* otherwise, Value* joined) {
    if (!condition || !condition->constant) return joined;
    return graph_.like(condition->constant->integer ? *then : *otherwise);
}

/// A further result of an `if`: one of its sides'.
Value* Checker::give_either(GraphNode* node, Value* then, Value* otherwise, Value* joined) {
    joined->maker = node;
    node->results.push_back(joined);
    node->bodies[0].results.push_back(then);
    node->bodies[1].results.push_back(otherwise);
    return joined;
}

/// Calls `check` for each side of an `if`, with the variables as they are now, which stay. The run comes to
/// the side that is taken, if that is known.
void Checker::check_sides(GraphNode* node, const std::function<void(std::size_t side)>& check) {
    Body* outer = body_;
    const bool was_certain = certain_;
    const Value* condition = node->args[0];
    const Names::Mark before = names_.mark();
    const Effects done = effects;
    Effects either = effects;
    for (std::size_t side = 0; side < 2; ++side) {
        body_ = &node->bodies[side];
        certain_ = was_certain && condition && condition->constant &&
                   (condition->constant->integer != 0) == (side == 0);
        check(side);
        names_.undo(before);
        either.may_add(std::exchange(effects, done));
    }
    body_ = outer;
    certain_ = was_certain;
    effects = std::move(either);
}

void Checker::if_statement(const Statement* s) {
    Value* c = condition_of(s);
    GraphNode* node = make_node(GraphNode::If, s->loc);
    node->args = {c};
    node->bodies.resize(2);
    std::map<Names::Binding, std::array<Value*, 2>> after;
    const Names::Mark before = names_.mark();
    check_sides(node, [&](std::size_t side) {
        scoped(side ? s->otherwise : s->body);
        const auto changed = names_.changed_since(before);
        names_.undo(before);
        for (const auto& [place, value] : changed) {
            Value* as_it_was = names_.value_at(place);
            after.try_emplace(place, std::array{as_it_was, as_it_was}).first->second[side] = value;
        }
    });
    for (const auto& [place, sides] : after) {
        const auto [then, otherwise] = sides;
        Value* joined =
            then == otherwise ? then : join(c, then, otherwise, s->loc, fmt::format("`{}`", place.name));
        if (joined && then != otherwise)
            joined = give_either(node, then, otherwise, taken(c, then, otherwise, joined));
        names_.set_at(place, joined);
    }
    body_->nodes.push_back(node);
}

/// Both sides end the function: what follows the `if` becomes part of the side that does not.
void Checker::returning_if(const Statement* s, const Rest* rest) {
    if (++depth_ > 200) {
        error(s->loc, "too many `return`s inside one another");
        activation_->returned = true;
        return;
    }
    Value* c = condition_of(s);
    GraphNode* node = make_node(GraphNode::If, s->loc);
    node->args = {c};
    node->bodies.resize(2);
    std::vector<Value*> sides[2];
    bool returned[2];
    check_sides(node, [&](std::size_t side) {
        activation_->returned = false;
        activation_->results.clear();
        names_.open();
        statements(side ? s->otherwise : s->body, rest);
        returned[side] = activation_->returned;
        sides[side] = std::move(activation_->results);
    });
    --depth_;
    body_->nodes.push_back(node);
    activation_->returned = true;
    activation_->results.clear();
    if (returned[0] != returned[1] || sides[0].size() != sides[1].size()) {
        if (activation_->function &&
            !(activation_->function->has_result_types && activation_->function->results.empty()))
            error(activation_->function->loc,
                  "`{}` has to end in a `return` with equally many values on each of its ways",
                  activation_->function->name);
        return;
    }
    for (std::size_t i = 0; i < sides[0].size(); ++i) {
        Value* joined = join(c, sides[0][i], sides[1][i], s->loc, "the result");
        activation_->results.push_back(joined ? give_either(node, sides[0][i], sides[1][i], joined)
                                              : nullptr);
    }
}

// ---- functions

void Checker::return_statement(const Statement* s) {
    if (!activation_->function) {
        error(s->loc, "`return` stands in functions only");
        return;
    }
    activation_->returned = true;
    activation_->at = s->loc;
    activation_->results.clear();
    for (const Node* n : s->values) activation_->results.push_back(expression(n));
}

}  // namespace weld::daphne
