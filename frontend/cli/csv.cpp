// Tables of comma-separated values after RFC 4180: a header row, rows, fields that may be quoted.
//
// Lines end with LF or CRLF; a byte order mark and empty lines are skipped. Strings that are not quoted, or
// hold no quotes, stay where they are mapped.
#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "frontend/api/describe.h"
#include "frontend/api/print_value.h"
#include "frontend/cli/files.h"
#include "frontend/cli/formats.h"
#include "frontend/cli/read_value.h"

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
    FieldReader(std::string_view text, Arena& memory) : text_(text), memory_(memory) {
        if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
    }

    /// Goes to the next row that is not empty; false at the end.
    bool next_row() {
        for (; at_ < text_.size(); ++at_) {
            if (text_[at_] == '\n') ++line_;
            else if (text_[at_] != '\r') break;
        }
        in_row_ = at_ < text_.size();
        return in_row_;
    }
    bool in_row() const { return in_row_; }
    std::size_t line() const { return line_; }

    /// The next field of the row; false with `error` set if its quotes do not match.
    bool next_field(std::string_view* field) {
        if (at_ < text_.size() && text_[at_] == '"') {
            if (!quoted(field)) return false;
        } else {
            const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
            *field = text_.substr(at_, end - at_);
            if (end == text_.size() || text_[end] == '\n')
                if (field->ends_with('\r')) field->remove_suffix(1);
            at_ = end;
        }
        in_row_ = at_ < text_.size() && text_[at_] == ',';
        if (in_row_) ++at_;
        return true;
    }
    std::string error;

  private:
    bool quoted(std::string_view* field) {
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
        if (has_quotes) *field = without_doubled_quotes(*field);
        ++at_;
        if (at_ < text_.size() && text_[at_] == '\r') ++at_;
        if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n')
            return fail("text after a quoted field");
        line_ += std::size_t(std::count(field->begin(), field->end(), '\n'));
        return true;
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

    bool fail(const char* what) {
        error = fmt::format("line {}: {}", line_, what);
        return false;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    bool in_row_ = false;
    Arena& memory_;
};

/// The values of one column, as they come.
struct Column {
    const WeldType* elem;
    std::vector<std::byte> values;

    std::string add(std::string_view field) {
        values.resize(values.size() + std::size_t(elem->size));
        void* to = values.data() + values.size() - elem->size;
        if (is_scalar(elem)) return read_cell(field, WeldKind(elem->kind), to);
        const WeldVec string{field.empty() ? nullptr : const_cast<char*>(field.data()),
                             std::int64_t(field.size())};
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

std::string read_rows(FieldReader& fields, std::vector<Column>& columns) {
    std::string_view field;
    std::size_t headings = 0;
    for (fields.next_row(); fields.in_row(); ++headings)
        if (!fields.next_field(&field)) return fields.error;
    if (headings != columns.size())
        return fmt::format("it has {} columns, the parameter {} fields", headings, columns.size());
    while (fields.next_row()) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (!fields.in_row())
                return fmt::format("line {}: the row has {} of {} fields", fields.line(), i, columns.size());
            if (!fields.next_field(&field)) return fields.error;
            if (std::string error = columns[i].add(field); !error.empty())
                return fmt::format("line {}, column {}: {}", fields.line(), i + 1, error);
        }
        if (fields.in_row())
            return fmt::format("line {}: the row has more than {} fields", fields.line(), columns.size());
    }
    return {};
}

}  // namespace

std::string read_csv(std::string_view bytes, const WeldType* type, ArgumentMemory& memory, void* to) {
    if (!all_fields(type, is_column))
        return fmt::format("columns make a struct of vectors of scalars and strings, not a `{}`",
                           name_of(type));
    std::vector<Column> columns;
    for (std::uint32_t i = 0; i < type->num_args; ++i) columns.push_back({type->args[i]->args[0], {}});
    FieldReader fields(bytes, memory.arena);
    if (std::string error = read_rows(fields, columns); !error.empty()) return error;
    for (std::uint32_t i = 0; i < type->num_args; ++i) {
        const WeldVec vec = columns[i].vec(memory.arena);
        std::memcpy(static_cast<char*>(to) + type->offsets[i], &vec, sizeof vec);
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
    for (std::int64_t row = 0; row < columns[0].count; ++row) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (i) out.put(',');
            write_cell(columns[i].type, columns[i].first + row * columns[i].stride, out);
        }
        out.put('\n');
    }
    return {};
}

}  // namespace weld
