// `generate`, which is in libweld.so: loaded when the first code is made, not when the tool starts.
//
// Modules and code cross the border as they are: the tool and the library come from one build, and the
// version in the library's name says so.
#include <atomic>
#include <cerrno>

#include <dlfcn.h>

#include "codegen/engine.h"

namespace weld {

/// Null, with the reason in `*why` or ENOMEM in errno, if the library cannot be loaded.
static decltype(&generate) load_generate(const char** why) {
    errno = 0;
    void* library = ::dlopen("libweld.so." WELD_VERSION, RTLD_NOW | RTLD_LOCAL);
    const int number = errno;
    void* there = library ? ::dlsym(library, "weld_codegen_generate") : nullptr;
    if (there) return *static_cast<decltype(&weld_codegen_generate)>(there);
    *why = ::dlerror();
    errno = number;
    return nullptr;
}

GenerateEnd generate(const Module& m, const CodeOptions& options, MachineCode* code, CodeTimes* times,
                     std::string* error) noexcept {
    static std::atomic<decltype(&generate)> loaded = nullptr;
    const char* why = nullptr;
    if (!loaded) loaded = load_generate(&why);
    if (loaded) return loaded.load()(m, options, code, times, error);
    if (errno == ENOMEM) return GenerateEnd::NoMemory;
    try {
        *error = why ? why : "libweld.so." WELD_VERSION " cannot be loaded";
    } catch (const std::bad_alloc&) {
        return GenerateEnd::NoMemory;
    }
    return GenerateEnd::Failed;
}

}  // namespace weld
