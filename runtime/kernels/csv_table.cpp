// Matrices and frames as comma-separated values: reading (runtime/csv) and writing.
#include <algorithm>

#include "runtime/csv/read.h"
#include "runtime/io/plain_text.h"
#include "runtime/kernels/files.h"

namespace weld::runtime {

/// Where a message points: rows count from 1, without that of names.
static std::string place_of(const CsvProblem& problem, const CsvRequest& request) {
    const std::string row = fmt::format("row {}", problem.row + 1);
    if (!request.is_strict) return row;
    const std::string column = problem.field < 0 ? "" : fmt::format(", column {}", problem.field + 1);
    return fmt::format("line {} ({}){}", problem.line(request.text), row, column);
}

std::int32_t read_csv_table(Task* task, const WeldCall* call, const TableFile& file) {
    CsvRequest request{.text = CsvText::body(file.bytes),
                       .delimiter = file.delimiter,
                       .is_strict = file.is_sniffed,
                       .rows = file.rows,
                       .make = {},
                       .name_of = [](const WeldType* cell) { return std::string(value_type(cell)); },
                       .loc = call->loc};
    if (file.is_sniffed) request.text = without_last_lines(request.text);
    const CsvText text(request.text, file.delimiter, file.columns == 1);
    if (file.has_header) request.start = text.skip_row(text.skip_empty(0));
    request.fields = file.columns >= 0 ? file.columns : count_fields(text, text.skip_empty(request.start));
    if (request.fields == 0) return fail_file(task, call, file, "a table has columns");
    request.make = [&](std::int64_t rows) {
        return check_table(task, call, file, rows, request.fields) ? std::vector<TableColumn>()
                                                                   : file.make(rows, request.fields);
    };
    CsvProblem problem;
    if (file.sparse ? read_csv_sparse(task, call, file, request, &problem)
                    : read_rows(task, request, &problem))
        return kFailed;
    if (problem.what.empty()) return kOk;
    const std::string hint =
        file.is_sniffed ? "; that the rows before it are of other types was learned from the first ones: a "
                          "`.meta` says it for all"
                        : "";
    return fail_file(
        task, call, file,
        fmt::format("{}: {}{}", place_of(problem, request), problem.what, problem.field < 0 ? "" : hint));
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

/// `count` zeros, each with a comma after it.
static void put_zeros(std::string_view zero, std::int64_t count, Writer& out) {
    for (; count > 0 && !out.failed(); --count) out.put(zero);
}

void write_csv_sparse(const WeldType* cell, const Sparse& m, Writer& out) {
    with_cell(cell, [&]<class T>() {
        if constexpr (std::is_arithmetic_v<T>) {
            NumberText room;
            const std::string zero = std::string(in_full(T(0), room)) + ',';
            const T* cells = static_cast<const T*>(m.cells.data);
            for (std::int64_t i = 0; i < m.rows && !out.failed(); ++i) {
                std::int64_t next = 0;
                for (std::int64_t k = m.offset(i); k < m.offset(i + 1) && !out.failed(); ++k) {
                    put_zeros(zero, m.place(k) - next, out);
                    next = m.place(k) + 1;
                    out.put(in_full(cells[k], room));
                    if (next < m.columns) out.put(',');
                }
                put_zeros(zero, m.columns - next - 1, out);
                if (next < m.columns) out.put(std::string_view(zero).substr(0, zero.size() - 1));
                out.put('\n');
            }
        }
    });
}

}  // namespace weld::runtime
