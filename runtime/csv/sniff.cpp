// Each row is looked at once for each delimiter that stands in the first row.
#include "runtime/csv/sniff.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/csv/cell.h"
#include "runtime/csv/text.h"

namespace weld::runtime {

namespace {

/// What the fields of a column have in common. Each row makes one of them false, or none.
struct Fields {
    bool are_signed = true;    ///< fit in i64
    bool are_unsigned = true;  ///< fit in u64
    bool are_numbers = true;
    bool any_number = false, any_quoted = false;

    void add(const CsvField& field) {
        any_quoted |= field.is_quoted;
        if (!are_numbers) return;
        std::uint64_t scratch;
        are_signed = are_signed && read_cell(field.text, kWeldI64, &scratch);
        are_unsigned = are_unsigned && read_cell(field.text, kWeldU64, &scratch);
        const bool is_empty = field.text.find_first_not_of(" \t") == field.text.npos;
        are_numbers = are_signed || are_unsigned || read_cell(field.text, kWeldF64, &scratch);
        any_number |= are_numbers && !is_empty;
    }
    WeldKind cell() const {
        if (!are_numbers) return kWeldVec;
        if (!any_number) return kWeldF64;
        return are_signed ? kWeldI64 : are_unsigned ? kWeldU64 : kWeldF64;
    }
};

/// The rows that are there as a whole.
struct Rows {
    std::vector<std::size_t> begins;
    std::int64_t fields = 0;  ///< of each; 1 if they differ
};

class Sniffer {
  public:
    Sniffer(std::string_view text, bool is_whole)
        : text_(is_whole ? without_last_lines(CsvText::body(text)) : CsvText::body(text)),
          is_whole_(is_whole) {}

    bool sniff(CsvSketch* sketch) {
        *sketch = {};
        Rows best = rows_by(CsvText(text_, ',', false));
        for (const char delimiter : {';', '\t', '|'}) {
            if (text_.find(delimiter) == text_.npos) continue;
            Rows rows = rows_by(CsvText(text_, delimiter, false));
            if (rows.fields <= best.fields) continue;
            best = std::move(rows);
            sketch->delimiter = delimiter;
        }
        const CsvText csv(text_, sketch->delimiter, best.fields == 1);
        if (best.fields == 1) best = rows_by(csv);  // empty lines are rows
        if (best.begins.size() < 2 && !is_whole_) return false;
        if (!best.begins.empty()) describe(csv, best, sketch);
        return true;
    }

  private:
    Rows rows_by(const CsvText& csv) const {
        Rows rows;
        bool agree = true;
        for (std::size_t at = csv.skip_empty(0); at < csv.size(); at = csv.skip_empty(csv.after_end(at))) {
            const std::size_t begin = at;
            std::int64_t fields = 1;
            for (csv.take(at); csv.is_delimiter(at); ++fields) csv.take(++at);
            if (!is_whole_ && csv.after_end(at) >= csv.size()) break;
            agree = agree && (rows.begins.empty() || fields == rows.fields);
            if (rows.begins.empty()) rows.fields = fields;
            rows.begins.push_back(begin);
        }
        if (!agree) rows.fields = 1;
        return rows;
    }

    static void describe(const CsvText& csv, const Rows& rows, CsvSketch* sketch) {
        std::vector<CsvField> first;
        std::size_t at = rows.begins[0];
        for (first.push_back(csv.take(at)); csv.is_delimiter(at);) first.push_back(csv.take(++at));
        std::vector<Fields> below(first.size());
        for (std::size_t i = 1; i < rows.begins.size(); ++i) {
            at = rows.begins[i];
            for (std::size_t j = 0; j < below.size(); ++j, ++at) {
                below[j].add(csv.take(at));
                if (!csv.is_delimiter(at)) break;
            }
        }
        sketch->has_header = are_names(first, below);
        for (std::size_t j = 0; j < first.size(); ++j) {
            std::string label = sketch->has_header ? name(first[j]) : "";
            if (!sketch->has_header) below[j].add(first[j]);
            if (label.empty()) label = fmt::format("col_{}", j);
            sketch->columns.push_back({std::move(label), below[j].cell()});
        }
    }

    static bool are_names(const std::vector<CsvField>& first, const std::vector<Fields>& below) {
        bool any_name = false, any_number_below = false;
        for (std::size_t j = 0; j < first.size(); ++j) {
            double scratch;
            const bool is_number = read_cell(first[j].text, kWeldF64, &scratch) && !name(first[j]).empty();
            if (is_number && (!first[j].is_quoted || below[j].any_quoted)) return false;
            any_name |= !name(first[j]).empty();
            any_number_below |= below[j].are_numbers && below[j].any_number;
        }
        return any_name && any_number_below;
    }

    static std::string name(const CsvField& field) {
        std::string text(field.text);
        if (field.has_doubled_quotes) text.resize(field.without_doubled_quotes(text.data()));
        if (field.is_quoted) return text;
        const auto first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
        return first == text.npos ? "" : text.substr(first, last + 1 - first);
    }

    std::string_view text_;
    bool is_whole_;
};

}  // namespace

std::string_view without_last_lines(std::string_view text) {
    const auto last = text.find_last_not_of("\r\n");
    const std::size_t end = last == text.npos ? 0 : std::min(text.find('\n', last), text.size() - 1) + 1;
    return text.substr(0, end);
}

bool sniff_csv(std::string_view text, bool is_whole, CsvSketch* sketch) {
    return Sniffer(text, is_whole).sniff(sketch);
}

WeldKind CsvSketch::cell() const {
    bool any_signed = false, any_unsigned = false;
    for (const Column& c : columns) {
        if (c.cell == kWeldVec) return kWeldVec;
        any_signed |= c.cell == kWeldI64;
        any_unsigned |= c.cell == kWeldU64;
    }
    const bool whole = std::ranges::none_of(columns, [](const Column& c) { return c.cell == kWeldF64; });
    if (!whole || (any_signed && any_unsigned)) return kWeldF64;
    return any_unsigned ? kWeldU64 : kWeldI64;
}

}  // namespace weld::runtime
