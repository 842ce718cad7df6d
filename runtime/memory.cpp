// Accounts, regions and their blocks.
#include "runtime/memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/poison.h"
#include "runtime/task.h"

namespace weld::runtime {

// ---- accounts ---------------------------------------------------------------------------------------------

bool MemoryAccount::charge(std::int64_t bytes) {
    const std::int64_t now = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > limit()) {
        refund(bytes);
        return false;
    }
    std::int64_t peak = this->peak();
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {}
    return true;
}

/// We hold no more memory than was once needed at a time, but some that costs little to hold.
std::int64_t MemoryAccount::keep() const {
    constexpr std::int64_t little = 64 << 20;
    return std::max<std::int64_t>(0, std::min(limit(), std::max(peak(), little)) - used());
}

Page* MemoryAccount::take_small(std::int64_t bytes) {
    if (!charge(bytes)) return nullptr;
    Page* page = heap_.take_small(bytes);
    if (!page) {
        heap_.trim(0);
        page = heap_.take_small(bytes);
    }
    if (!page) refund(bytes);
    return page;
}

Page* MemoryAccount::take_single(std::int64_t size) {
    const std::int64_t least = PageHeap::bytes_of_single(size);
    if (!charge(least)) return nullptr;
    Page* page = heap_.take_single(size, limit() - used());
    if (!page) {
        heap_.trim(0);
        page = heap_.take_single(size, 0);
    }
    if (!page) {
        refund(least);
        return nullptr;
    }
    used_.fetch_add(page->bytes - least, std::memory_order_relaxed);
    if (heap_.waiting() > keep()) heap_.trim(keep());
    return page;
}

void MemoryAccount::give(Page* page) {
    refund(page->bytes);
    heap_.give(page, keep());
}

// ---- sizes ------------------------------------------------------------------------------------------------

namespace {

constexpr std::int64_t kCacheLine = 64;
constexpr std::int64_t kUsefulRoom = 256;  // less is not worth remembering while allocating
constexpr std::int64_t kHoleSeeker = 512;  // larger blocks take fresh pages: a hole rarely has room for them

struct SizeClass {
    int index;
    std::int64_t bytes;
};

/// 16, 32, 48; 64, 128, ... 512; then four steps to each doubling.
inline SizeClass class_of(std::int64_t size) {
    if (size <= 48) {
        const std::int64_t units = (size + 15) / 16;
        return {int(units - 1), units * 16};
    }
    if (size <= 512) {
        const std::int64_t lines = (size + 63) / 64;
        return {int(lines + 2), lines * 64};
    }
    const int width = std::bit_width(std::uint64_t(size - 1));
    const std::int64_t step = (size - 1) >> (width - 3);
    return {11 + (width - 10) * 4 + int(step & 3), (step + 1) << (width - 3)};
}

inline char* aligned_for(char* p, std::int64_t bytes) {
    const std::uintptr_t a = reinterpret_cast<std::uintptr_t>(p);
    return bytes < kCacheLine
               ? p
               : reinterpret_cast<char*>((a + kCacheLine - 1) & ~std::uintptr_t(kCacheLine - 1));
}

inline void note_block(Page* page, char* p, std::int64_t bytes) {
    set_bit(page->starts(), page->unit_of(p));
    set_bit(page->ends(), page->unit_of(p + bytes) - 1);
}

void forget_block(Page* page, char* p, std::int64_t bytes) {
    clear_bit(page->starts(), page->unit_of(p));
    clear_bit(page->ends(), page->unit_of(p + bytes) - 1);
}

// ---- pages of a region ------------------------------------------------------------------------------------

void add_page(Region* r, Page* page) {
    page->owner = r;
    page->prev = nullptr;
    page->next = r->pages;
    if (r->pages) r->pages->prev = page;
    r->pages = page;
    r->page_bytes += page->bytes;
}

void remove_page(Region* r, Page* page) {
    if (page->next) page->next->prev = page->prev;
    if (page->prev) page->prev->next = page->next;
    else r->pages = page->next;
    r->page_bytes -= page->bytes;
}

/// Appends the pages of `from` to those of `to`.
void splice_pages(Region* from, Region* to) {
    Page* last = nullptr;
    for (Page* p = from->pages; p; p = p->next) {
        p->owner = to;
        last = p;
    }
    if (!last) return;
    last->next = to->pages;
    if (to->pages) to->pages->prev = last;
    to->pages = from->pages;
    to->page_bytes += from->page_bytes;
}

void add_hole(Region* r, char* begin, char* end) {
    poison(begin, end - begin);
    unpoison(begin, std::ptrdiff_t(sizeof(Hole)));
    r->holes = new (begin) Hole{r->holes, end};
}

void set_room(Region* r, Page* page, char* begin, char* end) {
    r->current = page;
    r->cursor = begin;
    r->limit = end;
}

/// Takes holes until one has room for `bytes`. The small ones are lost until the next collection.
bool use_hole(Region* r, std::int64_t bytes) {
    for (int tries = 0; r->holes && tries < 4; ++tries) {
        Hole* h = r->holes;
        char* begin = reinterpret_cast<char*>(h);
        char* end = h->end;
        r->holes = h->next;
        poison(begin, std::ptrdiff_t(sizeof(Hole)));
        if (aligned_for(begin, bytes) + bytes > end) continue;
        set_room(r, r->task->account().find(begin), begin, end);
        return true;
    }
    return false;
}

/// Finds room for a small block of `bytes`. Pages grow with the region, so that small regions stay small.
bool make_room(Region* r, std::int64_t bytes) {
    char* rest = r->cursor;
    char* rest_end = r->limit;
    if (bytes > kHoleSeeker || !use_hole(r, bytes)) {
        const std::int64_t least = (bytes + bytes / 16 + 512 + kGranule - 1) / kGranule * kGranule;
        const std::int64_t grown = std::clamp(r->page_bytes, kGranule, kLargestPage) / kGranule * kGranule;
        Page* page = r->task->account().take_small(std::max(least, grown));
        if (!page && grown > least) page = r->task->account().take_small(least);
        if (!page) return false;
        add_page(r, page);
        set_room(r, page, page->begin, page->end);
    }
    if (rest_end - rest >= kUsefulRoom) add_hole(r, rest, rest_end);
    return true;
}

void* allocate_single(Task* task, std::int64_t size, std::int32_t loc) {
    constexpr std::int64_t too_much = std::int64_t(1) << 46;  // more than addresses reach
    Page* page = size < too_much ? task->account().take_single(size) : nullptr;
    if (!page) {
        task->fail_memory(loc);
        return nullptr;
    }
    add_page(task->region, page);
    task->debt += page->bytes;
    return page->begin;
}

void* reuse_freed(Task* task, SizeClass c, std::int64_t size) {
    Region* r = task->region;
    char* p = static_cast<char*>(r->freed[c.index]);
    std::memcpy(&r->freed[c.index], p, sizeof(void*));
    if (!r->freed[c.index]) r->free_classes &= ~(std::uint64_t(1) << c.index);
    note_block(task->account().find(p), p, c.bytes);
    unpoison(p, size);
    task->debt += c.bytes;
    return p;
}

}  // namespace

// ---- allocating and freeing -------------------------------------------------------------------------------

void* allocate(Task* task, std::int64_t size, std::int32_t loc) {
    if (size > kSmallBlock) return allocate_single(task, size, loc);
    const SizeClass c = class_of(size);
    Region* r = task->region;
    if (r->free_classes >> c.index & 1) return reuse_freed(task, c, size);
    char* p = aligned_for(r->cursor, c.bytes);
    if (c.bytes > r->limit - p) {
        if (!make_room(r, c.bytes)) {
            task->fail_memory(loc);
            return nullptr;
        }
        p = aligned_for(r->cursor, c.bytes);
    }
    r->cursor = p + c.bytes;
    note_block(r->current, p, c.bytes);
    unpoison(p, size);
    task->debt += c.bytes;
    return p;
}

void* allocate_array(Task* task, std::int64_t count, std::int64_t size, std::int32_t loc) {
    alignas(64) static char nothing[64];
    std::int64_t bytes;
    if (count < 0 || __builtin_mul_overflow(count, size, &bytes)) {
        task->fail_memory(loc);
        return nullptr;
    }
    return bytes ? allocate(task, bytes, loc) : nothing;
}

Block find_block(Page* page, const void* p) {
    if (page->single) return {page, page->begin, page->end};
    const std::int64_t start = last_bit(page->starts(), page->unit_of(p));
    if (start < 0) return {};
    const std::int64_t end = next_bit(page->ends(), start, page->bytes / kUnit) + 1;
    if (page->unit_of(p) >= end) return {};
    return {page, page->address_of(start), page->address_of(end)};
}

/// Frees `block` in `page`, which belongs to `r`, and takes it off `debt`.
static void free_block(Region* r, Page* page, char* block, std::int64_t* debt) {
    if (page->single) {
        if (block != page->begin) return;
        *debt -= page->bytes;
        remove_page(r, page);
        r->task->account().give(page);
        return;
    }
    if (!test_bit(page->starts(), page->unit_of(block))) return;
    const Block b = find_block(page, block);
    const std::int64_t bytes = b.end - b.begin;
    forget_block(page, block, bytes);
    poison(block, bytes);
    *debt -= bytes;
    if (b.end == r->cursor) {
        r->cursor = block;
        return;
    }
    const int c = class_of(bytes).index;
    void* next = r->free_classes >> c & 1 ? r->freed[c] : nullptr;
    unpoison(block, std::ptrdiff_t(sizeof next));
    std::memcpy(block, &next, sizeof next);
    r->freed[c] = block;
    r->free_classes |= std::uint64_t(1) << c;
}

void release(Task* task, void* block) {
    Page* page = task->account().find(block);
    if (!page || !page->owner || page->owner->task != task) return;
    std::int64_t* debt = &task->debt;
    for (Region* r = task->region; r; debt = &r->outer_debt, r = r->outer)
        if (owns(r, page, block)) return free_block(r, page, static_cast<char*>(block), debt);
}

// ---- regions ----------------------------------------------------------------------------------------------

std::int64_t bytes_held(const Task* task) {
    return task->region->live + task->debt + task->region->allowance;
}

void enter_region(Task* task, Region* r) {
    Region* outer = task->region;
    r->task = task;
    r->outer = outer;
    r->pages = nullptr;
    r->page_bytes = 0;
    r->shared = r->current = outer ? outer->current : nullptr;
    r->shared_begin = r->cursor = outer ? outer->cursor : nullptr;
    r->shared_end = r->limit = outer ? outer->limit : nullptr;
    r->holes = nullptr;
    r->free_classes = 0;
    r->live = 0;
    r->allowance = kAllowance;
    r->outer_debt = task->debt;
    r->pooled = false;
    task->region = r;
    task->debt = -kAllowance;
}

static void exit_innermost(Task* task) {
    Region* r = task->region;
    Region* outer = r->outer;
    const std::int64_t held = bytes_held(task);
    splice_pages(r, outer);
    set_room(outer, r->current, r->cursor, r->limit);
    while (Hole* h = r->holes) {
        r->holes = h->next;
        h->next = outer->holes;
        outer->holes = h;
    }
    task->region = outer;
    task->debt = r->outer_debt + held;
    if (!r->pooled) return;
    r->outer = task->spare_regions;
    task->spare_regions = r;
}

void exit_region(Task* task, Region* region) {
    while (task->region != region) exit_innermost(task);
    exit_innermost(task);
}

void hand_over(Task* from, Task* to) {
    while (from->region->outer) exit_innermost(from);
    Region* r = from->region;
    to->debt += bytes_held(from);
    splice_pages(r, to->region);
    if (r->limit - r->cursor >= kUsefulRoom) add_hole(to->region, r->cursor, r->limit);
    r->pages = nullptr;
}

void adopt_pages(Task* task, Page* pages, std::int64_t bytes) {
    Region from{};
    from.pages = pages;
    from.page_bytes = bytes;
    splice_pages(&from, task->region);
}

void free_pages(MemoryAccount* account, Page* pages) {
    while (Page* page = pages) {
        pages = page->next;
        account->give(page);
    }
}

void set_allowance(Task* task, std::int64_t live, std::int64_t scanned) {
    task->scanned = scanned;
    task->region->live = live;
    task->region->allowance = std::max(kAllowance, 2 * std::max(live, scanned));
    task->debt = -task->region->allowance;
}

// ---- sweeping ---------------------------------------------------------------------------------------------

/// Drops the blocks in units [from, to) that are not marked, and turns the room between the others into
/// holes. Returns the bytes of those.
static std::int64_t sweep_units(Region* r, Page* page, std::int64_t from, std::int64_t to) {
    std::int64_t live = 0, gap = from;
    std::int64_t start = next_bit(page->starts(), from, to);
    auto end_gap = [&](std::int64_t until) {
        if ((until - gap) * kUnit >= kCacheLine) add_hole(r, page->address_of(gap), page->address_of(until));
    };
    while (start < to) {
        const std::int64_t end = next_bit(page->ends(), start, to) + 1;
        if (test_bit(page->marks(), start)) {
            clear_bit(page->marks(), start);
            end_gap(start);
            gap = end;
            live += (end - start) * kUnit;
        } else {
            clear_bit(page->starts(), start);
            clear_bit(page->ends(), end - 1);
            poison(page->address_of(start), (end - start) * kUnit);
        }
        start = next_bit(page->starts(), end, to);
    }
    end_gap(to);
    return live;
}

static bool any_mark(Page* page) {
    const std::int64_t units = page->bytes / kUnit;
    return next_bit(page->marks(), 0, units) < units;
}

/// Forgets all blocks of a page.
static void reset_page(Page* page) {
    std::memset(page->starts(), 0, std::size_t(16 * page->words()));
    poison(page->begin, page->end - page->begin);
}

std::int64_t sweep(Task* task) {
    Region* r = task->region;
    std::int64_t live = 0;
    Page* kept = nullptr;  // the largest page without living blocks, so that memory near us is used again
    r->holes = nullptr;
    r->free_classes = 0;
    set_room(r, nullptr, nullptr, nullptr);
    if (r->shared)
        live +=
            sweep_units(r, r->shared, r->shared->unit_of(r->shared_begin), r->shared->unit_of(r->shared_end));
    for (Page *page = r->pages, *next; page; page = next) {
        next = page->next;
        if (page->single ? page->marked : any_mark(page)) {
            live += page->single ? page->bytes
                                 : sweep_units(r, page, page->unit_of(page->begin), page->bytes / kUnit);
            page->marked = false;
            continue;
        }
        if (!page->single && (!kept || page->bytes > kept->bytes)) std::swap(page, kept);
        if (!page) continue;
        remove_page(r, page);
        task->account().give(page);
    }
    if (kept) {
        reset_page(kept);
        set_room(r, kept, kept->begin, kept->end);
    }
    return live;
}

void clear_region(Task* task) {
    sweep(task);
    set_allowance(task, 0, 0);
}

}  // namespace weld::runtime

// ---- what emitted code calls ------------------------------------------------------------------------------

using namespace weld::runtime;

extern "C" {

void* weld_rt_alloc(WeldTask* task, std::int64_t count, std::int64_t size, std::int32_t loc) noexcept {
    return allocate_array(task_of(task), count, size, loc);
}

void weld_rt_free(WeldTask* t, void* block) noexcept {
    Task* task = task_of(t);
    Page* page = task->account().find(block);
    if (page && owns(task->region, page, block))
        free_block(task->region, page, static_cast<char*>(block), &task->debt);
}

void weld_rt_region_enter(WeldTask* t) noexcept {
    Task* task = task_of(t);
    Region* r = task->spare_regions;
    if (r) task->spare_regions = r->outer;
    else r = new Region;  // a few hundred bytes: if they are missing, ending is all that can be done
    enter_region(task, r);
    r->pooled = true;
}

void weld_rt_region_exit(WeldTask* task) noexcept { exit_region(task_of(task), task->region); }
}
