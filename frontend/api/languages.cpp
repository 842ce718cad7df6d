// The rows of languages.def.
#include "frontend/api/languages.h"

#include <algorithm>

#include "frontend/daphne/daphne.h"
#include "frontend/daphne/environment.h"

namespace weld {

static constexpr Language kLanguages[] = {
#define WELD_LANGUAGE(name, endings, reader, environments, arguments, results, sessions) \
    {name,                                                                               \
     endings,                                                                            \
     reader,                                                                             \
     environments,                                                                       \
     ArgumentStyle::arguments,                                                           \
     ResultStyle::results,                                                               \
     SessionStyle::sessions},
#include "frontend/api/languages.def"
};

const Language* find_language(std::string_view name) {
    for (const Language& language : kLanguages)
        if (language.name == name) return &language;
    return nullptr;
}

std::string all_languages() {
    std::string names;
    for (const Language& language : kLanguages)
        (names += names.empty() ? "`" : ", `").append(language.name) += '`';
    return names;
}

std::string_view language_of_file(std::string_view path) {
    for (const Language& language : kLanguages)
        for (std::string_view rest = language.endings; !rest.empty();) {
            const std::string_view ending = rest.substr(0, rest.find(' '));
            if (path.ends_with(ending)) return language.name;
            rest.remove_prefix(std::min(rest.size(), ending.size() + 1));
        }
    return {};
}

}  // namespace weld
