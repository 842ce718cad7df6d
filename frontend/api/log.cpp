// One level for the process.
#include "frontend/api/log.h"

#include <atomic>
#include <cstdio>
#include <string>

#include "weldir/support/visible.h"

namespace weld {

static std::atomic<LogLevel> shown{LogLevel::Off};

void set_log_level(LogLevel level) { shown = level; }
bool logs(LogLevel level) { return level <= shown.load(std::memory_order_relaxed); }

void log(LogLevel level, std::string_view text) {
    static constexpr const char* kNames[] = {"", "error", "warning", "info", "debug", "trace"};
    if (!logs(level)) return;
    const std::string shown_text = visible_lines(text);
    text = shown_text;
    std::string lines;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        (((lines += "weld: ") += kNames[int(level)]) += ": ").append(line) += '\n';
    }
    std::fwrite(lines.data(), 1, lines.size(), stderr);  // at once: lines of threads don't mix
}

}  // namespace weld
