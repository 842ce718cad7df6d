// `generate`, which is in libweld.so: loaded when the first code is made, not when the tool starts.
//
// Modules and code cross the border as they are: the tool and the library come from one build, and the
// version in the library's name says so.
#include <atomic>
#include <cerrno>
#include <cstring>

#include <dlfcn.h>

#include "codegen/engine.h"

namespace weld {

/// Null, with the reason in `*why` and `*no_memory`, if the library cannot be loaded.
static decltype(&generate) load_generate(const char** why, bool* no_memory) {
    errno = 0;
    void* library = ::dlopen("libweld.so." WELD_VERSION, RTLD_NOW | RTLD_LOCAL);
    const int number = errno;
    void* there = library ? ::dlsym(library, "weld_codegen_generate") : nullptr;
    if (there) return *static_cast<decltype(&weld_codegen_generate)>(there);
    *why = ::dlerror();
    // The loader of the C library does not always hand on why it found no room.
    *no_memory = number == ENOMEM ||
                 (*why && number != EPERM && std::strstr(*why, "failed to map segment") != nullptr);
    return nullptr;
}

GenerateEnd generate(const Module& m, const CodeOptions& options, MachineCode* code, CodeTimes* times,
                     std::string* error) noexcept {
    static std::atomic<decltype(&generate)> loaded = nullptr;
    const char* why = nullptr;
    bool no_memory = false;
    if (!loaded) loaded = load_generate(&why, &no_memory);
    if (loaded) return loaded.load()(m, options, code, times, error);
    if (no_memory) return GenerateEnd::NoMemory;
    try {
        *error = why ? why : "libweld.so." WELD_VERSION " cannot be loaded";
    } catch (const std::bad_alloc&) {
        return GenerateEnd::NoMemory;
    }
    return GenerateEnd::Failed;
}

}  // namespace weld
