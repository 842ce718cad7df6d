// What `.meta` files say.
#include "frontend/daphne/meta.h"

#include <doctest/doctest.h>

using namespace weld::daphne;

static std::string error_of(std::string_view text) {
    std::string error;
    CHECK(!read_meta(text, &error));
    return error;
}

TEST_CASE("meta files say the shape and the types of data files") {
    std::string error;
    const auto matrix =
        read_meta(R"({"numRows": 3, "numCols": 2, "valueType": "si64", "numNonZeros": 4})", &error);
    REQUIRE(matrix);
    CHECK(matrix->rows == 3);
    CHECK(matrix->num_columns == 2);
    CHECK(matrix->value == ValueType::Si64);
    CHECK(matrix->non_zeros == 4);
    CHECK(!matrix->has_schema());
    const auto frame = read_meta(R"({"numRows": 0, "numCols": 2, "valueType": "f32",
        "schema": [{"label": "a b", "valueType": "str"}, {"label": "c", "valueType": ""}]})",
                                 &error);
    REQUIRE(frame);
    CHECK(frame->columns == std::vector<Column>{{"a b", ValueType::Str}, {"c", ValueType::F32}});
    CHECK(frame->value == ValueType::Str);
    CHECK(error_of("{").starts_with("it is no JSON: "));
    CHECK(error_of("[1]") == "it is no JSON object");
    CHECK(error_of("[{}]") == "it is no JSON object");
    const std::string shape = R"({"numRows": 1, "numCols": 1, )";
    // what stands elsewhere, or was said before, does not count
    const auto nested = read_meta(shape + R"("x": {"numCols": 7, "schema": [[{"label": "q"}]]},
        "schema": [5], "schema": [{"of": {"label": 1}, "label": "a", "more": [{"valueType": "f64"}],
        "valueType": "str"}], "y": [{"label": "b"}]})",
                                  &error);
    REQUIRE(nested);
    CHECK(nested->columns == std::vector<Column>{{"a", ValueType::Str}});
    for (const char* entry : {"5", "[]", R"([{"label": "a", "valueType": "f64"}])", R"({"label": 5})"})
        CHECK(error_of(shape + R"("schema": [)" + entry + "]}") == "entry 0 of `schema` has no label");
    CHECK(error_of(shape + R"("schema": {"label": "a"}})") == "`schema` is no array");
    CHECK(error_of(shape + R"("valueType": ["f64"]})") == "`valueType` is no string");
    CHECK(error_of(R"({"numRows": 1.5, "numCols": 1, "valueType": "f64"})") ==
          "`numRows` is no whole number from 0 on");
    CHECK(error_of(R"({"numRows": 18446744073709551615, "numCols": 1, "valueType": "f64"})") ==
          "`numRows` is no whole number from 0 on");
    CHECK(error_of(R"({"numRows": 1, "valueType": "f64"})") == "`numCols` is missing");
    CHECK(error_of(R"({"numRows": -1, "numCols": 1, "valueType": "f64"})") ==
          "`numRows` is no whole number from 0 on");
    CHECK(error_of(R"({"numRows": 1, "numCols": 1})") == "`valueType` and `schema` are missing");
    CHECK(error_of(R"({"numRows": 1, "numCols": 1, "valueType": "f16"})") == "`f16` is no value type");
    CHECK(error_of(R"({"numRows": 1, "numCols": 2, "schema": [{"label": "a", "valueType": "f64"}]})") ==
          "`schema` has 1 entries, but `numCols` is 2");
    CHECK(error_of(R"({"numRows": 1, "numCols": 1, "schema": [{"valueType": "f64"}]})") ==
          "entry 0 of `schema` has no label");
    CHECK(error_of(R"({"numRows": 1, "numCols": 1, "schema": [{"label": "a"}]})") ==
          "entry 0 of `schema` has no value type");
}

TEST_CASE("meta files may say how a CSV file is written, and what is known of it without one") {
    std::string error;
    const auto meta = read_meta(R"({"numRows": null, "numCols": 2, "matrixValueType": "f64", "delimiter": ";",
        "header": true, "schema": [{"label": "a", "valueType": "si64"}, {"label": "b", "valueType": "f64"}]})",
                                &error);
    REQUIRE(meta);
    CHECK(meta->rows == -1);
    CHECK(meta->value == ValueType::F64);
    const std::string begin = R"({"numRows": 1, "numCols": 1, "valueType": "f64", )";
    for (const char* delimiter : {R"("")", R"(",,")", R"("\"")", R"("\n")", "1"})
        CHECK(error_of(begin + "\"delimiter\": " + delimiter + "}") ==
              "`delimiter` is no single character that can stand between fields");
    CHECK(error_of(begin + "\"header\": 1}") == "`header` is no truth value");
}
