// Arguments of scripts are literals, so that types follow from them.
#include "frontend/daphne/script_arguments.h"

#include <algorithm>

namespace weld::daphne {

static bool is_name(std::string_view text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return !text.empty() && letter(text[0]) &&
           std::ranges::all_of(text, [&](char c) { return letter(c) || digit(c); });
}

std::vector<ScriptArgument> read_script_arguments(std::span<const std::string> given, Arena& texts,
                                                  Diagnostics& diagnostics) {
    std::vector<ScriptArgument> out;
    for (const std::string_view text : given) {
        const std::size_t equals = text.find('=');
        ScriptArgument a{text.substr(0, equals), {}};
        if (equals == text.npos || !is_name(a.name))
            diagnostics.error({}, "script argument `{}`: expected `name=value`", text);
        else if (std::ranges::find(out, a.name, &ScriptArgument::name) != out.end())
            diagnostics.error({}, "script argument `{}` is given twice", a.name);
        else if (!read_literal(text.substr(equals + 1), texts, &a.value))
            diagnostics.error({}, "script argument `{}`: `{}` is no literal", a.name, text.substr(equals + 1))
                .note(
                    "literals are `12`, `-1.5`, `true`, and `\"text\"` with quotation marks that the shell "
                    "keeps");
        else out.push_back(a);
    }
    return out;
}

}  // namespace weld::daphne
