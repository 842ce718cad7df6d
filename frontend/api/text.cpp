// Control characters are C0, DEL, C1 and the two line separators of Unicode.
#include "frontend/api/text.h"

#include "weldir/support/utf8.h"

namespace weld {

std::size_t printable_character(std::string_view text) {
    const std::size_t size = utf8_sequence(text);
    const std::string_view character = text.substr(0, size);
    if (size == 1 && (character[0] < 0x20 || character[0] == 0x7f)) return 0;
    if (size == 2 && character >= "\xc2\x80" && character < "\xc2\xa0") return 0;
    return character == "\xe2\x80\xa8" || character == "\xe2\x80\xa9" ? 0 : size;
}

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
