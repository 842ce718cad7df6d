// First `measure` finds how wide each group is on one line; then the tokens are written.
#include "weldir/ir/print_layout.h"

#include <algorithm>
#include <cstddef>

namespace weld {

namespace {

constexpr int kColumns = 100;
constexpr int kMaxIndent = 60;  // deeper programs stay readable, and their text linear in their size
constexpr std::int64_t kEndless = 1 << 20;

/// Sets the width of each group, and of what follows each Fill, and returns for each token how much text
/// follows before the next possible break.
std::vector<std::int64_t> measure(std::vector<Token>& tokens) {
    struct Group {
        std::size_t open, fill;
        std::int64_t start, fill_start;
    };
    std::vector<Group> groups;
    std::int64_t at = 0;
    constexpr std::size_t none = std::size_t(-1);
    auto end_fill = [&](Group& g) {
        if (g.fill != none) tokens[g.fill].width = at - g.fill_start;
        g.fill = none;
    };
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        Token& t = tokens[i];
        switch (t.kind) {
            case TokenKind::Text: at += t.size; break;
            case TokenKind::Open: groups.push_back({i, none, at, 0}); break;
            case TokenKind::Close:
                end_fill(groups.back());
                tokens[groups.back().open].width = at - groups.back().start;
                groups.pop_back();
                break;
            case TokenKind::Space: ++at; break;
            case TokenKind::Fill:
                end_fill(groups.back());
                groups.back().fill = i;
                groups.back().fill_start = ++at;
                break;
            case TokenKind::Line: at += kEndless; break;
            default: break;
        }
    }
    std::vector<std::int64_t> tail(tokens.size() + 1, 0);
    for (std::size_t i = tokens.size(); i-- > 0;) {
        const TokenKind k = tokens[i].kind;
        const bool is_break =
            k == TokenKind::Space || k == TokenKind::Empty || k == TokenKind::Fill || k == TokenKind::Line;
        tail[i] = is_break ? 0 : tail[i + 1] + (k == TokenKind::Text ? tokens[i].size : 0);
    }
    return tail;
}

/// For each Open, the index of its Close.
std::vector<std::size_t> closing(const std::vector<Token>& tokens) {
    std::vector<std::size_t> at(tokens.size(), 0), open;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i].kind == TokenKind::Open) open.push_back(i);
        if (tokens[i].kind != TokenKind::Close) continue;
        at[open.back()] = i;
        open.pop_back();
    }
    return at;
}

}  // namespace

std::string lay_out(std::vector<Token>& tokens, std::string_view buffer) {
    const std::vector<std::int64_t> tail = measure(tokens);
    const std::vector<std::size_t> close = closing(tokens);
    std::string out;
    std::vector<bool> broken = {true};
    std::int64_t column = 0;
    int indent = 0;
    auto new_line = [&] {
        while (!out.empty() && out.back() == ' ') out.pop_back();
        out += '\n';
        column = std::min(indent, kMaxIndent);
        out.append(std::size_t(column), ' ');
    };
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const Token& t = tokens[i];
        switch (t.kind) {
            case TokenKind::Text:
                out += buffer.substr(t.begin, t.size);
                column += t.size;
                break;
            case TokenKind::Open:
                broken.push_back(broken.back() && column + t.width + tail[close[i]] > kColumns);
                break;
            case TokenKind::Close: broken.pop_back(); break;
            case TokenKind::Indent: indent += t.indent; break;
            case TokenKind::Dedent: indent -= t.indent; break;
            case TokenKind::Line: new_line(); break;
            case TokenKind::Node: break;
            case TokenKind::Space:
            case TokenKind::Empty:
            case TokenKind::Fill: {
                const bool fits = t.kind == TokenKind::Fill && column + 1 + t.width <= kColumns;
                if (broken.back() && !fits) {
                    new_line();
                } else if (t.kind != TokenKind::Empty) {
                    out += ' ';
                    ++column;
                }
            }
        }
    }
    return out;
}

}  // namespace weld
