// The functions that stand between LLVM and the process: what codegen and LLVM call of `malloc`, `operator
// new`, and locks, the linker directs to here (CMakeLists.txt). A thread that works in a heap gets memory of
// that.
#include "codegen/heap_calls.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>

#include <malloc.h>
#include <pthread.h>

extern "C" int __real___cxa_atexit(void (*end)(void*), void* object, void* library);
extern "C" int __wrap___cxa_atexit(void (*end)(void*), void* object, void* library) {
    return weld::codegen::is_at_work ? 0 : __real___cxa_atexit(end, object, library);
}

#ifdef WELD_HEAPS

// What the linker calls the functions that stand behind ours.
#define WELD_BEHIND(result, name, ...)            \
    extern "C" result __real_##name(__VA_ARGS__); \
    extern "C" result __wrap_##name(__VA_ARGS__)

WELD_BEHIND(void*, malloc, std::size_t bytes);
WELD_BEHIND(void*, calloc, std::size_t count, std::size_t bytes);
WELD_BEHIND(void*, realloc, void* block, std::size_t bytes);
WELD_BEHIND(void, free, void* block);
WELD_BEHIND(void*, _Znwm, std::size_t bytes);
WELD_BEHIND(void*, _Znam, std::size_t bytes);
WELD_BEHIND(void*, _ZnwmRKSt9nothrow_t, std::size_t bytes, const std::nothrow_t& nothrow);
WELD_BEHIND(void*, _ZnamRKSt9nothrow_t, std::size_t bytes, const std::nothrow_t& nothrow);
WELD_BEHIND(void*, _ZnwmSt11align_val_t, std::size_t bytes, std::align_val_t align);
WELD_BEHIND(void*, _ZnamSt11align_val_t, std::size_t bytes, std::align_val_t align);
WELD_BEHIND(void, _ZdlPv, void* block);
WELD_BEHIND(void, _ZdaPv, void* block);
WELD_BEHIND(void, _ZdlPvm, void* block, std::size_t bytes);
WELD_BEHIND(void, _ZdaPvm, void* block, std::size_t bytes);
WELD_BEHIND(void, _ZdlPvRKSt9nothrow_t, void* block, const std::nothrow_t& nothrow);
WELD_BEHIND(void, _ZdaPvRKSt9nothrow_t, void* block, const std::nothrow_t& nothrow);
WELD_BEHIND(void, _ZdlPvSt11align_val_t, void* block, std::align_val_t align);
WELD_BEHIND(void, _ZdaPvSt11align_val_t, void* block, std::align_val_t align);
WELD_BEHIND(void, _ZdlPvmSt11align_val_t, void* block, std::size_t bytes, std::align_val_t align);
WELD_BEHIND(void, _ZdaPvmSt11align_val_t, void* block, std::size_t bytes, std::align_val_t align);
WELD_BEHIND(int, pthread_mutex_lock, pthread_mutex_t* lock);
WELD_BEHIND(int, pthread_mutex_trylock, pthread_mutex_t* lock);
WELD_BEHIND(int, pthread_mutex_unlock, pthread_mutex_t* lock);
WELD_BEHIND(int, pthread_rwlock_rdlock, pthread_rwlock_t* lock);
WELD_BEHIND(int, pthread_rwlock_wrlock, pthread_rwlock_t* lock);
WELD_BEHIND(int, pthread_rwlock_unlock, pthread_rwlock_t* lock);
WELD_BEHIND(int, pthread_once, pthread_once_t* once, void (*work)());
WELD_BEHIND(int, __cxa_guard_acquire, std::uint64_t* guard);
WELD_BEHIND(void, __cxa_guard_release, std::uint64_t* guard);
WELD_BEHIND(void, __cxa_guard_abort, std::uint64_t* guard);

// Strings are freed where they were made: all their functions are here, none in the process's library.
template class std::basic_string<char>;

namespace weld::codegen {

namespace {

constexpr std::size_t kReserve = 1 << 20;
alignas(kHeapAlign) char reserve[kReserve];
std::atomic<std::size_t> reserve_used{0};

bool in_reserve(const void* p) { return std::uintptr_t(p) - std::uintptr_t(reserve) < kReserve; }

}  // namespace

void* take_reserve(std::size_t bytes, std::size_t align) {
    const std::size_t room = round_up(bytes, kHeapAlign) + kHeapAlign + align;
    const std::size_t at = reserve_used.fetch_add(room);
    if (at + room > kReserve) return nullptr;
    char* block = reinterpret_cast<char*>(round_up(std::uintptr_t(reserve + at + kHeapAlign), align));
    std::memcpy(block - sizeof bytes, &bytes, sizeof bytes);
    return block;
}

/// Bytes of a block of the process, at least what was asked for.
static std::size_t size_of(void* block) {
    if (!in_reserve(block)) return ::malloc_usable_size(block);
    std::size_t bytes;
    std::memcpy(&bytes, static_cast<char*>(block) - sizeof bytes, sizeof bytes);
    return bytes;
}

}  // namespace weld::codegen

// ---- memory

using weld::codegen::current;
using weld::codegen::Heap;
using weld::codegen::in_reserve;
using weld::codegen::kHeapAlign;
using weld::codegen::loaded;
using weld::codegen::size_of;
using weld::codegen::take_reserve;

static void* from_heap(std::size_t bytes, std::size_t align) {
    return current ? current->allocate(bytes, align) : nullptr;
}

/// For what must not fail: work that cannot be left, and the loading of the library. Null for all else.
static void* from_reserve(std::size_t bytes, std::size_t align) {
    if (current) return current->from_reserve(bytes, align);
    return loaded ? nullptr : take_reserve(bytes, align);
}

void* __wrap_malloc(std::size_t bytes) {
    if (void* block = from_heap(bytes, kHeapAlign)) return block;
    void* const block = __real_malloc(bytes);
    return block ? block : from_reserve(bytes, kHeapAlign);
}

void* __wrap_calloc(std::size_t count, std::size_t bytes) {
    std::size_t all;
    if (__builtin_mul_overflow(count, bytes, &all)) all = ~std::size_t(0);
    if (!current && loaded) return __real_calloc(count, bytes);
    void* const block = __wrap_malloc(all);
    return block ? std::memset(block, 0, all) : nullptr;
}

void* __wrap_realloc(void* block, std::size_t bytes) {
    if (!block) return __wrap_malloc(bytes);
    if (current && current->owns(block)) return current->reallocate(block, bytes);
    void* moved = in_reserve(block) ? nullptr : __real_realloc(block, bytes);
    if (moved || (loaded && !current && !in_reserve(block))) return moved;
    moved = __wrap_malloc(bytes);
    if (!moved) return nullptr;
    std::memcpy(moved, block, std::min(bytes, size_of(block)));
    __wrap_free(block);
    return moved;
}

/// Releases `block` if it is not the process's, and says whether it was not.
static inline bool released(void* block) {
    if (in_reserve(block)) return true;
    if (!current || !current->owns(block)) return false;
    current->release(block);
    return true;
}

void __wrap_free(void* block) {
    if (!released(block)) __real_free(block);
}

/// From the heap; else what `real()` gives, or the reserve if that throws.
template <class Real>
static void* allocate_or_throw(std::size_t bytes, std::size_t align, const Real& real) {
    if (void* block = from_heap(bytes, align)) return block;
    try {
        return real();
    } catch (const std::bad_alloc&) {
        if (void* block = from_reserve(bytes, align)) return block;
        throw;
    }
}

#define WELD_NEW(name)                                                                          \
    void* __wrap_##name(std::size_t bytes) {                                                    \
        return allocate_or_throw(bytes, kHeapAlign, [=] { return __real_##name(bytes); });      \
    }                                                                                           \
    void* __wrap_##name##RKSt9nothrow_t(std::size_t bytes, const std::nothrow_t& n) {           \
        if (void* block = from_heap(bytes, kHeapAlign)) return block;                           \
        void* const block = __real_##name##RKSt9nothrow_t(bytes, n);                            \
        return block ? block : from_reserve(bytes, kHeapAlign);                                 \
    }                                                                                           \
    void* __wrap_##name##St11align_val_t(std::size_t bytes, std::align_val_t align) {           \
        return allocate_or_throw(bytes, std::max(kHeapAlign, std::size_t(align)),               \
                                 [=] { return __real_##name##St11align_val_t(bytes, align); }); \
    }
WELD_NEW(_Znwm)
WELD_NEW(_Znam)

#define WELD_DELETE(name)                                                                          \
    void __wrap_##name(void* block) {                                                              \
        if (!released(block)) __real_##name(block);                                                \
    }                                                                                              \
    void __wrap_##name##m(void* block, std::size_t bytes) {                                        \
        if (!released(block)) __real_##name##m(block, bytes);                                      \
    }                                                                                              \
    void __wrap_##name##RKSt9nothrow_t(void* block, const std::nothrow_t& n) {                     \
        if (!released(block)) __real_##name##RKSt9nothrow_t(block, n);                             \
    }                                                                                              \
    void __wrap_##name##St11align_val_t(void* block, std::align_val_t align) {                     \
        if (!released(block)) __real_##name##St11align_val_t(block, align);                        \
    }                                                                                              \
    void __wrap_##name##mSt11align_val_t(void* block, std::size_t bytes, std::align_val_t align) { \
        if (!released(block)) __real_##name##mSt11align_val_t(block, bytes, align);                \
    }
WELD_DELETE(_ZdlPv)
WELD_DELETE(_ZdaPv)

// ---- locks

#define WELD_LOCK(name, type, noted)            \
    int __wrap_##name(type* lock) {             \
        const int failed = __real_##name(lock); \
        if (current && !failed) current->noted; \
        return failed;                          \
    }
#define WELD_UNLOCK(name, type, noted) \
    int __wrap_##name(type* lock) {    \
        if (current) current->noted;   \
        return __real_##name(lock);    \
    }
WELD_LOCK(pthread_mutex_lock, pthread_mutex_t, lock())
WELD_LOCK(pthread_mutex_trylock, pthread_mutex_t, lock())
WELD_UNLOCK(pthread_mutex_unlock, pthread_mutex_t, unlock())
WELD_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t, lock_to_read())
WELD_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t, lock_to_write(lock))
WELD_UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t, unlock_either(lock))

int __wrap_pthread_once(pthread_once_t* once, void (*work)()) {
    Heap* const heap = current;
    if (heap) heap->lock();
    const int failed = __real_pthread_once(once, work);
    if (heap) heap->unlock();
    return failed;
}

int __wrap___cxa_guard_acquire(std::uint64_t* guard) {
    const int mine = __real___cxa_guard_acquire(guard);
    if (mine && current) current->lock();
    return mine;
}

void __wrap___cxa_guard_release(std::uint64_t* guard) {
    if (current) current->unlock();
    __real___cxa_guard_release(guard);
}

void __wrap___cxa_guard_abort(std::uint64_t* guard) {
    if (current) current->unlock();
    __real___cxa_guard_abort(guard);
}

#endif
