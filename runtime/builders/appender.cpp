// appender[T]: an array that grows; and groupmerger[K,V], until its result, one of rows {key, value}. Pieces
// are arrays of their own, copied to their places when the sizes of those before them are known; where each
// iteration appends the same number, loop.cpp makes chunks write to their places at once.
#include <algorithm>

#include "runtime/builders/pieces.h"
#include "runtime/builders/placing.h"
#include "runtime/entry.h"
#include "runtime/parallel.h"

namespace weld::runtime {

static Cut cut(const WeldType*, const void*, CutQuestion*) { return Cut::Chunk; }

static std::int32_t start(Task*, const WeldType*, const void*, void* piece, std::int32_t) {
    *static_cast<WeldAppender*>(piece) = {nullptr, 0, 0};
    return kOk;
}

static std::int32_t start_group(Task* task, const WeldType*, const void*, void* piece, std::int32_t loc) {
    WeldAppender* array = weld_rt_group_new(task, loc);
    *static_cast<WeldAppender**>(piece) = array;
    return array ? kOk : kFailed;
}

static std::int32_t combine(Task* task, const WeldType* type, void* state, std::span<void* const> pieces,
                            std::int32_t loc) {
    std::mutex of_task;
    Placing placing(task, &of_task, type, state, std::int64_t(pieces.size()), 1, loc);
    for (std::size_t i = 0; i < pieces.size(); ++i)
        placing.add(0, std::int64_t(i), kept_merges(type, pieces[i]));
    return placing.finish();
}

static bool seamless(const WeldType*) { return true; }

static WeldAppender* kept(void* state) { return static_cast<WeldAppender*>(state); }
static WeldAppender* kept_group(void* state) { return *static_cast<WeldAppender**>(state); }

static void reach(Tracer& tracer, const WeldType* type, const void* state) {
    tracer.array(type->args[0], static_cast<const WeldAppender*>(state));
}
static void reach_group(Tracer& tracer, const WeldType* type, const void* state) {
    const WeldAppender* rows = *static_cast<WeldAppender* const*>(state);
    tracer.mark(rows);
    tracer.array(type->args[0], rows);
}

static const void* memory(const WeldType* type, const void* state) {
    const auto* a = static_cast<const WeldAppender*>(state);
    return a->capacity && type->args[0]->size ? a->data : nullptr;
}

static bool is_new(const WeldType* type, const void* state) {
    const auto* a = static_cast<const WeldAppender*>(state);
    if (type->args[0]->size) return !a->data && !a->size && !a->capacity;
    return a->size >= 0 && a->capacity >= a->size && is_nowhere(a->data);
}

const BuilderPieces kAppenderPieces{.cut = cut,
                                    .start = start,
                                    .combine = combine,
                                    .seamless = seamless,
                                    .reach = reach,
                                    .kept = kept,
                                    .memory = memory,
                                    .is_new = is_new};
const BuilderPieces kGroupMergerPieces{.cut = cut,
                                       .start = start_group,
                                       .combine = combine,
                                       .seamless = seamless,
                                       .reach = reach_group,
                                       .kept = kept_group};

/// Larger vectors grow without copies, and may never come to what is expected of them.
constexpr std::int64_t kMostExpected = 64 << 20;

/// Bytes of `count` elements and as many as have room behind them in huge pages that are begun; 0 if there
/// are none.
static std::int64_t size_in_spans(std::int64_t count, std::int64_t size) {
    std::int64_t bytes;
    const bool is_much = __builtin_mul_overflow(count, size, &bytes) || bytes > INT64_MAX - (4 << 20);
    return is_much ? 0 : PageHeap::size_in_spans(bytes);
}

}  // namespace weld::runtime

using namespace weld::runtime;

extern "C" std::int32_t weld_rt_appender_grow(WeldTask* t, WeldAppender* a, std::int64_t room,
                                              std::int64_t size, std::int32_t loc) {
    Task* task = task_of(t);
    std::int64_t needed;
    if (room < 0 || __builtin_add_overflow(a->size, room, &needed))
        return task->fail_memory(loc, Shortage::Limit);
    if (needed <= a->capacity) return kOk;
    const std::int64_t least = std::max<std::int64_t>(4, 64 / std::max<std::int64_t>(1, size));
    const std::int64_t doubled = a->capacity <= INT64_MAX / 2 ? a->capacity * 2 : a->capacity;
    std::int64_t capacity = room == 1 ? std::max({needed, doubled, least}) : std::max(needed, doubled);
    if (a->data) {  // it may grow again
        const std::int64_t bytes = size_in_spans(capacity, size);
        if (bytes && has_room(task, bytes)) capacity = bytes / size;
    }
    void* data = enlarge(task, a->data, a->size * size, capacity, size, loc);
    if (!data) return kFailed;
    a->data = data;
    a->capacity = capacity;
    return kOk;
}

extern "C" std::int32_t weld_rt_appender_expect(WeldTask* t, WeldAppender* a, std::int64_t rounds,
                                                std::int64_t each, std::int64_t size, std::int32_t loc) {
    std::int64_t room, bytes;
    const bool is_much = __builtin_mul_overflow(rounds, each, &room) ||
                         __builtin_mul_overflow(room, size, &bytes) || bytes > kMostExpected ||
                         !has_room(task_of(t), bytes);
    return is_much || a->capacity ? kOk : weld_rt_appender_grow(t, a, room, size, loc);
}
