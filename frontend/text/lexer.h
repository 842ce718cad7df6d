// One lexer for all languages: a language is a table of tokens, and what remains (names, numbers, strings,
// comments, white space) has the same shape everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weldir/support/diag.h"
#include "weldir/support/source.h"

namespace weld {

/// One row of a language's tokens.def: a mark (`<=`) or a reserved word (`let`).
struct TokenRow {
    std::string_view text;
    std::uint8_t kind;
};

/// Reserved words, found by a hash that is computed at compile time.
class WordTable {
  public:
    constexpr explicit WordTable(std::span<const TokenRow> words) {
        for (const TokenRow& row : words) {
            std::size_t at = hash(row.text);
            while (!rows_[at % kSize].text.empty()) ++at;
            rows_[at % kSize] = row;
        }
    }
    /// The row of `word`, or null.
    constexpr const TokenRow* find(std::string_view word) const {
        for (std::size_t at = hash(word); !rows_[at % kSize].text.empty(); ++at)
            if (rows_[at % kSize].text == word) return &rows_[at % kSize];
        return nullptr;
    }

  private:
    static constexpr std::size_t kSize = 512;  // several times the words of any of our languages
    static constexpr std::size_t hash(std::string_view word) {
        std::size_t h = 0xCBF29CE484222325u;
        for (char c : word) h = (h ^ std::uint8_t(c)) * 0x100000001B3u;
        return h >> 20;
    }
    TokenRow rows_[kSize] = {};
};

/// What the lexer has to know of a language.
struct Language {
    std::span<const TokenRow> marks;  ///< the longest that fits is taken
    const WordTable* words;
    std::span<const std::string_view> line_comments;  ///< each begins a comment that ends with the line
    bool block_comments;                              ///< `/* ... */`, not nested
    bool dollar_in_names;
    std::string_view separators;                  ///< one of these may stand between two digits
    std::uint8_t name, number, string, end, bad;  ///< kinds of the tokens that no table can list
};

struct Token {
    std::uint8_t kind;
    Loc loc;               ///< of its first byte
    std::uint32_t length;  ///< bytes
};

/// Cuts the text that begins at `begin` into tokens, the last of kind `end` (its place is after the last
/// token or comment). Names are `[A-Za-z_][A-Za-z0-9_]*`, with `$` where the language has it. A number is
/// everything from a digit on that could be meant as one (`12abc`, `1e+3`, `0x1fu8`): the parser judges. A
/// string keeps its quotes and escapes. Bytes that begin no token are reported, and become one token `bad`
/// per run of them.
std::vector<Token> lex(const Sources& sources, Loc begin, const Language& language, Diagnostics& diagnostics);

}  // namespace weld
