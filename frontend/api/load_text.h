// Files that a program names while it is compiled.
#pragma once

#include <string>

namespace weld {

/// The whole text of a file. Else false, with why: "no such file or directory".
bool load_text(const std::string& path, std::string* text, std::string* error);

}  // namespace weld
