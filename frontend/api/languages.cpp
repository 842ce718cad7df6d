// The rows of languages.def.
#include "frontend/api/languages.h"

#include <algorithm>

#include "frontend/daphne/daphne.h"
#include "frontend/daphne/environment.h"

namespace weld {

static constexpr Language kLanguages[] = {
#define WELD_LANGUAGE(name, endings, reader, environments, arguments, results, sessions, stages) \
    {name,                                                                                       \
     endings,                                                                                    \
     reader,                                                                                     \
     environments,                                                                               \
     ArgumentStyle::arguments,                                                                   \
     ResultStyle::results,                                                                       \
     SessionStyle::sessions,                                                                     \
     stages},
#include "frontend/api/languages.def"
};

/// The first of the words of `rest`, which are separated by spaces; it is taken away. Empty at the end.
static std::string_view next_word(std::string_view& rest) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    return word;
}

std::string_view Language::stage(std::string_view stage) const {
    for (std::string_view rest = stages; !rest.empty();) {
        const std::string_view word = next_word(rest), name = word.substr(0, word.find('='));
        if (name == stage) return word.substr(name.size() + 1);
    }
    return stage;
}

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
        for (std::string_view rest = language.endings; !rest.empty();)
            if (path.ends_with(next_word(rest))) return language.name;
    return {};
}

}  // namespace weld
