// Blocks of sizes in classes, cut from chunks; and the functions that stand between LLVM and the process.
#include "codegen/heap.h"

#include <llvm/Support/ErrorHandling.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include <malloc.h>
#include <pthread.h>

namespace weld::codegen {

namespace {

/// In static memory of the thread, not made when first used: there may be none for it then.
[[gnu::tls_model("initial-exec")]] thread_local Heap* current = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local bool is_at_work = false;

/// The first work has begun, so the library has been loaded.
std::atomic<bool> loaded{false};

/// Leaves work when LLVM finds that it cannot go on.
void on_fatal_error(void*, const char* reason, bool) {
    if (current) current->fail(reason);
}

}  // namespace

// ---- work

WorkEnd Heap::run(const std::function<void()>& work) {
    static std::once_flag once;
    std::call_once(once, [] { llvm::install_fatal_error_handler(on_fatal_error); });
    loaded = true;
    const struct AtWork {
        AtWork() { is_at_work = true; }
        ~AtWork() { is_at_work = false; }
    } here;
#ifdef WELD_HEAPS
    if (_setjmp(exit_) == 0) {
        current = this;
        work();
    } else {
        left_ = true;
    }
    current = nullptr;
#else
    work();
#endif
    return end_of_work_;
}

void Heap::outside(const std::function<void()>& work) {
    Heap* const heap = std::exchange(current, nullptr);
    WorkEnd end = WorkEnd::Good;
    try {
        work();
    } catch (const OverBudget&) {
        end = WorkEnd::OverBudget;
    } catch (const std::bad_alloc&) {
        end = WorkEnd::NoMemory;
    }
    current = heap;
    if (end == WorkEnd::Good) return;
    if (heap) heap->leave(end);
    throw std::bad_alloc();
}

void Heap::leave(WorkEnd end) {
    end_of_work_ = end;
    std::longjmp(exit_, 1);
}

void Heap::fail(const char* message) {
    if (cannot_leave()) return;
    std::strncpy(message_, message, sizeof message_ - 1);
    leave(WorkEnd::LlvmFailed);
}

}  // namespace weld::codegen

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

/// Stands before each block of a heap.
struct Header {
    std::uint32_t size_class;
    std::uint32_t offset;  ///< of the block in the room that it was cut from
};
constexpr std::size_t kHeader = sizeof(Header), kAlign = 16;
constexpr std::size_t kLargestSmall = 64 << 10;  ///< bytes of room; larger blocks have chunks of their own
constexpr std::uint32_t kLarge = ~std::uint32_t(0);

std::size_t aligned(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

/// Up to 1 KiB in steps of 16 bytes, then four to each doubling.
std::uint32_t class_of(std::size_t room) {
    if (room <= 1024) return std::uint32_t((room + 15) / 16 - 1);
    const auto doubling = std::uint32_t(std::bit_width(room - 1) - 1);  // room in (2^d, 2^(d+1)]
    return 64 + (doubling - 10) * 4 +
           std::uint32_t((room - 1 - (std::size_t(1) << doubling)) >> (doubling - 2));
}

std::size_t room_of(std::uint32_t size_class) {
    if (size_class < 64) return (size_class + 1) * std::size_t(16);
    const std::uint32_t doubling = 10 + (size_class - 64) / 4;
    return (std::size_t(1) << doubling) + ((size_class - 64) % 4 + 1) * (std::size_t(1) << (doubling - 2));
}

Header* header_of(void* block) { return static_cast<Header*>(block) - 1; }

// ---- memory for the process when there is none
//
// Work that holds a lock cannot be left, nor can the loading of the library, when LLVM makes its options.
// What they need then comes from here. Both make what a process has once, some hundred kilobytes in all.

constexpr std::size_t kReserve = 1 << 20;
alignas(kAlign) char reserve[kReserve];
std::atomic<std::size_t> reserve_used{0};

bool in_reserve(const void* p) { return std::uintptr_t(p) - std::uintptr_t(reserve) < kReserve; }

void* take_reserve(std::size_t bytes, std::size_t align) {
    const std::size_t room = aligned(bytes, kAlign) + kAlign + align;
    const std::size_t at = reserve_used.fetch_add(room);
    if (at + room > kReserve) return nullptr;
    char* block = reinterpret_cast<char*>(aligned(std::uintptr_t(reserve + at + kAlign), align));
    std::memcpy(block - sizeof bytes, &bytes, sizeof bytes);
    return block;
}

/// Bytes of a block of the process, at least what was asked for.
std::size_t size_of(void* block) {
    if (!in_reserve(block)) return ::malloc_usable_size(block);
    std::size_t bytes;
    std::memcpy(&bytes, static_cast<char*>(block) - sizeof bytes, sizeof bytes);
    return bytes;
}

}  // namespace

// ---- chunks

namespace {

/// Chunks that no heap has now. New memory would be cleared page by page, a tenth of compiling a small
/// program.
class SpareChunks {
  public:
    char* take() {
        const Turn turn(busy_);
        return count_ ? chunks_[--count_] : nullptr;
    }
    /// False if there are enough.
    bool give(char* chunk) {
        const Turn turn(busy_);
        if (count_ == kMost) return false;
        chunks_[count_++] = chunk;
        return true;
    }

  private:
    struct Turn {
        explicit Turn(std::atomic_flag& flag) : busy(flag) {
            while (busy.test_and_set(std::memory_order_acquire)) {}
        }
        ~Turn() { busy.clear(std::memory_order_release); }
        std::atomic_flag& busy;
    };
    static constexpr int kMost = 8;
    std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
    char* chunks_[kMost] = {};
    int count_ = 0;
};

constinit SpareChunks spare_chunks;

}  // namespace

char* Heap::memory_for_chunk(std::size_t bytes) {
    char* spare = bytes == kChunk ? spare_chunks.take() : nullptr;
    return spare ? spare : static_cast<char*>(__real_malloc(bytes));
}

void Heap::free_chunk(const Chunk& chunk) {
    budget_.give(chunk.end - chunk.begin);
    if (chunk.end - chunk.begin != kChunk || !spare_chunks.give(chunk.begin)) __real_free(chunk.begin);
}

/// The first that ends after `p`.
Heap::Chunk* Heap::chunk_after(const char* p) const {
    return std::upper_bound(chunks_, chunks_ + num_chunks_, p,
                            [](const char* at, const Chunk& chunk) { return at < chunk.end; });
}

bool Heap::owns(const void* p) const {
    const char* at = static_cast<const char*>(p);
    const Chunk* chunk = chunk_after(at);
    return chunk != chunks_ + num_chunks_ && at >= chunk->begin;
}

/// Null, with the shortage noted, if there is no memory.
char* Heap::add_chunk(std::size_t bytes) {
    if (num_chunks_ == room_for_chunks_) {
        const std::size_t room = std::max<std::size_t>(16, room_for_chunks_ * 2);
        void* more = __real_realloc(chunks_, room * sizeof(Chunk));
        if (!more) {
            shortage_ = WorkEnd::NoMemory;
            return nullptr;
        }
        chunks_ = static_cast<Chunk*>(more);
        room_for_chunks_ = room;
    }
    const bool allowed = budget_.take(std::int64_t(bytes));
    char* begin = allowed ? memory_for_chunk(bytes) : nullptr;
    if (!begin) {
        if (allowed) budget_.give(std::int64_t(bytes));
        shortage_ = allowed ? WorkEnd::NoMemory : WorkEnd::OverBudget;
        return nullptr;
    }
    Chunk* at = chunk_after(begin);
    std::memmove(at + 1, at, std::size_t(chunks_ + num_chunks_ - at) * sizeof(Chunk));
    *at = {begin, begin + bytes};
    ++num_chunks_;
    return begin;
}

void Heap::drop_chunk(const char* begin) {
    Chunk* at = chunk_after(begin);
    free_chunk(*at);
    --num_chunks_;
    std::memmove(at, at + 1, std::size_t(chunks_ + num_chunks_ - at) * sizeof(Chunk));
}

Heap::~Heap() {
    if (!is_empty() && !left_) return;  // what holds on to it is not known, so it stays
    for (std::size_t i = 0; i < num_chunks_; ++i) free_chunk(chunks_[i]);
    __real_free(chunks_);
}

// ---- blocks

bool Heap::start_chunk() {
    char* const begin = add_chunk(kChunk);
    if (!begin) return false;
    next_ = begin + kHeader;  // so that what follows the header of each block is aligned
    end_ = begin + kChunk;
    return true;
}

char* Heap::take(std::size_t room) {
    const std::uint32_t size_class = class_of(room);
    if (Free* block = free_[size_class]) {
        free_[size_class] = block->next;
        return reinterpret_cast<char*>(block);
    }
    room = room_of(size_class);
    if (std::size_t(end_ - next_) < room && !start_chunk()) return nullptr;
    return std::exchange(next_, next_ + room);
}

void* Heap::allocate(std::size_t bytes, std::size_t align) {
    if (locks_) return is_to_fail() ? from_reserve(bytes, align) : nullptr;
    void* const block = allocate_own(bytes, align);
    if (block || cannot_leave()) return block;
    leave(shortage_);
}

void* Heap::from_reserve(std::size_t bytes, std::size_t align) {
    shortage_ = WorkEnd::NoMemory;
    return take_reserve(bytes, align);
}

void* Heap::allocate_own(std::size_t bytes, std::size_t align) {
    if (is_to_fail() || bytes > std::size_t(1) << 48) shortage_ = WorkEnd::NoMemory;
    if (shortage_ != WorkEnd::Good) return nullptr;
    const std::size_t extra = align > kAlign ? align : 0;
    const std::size_t room = aligned(bytes + kHeader + extra, kAlign);
    const bool large = room > kLargestSmall;
    char* const chunk = large ? add_chunk(room + kHeader) : nullptr;
    char* const begin = chunk ? chunk + kHeader : large ? nullptr : take(room);
    if (!begin) return nullptr;
    char* block = begin + kHeader;
    if (extra) block = reinterpret_cast<char*>(aligned(std::uintptr_t(block), align));
    *header_of(block) = {large ? kLarge : class_of(room), std::uint32_t(block - begin)};
    ++in_use_;
    return block;
}

void Heap::release(void* block) {
    --in_use_;
    const Header header = *header_of(block);
    char* const begin = static_cast<char*>(block) - header.offset;
    if (header.size_class == kLarge) return drop_chunk(begin - kHeader);
    Free* const room = reinterpret_cast<Free*>(begin);
    room->next = std::exchange(free_[header.size_class], room);
}

void* Heap::reallocate(void* block, std::size_t bytes) {
    const Header header = *header_of(block);
    const std::size_t room =
        header.size_class == kLarge
            ? std::size_t(chunk_after(static_cast<char*>(block))->end - static_cast<char*>(block))
            : room_of(header.size_class) - header.offset;
    if (bytes <= room && bytes >= room / 2) return block;
    void* const moved = __wrap_malloc(bytes);
    std::memcpy(moved, block, std::min(room, bytes));
    release(block);
    return moved;
}

// ---- locks

void Heap::lock_to_write(const void* lock) {
    ++locks_;
    if (num_written_ < kMostWritten) written_[num_written_] = lock;
    ++num_written_;
}

void Heap::unlock_either(const void* lock) {
    const bool written = num_written_ > kMostWritten || (num_written_ && written_[num_written_ - 1] == lock);
    if (written) --num_written_;
    --(written ? locks_ : read_locks_);
}

}  // namespace weld::codegen

// ---- what codegen and LLVM call

using weld::codegen::current;
using weld::codegen::Heap;
using weld::codegen::in_reserve;
using weld::codegen::kAlign;
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
    if (void* block = from_heap(bytes, kAlign)) return block;
    void* const block = __real_malloc(bytes);
    return block ? block : from_reserve(bytes, kAlign);
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

/// Whether that is all: the block was in no memory of the process.
static inline bool released(void* block) {
    if (in_reserve(block)) return true;
    if (!current || !current->owns(block)) return false;
    current->release(block);
    return true;
}

void __wrap_free(void* block) {
    if (!released(block)) __real_free(block);
}

/// `real()`, or what is there if that throws.
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
        return allocate_or_throw(bytes, kAlign, [=] { return __real_##name(bytes); });          \
    }                                                                                           \
    void* __wrap_##name##RKSt9nothrow_t(std::size_t bytes, const std::nothrow_t& n) {           \
        if (void* block = from_heap(bytes, kAlign)) return block;                               \
        void* const block = __real_##name##RKSt9nothrow_t(bytes, n);                            \
        return block ? block : from_reserve(bytes, kAlign);                                     \
    }                                                                                           \
    void* __wrap_##name##St11align_val_t(std::size_t bytes, std::align_val_t align) {           \
        return allocate_or_throw(bytes, std::max(kAlign, std::size_t(align)),                   \
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

#else

weld::codegen::Heap::~Heap() = default;

#endif
