// Regions: where they begin, what becomes of what they hold, and how much they may allocate between
// collections.
#include <algorithm>

#include "runtime/rooms.h"

namespace weld::runtime {

std::int64_t least_allowance = 1 << 20;

std::int64_t bytes_held(const Task* task) {
    return task->region->live + task->debt + task->region->allowance;
}

void enter_region(Task* task, Region* r) {
    Region* outer = task->region;
    r->task = task;
    r->outer = outer;
    r->pages = nullptr;
    r->page_bytes = r->slab_bytes = 0;
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
    if (task->failed()) close_slabs(task), free_pages(&task->account(), r->pages);
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
    close_slabs(task);
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

void set_allowance(Task* task, std::int64_t live, std::int64_t scanned) {
    const std::int64_t price = task->futile ? 4 : 2;
    pay(task);
    task->owed += price * scanned;
    task->scanned = scanned;
    task->region->live = live;
    task->region->slab_bytes = 0;
    task->region->allowance = std::max(least_allowance, price * std::max(live, scanned));
    task->debt = -task->region->allowance;
}

void free_pages(MemoryAccount* account, Page* pages) {
    while (Page* page = pages) {
        pages = page->next;
        account->give(page);
    }
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

void clear_region(Task* task) {
    sweep(task);
    set_allowance(task, 0, 0);
}

}  // namespace weld::runtime
