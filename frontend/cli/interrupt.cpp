// The handlers do nothing but set flags, set a timer, remove temporary files, and leave.
#include "frontend/cli/interrupt.h"

#include <csignal>
#include <string_view>

#include <sys/time.h>
#include <unistd.h>

#include "runtime/io/new_files.h"
#include "runtime/run.h"

namespace weld {

static volatile std::sig_atomic_t run_is_on = 0;
static std::atomic<std::int32_t> stop = 0;
static volatile std::sig_atomic_t wait_for_run = 0;

[[noreturn]] static void leave() {
    remove_temporaries();
    constexpr std::string_view message = "\nweld-cli: interrupted\n";
    [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, message.data(), message.size());
    ::_exit(kInterrupted);
}

static void set_timer(int milliseconds) {
    const itimerval timer{{0, 0}, {0, milliseconds * 1000}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
}

static void on_interrupt(int) {
    if (!run_is_on || stop & runtime::kCancelled) leave();
    stop |= runtime::kCancelled;
    if (!wait_for_run) set_timer(50);
}

static void on_alarm(int) {
    if (stop & runtime::kCancelled) leave();
}

/// Other signals that end the process by themselves.
static void on_end(int signal) {
    remove_temporaries();
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // when this returns
}

void catch_interrupts(bool patient) {
    wait_for_run = patient;
    struct sigaction action{}, before{};
    action.sa_flags = SA_RESTART;
    ::sigfillset(&action.sa_mask);
    action.sa_handler = on_end;
    for (int signal : {SIGTERM, SIGHUP, SIGQUIT})
        if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
            ::sigaction(signal, &action, nullptr);
    action.sa_handler = on_alarm;
    ::sigaction(SIGALRM, &action, nullptr);
    action.sa_handler = on_interrupt;
    ::sigaction(SIGINT, &action, nullptr);
}

Interruptible::Interruptible() : inside_another_(run_is_on) {
    if (inside_another_) return;
    stop = 0;
    run_is_on = 1;
}

Interruptible::~Interruptible() {
    if (inside_another_) return;
    run_is_on = 0;
    set_timer(0);
    stop = 0;
}

std::atomic<std::int32_t>* Interruptible::stop_flag() { return &stop; }

bool Interruptible::interrupted() { return stop & runtime::kCancelled; }

}  // namespace weld
