// A bar on standard error for loops that run long.
#include "frontend/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace weld {

using Clock = std::chrono::steady_clock;

std::string progress_line(std::int64_t done, std::int64_t chunks, double seconds) {
    constexpr int width = 30;
    const double share = std::clamp(double(done) / double(std::max<std::int64_t>(1, chunks)), 0.0, 1.0);
    const int full = int(share * width);
    std::string line =
        fmt::format("[{:#<{}}{:-<{}}] {:.0f} %  {:.0f} s", "", full, "", width - full, 100 * share, seconds);
    if (share > 0) line += fmt::format(", {:.0f} s left", seconds / share - seconds);
    return line;
}

ProgressBar::ProgressBar(bool on) {
    if (on) thread_ = std::thread([this] { draw_until_closed(); });
}

ProgressBar::~ProgressBar() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

static void put(const std::string& text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

void ProgressBar::draw_until_closed() {
    constexpr auto step = std::chrono::milliseconds(100), patience = std::chrono::milliseconds(500);
    constexpr const char* erase = "\r\x1b[K";
    Clock::time_point begin = Clock::now();
    std::int64_t loop = 0;
    bool drawn = false;
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, step, [this] { return closed_; })) {
        const std::int64_t now = progress_.loops, chunks = progress_.chunks;
        if (now != loop) {
            loop = now;
            begin = Clock::now() - step;  // it may have begun just after we last looked
        }
        const std::chrono::duration<double> taken = Clock::now() - begin;
        if (chunks > 0 && taken > patience) {
            put(erase + progress_line(progress_.done, chunks, taken.count()));
            drawn = true;
        } else if (drawn) {
            put(erase);
            drawn = false;
        }
    }
    if (drawn) put(erase);
}

}  // namespace weld
