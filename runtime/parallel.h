// Threads: the only part of the runtime that knows TBB.
//
// Work is cut into numbered parts that workers claim in ascending order. What the parts are must not depend
// on the number of workers; then neither do results, as long as what parts leave is combined by number.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/task.h"

namespace weld::runtime {

/// One part: works on `task`, which is the worker's own. Returns a status.
using PartFn = std::int32_t (*)(void* context, Task* task, int worker, std::int64_t part);

/// How many workers run_parts would use.
int workers_for(const Task* task, std::int64_t parts, bool parallel);

/// Runs parts 0...parts-1. If one fails, parts with higher numbers are skipped, those with lower ones run,
/// and the failure of the lowest failing one is recorded in `task`. One worker works on `task` itself, one
/// part after the other; what several allocate goes to the innermost region of `task` at the end.
std::int32_t run_parts(Task* task, std::int64_t parts, bool parallel, std::int32_t loc, PartFn part,
                       void* context);

void run_all_parts(Task* task, std::int64_t parts, PartFn part, void* context);

template <class F>
std::int32_t run_parts(Task* task, std::int64_t parts, bool parallel, std::int32_t loc, const F& f) {
    auto call = [](void* context, Task* t, int worker, std::int64_t part) -> std::int32_t {
        return (*static_cast<const F*>(context))(t, worker, part);
    };
    return run_parts(task, parts, parallel, loc, call, const_cast<F*>(&f));
}

/// Runs parts that cannot fail, all of them even when the run is cancelled.
template <class F>
void run_all(Task* task, std::int64_t parts, const F& f) {
    auto call = [](void* context, Task* t, int, std::int64_t part) -> std::int32_t {
        (*static_cast<const F*>(context))(t, part);
        return kOk;
    };
    run_all_parts(task, parts, call, const_cast<F*>(&f));
}

/// Calls f(begin, end) for pieces of [0, n), of at least `least` each, in parallel if there are several.
template <class F>
void for_pieces(Task* task, std::int64_t n, std::int64_t least, const F& f) {
    const std::int64_t workers = workers_for(task, INT64_MAX, true);
    const std::int64_t pieces = workers == 1 ? 1 : std::clamp<std::int64_t>(n / least, 1, 4 * workers);
    if (pieces == 1) return f(std::int64_t(0), n);
    auto bound = [&](std::int64_t i) { return std::int64_t(static_cast<__int128>(n) * i / pieces); };
    run_all(task, pieces, [&](Task*, std::int64_t i) { f(bound(i), bound(i + 1)); });
}

/// Lets go of the threads of a run that has ended.
void close_arena(WeldRun* run);

}  // namespace weld::runtime
