// Accounts and regions.
//
// A MemoryAccount belongs to a context: it counts pages against a limit and recycles them. A region belongs
// to a task: a stack of them holds the blocks that its code allocates, the innermost one receiving. Small
// blocks are cut one after the other from pages, so allocating is a few instructions and needs no lock; a
// region that begins inside another goes on in the other's page, so it costs a few stores. `weld_rt_collect`
// (collect.cpp) frees the blocks of the innermost region that a value does not reach, and the room between
// the living is used again.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "runtime/abi/weld_abi.h"
#include "runtime/pages.h"

namespace weld::runtime {

struct Task;

/// What was short when there was no memory.
enum class Shortage { Limit, Machine };

/// Memory of a context: a limit, and what is used of it. Thread-safe. Runs and values share it.
class MemoryAccount {
  public:
    static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

    explicit MemoryAccount(std::int64_t limit = kUnlimited) : limit_(limit) {}

    std::int64_t limit() const { return limit_; }
    std::int64_t used() const { return used_.load(std::memory_order_relaxed); }
    std::int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
    /// Counts `bytes` more; false, and nothing is counted, if that exceeds the limit.
    bool charge(std::int64_t bytes);
    void refund(std::int64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
    /// Gives memory that waits to be used again back to the machine.
    void trim() { heap_.trim(0); }

    /// Pages, counted. Null, with `*why` set, if the limit or the machine has no more.
    Page* take_small(std::int64_t bytes, Shortage* why);
    Page* take_single(std::int64_t size, Shortage* why);
    /// See PageHeap::grow_single.
    Page* grow_single(Page* page, std::int64_t size);
    void give(Page* page);
    Page* find(const void* p) const { return heap_.find(p); }
    void end_of_run() { heap_.age(); }

  private:
    std::int64_t keep() const;
    void note(std::int64_t used);  // for `peak`

    const std::int64_t limit_;
    std::atomic<std::int64_t> used_{0};
    std::atomic<std::int64_t> peak_{0};
    PageHeap heap_;
};

/// "64 MiB", "1000 bytes".
std::string in_words(std::int64_t bytes);
/// The message of a run that wants more than its account may have.
std::string over_limit(std::int64_t limit);

constexpr std::int64_t kSmallBlock = 8192;  ///< larger blocks have a page of their own
constexpr int kSizeClasses = 27;

/// Room between living blocks, noted in place.
struct Hole {
    Hole* next;
    char* end;
};

/// Where blocks of similar size come from. Small ones have a lane of their own: they tend to live longer than
/// buffers, and would keep every page that they shared with them.
struct Lane {
    char* cursor;  ///< blocks come from [cursor, limit)
    char* limit;
    Page* page;               ///< that `cursor` is in
    Hole* holes;              ///< small ones
    Hole* rooms;              ///< large ones
    std::int64_t page_bytes;  ///< of pages of small blocks

    /// Room in the outer region's pages that this region uses.
    struct Borrowed {
        Page* page;
        char* begin;
        char* end;
    };
    static constexpr int kMostBorrowed = 12;
    int num_borrowed;
    Borrowed borrowed[kMostBorrowed];
};
constexpr int kLanes = 2;

}  // namespace weld::runtime

/// A region of a task.
struct WeldRegion {
    weld::runtime::Task* task;
    WeldRegion* outer;
    weld::runtime::Page* pages;
    std::int64_t page_bytes;  ///< of all its pages
    std::int64_t slab_bytes;  ///< of the pages of its slabs: what lies there is kept, mostly
    std::int64_t live;        ///< bytes of blocks after the last collection
    std::int64_t allowance;   ///< bytes that may be allocated from then on before collecting pays
    std::int64_t outer_debt;  ///< the outer region's, to be restored
    weld::runtime::Lane lanes[weld::runtime::kLanes];
    std::uint64_t free_classes;  ///< whose list in `freed` has a block
    void* freed[weld::runtime::kSizeClasses];
    bool pooled;  ///< made by weld_rt_region_enter
};

namespace weld::runtime {

using Region = WeldRegion;

/// What a region may allocate before it is looked at for the first time. Tests set it, before the first run,
/// so that all is looked at as often as can be.
extern std::int64_t least_allowance;

/// Begins and ends a region of `task`. What it holds at the end goes to the one around it, as does what
/// regions hold that began later and never ended because code left them with a failure.
void enter_region(Task* task, Region* region);
void exit_region(Task* task, Region* region);

/// A region for as long as this lives.
class InRegion {
  public:
    explicit InRegion(Task* task) : task_(task) { enter_region(task, &region_); }
    ~InRegion() { exit_region(task_, &region_); }
    InRegion(const InRegion&) = delete;
    InRegion& operator=(const InRegion&) = delete;

  private:
    Task* task_;
    Region region_;
};
/// Gives what a finished task holds to the innermost region of `to`.
void hand_over(Task* from, Task* to);
/// Takes the memory of a task that has ended, and how to go on in it, out of the only region that it has
/// left. Afterwards the pages in `at` belong to no task.
void rest_region(Task* task, Region* at);
/// Gives such memory to a task that has only one region: it goes on where the other ended.
void resume_region(Task* task, Region* from);
/// Bytes of the blocks in the innermost region.
std::int64_t bytes_held(const Task* task);
/// Frees everything in the innermost region.
void clear_region(Task* task);
/// Frees `block`, in `page` of the innermost region, if it is one.
void free_own(Task* task, Page* page, void* block);
/// A large block of the innermost region leaves it; others stay: false. It belongs to the region that next
/// takes it.
bool give(Task* task, Page* page, void* block);
void take_given(Task* task);
/// Frees all pages of a list of pages.
void free_pages(MemoryAccount* account, Page* pages);

/// `size` > 0 bytes in the innermost region. Null after recording the failure.
void* allocate(Task* task, std::int64_t size, std::int32_t loc);
/// Makes a large block of this task larger without copying it, or finds that a small one has room enough. It may move:
/// null, and nothing has happened, if that cannot be done.
void* grow(Task* task, void* block, std::int64_t size);
/// `count` elements of `size` bytes; never null for none.
void* allocate_array(Task* task, std::int64_t count, std::int64_t size, std::int32_t loc);
template <class T>
T* allocate_array(Task* task, std::int64_t count, std::int32_t loc) {
    return static_cast<T*>(allocate_array(task, count, std::int64_t(sizeof(T)), loc));
}
/// Frees a block of any region of this task that nothing points to any more; does nothing to other memory.
void release(Task* task, void* block);

/// A block, as `find_allocation` sees it.
struct Allocation {
    Page* page = nullptr;
    char* begin = nullptr;
};
/// The block that `p` points into; page is null if it is none.
Allocation find_allocation(Page* page, const void* p);

/// Of what the only region of `task` holds more than a little may be out of reach of `value`.
bool holds_garbage(const Task* task, const void* value, const WeldType* type);

/// What is left of the task's slabs is given up: their pages may go, or belong to others.
void close_slabs(Task* task);

/// `p` in `page` belongs to `region`.
inline bool owns(const Region* region, const Page* page, const void* p) {
    if (page->owner == region) return true;
    const Lane& lane = region->lanes[page->lane];
    for (int i = 0; i < lane.num_borrowed; ++i)
        if (page == lane.borrowed[i].page && p >= lane.borrowed[i].begin && p < lane.borrowed[i].end)
            return true;
    return false;
}

/// After a collection that looked at `scanned` bytes and found `live` bytes of blocks: how much may be
/// allocated before the next one. In proportion to both, so that collecting stays cheaper than allocating.
void set_allowance(Task* task, std::int64_t live, std::int64_t scanned);
/// Puts the room between the marked blocks of the innermost region to use again and frees pages without any.
/// Returns the bytes of the marked blocks.
std::int64_t sweep(Task* task);

}  // namespace weld::runtime
