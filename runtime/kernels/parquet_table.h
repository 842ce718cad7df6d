// Parquet files, by libweld_parquet.so (runtime/parquet).
#pragma once

#include <string>

#include "runtime/kernels/files.h"

namespace weld::runtime {

/// What the schema of the file at `path` says, as a description. False with `*error` if it is no such file.
bool describe_parquet(const std::string& path, std::string* text, std::string* error);

/// Fills a table from the file at its path. Status.
std::int32_t read_parquet_table(Task* task, const WeldCall* call, const TableFile& file);

/// Writes one. `labels`: null for a matrix, whose columns are called `col_0`, `col_1`, ... Nothing, or what
/// is wrong.
std::string write_parquet_table(Task* task, const WeldCall* call, const std::vector<TableColumn>& columns,
                                std::int64_t rows, const WeldVec* labels, Writer& out);

}  // namespace weld::runtime
