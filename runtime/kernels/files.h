// Tables in files, for the kernels that read and write them.
//
// A table is a matrix or a frame: columns whose cells lie some bytes apart. Readers get the bytes of a file,
// which lie in memory of the run, so that strings of the table may point into them; they check the shape that
// is wanted (-1: as in the file) and have the columns made when they know how many rows there are.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/csv/read.h"
#include "runtime/csv/sniff.h"
#include "runtime/io/writer.h"
#include "runtime/kernels/cells.h"

namespace weld::runtime {

struct TableFile {
    std::string path;
    std::string_view bytes;  ///< in memory of the run
    std::int64_t rows, columns;
    char delimiter = ',';
    bool has_header = false;
    Sparse* sparse = nullptr;  ///< receives a sparse matrix, instead of what `make` makes
    bool is_sniffed = false;   ///< nothing but its first rows says what it holds: each cell is looked at
    /// Makes columns of so many rows; empty after recording the failure.
    std::function<std::vector<TableColumn>(std::int64_t rows, std::int64_t columns)> make;
};

/// As `.meta` files call it: `si64`.
std::string_view value_type(const WeldType* cell);
std::string_view value_type(WeldKind cell);

/// Fails with what is wrong with the file. Status.
std::int32_t fail_file(Task* task, const WeldCall* call, const TableFile& file, std::string_view what);
/// The file has these rows and columns: what is wanted, too? Status.
std::int32_t check_table(Task* task, const WeldCall* call, const TableFile& file, std::int64_t rows,
                         std::int64_t columns);

// Each fills a table. Status.
std::int32_t read_csv_table(Task* task, const WeldCall* call, const TableFile& file);
std::int32_t read_csv_sparse(Task* task, const WeldCall* call, const TableFile& file, CsvRequest& request,
                             CsvProblem* problem);
std::int32_t read_matrix_market(Task* task, const WeldCall* call, const TableFile& file);
std::int32_t read_binary_table(Task* task, const WeldCall* call, const TableFile& file);

// Each writes one, as long as the output takes more.
void write_csv_table(const std::vector<TableColumn>& columns, std::int64_t rows, Writer& out);
void write_binary_table(const std::vector<TableColumn>& columns, std::int64_t rows, Writer& out);
void write_csv_sparse(const WeldType* cell, const Sparse& matrix, Writer& out);
void write_binary_sparse(const WeldType* cell, const Sparse& matrix, Writer& out);

}  // namespace weld::runtime
