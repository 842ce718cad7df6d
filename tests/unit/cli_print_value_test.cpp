// Values as text, readable and JSON.
#include "runtime/io/print_value.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "runtime/io/entries.h"
#include "tests/unit/cli_values.h"

using namespace weld;
using namespace weld::cli_test;

template <class T>
static std::string text_of(Scalar kind, T value) {
    Kinds k;
    return printed(k(kind), &value);
}

TEST_CASE("scalars print in their shortest form") {
    CHECK(text_of<std::int8_t>(Scalar::I8, -7) == "-7");
    CHECK(text_of<std::uint8_t>(Scalar::U8, 200) == "200");
    CHECK(text_of<std::uint64_t>(Scalar::U64, ~0ull) == "18446744073709551615");
    CHECK(text_of<std::uint8_t>(Scalar::Bool, 2) == "true");
    CHECK(text_of(Scalar::F64, 1.0) == "1.0");
    CHECK(text_of(Scalar::F64, 0.1) == "0.1");
    CHECK(text_of(Scalar::F64, -0.0) == "-0.0");
    CHECK(text_of(Scalar::F64, 100000.0) == "100000.0");
    CHECK(text_of(Scalar::F64, 1e100) == "1e+100");
    CHECK(text_of(Scalar::F64, 5e-324) == "5e-324");
    CHECK(text_of(Scalar::F64, std::numeric_limits<double>::max()) == "1.7976931348623157e+308");
    CHECK(text_of(Scalar::F32, 0.1f) == "0.1");
    CHECK(text_of(Scalar::F32, 16777216.0f) == "16777216.0");
    CHECK(text_of<double>(Scalar::F64, -INFINITY) == "-Infinity");
    CHECK(text_of<double>(Scalar::F64, NAN) == "NaN");
}

static std::string text_of(std::string_view bytes, PrintStyle style = {}) {
    Kinds k;
    const WeldVec vec{const_cast<char*>(bytes.data()), std::int64_t(bytes.size())};
    return printed(k.of(k.vec(k.scalar(Scalar::I8))), &vec, style);
}

TEST_CASE("strings are quoted if people can read them") {
    CHECK(text_of("") == "\"\"");
    CHECK(text_of("abc") == "\"abc\"");
    CHECK(text_of("a\"b\\c\n\t\r") == R"("a\"b\\c\n\t\r")");
    CHECK(text_of("gr\xc3\xbc\xc3\x9f") == "\"gr\xc3\xbc\xc3\x9f\"");
    CHECK(text_of("a\1") == "[97, 1]");
    CHECK(text_of("\xff") == "[-1]");
    CHECK(text_of("\xc2\x85") == "[-62, -123]");
    CHECK(text_of("abc", {.json = true}) == "[97, 98, 99]");
    CHECK(text_of("", {.json = true}) == "[]");
}

TEST_CASE("structs and vectors") {
    Kinds k;
    struct Row {
        std::int32_t a;
        double b;
    } rows[] = {{1, 2.5}, {3, 4}};
    const Type* row = k.structure({k.scalar(Scalar::I32), k.scalar(Scalar::F64)});
    const WeldVec vec{rows, 2};
    CHECK(printed(k.of(row), rows) == "{1, 2.5}");
    CHECK(printed(k.of(row), rows, {.json = true}) == "[1, 2.5]");
    CHECK(printed(k.of(k.vec(row)), &vec) == "[{1, 2.5}, {3, 4.0}]");
    CHECK(printed(k.of(k.vec(row)), &vec, {.json = true}) == "[[1, 2.5], [3, 4.0]]");
    CHECK(printed(k.of(k.structure({})), rows) == "{}");
    const float lanes[4] = {1, 2, 3, 4};
    CHECK(printed(k.of(k.types.simd(Scalar::F32, 4)), lanes) == "[1.0, 2.0, 3.0, 4.0]");
}

TEST_CASE("long vectors are elided on request") {
    Kinds k;
    std::vector<std::int64_t> values(1001);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::int64_t(i);
    WeldVec vec{values.data(), 1001};
    const WeldType* type = k.of(k.vec(k.scalar(Scalar::I64)));
    const std::string text = printed(type, &vec, {.elide = true});
    CHECK(text.starts_with("[0, 1, 2, "));
    CHECK(text.find("49, ... 901 more ..., 951,") != text.npos);
    CHECK(text.ends_with(", 1000]"));
    CHECK(printed(type, &vec).find("...") == text.npos);
    vec.len = 1000;
    CHECK(printed(type, &vec, {.elide = true}).find("...") == text.npos);
    std::string letters(1200, 'x');
    letters.replace(499, 2, "\xc3\xbc");  // cut in the middle
    CHECK(text_of(letters, {.elide = true}) == "\"" + std::string(499, 'x') + "\"... (1200 bytes)");
}

TEST_CASE("keys have a total order") {
    Kinds k;
    const double numbers[] = {NAN, 1, -1};
    const WeldType* f64 = k(Scalar::F64);
    CHECK(compare_keys(f64, &numbers[0], &numbers[1]) > 0);
    CHECK(compare_keys(f64, &numbers[1], &numbers[0]) < 0);
    CHECK(compare_keys(f64, &numbers[0], &numbers[0]) == 0);
    CHECK(compare_keys(f64, &numbers[2], &numbers[1]) < 0);
    const auto string = [](std::string_view s) {
        return WeldVec{const_cast<char*>(s.data()), std::int64_t(s.size())};
    };
    const WeldType* strings = k.of(k.vec(k.scalar(Scalar::I8)));
    const WeldVec ab = string("ab"), abc = string("abc"), b = string("b");
    CHECK(compare_keys(strings, &ab, &abc) < 0);
    CHECK(compare_keys(strings, &b, &abc) > 0);
    CHECK(compare_keys(strings, &ab, &ab) == 0);
}
