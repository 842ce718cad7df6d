// Tables of comma-separated values after RFC 4180: a header row, rows, fields that may be quoted.
//
// Lines end with LF or CRLF; a byte order mark is skipped, and so are empty lines where a row has several
// fields. Strings that are not quoted, or hold no quotes, stay where they are mapped. A file without names
// would lose its first row, so a first row that could be one of numbers is refused.
#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "frontend/api/describe.h"
#include "frontend/api/text.h"
#include "frontend/cli/files.h"
#include "frontend/cli/formats.h"
#include "frontend/cli/read_value.h"
#include "runtime/io/print_value.h"
#include "weldir/support/visible.h"

namespace weld {

static bool is_scalar(const WeldType* type) { return type->kind < kWeldSimd; }
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

/// Cuts a text into fields.
class FieldReader {
  public:
    FieldReader(std::string_view text, std::string_view path, Arena& memory)
        : text_(text), path_(path), memory_(memory) {
        if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
    }

    /// Goes to the next row; false at the end. An empty line is one with an empty field, or none.
    bool next_row(bool empty_rows) {
        if (row_line_) skip_line_end();
        while (!empty_rows && at_line_end() && at_ < text_.size()) skip_line_end();
        row_line_ = line_;
        in_row_ = at_ < text_.size();
        return in_row_;
    }
    bool in_row() const { return in_row_; }

    /// The next field of the row; false with `error` set if its quotes do not match.
    bool next_field(std::string_view* field) {
        quoted_ = at_ < text_.size() && text_[at_] == '"';
        if (!(quoted_ ? read_quoted(field) : read_plain(field))) return false;
        in_row_ = at_ < text_.size() && text_[at_] == ',';
        if (in_row_) ++at_;
        return true;
    }
    /// The last field stood in quotes.
    bool quoted() const { return quoted_; }

    /// What is wrong, in the line where the row begins.
    std::string complaint(std::string_view what) const {
        return fmt::format("{}:{}: {}", visible(path_), std::max<std::size_t>(row_line_, 1), what);
    }
    std::string error;

  private:
    bool at_line_end() const {
        const std::string_view rest = text_.substr(at_, 2);
        return rest.empty() || rest[0] == '\n' || rest == "\r\n" || rest == "\r";
    }
    void skip_line_end() {
        if (at_ < text_.size() && text_[at_] == '\r') ++at_;
        if (at_ == text_.size()) return;
        ++at_;
        ++line_;
    }

    bool read_plain(std::string_view* field) {
        const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
        *field = text_.substr(at_, end - at_);
        at_ = end;
        if (at_line_end() || text_[at_] == ',') return true;
        return fail("a carriage return within a field; lines end with LF or CRLF");
    }

    bool read_quoted(std::string_view* field) {
        const std::size_t start = ++at_;
        bool has_quotes = false;
        for (;; ++at_) {
            at_ = text_.find('"', at_);
            if (at_ == text_.npos) return fail("the quoted field is not closed");
            if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
            has_quotes = true;
            ++at_;
        }
        *field = text_.substr(start, at_ - start);
        line_ += std::size_t(std::count(field->begin(), field->end(), '\n'));
        if (has_quotes) *field = without_doubled_quotes(*field);
        ++at_;
        return at_line_end() || text_[at_] == ',' || fail("text after a quoted field");
    }

    std::string_view without_doubled_quotes(std::string_view field) {
        char* to = static_cast<char*>(memory_.allocate(field.size(), 1));
        char* end = to;
        for (std::size_t i = 0; i < field.size(); ++i) {
            *end++ = field[i];
            if (field[i] == '"') ++i;
        }
        return {to, std::size_t(end - to)};
    }

    bool fail(std::string_view what) {
        error = complaint(what);
        return false;
    }

    std::string_view text_;
    std::string_view path_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::size_t row_line_ = 0;  ///< 0: before the first row
    bool in_row_ = false;
    bool quoted_ = false;
    Arena& memory_;
};

/// A field of the first row.
struct Heading {
    std::string_view name;
    bool quoted;
};

/// The values of one column, as they come.
struct Column {
    const WeldType* elem;
    std::size_t field = 0;  ///< of each row
    std::vector<std::byte> values;

    std::string add(std::string_view text) {
        values.resize(values.size() + std::size_t(elem->size));
        void* to = values.data() + values.size() - elem->size;
        if (is_scalar(elem)) return read_cell(text, WeldKind(elem->kind), to);
        const WeldVec string{text.empty() ? nullptr : const_cast<char*>(text.data()),
                             std::int64_t(text.size())};
        std::memcpy(to, &string, sizeof string);
        return {};
    }

    WeldVec vec(Arena& memory) const {
        if (values.empty()) return {nullptr, 0};
        void* data = memory.allocate(values.size(), 64);
        std::memcpy(data, values.data(), values.size());
        return {data, std::int64_t(values.size()) / elem->size};
    }
};

/// Reads a table into the columns that are wanted of it: all, for a struct; that of the parameter's name, for
/// a vector.
class TableReader {
  public:
    TableReader(std::string_view bytes, const CsvSource& source, const WeldType* type, Arena& memory)
        : fields_(bytes, source.path, memory), param_(source.param), type_(type) {
        if (type->kind == kWeldVec) columns_.push_back({.elem = type->args[0]});
        else
            for (std::uint32_t i = 0; i < type->num_args; ++i)
                columns_.push_back({.elem = type->args[i]->args[0], .field = i});
    }

    std::string read() {
        std::string error = read_headings();
        if (error.empty()) error = choose_columns();
        return error.empty() ? read_rows() : error;
    }

    const std::vector<Column>& columns() const { return columns_; }

  private:
    std::string read_headings() {
        for (fields_.next_row(columns_.size() == 1); fields_.in_row();) {
            std::string_view name;
            if (!fields_.next_field(&name)) return fields_.error;
            headings_.push_back({name, fields_.quoted()});
        }
        return headings_.empty() ? fields_.complaint("the file is empty; a table begins with a row of names")
                                 : "";
    }

    std::string choose_columns() {
        bool by_name = false;
        if (type_->kind == kWeldVec) {
            const auto named = [&](const Heading& h) { return h.name == param_; };
            const auto count = std::ranges::count_if(headings_, named);
            by_name = count == 1;
            if (by_name)
                columns_[0].field = std::size_t(std::ranges::find_if(headings_, named) - headings_.begin());
            else if (count > 1)
                return fields_.complaint(fmt::format("{} columns are called `{}`", count, param_));
            else if (headings_.size() > 1)
                return fields_.complaint(
                    fmt::format("no column is called `{}`; there are {}", param_, all_names()));
        } else {
            if (headings_.size() != columns_.size())
                return fields_.complaint(fmt::format("the table has {} column{}, the parameter {} field{}",
                                                     headings_.size(), headings_.size() == 1 ? "" : "s",
                                                     columns_.size(), columns_.size() == 1 ? "" : "s"));
            by_name = choose_by_number();
        }
        return by_name || !reads_as_data()
                   ? ""
                   : fields_.complaint(
                         "the first row reads as data, but a table begins with a row of names (names "
                         "that are numbers need quotes)");
    }

    /// As results are written: fields of a struct are called `c0`, `c1`. False if the columns are not.
    bool choose_by_number() {
        std::vector<std::size_t> fields;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const auto at = std::ranges::find(headings_, fmt::format("c{}", i), &Heading::name);
            if (at == headings_.end()) return false;
            fields.push_back(std::size_t(at - headings_.begin()));
        }
        for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].field = fields[i];
        return true;
    }

    /// Whether each heading of a column of numbers could as well be one of its values.
    bool reads_as_data() const {
        bool numbers = false;
        for (const Column& c : columns_) {
            if (!is_scalar(c.elem)) continue;
            const Heading& heading = headings_[c.field];
            std::uint64_t scratch;
            if (heading.quoted || !read_cell(heading.name, WeldKind(c.elem->kind), &scratch).empty())
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

    std::string read_rows() {
        std::vector<Column*> wanted(headings_.size(), nullptr);
        for (Column& c : columns_) wanted[c.field] = &c;
        while (fields_.next_row(headings_.size() == 1)) {
            for (std::size_t i = 0; i < wanted.size(); ++i) {
                std::string_view field;
                if (!fields_.in_row())
                    return fields_.complaint(fmt::format("the row has {} of {} fields", i, wanted.size()));
                if (!fields_.next_field(&field)) return fields_.error;
                if (!wanted[i]) continue;
                if (const std::string error = wanted[i]->add(field); !error.empty())
                    return fields_.complaint(
                        fmt::format("column {}, {}: {}", i + 1, quoted_excerpt(headings_[i].name), error));
            }
            if (fields_.in_row())
                return fields_.complaint(fmt::format("the row has more than {} fields", wanted.size()));
        }
        return {};
    }

    FieldReader fields_;
    std::string_view param_;
    const WeldType* type_;
    std::vector<Heading> headings_;
    std::vector<Column> columns_;
};

}  // namespace

std::string read_csv(std::string_view bytes, const CsvSource& source, const WeldType* type,
                     ArgumentMemory& memory, void* to) {
    if (!is_column(type) && !all_fields(type, is_column))
        return fmt::format(
            "`{}`: columns are vectors of scalars or strings, or make a struct of such, not a `{}`",
            visible(source.path), name_of(type));
    TableReader table(bytes, source, type, memory.arena);
    if (std::string error = table.read(); !error.empty()) return error;
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
        const WeldVec vec = table.columns()[i].vec(memory.arena);
        const std::int64_t offset = type->kind == kWeldVec ? 0 : type->offsets[i];
        std::memcpy(static_cast<char*>(to) + offset, &vec, sizeof vec);
    }
    return {};
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
