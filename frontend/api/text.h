// Text that people are to read: how long it is, and how much of a long text is shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weld {

/// Number of characters; a byte that belongs to none counts as one.
std::size_t count_characters(std::string_view text);

/// The beginning of `text` in backticks, fit for a message: at most 24 characters, `?` for what cannot be
/// printed.
std::string quoted_excerpt(std::string_view text);

}  // namespace weld
