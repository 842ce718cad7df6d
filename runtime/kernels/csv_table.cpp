// Comma-separated values, without a row of names unless said: reading in parallel, and writing.
//
// Cells may stand in quotes, with quotes inside doubled, and then hold delimiters and ends of lines. A cell
// that is no number is NaN or 0. Empty lines count only where a row has one cell; rows and cells beyond those
// wanted are passed over.
//
// The text is cut into pieces of equal size. A row belongs to the piece that it begins in. Whether a piece
// begins within quotes shows in the number of quotes before it, unless cells that are not quoted hold quotes:
// then the rows of some piece don't end where those of the next begin, and all is read as one piece.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include <fast_float/fast_float.h>

#include "runtime/io/plain_text.h"
#include "runtime/kernels/files.h"
#include "runtime/memory.h"
#include "runtime/parallel.h"

namespace weld::runtime {

template <class T>
T lenient_number(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0]))) text.remove_prefix(1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const char *begin = text.data(), *end = begin + text.size();
    if constexpr (std::is_floating_point_v<T>) {
        T value;
        return fast_float::from_chars(begin, end, value).ec == std::errc()
                   ? value
                   : std::numeric_limits<T>::quiet_NaN();
    } else if constexpr (std::is_same_v<T, Bool>) {
        const double value = lenient_number<double>(text);
        return Bool{value != 0 && !std::isnan(value)};
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
        T value = 0;
        if (text.starts_with('-')) return T(lenient_number<std::int64_t>(text));
        const std::errc error = std::from_chars(begin, end, value).ec;
        return error == std::errc::result_out_of_range ? std::numeric_limits<T>::max() : value;
    } else {
        std::int64_t value = 0;
        if (std::from_chars(begin, end, value).ec == std::errc::result_out_of_range)
            value = text.starts_with('-') ? std::numeric_limits<std::int64_t>::min()
                                          : std::numeric_limits<std::int64_t>::max();
        return T(value);
    }
}

template Bool lenient_number(std::string_view);
template std::int8_t lenient_number(std::string_view);
template std::int16_t lenient_number(std::string_view);
template std::int32_t lenient_number(std::string_view);
template std::int64_t lenient_number(std::string_view);
template std::uint8_t lenient_number(std::string_view);
template std::uint16_t lenient_number(std::string_view);
template std::uint32_t lenient_number(std::string_view);
template std::uint64_t lenient_number(std::string_view);
template float lenient_number(std::string_view);
template double lenient_number(std::string_view);

namespace {

/// A cell of the text, without its quotes.
struct Field {
    std::string_view text;
    bool has_doubled_quotes = false;
    bool is_closed = true;
};

/// Cuts a text into fields.
class CsvText {
  public:
    CsvText(std::string_view text, char delimiter, bool empty_rows)
        : text_(text), delimiter_(delimiter), empty_rows_(empty_rows) {}

    std::size_t size() const { return text_.size(); }

    /// Where the next row begins that has a cell, at `at` or after it.
    std::size_t skip_empty(std::size_t at) const {
        while (!empty_rows_ && at < size() && is_end(at)) at = after_end(at);
        return at;
    }
    /// No other cell follows in the row.
    bool is_end(std::size_t at) const {
        return at >= size() || text_[at] == '\n' ||
               (text_[at] == '\r' && (at + 1 == size() || text_[at + 1] == '\n'));
    }
    std::size_t after_end(std::size_t at) const {
        if (at < size() && text_[at] == '\r') ++at;
        return std::min(at + 1, size());
    }

    /// Takes a field; `at` is then at the delimiter after it, or at the end of the row.
    Field take(std::size_t& at) const {
        Field field;
        const bool is_quoted = at < size() && text_[at] == '"';
        if (is_quoted) {
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
        if (!is_quoted) field.text = text_.substr(begin, at - begin);
        return field;
    }

    bool is_delimiter(std::size_t at) const { return at < size() && text_[at] == delimiter_; }

    std::size_t skip_row(std::size_t at) const {
        for (take(at); is_delimiter(at);) take(++at);
        return after_end(at);
    }

  private:
    std::string_view text_;
    char delimiter_;
    bool empty_rows_;
};

/// The rows that begin in a part of the text.
struct Piece {
    std::size_t begin, end;       ///< of the part
    bool ends_in_quotes = false;  ///< as the quotes in the part say, if it doesn't begin in some
    std::size_t first = 0;        ///< where the first row begins, at or after `begin`
    std::int64_t rows = 0;
    std::size_t next = 0;  ///< where the row after the last begins
    std::string wrong;     ///< with the first bad row
};

class CsvReader {
  public:
    CsvReader(Task* task, const WeldCall* call, const TableFile& file)
        : task_(task), call_(call), file_(file), text_(body(file), file.delimiter, file.columns == 1) {}

    std::int32_t read() {
        const std::size_t start = file_.has_header ? text_.skip_row(text_.skip_empty(0)) : 0;
        columns_ = file_.columns >= 0 ? file_.columns : count_columns(text_.skip_empty(start));
        if (columns_ == 0) return fail_file(task_, call_, file_, "a table has columns");
        return read(start, kPiece) || (!is_consistent() && read(start, text_.size() + 1)) || finish();
    }

  private:
    static constexpr std::size_t kPiece = 1 << 20;

    static std::string_view body(const TableFile& file) {
        return file.bytes.substr(file.bytes.starts_with("\xef\xbb\xbf") ? 3 : 0);
    }

    std::int64_t count_columns(std::size_t at) const {
        std::int64_t count = at < text_.size();
        for (text_.take(at); text_.is_delimiter(at); text_.take(++at)) ++count;
        return count;
    }

    /// Reads all in pieces of so many bytes. Status.
    std::int32_t read(std::size_t start, std::size_t size) {
        pieces_.clear();
        for (std::size_t at = start; at < text_.size(); at += size)
            pieces_.push_back({at, std::min(at + size, text_.size())});
        if (each([&](Piece& p) { count_quotes(p); })) return kFailed;
        bool in_quotes = false;
        for (Piece& p : pieces_) {
            const bool before = in_quotes;
            in_quotes ^= p.ends_in_quotes;
            p.ends_in_quotes = before;
        }
        // Alone, a piece knows its rows by reading them.
        if (each([&](Piece& p) { pieces_.size() == 1 ? count_rows(p) : find_rows(p, p.ends_in_quotes); }))
            return kFailed;
        std::int64_t found = 0;
        std::vector<std::int64_t> first_rows;
        for (const Piece& p : pieces_) {
            first_rows.push_back(found);
            found += p.rows;
        }
        if (found < file_.rows && pieces_.size() > 1) return kOk;  // or what was counted is wrong
        if (check_table(task_, call_, file_, file_.rows >= 0 ? std::min(found, file_.rows) : found, columns_))
            return kFailed;
        rows_ = file_.rows >= 0 ? file_.rows : found;
        cells_ = file_.make(rows_, columns_);
        if (cells_.empty()) return kFailed;
        return run_parts(task_, std::int64_t(pieces_.size()), true, call_->loc,
                         [&](Task* t, int, std::int64_t i) {
                             return read_rows(t, pieces_[std::size_t(i)], first_rows[std::size_t(i)]);
                         });
    }

    template <class F>
    std::int32_t each(const F& f) {
        return run_parts(task_, std::int64_t(pieces_.size()), true, call_->loc,
                         [&](Task* t, int, std::int64_t i) {
                             f(pieces_[std::size_t(i)]);
                             return t->check_stop(call_->loc);
                         });
    }

    std::string_view bytes() const { return body(file_); }

    void count_quotes(Piece& p) const {
        const std::string_view text = bytes();
        p.ends_in_quotes =
            std::count(text.begin() + std::ptrdiff_t(p.begin), text.begin() + std::ptrdiff_t(p.end), '"') & 1;
    }

    void add_row(Piece& p, std::size_t at) const {
        if (file_.columns != 1 && text_.is_end(at)) return;
        if (p.rows++ == 0) p.first = at;
    }

    /// By the ends of lines outside of quotes.
    void find_rows(Piece& p, bool in_quotes) const {
        const std::string_view text = bytes();
        p.first = p.end;
        if (p.begin == pieces_[0].begin) add_row(p, p.begin);
        else if (!in_quotes && text[p.begin - 1] == '\n') add_row(p, p.begin);
        for (std::size_t at = p.begin; at + 1 < p.end; ++at) {
            in_quotes ^= text[at] == '"';
            if (text[at] == '\n' && !in_quotes) add_row(p, at + 1);
        }
    }

    void count_rows(Piece& p) const {
        p.first = text_.skip_empty(p.begin);
        for (std::size_t at = p.first; at < text_.size() && !task_->should_stop(); ++p.rows)
            at = text_.skip_empty(text_.skip_row(at));
    }

    std::int32_t read_rows(Task* task, Piece& p, std::int64_t row) const {
        std::size_t at = p.first;
        for (std::int64_t i = 0; i < p.rows && row + i < rows_; ++i) {
            if (i % 256 == 0 && task->check_stop(call_->loc)) return kFailed;
            std::int64_t j = 0;
            for (;; ++at) {
                const Field field = text_.take(at);
                if (!field.is_closed) p.wrong = fmt::format("row {}: quotes are not closed", row + i + 1);
                if (j < columns_ && read_cell(task, field, cells_[std::size_t(j)], row + i)) return kFailed;
                ++j;
                if (!text_.is_delimiter(at)) break;
            }
            if (j < columns_) p.wrong = fmt::format("row {} has {} of {} cells", row + i + 1, j, columns_);
            if (!p.wrong.empty()) return kOk;
            at = text_.skip_empty(text_.after_end(at));
        }
        p.next = at;
        return kOk;
    }

    std::int32_t read_cell(Task* task, const Field& field, const TableColumn& column,
                           std::int64_t row) const {
        return with_cell(column.cell, [&]<class T>() -> std::int32_t {
            if constexpr (!std::is_same_v<T, WeldVec>) {
                *static_cast<T*>(column.at(row)) = lenient_number<T>(field.text);
                return kOk;
            } else {
                return read_string(task, field, static_cast<WeldVec*>(column.at(row)));
            }
        });
    }

    std::int32_t read_string(Task* task, const Field& field, WeldVec* to) const {
        *to = {const_cast<char*>(field.text.data()), std::int64_t(field.text.size())};
        if (field.text.empty()) to->data = nullptr;
        if (!field.has_doubled_quotes) return kOk;
        char* out = allocate_array<char>(task, to->len, call_->loc);
        if (!out) return kFailed;
        to->data = out;
        for (std::size_t i = 0; i < field.text.size(); ++i) {
            *out++ = field.text[i];
            if (field.text[i] == '"') ++i;
        }
        to->len = out - static_cast<char*>(to->data);
        return kOk;
    }

    /// The rows of each piece were read up to where those of the next begin.
    bool is_consistent() const {
        if (pieces_.size() <= 1) return true;
        if (cells_.empty()) return false;
        std::int64_t row = 0;
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            row += pieces_[i].rows;
            if (row >= rows_ || !pieces_[i].wrong.empty()) break;
            std::size_t next = i + 1;
            while (next < pieces_.size() && pieces_[next].rows == 0) ++next;
            const std::size_t begin = next < pieces_.size() ? pieces_[next].first : text_.size();
            if (pieces_[i].rows > 0 && pieces_[i].next != begin) return false;
        }
        return true;
    }

    std::int32_t finish() {
        for (const Piece& p : pieces_)
            if (!p.wrong.empty()) return fail_file(task_, call_, file_, p.wrong);
        return kOk;
    }

    Task* task_;
    const WeldCall* call_;
    const TableFile& file_;
    const CsvText text_;
    std::int64_t columns_ = 0, rows_ = 0;
    std::vector<TableColumn> cells_;
    std::vector<Piece> pieces_;
};

}  // namespace

std::int32_t read_csv_table(Task* task, const WeldCall* call, const TableFile& file) {
    return CsvReader(task, call, file).read();
}

// ---- writing

static void put_string(std::string_view text, Writer& out) {
    if (text.find_first_of(",\"\r\n") == text.npos) return out.put(text);
    out.put('"');
    for (char c : text) {
        if (c == '"') out.put('"');
        out.put(c);
    }
    out.put('"');
}

void write_csv_table(const std::vector<TableColumn>& columns, std::int64_t rows, Writer& out) {
    NumberText room;
    for (std::int64_t i = 0; i < rows && !out.failed(); ++i) {
        for (std::size_t j = 0; j < columns.size() && !out.failed(); ++j) {
            if (j) out.put(',');
            with_cell(columns[j].cell, [&]<class T>() {
                const T& cell = *static_cast<const T*>(columns[j].at(i));
                if constexpr (std::is_same_v<T, WeldVec>) put_string(text_of(cell), out);
                else if constexpr (std::is_same_v<T, Bool>) out.put(cell ? '1' : '0');
                else out.put(in_full(cell, room));
            });
        }
        out.put('\n');
    }
}

}  // namespace weld::runtime
