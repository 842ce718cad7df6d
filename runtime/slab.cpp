// Slabs: pages in which the short vectors that a loop makes, one in a round, lie one behind the other. A slab is
// one block of its region: it lives as long as any vector in it is reached, and nothing of it is freed alone.
// Emitted code cuts vectors from it (codegen/slab.h) where a pass knows that they are kept (weldir/passes/slabs.cpp).
#include <cstring>

#include "runtime/entry.h"
#include "runtime/rooms.h"

namespace weld::runtime {

/// Small, since one vector that lives keeps it all.
constexpr std::int64_t kSlabPage = 16 << 10;

void close_slab(Task* task) { task->slab = task->slab_end = nullptr; }

static bool open_slab(Task* task, std::int32_t loc) {
    Shortage why;
    Page* page = task->account().take_single(kSlabPage - std::int64_t(sizeof(Page)), &why);
    if (!page) {
        task->fail_memory(loc, why);
        return false;
    }
    add_page(task->region, page);
    task->debt += page->bytes;
    task->slab = page->begin + kUnit;  // a block is freed by its beginning, which no vector has
    task->slab_end = page->end;
    return true;
}

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" std::int32_t weld_rt_slab_grow(WeldTask* t, WeldAppender* a, std::int64_t room, std::int64_t size,
                                          std::int32_t loc) {
    Task* task = task_of(t);
    std::int64_t count, bytes;
    if (__builtin_add_overflow(a->size, room, &count) || __builtin_mul_overflow(count, size, &bytes) ||
        bytes > kWeldMostInSlab)
        return weld_rt_appender_grow(t, a, room, size, loc);
    if (!open_slab(task, loc)) return kFailed;
    if (a->size) std::memcpy(task->slab, a->data, std::size_t(a->size * size));
    *a = {task->slab, a->size, count};
    task->slab += bytes;
    return kOk;
}
