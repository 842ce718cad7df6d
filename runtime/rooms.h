// The pages of a region, and the rooms in them that blocks are cut from. For the files that allocate, sweep, and
// hand regions over (blocks.cpp, sweep.cpp, region.cpp).
//
//     a page:   |block|block| hole |block|      room      |block| free ...          |
//                            ^           ^                       ^                   ^
//     its lane:         holes (list)   rooms (list)            cursor              limit
//
// A room is a hole of kRoomBytes or more: regions that begin inside of this one may borrow it.
#pragma once

#include <new>

#include "runtime/memory.h"
#include "runtime/poison.h"
#include "runtime/task.h"

namespace weld::runtime {

constexpr std::int64_t kUsefulHole = 64;   // less is not worth remembering
constexpr std::int64_t kRoomBytes = 4096;  // from here on a hole serves inner regions, too
constexpr int kHolesTried = 8;

inline void add_page(Region* r, Page* page) {
    page->owner = r;
    page->prev = nullptr;
    page->next = r->pages;
    if (r->pages) r->pages->prev = page;
    r->pages = page;
    r->page_bytes += page->bytes;
    if (!page->single) r->lanes[page->lane].page_bytes += page->bytes;
}

inline void remove_page(Region* r, Page* page) {
    if (page->next) page->next->prev = page->prev;
    (page->prev ? page->prev->next : r->pages) = page->next;
    r->page_bytes -= page->bytes;
    if (!page->single) r->lanes[page->lane].page_bytes -= page->bytes;
}

inline void splice_pages(Region* from, Region* to) {
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

inline void add_hole(Lane* lane, char* begin, char* end) {
    if (end - begin < kUsefulHole) return;
    poison(begin, end - begin);
    unpoison(begin, std::ptrdiff_t(sizeof(Hole)));
    Hole*& list = end - begin < kRoomBytes ? lane->holes : lane->rooms;
    list = new (begin) Hole{list, end};
}

inline void splice_list(Hole** from, Hole** to) {
    while (Hole* h = *from) {
        *from = h->next;
        h->next = *to;
        *to = h;
    }
}

inline void splice_holes(Lane* from, Lane* to) {
    splice_list(&from->holes, &to->holes);
    splice_list(&from->rooms, &to->rooms);
}

inline void set_room(Lane* lane, Page* page, char* begin, char* end) {
    lane->page = page;
    lane->cursor = begin;
    lane->limit = end;
}

inline std::int64_t bytes_of(const Hole* h) { return h->end - reinterpret_cast<const char*>(h); }

/// The largest of the first few large holes; null if there is none.
inline Hole** largest_room(Lane* lane) {
    Hole** best = &lane->rooms;
    int tries = 0;
    for (Hole** at = best; *at && tries < kHolesTried; at = &(*at)->next, ++tries)
        if (bytes_of(*at) > bytes_of(*best)) best = at;
    return *best ? best : nullptr;
}

/// Lets a region go on in a part of a page of the outer one.
inline void borrow(Lane* lane, Page* page, char* begin, char* end) {
    lane->borrowed[lane->num_borrowed++] = {page, begin, end};
    set_room(lane, page, begin, end);
}

}  // namespace weld::runtime
