// Blocks: cut from the rooms of the innermost region, freed one by one, made larger.
#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/rooms.h"

namespace weld::runtime {

namespace {

constexpr std::int64_t kCacheLine = 64;
constexpr std::int64_t kTiny = 128;  // larger blocks use the second lane

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

/// Whoever still reads what was freed is to notice.
static void overwrite(char* begin, std::int64_t bytes) {
    if (overwrite_freed) std::memset(begin, 0xa5, std::size_t(bytes));
}

/// What `block`, one of several in `page`, has room for; 0 if none begins there.
static std::int64_t bytes_of_block(Page* page, const void* block) {
    if (!test_bit(page->starts(), page->unit_of(block))) return 0;
    const std::int64_t end = next_bit(page->ends(), page->unit_of(block), page->bytes / kUnit) + 1;
    return page->address_of(end) - static_cast<const char*>(block);
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
    const std::int64_t bytes = bytes_of_block(page, block);
    if (!bytes) return;
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
    if (!page) return nullptr;
    if (!page->single) {
        if (bytes_of_block(page, block) < size) return nullptr;
        unpoison(block, size);
        return block;
    }
    if (!page->mapped || block != page->begin) return nullptr;
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

}  // namespace weld::runtime
