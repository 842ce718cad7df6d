// Tables of comma-separated values after RFC 4180: a header row, rows, fields that may be quoted.
//
// Rows are read by runtime/csv, in parallel, as a run of its own whose memory is kept. A byte order mark is
// skipped, and so are empty lines where a row has several fields. Strings that are not quoted, or hold no
// quotes, stay where they are mapped. A file without names would lose its first row, so a first row that
// could be one of numbers is refused.
#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "frontend/api/describe.h"
#include "frontend/cli/files.h"
#include "frontend/cli/formats.h"
#include "runtime/csv/cell.h"
#include "runtime/csv/read.h"
#include "runtime/describe.h"
#include "runtime/io/print_value.h"
#include "runtime/memory.h"
#include "weldir/support/visible.h"

namespace weld {

using runtime::is_scalar;
static bool is_string(const WeldType* type) {
    return type->kind == kWeldVec && type->args[0]->kind == kWeldI8;
}
static bool is_cell(const WeldType* type) { return is_scalar(type) || is_string(type); }

static bool all_fields(const WeldType* type, bool (*holds)(const WeldType*)) {
    return type->kind == kWeldStruct && type->num_args > 0 &&
           std::all_of(type->args, type->args + type->num_args, holds);
}

static bool is_column(const WeldType* type) { return type->kind == kWeldVec && is_cell(type->args[0]); }

// ---- reading

namespace {

using runtime::CsvField;
using runtime::CsvText;
using runtime::TableColumn;

/// A field of the first row.
struct Heading {
    std::string name;
    bool quoted;
};

/// A table, and which of its columns are wanted: all, for a struct; that of the parameter's name, for a
/// vector.
class Table {
  public:
    Table(std::string_view bytes, const CsvSource& source, const WeldType* type)
        : text_(CsvText::body(bytes)), source_(source), type_(type) {
        const bool one = type->kind == kWeldVec;
        for (std::uint32_t i = 0; i < (one ? 1 : type->num_args); ++i)
            wanted_.push_back({(one ? type : type->args[i])->args[0], std::int64_t(i)});
    }

    /// Reads the names and chooses columns by them; nothing, or what is wrong.
    std::string read_headings() {
        const CsvText csv(text_, ',', wanted_.size() == 1);
        std::size_t at = csv.skip_empty(0);
        const std::size_t line = line_of(at);
        if (at >= csv.size()) return complaint(line, "the file is empty; a table begins with a row of names");
        for (;; ++at) {
            const CsvField field = csv.take(at);
            if (!field.wrong().empty()) return complaint(line, field.wrong());
            std::string name(field.text);
            if (field.has_doubled_quotes) name.resize(field.without_doubled_quotes(name.data()));
            headings_.push_back({std::move(name), field.is_quoted});
            if (!csv.is_delimiter(at)) break;
        }
        start_ = csv.after_end(at);
        const std::string error = choose_columns();
        return error.empty() ? error : complaint(line, error);
    }

    /// Reads the rows into the value at `to`. Status of the run; or Ok with what is wrong in `*error`.
    std::int32_t read_rows(runtime::Task* task, void* to, std::string* error) const {
        runtime::CsvRequest request{.text = text_,
                                    .start = start_,
                                    .fields = std::int64_t(headings_.size()),
                                    .is_strict = true,
                                    .make = {},
                                    .name_of = [](const WeldType* t) { return name_of(t); }};
        request.make = [&](std::int64_t rows) { return make_columns(task, rows, to); };
        runtime::CsvProblem problem;
        if (runtime::read_rows(task, request, &problem)) return runtime::kFailed;
        if (problem.what.empty()) return runtime::kOk;
        if (problem.field >= 0)
            problem.what =
                fmt::format("column {}, {}: {}", problem.field + 1,
                            quoted_excerpt(headings_[std::size_t(problem.field)].name), problem.what);
        *error = complaint(std::size_t(problem.line(text_)), problem.what);
        return runtime::kOk;
    }

  private:
    struct Wanted {
        const WeldType* cell;
        std::int64_t field;  ///< of each row
    };

    std::size_t line_of(std::size_t at) const {
        return 1 + std::size_t(std::count(text_.begin(), text_.begin() + std::ptrdiff_t(at), '\n'));
    }
    std::string complaint(std::size_t line, std::string_view what) const {
        return fmt::format("{}:{}: {}", visible(source_.path), line, what);
    }

    std::vector<TableColumn> make_columns(runtime::Task* task, std::int64_t rows, void* to) const {
        std::vector<TableColumn> columns;
        for (std::size_t i = 0; i < wanted_.size(); ++i) {
            const Wanted& w = wanted_[i];
            void* data = runtime::allocate_array(task, rows, w.cell->size, 0);
            if (!data) return {};
            const WeldVec vec{rows ? data : nullptr, rows};
            std::memcpy(static_cast<char*>(to) + (type_->kind == kWeldVec ? 0 : type_->offsets[i]), &vec,
                        sizeof vec);
            columns.push_back({w.cell, static_cast<char*>(data), w.cell->size, w.field});
        }
        std::ranges::sort(columns, {}, &TableColumn::field);
        return columns;
    }

    std::string choose_columns() {
        bool by_name = false;
        if (type_->kind == kWeldVec) {
            const auto named = [&](const Heading& h) { return h.name == source_.param; };
            const auto count = std::ranges::count_if(headings_, named);
            by_name = count == 1;
            if (by_name) wanted_[0].field = std::ranges::find_if(headings_, named) - headings_.begin();
            else if (count > 1) return fmt::format("{} columns are called `{}`", count, source_.param);
            else if (headings_.size() > 1)
                return fmt::format("no column is called `{}`; there are {}", source_.param, all_names());
        } else {
            if (headings_.size() != wanted_.size())
                return fmt::format("the table has {} column{}, the parameter {} field{}", headings_.size(),
                                   headings_.size() == 1 ? "" : "s", wanted_.size(),
                                   wanted_.size() == 1 ? "" : "s");
            by_name = choose_by_number();
        }
        return by_name || !reads_as_data()
                   ? ""
                   : "the first row reads as data, but a table begins with a row of names (names "
                     "that are numbers need quotes)";
    }

    /// As results are written: fields of a struct are called `c0`, `c1`. False if the columns are not.
    bool choose_by_number() {
        std::vector<std::int64_t> fields;
        for (std::size_t i = 0; i < wanted_.size(); ++i) {
            const auto at = std::ranges::find(headings_, fmt::format("c{}", i), &Heading::name);
            if (at == headings_.end()) return false;
            fields.push_back(at - headings_.begin());
        }
        for (std::size_t i = 0; i < wanted_.size(); ++i) wanted_[i].field = fields[i];
        return true;
    }

    /// Whether each heading of a column of numbers could as well be one of its values.
    bool reads_as_data() const {
        bool numbers = false;
        for (const Wanted& c : wanted_) {
            if (!is_scalar(c.cell)) continue;
            const Heading& heading = headings_[std::size_t(c.field)];
            std::uint64_t scratch;
            if (heading.quoted || !runtime::read_cell(heading.name, WeldKind(c.cell->kind), &scratch))
                return false;
            numbers = true;
        }
        return numbers;
    }

    std::string all_names() const {
        constexpr std::size_t kMost = 20;
        std::string names;
        for (std::size_t i = 0; i < std::min(headings_.size(), kMost); ++i)
            (names += i ? ", " : "") += quoted_excerpt(headings_[i].name);
        return headings_.size() > kMost ? names + ", ..." : names;
    }

    std::string_view text_;
    const CsvSource& source_;
    const WeldType* type_;
    std::vector<Heading> headings_;
    std::vector<Wanted> wanted_;
    std::size_t start_ = 0;  ///< of the rows
};

/// What a run that reads a table gets and gives.
struct Reading {
    const Table& table;
    std::string error;
};

}  // namespace

std::string read_csv(std::string_view bytes, const CsvSource& source, const WeldType* type,
                     ArgumentMemory& memory, void* to) {
    if (!is_column(type) && !all_fields(type, is_column))
        return fmt::format(
            "`{}`: columns are vectors of scalars or strings, or make a struct of such, not a `{}`",
            visible(source.path), name_of(type));
    Table table(bytes, source, type);
    if (std::string error = table.read_headings(); !error.empty()) return error;
    Reading reading{table, {}};
    memory.run(
        [](WeldTask* task, const void* args, void* result) {
            auto& r = *static_cast<Reading*>(const_cast<void*>(args));
            return r.table.read_rows(runtime::task_of(task), result, &r.error);
        },
        &reading, type, to);
    return reading.error;
}

// ---- writing

bool fits_csv(const WeldType* type) {
    return all_fields(type, is_column) || is_column(type) ||
           (type->kind == kWeldVec && all_fields(type->args[0], is_cell));
}

namespace {

template <class T>
T load(const void* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

void write_string(const WeldVec& vec, Writer& out) {
    const std::string_view text(static_cast<const char*>(vec.data), std::size_t(vec.len));
    if (!text.empty() && text.find_first_of(",\"\r\n") == text.npos && text.front() != ' ' &&
        text.back() != ' ')
        return out.put(text);
    out.put('"');
    for (char c : text) {
        if (c == '"') out.put('"');
        out.put(c);
    }
    out.put('"');
}

void write_cell(const WeldType* type, const void* at, Writer& out) {
    if (is_scalar(type)) print_scalar(WeldKind(type->kind), at, out);
    else write_string(load<WeldVec>(at), out);
}

/// Cells of one column: `stride` bytes apart.
struct Cells {
    const WeldType* type;
    const char* first;
    std::int64_t stride;
    std::int64_t count;
};

std::vector<Cells> columns_of(const WeldType* type, const void* value) {
    std::vector<Cells> columns;
    const bool by_column = type->kind == kWeldStruct;
    const WeldType* rows = by_column ? type : type->args[0];
    const auto add = [&](const WeldType* cell, const WeldVec& vec, std::int64_t offset, std::int64_t stride) {
        columns.push_back({cell, static_cast<const char*>(vec.data) + offset, stride, vec.len});
    };
    if (!by_column && rows->kind != kWeldStruct) add(rows, load<WeldVec>(value), 0, rows->size);
    else
        for (std::uint32_t i = 0; i < rows->num_args; ++i) {
            const char* field = static_cast<const char*>(value) + rows->offsets[i];
            if (by_column) add(rows->args[i]->args[0], load<WeldVec>(field), 0, rows->args[i]->args[0]->size);
            else add(rows->args[i], load<WeldVec>(value), rows->offsets[i], rows->size);
        }
    return columns;
}

}  // namespace

std::string write_csv(const WeldType* type, const void* value, Writer& out) {
    const std::vector<Cells> columns = columns_of(type, value);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].count != columns[0].count)
            return fmt::format("its columns differ in length: {} and {}", columns[0].count, columns[i].count);
        out.put(fmt::format("{}c{}", i ? "," : "", i));
    }
    out.put('\n');
    for (std::int64_t row = 0; row < columns[0].count && !out.failed(); ++row) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (i) out.put(',');
            write_cell(columns[i].type, columns[i].first + row * columns[i].stride, out);
        }
        out.put('\n');
    }
    return {};
}

}  // namespace weld
