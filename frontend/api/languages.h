// What languages there are, and what of a program depends on its language.
#pragma once

#include <string>
#include <string_view>

#include "frontend/weld/weld.h"

namespace weld {

/// How a program takes what its user gives it.
enum class ArgumentStyle {
    Values,  ///< a value per parameter of the program, when it runs
    Named,   ///< `name=value` when it is compiled: CompileOptions::script_args
};
/// What comes out of a program.
enum class ResultStyle {
    Value,   ///< its result
    Prints,  ///< what it prints; its result is the struct without fields
};

/// What stays from entry to entry of an interactive session.
enum class SessionStyle {
    Text,    ///< definitions, which stand before everything that is typed after them
    Values,  ///< CompileOptions::before and Program::after
};

/// A row of languages.def.
struct Language {
    std::string_view name;
    std::string_view endings;  ///< separated by spaces
    decltype(&read_weld) read;
    /// Makes an environment of its text, or null; none if its programs do not go on.
    std::shared_ptr<const Environment> (*read_environment)(std::string_view text);
    ArgumentStyle arguments;
    ResultStyle results;
    SessionStyle session;
    /// What others call the stages of such a program, `NAME=OURS`, separated by spaces.
    std::string_view stages;

    /// What `stage` is called here: itself if no other name is known of it.
    std::string_view stage(std::string_view stage) const;
};

/// Null if there is none of that name.
const Language* find_language(std::string_view name);
/// For messages: "`weld`, `daphne`".
std::string all_languages();
/// The language of a file by its ending; nothing if none has that ending.
std::string_view language_of_file(std::string_view path);

}  // namespace weld
