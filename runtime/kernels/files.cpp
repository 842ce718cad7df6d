// Reading and writing matrices and frames. The ending of a file's name says what it holds: `.csv`, `.mtx`
// (Matrix Market), `.dbdf` (DAPHNE's binary format), `.parquet`. Files are written whole or not at all, with
// a `.meta` beside them.
#include "runtime/kernels/files.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "runtime/io/new_files.h"
#include "runtime/io/open_file.h"
#include "runtime/kernels/describe_table.h"
#include "runtime/kernels/parquet_table.h"
#include "runtime/memory.h"
#include "runtime/parallel.h"
#include "weldir/support/visible.h"

namespace weld::runtime {

std::string_view value_type(WeldKind cell) {
    switch (cell) {
        case kWeldI8: return "si8";
        case kWeldI16:
        case kWeldI32: return "si32";
        case kWeldI64: return "si64";
        case kWeldBool:
        case kWeldU8: return "ui8";
        case kWeldU16:
        case kWeldU32: return "ui32";
        case kWeldU64: return "ui64";
        case kWeldF32: return "f32";
        case kWeldF64: return "f64";
        default: return "str";
    }
}
std::string_view value_type(const WeldType* cell) { return value_type(WeldKind(cell->kind)); }

std::int32_t fail_file(Task* task, const WeldCall* call, const TableFile& file, std::string_view what) {
    return fail_call(task, call, "`{}`: {}", visible(file.path), what);
}

std::int32_t check_table(Task* task, const WeldCall* call, const TableFile& file, std::int64_t rows,
                         std::int64_t columns) {
    if (file.rows >= 0 && rows != file.rows)
        return fail_file(task, call, file, fmt::format("it has {} rows, not {}", rows, file.rows));
    if (file.columns >= 0 && columns != file.columns)
        return fail_file(task, call, file, fmt::format("it has {} columns, not {}", columns, file.columns));
    return kOk;
}

namespace {

bool is_parquet(std::string_view path) { return path.ends_with(".parquet"); }

// ---- reading

/// All bytes of a file. Status.
std::int32_t load(Task* task, const WeldCall* call, TableFile& file) {
    const OpenFile open(file.path);
    if (open.error()) return fail_file(task, call, file, open.complaint());
    char* to = allocate_array<char>(task, open.size(), call->loc);
    if (!to) return kFailed;
    file.bytes = {to, std::size_t(open.size())};
    constexpr std::int64_t each = 4 << 20;
    return run_parts(task, (open.size() + each - 1) / each, true, call->loc,
                     [&](Task* t, int, std::int64_t i) -> std::int32_t {
                         const std::int64_t at = i * each,
                                            size = std::min<std::int64_t>(each, open.size() - at);
                         const std::string wrong = open.read(to + at, at, size);
                         return wrong.empty() ? t->check_stop(call->loc) : fail_file(t, call, file, wrong);
                     });
}

std::int32_t check_path(Task* task, const WeldCall* call, const std::string& path) {
    return path.find('\0') == path.npos ? kOk : fail_call(task, call, "a path with a byte 0");
}

/// What the file holds has to be what `wanted` says, a description. Status.
std::int32_t check_description(Task* task, const WeldCall* call, TableFile& file, std::string_view wanted) {
    TableDescription found;
    std::string error;
    const bool good = is_parquet(file.path) ? describe_table(file.path, true, &found, &error)
                                            : describe_table(file.path, file.bytes, &found, &error);
    if (!good) return fail_call(task, call, "{}", error);
    if (found.text != wanted)
        return fail_file(
            task, call, file,
            fmt::format("{} is not what it was when the program was compiled",
                        found.is_sniffed ? "what its beginning says of names and types" : "its `.meta`"));
    file.delimiter = found.delimiter;
    file.has_header = found.has_header;
    file.is_sniffed = found.is_sniffed;
    return kOk;
}

std::int32_t read_table(Task* task, const WeldCall* call, TableFile& file,
                        std::optional<std::string_view> description) {
    if (check_path(task, call, file.path)) return kFailed;
    using Read = std::int32_t(Task*, const WeldCall*, const TableFile&);
    Read* read = nullptr;
    if (file.path.ends_with(".csv")) read = read_csv_table;
    else if (file.path.ends_with(".mtx")) read = read_matrix_market;
    else if (file.path.ends_with(".dbdf")) read = read_binary_table;
    else if (is_parquet(file.path)) read = read_parquet_table;
    else return fail_file(task, call, file, "files end in `.csv`, `.mtx`, `.dbdf` or `.parquet`");
    if (!is_parquet(file.path) && load(task, call, file)) return kFailed;
    if (description && check_description(task, call, file, *description)) return kFailed;
    if (std::string_view("\"\n\r").find(file.delimiter) != std::string_view::npos)
        return fail_file(task, call, file, "quotes and ends of lines are no delimiters");
    return read(task, call, file);
}

/// What the arguments of both kinds of call say: (path, rows, columns or -1), and then maybe a description,
/// or (delimiter, header).
TableFile wanted_file(const WeldCall* call, int shape_args) {
    TableFile file{.path = std::string(text_of(argument<WeldVec>(call, 0))),
                   .bytes = {},
                   .rows = argument<std::int64_t>(call, 1),
                   .columns = shape_args > 1 ? argument<std::int64_t>(call, 2) : -1,
                   .make = {}};
    if (call->num_args == shape_args + 3) {
        file.delimiter = argument<char>(call, shape_args + 1);
        file.has_header = argument<Bool>(call, shape_args + 2);
    }
    return file;
}

std::optional<std::string_view> description_of(const WeldCall* call, int shape_args) {
    if (call->num_args != shape_args + 2) return {};
    return text_of(argument<WeldVec>(call, shape_args + 1));
}

std::int32_t read_matrix(Task* task, const WeldCall* call, Matrix* to) {
    TableFile file = wanted_file(call, 2);
    const WeldType* cell = call->types[0];
    *to = {};
    file.make = [&](std::int64_t rows, std::int64_t columns) -> std::vector<TableColumn> {
        std::int64_t size;
        if (__builtin_mul_overflow(rows, columns, &size)) {
            task->fail_memory(call->loc, Shortage::Limit);
            return {};
        }
        release(task, to->cells.data);  // if rows had to be counted again
        char* data = static_cast<char*>(allocate_array(task, size, cell->size, call->loc));
        if (!data) return {};
        *to = {{data, size}, rows, columns};
        std::vector<TableColumn> all;
        for (std::int64_t j = 0; j < columns; ++j)
            all.push_back({cell, data + j * cell->size, columns * cell->size, j});
        return all;
    };
    if (read_table(task, call, file, description_of(call, 2))) return kFailed;
    if (cell->kind != kWeldVec) release(task, const_cast<char*>(file.bytes.data()));
    return kOk;
}

/// The cells of a matrix that are not zero, row by row. Status.
template <class T>
std::int32_t without_zeros(Task* task, const WeldCall* call, const Matrix& m, Sparse* to) {
    const T* cells = static_cast<const T*>(m.cells.data);
    std::int64_t count = 0;
    if (in_strips(task, 0, m.cells.len, call->loc, [&](std::int64_t from, std::int64_t end) {
            count += end - from - std::count(cells + from, cells + end, T(0));
        }))
        return kFailed;
    auto* offsets = allocate_array<std::int64_t>(task, m.rows + 1, call->loc);
    auto* places = offsets ? allocate_array<std::int64_t>(task, count, call->loc) : nullptr;
    T* values = places ? allocate_array<T>(task, count, call->loc) : nullptr;
    if (!values) return kFailed;
    *to = {{values, count}, m.rows, m.columns, {offsets, m.rows + 1}, {places, count}};
    offsets[0] = 0;
    count = 0;
    for (std::int64_t i = 0; i < m.rows; ++i) {
        if (task->check_stop(call->loc) ||
            in_strips(task, 0, m.columns, call->loc, [&](std::int64_t from, std::int64_t end) {
                for (std::int64_t j = from; j < end; ++j)
                    if (const T cell = cells[i * m.columns + j]; cell != T(0))
                        values[count] = cell, places[count++] = j;
            }))
            return kFailed;
        offsets[i + 1] = count;
    }
    return kOk;
}

std::int32_t read_csr(Task* task, const WeldCall* call, Sparse* to) {
    TableFile file = wanted_file(call, 2);
    if (!is_parquet(file.path)) {
        file.sparse = to;
        if (read_table(task, call, file, description_of(call, 2))) return kFailed;
        release(task, const_cast<char*>(file.bytes.data()));
        return kOk;
    }
    Matrix all;
    if (read_matrix(task, call, &all)) return kFailed;
    const std::int32_t status = with_cell(call->types[0], [&]<class T>() -> std::int32_t {
        if constexpr (std::is_arithmetic_v<T>) return without_zeros<T>(task, call, all, to);
        else return fail_file(task, call, file, "it holds no numbers");
    });
    release(task, all.cells.data);
    return status;
}

std::int32_t read_frame(Task* task, const WeldCall* call, char* to) {
    TableFile file = wanted_file(call, 1);
    const WeldType* type = call->types[0];
    file.columns = type->num_args;
    file.make = [&](std::int64_t rows, std::int64_t columns) {
        std::vector<TableColumn> all;
        for (std::int64_t j = 0; j < columns; ++j) {
            const WeldType* cell = type->args[j]->args[0];
            char* data = static_cast<char*>(allocate_array(task, rows, cell->size, call->loc));
            if (!data) return std::vector<TableColumn>();
            *reinterpret_cast<WeldVec*>(to + type->offsets[j]) = {data, rows};
            all.push_back({cell, data, cell->size, j});
        }
        *reinterpret_cast<std::int64_t*>(to + type->size) = rows;
        return all;
    };
    return read_table(task, call, file, description_of(call, 1));
}

// ---- writing

/// The text of the file's `.meta`. `labels`: null for a matrix.
std::string description(const std::vector<TableColumn>& columns, std::int64_t rows, const WeldVec* labels,
                        const WeldType* cell) {
    if (!labels) return describe_matrix(rows, std::int64_t(columns.size()), value_type(cell)) + "\n";
    std::vector<LabelledType> all;
    for (std::size_t i = 0; i < columns.size(); ++i)
        all.push_back({label(*labels, std::int64_t(i)), value_type(columns[i].cell)});
    return describe_frame(rows, all) + "\n";
}

bool is_csv(std::string_view path) { return path.ends_with(".csv"); }

/// A file can be written there by its name. Status.
std::int32_t check_new_path(Task* task, const WeldCall* call, const std::string& path, bool is_frame) {
    if (check_path(task, call, path)) return kFailed;
    if (is_csv(path) || is_parquet(path) || (path.ends_with(".dbdf") && !is_frame)) return kOk;
    return fail_call(task, call, "`{}`: {}", visible(path),
                     is_frame ? "frames are written to `.csv` and `.parquet`"
                              : "matrices are written to `.csv`, `.dbdf` and `.parquet`");
}

/// Writes what `put` puts, or says what is wrong, and `meta` beside it. Status.
std::int32_t write_files(Task* task, const WeldCall* call, const std::string& path, const std::string& meta,
                         const std::function<std::string(Writer& out)>& put) {
    NewFiles files(task->stop);
    std::string error = files.write(path, put);
    if (error.empty())
        error = files.write(path + ".meta", [&](Writer& out) { return out.put(meta), std::string(); });
    if (error.empty()) error = files.commit();
    if (error.empty()) return kOk;
    return task->check_stop(call->loc) ? kFailed : fail_call(task, call, "{}", error);
}

/// Writes the table and its `.meta` to the path that is argument `number`. `labels`: null for a matrix.
/// Status.
std::int32_t write_table(Task* task, const WeldCall* call, int number,
                         const std::vector<TableColumn>& columns, std::int64_t rows, const WeldVec* labels,
                         const std::string& meta) {
    const std::string path(text_of(argument<WeldVec>(call, number)));
    if (check_new_path(task, call, path, labels != nullptr)) return kFailed;
    for (const TableColumn& c : columns)
        if (!is_csv(path) && !is_parquet(path) && c.cell->kind == kWeldVec)
            return fail_call(task, call, "`{}`: `.dbdf` holds no strings", visible(path));
    return write_files(task, call, path, meta, [&](Writer& out) {
        if (is_parquet(path)) return write_parquet_table(task, call, columns, rows, labels, out);
        is_csv(path) ? write_csv_table(columns, rows, out) : write_binary_table(columns, rows, out);
        return std::string();
    });
}

std::vector<TableColumn> columns_of(const Matrix& m, const WeldType* cell) {
    std::vector<TableColumn> columns;
    for (std::int64_t j = 0; j < m.columns; ++j)
        columns.push_back({cell, static_cast<char*>(m.cells.data) + j * cell->size, m.columns * cell->size});
    return columns;
}

std::int32_t write_matrix(Task* task, const WeldCall* call, const Matrix& m, const WeldType* cell) {
    const std::vector<TableColumn> columns = columns_of(m, cell);
    return write_table(task, call, 1, columns, m.rows, nullptr, description(columns, m.rows, nullptr, cell));
}

/// All cells, zeros as well, of `size` bytes each. Status.
std::int32_t with_zeros(Task* task, const WeldCall* call, const Sparse& m, std::int64_t size, Matrix* to) {
    std::int64_t count;
    if (__builtin_mul_overflow(m.rows, m.columns, &count))
        return task->fail_memory(call->loc, Shortage::Limit);
    char* cells = static_cast<char*>(allocate_array(task, count, size, call->loc));
    if (!cells) return kFailed;
    *to = {{cells, count}, m.rows, m.columns};
    if (in_strips(task, 0, count, call->loc, [&](std::int64_t from, std::int64_t end) {
            std::memset(cells + from * size, 0, std::size_t((end - from) * size));
        }))
        return kFailed;
    const char* stored = static_cast<const char*>(m.cells.data);
    for (std::int64_t i = 0; i < m.rows; ++i)
        if (task->check_stop(call->loc) || in_strips(task, m.offset(i), m.offset(i + 1), call->loc,
                                                     [&](std::int64_t from, std::int64_t end) {
                                                         for (std::int64_t k = from; k < end; ++k)
                                                             std::memcpy(
                                                                 cells + (i * m.columns + m.place(k)) * size,
                                                                 stored + k * size, std::size_t(size));
                                                     }))
            return kFailed;
    return kOk;
}

/// Text and the binary format are written from the cells that are stored; Parquet knows dense columns only.
std::int32_t write_sparse(Task* task, const WeldCall* call, const Sparse& m, const WeldType* cell) {
    const std::string path(text_of(argument<WeldVec>(call, 1)));
    if (check_new_path(task, call, path, false)) return kFailed;
    if (is_parquet(path)) {
        Matrix all;
        if (with_zeros(task, call, m, cell->size, &all)) return kFailed;
        const std::int32_t status = write_matrix(task, call, all, cell);
        release(task, all.cells.data);
        return status;
    }
    const std::string meta = describe_sparse(m.rows, m.columns, value_type(cell), m.cells.len) + "\n";
    return write_files(task, call, path, meta, [&](Writer& out) {
        is_csv(path) ? write_csv_sparse(cell, m, out) : write_binary_sparse(cell, m, out);
        return std::string();
    });
}

}  // namespace

}  // namespace weld::runtime

using namespace weld::runtime;

WELD_KERNEL_BODY(weld_kernel_read_matrix) { return read_matrix(task, call, static_cast<Matrix*>(result)); }

WELD_KERNEL_BODY(weld_kernel_read_csr) { return read_csr(task, call, static_cast<Sparse*>(result)); }

WELD_KERNEL_BODY(weld_kernel_read_open) {
    const std::string path(text_of(argument<WeldVec>(call, 0)));
    if (check_path(task, call, path)) return kFailed;
    const weld::OpenFile open(path);
    return open.error() ? fail_call(task, call, "`{}`: {}", weld::visible(path), open.complaint()) : kOk;
}

WELD_KERNEL_BODY(weld_kernel_read_frame) { return read_frame(task, call, static_cast<char*>(result)); }

WELD_KERNEL_BODY(weld_kernel_write_matrix) {
    const auto& m = argument<Matrix>(call, 0);
    return check_matrix(task, call, m) ? kFailed : write_matrix(task, call, m, call->types[0]);
}

WELD_KERNEL_BODY(weld_kernel_write_csr) {
    const auto& m = argument<Sparse>(call, 0);
    return check_sparse(task, call, m) ? kFailed : write_sparse(task, call, m, call->types[0]);
}

WELD_KERNEL_BODY(weld_kernel_write_frame) {
    const DataFrame frame{call->types[0], &argument<char>(call, 0)};
    const auto& labels = argument<WeldVec>(call, 1);
    if (check_frame(task, call, frame, labels)) return kFailed;
    std::vector<TableColumn> columns;
    for (std::int64_t j = 0; j < frame.num_columns(); ++j)
        columns.push_back({frame.cell(j), static_cast<char*>(frame.column(j).data), frame.cell(j)->size});
    return write_table(task, call, 2, columns, frame.rows(), &labels,
                       description(columns, frame.rows(), &labels, nullptr));
}
