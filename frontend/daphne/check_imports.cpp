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

/// Beside the importing script, or in one of the folders for imports.
bool Checker::find_import(const Statement* s, std::string* path, std::string* text) {
    std::vector<std::string> places = {beside(file_->path, s->path)};
    if (inputs_.import_paths && std::filesystem::path(s->path).is_relative())
        for (const std::string& folder : inputs_.import_paths->folders)
            places.push_back((std::filesystem::path(folder) / s->path).lexically_normal().string());
    std::string first_why;
    for (const std::string& place : places) {
        std::string found, why = "there are no files";
        if (!inputs_.load || !inputs_.load(place, &found, &why)) {
            if (first_why.empty()) first_why = why;
            continue;
        }
        if (!path->empty() && *path != place)
            return error(s->path_loc, "`{}` is there twice: `{}` and `{}`", s->path, *path, place), false;
        *path = place, *text = std::move(found);
    }
    if (path->empty()) error(s->path_loc, "cannot read `{}`: {}", places.front(), first_why);
    return !path->empty();
}

/// The script that is imported, or those of a library.
std::vector<Checker::Import> Checker::imports_of(const Statement* s) {
    std::vector<Import> all;
    if (names_library(s)) {
        const std::string prefix(s->alias.empty() ? s->path : s->alias);
        if (!take_prefix(s, prefix)) return {};
        for (const std::string& path : inputs_.import_paths->libraries.find(s->path)->second) {
            std::string text, why = "there are no files";
            if (!inputs_.load || !inputs_.load(path, &text, &why))
                error(s->path_loc, "cannot read `{}`: {}", path, why);
            else
                all.push_back(
                    {path, std::move(text), prefix + "." + std::filesystem::path(path).stem().string()});
        }
        return all;
    }
    Import one;
    if (!find_import(s, &one.path, &one.text)) return {};
    one.prefix = prefix_of(s, one.path, file_->prefixes);
    all.push_back(std::move(one));
    return all;
}

void Checker::import(const Statement* s) {
    for (const Import& one : imports_of(s)) import_one(s, one);
}

bool Checker::take_prefix(const Statement* s, const std::string& prefix) {
    if (file_->prefixes.insert(prefix).second) return true;
    error(s->alias_loc ? s->alias_loc : s->path_loc, "something else has been imported as `{}`", prefix);
    return false;
}

/// Several scripts at once, which the configuration names.
bool Checker::names_library(const Statement* s) const {
    return inputs_.import_paths && !std::filesystem::path(s->path).has_extension() &&
           inputs_.import_paths->libraries.contains(s->path);
}

/// The file becomes the one that is being checked. Null after an error.
const Script* Checker::begin_import(const Statement* s, const Import& one) {
    const auto& [path, text, prefix] = one;
    auto is_same = [&](const std::string& other) {
        return std::filesystem::path(other).lexically_normal() == path;
    };
    if (std::ranges::any_of(importing_, is_same))
        return error(s->path_loc, "`{}` is being imported already: scripts cannot import themselves",
                     s->path);
    if (!file_->imported.insert(path).second)
        return error(s->path_loc, "`{}` has been imported before", s->path);
    if (!take_prefix(s, prefix)) return nullptr;
    constexpr std::size_t kMostNested = 100;
    if (importing_.size() > kMostNested) return error(s->path_loc, "imports are nested too deeply");
    const std::size_t errors = diagnostics_.num_errors();
    scripts_.push_back(parse(module_.sources, module_.sources.add(path, text), module_.arena, diagnostics_));
    if (diagnostics_.num_errors() != errors) return nullptr;
    files_.push_back(std::make_unique<File>());
    file_ = files_.back().get();
    file_->path = path;
    importing_.push_back(path);
    declare(scripts_.back()->statements);
    return scripts_.back().get();
}

/// `names` are those of the script that has been imported; the file is the importing one.
void Checker::end_import(const std::string& prefix, const Names& names, const File& imported) {
    for (const auto& [name, variable] : names.scope(0))
        if (name.find('.') == name.npos && !is_answer(name)) names_.declare(prefix + "." + name, variable);
    for (const auto& [name, overloads] : imported.definitions)
        if (name.find('.') == name.npos) file_->definitions[prefix + "." + name] = overloads;
}

void Checker::import_one(const Statement* s, const Import& one) {
    File* outer = file_;
    const Script* script = begin_import(s, one);
    if (!script) return;
    Names names;
    std::swap(names, names_);
    if (!imports_names_) statements(script->statements, nullptr);
    else
        for (const Statement* inner : script->statements)
            if (inner->kind == Statement::Import) import(inner);
    std::swap(names, names_);
    importing_.pop_back();
    const File* imported = std::exchange(file_, outer);
    end_import(one.prefix, names, *imported);
}

/// Goes into a script that is imported, to go through its statements one by one. Of a library, `number` says
/// which one; those before it have run.
bool Checker::open_import(const Statement* s, std::size_t number) {
    std::vector<Import> all = imports_of(s);
    if (number >= all.size()) return false;
    imports_names_ = true;
    for (std::size_t i = 0; i < number; ++i) import_one(s, all[i]);
    imports_names_ = false;
    return open_one(s, std::move(all), number);
}

bool Checker::open_one(const Statement* s, std::vector<Import> all, std::size_t number) {
    File* outer = file_;
    const Script* script = begin_import(s, all[number]);
    File* imported = std::exchange(file_, outer);
    if (!script) return false;
    Block& block = push_block(script->statements, s);
    block.imports = std::move(all);
    block.import = number;
    enter(block, imported, activation_);
    return true;
}

}  // namespace weld::daphne
