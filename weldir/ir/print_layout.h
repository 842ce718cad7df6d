// Texts in lines: tokens with possible breaks, and groups around them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weld {

enum class TokenKind : std::uint8_t {
    Text,
    Open,  // a group: on one line if it fits, else all its breaks are new lines
    Close,
    Indent,  // lines that begin from here on are indented by `width` more
    Dedent,
    Space,  // a break that is a space if its group stays on one line
    Empty,  // a break that is nothing
    Fill,   // a space, or a new line only if what follows up to the next Fill does not fit
    Line,   // always a new line
    Node,   // (work list of who makes tokens only)
};

struct Token {
    TokenKind kind;
    std::int8_t indent = 0;
    std::uint32_t begin = 0, size = 0;  // Text: place in the buffer
    std::int64_t width = 0;             // Open, Fill: columns on one line
};

/// The tokens as text. A group that fits into the rest of its line stays on it; all breaks of one that does
/// not become new lines. `buffer` holds what their texts are. Linear in the tokens, and not recursive.
std::string lay_out(std::vector<Token>& tokens, std::string_view buffer);

}  // namespace weld
