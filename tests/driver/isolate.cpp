// Forking, and a pipe with texts of known length.
#include "tests/driver/isolate.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "tests/interp/interp.h"

namespace weld::driver {

static void write_all(int fd, const void* data, std::size_t n) {
    const char* at = static_cast<const char*>(data);
    while (n > 0) {
        const ssize_t written = write(fd, at, n);
        if (written <= 0) _exit(1);
        at += written;
        n -= std::size_t(written);
    }
}

static void send(int fd, const std::string& text) {
    const std::uint64_t size = text.size();
    write_all(fd, &size, sizeof size);
    write_all(fd, text.data(), text.size());
}

/// Moves whole texts from the front of `buffer` to `reports`.
static void take_reports(std::string& buffer, std::vector<std::string>& reports) {
    std::size_t at = 0;
    for (std::uint64_t size; buffer.size() - at >= sizeof size; at += sizeof size + size) {
        memcpy(&size, buffer.data() + at, sizeof size);
        if (buffer.size() - at - sizeof size < size) break;
        reports.push_back(buffer.substr(at + sizeof size, size));
    }
    buffer.erase(0, at);
}

/// What all threads of a process took so far.
static double processor_seconds(pid_t process) {
    clockid_t clock;
    timespec t{};
    if (clock_getcpuclockid(process, &clock) == 0) clock_gettime(clock, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

/// Notices that a process works for too long, or waits for what never comes.
class Patience {
  public:
    Patience(pid_t process, int seconds) : process_(process), seconds_(seconds) { renew(); }
    void renew() {
        since_ = worked_ = processor_seconds(process_);
        idle_ = 0;
    }
    /// To be asked about once a second. What went wrong, or nothing.
    std::string ends() {
        const double now = processor_seconds(process_);
        if (now - worked_ > 0.02) idle_ = 0, worked_ = now;
        else ++idle_;
        if (now - since_ > seconds_)
            return "no end after " + std::to_string(seconds_) + " s of processor time";
        return idle_ > seconds_ ? "it does nothing for " + std::to_string(seconds_) + " s" : "";
    }

  private:
    pid_t process_;
    int seconds_, idle_ = 0;
    double since_ = 0, worked_ = 0;
};

/// Reads until the other end closes, or patience ends: says so then.
static std::string read_reports(int fd, Patience patience, std::vector<std::string>& reports) {
    std::string buffer;
    char piece[1 << 16];
    for (;;) {
        pollfd p{fd, POLLIN, 0};
        if (poll(&p, 1, 1000) == 0) {
            if (std::string wrong = patience.ends(); !wrong.empty()) return wrong;
            continue;
        }
        const ssize_t n = read(fd, piece, sizeof piece);
        if (n <= 0) return {};
        patience.renew();
        buffer.append(piece, std::size_t(n));
        take_reports(buffer, reports);
    }
}

Isolated run_isolated(const std::function<void(const std::function<void(const std::string&)>& report)>& work,
                      int seconds) {
    Isolated out;
    int ends[2];
    if (pipe(ends) != 0) {
        out.ended_badly = "there is no pipe";
        return out;
    }
    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        interp::on_big_stack([&] { work([&](const std::string& text) { send(ends[1], text); }); });
        fflush(nullptr);
        _exit(0);
    }
    close(ends[1]);
    out.ended_badly = read_reports(ends[0], Patience(child, seconds), out.reports);
    out.timed_out = !out.ended_badly.empty();
    if (out.timed_out) kill(child, SIGKILL);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (!out.ended_badly.empty()) return out;
    if (WIFSIGNALED(status))
        out.ended_badly =
            "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
    else if (WEXITSTATUS(status) != 0) out.ended_badly = "exit code " + std::to_string(WEXITSTATUS(status));
    return out;
}

}  // namespace weld::driver
