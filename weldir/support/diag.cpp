// Findings, and how they are drawn:
//
//   mean.weld:2:52: error: `merge` into `merger[f64,+]` takes `f64`, found `i64`
//   2 |   result(for(xs, merger[f64,+], |b, i, x| merge(b, i)))
//     |                                     -              ^
//     |                                     the loop index is `i64`; write `f64(i)` to convert
//
// A line is cut to the neighbourhood of its marks, so that a program on one line of megabytes can be drawn
// too; bytes that are no text, and control characters, are drawn as one replacement character each.
#include "weldir/support/diag.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "weldir/support/utf8.h"
#include "weldir/support/visible.h"

namespace weld {

/// Messages name what they found, which may be a number of a million digits: the middle of those is left out.
static std::string shortened(std::string message) {
    constexpr std::size_t kKept = 1000;  // bytes on each side
    if (message.size() <= 3 * kKept) return message;
    std::size_t first = kKept, last = message.size() - kKept;
    auto inside = [&](std::size_t at) { return (std::uint8_t(message[at]) & 0xC0) == 0x80; };
    while (first > 0 && inside(first)) --first;
    while (last < message.size() && inside(last)) ++last;
    return message.replace(first, last - first, "…");
}

Diagnostic& Diagnostics::add(Severity severity, Loc loc, std::string message) {
    std::size_t& count = severity == Severity::Error ? num_errors_ : num_warnings_;
    if (++count > kMaxErrors) {
        overflow_ = {};
        return overflow_;
    }
    all_.push_back({severity, loc, shortened(std::move(message)), {}, {}});
    return all_.back();
}

void Diagnostics::forget_after(std::size_t count) {
    all_.resize(std::min(count, all_.size()));
    num_errors_ = num_warnings_ = 0;
    for (const Diagnostic& d : all_) ++(d.severity == Severity::Error ? num_errors_ : num_warnings_);
}

namespace {

constexpr std::uint32_t kWindow = 100;  // code points of a line that are shown at most
constexpr std::uint32_t kBefore = 60;   // of these before the mark, when the line has to be cut

/// Marks under one line, by column.
using Marks = std::map<std::uint32_t, std::pair<char, std::string>>;

/// The part of a line that is shown: `text` begins with column `first`.
struct Excerpt {
    std::string text;
    std::uint32_t first = 1;
};

Excerpt excerpt(std::string_view line, std::uint32_t column) {
    Excerpt out;
    std::uint32_t length = 0;
    const std::uint32_t reach = column + kWindow;  // as far as has to be read to know whether to cut
    for (std::string_view rest = line; !rest.empty() && length <= reach; ++length)
        rest.remove_prefix(utf8_step(rest));
    if (length > kWindow && column > kBefore) out.first = column - kBefore;
    if (out.first > 1) out.text = "…";
    std::uint32_t at = 1;
    while (!line.empty() && at < out.first + kWindow) {
        const std::size_t valid = utf8_sequence(line);
        const std::size_t step = valid ? valid : 1;
        if (at > out.first || (at == out.first && out.first == 1)) {
            if (line[0] == '\t') out.text += ' ';
            else if (!printable_character(line)) out.text += "\uFFFD";
            else out.text += line.substr(0, step);
        }
        line.remove_prefix(step);
        ++at;
    }
    if (!line.empty()) out.text += "…";
    return out;
}

void append_row(std::string& out, std::size_t margin, const std::string& row) {
    out.append(margin, ' ');
    out += " | ";
    out += row;
    while (out.back() == ' ') out.pop_back();
    out += '\n';
}

void draw_line(std::string& out, std::string_view line, std::uint32_t number, std::uint32_t column,
               const Marks& marks) {
    const std::string label = std::to_string(number);
    const Excerpt shown = excerpt(line, column);
    out += label + " | " + shown.text + '\n';
    auto offset = [&](std::uint32_t c) {  // where a column stands in the row, if it is shown
        return c >= shown.first && c <= shown.first + kWindow ? std::size_t(c - shown.first)
                                                              : std::string::npos;
    };
    std::string row;
    for (const auto& [c, mark] : marks)
        if (const std::size_t at = offset(c); at != std::string::npos)
            (row.append(at - row.size(), ' ')) += mark.first;
    append_row(out, label.size(), row);
    for (auto m = marks.rbegin(); m != marks.rend(); ++m) {  // from the right, so that none hides another
        if (m->second.second.empty()) continue;
        const std::size_t at = offset(m->first);
        append_row(out, label.size(),
                   std::string(at == std::string::npos ? 0 : at, ' ') + visible(m->second.second));
    }
}

/// The line of the finding with all marks on it, then the other lines that labels point to.
void draw_places(std::string& out, const Diagnostic& d, const Sources& sources) {
    const Position main = sources.position(d.loc);
    Marks marks = {{main.column, {'^', ""}}};
    for (const auto& [loc, text] : d.labels) {
        const Position at = sources.position(loc);
        if (at.line != main.line || at.file != main.file) continue;
        auto& mark = marks.try_emplace(at.column, '-', "").first->second;
        mark.second += (mark.second.empty() ? "" : "; ") + text;
    }
    draw_line(out, sources.line(d.loc), main.line, main.column, marks);
    for (const auto& [loc, text] : d.labels) {
        const Position at = sources.position(loc);
        if (at.line == 0 || (at.line == main.line && at.file == main.file)) continue;
        draw_line(out, sources.line(loc), at.line, at.column, {{at.column, {'-', text}}});
    }
}

void draw(std::string& out, const Diagnostic& d, const Sources& sources) {
    const char* kind = d.severity == Severity::Error ? "error" : "warning";
    const std::string message = visible_lines(d.message);
    if (const Position at = sources.position(d.loc); at.line) {
        fmt::format_to(std::back_inserter(out), "{}:{}:{}: {}: {}\n", visible(at.file), at.line, at.column,
                       kind, message);
        draw_places(out, d, sources);
    } else {
        fmt::format_to(std::back_inserter(out), "{}: {}\n", kind, message);
        for (const auto& label : d.labels) out += "note: " + visible_lines(label.second) + '\n';
    }
    for (const std::string& note : d.notes) out += "note: " + visible_lines(note) + '\n';
}

}  // namespace

std::string Diagnostics::draw(const Sources& sources, bool with_warnings) const {
    std::vector<const Diagnostic*> sorted;
    for (const Diagnostic& d : all_)
        if (with_warnings || d.severity == Severity::Error) sorted.push_back(&d);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Diagnostic* a, const Diagnostic* b) { return a->loc < b->loc; });
    std::string out;
    std::set<std::pair<Severity, Loc>> seen;  // what else is wrong at one place follows from the first
    for (const Diagnostic* d : sorted)
        if (!d->loc || seen.emplace(d->severity, d->loc).second) weld::draw(out, *d, sources);
    if (num_errors_ > kMaxErrors)
        fmt::format_to(std::back_inserter(out), "{} more errors\n", num_errors_ - kMaxErrors);
    return out;
}

}  // namespace weld
