// Text that people are to read: which characters can be seen, and how much of a long text is shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weld {

/// Bytes of the character that `text` begins with, if it is valid UTF-8 and no control character; else 0.
std::size_t printable_character(std::string_view text);

/// Number of characters; a byte that belongs to none counts as one.
std::size_t count_characters(std::string_view text);

/// The beginning of `text` in backticks, fit for a message: at most 24 characters, `?` for what cannot be
/// printed.
std::string quoted_excerpt(std::string_view text);

}  // namespace weld
