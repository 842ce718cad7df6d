// A bar on standard error for loops that run long.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/run.h"

namespace weld {

/// While it lives, a loop of the run that has taken more than half a second is drawn ten times a second.
class ProgressBar {
  public:
    /// Without `on` nothing is drawn and no thread is started.
    explicit ProgressBar(bool on);
    /// Takes the bar away.
    ~ProgressBar();
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    /// For RunOptions::progress; null without `on`.
    runtime::LoopProgress* watched() { return thread_.joinable() ? &progress_ : nullptr; }

  private:
    void draw_until_closed();

    runtime::LoopProgress progress_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool closed_ = false;
    std::thread thread_;
};

/// `[#####-----] 50 %  12 s, 12 s left`
std::string progress_line(std::int64_t done, std::int64_t chunks, double seconds);

}  // namespace weld
