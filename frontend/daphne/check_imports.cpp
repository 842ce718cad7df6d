// Imports: the other script runs in its place, and what it has defined gets names with its prefix.
#include <algorithm>
#include <filesystem>

#include "frontend/daphne/check.h"
#include "frontend/daphne/check_types.h"

namespace weld::daphne {

static std::string beside(const std::string& file, std::string_view path) {
    return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
}

/// The alias, or the name of the file; before it that of its folder, if another file has it already.
static std::string prefix_of(const Statement* s, const std::string& path,
                             const std::set<std::string>& taken) {
    if (!s->alias.empty()) return std::string(s->alias);
    const std::filesystem::path p(path);
    const std::string stem = p.stem().string();
    return taken.contains(stem) ? p.parent_path().filename().string() + "." + stem : stem;
}

void Checker::import(const Statement* s) {
    const std::string path = beside(file_->path, s->path);
    const std::string prefix = prefix_of(s, path, file_->prefixes);
    auto is_same = [&](const std::string& other) {
        return std::filesystem::path(other).lexically_normal() == path;
    };
    if (std::ranges::any_of(importing_, is_same)) {
        error(s->path_loc, "`{}` is being imported already: scripts cannot import themselves", s->path);
        return;
    }
    if (!file_->imported.insert(path).second) {
        error(s->path_loc, "`{}` has been imported before", s->path);
        return;
    }
    if (!file_->prefixes.insert(prefix).second) {
        error(s->alias_loc ? s->alias_loc : s->path_loc, "something else has been imported as `{}`", prefix);
        return;
    }
    std::string text, why = "there are no files";
    if (!inputs_.load || !inputs_.load(path, &text, &why)) {
        error(s->path_loc, "cannot read `{}`: {}", path, why);
        return;
    }
    constexpr std::size_t kMostNested = 100;
    if (importing_.size() > kMostNested) {
        error(s->path_loc, "imports are nested too deeply");
        return;
    }
    const std::size_t errors = diagnostics_.num_errors();
    scripts_.push_back(
        parse(module_.sources, module_.sources.add(path, std::move(text)), module_.arena, diagnostics_));
    if (diagnostics_.num_errors() != errors) return;
    const Script& script = *scripts_.back();

    files_.push_back(std::make_unique<File>());
    File* outer = std::exchange(file_, files_.back().get());
    file_->path = path;
    importing_.push_back(path);
    std::vector<Scope> scopes(1);
    std::swap(scopes, scopes_);
    declare(script.statements);
    statements(script.statements, nullptr);
    std::swap(scopes, scopes_);
    importing_.pop_back();
    const File* imported = std::exchange(file_, outer);
    for (const auto& [name, variable] : scopes[0])
        if (name.find('.') == name.npos) scopes_.back()[prefix + "." + name] = variable;
    for (const auto& [name, overloads] : imported->definitions)
        if (name.find('.') == name.npos) file_->definitions[prefix + "." + name] = overloads;
}

}  // namespace weld::daphne
