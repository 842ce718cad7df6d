// Between heaps and the functions that stand between LLVM and the process: for heap.cpp and heap_calls.cpp alone.
#pragma once

#include <atomic>
#include <cstddef>

#include "codegen/heap.h"
#include "weldir/support/round_up.h"

namespace weld::codegen {

/// The heap that the thread works in. In static memory of the thread, not made when first used: there may be none
/// for it then.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local Heap* current;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local bool is_at_work;

/// The first work has begun, so the library has been loaded.
extern std::atomic<bool> loaded;

constexpr std::size_t kHeapAlign = 16;  ///< of blocks, if no more is asked for

// ---- memory for the process when there is none (heap_calls.cpp)
//
// Work that holds a lock cannot be left, nor can the loading of the library, when LLVM makes its options.
// What they need then comes from a reserve. Both make what a process has once, some hundred kilobytes in all.

/// Null if the reserve is used up.
void* take_reserve(std::size_t bytes, std::size_t align);

}  // namespace weld::codegen

#ifdef WELD_HEAPS
// What the linker calls ours, and the functions of the process behind them, as far as heaps use them.
extern "C" void* __wrap_malloc(std::size_t bytes);
extern "C" void* __real_malloc(std::size_t bytes);
extern "C" void* __real_realloc(void* block, std::size_t bytes);
extern "C" void __real_free(void* block);
#endif
