// .npy and .csv files: what they become, what is refused, and what is written.
#include "frontend/cli/files.h"

#include <cstring>

#include <doctest/doctest.h>

#include "frontend/cli/formats.h"
#include "tests/unit/cli_values.h"

using namespace weld;
using namespace weld::cli_test;

/// A .npy file of `version` with this header and these elements.
static std::string npy(std::string header, std::string_view elements, int version = 1) {
    const std::size_t start = version == 1 ? 10 : 12;
    header.append((64 - (start + header.size() + 1) % 64) % 64, ' ');
    header += '\n';
    std::string file = "\x93NUMPY";
    file += char(version);
    file += '\0';
    for (std::size_t i = 0; i < start - 8; ++i) file += char(header.size() >> (8 * i) & 0xff);
    return file + header + std::string(elements);
}

static std::string header(std::string_view descr, std::string_view shape, bool fortran = false) {
    return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr,
                       fortran ? "True" : "False", shape);
}

template <class T>
static std::string_view bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class Read>
static std::string echo(Read read, std::string_view bytes, const WeldType* type) {
    ArgumentMemory memory;
    std::vector<std::byte> to(std::size_t(type->size));
    const std::string error = read(bytes, type, memory, to.data());
    return error.empty() ? printed(type, to.data()) : error;
}

TEST_CASE("arrays of all versions and types") {
    Kinds k;
    const Type* i32 = k.scalar(Scalar::I32);
    const std::vector<std::int32_t> numbers = {1, -2, 3, 4, 5, 6};
    for (int version = 1; version <= 3; ++version)
        CHECK(echo(read_npy, npy(header("<i4", "(3,)"), bytes_of(numbers), version), k.of(k.vec(i32))) ==
              "[1, -2, 3]");
    CHECK(echo(read_npy, npy(header("<i4", "(2, 3)"), bytes_of(numbers)), k.of(k.vec(k.vec(i32)))) ==
          "[[1, -2, 3], [4, 5, 6]]");
    CHECK(echo(read_npy, npy(header("<i4", "(1, 3, 2)"), bytes_of(numbers)),
               k.of(k.vec(k.vec(k.vec(i32))))) == "[[[1, -2], [3, 4], [5, 6]]]");
    CHECK(echo(read_npy, npy(header("<i4", "(6,)", true), bytes_of(numbers)), k.of(k.vec(i32))) ==
          "[1, -2, 3, 4, 5, 6]");
    CHECK(echo(read_npy, npy(header("<i4", "(0,)"), ""), k.of(k.vec(i32))) == "[]");
    CHECK(echo(read_npy, npy(header("<i4", "(2, 0)"), ""), k.of(k.vec(k.vec(i32)))) == "[[], []]");
    CHECK(echo(read_npy, npy(header("|b1", "(3,)"), std::string_view("\1\0\2", 3)),
               k.of(k.vec(k.scalar(Scalar::Bool)))) == "[true, false, true]");
    CHECK(echo(read_npy, npy("{'shape': (1L,), \"descr\": '=i4', 'fortran_order': False}", bytes_of(numbers)),
               k.of(k.vec(i32))) == "[1]");
}

TEST_CASE("elements that lie unaligned are copied") {
    Kinds k;
    const std::vector<double> numbers = {1, 2};
    const std::string file = "x" + npy(header("<f8", "(2,)"), bytes_of(numbers));
    CHECK(echo(read_npy, std::string_view(file).substr(1), k.of(k.vec(k.scalar(Scalar::F64)))) ==
          "[1.0, 2.0]");
}

TEST_CASE("arrays that are refused") {
    Kinds k;
    const WeldType *vec = k.of(k.vec(k.scalar(Scalar::I32))),
                   *rows = k.of(k.vec(k.vec(k.scalar(Scalar::I32))));
    const std::vector<std::int32_t> four = {1, 2, 3, 4};
    const auto refused = [&](const std::string& file, const WeldType* type) {
        return echo(read_npy, file, type);
    };
    CHECK(refused("hello, this is no array", vec) == "it is not a .npy file");
    CHECK(refused("\x93NUMPY\1", vec) == "it is not a .npy file");
    CHECK(refused(npy(header("<i4", "(4,)"), bytes_of(four), 4), vec) ==
          "version 4 of .npy files is not known");
    CHECK(refused(npy(header("<i4", "(4,)"), "").substr(0, 40), vec) == "it ends within its header");
    CHECK(refused(npy(header("<i4", "()"), bytes_of(four)), vec) ==
          "an array of 0 dimensions cannot be a value of type `vec[i32]`");
    CHECK(refused(npy(header("<i4", "(2, 2)"), bytes_of(four)), vec) ==
          "an array of 2 dimensions cannot be a value of type `vec[i32]`");
    CHECK(refused(npy(header("<i4", "(4,)"), bytes_of(four)), rows) ==
          "an array of 1 dimension cannot be a value of type `vec[vec[i32]]`");
    CHECK(refused(npy(header("<i8", "(2,)"), bytes_of(four)), vec) ==
          "its elements are `<i8`, where `vec[i32]` wants `<i4`");
    CHECK(refused(npy(header(">i4", "(4,)"), bytes_of(four)), vec) ==
          "its elements are `>i4`, where `vec[i32]` wants `<i4`");
    CHECK(refused(npy(header("<i4", "(5,)"), bytes_of(four)), vec) ==
          "it should have 5 elements and ends after 4");
    CHECK(refused(npy(header("<i4", "(4611686018427387905,)"), bytes_of(four)), vec)
              .starts_with("it should have"));
    CHECK(refused(npy(header("<i4", "(4294967296, 4294967296)"), bytes_of(four)), rows)
              .starts_with("it should have"));
    CHECK(refused(npy(header("<i4", "(99999999999, 0)"), ""), rows) ==
          "it has no elements, but too many rows");
    CHECK(refused(npy(header("<i4", "(2, 2)", true), bytes_of(four)), rows)
              .starts_with("it is in Fortran order"));
    const char* broken[] = {
        "",
        "{",
        "{'descr': '<i4'}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (4,)} x",
        "{'descr': '<i4', 'fortran_order': Maybe, 'shape': (4,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-4,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (4,), 'more': 1}",
        "{'descr: 4",
    };
    for (const char* text : broken)
        CHECK(refused(npy(text, bytes_of(four)), vec) == "its header is not that of a .npy file");
    CHECK(refused(npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (4,)}", bytes_of(four)),
                  vec) == "arrays of records are not supported");
}

TEST_CASE("arrays are written as they are read") {
    Kinds k;
    const auto round_trip = [&](const std::string& file, const WeldType* type) {
        ArgumentMemory memory;
        std::vector<std::byte> value(std::size_t(type->size));
        REQUIRE(read_npy(file, type, memory, value.data()) == "");
        return written([&](Writer& out) { CHECK(write_npy(type, value.data(), out) == ""); });
    };
    const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
    const Type* f32 = k.scalar(Scalar::F32);
    const std::string files[] = {npy(header("<f4", "(6,)"), bytes_of(numbers)),
                                 npy(header("<f4", "(2, 3)"), bytes_of(numbers)),
                                 npy(header("<f4", "(0,)"), "")};
    CHECK(round_trip(files[0], k.of(k.vec(f32))) == files[0]);
    CHECK(round_trip(files[1], k.of(k.vec(k.vec(f32)))) == files[1]);
    CHECK(round_trip(files[2], k.of(k.vec(f32))) == files[2]);
}

TEST_CASE("vectors of unequal length are no array") {
    Kinds k;
    std::int8_t data[] = {1, 2, 3};
    WeldVec rows[] = {{data, 2}, {data, 3}};
    const WeldVec vec{rows, 2};
    const WeldType* type = k.of(k.vec(k.vec(k.scalar(Scalar::I8))));
    written([&](Writer& out) { CHECK(write_npy(type, &vec, out) == "its inner vectors differ in length"); });
}

/// Reads the table `t.csv` for the parameter `v`.
static std::string table_of(std::string_view text, const WeldType* type) {
    return echo([](auto bytes, auto&&... rest) { return read_csv(bytes, {"t.csv", "v"}, rest...); }, text,
                type);
}

TEST_CASE("tables") {
    Kinds k;
    const Type *i64 = k.scalar(Scalar::I64), *f64 = k.scalar(Scalar::F64), *i8 = k.scalar(Scalar::I8);
    const WeldType* type = k.of(k.structure({k.vec(i64), k.vec(f64), k.vec(k.vec(i8))}));
    const auto table = [&](std::string_view text) { return table_of(text, type); };
    CHECK(table("a,b,c\n1,2.5,x\n-3,,\n") == R"({[1, -3], [2.5, NaN], ["x", ""]})");
    CHECK(table("\xef\xbb\xbf"
                "a,b,c\r\n1,2.5,\"x, \"\"y\"\"\"\r\n\r\n2,1,z") ==
          R"({[1, 2], [2.5, 1.0], ["x, \"y\"", "z"]})");
    CHECK(table("a,b,c\n1,2,\"two\nlines\"\nx,2,c\n") ==
          "t.csv:4: column 1, `a`: `x` is not a value of type `i64`");
    CHECK(table("a,b,c\n1,2,\"two\nlines\"\n1,2,\"x\n\n\n") == "t.csv:4: the quoted field is not closed");
    CHECK(table("a,b,c\n") == "{[], [], []}");
    CHECK(table("") == "t.csv:1: the file is empty; a table begins with a row of names");
    CHECK(table("a,b\n1,2\n") == "t.csv:1: the table has 2 columns, the parameter 3 fields");
    CHECK(table("a,b,c\n1,2\n") == "t.csv:2: the row has 2 of 3 fields");
    CHECK(table("a,b,c\n1,2,3,4\n") == "t.csv:2: the row has more than 3 fields");
    CHECK(table("a,b,c\n1,2,\"x") == "t.csv:2: the quoted field is not closed");
    CHECK(table("a,b,c\n1,2,\"x\"y\n") == "t.csv:2: text after a quoted field");
    CHECK(table("1,2,x\n").starts_with("t.csv:1: the first row reads as data"));
    CHECK(table("1,b,x\n") == "{[], [], []}");
    CHECK(table("c1,c2,c0\n2.5,x,1\n") == "{[1], [2.5], [\"x\"]}");
    CHECK(table_of("a\n1\n", k.of(i64)) ==
          "`t.csv`: columns are vectors of scalars or strings, or make a struct of such, not a `i64`");

    const std::string text = "c0,c1,c2\n1,2.5,\"x, \"\"y\"\"\"\n2,NaN,\"\"\n3,-Infinity,plain\n";
    ArgumentMemory memory;
    std::vector<std::byte> value(std::size_t(type->size));
    REQUIRE(read_csv(text, {"t.csv", "v"}, type, memory, value.data()) == "");
    CHECK(written([&](Writer& out) { CHECK(write_csv(type, value.data(), out) == ""); }) == text);
    static_cast<WeldVec*>(static_cast<void*>(value.data()))->len = 2;
    written([&](Writer& out) {
        CHECK(write_csv(type, value.data(), out) == "its columns differ in length: 2 and 3");
    });
}

TEST_CASE("a vector is the column of its name") {
    Kinds k;
    const WeldType *numbers = k.of(k.vec(k.scalar(Scalar::I64))),
                   *texts = k.of(k.vec(k.vec(k.scalar(Scalar::I8))));
    CHECK(table_of("a,v\nx,1\n\ny,2\n", numbers) == "[1, 2]");
    CHECK(table_of("any\n1\n2\n", numbers) == "[1, 2]");
    CHECK(table_of("any\n1\n\n2\n", numbers) == "t.csv:3: column 1, `any`: `` is not a value of type `i64`");
    CHECK(table_of("any\n\nx\n\n", texts) == "[\"\", \"x\", \"\"]");
    CHECK(table_of("a,b\n1,2\n", numbers) == "t.csv:1: no column is called `v`; there are `a`, `b`");
    CHECK(table_of("v,v\n1,2\n", numbers) == "t.csv:1: 2 columns are called `v`");
    CHECK(table_of("7\n8\n", numbers).starts_with("t.csv:1: the first row reads as data"));
    CHECK(table_of("\"7\"\n8\n", numbers) == "[8]");
}

TEST_CASE("rows and single columns are tables too") {
    Kinds k;
    struct Row {
        std::int32_t a;
        double b;
    } rows[] = {{1, 2.5}, {3, 4}};
    const WeldVec vec{rows, 2};
    const WeldType* type = k.of(k.vec(k.structure({k.scalar(Scalar::I32), k.scalar(Scalar::F64)})));
    CHECK(written([&](Writer& out) { write_csv(type, &vec, out); }) == "c0,c1\n1,2.5\n3,4.0\n");
    std::uint8_t flags[] = {1, 0};
    const WeldVec bools{flags, 2};
    CHECK(written([&](Writer& out) { write_csv(k.of(k.vec(k.scalar(Scalar::Bool))), &bools, out); }) ==
          "c0\ntrue\nfalse\n");
}

TEST_CASE("what files can hold") {
    Kinds k;
    const Type *i64 = k.scalar(Scalar::I64), *dict = k.types.dict(i64, i64);
    const auto check = [&](const char* path, const Type* type) { return ResultFile(path).check(k.of(type)); };
    CHECK(check("/tmp/x.npy", k.vec(i64)) == "");
    CHECK(check("/tmp/x.npy", k.structure({k.vec(i64), i64})) == "");
    CHECK(check("/tmp/x.csv", k.structure({k.vec(i64)})) == "");
    CHECK(check("/tmp/x.csv", k.vec(k.structure({i64, i64}))) == "");
    CHECK(check("/tmp/x.npy", dict) ==
          "`/tmp/x.npy`: a .npy file cannot hold a result of type `dict[i64,i64]`");
    CHECK(check("/tmp/x.csv", i64) == "`/tmp/x.csv`: a .csv file cannot hold a result of type `i64`");
    CHECK(check("/tmp/x.csv", k.vec(k.vec(i64))) != "");
    CHECK(check("/tmp/x.txt", i64) != "");
    CHECK(check("/nowhere/x.npy", i64) == "cannot write `/nowhere/x.npy`: No such file or directory");
}

TEST_CASE("results go to files and come back") {
    Kinds k;
    char folder[] = "/tmp/weld-files-XXXXXX";
    REQUIRE(::mkdtemp(folder));
    const std::string path = std::string(folder) + "/x.npy";
    std::int64_t data[] = {1, 2, 3};
    const WeldVec value[] = {{data, 3}, {data, 2}};
    const Type* vec = k.vec(k.scalar(Scalar::I64));
    const auto back = [&](const std::string& file) {
        ArgumentMemory memory;
        WeldVec read{};
        const std::string error = read_file(file, "v", k.of(vec), memory, &read);
        return error.empty() ? printed(k.of(vec), &read) : error;
    };
    CHECK(ResultFile(path).write(k.of(vec), value) == "");
    CHECK(back(path) == "[1, 2, 3]");
    CHECK(ResultFile(path).write(k.of(k.structure({vec, vec})), value) == "");
    CHECK(back(std::string(folder) + "/x.0.npy") == "[1, 2, 3]");
    CHECK(back(std::string(folder) + "/x.1.npy") == "[1, 2]");
    CHECK(back(std::string(folder) + "/none.npy").ends_with("No such file or directory"));
    CHECK(back("") == "expected the name of a file after `@`");
    CHECK(back(folder).starts_with("cannot read"));
    for (const char* name : {"/x.npy", "/x.0.npy", "/x.1.npy"})
        ::unlink((folder + std::string(name)).c_str());
    CHECK(::rmdir(folder) == 0);
}
