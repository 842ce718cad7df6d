// Lines from a terminal, with editing and a history that outlives the session.
#pragma once

#include <string>

namespace weld {

/// What came of asking for a line.
enum class LineEnd { Line, Cancelled, End };

class LineEditor {
  public:
    /// Loads libedit, now and not at the start of the process; without it lines are read plainly.
    explicit LineEditor(std::string history_file);
    ~LineEditor();
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    /// Asks for a line; Ctrl-C cancels it, Ctrl-D ends.
    LineEnd read(const char* prompt, std::string* line);
    /// Puts a line into the history.
    void remember(const std::string& line);

  private:
    LineEnd read_plainly(const char* prompt, std::string* line);

    std::string history_file_;
    char* (*readline_)(const char*) = nullptr;
    int (*add_history_)(const char*) = nullptr;
    int (*write_history_)(const char*) = nullptr;
};

}  // namespace weld
