// Three steps: find rows, make the columns, fill them.
#include "runtime/csv/read.h"

#include <atomic>
#include <cctype>
#include <cstring>

#include <fmt/format.h>

#include "runtime/csv/cell.h"
#include "runtime/csv/rows.h"
#include "runtime/kernels/cells.h"
#include "runtime/memory.h"
#include "runtime/parallel.h"
#include "weldir/support/visible.h"

namespace weld::runtime {

std::int64_t count_fields(const CsvText& text, std::size_t at) {
    std::int64_t count = at < text.size();
    for (text.take(at); text.is_delimiter(at); text.take(++at)) ++count;
    return count;
}

namespace {

/// The rows that begin in a part of the text.
struct Piece {
    std::size_t begin, end;  ///< of the part
    RowScan scan;
    RowScan::Rows rows;
    std::int64_t first_row = 0;
    std::size_t next = 0;  ///< where the row after the last begins
    CsvProblem problem;    ///< of the first bad row
};

class CsvReader {
  public:
    CsvReader(Task* task, const CsvRequest& request)
        : task_(task), r_(request), text_(request.text, request.delimiter, request.fields == 1) {
        const auto c = static_cast<unsigned char>(r_.delimiter);
        numbers_may_hold_delimiter_ = std::isalnum(c) || std::strchr("+-.()", c);
    }

    std::int32_t read(CsvProblem* problem) {
        for (std::size_t at = r_.start; at < text_.size(); at += kPiece)
            pieces_.push_back({at, std::min(at + kPiece, text_.size()), {}, {}});
        if (find_by_quotes() || fill()) return kFailed;
        if (!is_consistent() && (find_one_by_one() || fill())) return kFailed;
        for (Piece& p : pieces_) {
            if (p.problem.what.empty()) continue;
            *problem = std::move(p.problem);
            break;
        }
        return kOk;
    }

  private:
    static constexpr std::size_t kPiece = 1 << 20;
    static constexpr std::size_t kBytesBetweenLooks = 1 << 16;  ///< whether to stop

    template <class F>
    std::int32_t each(const F& f) {
        return run_parts(task_, std::int64_t(pieces_.size()), true, r_.loc,
                         [&](Task* t, int, std::int64_t i) { return f(t, pieces_[std::size_t(i)]); });
    }

    // ---- where rows begin

    std::int32_t find_by_quotes() {
        const bool alone = pieces_.size() <= 1;  // then it is as quick to look at each row
        if (alone) return find_one_by_one();
        if (each([&](Task* t, Piece& p) {
                if (p.begin > r_.start) p.scan = scan_rows(text_, p.begin, p.end);
                else p.scan = scan_first(p);
                return t->check_stop(r_.loc);
            }))
            return kFailed;
        bool within = false;
        for (Piece& p : pieces_) {
            p.rows = within ? p.scan.within : p.scan.outside;
            within ^= p.scan.odd_quotes;
        }
        number_rows();
        return kOk;
    }

    /// A row begins with the text.
    RowScan scan_first(const Piece& p) const {
        RowScan found = scan_rows(text_, p.begin + 1, p.end);
        if (text_.text()[p.begin] == '"') {
            found.odd_quotes = !found.odd_quotes;
            found.outside = found.within;
        }
        if (!text_.has_empty_rows() && text_.is_end(p.begin)) return found;
        found.outside.first = p.begin;
        ++found.outside.count;
        return found;
    }

    std::int32_t find_one_by_one() {
        exact_ = true;
        for (Piece& p : pieces_) p.rows = {};
        std::size_t look = 0;
        for (std::size_t at = text_.skip_empty(r_.start); at < text_.size();
             at = text_.skip_empty(text_.skip_row(at))) {
            Piece& p = pieces_[(at - r_.start) / kPiece];
            if (p.rows.count++ == 0) p.rows.first = at;
            if (at < look) continue;
            if (task_->check_stop(r_.loc)) return kFailed;
            look = at + kBytesBetweenLooks;
        }
        number_rows();
        return kOk;
    }

    void number_rows() {
        found_ = 0;
        for (Piece& p : pieces_) {
            p.first_row = found_;
            found_ += p.rows.count;
            p.problem = {};
        }
        first_wrong_ = INT64_MAX;
    }

    // ---- filling columns

    std::int32_t fill() {
        if (!exact_ && found_ < r_.rows) return kOk;  // what was found may be wrong
        rows_ = r_.rows >= 0 ? std::min(found_, r_.rows) : found_;
        columns_ = r_.taker ? r_.taker->begin(rows_, std::int64_t(pieces_.size())) : r_.make(rows_);
        if (columns_.empty()) return kFailed;
        quick_.clear();
        for (const TableColumn& c : columns_)
            quick_.push_back(numbers_may_hold_delimiter_ ? nullptr : quick_number(WeldKind(c.cell->kind)));
        return run_parts(task_, std::int64_t(pieces_.size()), true, r_.loc,
                         [&](Task* t, int worker, std::int64_t i) {
                             if (i > first_wrong_.load(std::memory_order_relaxed)) return kOk;
                             Piece& p = pieces_[std::size_t(i)];
                             const std::int32_t status = read_piece(t, worker, i, p);
                             if (!p.problem.what.empty()) note_wrong(i);
                             return status;
                         });
    }

    void note_wrong(std::int64_t piece) {
        std::int64_t first = first_wrong_.load(std::memory_order_relaxed);
        while (piece < first && !first_wrong_.compare_exchange_weak(first, piece)) {}
    }

    std::int32_t read_piece(Task* task, int worker, std::int64_t number, Piece& p) const {
        std::size_t at = p.rows.first, look = at;
        for (std::int64_t i = 0; i < p.rows.count && p.first_row + i < rows_; ++i) {
            if (at >= look) {
                if (task->check_stop(r_.loc)) return kFailed;
                look = at + kBytesBetweenLooks;
            }
            p.problem.at = at;
            p.problem.row = p.first_row + i;
            if (read_row(task, r_.taker ? worker : p.problem.row, at, p.problem)) return kFailed;
            if (!p.problem.what.empty()) return kOk;
            if (r_.taker && r_.taker->take(task, worker, number, p.problem.row)) return kFailed;
            at = text_.skip_empty(text_.after_end(at));
        }
        p.next = at;
        return kOk;
    }

    /// Reads the row that begins at `at`, which is then at its end, into row `row` of the columns.
    std::int32_t read_row(Task* task, std::int64_t row, std::size_t& at, CsvProblem& problem) const {
        std::size_t next = 0;  // column to be read
        for (std::int64_t field = 0;; ++field, ++at) {
            if (next < columns_.size() && columns_[next].field == field) {
                if (!read_quickly(next, row, at) && read_slowly(task, next, row, at, problem)) return kFailed;
                ++next;
            } else {
                const CsvField passed = text_.take(at);
                if (!passed.is_closed || r_.is_strict) problem.what = passed.wrong();
            }
            if (!problem.what.empty()) return kOk;
            if (!text_.is_delimiter(at)) {
                if (field + 1 < r_.fields)
                    problem.what = fmt::format("the row has {} of {} fields", field + 1, r_.fields);
                return kOk;
            }
            if (r_.is_strict && field + 1 == r_.fields) {
                problem.what =
                    fmt::format("the row has more than {} field{}", r_.fields, r_.fields == 1 ? "" : "s");
                return kOk;
            }
        }
    }

    /// A number that the delimiter or the end of the row follows at once.
    bool read_quickly(std::size_t column, std::int64_t row, std::size_t& at) const {
        if (!quick_[column]) return false;
        const char *begin = text_.text().data(), *end = begin + text_.size();
        const char* stop = quick_[column](begin + at, end, columns_[column].at(row));
        if (!stop) return false;
        const std::size_t after = std::size_t(stop - begin);
        if (!text_.is_delimiter(after) && !text_.is_end(after)) return false;
        at = after;
        return true;
    }

    std::int32_t read_slowly(Task* task, std::size_t column, std::int64_t row, std::size_t& at,
                             CsvProblem& problem) const {
        const TableColumn& c = columns_[column];
        const CsvField field = text_.take(at);
        if (!field.is_closed || r_.is_strict) problem.what = field.wrong();
        if (!problem.what.empty()) return kOk;
        if (c.cell->kind == kWeldVec) return read_string(task, field, static_cast<WeldVec*>(c.at(row)));
        if (!r_.is_strict) {
            with_cell(c.cell, [&]<class T>() {
                if constexpr (!std::is_same_v<T, WeldVec>)
                    *static_cast<T*>(c.at(row)) = lenient_number<T>(field.text);
            });
        } else if (!read_cell(field.text, WeldKind(c.cell->kind), c.at(row))) {
            problem.field = c.field;
            problem.what =
                fmt::format("{} is not a value of type `{}`", quoted_excerpt(field.text), r_.name_of(c.cell));
        }
        return kOk;
    }

    std::int32_t read_string(Task* task, const CsvField& field, WeldVec* to) const {
        *to = {const_cast<char*>(field.text.data()), std::int64_t(field.text.size())};
        if (field.text.empty()) to->data = nullptr;
        if (!field.has_doubled_quotes) return kOk;
        char* out = allocate_array<char>(task, to->len, r_.loc);
        if (!out) return kFailed;
        *to = {out, std::int64_t(field.without_doubled_quotes(out))};
        return kOk;
    }

    /// The rows of each piece were read up to where those of the next begin, as far as rows are wanted.
    bool is_consistent() const {
        if (exact_) return true;
        if (columns_.empty()) return false;
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            const Piece& p = pieces_[i];
            if (!p.problem.what.empty() || (r_.rows >= 0 && p.first_row + p.rows.count >= rows_)) return true;
            std::size_t next = i + 1;
            while (next < pieces_.size() && pieces_[next].rows.count == 0) ++next;
            const std::size_t begin = next < pieces_.size() ? pieces_[next].rows.first : text_.size();
            if (p.rows.count > 0 && p.next != begin) return false;
        }
        return true;
    }

    Task* task_;
    const CsvRequest& r_;
    const CsvText text_;
    bool numbers_may_hold_delimiter_ = false;
    bool exact_ = false;  ///< rows were found one by one
    std::int64_t found_ = 0, rows_ = 0;
    std::vector<TableColumn> columns_;
    std::vector<QuickNumber*> quick_;  ///< of each column
    std::vector<Piece> pieces_;
    std::atomic<std::int64_t> first_wrong_ = INT64_MAX;  ///< the first piece with a problem
};

}  // namespace

std::int32_t read_rows(Task* task, const CsvRequest& request, CsvProblem* problem) {
    return CsvReader(task, request).read(problem);
}

}  // namespace weld::runtime
