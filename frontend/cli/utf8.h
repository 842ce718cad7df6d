// Just enough of UTF-8: which bytes are a character, and can people see it.
#pragma once

#include <cstddef>
#include <string_view>

namespace weld {

/// Bytes of the character that `text` begins with; 0 if the bytes are not UTF-8 (or there are none).
int utf8_size(std::string_view text);
/// The same, and 0 for control characters too.
int utf8_printable(std::string_view text);
/// Number of characters; an invalid byte counts as one.
std::size_t utf8_length(std::string_view text);

}  // namespace weld
