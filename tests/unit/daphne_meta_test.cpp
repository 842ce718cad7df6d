// What `.meta` files say, and what is guessed without one.
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

TEST_CASE("without a meta file, delimiter, names and types are guessed") {
    const auto plain = sniff_csv("1,2.5,x\n3,4,\"y, z\"\n5,6", false);
    REQUIRE(plain);
    CHECK(plain->columns == std::vector<Column>{{"col_0", ValueType::Si64},
                                                {"col_1", ValueType::F64},
                                                {"col_2", ValueType::Str}});
    CHECK(!plain->has_header);
    CHECK(plain->rows == -1);
    const auto named = sniff_csv("no;what\r\n1;a,b\r\n2;c,d\r\n", true);
    REQUIRE(named);
    CHECK(named->delimiter == ';');
    CHECK(named->has_header);
    CHECK(named->columns == std::vector<Column>{{"no", ValueType::Si64}, {"what", ValueType::Str}});
    const auto texts = sniff_csv("a,b\nc,d\n", true);
    REQUIRE(texts);
    CHECK(!texts->has_header);
    CHECK(texts->value == ValueType::Str);
    const auto missing = sniff_csv("1\t2\n3\t\n", true);
    REQUIRE(missing);
    CHECK(missing->delimiter == '\t');
    CHECK(missing->columns[1].value == ValueType::F64);
    CHECK(!sniff_csv("", true));
    CHECK(sniff_csv("7", true)->value == ValueType::Si64);
}
