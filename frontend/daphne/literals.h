// What number and string tokens of scripts mean.
#pragma once

#include <string>
#include <string_view>

#include "frontend/daphne/syntax.h"

namespace weld::daphne {

/// Reads `12`, `1_000u`, `1.5e-3f`, ... Says what is wrong, or nothing.
std::string read_number(std::string_view token, Literal* literal);

/// The bytes of a string token, with its quotes. `bad` is set to the offset in the token of an unknown
/// escape, or npos.
std::string read_string(std::string_view token, std::size_t* bad);

/// `true`, `inf`, ...: false if a token of this kind is none of them.
bool read_word(std::uint8_t kind, Literal* literal);

}  // namespace weld::daphne
