// Memory of LLVM while it makes the code of a program, so that having none of it left is a failure like
// others.
//
// LLVM cannot fail to allocate: it is built without exceptions, and ends the process. So what it allocates
// while it works for a program comes from a heap of that work alone. Where the machine or the limit has no
// more, the work is left as it stands, by a jump over its frames, whose destructors don't run; and the heap
// is given back as a whole.
//
// That takes for granted that nothing outside points into the heap. What outlives the work is made by
// `outside`. What LLVM itself keeps for the process (tables that it makes when first needed, passes that it
// knows) is made under locks, because LLVM works in several threads: while one is held, memory is the
// process's, and the work is left only later. Should a block be in use after work that ended well, its heap
// is not given back; where programs are verified, as in tests, that is a failure. And what it keeps stays
// until the process is gone: when that ends, other threads may still be at work.
//
// The linker directs what codegen and LLVM call of `malloc`, `operator new`, and locks to heap_calls.cpp
// (CMakeLists.txt); who works in no heap gets what those always were. With sanitizers there are no heaps.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "codegen/engine.h"
#include "weldir/support/budget.h"

namespace weld::codegen {

/// How work in a heap ended.
enum class WorkEnd { Good, NoMemory, OverBudget, LlvmFailed };

/// Belongs to one thread at a time.
class Heap {
  public:
    explicit Heap(Budget& budget, HeapProbe* probe = nullptr) : budget_(budget), probe_(probe) {}
    Heap(const Heap&) = delete;
    Heap& operator=(const Heap&) = delete;
    ~Heap();

    /// Calls `work`, which gets its memory here, and frees it all before it returns. If it is left before its
    /// end, no more work can be done in this heap. Not to be called in another heap's work.
    WorkEnd run(const std::function<void()>& work);
    /// What LLVM said before it gave up.
    const char* llvm_message() const { return message_; }

    /// Calls `work` with memory of the process. If it throws std::bad_alloc, the work in the heap is left.
    static void outside(const std::function<void()>& work);

    /// Nothing in it is in use.
    bool is_empty() const { return in_use_ == 0; }

    // For heap_calls.cpp.
    /// Null if it is to be memory of the process: the work holds a lock.
    void* allocate(std::size_t bytes, std::size_t align);
    /// For the process, if it has no memory; the work will be left.
    void* from_reserve(std::size_t bytes, std::size_t align);
    void* reallocate(void* block, std::size_t bytes);
    void release(void* block);
    bool owns(const void* p) const;
    void lock() { ++locks_; }
    void unlock() { --locks_; }
    void lock_to_read() { ++read_locks_; }
    void lock_to_write(const void* lock);
    void unlock_either(const void* lock);
    [[noreturn]] void leave(WorkEnd end);
    void fail(const char* message);

  private:
    /// Memory of the process; a large block has one to itself.
    struct Chunk {
        char* begin;
        char* end;
    };
    struct Free {
        Free* next;
    };
    static constexpr std::size_t kChunk = 1 << 20;
    static constexpr int kSizeClasses = 96;

    void* allocate_own(std::size_t bytes, std::size_t align);
    char* take(std::size_t room);
    bool start_chunk();
    char* add_chunk(std::size_t bytes);
    static char* memory_for_chunk(std::size_t bytes);
    void free_chunk(const Chunk& chunk);
    void drop_chunk(const char* begin);
    Chunk* chunk_after(const char* p) const;
    bool cannot_leave() const { return locks_ > 0 || read_locks_ > 0; }

    /// A test wants this allocation to fail.
    bool is_to_fail() { return probe_ && ++probe_->allocations == probe_->fail_at; }

    Budget& budget_;
    HeapProbe* probe_;
    Chunk* chunks_ = nullptr;  ///< by address
    std::size_t num_chunks_ = 0, room_for_chunks_ = 0;
    char *next_ = nullptr, *end_ = nullptr;  ///< of the chunk that small blocks are cut from
    Free* free_[kSizeClasses] = {};
    std::int64_t in_use_ = 0;  ///< blocks
    int locks_ = 0;            ///< that the work holds, to change what they guard
    int read_locks_ = 0;       ///< and those that it holds only to read
    static constexpr int kMostWritten = 8;
    const void* written_[kMostWritten];  ///< the locks among `locks_` that could be held to read as well
    int num_written_ = 0;
    WorkEnd shortage_ = WorkEnd::Good;  ///< what there was none of; the work is left as soon as it can be
    bool left_ = false;
    WorkEnd end_of_work_ = WorkEnd::Good;
    std::jmp_buf exit_;
    char message_[256] = {};
};

}  // namespace weld::codegen
