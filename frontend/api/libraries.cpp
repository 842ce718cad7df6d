// dlopen and dlsym.
#include "frontend/api/libraries.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>

namespace weld {

bool Libraries::load(const std::string& path, std::string* error) {
    if (path.empty()) {  // which would stand for the process
        *error = "the name of the library is empty";
        return false;
    }
    // Without a slash in its name, the system would look for it in its own folders only: users mean a file.
    const bool here = path.find('/') == path.npos && ::access(path.c_str(), F_OK) == 0;
    const std::string file = here ? "./" + path : path;
    std::lock_guard lock(mutex_);
    if (std::ranges::any_of(loaded_, [&](const Library& l) { return l.path == file; })) return true;
    void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        *error = ::dlerror();
        return false;
    }
    loaded_.push_back({file, handle});
    return true;
}

void* Libraries::find(std::string_view name) const {
    const std::string symbol(name);
    std::lock_guard lock(mutex_);
    for (const Library& library : std::views::reverse(loaded_))
        if (void* found = ::dlsym(library.handle, symbol.c_str())) return found;
    return ::dlsym(RTLD_DEFAULT, symbol.c_str());
}

std::string Libraries::searched() const {
    std::string text;
    std::lock_guard lock(mutex_);
    for (const Library& library : loaded_) {
        if (!text.empty()) text += ", ";
        text += library.path.substr(library.path.rfind('/') + 1);
    }
    return text.empty() ? "the process" : text + " and the process";
}

}  // namespace weld
