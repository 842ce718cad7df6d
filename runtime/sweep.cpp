// The sweep after a collection (collect.cpp) has marked what lives: the room between marked blocks is used
// again, pages without any go back to the account.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "runtime/rooms.h"

namespace weld::runtime {

/// Drops the blocks in units [from, to) that are not marked, and turns the room between the others into
/// holes. Returns the bytes of those.
static std::int64_t sweep_units(Region* r, Page* page, std::int64_t from, std::int64_t to) {
    std::uint64_t *const starts = page->starts(), *const ends = page->ends(), *const marks = page->marks();
    Lane* const lane = &r->lanes[page->lane];
    std::int64_t live = 0, gap = from;  // gap: where the room before the next block begins; -1: there is none
    std::uint64_t open = 0;             // 1: a block goes on from the word before
    for (std::int64_t first = from & ~std::int64_t(63); first < to; first += 64) {
        const std::int64_t w = first >> 6, begin = std::max(from, first), end = std::min(to, first + 64);
        if (!(starts[w] | ends[w]) && end - begin == 64) {  // all of it is one block's, or nobody's
            if (open) live += 64 * kUnit;
            else if (gap < 0) gap = first;
            continue;
        }
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
        if (begun | ended) open = std::countl_zero(begun) < std::countl_zero(ended);
        for (std::int64_t at = begin; at < end;) {
            const std::uint64_t rest = taken >> (at - first);
            if (rest & 1) {
                if (gap >= 0) add_hole(lane, page->address_of(gap), page->address_of(at));
                gap = -1;
                const std::int64_t units = std::countr_one(rest);
                live += units * kUnit;
                at += units;
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
    close_slabs(task);
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

}  // namespace weld::runtime
