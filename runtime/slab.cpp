// Slabs: pages in which the short vectors that a loop makes, one in a round, lie one behind the other. A slab is
// one block of its region: it lives as long as any vector in it is reached, and nothing of it is freed alone.
// Emitted code cuts vectors from it (codegen/slab.h) where a pass knows that they are kept (weldir/passes/slabs.cpp).
//
// Those that go before the round ends are cut from pages of their own, scratch: the last one gives its room back.
#include <cstring>

#include "runtime/entry.h"
#include "runtime/rooms.h"
#include "weldir/support/round_up.h"

namespace weld::runtime {

/// Small, since one vector that lives keeps it all.
constexpr std::int64_t kSlabPage = 16 << 10;

void close_slabs(Task* task) {
    task->slab = task->slab_end = nullptr;
    task->scratch = task->scratch_end = nullptr;
}

static char* aligned(char* at, std::int64_t align) {
    return reinterpret_cast<char*>(round_up(reinterpret_cast<std::intptr_t>(at), align));
}

static bool open_slab(Task* task, char** slab, char** end, std::int32_t loc) {
    Shortage why;
    Page* page = task->account().take_single(kSlabPage - std::int64_t(sizeof(Page)), &why);
    if (!page) {
        task->fail_memory(loc, why);
        return false;
    }
    add_page(task->region, page);
    task->debt += page->bytes;
    task->region->slab_bytes += page->bytes;
    *slab = page->begin + kUnit;  // a block is freed by its beginning, which no vector has
    *end = page->end;
    return true;
}

static std::int32_t grow_in(Task* task, char** slab, char** end, std::int64_t align, WeldAppender* a,
                            std::int64_t room, std::int64_t size, std::int32_t loc) {
    std::int64_t count, bytes;
    if (__builtin_add_overflow(a->size, room, &count) || __builtin_mul_overflow(count, size, &bytes) ||
        bytes > kWeldMostInSlab)
        return weld_rt_appender_grow(task, a, room, size, loc);
    char* top = aligned(*slab, align);
    if (!top || *end - top < bytes) {  // else another vector has grown behind this one
        if (!open_slab(task, slab, end, loc)) return kFailed;
        top = aligned(*slab, align);
    }
    if (a->size) std::memcpy(top, a->data, std::size_t(a->size * size));
    if (a->data) release(task, a->data);  // of a slab nothing is
    *a = {top, a->size, count};
    *slab = top + bytes;
    return kOk;
}

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" {

std::int32_t weld_rt_slab_grow(WeldTask* t, WeldAppender* a, std::int64_t room, std::int64_t size,
                               std::int32_t loc) {
    return grow_in(task_of(t), &t->slab, &t->slab_end, kUnit, a, room, size, loc);
}

std::int32_t weld_rt_scratch_grow(WeldTask* t, WeldAppender* a, std::int64_t room, std::int64_t size,
                                  std::int32_t loc) {
    return grow_in(task_of(t), &t->scratch, &t->scratch_end, kWeldScratchAlign, a, room, size, loc);
}
}
