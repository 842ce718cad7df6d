// The whole of a script, and what goes on from one to the next: the rest of a script that could not be
// checked before values were known, or another entry of a session.
//
//     name = "data" + n + ".csv";     the first program: it leaves `name`
//     X = readMatrix(name);           the second one, in which `name` is a constant
//
// What a statement itself computes and has to know becomes a variable before it, whose name is its place.
#include <cctype>

#include "frontend/daphne/check.h"
#include "frontend/daphne/check_types.h"

namespace weld::daphne {

void Checker::run(const Script& script, std::string_view path, const ScriptEnvironment* before,
                  ScriptEnvironment* left) {
    can_stop_ = left != nullptr;
    files_.push_back(std::make_unique<File>());
    file_ = files_.back().get();
    file_->path = path;
    importing_.push_back(file_->path);
    Activation activation;
    activation_ = &activation;
    body_ = &graph_.main;
    if (before) begin(*before);
    declare(script.statements);

    const Statements all = script.statements;
    std::size_t next = before ? before->statement : 0;
    for (const Statement* s : all.first(next))
        if (s->kind == Statement::Import) import_names(s);
    const std::size_t first = next;
    bool is_first = true;
    for (; next < all.size() && !activation.returned; ++next, is_first = false) {
        if (may_return(all[next]) || !left) {
            statements(all.subspan(next), nullptr);
            next = all.size();
            break;
        }
        if (!statement_or_stop(all[next], !is_first)) break;
        names_.settle();
    }
    const bool has_rest = next < all.size() && !activation.returned;
    if (has_rest && first == 0) rehearse(all.subspan(next));
    if (!before && !has_rest) check_uncalled();
    if (left) {
        left->statement = has_rest ? next : 0;
        left->has_rest = has_rest && (next > first || asked_);
        leave(*left);
    }
}

/// The variables that are there already are the parameters of the program.
void Checker::begin(const ScriptEnvironment& before) {
    for (const LeftVariable& v : before.variables) {
        Value* value = graph_.value(v.type);
        value->rows = {v.rows, 0};
        value->columns = {v.columns, 0};
        value->constant = v.constant;
        name_dims(value);
        graph_.main.params.push_back(value);
        if (v.is_view) effects.views[v.name] = value;
        else names_.declare(v.name, {value});
        has_answers_ |= std::isdigit(static_cast<unsigned char>(v.name[0])) != 0;
    }
    for (const std::string& text : before.definitions) {
        scripts_.push_back(
            parse(module_.sources, module_.sources.add(file_->path, text), module_.arena, diagnostics_));
        declare(scripts_.back()->statements);
        for (const Statement* s : scripts_.back()->statements)
            if (s->kind == Statement::Import) import_names(s);
    }
}

/// An import that has run: its definitions are wanted, its variables have been left.
void Checker::import_names(const Statement* s) {
    const std::size_t nodes = graph_.main.nodes.size();
    const Names::Mark before = names_.mark();
    import(s);
    graph_.main.nodes.resize(nodes);
    names_.undo(before);
}

/// Checks a statement. If something in it has to be known that is not, and may be once what stands before it
/// has run, that is undone and it gives false.
bool Checker::statement_or_stop(const Statement* s, bool may_stop) {
    needs_value_ = false;
    const Mark before = mark();
    statement(s);
    if (!needs_value_) return true;
    undo(before);
    asked_ = !may_stop && ask(s);
    if (may_stop || asked_) return false;
    statement(s);  // says what it needs
    return true;
}

/// Checks the rest of a script, which another program will be made of, to find what is wrong in it whatever
/// the values are that it waits for: names, numbers of arguments, types. Then nothing runs. What depends on
/// such a value is a null value, of which nothing is said.
void Checker::rehearse(Statements rest) {
    const Mark before = mark();
    const std::size_t functions = graph_.functions.size(), errors = diagnostics_.num_errors();
    is_rehearsal_ = true;
    statements(rest, nullptr);
    check_uncalled();
    is_rehearsal_ = false;
    if (diagnostics_.num_errors() != errors) return;
    undo(before);
    for (const auto& d : definitions_) d->instances.clear();
    graph_.functions.resize(functions);
}

static const Node* node_at(const Node* root, Loc at) {
    std::vector<const Node*> open = {root};
    while (!open.empty()) {
        const Node* n = open.back();
        open.pop_back();
        if (!n) continue;
        if (n->start == at) return n;
        for (const Index* i : {&n->rows, &n->columns}) open.insert(open.end(), {i->first, i->last});
        open.insert(open.end(), n->args.begin(), n->args.end());
    }
    return nullptr;
}

/// The variable that has the value of what stands there. (Names in scripts do not begin so.)
std::string Checker::name_of_answer(Loc at) const {
    const Position p = module_.sources.position(at);
    return fmt::format("{}:{} of {}", p.line, p.column, file_->path);
}

/// Computes what `s` has to know, a scalar in it, if it can be computed before `s`. It is known in the next
/// program.
bool Checker::ask(const Statement* s) {
    if (s->kind != Statement::Expression && s->kind != Statement::Assignment) return false;
    const Loc at = needed_at_;
    const Node* n = node_at(s->value, at);
    const std::string name = name_of_answer(at);
    if (!n || names_.find(name)) return false;
    const Mark before = mark();
    const std::size_t errors = diagnostics_.num_errors();
    needs_value_ = false;
    Value* v = expression(n);
    if (v && v->type.is_scalar() && !needs_value_ && diagnostics_.num_errors() == errors) {
        assign(name, v, at);
        return true;
    }
    undo(before);
    return false;
}

Checker::Mark Checker::mark() const {
    return {body_->nodes.size(), diagnostics_.all().size(), names_.mark(), effects, needs_value_};
}

/// Forgets what has been checked since, and functions that were found wrong: they may be right when more is
/// known.
void Checker::undo(const Mark& to) {
    body_->nodes.resize(to.nodes);
    diagnostics_.forget_after(to.findings);
    names_.undo(to.names);
    effects = to.effects;
    needs_value_ = to.needs_value;
    for (const auto& d : definitions_)
        std::erase_if(d->instances, [](const auto& one) { return !one.second.function; });
}

void Checker::leave(ScriptEnvironment& left) {
    const auto add = [&](const std::string& name, Value* value, bool is_view) {
        if (!value) return;
        left.variables.push_back({.name = name,
                                  .is_view = is_view,
                                  .type = value->type,
                                  .rows = value->rows.number,
                                  .columns = value->columns.number,
                                  .constant = value->constant});
        graph_.main.results.push_back(value);
    };
    for (const auto& [name, variable] : names_.outermost()) {
        const bool is_answer = std::isdigit(static_cast<unsigned char>(name[0]));
        if (!is_answer || left.has_rest) add(name, variable.value, false);
    }
    for (const auto& [name, view] : effects.views) add(name, view, true);
}

}  // namespace weld::daphne
