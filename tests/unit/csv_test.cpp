// Tables of separated values: what is learned from their first rows, where rows begin, and that pieces are
// read as the whole is.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/csv/cell.h"
#include "runtime/csv/read.h"
#include "runtime/csv/rows.h"
#include "runtime/csv/sniff.h"
#include "runtime/memory.h"
#include "tests/unit/runtime_util.h"

using namespace weld;
using namespace weld::runtime;

/// `;h a:i64 b:f64 c:str`: the delimiter, `h` if there are names, columns.
static std::string sketch_of(std::string_view text, bool is_whole = true) {
    CsvSketch sketch;
    if (!sniff_csv(text, is_whole, &sketch)) return "more";
    std::string shown = sketch.delimiter + std::string(sketch.has_header ? "h" : "");
    for (const auto& [label, cell] : sketch.columns)
        shown += " " + label +
                 (cell == kWeldI64   ? ":i64"
                  : cell == kWeldU64 ? ":u64"
                  : cell == kWeldF64 ? ":f64"
                                     : ":str");
    return shown;
}

TEST_CASE("names, delimiter and types are learned from the first rows") {
    CHECK(sketch_of("1,2.5,x\n3,4,\"y, z\"\n5,6,") == ", col_0:i64 col_1:f64 col_2:str");
    CHECK(sketch_of("no;what\r\n1;a,b\r\n2;c,d\r\n") == ";h no:i64 what:str");
    CHECK(sketch_of("a\tb\n1\t\n3\t4\n") == "\th a:i64 b:f64");
    CHECK(sketch_of("1|2|3\n4|5|6\n") == "| col_0:i64 col_1:i64 col_2:i64");
    CHECK(sketch_of("a,b\nc,d\n") == ", col_0:str col_1:str");
    CHECK(sketch_of("\xef\xbb\xbfname,\"x \"\"y\"\"\", z \nq,1,2\n") == ",h name:str x \"y\":i64 z:i64");
    CHECK(sketch_of(",a\n0,1\n1,2\n") == ",h col_0:i64 a:i64");
    CHECK(sketch_of(",\n0,1\n") == ", col_0:f64 col_1:f64");
    CHECK(sketch_of("a,b\n,\n") == ", col_0:str col_1:str");
    CHECK(sketch_of("1,2\n,\n") == ", col_0:f64 col_1:f64");
    CHECK(sketch_of("2024,2025\n1,2\n") == ", col_0:i64 col_1:i64");
    CHECK(sketch_of("\"2024\",\"2025\"\n1,2.5\n") == ",h 2024:i64 2025:f64");
    CHECK(sketch_of("\"2024\",\"2025\"\n\"1\",\"2.5\"\n") == ", col_0:i64 col_1:f64");
    CHECK(sketch_of("18446744073709551615,18446744073709551616,-1\n1,2,18446744073709551615") ==
          ", col_0:u64 col_1:f64 col_2:f64");
    CHECK(sketch_of("nan,inf, -2 ,+3,1e400,0x1\n") ==
          ", col_0:f64 col_1:f64 col_2:i64 col_3:i64 col_4:str col_5:str");
    CHECK(sketch_of("\"two\nlines\",1\nx,2\n") == ", col_0:str col_1:i64");
    CHECK(sketch_of("7") == ", col_0:i64");
    CHECK(sketch_of("7\n8\n\n\r\n") == ", col_0:i64");
    CHECK(sketch_of("7\n\n8\n") == ", col_0:f64");
    CHECK(sketch_of("1,2\n3\n") == ", col_0:i64 col_1:i64");
    CHECK(sketch_of("a b\n1\n") == ",h a b:i64");
    CHECK(sketch_of("") == ",");
    CHECK(sketch_of("\n\r\n") == ",");
    CHECK(sketch_of("1,2\n3,4", false) == "more");
    CHECK(sketch_of("1,2\n3,4\n5.5", false) == ", col_0:i64 col_1:i64");
    CHECK(sketch_of("1,\"2\n3,4\n5.5", false) == "more");
    CsvSketch sketch;
    const auto cell = [&](std::string_view text) {
        sniff_csv(text, true, &sketch);
        return sketch.cell();
    };
    CHECK(cell("1,2\n") == kWeldI64);
    CHECK(cell("1,2.5\n") == kWeldF64);
    CHECK(cell("1,x\n") == kWeldVec);
    CHECK(cell("18446744073709551615,18446744073709551615\n") == kWeldU64);
    CHECK(cell("-1,18446744073709551615\n") == kWeldF64);
}

/// Texts of few characters that mean something, and long fields now and then.
static std::string random_table(std::mt19937& random, std::size_t size) {
    constexpr std::string_view letters[] = {"1",    "2",  ",",     ",",    "\n", "\n",
                                            "\r\n", "\"", "\"a\"", "\"\"", "x",  "\r"};
    std::string text;
    while (text.size() < size) {
        text += letters[random() % std::size(letters)];
        if (random() % 50 == 0) text.append(random() % 200, 'y');
    }
    return text;
}

TEST_CASE("where rows begin is found 64 bytes at a time as it is byte by byte") {
    std::mt19937 random(1);
    for (int round = 0; round < 3000; ++round) {
        const std::string text = random_table(random, 2 + random() % 400);
        const CsvText csv(text, ',', round % 2);
        const std::size_t begin = 1 + random() % text.size(),
                          end = begin + random() % (text.size() + 1 - begin);
        if (begin >= end) continue;
        const RowScan found = scan_rows(csv, begin, end);
        RowScan::Rows rows[2];
        bool odd = false;
        for (std::size_t at = begin - 1; at < end; ++at) {
            if (at >= begin) odd ^= text[at] == '"';
            if (text[at] != '\n' || at + 1 >= end || (!csv.has_empty_rows() && csv.is_end(at + 1))) continue;
            if (rows[odd].count++ == 0) rows[odd].first = at + 1;
        }
        REQUIRE(found.odd_quotes == odd);
        REQUIRE(found.outside.count == rows[0].count);
        REQUIRE(found.within.count == rows[1].count);
        if (rows[0].count) REQUIRE(found.outside.first == rows[0].first);
        if (rows[1].count) REQUIRE(found.within.first == rows[1].first);
    }
}

TEST_CASE("tables of many pieces are read as row after row, whatever stands in them") {
    std::mt19937 random(2);
    for (int round = 0; round < 24; ++round) {
        const bool strict = round % 2;
        std::string text;
        // what is wrong, if anything, stands somewhere in three pieces
        for (int part = 0; part < 24; ++part) {
            const auto kind = round < 4 ? 0 : random() % 12;
            const std::string row = kind == 1   ? "5\" wide,1\n"
                                    : kind == 2 ? "\"a\nb, c\",2\r\n"
                                    : kind == 3 ? "\"say \"\"x\"\"\",3\n"
                                                : "plain,4\n\n";
            while (text.size() < std::size_t(part + 1) * 150'000) text += row;
            if (kind == 11) text += random_table(random, 40) + "\n";
        }
        // a reader that knows nothing of pieces
        const CsvText csv(text, ',', false);
        std::vector<std::string> names;
        std::string wrong;
        for (std::size_t at = csv.skip_empty(0); at < csv.size() && wrong.empty();) {
            CsvField name = csv.take(at);
            CsvField number;
            wrong = strict || !name.is_closed ? name.wrong() : "";
            if (wrong.empty() && csv.is_delimiter(at)) number = csv.take(++at);
            else if (wrong.empty()) wrong = "the row has 1 of 2 fields";
            if (wrong.empty() && (strict || !number.is_closed)) wrong = number.wrong();
            double scratch;
            if (wrong.empty() && strict && !read_cell(number.text, kWeldF64, &scratch)) wrong = "no number";
            if (wrong.empty() && strict && csv.is_delimiter(at)) wrong = "the row has more than 2 fields";
            while (wrong.empty() && csv.is_delimiter(at)) {
                const CsvField more = csv.take(++at);
                if (!more.is_closed) wrong = more.wrong();
            }
            if (!wrong.empty()) break;
            std::string plain(name.text);
            if (name.has_doubled_quotes) plain.resize(name.without_doubled_quotes(plain.data()));
            names.push_back(plain);
            at = csv.skip_empty(csv.after_end(at));
        }
        for (const int threads : {1, 3}) {
            WeldRun run;
            run.account = std::make_shared<MemoryAccount>();
            run.threads = threads;
            Task task(&run, &run.stop);
            test::Types types;
            std::vector<WeldVec> strings;
            std::vector<double> numbers;
            CsvRequest request{.text = text, .fields = 2, .is_strict = strict, .make = {}, .name_of = {}};
            request.name_of = [](const WeldType*) { return "f64"; };
            request.make = [&](std::int64_t rows) {
                strings.assign(std::size_t(rows), {});
                numbers.assign(std::size_t(rows), 0);
                return std::vector<TableColumn>{{types.str(), reinterpret_cast<char*>(strings.data()), 16, 0},
                                                {types.f64(), reinterpret_cast<char*>(numbers.data()), 8, 1}};
            };
            CsvProblem problem;
            REQUIRE(read_rows(&task, request, &problem) == kOk);
            CAPTURE(round);
            CHECK(problem.what.empty() == wrong.empty());
            if (!wrong.empty()) {
                CHECK(problem.row == std::int64_t(names.size()));
                if (wrong != "no number") CHECK(problem.what == wrong);
            } else {
                REQUIRE(strings.size() == names.size());
            }
            std::size_t different = 0;
            for (std::size_t i = 0; i < std::min(names.size(), strings.size()); ++i)
                different += std::string_view(static_cast<const char*>(strings[i].data),
                                              std::size_t(strings[i].len)) != names[i];
            if (wrong.empty()) CHECK(different == 0);
        }
    }
}
