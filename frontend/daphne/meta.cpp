// `.meta` files by nlohmann::json.
#include "frontend/daphne/meta.h"

#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "weldir/support/visible.h"

namespace weld::daphne {

namespace {

/// A value of a member; of arrays and objects only that they are such.
struct Given {
    enum Kind { Missing, Null, Bool, Whole, Text, Array, Other } kind = Missing;
    std::uint64_t number = 0;
    std::string text;

    bool is_there() const { return kind != Missing; }
};

struct GivenColumn {
    bool is_object = false;
    Given label, value_type;
};

/// All members of a description that matter, as they stand there.
struct GivenMeta {
    bool is_object = false;
    Given rows, columns, non_zeros, schema, value_type, matrix_value_type, delimiter, header;
    std::vector<GivenColumn> entries;  ///< of the schema
};

/// A handler of events: trees of nlohmann::json cannot be destroyed without memory.
class MetaReader final : public nlohmann::json_sax<nlohmann::json> {
  public:
    GivenMeta meta;
    std::string complaint;

    bool null() override { return put({Given::Null}); }
    bool boolean(bool) override { return put({Given::Bool}); }
    bool number_integer(std::int64_t) override { return put({Given::Other}); }
    bool number_unsigned(std::uint64_t number) override { return put({Given::Whole, number}); }
    bool number_float(double, const std::string&) override { return put({Given::Other}); }
    bool string(std::string& text) override { return put({Given::Text, 0, std::move(text)}); }
    bool binary(binary_t&) override { return put({Given::Other}); }
    bool start_object(std::size_t) override {
        if (depth_ == 0) meta.is_object = true;
        put({Given::Other});
        if (depth_ == 2 && in_schema_) meta.entries.back().is_object = true;
        return ++depth_, true;
    }
    bool key(std::string& name) override {
        at_ = nullptr;
        if (depth_ == 1) at_ = member(name);
        else if (depth_ == 3 && in_schema_ && meta.entries.back().is_object)
            at_ = name == "label"       ? &meta.entries.back().label
                  : name == "valueType" ? &meta.entries.back().value_type
                                        : nullptr;
        return true;
    }
    bool end_object() override { return --depth_, true; }
    bool start_array(std::size_t) override {
        const bool is_schema = depth_ == 1 && at_ == &meta.schema;
        put({Given::Array});
        if (is_schema) in_schema_ = true, meta.entries.clear();
        return ++depth_, true;
    }
    bool end_array() override {
        in_schema_ &= --depth_ > 1;
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
        complaint = fmt::format("it is no JSON: {}", visible(e.what()));
        return false;
    }

  private:
    /// A value begins: that of the member named last, or an entry of the schema.
    bool put(Given value) {
        if (depth_ == 2 && in_schema_) meta.entries.emplace_back();
        if (at_) *at_ = std::move(value);
        at_ = nullptr;
        return true;
    }
    Given* member(std::string_view name) {
        const std::pair<std::string_view, Given*> members[] = {
            {"numRows", &meta.rows},          {"numCols", &meta.columns},
            {"numNonZeros", &meta.non_zeros}, {"schema", &meta.schema},
            {"valueType", &meta.value_type},  {"matrixValueType", &meta.matrix_value_type},
            {"delimiter", &meta.delimiter},   {"header", &meta.header}};
        for (const auto& [known, at] : members)
            if (known == name) return at;
        return nullptr;
    }

    Given* at_ = nullptr;
    bool in_schema_ = false;
    std::int64_t depth_ = 0;
};

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

std::int64_t count_of(const Given& given, std::string_view name) {
    if (!given.is_there()) throw Wrong{fmt::format("`{}` is missing", name)};
    if (given.kind != Given::Whole || given.number > INT64_MAX)
        throw Wrong{fmt::format("`{}` is no whole number from 0 on", name)};
    return std::int64_t(given.number);
}

ValueType type_of(const Given& given) {
    if (given.kind != Given::Text) throw Wrong{"`valueType` is no string"};
    const auto type = value_type(given.text);
    if (!type) throw Wrong{fmt::format("`{}` is no value type", visible(given.text))};
    return *type;
}

std::vector<Column> schema_of(const GivenMeta& given) {
    if (given.schema.kind != Given::Array) throw Wrong{"`schema` is no array"};
    std::vector<Column> columns;
    for (const auto& [is_object, label, own] : given.entries) {
        if (!is_object || label.kind != Given::Text)
            throw Wrong{fmt::format("entry {} of `schema` has no label", columns.size())};
        const bool has_own = own.is_there() && !(own.kind == Given::Text && own.text.empty());
        if (!has_own && !given.value_type.is_there())
            throw Wrong{fmt::format("entry {} of `schema` has no value type", columns.size())};
        columns.push_back({label.text, type_of(has_own ? own : given.value_type)});
    }
    return columns;
}

/// What says how a CSV file is written.
void check_form(const GivenMeta& given) {
    const Given& d = given.delimiter;
    const bool can_stand_between = d.kind == Given::Text && d.text.size() == 1 &&
                                   std::string_view("\"\n\r").find(d.text[0]) == std::string_view::npos;
    if (d.is_there() && !can_stand_between)
        throw Wrong{"`delimiter` is no single character that can stand between fields"};
    if (given.header.is_there() && given.header.kind != Given::Bool)
        throw Wrong{"`header` is no truth value"};
}

Meta meta_of(const GivenMeta& given) {
    if (!given.is_object) throw Wrong{"it is no JSON object"};
    Meta meta;
    meta.rows = given.rows.kind == Given::Null ? -1 : count_of(given.rows, "numRows");
    meta.num_columns = count_of(given.columns, "numCols");
    if (given.non_zeros.is_there()) meta.non_zeros = count_of(given.non_zeros, "numNonZeros");
    if (given.schema.is_there()) {
        meta.columns = schema_of(given);
        if (std::int64_t(meta.columns.size()) != meta.num_columns)
            throw Wrong{fmt::format("`schema` has {} entries, but `numCols` is {}", meta.columns.size(),
                                    meta.num_columns)};
        if (meta.has_schema()) meta.value = meta.columns[0].value;
    } else if (given.value_type.is_there()) {
        meta.value = type_of(given.value_type);
    } else {
        throw Wrong{"`valueType` and `schema` are missing"};
    }
    if (given.matrix_value_type.is_there()) meta.value = type_of(given.matrix_value_type);
    check_form(given);
    return meta;
}

}  // namespace

std::optional<Meta> read_meta(std::string_view text, std::string* error) {
    MetaReader reader;
    if (!nlohmann::json::sax_parse(text, &reader)) {
        *error = std::move(reader.complaint);
        return {};
    }
    try {
        return meta_of(reader.meta);
    } catch (const Wrong& wrong) {
        *error = wrong.what;
    }
    return {};
}

}  // namespace weld::daphne
