// Scopes as maps, and the log by which changes are taken back.
#include "frontend/daphne/names.h"

#include <utility>

namespace weld::daphne {

const Names::Variable* Names::find(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
        if (const auto at = scope->find(name); at != scope->end()) return &at->second;
    return nullptr;
}

void Names::change(std::size_t depth, Scope::iterator at, Variable to) {
    log_.push_back({.kind = Change::Set, .depth = depth, .at = at, .before = at->second});
    at->second = to;
}

void Names::set(std::string_view name, Value* value) {
    for (std::size_t depth = scopes_.size(); depth-- > 0;) {
        const auto at = scopes_[depth].find(name);
        if (at != scopes_[depth].end()) return change(depth, at, {value, at->second.read_only});
    }
}

void Names::set_at(Binding of, Value* value) {
    const auto at = scopes_[of.depth].find(of.name);
    change(of.depth, at, {value, at->second.read_only});
}

void Names::declare(std::string_view name, Variable variable) {
    Scope& scope = scopes_.back();
    const auto [at, is_new] = scope.emplace(name, variable);
    if (is_new) log_.push_back({.kind = Change::Declared, .depth = scopes_.size() - 1, .at = at});
    else change(scopes_.size() - 1, at, variable);
}

void Names::open() {
    scopes_.emplace_back();
    log_.push_back({.kind = Change::Opened});
}

void Names::close_to(std::size_t depth) {
    while (scopes_.size() > depth) {
        log_.push_back({.kind = Change::Closed, .scope = std::move(scopes_.back())});
        scopes_.pop_back();
    }
}

void Names::undo(Mark to) {
    while (log_.size() > to) {
        Change& last = log_.back();
        switch (last.kind) {
            case Change::Set: last.at->second = last.before; break;
            case Change::Declared: scopes_[last.depth].erase(last.at); break;
            case Change::Opened: scopes_.pop_back(); break;
            case Change::Closed: scopes_.push_back(std::move(last.scope)); break;
        }
        log_.pop_back();
    }
}

std::map<Names::Binding, Value*> Names::changed_since(Mark mark) const {
    std::map<Binding, Value*> changed;
    for (std::size_t i = mark; i < log_.size(); ++i) {
        const Change& one = log_[i];
        if (one.kind == Change::Set && one.depth < scopes_.size())
            changed[{one.depth, one.at->first}] = one.at->second.value;
    }
    return changed;
}

}  // namespace weld::daphne
