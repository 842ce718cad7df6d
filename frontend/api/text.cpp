// By characters of UTF-8.
#include "frontend/api/text.h"

#include "weldir/support/utf8.h"
#include "weldir/support/visible.h"

namespace weld {

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
