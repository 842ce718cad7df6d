// What `$name` means: arguments that come with a script.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/daphne/syntax.h"

namespace weld::daphne {

struct ScriptArgument {
    std::string_view name;  ///< part of what was given
    Literal value;
};

/// Reads `name=literal`, each name once. What is wrong is reported without a place. Strings are copied to
/// `texts`.
std::vector<ScriptArgument> read_script_arguments(std::span<const std::string> given, Arena& texts,
                                                  Diagnostics& diagnostics);

}  // namespace weld::daphne
