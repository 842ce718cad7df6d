// The whole of a script, and what goes on from one to the next: the rest of a script that could not be
// checked before values were known (check_parts.cpp), or another entry of a session.
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
    activation.is_open = can_stop_;
    activation_ = &activation;
    body_ = &graph_.main;
    is_new_text_ = !before || before->blocks.empty();
    is_prepared_ = is_new_text_ || before->is_prepared;
    certain_ = is_new_text_;  // later, something may be left to do before it fails
    blocks_.emplace_back().all = script.statements;
    if (before) define(*before);
    declare(script.statements);
    if (before) resume(*before);
    if (!left) statements(script.statements, nullptr);
    else
        while (go_on()) continue;
    if (!before && !is_cut_) check_uncalled();
    if (left) leave(*left);
}

/// The functions of the entries of a session before.
void Checker::define(const ScriptEnvironment& before) {
    for (const std::string& text : before.definitions) {
        const Loc at = module_.sources.add(file_->path, text);
        scripts_.push_back(parse(module_.sources, at, module_.arena, diagnostics_, true));
        declare(scripts_.back()->statements);
        for (const Statement* s : scripts_.back()->statements)
            if (s->kind == Statement::Import) import_names(s);
    }
}

/// An import that has run: its definitions are wanted, its variables have been left.
void Checker::import_names(const Statement* s) {
    imports_names_ = true;
    import(s);
    imports_names_ = false;
}

/// Checks the rest of a script, which another program will be made of, to find what is wrong in it whatever
/// the values are that it waits for: names, numbers of arguments, types. Then nothing runs, and it gives
/// false. What depends on such a value is a null value, of which nothing is said.
bool Checker::rehearse() {
    Mark before = mark();
    const File file = *file_;
    const std::size_t functions = graph_.functions.size(), definitions = definitions_.size(),
                      errors = diagnostics_.num_errors();
    const bool needed_rounds = needs_rounds_;
    is_rehearsal_ = true;
    const Block& script = blocks_.front();
    statements(script.all.subspan(script.next), nullptr);
    check_uncalled();
    is_rehearsal_ = false;
    if (diagnostics_.num_errors() != errors) return false;
    before.findings =
        diagnostics_.all().size();  // warnings stay: the parts after this one do not repeat them
    undo(before);
    needs_rounds_ = needed_rounds;
    *file_ = file;
    definitions_.resize(definitions);
    for (const auto& d : definitions_) d->instances.clear();
    graph_.functions.resize(functions);
    return true;
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

}  // namespace weld::daphne
