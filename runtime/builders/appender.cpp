// appender[T]: an array that grows. How the parts of a parallel loop come together is in loop.cpp.
#include <algorithm>
#include <cstring>

#include "runtime/entry.h"
#include "runtime/task.h"

using namespace weld::runtime;

extern "C" std::int32_t weld_rt_appender_grow(WeldTask* t, WeldAppender* a, std::int64_t room,
                                              std::int64_t size, std::int32_t loc) noexcept {
    Task* task = task_of(t);
    std::int64_t needed;
    if (room < 0 || __builtin_add_overflow(a->size, room, &needed)) return task->fail_memory(loc);
    if (needed <= a->capacity) return kOk;
    const std::int64_t least = std::max<std::int64_t>(4, 64 / std::max<std::int64_t>(1, size));
    const std::int64_t doubled = a->capacity <= INT64_MAX / 2 ? a->capacity * 2 : a->capacity;
    const std::int64_t capacity = std::max({needed, doubled, least});
    void* data = allocate_array(task, capacity, size, loc);
    if (!data) return kFailed;
    if (a->size && size) std::memcpy(data, a->data, std::size_t(a->size * size));
    release(task, a->data);
    a->data = data;
    a->capacity = capacity;
    return kOk;
}
