// The runtime's side of Parquet files: cells go from Arrow's columns into tables and back, and what Arrow
// takes counts for the run.
#include "runtime/kernels/parquet_table.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include <dlfcn.h>

#include "runtime/io/open_file.h"
#include "runtime/kernels/describe_table.h"
#include "runtime/memory.h"
#include "runtime/parquet/parquet.h"

namespace weld::runtime {

namespace {

/// Null, with the reason in `*why`, if it is not there.
const ParquetLibrary* library(std::string* why) {
    static std::string missing;
    static const ParquetLibrary* const loaded = []() -> const ParquetLibrary* {
        void* handle = ::dlopen("libweld_parquet.so." WELD_VERSION, RTLD_NOW | RTLD_LOCAL);
        if (void* there = handle ? ::dlsym(handle, "weld_parquet") : nullptr)
            return static_cast<const ParquetLibrary*>(there);
        const char* error = ::dlerror();
        missing = error ? error : "it has another version";
        return nullptr;
    }();
    if (!loaded) *why = "Parquet needs a build with Apache Arrow: " + missing;
    return loaded;
}

class FileInput final : public ParquetInput {
  public:
    explicit FileInput(const std::string& path) : file_(path) {}
    /// Why it cannot be read; empty if it can.
    std::string complaint() const { return file_.complaint(); }
    std::int64_t size() override { return file_.size(); }
    std::string read(char* to, std::int64_t at, std::int64_t size) override {
        return file_.read(to, at, size);
    }

  private:
    OpenFile file_;
};

template <class T>
T number_of(const ParquetCells& cells, std::int64_t i) {
    if constexpr (std::is_same_v<T, Bool>) return {cells.truth(i)};
    else return cells.number<T>(i);
}

/// `from` as a T, if it is one: floats are rounded, whole numbers have to fit.
template <class T, class From>
bool convert(From from, T* to) {
    if constexpr (std::is_same_v<From, Bool>) return *to = T(from.byte), true;
    else if constexpr (std::is_same_v<T, Bool>)
        return *to = {std::uint8_t(from != 0)}, from == 0 || from == 1;
    else if constexpr (std::is_floating_point_v<T>) return *to = T(from), true;
    else if constexpr (std::is_integral_v<From>) return *to = T(from), std::in_range<T>(from);
    else {
        // The bounds are powers of two: floats have them exactly.
        const From least = From(std::numeric_limits<T>::min()),
                   end = std::ldexp(From(1), std::numeric_limits<T>::digits);
        if (!(from >= least && from < end) || std::trunc(from) != from) return false;
        return *to = T(from), true;
    }
}

/// Memory that Arrow takes, counted by the account of a run.
class ChargedMemory {
  public:
    explicit ChargedMemory(Task* task) : task_(task) {}
    bool charge(std::int64_t bytes) noexcept {
        if (bytes <= 0) return task_->account().refund(-bytes), true;
        if (task_->account().charge(bytes)) return true;
        why_ = Shortage::Limit;
        return false;
    }
    /// There was none left. Status.
    std::int32_t fail(std::int32_t loc) const noexcept { return task_->fail_memory(loc, why_); }

  private:
    Task* task_;
    Shortage why_ = Shortage::Machine;
};

/// A file is read into a table.
class TableSink final : public ParquetSink {
  public:
    TableSink(Task* task, const WeldCall* call, const TableFile& file)
        : memory(task), task_(task), call_(call), file_(file) {}

    ChargedMemory memory;

    bool charge(std::int64_t bytes) noexcept override { return memory.charge(bytes); }
    bool should_stop() noexcept override { return task_->check_stop(call_->loc) != kOk; }

    bool begin(std::int64_t rows, std::span<const ParquetColumn> columns) override {
        if (check_table(task_, call_, file_, rows, std::int64_t(columns.size()))) return false;
        if (columns.empty()) return fail("a table has columns");
        columns_ = file_.make(rows, std::int64_t(columns.size()));
        return !columns_.empty();
    }

    bool put(std::int64_t column, std::int64_t row, const ParquetCells& cells) override {
        const TableColumn& to = columns_[std::size_t(column)];
        return with_cell(to.cell, [&]<class T>() {
            return with_cell(cells.cell, [&]<class From>() {
                constexpr bool both = std::is_same_v<T, WeldVec> == std::is_same_v<From, WeldVec>;
                if constexpr (both) return put_all<T, From>(to, column, row, cells);
                else
                    return fail(fmt::format("column {} holds {}, not {}", column + 1, value_type(cells.cell),
                                            value_type(to.cell)));
            });
        });
    }

  private:
    bool fail(std::string_view what) { return fail_file(task_, call_, file_, what), false; }

    template <class T, class From>
    bool put_all(const TableColumn& to, std::int64_t column, std::int64_t row, const ParquetCells& cells) {
        char* text = nullptr;
        if constexpr (std::is_same_v<T, WeldVec>) {
            std::int64_t bytes = 0;
            for (std::int64_t i = 0; i < cells.count; ++i)
                if (cells.has(i)) bytes += std::int64_t(cells.text(i).size());
            text = allocate_array<char>(task_, bytes, call_->loc);
            if (!text) return false;
        }
        for (std::int64_t i = 0; i < cells.count; ++i) {
            T& cell = *static_cast<T*>(to.at(row + i));
            if constexpr (std::is_same_v<T, WeldVec>) {
                const std::string_view from = cells.has(i) ? cells.text(i) : std::string_view();
                if (!from.empty()) std::memcpy(text, from.data(), from.size());
                cell = {text, std::int64_t(from.size())};
                text += from.size();
            } else if (cells.has(i)) {
                const From from = number_of<From>(cells, i);
                if (!convert(from, &cell))
                    return fail(fmt::format("row {}, column {}: {} is no {}", row + i + 1, column + 1, from,
                                            value_type(to.cell)));
            } else if constexpr (std::is_floating_point_v<T>) {
                cell = std::numeric_limits<T>::quiet_NaN();
            } else {
                return fail(fmt::format("row {}, column {}: the value is missing, which a {} cannot be",
                                        row + i + 1, column + 1, value_type(to.cell)));
            }
        }
        return true;
    }

    Task* task_;
    const WeldCall* call_;
    const TableFile& file_;
    std::vector<TableColumn> columns_;
};

/// Only what a file holds is wanted.
class Describing final : public ParquetSink {
  public:
    explicit Describing(std::string* text) : text_(text) {}
    bool charge(std::int64_t) noexcept override { return true; }
    bool should_stop() noexcept override { return false; }
    bool put(std::int64_t, std::int64_t, const ParquetCells&) override { return false; }
    bool begin(std::int64_t rows, std::span<const ParquetColumn> columns) override {
        std::vector<LabelledType> all;
        for (const ParquetColumn& c : columns) all.push_back({c.label, value_type(cell_in_script(c))});
        *text_ = describe_frame(rows, all);
        text_->insert(1, fmt::format("\"matrixValueType\":\"{}\",", value_type(common(columns))));
        return false;
    }

  private:
    /// What misses some values has to have NaN for them.
    static WeldKind cell_in_script(const ParquetColumn& c) {
        return c.misses_some && c.cell != kWeldVec && c.cell != kWeldF32 ? kWeldF64 : c.cell;
    }
    /// Of all cells in one matrix.
    static WeldKind common(std::span<const ParquetColumn> columns) {
        WeldKind all = columns.empty() ? kWeldF64 : cell_in_script(columns[0]);
        for (const ParquetColumn& c : columns) {
            const WeldKind cell = cell_in_script(c);
            if (value_type(cell) == value_type(all)) continue;
            all = all == kWeldVec || cell == kWeldVec ? kWeldVec : kWeldF64;
        }
        return all;
    }

    std::string* text_;
};

/// A table is written.
class TableSource final : public ParquetSource {
  public:
    TableSource(Task* task, const std::vector<TableColumn>& columns, Writer& out)
        : memory(task), task_(task), columns_(columns), out_(out) {}

    ChargedMemory memory;

    bool charge(std::int64_t bytes) noexcept override { return memory.charge(bytes); }
    bool should_stop() noexcept override { return task_->should_stop(); }
    void get(std::int64_t column, std::int64_t row, std::int64_t count, void* to) override {
        const TableColumn& from = columns_[std::size_t(column)];
        with_cell(from.cell, [&]<class T>() {
            for (std::int64_t i = 0; i < count; ++i)
                std::memcpy(static_cast<T*>(to) + i, from.at(row + i), sizeof(T));
        });
    }
    bool write(std::string_view bytes) override {
        out_.put(bytes);
        return !out_.failed();
    }

  private:
    Task* task_;
    const std::vector<TableColumn>& columns_;
    Writer& out_;
};

}  // namespace

bool describe_parquet(const std::string& path, std::string* text, std::string* error) {
    const ParquetLibrary* parquet = library(error);
    if (!parquet) return false;
    FileInput input(path);
    *error = input.complaint();
    if (!error->empty()) return false;
    Describing sink(text);
    *error = parquet->read(input, sink);
    return error->empty();
}

std::int32_t read_parquet_table(Task* task, const WeldCall* call, const TableFile& file) {
    std::string wrong;
    const ParquetLibrary* parquet = library(&wrong);
    if (!parquet) return fail_file(task, call, file, wrong);
    FileInput input(file.path);
    wrong = input.complaint();
    if (!wrong.empty()) return fail_file(task, call, file, wrong);
    TableSink sink(task, call, file);
    try {
        wrong = parquet->read(input, sink);
    } catch (const std::bad_alloc&) {
        return sink.memory.fail(call->loc);
    }
    if (task->failed()) return kFailed;
    return wrong.empty() ? kOk : fail_file(task, call, file, wrong);
}

std::string write_parquet_table(Task* task, const WeldCall* call, const std::vector<TableColumn>& columns,
                                std::int64_t rows, const WeldVec* labels, Writer& out) {
    std::string wrong;
    const ParquetLibrary* parquet = library(&wrong);
    if (!parquet) return wrong;
    std::vector<ParquetColumn> all;
    for (std::size_t j = 0; j < columns.size(); ++j)
        all.push_back({labels ? std::string(label(*labels, std::int64_t(j))) : fmt::format("col_{}", j),
                       WeldKind(columns[j].cell->kind)});
    TableSource source(task, columns, out);
    try {
        return parquet->write(rows, all, source);
    } catch (const std::bad_alloc&) {
        source.memory.fail(call->loc);
        return "out of memory";
    }
}

}  // namespace weld::runtime
