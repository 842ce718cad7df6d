// `generate`, which is in libweld.so: loaded when the first code is made, not when the tool starts.
//
// Modules and code cross the border as they are: the tool and the library come from one build, and the
// version in the library's name says so.
#include <dlfcn.h>

#include "codegen/engine.h"

namespace weld {

bool generate(const Module& m, const CodeOptions& options, MachineCode* code, CodeTimes* times,
              std::string* error) {
    static void* const library = ::dlopen("libweld.so." WELD_VERSION, RTLD_NOW | RTLD_LOCAL);
    static const auto* const there =
        library ? static_cast<decltype(&weld_codegen_generate)>(::dlsym(library, "weld_codegen_generate"))
                : nullptr;
    if (there) return (*there)(m, options, code, times, error);
    const char* why = ::dlerror();
    *error = why ? why : "libweld.so." WELD_VERSION " cannot be loaded";
    return false;
}

}  // namespace weld
