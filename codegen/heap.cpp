// Heaps: work that may be left, and its memory in blocks of sizes in classes, cut from chunks.
#include "codegen/heap.h"

#include <llvm/Support/ErrorHandling.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "codegen/heap_calls.h"

namespace weld::codegen {

[[gnu::tls_model("initial-exec")]] constinit thread_local Heap* current = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool is_at_work = false;

std::atomic<bool> loaded{false};

/// Leaves work when LLVM finds that it cannot go on.
static void on_fatal_error(void*, const char* reason, bool) {
    if (current) current->fail(reason);
}

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

#ifdef WELD_HEAPS

// ---- chunks

namespace {

/// Stands before each block of a heap.
struct Header {
    std::uint32_t size_class;
    std::uint32_t offset;  ///< of the block in the room that it was cut from
};
constexpr std::size_t kHeader = sizeof(Header);
constexpr std::size_t kLargestSmall = 64 << 10;  ///< bytes of room; larger blocks have chunks of their own
constexpr std::uint32_t kLarge = ~std::uint32_t(0);

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

/// The first chunk that ends after `p`.
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
    if (budget_.is_closed()) shortage_ = WorkEnd::OverBudget;
    if (shortage_ != WorkEnd::Good) return nullptr;
    const std::size_t extra = align > kHeapAlign ? align : 0;
    const std::size_t room = round_up(bytes + kHeader + extra, kHeapAlign);
    const bool large = room > kLargestSmall;
    char* const chunk = large ? add_chunk(room + kHeader) : nullptr;
    char* const begin = chunk ? chunk + kHeader : large ? nullptr : take(room);
    if (!begin) return nullptr;
    char* block = begin + kHeader;
    if (extra) block = reinterpret_cast<char*>(round_up(std::uintptr_t(block), align));
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

#else

Heap::~Heap() = default;

#endif

}  // namespace weld::codegen
