// Control characters are C0, DEL, C1 and the two line separators of Unicode.
#include "weldir/support/visible.h"

#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "weldir/support/utf8.h"

namespace weld {

std::size_t printable_character(std::string_view text) {
    const std::size_t size = utf8_sequence(text);
    const std::string_view character = text.substr(0, size);
    if (size == 1 && (character[0] < 0x20 || character[0] == 0x7f)) return 0;
    if (size == 2 && character >= "\xc2\x80" && character < "\xc2\xa0") return 0;
    return character == "\xe2\x80\xa8" || character == "\xe2\x80\xa9" ? 0 : size;
}

static std::string shown(std::string_view text, std::string_view kept) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t printable = printable_character(text);
        const char c = text.front();
        if (printable) out += text.substr(0, printable);
        else if (kept.find(c) != kept.npos) out += c;
        else if (c == '\n') out += "\\n";
        else if (c == '\t') out += "\\t";
        else fmt::format_to(std::back_inserter(out), "\\x{:02x}", std::uint8_t(c));
        text.remove_prefix(printable ? printable : 1);
    }
    return out;
}

std::string visible(std::string_view text) { return shown(text, ""); }
std::string visible_lines(std::string_view text) { return shown(text, "\n\t"); }

std::size_t count_characters(std::string_view text) {
    std::size_t n = 0;
    for (; !text.empty(); ++n) text.remove_prefix(utf8_step(text));
    return n;
}

std::string quoted_excerpt(std::string_view text) {
    std::string out = "`";
    for (int i = 0; i < 24 && !text.empty(); ++i) {
        const std::size_t size = printable_character(text);
        if (size) out += text.substr(0, size);
        else out += '?';
        text.remove_prefix(utf8_step(text));
    }
    return out + (text.empty() ? "`" : "...`");
}

}  // namespace weld
