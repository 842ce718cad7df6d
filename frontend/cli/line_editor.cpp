// libedit by its readline interface, found with dlopen: --version and runs do not pay for it.
#include "frontend/cli/line_editor.h"

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <unistd.h>

namespace weld {

static volatile std::sig_atomic_t cancelled = 0;

static void on_cancel(int) { cancelled = 1; }

/// Ctrl-C cancels the line, for as long as this exists.
class CancelScope {
  public:
    CancelScope() {
        cancelled = 0;
        struct sigaction action{};
        action.sa_handler = on_cancel;  // no SA_RESTART: reading returns
        ::sigaction(SIGINT, &action, &before_);
    }
    ~CancelScope() { ::sigaction(SIGINT, &before_, nullptr); }

  private:
    struct sigaction before_{};
};

/// How libedit gets a byte: an interrupt ends the line.
static int next_byte(std::FILE*) {
    unsigned char byte = 0;
    for (;;) {
        const ssize_t n = ::read(STDIN_FILENO, &byte, 1);
        if (n == 1) return byte;
        if (n == 0) return EOF;
        if (errno != EINTR) return EOF;
        if (cancelled) return '\n';
    }
}

LineEditor::LineEditor(std::string history_file) : history_file_(std::move(history_file)) {
    void* library = ::dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    std::setlocale(LC_CTYPE, "");  // libedit decodes what is typed
    const auto find = [&](const char* name, auto** to) {
        *to = reinterpret_cast<std::remove_reference_t<decltype(*to)>>(::dlsym(library, name));
        return *to != nullptr;
    };
    int (**getc)(std::FILE*) = nullptr;
    int (*read_history)(const char*) = nullptr;
    void (*stifle_history)(int) = nullptr;
    int (*initialize)() = nullptr;
    const bool complete = find("rl_getc_function", &getc) && find("read_history", &read_history) &&
                          find("stifle_history", &stifle_history) && find("rl_initialize", &initialize) &&
                          find("add_history", &add_history_) && find("write_history", &write_history_) &&
                          find("readline", &readline_);
    if (!complete) return;
    *getc = next_byte;
    initialize();
    stifle_history(10'000);
    if (!history_file_.empty()) read_history(history_file_.c_str());
}

LineEditor::~LineEditor() {
    if (readline_ && !history_file_.empty()) write_history_(history_file_.c_str());
}

void LineEditor::remember(const std::string& line) {
    if (readline_) add_history_(line.c_str());
}

LineEnd LineEditor::read(const char* prompt, std::string* line) {
    const CancelScope scope;
    if (!readline_) return read_plainly(prompt, line);
    char* text = readline_(prompt);
    if (cancelled) {
        std::free(text);
        return LineEnd::Cancelled;
    }
    if (!text) return LineEnd::End;
    *line = text;
    std::free(text);
    return LineEnd::Line;
}

LineEnd LineEditor::read_plainly(const char* prompt, std::string* line) {
    std::fputs(prompt, stdout);
    std::fflush(stdout);
    line->clear();
    for (;;) {
        const int c = next_byte(nullptr);
        if (cancelled) return LineEnd::Cancelled;
        if (c == EOF) return line->empty() ? LineEnd::End : LineEnd::Line;
        if (c == '\n') return LineEnd::Line;
        *line += char(c);
    }
}

}  // namespace weld
