// What stands behind WeldTask and WeldRun: seen by the runtime only.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "runtime/memory.h"
#include "runtime/run.h"

namespace weld::runtime {
class Arena;
struct Crew;
}  // namespace weld::runtime

struct WeldRun {
    std::shared_ptr<weld::runtime::MemoryAccount> account;
    int threads = 1;
    bool serialize_header = false;
    std::atomic<std::int32_t> stop = 0;  ///< unless the caller has a word for that
    weld::runtime::LoopProgress* progress = nullptr;
    bool is_repeated = false;  ///< the program has run before
    WeldTiers* tiers = nullptr;
    weld::runtime::Output* output = nullptr;  ///< null: the standard output
    weld::runtime::Output* errors = nullptr;  ///< null: the standard error
    weld::runtime::Arena* arena = nullptr;    ///< made by the first parallel loop

    WeldRun() = default;
    WeldRun(const WeldRun&) = delete;
    WeldRun& operator=(const WeldRun&) = delete;
    ~WeldRun();
};

namespace weld::runtime {

constexpr std::int32_t kOk = 0;
constexpr std::int32_t kFailed = 1;

/// A place in a run that code works on: the main program, or one worker's part of a loop.
struct Task : WeldTask {
    const Crew* crew = nullptr;       ///< it is a member of: runs as part of a parallel loop
    std::int64_t part = 0;            ///< that it works on there
    bool in_serial_loop = false;      ///< in a chunk of a loop that goes through its chunks one by one
    std::int64_t scanned = 0;         ///< bytes that the last collection looked at
    std::int64_t owed = 0;            ///< bytes to be allocated before collections so far have paid
    int futile = 0;                   ///< collections in a row that freed next to nothing
    int spared = 0;                   ///< chunks since then that ended without one
    Outside* outside = nullptr;       ///< for the last collection
    Region* spare_regions = nullptr;  ///< left by weld_rt_region_exit
    Page* given = nullptr;            ///< by a caller to a callee that is about to enter its region
    int num_regions = 0;              ///< made by weld_rt_region_enter
    int missing_regions = 0;          ///< innermost, that there was no memory for, or too many
    Region first;
    Failure failure;

    Task(WeldRun* r, std::atomic<std::int32_t>* stop_flag);
    ~Task();
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    bool failed() const { return failure.code != kWeldSuccess; }
    MemoryAccount& account() const { return *run->account; }
    /// Records a failure unless there is one, and returns the status to leave with.
    std::int32_t fail(std::int64_t code, std::int32_t loc, std::string message);
    std::int32_t fail_memory(std::int32_t loc, Shortage why) noexcept;
    /// To be asked every few ms: the run was cancelled, or something failed that comes earlier in a loop
    /// around this place. Stays true.
    bool should_stop() const { return stop->load(std::memory_order_relaxed) && is_stopped(); }
    /// The same, recorded as a failure. Status.
    std::int32_t check_stop(std::int32_t loc) {
        return should_stop() ? fail(kWeldCancelled, loc, "cancelled") : kOk;
    }

  private:
    bool is_stopped() const;
};

inline Task* task_of(WeldTask* t) { return static_cast<Task*>(t); }

/// Taking `bytes` that one could do without leaves enough memory for all else.
inline bool has_room(const Task* task, std::int64_t bytes) {
    return (task->account().limit() - task->account().used()) / 4 >= bytes;
}

}  // namespace weld::runtime
