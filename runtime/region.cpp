// Regions: where blocks come from, where they go, and the sweep after a collection has marked what lives.
#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "runtime/memory.h"
#include "runtime/poison.h"
#include "runtime/task.h"

namespace weld::runtime {

namespace {

constexpr std::int64_t kCacheLine = 64;
constexpr std::int64_t kTiny = 128;        // larger blocks use the second lane
constexpr std::int64_t kUsefulHole = 64;   // less is not worth remembering
constexpr std::int64_t kRoomBytes = 4096;  // from here on a hole serves inner regions, too
constexpr int kHolesTried = 8;

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

// ---- pages and holes of a region --------------------------------------------------------------------------

void add_page(Region* r, Page* page) {
    page->owner = r;
    page->prev = nullptr;
    page->next = r->pages;
    if (r->pages) r->pages->prev = page;
    r->pages = page;
    r->page_bytes += page->bytes;
    if (!page->single) r->lanes[page->lane].page_bytes += page->bytes;
}

void remove_page(Region* r, Page* page) {
    if (page->next) page->next->prev = page->prev;
    (page->prev ? page->prev->next : r->pages) = page->next;
    r->page_bytes -= page->bytes;
    if (!page->single) r->lanes[page->lane].page_bytes -= page->bytes;
}

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
    for (int i = 0; i < kLanes; ++i) to->lanes[i].page_bytes += from->lanes[i].page_bytes;
    from->pages = nullptr;
}

void add_hole(Lane* lane, char* begin, char* end) {
    if (end - begin < kUsefulHole) return;
    poison(begin, end - begin);
    unpoison(begin, std::ptrdiff_t(sizeof(Hole)));
    Hole*& list = end - begin < kRoomBytes ? lane->holes : lane->rooms;
    list = new (begin) Hole{list, end};
}

void splice_list(Hole** from, Hole** to) {
    while (Hole* h = *from) {
        *from = h->next;
        h->next = *to;
        *to = h;
    }
}

void splice_holes(Lane* from, Lane* to) {
    splice_list(&from->holes, &to->holes);
    splice_list(&from->rooms, &to->rooms);
}

void set_room(Lane* lane, Page* page, char* begin, char* end) {
    lane->page = page;
    lane->cursor = begin;
    lane->limit = end;
}

/// Goes on in the first hole of a list that has room for `bytes`. If the first few have none, they are given
/// up until the next collection, so that they are not looked at again and again.
bool use_hole(MemoryAccount* account, Lane* lane, Hole** list, std::int64_t bytes) {
    Hole** at = list;
    for (int tries = 0; *at && tries < kHolesTried; ++tries, at = &(*at)->next) {
        char* begin = reinterpret_cast<char*>(*at);
        char* end = (*at)->end;
        if (aligned_for(begin, bytes) + bytes > end) continue;
        *at = (*at)->next;
        poison(begin, std::ptrdiff_t(sizeof(Hole)));
        set_room(lane, account->find(begin), begin, end);
        return true;
    }
    *list = *at;
    return false;
}

std::int64_t bytes_of(const Hole* h) { return h->end - reinterpret_cast<const char*>(h); }

/// The largest of the first few large holes; null if there is none.
Hole** largest_room(Lane* lane) {
    Hole** best = &lane->rooms;
    int tries = 0;
    for (Hole** at = best; *at && tries < kHolesTried; at = &(*at)->next, ++tries)
        if (bytes_of(*at) > bytes_of(*best)) best = at;
    return *best ? best : nullptr;
}

/// Lets a region go on in a part of a page of the outer one.
void borrow(Lane* lane, Page* page, char* begin, char* end) {
    lane->borrowed[lane->num_borrowed++] = {page, begin, end};
    set_room(lane, page, begin, end);
}

/// Borrows a large hole of the outer region that has room for `bytes`.
bool borrow_room(Region* r, int which, std::int64_t bytes) {
    Lane* lane = &r->lanes[which];
    if (!r->outer || lane->num_borrowed == Lane::kMostBorrowed) return false;
    Hole** room = largest_room(&r->outer->lanes[which]);
    if (!room || bytes_of(*room) < bytes + kCacheLine) return false;
    Hole* h = *room;
    *room = h->next;
    char* begin = reinterpret_cast<char*>(h);
    char* end = h->end;
    poison(begin, std::ptrdiff_t(sizeof(Hole)));
    borrow(lane, r->task->account().find(begin), begin, end);
    return true;
}

/// Finds room for a block of `bytes`. Pages grow with the region, so that small regions stay small.
bool make_room(Region* r, int which, std::int64_t bytes, Shortage* why) {
    Lane* lane = &r->lanes[which];
    MemoryAccount& account = r->task->account();
    char* rest = lane->cursor;
    char* rest_end = lane->limit;
    if (!use_hole(&account, lane, &lane->holes, bytes) && !use_hole(&account, lane, &lane->rooms, bytes) &&
        !borrow_room(r, which, bytes)) {
        const std::int64_t least = (bytes + bytes / 16 + 512 + kGranule - 1) / kGranule * kGranule;
        const std::int64_t grown = std::clamp(lane->page_bytes, kGranule, kLargestPage);
        Page* page = account.take_small(std::max(least, grown / kGranule * kGranule), why);
        if (!page && grown > least) page = account.take_small(least, why);
        if (!page) return false;
        page->lane = std::uint8_t(which);
        add_page(r, page);
        set_room(lane, page, page->begin, page->end);
    }
    add_hole(lane, rest, rest_end);
    return true;
}

void* allocate_single(Task* task, std::int64_t size, std::int32_t loc) {
    constexpr std::int64_t too_much = std::int64_t(1) << 46;  // more than addresses reach
    Shortage why = Shortage::Limit;
    Page* page = size < too_much ? task->account().take_single(size, &why) : nullptr;
    if (!page) {
        task->fail_memory(loc, why);
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
    const int which = c.bytes > kTiny;
    Lane& lane = r->lanes[which];
    char* p = aligned_for(lane.cursor, c.bytes);
    if (c.bytes > lane.limit - p) {
        Shortage why;
        if (!make_room(r, which, c.bytes, &why)) {
            task->fail_memory(loc, why);
            return nullptr;
        }
        p = aligned_for(lane.cursor, c.bytes);
    }
    lane.cursor = p + c.bytes;
    note_block(lane.page, p, c.bytes);
    unpoison(p, size);
    task->debt += c.bytes;
    return p;
}

void* allocate_array(Task* task, std::int64_t count, std::int64_t size, std::int32_t loc) {
    alignas(64) static char nothing[64];
    std::int64_t bytes;
    if (count < 0 || __builtin_mul_overflow(count, size, &bytes)) {
        task->fail_memory(loc, Shortage::Limit);
        return nullptr;
    }
    return bytes ? allocate(task, bytes, loc) : nothing;
}

Allocation find_allocation(Page* page, const void* p) {
    if (page->single) return {page, page->begin};
    const std::int64_t unit = page->unit_of(p), start = last_bit(page->starts(), unit);
    if (start < 0 || (start < unit && next_bit(page->ends(), start, unit) < unit)) return {};
    return {page, page->address_of(start)};
}

bool overwrite_freed = false;
std::int64_t least_allowance = 1 << 20;

/// Whoever still reads what was freed is to notice.
static void overwrite(char* begin, std::int64_t bytes) {
    if (overwrite_freed) std::memset(begin, 0xa5, std::size_t(bytes));
}

/// Frees `block` in `page`, which belongs to `r`, and takes it off `debt`.
static void free_block(Region* r, Page* page, char* block, std::int64_t* debt) {
    if (page->single) {
        if (block != page->begin) return;
        overwrite(page->begin,
                  std::min<std::int64_t>(page->end - page->begin, 1 << 20));  // that tells enough
        *debt -= page->bytes;
        remove_page(r, page);
        r->task->account().give(page);
        return;
    }
    if (!test_bit(page->starts(), page->unit_of(block))) return;
    const std::int64_t end = next_bit(page->ends(), page->unit_of(block), page->bytes / kUnit) + 1;
    const std::int64_t bytes = page->address_of(end) - block;
    forget_block(page, block, bytes);
    unpoison(block, bytes);
    overwrite(block, bytes);
    poison(block, bytes);
    *debt -= bytes;
    if (Lane& lane = r->lanes[page->lane]; block + bytes == lane.cursor) {
        lane.cursor = block;
        return;
    }
    const int c = class_of(bytes).index;
    void* next = r->free_classes >> c & 1 ? r->freed[c] : nullptr;
    unpoison(block, std::ptrdiff_t(sizeof next));
    std::memcpy(block, &next, sizeof next);
    r->freed[c] = block;
    r->free_classes |= std::uint64_t(1) << c;
}

bool give(Task* task, Page* page, void* block) {
    if (!page->single || page->owner != task->region || block != page->begin) return false;
    remove_page(task->region, page);
    task->debt -= page->bytes;
    page->owner = nullptr;
    page->next = task->given;
    task->given = page;
    return true;
}

void take_given(Task* task) {
    while (Page* page = task->given) {
        task->given = page->next;
        add_page(task->region, page);
        task->debt += page->bytes;
    }
}

void free_own(Task* task, Page* page, void* block) {
    free_block(task->region, page, static_cast<char*>(block), &task->debt);
}

void release(Task* task, void* block) {
    Page* page = task->account().find(block);
    if (!page || !page->owner || page->owner->task != task) return;
    std::int64_t* debt = &task->debt;
    for (Region* r = task->region; r; debt = &r->outer_debt, r = r->outer)
        if (owns(r, page, block)) return free_block(r, page, static_cast<char*>(block), debt);
}

void* grow(Task* task, void* block, std::int64_t size) {
    Page* page = task->account().find(block);
    if (!page || !page->single || !page->mapped || block != page->begin) return nullptr;
    std::int64_t* debt = &task->debt;
    for (Region* r = task->region; r; debt = &r->outer_debt, r = r->outer) {
        if (page->owner != r) continue;
        const std::int64_t before = page->bytes;
        remove_page(r, page);
        Page* grown = task->account().grow_single(page, size);
        add_page(r, grown ? grown : page);
        if (!grown) return nullptr;
        *debt += grown->bytes - before;
        unpoison(grown->begin, size);
        return grown->begin;
    }
    return nullptr;
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
    for (int i = 0; i < kLanes; ++i) {
        Lane& lane = r->lanes[i];
        set_room(&lane, nullptr, nullptr, nullptr);
        lane.holes = lane.rooms = nullptr;
        lane.page_bytes = 0;
        lane.num_borrowed = 0;
        if (outer && outer->lanes[i].page)
            borrow(&lane, outer->lanes[i].page, outer->lanes[i].cursor, outer->lanes[i].limit);
    }
    r->free_classes = 0;
    r->live = 0;
    // What collections look at is mostly the state of a loop, as much of it in each region that is entered:
    // where little is allocated in each of many regions, a collection in each would take longer than all
    // else.
    r->allowance = std::max(least_allowance, task->owed);
    r->outer_debt = task->debt;
    r->pooled = false;
    task->region = r;
    task->debt = -r->allowance;
}

/// What was allocated in the innermost region since it was entered or collected, net, pays for collections.
static void pay(Task* task) {
    const std::int64_t allocated = task->debt + task->region->allowance;
    task->owed = std::max<std::int64_t>(0, task->owed - std::max<std::int64_t>(0, allocated));
}

/// The region around takes what the innermost one holds. Returns how many bytes.
static std::int64_t give_to_outer(Task* task) {
    Region* r = task->region;
    splice_pages(r, r->outer);
    for (int i = 0; i < kLanes; ++i) {
        Lane& lane = r->lanes[i];
        set_room(&r->outer->lanes[i], lane.page, lane.cursor, lane.limit);
        splice_holes(&lane, &r->outer->lanes[i]);
    }
    return bytes_held(task);
}

static void exit_innermost(Task* task) {
    pay(task);
    Region* r = task->region;
    std::int64_t held = 0;
    // Nothing of it is read after a failure. Where that comes from deep inside of recursion, handing all
    // pages from region to region would take the square of the depth.
    if (task->failed()) free_pages(&task->account(), r->pages);
    else held = give_to_outer(task);
    task->region = r->outer;
    task->debt = r->outer_debt + held;
    if (!r->pooled) return;
    --task->num_regions;
    r->outer = task->spare_regions;
    task->spare_regions = r;
}

void exit_region(Task* task, Region* region) {
    while (task->region != region) exit_innermost(task);
    exit_innermost(task);
}

void hand_over(Task* from, Task* to) {
    while (from->region->outer) exit_innermost(from);
    to->debt += bytes_held(from);
    splice_pages(from->region, to->region);
    for (int i = 0; i < kLanes; ++i) {
        Lane& lane = from->region->lanes[i];
        splice_holes(&lane, &to->region->lanes[i]);
        add_hole(&to->region->lanes[i], lane.cursor, lane.limit);
    }
}

void rest_region(Task* task, Region* at) {
    *at = *task->region;
    at->task = nullptr;
    at->outer_debt = task->debt;
    for (Page* page = at->pages; page; page = page->next) page->owner = nullptr, page->value = nullptr;
    task->region->pages = nullptr;
}

void resume_region(Task* task, Region* from) {
    Region* r = task->region;
    if (!r->pages) {
        *r = *from;
        r->task = task;
        task->debt = from->outer_debt;
        for (Page* page = r->pages; page; page = page->next) page->owner = r;
        return;
    }
    task->debt += from->live + from->outer_debt + from->allowance;
    splice_pages(from, r);
    for (int i = 0; i < kLanes; ++i) {
        splice_holes(&from->lanes[i], &r->lanes[i]);
        add_hole(&r->lanes[i], from->lanes[i].cursor, from->lanes[i].limit);
    }
}

void free_pages(MemoryAccount* account, Page* pages) {
    while (Page* page = pages) {
        pages = page->next;
        account->give(page);
    }
}

void set_allowance(Task* task, std::int64_t live, std::int64_t scanned) {
    const std::int64_t price = task->futile ? 4 : 2;
    pay(task);
    task->owed += price * scanned;
    task->scanned = scanned;
    task->region->live = live;
    task->region->allowance = std::max(least_allowance, price * std::max(live, scanned));
    task->debt = -task->region->allowance;
}

// ---- sweeping ---------------------------------------------------------------------------------------------

/// Drops the blocks in units [from, to) that are not marked, and turns the room between the others into
/// holes. Returns the bytes of those.
static std::int64_t sweep_units(Region* r, Page* page, std::int64_t from, std::int64_t to) {
    std::uint64_t *const starts = page->starts(), *const ends = page->ends(), *const marks = page->marks();
    Lane* const lane = &r->lanes[page->lane];
    std::int64_t live = 0, gap = from;  // gap: where the room before the next block begins; -1: there is none
    std::uint64_t open = 0;             // 1: a block goes on from the word before
    for (std::int64_t first = from & ~std::int64_t(63); first < to; first += 64) {
        const std::int64_t w = first >> 6, begin = std::max(from, first), end = std::min(to, first + 64);
        const std::uint64_t here =
            ~std::uint64_t(0) << (begin - first) & ~std::uint64_t(0) >> (first + 64 - end);
        for (std::uint64_t dead = starts[w] & ~marks[w] & here; dead; dead &= dead - 1) {
            const std::int64_t start = first + std::countr_zero(dead), last = next_bit(ends, start, to);
            clear_bit(starts, start);
            clear_bit(ends, last);
            poison(page->address_of(start), (last + 1 - start) * kUnit);
        }
        marks[w] &= ~here;
        // The bit behind each end minus that of its start: ones throughout the block.
        const std::uint64_t begun = starts[w] & here, ended = ends[w] & here;
        const std::uint64_t taken = (ended << 1) - begun - open;
        open = open + std::uint64_t(std::popcount(begun)) - std::uint64_t(std::popcount(ended));
        live += std::popcount(taken) * kUnit;
        for (std::int64_t at = begin; at < end;) {
            const std::uint64_t rest = taken >> (at - first);
            if (rest & 1) {
                if (gap >= 0) add_hole(lane, page->address_of(gap), page->address_of(at));
                gap = -1;
                at += std::countr_one(rest);
            } else {
                if (gap < 0) gap = at;
                at += std::countr_zero(rest);
            }
        }
    }
    if (gap >= 0) add_hole(lane, page->address_of(gap), page->address_of(to));
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

static std::int64_t sweep_borrowed(Region* r, Lane* lane) {
    lane->holes = lane->rooms = nullptr;
    set_room(lane, nullptr, nullptr, nullptr);
    std::int64_t live = 0;
    for (int i = 0; i < lane->num_borrowed; ++i) {
        const Lane::Borrowed& b = lane->borrowed[i];
        live += sweep_units(r, b.page, b.page->unit_of(b.begin), b.page->unit_of(b.end));
    }
    return live;
}

/// Whether a page without living blocks is worth keeping: not if there is as much room to go on in without
/// it. A region that begins and ends often would else leave a page behind each time.
static bool worth_keeping(Region* r, int which, const Page* page) {
    for (Region* with : {r, r->outer}) {
        Hole** room = with ? largest_room(&with->lanes[which]) : nullptr;
        if (room && bytes_of(*room) >= page->bytes / 2) return false;
    }
    return true;
}

std::int64_t sweep(Task* task) {
    Region* r = task->region;
    std::int64_t live = 0;
    Page* kept[kLanes] = {};  // the largest page without living blocks, so that memory near us is used again
    r->free_classes = 0;
    for (Lane& lane : r->lanes) live += sweep_borrowed(r, &lane);
    for (Page *page = r->pages, *next; page; page = next) {
        next = page->next;
        if (page->single ? page->marked : any_mark(page)) {
            live += page->single ? page->bytes
                                 : sweep_units(r, page, page->unit_of(page->begin), page->bytes / kUnit);
            page->marked = false;
            continue;
        }
        Page*& best = kept[page->lane];
        if (!page->single && (!best || page->bytes > best->bytes)) std::swap(page, best);
        if (!page) continue;
        remove_page(r, page);
        task->account().give(page);
    }
    for (Page* page : kept) {
        if (!page) continue;
        if (!worth_keeping(r, page->lane, page)) {
            remove_page(r, page);
            task->account().give(page);
            continue;
        }
        reset_page(page);
        set_room(&r->lanes[page->lane], page, page->begin, page->end);
    }
    return live;
}

void clear_region(Task* task) {
    sweep(task);
    set_allowance(task, 0, 0);
}

}  // namespace weld::runtime
