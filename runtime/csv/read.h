// Reading the rows of a table of separated values into columns, in parallel.
//
// The text is cut into pieces of equal size, whatever the number of threads. A row belongs to the piece that
// it begins in. Whether a piece begins within quotes shows in the number of quotes before it, unless fields
// that are not quoted hold quotes: then the rows of some piece don't end where those of the next begin, and
// rows are found once more, one after the other. What is wrong is told of the first row that is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/csv/text.h"
#include "runtime/task.h"

namespace weld::runtime {

/// Where the cells of one column go: a cell is a scalar, or a string (vec[i8]).
struct TableColumn {
    const WeldType* cell;
    char* data;
    std::int64_t stride;     ///< bytes from one row to the next
    std::int64_t field = 0;  ///< of a row of text, that it is read from

    void* at(std::int64_t row) const { return data + row * stride; }
};

/// Takes rows as soon as they are read, for tables that are not stored as they stand. A row is read into room
/// that its worker has for one: the number of the worker then stands for that of the row in TableColumn::at.
class RowTaker {
  public:
    /// The room of all workers, in the order of fields, when it is known how many rows there are, and of how
    /// many pieces; nothing after recording the failure. Rows may have to be read again: then it is called
    /// again.
    virtual std::vector<TableColumn> begin(std::int64_t rows, std::int64_t pieces) = 0;
    /// The row is in the room of this worker. Those of a piece come in order. Status.
    virtual std::int32_t take(Task* task, int worker, std::int64_t piece, std::int64_t row) = 0;

  protected:
    ~RowTaker() = default;
};

struct CsvRequest {
    std::string_view text;  ///< stays as long as the columns: strings may point into it
    std::size_t start = 0;  ///< where the first row begins
    char delimiter = ',';
    std::int64_t fields = 1;  ///< of each row
    /// Every row has so many fields, quotes are right, and all of a cell is a value of its type. Otherwise
    /// further fields are passed over, and a number is what a field begins with (lenient_number).
    bool is_strict = false;
    std::int64_t rows = -1;  ///< how many are wanted, -1: all
    /// Makes the columns, in the order of their fields, when it is known how many rows there are (as many as
    /// are wanted, if there are more); nothing after recording the failure.
    std::function<std::vector<TableColumn>(std::int64_t rows)> make;
    RowTaker* taker = nullptr;                                 ///< takes the rows instead of these columns
    std::function<std::string(const WeldType* cell)> name_of;  ///< for messages of strict reading
    std::int32_t loc = 0;
};

struct CsvProblem {
    std::string what;  ///< empty: none
    std::int64_t row = 0, field = -1;
    std::size_t at = 0;  ///< where the row begins
    /// The line, from 1, that the row begins in.
    std::int64_t line(std::string_view text) const {
        return 1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n');
    }
};

/// How many fields the row at `at` has.
std::int64_t count_fields(const CsvText& text, std::size_t at);

/// Status; if the text is no such table that is Ok, with `*problem` set.
std::int32_t read_rows(Task* task, const CsvRequest& request, CsvProblem* problem);

}  // namespace weld::runtime
