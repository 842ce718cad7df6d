// What makes code, which is in libweld.so: loaded when the first code is made, not when the tool starts.
//
// Modules and code cross the border as they are: the tool and the library come from one build, and the
// version in the library's name says so.
#include <atomic>
#include <cerrno>
#include <cstring>

#include <dlfcn.h>

#include "codegen/engine.h"

namespace weld {

namespace {

/// The library, loaded when it is first needed, or why it cannot be.
class Library {
  public:
    /// Null, with the reason in `*why` and `*no_memory`.
    const Codegen* load(const char** why, bool* no_memory) {
        if (const Codegen* codegen = codegen_.load()) return codegen;
        errno = 0;
        void* library = ::dlopen("libweld.so." WELD_VERSION, RTLD_NOW | RTLD_LOCAL);
        const int number = errno;
        if (void* there = library ? ::dlsym(library, "weld_codegen") : nullptr) {
            codegen_ = static_cast<const Codegen*>(there);
            return codegen_;
        }
        *why = ::dlerror();
        // The loader of the C library does not always hand on why it found no room.
        *no_memory = number == ENOMEM ||
                     (*why && number != EPERM && std::strstr(*why, "failed to map segment") != nullptr);
        return nullptr;
    }

    /// Calls `use` with the library.
    template <class Use>
    GenerateEnd with(std::string* error, const Use& use) {
        const char* why = nullptr;
        bool no_memory = false;
        if (const Codegen* codegen = load(&why, &no_memory)) return use(*codegen);
        if (no_memory) return GenerateEnd::NoMemory;
        try {
            *error = why ? why : "libweld.so." WELD_VERSION " cannot be loaded";
        } catch (const std::bad_alloc&) {
            return GenerateEnd::NoMemory;
        }
        return GenerateEnd::Failed;
    }

  private:
    std::atomic<const Codegen*> codegen_ = nullptr;
} library;

}  // namespace

GenerateEnd generate(const Module& m, const CodeOptions& options, MachineCode* code, CodeTimes* times,
                     std::string* error) noexcept {
    return library.with(error, [&](const Codegen& c) { return c.generate(m, options, code, times, error); });
}

GenerateEnd optimize_loops(std::string_view bitcode, std::span<const std::string> functions,
                           const CodeOptions& options, const std::function<void(std::string object)>& made,
                           std::string* error) noexcept {
    return library.with(
        error, [&](const Codegen& c) { return c.optimize_loops(bitcode, functions, options, made, error); });
}

void wait_for_optimize_loops() noexcept {
    const char* why = nullptr;
    bool no_memory = false;
    if (const Codegen* codegen = library.load(&why, &no_memory)) codegen->wait_for_optimize_loops();
}

}  // namespace weld
