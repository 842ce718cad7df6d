// Where scripts find what they import, beside the folder that they are in.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace weld {

struct ImportPaths {
    std::vector<std::string> folders;  ///< searched after that of the script
    /// Files that are imported together, by the name of the library.
    std::map<std::string, std::vector<std::string>, std::less<>> libraries;
};

}  // namespace weld
