// Threads: the only part of the runtime that knows TBB.
//
// Work is cut into numbered parts that workers claim in ascending order. What the parts are must not depend
// on the number of workers; then neither do results, as long as what parts leave is combined by number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/task.h"

namespace weld::runtime {

/// One part: works on `task`, which is the worker's own. Returns a status.
using PartFn = std::int32_t (*)(void* context, Task* task, int worker, std::int64_t part);

/// How many workers run_parts would use.
int workers_for(const Task* task, std::int64_t parts, bool parallel);
/// `task` is a part of a loop of which as many wait as there are workers: to share it out would gain nothing.
bool is_crew_busy(const Task* task);

/// Runs parts 0...parts-1. If one fails, parts with higher numbers are skipped or stop, those with lower ones
/// run, and the failure of the lowest failing one is recorded in `task`. One worker works on `task` itself,
/// one part after the other; what several allocate goes to the innermost region of `task` at the end.
std::int32_t run_parts(Task* task, std::int64_t parts, bool parallel, std::int32_t loc, PartFn part,
                       void* context);

template <class F>
std::int32_t run_parts(Task* task, std::int64_t parts, bool parallel, std::int32_t loc, const F& f) {
    auto call = [](void* context, Task* t, int worker, std::int64_t part) -> std::int32_t {
        return (*static_cast<const F*>(context))(t, worker, part);
    };
    return run_parts(task, parts, parallel, loc, call, const_cast<F*>(&f));
}

constexpr std::int64_t kStrip = 1 << 14;  ///< 2 ms where each element is a miss of the cache
constexpr std::int64_t kStripOfNewPages =
    8;  ///< where each may be the first write to 2 MiB, which the system clears

/// Calls f(begin, end), which gives a status or nothing, for one short strip of [from, to) after the other,
/// as long as the run is not to stop: for all work on as many elements as a program likes. Status.
template <std::int64_t strip = kStrip, class F>
std::int32_t in_strips(Task* task, std::int64_t from, std::int64_t to, std::int32_t loc, const F& f) {
    for (std::int64_t begin = from; begin < to; begin += strip) {
        const std::int64_t end = std::min(to, begin + strip);
        if (const std::int32_t status = task->check_stop(loc)) return status;
        if constexpr (std::is_void_v<decltype(f(begin, end))>) f(begin, end);
        else if (const std::int32_t status = f(begin, end)) return status;
    }
    return kOk;
}

/// The same for [0, n), where f writes anywhere to so many bytes, of which no page need be there yet.
template <class F>
std::int32_t in_strips_of_new_pages(Task* task, std::int64_t n, std::int64_t bytes, std::int32_t loc,
                                    const F& f) {
    constexpr std::int64_t soon_cleared = 32 << 20;
    return bytes <= soon_cleared ? in_strips(task, 0, n, loc, f)
                                 : in_strips<kStripOfNewPages>(task, 0, n, loc, f);
}

/// Calls f(begin, end) for strips of pieces of [0, n), of at least `least` each, in parallel if there are
/// several. Status.
template <class F>
std::int32_t for_pieces(Task* task, std::int64_t n, std::int64_t least, std::int32_t loc, const F& f) {
    const std::int64_t workers = workers_for(task, INT64_MAX, true);
    const std::int64_t pieces = workers == 1 ? 1 : std::clamp<std::int64_t>(n / least, 1, 4 * workers);
    auto bound = [&](std::int64_t i) { return std::int64_t(static_cast<__int128>(n) * i / pieces); };
    return run_parts(task, pieces, true, loc, [&](Task* t, int, std::int64_t i) {
        return in_strips(t, bound(i), bound(i + 1), loc, f);
    });
}

std::int32_t copy_many_bytes(Task* task, void* to, const void* from, std::int64_t bytes, std::int32_t loc);

/// memcpy. Status.
inline std::int32_t copy_bytes(Task* task, void* to, const void* from, std::int64_t bytes, std::int32_t loc) {
    constexpr std::int64_t many = 1 << 20;
    if (bytes > many) return copy_many_bytes(task, to, from, bytes, loc);
    if (bytes > 0) std::memcpy(to, from, std::size_t(bytes));
    return kOk;
}

/// Room for `count` elements of `size` bytes in the place of `data` (null: none), of which the first `used`
/// bytes stay. A mapping grows as it is, other blocks are copied to larger ones. Null after recording the
/// failure.
void* enlarge(Task* task, void* data, std::int64_t used, std::int64_t count, std::int64_t size,
              std::int32_t loc);

}  // namespace weld::runtime
