// Text to tokens, in one pass over the bytes.
#include "frontend/text/lexer.h"

#include <algorithm>
#include <array>

#include "weldir/support/utf8.h"

namespace weld {
namespace {

enum CharClass : std::uint8_t { kSpace = 1, kDigit = 2, kLetter = 4, kDollar = 8 };

constexpr std::array<std::uint8_t, 256> make_classes() {
    std::array<std::uint8_t, 256> out = {};
    for (char c : {' ', '\t', '\n', '\r', '\f', '\v'}) out[std::uint8_t(c)] = kSpace;
    for (int c = '0'; c <= '9'; ++c) out[std::size_t(c)] = kDigit;
    for (int c = 'a'; c <= 'z'; ++c) out[std::size_t(c)] = out[std::size_t(c - 'a' + 'A')] = kLetter;
    out['_'] = kLetter;
    out['$'] = kDollar;
    return out;
}
constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

constexpr bool is(char c, int classes) { return kClasses[std::uint8_t(c)] & classes; }

class Lexer {
  public:
    Lexer(std::string_view text, Loc base, const Language& language, Diagnostics& diagnostics)
        : text_(text),
          base_(base),
          language_(language),
          name_start_(kLetter | (language.dollar_in_names ? kDollar : 0)),
          diagnostics_(diagnostics) {
        tokens_.reserve(text.size() / 3 + 1);
    }

    std::vector<Token> run() {
        while (skip_blank(), at_ < text_.size()) next();
        const Loc end = place(end_);
        tokens_.push_back({language_.end, end, 0});
        return std::move(tokens_);
    }

  private:
    Loc place(std::size_t offset) const { return {base_.offset + std::uint32_t(offset)}; }
    char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    bool digit(std::size_t ahead) const { return is(peek(ahead), kDigit); }

    bool at_text(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
    bool at_comment() const {
        return std::ranges::any_of(language_.line_comments, [&](auto mark) { return at_text(mark); }) ||
               (language_.block_comments && at_text("/*"));
    }

    void skip_blank() {
        for (;;) {
            while (at_ < text_.size() && is(text_[at_], kSpace)) ++at_;
            if (at_ == text_.size() || !at_comment()) return;
            comment();
            end_ = at_;
        }
    }

    void comment() {
        const bool block = language_.block_comments && at_text("/*");
        const std::size_t end = block ? text_.find("*/", at_ + 2) : text_.find('\n', at_);
        if (block && end == text_.npos)
            diagnostics_.error(place(at_), "this comment does not end; a `*/` is missing");
        at_ = end == text_.npos ? text_.size() : block ? end + 2 : end;
    }

    void next() {
        const std::size_t start = at_;
        const char c = text_[at_];
        if (is(c, name_start_)) word(start);
        else if (is(c, kDigit)) number(start);
        else if (c == '"') string(start);
        else if (const TokenRow* row = mark()) push(row->kind, start, at_ + row->text.size());
        else bad(start);
    }

    void push(std::uint8_t kind, std::size_t start, std::size_t end) {
        tokens_.push_back({kind, place(start), std::uint32_t(end - start)});
        at_ = end_ = end;
    }

    std::size_t word_end(std::size_t from) const {
        while (from < text_.size() && is(text_[from], name_start_ | kDigit)) ++from;
        return from;
    }

    void word(std::size_t start) {
        const std::size_t end = word_end(start);
        const TokenRow* reserved = language_.words->find(text_.substr(start, end - start));
        push(reserved ? reserved->kind : language_.name, start, end);
    }

    void digits() {
        const std::string_view between = language_.separators;
        while (digit(0) || (digit(1) && at_ < text_.size() && between.find(text_[at_]) != between.npos))
            ++at_;
    }

    void number(std::size_t start) {
        const bool radix =
            peek() == '0' && (peek(1) == 'x' || peek(1) == 'X' || peek(1) == 'b' || peek(1) == 'B');
        if (!radix) {
            digits();
            if (peek() == '.' && digit(1)) ++at_, digits();
            const bool sign = peek(1) == '+' || peek(1) == '-';
            if ((peek() == 'e' || peek() == 'E') && digit(sign ? 2 : 1)) at_ += sign ? 2 : 1, digits();
        }
        push(language_.number, start, word_end(at_));
    }

    void string(std::size_t start) {
        for (++at_; at_ < text_.size() && text_[at_] != '"';) {
            const std::size_t step = text_[at_] == '\\' && at_ + 1 < text_.size() ? 1 : 0;
            const std::size_t length = utf8_sequence(text_.substr(at_ + step));
            if (length == 0 || text_[at_ + step] == '\0')
                diagnostics_.error(place(at_ + step), "{} in a string literal", describe(at_ + step));
            at_ += step + (length ? length : 1);
        }
        if (at_ >= text_.size()) {
            diagnostics_.error(place(start), "this string literal does not end; a `\"` is missing");
            at_ = text_.size() - 1;
        }
        push(language_.string, start, at_ + 1);
    }

    const TokenRow* mark() const {
        const TokenRow* best = nullptr;
        for (const TokenRow& row : language_.marks) {
            if (row.text[0] != text_[at_] || text_.substr(at_, row.text.size()) != row.text) continue;
            if (!best || row.text.size() > best->text.size()) best = &row;
        }
        return best;
    }

    std::string describe(std::size_t at) const {
        const std::size_t length = utf8_sequence(text_.substr(at));
        const unsigned byte = std::uint8_t(text_[at]);
        if (length == 0) return fmt::format("invalid UTF-8: byte 0x{:02x}", byte);
        if (byte < 0x20 || byte == 0x7F) return fmt::format("unexpected control character 0x{:02x}", byte);
        return fmt::format("unexpected character `{}`", text_.substr(at, length));
    }

    /// One report for bytes like this one that follow each other: a binary file is one mistake, not a
    /// thousand.
    void bad(std::size_t start) {
        const std::string message = describe(start);
        while (at_ < text_.size() && !is(text_[at_], kSpace | kDigit | name_start_) && !mark() &&
               text_[at_] != '"' && !at_comment())
            at_ += utf8_step(text_.substr(at_));
        diagnostics_.error(place(start), "{}", message);
        push(language_.bad, start, at_);
    }

    std::string_view text_;
    Loc base_;
    const Language& language_;
    int name_start_;  // classes of what a name begins with
    Diagnostics& diagnostics_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    std::size_t end_ = 0;  // of the last token or comment
};

}  // namespace

std::vector<Token> lex(const Sources& sources, Loc begin, const Language& language,
                       Diagnostics& diagnostics) {
    return Lexer(sources.text(begin), begin, language, diagnostics).run();
}

}  // namespace weld
