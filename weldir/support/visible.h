// Text that terminals show: which characters can be seen, and what stands for those that cannot.
//
// Names of files, texts of programs and messages of user functions come from outside. A control character in
// one of them would be obeyed by the terminal, so none gets there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weld {

/// Bytes of the character that `text` begins with, if it is valid UTF-8 and no control character; else 0.
std::size_t printable_character(std::string_view text);

/// `text` on one line, with `\n`, `\t` and `\xNN` for bytes that are not printable.
std::string visible(std::string_view text);

/// The same, but ends of lines and tabs stay.
std::string visible_lines(std::string_view text);

/// Number of characters; a byte that belongs to none counts as one.
std::size_t count_characters(std::string_view text);

/// The beginning of `text` in backticks, fit for a message: at most 24 characters, `?` for what cannot be
/// printed.
std::string quoted_excerpt(std::string_view text);

}  // namespace weld
