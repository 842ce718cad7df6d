// Tells the address sanitizer which parts of our pages hold no block, so that it sees overruns there too; and
// has tests see who reads what was freed.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WELD_POISONING 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WELD_POISONING 1
#endif
#endif

#ifdef WELD_POISONING
#include <sanitizer/asan_interface.h>
#endif

namespace weld::runtime {

/// Set by tests before the first run: freed blocks are overwritten, so that who still reads them gives wrong
/// results.
extern bool overwrite_freed;

#ifdef WELD_POISONING
inline void poison(const void* p, std::ptrdiff_t bytes) { ASAN_POISON_MEMORY_REGION(p, std::size_t(bytes)); }
inline void unpoison(const void* p, std::ptrdiff_t bytes) {
    ASAN_UNPOISON_MEMORY_REGION(p, std::size_t(bytes));
}
#else
inline void poison(const void*, std::ptrdiff_t) {}
inline void unpoison(const void*, std::ptrdiff_t) {}
#endif

}  // namespace weld::runtime
