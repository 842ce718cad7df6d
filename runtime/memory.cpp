// Accounts: what the pages of a context sum up to, and the functions that emitted code calls for memory.
#include "runtime/memory.h"

#include <algorithm>
#include <new>

#include "runtime/entry.h"
#include "runtime/parallel.h"
#include "runtime/task.h"

namespace weld::runtime {

bool MemoryAccount::charge(std::int64_t bytes) {
    const std::int64_t now = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > limit()) {
        refund(bytes);
        return false;
    }
    note(now);
    return true;
}

void MemoryAccount::note(std::int64_t used) {
    std::int64_t peak = this->peak();
    while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {}
}

/// We hold no more memory than was once needed at a time, and some that costs little to hold: spans that are
/// empty but for a page, of which only that page counts as needed.
std::int64_t MemoryAccount::keep() const {
    constexpr std::int64_t little = 64 << 20;
    return std::max<std::int64_t>(0, std::min(limit(), peak() + little) - used());
}

Page* MemoryAccount::take_small(std::int64_t bytes, Shortage* why) {
    *why = Shortage::Limit;
    if (!charge(bytes)) return nullptr;
    *why = Shortage::Machine;
    Page* page = heap_.take_small(bytes);
    if (!page) {
        heap_.trim(0);
        page = heap_.take_small(bytes);
    }
    if (!page) refund(bytes);
    return page;
}

Page* MemoryAccount::take_single(std::int64_t size, Shortage* why) {
    const std::int64_t least = PageHeap::bytes_of_single(size);
    *why = Shortage::Limit;
    if (!charge(least)) return nullptr;
    *why = Shortage::Machine;
    Page* page = heap_.take_single(size, limit() - used());
    if (!page) {
        heap_.trim(0);
        page = heap_.take_single(size, 0);
    }
    if (!page) {
        refund(least);
        return nullptr;
    }
    const std::int64_t more = page->bytes - least;
    note(used_.fetch_add(more, std::memory_order_relaxed) + more);
    if (heap_.waiting() > keep()) heap_.trim(keep());
    return page;
}

Page* MemoryAccount::grow_single(Page* page, std::int64_t size) {
    const std::int64_t more = PageHeap::bytes_of_single(size) - page->bytes;
    if (more <= 0) return page;  // it has the room
    if (!charge(more)) return nullptr;
    Page* grown = heap_.grow_single(page, size);
    if (!grown) refund(more);
    return grown;
}

void MemoryAccount::give(Page* page) {
    refund(page->bytes);
    heap_.give(page, keep());
}

}  // namespace weld::runtime

// ---- what emitted code calls ------------------------------------------------------------------------------

using namespace weld::runtime;

extern "C" {

void* weld_rt_alloc(WeldTask* task, std::int64_t count, std::int64_t size, std::int32_t loc) noexcept {
    return allocate_array(task_of(task), count, size, loc);
}

std::int32_t weld_rt_copy(WeldTask* task, void* to, const void* from, std::int64_t bytes,
                          std::int32_t loc) noexcept {
    return copy_bytes(task_of(task), to, from, bytes, loc);
}

void weld_rt_free(WeldTask* t, void* block) noexcept {
    Task* task = task_of(t);
    Page* page = task->account().find(block);
    if (page && owns(task->region, page, block)) free_own(task, page, block);
}

// Without a region of its own, a function can't tell what it was given from what its caller still reads.

void* weld_rt_give(WeldTask* t, void* block) noexcept {
    Task* task = task_of(t);
    Page* page = task->missing_regions ? nullptr : task->account().find(block);
    return page && give(task, page, block) ? nullptr : block;
}

void weld_rt_free_given(WeldTask* t, void* block) noexcept {
    if (!task_of(t)->missing_regions) weld_rt_free(t, block);
}

void weld_rt_region_enter(WeldTask* t) noexcept {
    Task* task = task_of(t);
    constexpr int most = 4096;  // inside one another, in deep recursion
    Region* r = nullptr;
    if (!task->missing_regions && task->num_regions < most) {
        r = task->spare_regions;
        if (r) task->spare_regions = r->outer;
        else r = new (std::nothrow) Region;
    }
    if (!r) {  // goes on in the present one, where then nothing is collected
        ++task->missing_regions;
        return take_given(task);
    }
    ++task->num_regions;
    enter_region(task, r);
    r->pooled = true;
    take_given(task);
}

void weld_rt_region_exit(WeldTask* t) noexcept {
    Task* task = task_of(t);
    if (task->missing_regions) --task->missing_regions;
    else exit_region(task, task->region);
}
}
