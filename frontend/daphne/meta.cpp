// `.meta` files by nlohmann::json; guessing from the rows that are seen.
#include "frontend/daphne/meta.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include "weldir/support/visible.h"

namespace weld::daphne {

namespace {

using Json = nlohmann::json;

/// The first of the kinds that files hold whose name is `name`.
std::optional<ValueType> value_type(std::string_view name) {
    for (const ValueType v :
         {ValueType::Si8, ValueType::Si32, ValueType::Si64, ValueType::Ui8, ValueType::Ui32, ValueType::Ui64,
          ValueType::F32, ValueType::F64, ValueType::Str})
        if (name_of(v) == name) return v;
    return {};
}

struct Wrong {
    std::string what;
};

std::int64_t count_of(const Json& json, const char* key) {
    if (!json.contains(key)) throw Wrong{fmt::format("`{}` is missing", key)};
    const Json& value = json[key];
    const bool right = value.is_number_unsigned() && value.get<std::uint64_t>() <= INT64_MAX;
    if (!right) throw Wrong{fmt::format("`{}` is no whole number from 0 on", key)};
    return value.get<std::int64_t>();
}

ValueType type_of(const Json& value) {
    if (!value.is_string()) throw Wrong{"`valueType` is no string"};
    const auto& name = value.get_ref<const std::string&>();
    const auto type = value_type(name);
    if (!type) throw Wrong{fmt::format("`{}` is no value type", visible(name))};
    return *type;
}

std::vector<Column> schema_of(const Json& json) {
    const Json& schema = json["schema"];
    if (!schema.is_array()) throw Wrong{"`schema` is no array"};
    std::vector<Column> columns;
    for (const Json& entry : schema) {
        if (!entry.is_object() || !entry.contains("label") || !entry["label"].is_string())
            throw Wrong{fmt::format("entry {} of `schema` has no label", columns.size())};
        const bool own = entry.contains("valueType") && entry["valueType"] != "";
        if (!own && !json.contains("valueType"))
            throw Wrong{fmt::format("entry {} of `schema` has no value type", columns.size())};
        columns.push_back(
            {entry["label"].get<std::string>(), type_of(own ? entry["valueType"] : json["valueType"])});
    }
    return columns;
}

Meta meta_of(const Json& json) {
    if (!json.is_object()) throw Wrong{"it is no JSON object"};
    Meta meta;
    meta.rows = count_of(json, "numRows");
    meta.num_columns = count_of(json, "numCols");
    if (json.contains("numNonZeros")) meta.non_zeros = count_of(json, "numNonZeros");
    if (json.contains("schema")) {
        meta.columns = schema_of(json);
        if (std::int64_t(meta.columns.size()) != meta.num_columns)
            throw Wrong{fmt::format("`schema` has {} entries, but `numCols` is {}", meta.columns.size(),
                                    meta.num_columns)};
        if (meta.has_schema()) meta.value = meta.columns[0].value;
    } else if (json.contains("valueType")) {
        meta.value = type_of(json["valueType"]);
    } else {
        throw Wrong{"`valueType` and `schema` are missing"};
    }
    return meta;
}

// ---- guessing

using Row = std::vector<std::string>;

/// The rows of a text whose quotes are closed; the last one only if it has an end, or `is_whole`.
std::vector<Row> rows_of(std::string_view text, char delimiter, bool is_whole) {
    std::vector<Row> rows;
    Row row(1);
    bool in_quotes = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"' && (in_quotes || row.back().empty())) in_quotes = !in_quotes;
        else if (!in_quotes && c == delimiter) row.emplace_back();
        else if (!in_quotes && c == '\n') rows.push_back(std::exchange(row, Row(1)));
        else if (c != '\r' || in_quotes) row.back() += c;
    }
    if (is_whole && !in_quotes && row != Row(1)) rows.push_back(row);
    std::erase(rows, Row(1));
    return rows;
}

/// The most special type whose numbers all of `text` is one of.
ValueType type_of_cell(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const char *begin = text.data(), *end = begin + text.size();
    std::int64_t whole;
    if (const auto found = std::from_chars(begin, end, whole); found.ec == std::errc() && found.ptr == end)
        return ValueType::Si64;
    double number;
    const auto found = fast_float::from_chars(begin, end, number);
    return found.ec == std::errc() && found.ptr == end ? ValueType::F64 : ValueType::Str;
}

/// In how many cells the rows agree, if they have several; else 1.
std::size_t width(const std::vector<Row>& rows) {
    const bool same = std::ranges::all_of(rows, [&](const Row& r) { return r.size() == rows[0].size(); });
    return rows.empty() || !same ? 1 : rows[0].size();
}

}  // namespace

std::optional<Meta> read_meta(std::string_view text, std::string* error) {
    try {
        return meta_of(Json::parse(text));
    } catch (const Wrong& wrong) {
        *error = wrong.what;
    } catch (const Json::exception& e) {
        *error = fmt::format("it is no JSON: {}", visible(e.what()));
    }
    return {};
}

std::optional<Meta> sniff_csv(std::string_view text, bool is_whole) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    Meta meta;
    std::vector<Row> rows = rows_of(text, ',', is_whole);
    for (const char delimiter : {';', '\t', '|'}) {
        std::vector<Row> other = rows_of(text, delimiter, is_whole);
        if (width(other) <= width(rows)) continue;
        rows = std::move(other);
        meta.delimiter = delimiter;
    }
    if (rows.empty()) return {};
    meta.num_columns = std::int64_t(rows[0].size());
    std::vector<ValueType> with_first, others;
    for (std::size_t j = 0; j < rows[0].size(); ++j) {
        ValueType type = ValueType::Si64;  // empty cells are missing numbers, which si64 has not
        for (std::size_t i = 1; i < rows.size(); ++i)
            if (j < rows[i].size())
                type = std::max(type, rows[i][j].empty() ? ValueType::F64 : type_of_cell(rows[i][j]));
        others.push_back(type);
        with_first.push_back(std::max(rows.size() > 1 ? type : ValueType::Si64, type_of_cell(rows[0][j])));
    }
    // A row of names: texts only, at least one of them above numbers; or there is nothing else.
    const bool texts = std::ranges::all_of(
        rows[0], [](const std::string& cell) { return type_of_cell(cell) == ValueType::Str; });
    meta.has_header = texts && rows.size() > 1 && std::ranges::find_if(others, [](ValueType v) {
                                                      return v != ValueType::Str;
                                                  }) != others.end();
    const std::vector<ValueType>& types = meta.has_header ? others : with_first;
    for (std::size_t j = 0; j < types.size(); ++j)
        meta.columns.push_back({meta.has_header ? rows[0][j] : fmt::format("col_{}", j), types[j]});
    meta.value = *std::ranges::max_element(types);
    return meta;
}

}  // namespace weld::daphne
