// Cutting a text of separated values (RFC 4180) into rows and fields.
//
// A field may stand in quotes, with quotes inside doubled, and then holds delimiters and ends of lines. Lines
// end with LF or CRLF; the last one need not. Where a row has several fields an empty line is none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace weld::runtime {

/// A field of the text, without its quotes.
struct CsvField {
    std::string_view text;
    bool is_quoted = false;
    bool has_doubled_quotes = false;
    bool is_closed = true;
    bool has_more = false;  ///< something stands between the closing quote and the end of the field

    /// What makes it no field of RFC 4180, or nothing.
    std::string_view wrong() const {
        if (!is_closed) return "the quoted field is not closed";
        if (has_more) return "text after a quoted field";
        if (!is_quoted && text.find('\r') != text.npos)
            return "a carriage return within a field; lines end with LF or CRLF";
        return {};
    }
    /// Writes the text with quotes single to `to`, which has room for it; the size.
    std::size_t without_doubled_quotes(char* to) const {
        const char* const begin = to;
        for (std::size_t i = 0; i < text.size(); ++i) {
            *to++ = text[i];
            i += text[i] == '"';
        }
        return std::size_t(to - begin);
    }
};

class CsvText {
  public:
    CsvText(std::string_view text, char delimiter, bool empty_rows)
        : text_(text), delimiter_(delimiter), empty_rows_(empty_rows) {}

    /// A text without its byte order mark.
    static std::string_view body(std::string_view text) {
        return text.substr(text.starts_with("\xef\xbb\xbf") ? 3 : 0);
    }

    std::string_view text() const { return text_; }
    std::size_t size() const { return text_.size(); }
    char delimiter() const { return delimiter_; }
    bool has_empty_rows() const { return empty_rows_; }

    /// Where the next row begins, at `at` or after it.
    std::size_t skip_empty(std::size_t at) const {
        while (!empty_rows_ && at < size() && is_end(at)) at = after_end(at);
        return at;
    }
    /// No other field follows in the row.
    bool is_end(std::size_t at) const {
        return at >= size() || text_[at] == '\n' ||
               (text_[at] == '\r' && (at + 1 == size() || text_[at + 1] == '\n'));
    }
    std::size_t after_end(std::size_t at) const {
        if (at < size() && text_[at] == '\r') ++at;
        return std::min(at + 1, size());
    }
    bool is_delimiter(std::size_t at) const { return at < size() && text_[at] == delimiter_; }

    /// Takes a field; `at` is then at the delimiter after it, or at the end of the row.
    CsvField take(std::size_t& at) const {
        CsvField field;
        field.is_quoted = at < size() && text_[at] == '"';
        if (field.is_quoted) {
            const std::size_t begin = ++at;
            for (;; at += 2) {
                at = std::min(text_.find('"', at), size());
                if (at + 1 >= size() || text_[at + 1] != '"') break;
                field.has_doubled_quotes = true;
            }
            field.is_closed = at < size();
            field.text = text_.substr(begin, at - begin);
            at += field.is_closed;
        }
        const std::size_t begin = at;
        while (at < size() && text_[at] != delimiter_ && text_[at] != '\n') ++at;
        if (at > begin && text_[at - 1] == '\r' && is_end(at)) --at;
        if (!field.is_quoted) field.text = text_.substr(begin, at - begin);
        else field.has_more = at > begin;
        return field;
    }

    std::size_t skip_row(std::size_t at) const {
        for (take(at); is_delimiter(at);) take(++at);
        return after_end(at);
    }

  private:
    std::string_view text_;
    char delimiter_;
    bool empty_rows_;
};

}  // namespace weld::runtime
