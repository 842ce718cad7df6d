// Code points: what a column counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weld {

/// Bytes of the UTF-8 sequence that `text` begins with, 1...4; 0 if it begins with none (overlong forms,
/// surrogates and values past U+10FFFF are none) or is empty.
inline std::size_t utf8_sequence(std::string_view text) {
    if (text.empty()) return 0;
    auto byte = [&](std::size_t i) { return std::uint8_t(text[i]); };
    const std::uint8_t lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead < 0xC2 || lead > 0xF4) return 0;
    const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    const std::uint8_t second = byte(1);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
    if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
    return length;
}

/// The same, but a byte that begins no sequence counts as one by itself. 0 only at the end.
inline std::size_t utf8_step(std::string_view text) {
    const std::size_t length = utf8_sequence(text);
    return length ? length : text.empty() ? 0 : 1;
}

}  // namespace weld
