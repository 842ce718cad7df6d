// Threads, by TBB: an arena for each run, so that runs neither wait for nor steal from each other.
#include "runtime/parallel.h"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

// The thread sanitizer does not see into TBB, which is built without it. So it is told what TBB takes care
// of: a crew begins after all that stands before it, and what follows it comes after all that its members
// did.
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define WELD_BEFORE_OTHERS(crew) __tsan_release(crew)
#define WELD_AFTER_OTHERS(crew) __tsan_acquire(crew)
#define WELD_CALLED_BY_TBB __attribute__((no_sanitize_thread))  // reads what it captured before it can say so
#else
#define WELD_BEFORE_OTHERS(crew)
#define WELD_AFTER_OTHERS(crew)
#define WELD_CALLED_BY_TBB
#endif

namespace weld::runtime {

class Arena {
  public:
    explicit Arena(int threads) : threads_(threads), arena_(threads) {}

    int threads() const { return threads_; }

    template <class F>
    void execute(const F& f) {
        arena_.execute(f);
    }

    /// More threads than the process may have would only make TBB complain.
    static int most_threads() {
        using tbb::global_control;
        return std::max(tbb::info::default_concurrency(),
                        int(global_control::active_value(global_control::max_allowed_parallelism)));
    }

  private:
    int threads_;
    tbb::task_arena arena_;
};

namespace {

/// Arenas that no run has: a new one costs as much as many a loop.
class IdleArenas {
  public:
    IdleArenas() { arenas_.reserve(kMost); }  // giving one back must not fail
    std::unique_ptr<Arena> take(int threads) {
        const std::lock_guard lock(mutex_);
        const auto at = std::find_if(arenas_.begin(), arenas_.end(),
                                     [&](const auto& a) { return a->threads() == threads; });
        if (at == arenas_.end()) return nullptr;
        std::unique_ptr<Arena> arena = std::move(*at);
        arenas_.erase(at);
        return arena;
    }
    void give(std::unique_ptr<Arena> arena) {
        const std::lock_guard lock(mutex_);
        if (arenas_.size() < kMost) arenas_.push_back(std::move(arena));
    }

  private:
    static constexpr std::size_t kMost = 16;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Arena>> arenas_;
};

/// Never destroyed: the threads of TBB may outlive static objects.
IdleArenas& idle_arenas() {
    static IdleArenas& all = *new IdleArenas;
    return all;
}

Arena& arena_of(WeldRun* run) {
    if (!run->arena) {
        const int threads = std::min(run->threads, Arena::most_threads());
        std::unique_ptr<Arena> arena = idle_arenas().take(threads);
        run->arena = arena ? arena.release() : new Arena(threads);
    }
    return *run->arena;
}

}  // namespace

int workers_for(const Task* task, std::int64_t parts, bool parallel) {
    return parallel ? int(std::min<std::int64_t>(parts, task->run->threads)) : 1;
}

/// Parts that several workers share.
struct Crew {
    Task* task;  ///< that they are part of
    std::int64_t parts;
    std::int32_t loc;
    PartFn part;
    void* context;
    std::atomic<std::int64_t> next{0};
    std::atomic<std::int64_t> lowest_failed{INT64_MAX};
    struct Member {
        std::unique_ptr<Task> task;
        std::int64_t failed_part = INT64_MAX;
    };
    std::vector<Member> members;

    void work(int worker);
    std::int32_t run_one(Task* t, int worker, std::int64_t i) {
        const std::int32_t stopped = t->check_stop(loc);
        return stopped ? stopped : part(context, t, worker, i);
    }
};

void Crew::work(int worker) {
    Member& me = members[std::size_t(worker)];
    if (next.load(std::memory_order_relaxed) >= parts) return;
    me.task = std::make_unique<Task>(task->run, task->stop);  // before a part is claimed: it may throw
    me.task->crew = this;
    for (;;) {
        const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
        if (i >= parts || i > lowest_failed.load(std::memory_order_relaxed)) return;
        me.task->part = i;
        if (!run_one(me.task.get(), worker, i)) continue;
        me.failed_part = i;
        std::int64_t lowest = lowest_failed.load(std::memory_order_relaxed);
        while (i < lowest && !lowest_failed.compare_exchange_weak(lowest, i)) {}
        task->stop->fetch_or(kPartFailed, std::memory_order_relaxed);
        return;  // what this worker would claim next is higher
    }
}

bool is_crew_busy(const Task* task) {
    const Crew* crew = task->crew;
    if (!crew) return false;
    return crew->parts - crew->next.load(std::memory_order_relaxed) >= std::int64_t(crew->members.size());
}

bool Task::is_stopped() const {
    if (stop->load(std::memory_order_relaxed) & kCancelled) return true;
    for (const Task* t = this; t->crew; t = t->crew->task)
        if (t->part > t->crew->lowest_failed.load(std::memory_order_relaxed)) return true;
    return false;
}

namespace {

/// Calls f(0)...f(count-1) on the threads of the run.
template <class F>
void on_threads(Task* task, int count, const F& f) {
    auto all = [&]() WELD_CALLED_BY_TBB { tbb::parallel_for(0, count, f, tbb::simple_partitioner()); };
    // While it waits for its inner loop, a worker must not begin another chunk of the outer one on top of it.
    if (task->crew) return tbb::this_task_arena::isolate(all);
    arena_of(task->run).execute(all);
}

/// Takes over what the members of a crew hold, or the failure of the one that failed first.
std::int32_t dismiss(Task* task, Crew* crew) {
    const std::int64_t lowest = crew->lowest_failed.load();
    for (Crew::Member& m : crew->members) {
        if (!m.task) continue;
        if (lowest == INT64_MAX) hand_over(m.task.get(), task);
        else if (m.failed_part == lowest && !task->failed()) task->failure = std::move(m.task->failure);
    }
    return lowest == INT64_MAX ? kOk : kFailed;
}

void run_crew(Task* task, Crew* crew, int workers) {
    crew->members.resize(std::size_t(workers));
    WELD_BEFORE_OTHERS(crew);
    on_threads(task, workers, [crew](int worker) WELD_CALLED_BY_TBB {
        WELD_AFTER_OTHERS(crew);
        crew->work(worker);
        WELD_BEFORE_OTHERS(crew);
    });
    WELD_AFTER_OTHERS(crew);
}

}  // namespace

std::int32_t run_parts(Task* task, std::int64_t parts, bool parallel, std::int32_t loc, PartFn part,
                       void* context) {
    Crew crew{task, parts, loc, part, context};
    const int workers = workers_for(task, parts, parallel);
    if (workers > 1) {
        try {
            run_crew(task, &crew, workers);
            return dismiss(task, &crew);
        } catch (...) {  // TBB or the crew found no memory
            return task->fail_memory(loc, Shortage::Machine);
        }
    }
    for (std::int64_t i = 0; i < parts; ++i)
        if (const std::int32_t status = crew.run_one(task, 0, i)) return status;
    return kOk;
}

std::int32_t copy_many_bytes(Task* task, void* to, const void* from, std::int64_t bytes, std::int32_t loc) {
    constexpr std::int64_t block = 64;
    return in_strips(task, 0, (bytes - 1) / block + 1, loc, [&](std::int64_t lo, std::int64_t hi) {
        std::memcpy(static_cast<char*>(to) + lo * block, static_cast<const char*>(from) + lo * block,
                    std::size_t(std::min(hi * block, bytes) - lo * block));
    });
}

void* enlarge(Task* task, void* data, std::int64_t used, std::int64_t count, std::int64_t size,
              std::int32_t loc) {
    std::int64_t bytes;
    if (data && !__builtin_mul_overflow(count, size, &bytes))
        if (void* grown = grow(task, data, bytes)) return grown;
    void* to = allocate_array(task, count, size, loc);
    if (!to || copy_bytes(task, to, data, used, loc)) return nullptr;
    if (data) release(task, data);
    return to;
}

}  // namespace weld::runtime

WeldRun::~WeldRun() {
    if (arena) weld::runtime::idle_arenas().give(std::unique_ptr<weld::runtime::Arena>(arena));
}
