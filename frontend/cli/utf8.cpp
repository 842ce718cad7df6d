// Decoding after RFC 3629: no surrogates, no overlong forms.
#include "frontend/cli/utf8.h"

#include <cstdint>

namespace weld {

/// The code point at the beginning of `text`, and how many bytes it has; 0 bytes if it is none.
static int decode(std::string_view text, std::uint32_t* code) {
    if (text.empty()) return 0;
    const auto byte = [&](std::size_t i) { return std::uint8_t(text[i]); };
    *code = byte(0);
    if (*code < 0x80) return 1;
    const int size = *code >= 0xc2 && *code < 0xe0   ? 2
                     : *code >= 0xe0 && *code < 0xf0 ? 3
                     : *code >= 0xf0 && *code < 0xf5 ? 4
                                                     : 0;
    if (!size || text.size() < std::size_t(size)) return 0;
    *code &= 0x7f >> size;
    for (int i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
        *code = *code << 6 | (byte(i) & 0x3f);
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = *code >= 0xd800 && *code < 0xe000;
    return *code < least[size] || surrogate || *code > 0x10ffff ? 0 : size;
}

int utf8_size(std::string_view text) {
    std::uint32_t code;
    return decode(text, &code);
}

int utf8_printable(std::string_view text) {
    std::uint32_t code = 0;
    const int size = decode(text, &code);
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
    return control ? 0 : size;
}

std::size_t utf8_length(std::string_view text) {
    std::size_t n = 0;
    for (; !text.empty(); ++n) {
        const int size = utf8_size(text);
        text.remove_prefix(size ? size : 1);
    }
    return n;
}

}  // namespace weld
