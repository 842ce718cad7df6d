// Texts, and the way from a Loc to a line and a column.
#include "weldir/support/source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weldir/support/utf8.h"

namespace weld {

struct Sources::File {
    std::string name;
    std::string text;
    bool internal;
    std::uint32_t base;                 // Loc of byte 0
    std::vector<std::uint32_t> starts;  // offset of each line

    std::uint32_t end() const { return base + std::uint32_t(text.size()); }  // one past the last byte
    std::size_t line_of(std::uint32_t offset) const {
        return std::size_t(std::upper_bound(starts.begin(), starts.end(), offset) - starts.begin()) - 1;
    }
};

static std::vector<std::uint32_t> line_starts(std::string_view text) {
    std::vector<std::uint32_t> starts = {0};
    for (const char *at = text.data(), *end = at + text.size();;) {
        at = static_cast<const char*>(at == end ? nullptr : std::memchr(at, '\n', std::size_t(end - at)));
        if (!at) return starts;
        starts.push_back(std::uint32_t(++at - text.data()));
    }
}

Sources::Sources() = default;
Sources::Sources(Sources&&) noexcept = default;
Sources& Sources::operator=(Sources&&) noexcept = default;
Sources::~Sources() = default;

Loc Sources::add(std::string name, std::string text, bool internal) {
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    std::vector<std::uint32_t> starts = line_starts(text);
    files_.push_back(
        std::make_unique<File>(std::move(name), std::move(text), internal, next_, std::move(starts)));
    const std::uint32_t base = next_;
    next_ = files_.back()->end() + 1;  // the place past the end belongs to this text too
    return {base};
}

const Sources::File* Sources::file_of(Loc loc) const {
    if (!loc) return nullptr;
    auto after = std::upper_bound(files_.begin(), files_.end(), loc.offset,
                                  [](std::uint32_t offset, const auto& f) { return offset < f->base; });
    if (after == files_.begin()) return nullptr;
    const File* file = std::prev(after)->get();
    return loc.offset <= file->end() ? file : nullptr;
}

bool Sources::internal(Loc loc) const {
    const File* file = file_of(loc);
    return file && file->internal;
}

std::string_view Sources::text(Loc loc) const {
    const File* file = file_of(loc);
    return file ? std::string_view(file->text) : std::string_view();
}

Position Sources::position(Loc loc) const {
    const File* file = file_of(loc);
    if (!file || file->internal) return {};
    const std::uint32_t offset = loc.offset - file->base;
    const std::size_t line = file->line_of(offset);
    std::string_view rest = std::string_view(file->text).substr(file->starts[line]);
    std::uint32_t column = 1;
    for (std::size_t left = offset - file->starts[line]; left > 0; ++column) {
        const std::size_t step = utf8_step(rest);
        rest.remove_prefix(step);
        left -= std::min(left, step);
    }
    return {file->name, std::uint32_t(line) + 1, column};
}

std::string_view Sources::line(Loc loc) const {
    const File* file = file_of(loc);
    if (!file || file->internal) return {};
    const std::size_t line = file->line_of(loc.offset - file->base);
    std::string_view text = std::string_view(file->text).substr(file->starts[line]);
    text = text.substr(0, text.find('\n'));
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    return text;
}

}  // namespace weld
