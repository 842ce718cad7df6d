// What the compiler tells its user: errors and warnings, drawn with the source line and a caret.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weldir/support/source.h"

namespace weld {

enum class Severity { Error, Warning };

/// One finding. `message` is lower case, no full stop, code in backticks: what is the case, then the
/// rule; hints go into labels and notes.
struct Diagnostic {
    Severity severity = Severity::Error;
    Loc loc;
    std::string message;
    std::vector<std::pair<Loc, std::string>> labels;  ///< further places, drawn under their lines
    std::vector<std::string> notes;                   ///< lines "note: ..." after the drawing

    Diagnostic& label(Loc at, std::string text) {
        labels.emplace_back(at, std::move(text));
        return *this;
    }
    Diagnostic& note(std::string text) {
        notes.push_back(std::move(text));
        return *this;
    }
};

/// Collects findings in the order in which they were made; draws them sorted by place.
class Diagnostics {
  public:
    static constexpr std::size_t kMaxErrors = 100;  ///< further errors (or warnings) are counted, not kept

    template <class... Args>
    Diagnostic& error(Loc loc, fmt::format_string<Args...> text, Args&&... args) {
        return add(Severity::Error, loc, fmt::format(text, std::forward<Args>(args)...));
    }
    template <class... Args>
    Diagnostic& warning(Loc loc, fmt::format_string<Args...> text, Args&&... args) {
        return add(Severity::Warning, loc, fmt::format(text, std::forward<Args>(args)...));
    }
    Diagnostic& add(Severity severity, Loc loc, std::string message);

    /// Forgets all but the first `count` findings.
    void forget_after(std::size_t count);

    bool has_errors() const { return num_errors_ > 0; }
    std::size_t num_errors() const { return num_errors_; }
    const std::deque<Diagnostic>& all() const { return all_; }

    /// `FILE:LINE:COL: error: ...`, the line, a caret, labels and notes; one block per finding, and one error
    /// and one warning per place: further ones follow from the first.
    std::string draw(const Sources& sources, bool with_warnings = true) const;

  private:
    std::deque<Diagnostic> all_;  // stable references: callers go on to label what they got
    std::size_t num_errors_ = 0;
    std::size_t num_warnings_ = 0;
    Diagnostic overflow_;
};

}  // namespace weld
