// Strings as JSON writes them.
#pragma once

#include <string>
#include <string_view>

namespace weld {

/// Appends `text` in quotes. What is no UTF-8 becomes U+FFFD.
void append_json(std::string& out, std::string_view text);

}  // namespace weld
