// What runs of programs share: an account of memory, and the values that came out of it.
//
// The memory of a value that is freed stays as it is until the next run of the context begins, which uses it
// again: Weld 0.4 kept it for as long as the context lived, and clients read results that they had freed.
//
// Builders are passed on from run to run. The context knows each live builder, its type and its state; a run
// that is given one takes it over, so it can be continued once. If nothing else lives in the memory of the
// value that it came from, that memory becomes the run's, and what the new result does not need is freed:
// a builder may be continued for ever.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/api/compile.h"
#include "frontend/api/config.h"
#include "frontend/api/holds.h"
#include "weld/weld.h"

namespace weld {

/// How a run ended: with a result, or the failure.
struct RunReport {
    std::shared_ptr<RunResult> result;
    std::shared_ptr<const Reach> reach;  ///< to be kept for as long as the value is used; maybe null
    Holds others;                        ///< likewise: on what it points to itself
    runtime::Failure failure;
};

class PointsTo;

/// Thread-safe.
class Context : public std::enable_shared_from_this<Context> {
  public:
    explicit Context(const RunSettings& settings);

    /// Runs the program, which has code. `args` points to its arguments, if it has any. Of `options` the
    /// context chooses the memory, and what is null.
    RunReport run(const std::shared_ptr<const Program>& program, const void* args,
                  const runtime::RunOptions& options);
    /// Stops the runs that are going on.
    void cancel();
    /// Has runs that begin later print to `write` (null: to the standard output).
    void set_output(weld_output_t write, void* data);
    /// Gives memory that waits for the next run back to the machine.
    void trim();

    std::int64_t memory_used() const;  ///< without what waits for the next run
    std::int64_t memory_peak() const { return account_->peak(); }
    std::int64_t memory_limit() const { return account_->limit(); }

  private:
    /// What a run takes over with the builders among its arguments.
    struct Taken {
        std::vector<runtime::RunMemory> memory;
        Holds shares;                                     ///< in memory that it could not take over
        Holds holds;                                      ///< what that memory, and the other, may point to
        std::vector<std::shared_ptr<RunResult>> sources;  ///< of builders, until the lock is let go
        std::vector<Hold> reaches;                        ///< likewise
        std::vector<std::shared_ptr<const Program>> programs;
    };
    /// One that a run returned and none has taken yet.
    struct LiveBuilder {
        std::weak_ptr<RunResult> from;
        const RunResult* of;
        const WeldType* type;
        std::string bytes;  ///< of its state
    };

    std::string take_builders(const Program& program, const void* args, Taken* taken);
    RunReport finish(std::unique_ptr<RunResult> run, const Holds& given, const Holds& shares,
                     PointsTo* points_to);
    void retire(std::unique_ptr<RunResult> result);
    void take_memory(const std::shared_ptr<RunResult>& source, Taken* taken);
    class Running;
    class HostOutput;
    void enter_builders(const std::shared_ptr<RunResult>& result);
    void free_retired();

    std::shared_ptr<runtime::MemoryAccount> account_;
    int threads_;

    mutable std::mutex mutex_;
    weld_output_t output_ = nullptr;
    void* output_data_ = nullptr;
    std::vector<std::atomic<std::int32_t>*> running_;        ///< RunOptions::stop of each run
    std::vector<std::unique_ptr<RunResult>> retired_;        ///< wait for the next run
    std::unordered_map<const void*, LiveBuilder> builders_;  ///< by their memory
};

}  // namespace weld
