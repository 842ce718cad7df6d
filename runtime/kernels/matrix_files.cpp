// Files that hold one matrix of numbers: Matrix Market, and DAPHNE's binary format.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <type_traits>

#include "runtime/csv/cell.h"
#include "runtime/kernels/describe_table.h"
#include "runtime/kernels/files.h"
#include "runtime/memory.h"
#include "runtime/parallel.h"
#include "runtime/sort.h"

namespace weld::runtime {

namespace {

/// Where the cells of a matrix go that is read: all of them, zeros as well.
template <class T>
class DenseCells {
  public:
    static constexpr int kRounds = 1;  ///< how often the file is read
    DenseCells(Task* task, const WeldCall* call, const TableFile& file)
        : task_(task), call_(call), file_(file) {}

    std::int32_t begin(std::int64_t rows, std::int64_t columns) {
        cells_ = file_.make(rows, columns);
        if (cells_.empty() && columns > 0) return kFailed;
        return in_strips(task_, 0, rows * columns, call_->loc, [&](std::int64_t from, std::int64_t to) {
            std::memset(cells_[0].data + from * cells_[0].cell->size, 0,
                        std::size_t((to - from) * cells_[0].cell->size));
        });
    }
    void put(std::int64_t row, std::int64_t column, T value) {
        *static_cast<T*>(cells_[std::size_t(column)].at(row)) = value;
    }
    std::int32_t end() { return kOk; }

  private:
    Task* task_;
    const WeldCall* call_;
    const TableFile& file_;
    std::vector<TableColumn> cells_;
};

/// The same for a sparse matrix. The first round counts the cells of each row, the second one puts them
/// there; then they are sorted by columns, and of several in the same place the last one stays.
template <class T>
class SparseCells {
  public:
    static constexpr int kRounds = 2;
    SparseCells(Task* task, const WeldCall* call, const TableFile&, Sparse* to)
        : task_(task), call_(call), to_(to) {}

    std::int32_t begin(std::int64_t rows, std::int64_t columns) {
        const bool counts = !offsets_;
        if (rows > 0 && columns > INT64_MAX / rows) return task_->fail_memory(call_->loc, Shortage::Limit);
        if (counts && make_offsets(rows)) return kFailed;
        if (counts) return *to_ = {{}, rows, columns, {offsets_, rows + 1}, {}}, kOk;
        std::int64_t sum = 0;
        if (in_strips(task_, 1, rows + 1, call_->loc, [&](std::int64_t from, std::int64_t end) {
                for (std::int64_t i = from; i < end; ++i) std::swap(offsets_[i], sum), sum += offsets_[i];
            }))
            return kFailed;
        places_ = allocate_array<std::int64_t>(task_, sum, call_->loc);
        values_ = places_ ? allocate_array<T>(task_, sum, call_->loc) : nullptr;
        is_counted_ = true;
        return values_ ? kOk : kFailed;
    }
    void put(std::int64_t row, std::int64_t column, T value) {
        std::int64_t& at = offsets_[row + 1];
        if (is_counted_) places_[at] = column, values_[at] = value;
        ++at;
    }
    std::int32_t end() {
        if (!is_counted_) return kOk;
        std::int64_t most = 0, from = 0, kept = 0;
        if (in_strips(task_, 0, to_->rows, call_->loc, [&](std::int64_t begin, std::int64_t last) {
                for (std::int64_t i = begin; i < last; ++i)
                    most = std::max(most, offsets_[i + 1] - offsets_[i]);
            }))
            return kFailed;
        Entry* row = allocate_array<Entry>(task_, most, call_->loc);
        Entry* scratch = row ? allocate_array<Entry>(task_, most, call_->loc) : nullptr;
        if (!scratch) return kFailed;
        for (std::int64_t i = 0; i < to_->rows; ++i) {
            const std::int64_t end = offsets_[i + 1];
            if (sort_row(row, scratch, from, end) || keep(row, end - from, &kept)) return kFailed;
            from = end;
            offsets_[i + 1] = kept;
        }
        release(task_, scratch);
        release(task_, row);
        to_->cells = {values_, kept};
        to_->places = {places_, kept};
        return kOk;
    }

  private:
    struct Entry {
        std::int64_t place;
        T value;
    };

    /// Cells `from` to `end` into `row`, by columns. Status.
    std::int32_t sort_row(Entry* row, Entry* scratch, std::int64_t from, std::int64_t end) {
        if (in_strips(task_, from, end, call_->loc, [&](std::int64_t begin, std::int64_t last) {
                for (std::int64_t k = begin; k < last; ++k) row[k - from] = {places_[k], values_[k]};
            }))
            return kFailed;
        sort_run(
            row, scratch, end - from, [](const Entry& a, const Entry& b) { return a.place < b.place; },
            [&] { return task_->should_stop(); });
        return task_->check_stop(call_->loc);
    }

    /// Of the cells of a row those that stay. Status.
    std::int32_t keep(const Entry* row, std::int64_t n, std::int64_t* kept) {
        return in_strips(task_, 0, n, call_->loc, [&](std::int64_t begin, std::int64_t last) {
            for (std::int64_t k = begin; k < last; ++k) {
                const bool is_last = k + 1 == n || row[k + 1].place != row[k].place;
                if (!is_last || row[k].value == T(0)) continue;
                places_[*kept] = row[k].place, values_[(*kept)++] = row[k].value;
            }
        });
    }

    std::int32_t make_offsets(std::int64_t rows) {
        if (rows == INT64_MAX) return task_->fail_memory(call_->loc, Shortage::Limit);
        offsets_ = allocate_array<std::int64_t>(task_, rows + 1, call_->loc);
        if (!offsets_) return kFailed;
        return in_strips(task_, 0, rows + 1, call_->loc, [&](std::int64_t from, std::int64_t to) {
            std::fill(offsets_ + from, offsets_ + to, 0);
        });
    }

    Task* task_;
    const WeldCall* call_;
    Sparse* to_;
    std::int64_t* offsets_ = nullptr;  ///< of row i + 1: first how many, then where the next one goes
    std::int64_t* places_ = nullptr;
    T* values_ = nullptr;
    bool is_counted_ = false;
};

/// Calls f<T>() for cells that are numbers; strings fail. Status.
template <class F>
std::int32_t with_numbers(Task* task, const WeldCall* call, const TableFile& file, const F& f) {
    return with_cell(call->types[0], [&]<class T>() -> std::int32_t {
        if constexpr (std::is_arithmetic_v<T>) return f.template operator()<T>();
        else return fail_file(task, call, file, "it holds numbers");
    });
}

// ---- Matrix Market

/// What stands before the entries.
class MarketHead {
  public:
    explicit MarketHead(std::string_view text) : rest(text) {}

    /// Reads it; false with `wrong` saying why it is none.
    bool read() {
        wrong = "its first line is not one of a Matrix Market file of numbers";
        if (!read_banner()) return false;
        while (rest.starts_with('%') || rest.starts_with('\n') || rest.starts_with("\r\n")) skip_line();
        wrong = "its shape is missing or wrong";
        if (!take(&rows) || !take(&columns) || (!is_array && !take(&count)) || rows <= 0 || columns <= 0 ||
            count < 0)
            return false;
        wrong = "it is to be symmetric, but not square";
        return is_general() || rows == columns;
    }

    bool is_general() const { return symmetry == "general"; }

    std::string_view word() {
        while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest[0]))) rest.remove_prefix(1);
        std::size_t size = 0;
        while (size < rest.size() && !std::isspace(static_cast<unsigned char>(rest[size]))) ++size;
        const std::string_view found = rest.substr(0, size);
        rest.remove_prefix(size);
        return found;
    }
    template <class T>
    bool take(T* value) {
        const std::string_view text = word();
        *value = lenient_number<T>(text);
        return !text.empty();
    }

    std::string_view rest, wrong;
    std::string symmetry;
    bool is_array = false, is_pattern = false, is_integer = false;
    std::int64_t rows = 0, columns = 0, count = 0;

  private:
    void skip_line() { rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1); }

    std::string lower_word() {
        std::string text(word());
        for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
        return text;
    }

    bool read_banner() {
        if (lower_word() != "%%matrixmarket" || lower_word() != "matrix") return false;
        const std::string format = lower_word(), field = lower_word();
        symmetry = lower_word();
        skip_line();
        is_array = format == "array";
        is_pattern = field == "pattern";
        is_integer = field == "integer";
        const bool known = field == "real" || is_integer || field == "double" || (is_pattern && !is_array);
        return known && (is_array || format == "coordinate") &&
               (is_general() || symmetry == "symmetric" || symmetry == "skew-symmetric");
    }
};

template <class T, class Cells>
class MatrixMarket {
  public:
    MatrixMarket(Task* task, const WeldCall* call, const TableFile& file, Cells& cells)
        : task_(task), call_(call), file_(file), head_(file.bytes), cells_(cells) {}

    std::int32_t read() {
        if (!head_.read()) return fail(head_.wrong);
        const std::int64_t rows = head_.rows, columns = head_.columns;
        if (check_table(task_, call_, file_, rows, columns) || cells_.begin(rows, columns)) return kFailed;
        return head_.is_array ? read_array(rows, columns) : read_entries(rows, columns, head_.count);
    }

  private:
    std::int32_t fail(std::string_view what) const { return fail_file(task_, call_, file_, what); }

    void put(std::int64_t row, std::int64_t column, T value) {
        cells_.put(row, column, value);
        if (!head_.is_general() && row != column)
            cells_.put(column, row, head_.symmetry == "symmetric" ? value : T(T(0) - value));
    }

    std::int32_t read_entries(std::int64_t rows, std::int64_t columns, std::int64_t count) {
        return in_strips(
            task_, 0, count, call_->loc, [&](std::int64_t from, std::int64_t to) -> std::int32_t {
                for (std::int64_t i = from; i < to; ++i) {
                    std::int64_t row, column;
                    T value = 1;
                    if (!head_.take(&row) || !head_.take(&column) ||
                        (!head_.is_pattern && !head_.take(&value)))
                        return fail(fmt::format("it has {} of {} entries", i, count));
                    if (row < 1 || row > rows || column < 1 || column > columns)
                        return fail(
                            fmt::format("an entry at row {}, column {}, outside of the matrix", row, column));
                    put(row - 1, column - 1, value);
                }
                return kOk;
            });
    }

    /// By columns; of a symmetric matrix those on and below the diagonal, of a skew one those below.
    std::int32_t read_array(std::int64_t rows, std::int64_t columns) {
        return in_strips<64>(task_, 0, columns, call_->loc,
                             [&](std::int64_t from, std::int64_t to) -> std::int32_t {
                                 for (std::int64_t j = from; j < to; ++j)
                                     for (std::int64_t i = head_.is_general()              ? 0
                                                           : head_.symmetry == "symmetric" ? j
                                                                                           : j + 1;
                                          i < rows; ++i) {
                                         T value = 0;
                                         if (!head_.take(&value)) return fail("it has too few numbers");
                                         put(i, j, value);
                                     }
                                 return kOk;
                             });
    }

    Task* task_;
    const WeldCall* call_;
    const TableFile& file_;
    MarketHead head_;
    Cells& cells_;
};

// ---- DAPHNE's binary format
//
// Bytes: version 1, kind of data, rows u64, columns u64, type of the cells; then blocks of row u64, column
// u64 of their first cell, rows u32, columns u32, kind, and if they are not empty type of the cells and data:
// all cells by rows; or, of a block of few cells, how many it has, u64, and for each row how many that has,
// u32, and for each of those its column in the block, u32, and the cell.

enum : std::uint8_t { kVersion = 1 };
enum Kind : std::uint8_t { kDense = 1, kCsr = 2 };
enum BlockKind : std::uint8_t { kEmptyBlock, kDenseBlock, kCsrBlock, kCooBlock };

/// ui8 ui16 ui32 ui64 si8 si16 si32 si64 f32 f64, from 1.
std::uint8_t type_code(const WeldType* cell) {
    switch (cell->kind) {
        case kWeldBool:
        case kWeldU8: return 1;
        case kWeldU16: return 2;
        case kWeldU32: return 3;
        case kWeldU64: return 4;
        case kWeldI8: return 5;
        case kWeldI16: return 6;
        case kWeldI32: return 7;
        case kWeldI64: return 8;
        case kWeldF32: return 9;
        default: return 10;
    }
}

template <class T>
std::string_view bytes_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class T, class Cells>
class BinaryTable {
  public:
    BinaryTable(Task* task, const WeldCall* call, const TableFile& file, Cells& cells)
        : task_(task), call_(call), file_(file), rest_(file.bytes), cells_(cells) {}

    std::int32_t read() {
        std::uint8_t version, kind, type;
        std::int64_t rows, columns;
        if (!take(&version) || version != kVersion || !take(&kind) || !take(&rows) || !take(&columns) ||
            !take(&type))
            return fail("it doesn't begin as a file of the binary format does");
        if (kind != kDense && kind != kCsr) return fail("it holds no matrix");
        if (type != type_code(call_->types[0])) return fail("its cells have another type");
        if (rows < 0 || columns <= 0) return fail("its shape is wrong");
        if (check_table(task_, call_, file_, rows, columns) || cells_.begin(rows, columns)) return kFailed;
        while (!rest_.empty())
            if (read_block(rows, columns)) return kFailed;
        return kOk;
    }

  private:
    std::int32_t fail(std::string_view what) const { return fail_file(task_, call_, file_, what); }

    template <class X>
    bool take(X* value) {
        if (rest_.size() < sizeof *value) return false;
        std::memcpy(value, rest_.data(), sizeof *value);
        rest_.remove_prefix(sizeof *value);
        return true;
    }

    std::int32_t read_block(std::int64_t rows, std::int64_t columns) {
        std::uint64_t row, column;
        std::uint32_t height, width;
        std::uint8_t kind, type;
        if (!take(&row) || !take(&column) || !take(&height) || !take(&width) || !take(&kind))
            return fail("it ends too early");
        if (row > std::uint64_t(rows) || column > std::uint64_t(columns) ||
            height > std::uint64_t(rows) - row || width > std::uint64_t(columns) - column)
            return fail("a block lies outside of the matrix");
        if (kind == kEmptyBlock) return task_->check_stop(call_->loc);
        if (kind != kDenseBlock && kind != kCsrBlock) return fail("it has a block of an unknown kind");
        if (!take(&type) || type != type_code(call_->types[0])) return fail("its cells have another type");
        if (kind == kCsrBlock) return read_rows(std::int64_t(row), std::int64_t(column), height, width);
        if (rest_.size() / sizeof(T) < std::uint64_t(height) * width) return fail("it ends too early");
        return in_strips(
            task_, 0, std::int64_t(height) * width, call_->loc, [&](std::int64_t from, std::int64_t to) {
                for (std::int64_t i = from; i < to; ++i) {
                    T value = 0;
                    take(&value);
                    cells_.put(std::int64_t(row) + i / width, std::int64_t(column) + i % width, value);
                }
            });
    }

    /// Of a block of cells by rows.
    std::int32_t read_rows(std::int64_t row, std::int64_t column, std::int64_t height, std::int64_t width) {
        std::uint64_t all;
        if (!take(&all)) return fail("it ends too early");
        for (std::int64_t i = 0; i < height; ++i) {
            std::uint32_t count;
            if (!take(&count)) return fail("it ends too early");
            const auto read_cells = [&](std::int64_t from, std::int64_t to) -> std::int32_t {
                for (std::int64_t k = from; k < to; ++k) {
                    std::uint32_t place;
                    T value;
                    if (!take(&place) || !take(&value)) return fail("it ends too early");
                    if (place >= width) return fail("a cell lies outside of its block");
                    cells_.put(row + i, column + place, value);
                }
                return kOk;
            };
            if (task_->check_stop(call_->loc) || in_strips(task_, 0, count, call_->loc, read_cells))
                return kFailed;
        }
        return kOk;
    }

    Task* task_;
    const WeldCall* call_;
    const TableFile& file_;
    std::string_view rest_;
    Cells& cells_;
};

/// Reads a file as often as its cells want. Status.
template <template <class, class> class Reader, class T, class Cells>
std::int32_t read_into(Task* task, const WeldCall* call, const TableFile& file, Cells cells) {
    for (int i = 0; i < Cells::kRounds; ++i)
        if (Reader<T, Cells>(task, call, file, cells).read() || cells.end()) return kFailed;
    return kOk;
}

template <template <class, class> class Reader>
std::int32_t read_numbers(Task* task, const WeldCall* call, const TableFile& file) {
    return with_numbers(task, call, file, [&]<class T>() {
        return file.sparse
                   ? read_into<Reader, T>(task, call, file, SparseCells<T>(task, call, file, file.sparse))
                   : read_into<Reader, T>(task, call, file, DenseCells<T>(task, call, file));
    });
}

}  // namespace

std::int32_t read_matrix_market(Task* task, const WeldCall* call, const TableFile& file) {
    return read_numbers<MatrixMarket>(task, call, file);
}

std::int32_t read_binary_table(Task* task, const WeldCall* call, const TableFile& file) {
    return read_numbers<BinaryTable>(task, call, file);
}

bool describe_matrix_market(std::string_view bytes, std::string* text, std::string* error) {
    MarketHead head(bytes);
    if (!head.read()) return *error = head.wrong, false;
    *text = describe_matrix(head.rows, head.columns, head.is_integer ? "si64" : "f64");
    return true;
}

bool describe_binary_table(std::string_view bytes, std::string* text, std::string* error) {
    std::int64_t rows, columns;
    constexpr std::size_t head = 2 + 2 * sizeof rows + 1;
    if (bytes.size() < head || bytes[0] != kVersion)
        return *error = "it doesn't begin as a file of the binary format does", false;
    if (bytes[1] != kDense && bytes[1] != kCsr) return *error = "it holds no matrix", false;
    constexpr std::string_view types[] = {"ui8", "", "ui32", "ui64", "si8", "", "si32", "si64", "f32", "f64"};
    const std::size_t type = static_cast<std::uint8_t>(bytes[head - 1]) - std::size_t(1);
    if (type >= std::size(types) || types[type].empty())
        return *error = "its cells have a type that scripts have not", false;
    std::memcpy(&rows, bytes.data() + 2, sizeof rows);
    std::memcpy(&columns, bytes.data() + 2 + sizeof rows, sizeof columns);
    if (rows < 0 || columns <= 0) return *error = "its shape is wrong", false;
    *text = describe_matrix(rows, columns, types[type]);
    return true;
}

namespace {

constexpr std::int64_t kMostOfBlock = 1 << 30;  // rows, columns

/// The bytes before cells.
class BinaryHeads {
  public:
    BinaryHeads(std::uint8_t type, Writer& out) : type_(type), out_(out) {}

    void file(Kind kind, std::int64_t rows, std::int64_t columns) {
        put(std::uint8_t(kVersion), std::uint8_t(kind), std::uint64_t(rows), std::uint64_t(columns), type_);
    }
    void block(BlockKind kind, std::int64_t row, std::int64_t column, std::int64_t rows,
               std::int64_t columns) {
        put(std::uint64_t(row), std::uint64_t(column), std::uint32_t(rows), std::uint32_t(columns),
            std::uint8_t(kind), type_);
    }

  private:
    template <class... Numbers>
    void put(Numbers... numbers) {
        (out_.put(bytes_of(numbers)), ...);
    }

    std::uint8_t type_;
    Writer& out_;
};

}  // namespace

/// In blocks of whole rows.
void write_binary_table(const std::vector<TableColumn>& columns, std::int64_t rows, Writer& out) {
    BinaryHeads heads(columns.empty() ? 10 : type_code(columns[0].cell), out);
    heads.file(kDense, rows, std::int64_t(columns.size()));
    for (std::int64_t from = 0; from < rows && !out.failed(); from += kMostOfBlock) {
        const std::int64_t to = std::min(rows, from + kMostOfBlock);
        heads.block(kDenseBlock, from, 0, to - from, std::int64_t(columns.size()));
        for (std::int64_t i = from; i < to && !out.failed(); ++i)
            for (const TableColumn& c : columns)
                out.put(std::string_view(static_cast<const char*>(c.at(i)), std::size_t(c.cell->size)));
    }
}

/// The cells of row `i` in the columns `from` to `to`.
static std::pair<std::int64_t, std::int64_t> cells_of(const Sparse& m, std::int64_t i, std::int64_t from,
                                                      std::int64_t to) {
    const auto* places = static_cast<const std::int64_t*>(m.places.data);
    const std::int64_t *first = places + m.offset(i), *last = places + m.offset(i + 1);
    if (from > 0) first = std::lower_bound(first, last, from);
    if (to < m.columns) last = std::lower_bound(first, last, to);
    return {first - places, last - places};
}

void write_binary_sparse(const WeldType* cell, const Sparse& m, Writer& out) {
    BinaryHeads heads(type_code(cell), out);
    heads.file(kCsr, m.rows, m.columns);
    const auto size = std::size_t(cell->size);
    const char* cells = static_cast<const char*>(m.cells.data);
    const auto block = [&](std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
        heads.block(kCsrBlock, row, column, rows, columns);
        const auto each_row = [&](const auto& put) {
            for (std::int64_t i = row; i < row + rows && !out.failed(); ++i) {
                const auto [first, last] = cells_of(m, i, column, column + columns);
                put(first, last);
            }
        };
        std::int64_t all = 0;
        each_row([&](std::int64_t first, std::int64_t last) { all += last - first; });
        out.put(bytes_of(std::uint64_t(all)));
        each_row([&](std::int64_t first, std::int64_t last) {
            out.put(bytes_of(std::uint32_t(last - first)));
            for (std::int64_t k = first; k < last && !out.failed(); ++k) {
                out.put(bytes_of(std::uint32_t(m.place(k) - column)));
                out.put(std::string_view(cells + std::size_t(k) * size, size));
            }
        });
    };
    for (std::int64_t i = 0; i < m.rows && !out.failed(); i += kMostOfBlock)
        for (std::int64_t j = 0; j < m.columns && !out.failed(); j += kMostOfBlock)
            block(i, std::min(kMostOfBlock, m.rows - i), j, std::min(kMostOfBlock, m.columns - j));
}

}  // namespace weld::runtime
