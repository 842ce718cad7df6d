// What runs of programs share: an account of memory, and the values that came out of it.
//
// The memory of a value that is freed stays as it is until the next run of the context begins, which uses it
// again: Weld 0.4 kept it for as long as the context lived, and clients read results that they had freed.
//
// Builders are passed on from run to run. The context knows where the state of each live builder is; a run
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

namespace weld {

/// What a run left behind, with everything that it may point into.
struct RunResult {
    RunOutcome outcome;
    std::vector<std::shared_ptr<RunResult>> kept;  ///< whose memory it goes on in
    std::vector<std::shared_ptr<const Program>>
        programs;           ///< with types of dictionaries, and literals, in it
    std::int64_t run = 0;   ///< its number in the process
    int live_builders = 0;  ///< in its value, that were not passed on
    bool is_kept = false;   ///< stands in the `kept` of another
    int users = 1;          ///< its value, and those that keep it

    const Program& program() const { return *programs.front(); }
};

/// How a run ended: with a result, or the failure.
struct RunReport {
    std::shared_ptr<RunResult> result;
    runtime::Failure failure;
};

/// Thread-safe.
class Context {
  public:
    explicit Context(const RunSettings& settings);

    /// Runs the program, which has code. `args` points to its arguments, if it has any.
    RunReport run(const std::shared_ptr<const Program>& program, const void* args, int most_threads);
    /// The value of `result` is not used any more.
    void retire(const std::shared_ptr<RunResult>& result);
    /// Stops the runs that are going on.
    void cancel() { stop_ = 1; }
    /// Gives memory that waits for the next run back to the machine.
    void trim();

    std::int64_t memory_used() const;  ///< without what waits for the next run
    std::int64_t memory_peak() const { return account_->peak(); }
    std::int64_t memory_limit() const { return account_->limit(); }

  private:
    /// What a run takes over with the builders among its arguments.
    struct Taken {
        std::vector<runtime::Blocks> memory;
        std::vector<std::shared_ptr<RunResult>> kept;  ///< whose memory it shares
        std::vector<std::shared_ptr<const Program>> programs;
    };

    bool take_builders(const WeldType* type, const void* args, Taken* taken);
    void take_memory(const std::shared_ptr<RunResult>& source, Taken* taken);
    void give_up(const Taken& taken);
    void enter_builders(const std::shared_ptr<RunResult>& result);
    void drop_user(RunResult& result);
    void begin_run();
    void end_run();

    std::shared_ptr<runtime::MemoryAccount> account_;
    int threads_;
    std::atomic<std::int32_t> stop_ = 0;

    mutable std::mutex mutex_;
    int running_ = 0;
    std::vector<std::shared_ptr<RunResult>> retired_;                     ///< wait for the next run
    std::unordered_map<const void*, std::weak_ptr<RunResult>> builders_;  ///< live ones, by their memory
};

}  // namespace weld
