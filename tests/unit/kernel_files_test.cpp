// Kernels that read and write files, called from programs.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "frontend/api/compile.h"

using namespace weld;

namespace {

/// A folder that goes with the test.
struct Folder {
    std::filesystem::path path;
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "weld-files-XXXXXX";
        REQUIRE(::mkdtemp(name.data()));
        path = name;
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string operator/(const std::string& name) const { return (path / name).string(); }
    std::string put(const std::string& name, const std::string& text) const {
        std::ofstream(path / name, std::ios::binary) << text;
        return *this / name;
    }
    std::string get(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(path / name, std::ios::binary).rdbuf();
        return text.str();
    }
    std::ptrdiff_t size() const {
        return std::distance(std::filesystem::directory_iterator(path),
                             std::filesystem::directory_iterator());
    }
};

struct Matrix {
    WeldVec cells;
    std::int64_t rows, columns;
};

template <class T>
std::vector<T> cells(const void* matrix) {
    const auto* m = static_cast<const Matrix*>(matrix);
    REQUIRE(m->cells.len == m->rows * m->columns);
    const auto* data = static_cast<const T*>(m->cells.data);
    return {data, data + m->cells.len};
}
std::string text(const WeldVec& v) { return {static_cast<const char*>(v.data), std::size_t(v.len)}; }

/// Runs a program of one parameter, a path.
struct Run {
    std::shared_ptr<const Program> program;
    RunOutcome outcome;
    std::string failure;

    Run(const std::string& body, const std::string& path, int threads = 2) {
        CompileReport report;
        program = compile("|path: vec[i8]| " + body, {}, &report);
        CHECK(report.diagnostics == "");
        REQUIRE(program);
        const WeldVec args{const_cast<char*>(path.data()), std::int64_t(path.size())};
        outcome = program->run(&args, {.threads = threads});
        if (!outcome.ok()) failure = outcome.failure().message;
    }
    const void* value() const {
        CHECK(failure == "");
        REQUIRE(outcome.ok());
        return outcome.value();
    }
};

std::string read(const std::string& type, const std::string& rest) {
    return "cudf[weld_read_matrix,{vec[" + type + "],i64,i64}](path, " + rest + ")";
}

}  // namespace

TEST_CASE("kernels read matrices from CSV files") {
    const Folder folder;
    const std::string path = folder.put("m.csv", "1.5,-2,3e2\n 0,nan,-inf,7\r\n+4,junk,\n\n1,2,3");
    const auto v = cells<double>(Run(read("f64", "3L, 3L"), path).value());
    CHECK(std::vector<double>(v.begin(), v.begin() + 4) == std::vector<double>{1.5, -2, 300, 0});
    CHECK(std::isnan(v[4]));
    CHECK(v[5] == -INFINITY);
    CHECK(v[6] == 4);
    CHECK(std::isnan(v[7]));
    CHECK(std::isnan(v[8]));
    CHECK(cells<std::int64_t>(Run(read("i64", "-1L, 3L"), path).value()) ==
          std::vector<std::int64_t>{1, -2, 3, 0, 0, 0, 4, 0, 0, 1, 2, 3});
    CHECK(cells<std::uint8_t>(Run(read("u8", "1L, 2L"), folder.put("b.csv", "255,256\n")).value()) ==
          std::vector<std::uint8_t>{255, 0});
    CHECK(Run(read("f64", "5L, 3L"), path).failure == "`" + path + "`: it has 4 rows, not 5");
    CHECK(Run(read("f64", "4L, 4L"), path).failure == "`" + path + "`: row 1: the row has 3 of 4 fields");
    CHECK(Run(read("f64", "1L, 1L"), folder / "none.csv").failure ==
          "`" + (folder / "none.csv") + "`: No such file or directory");
    CHECK(Run(read("f64", "1L, 1L"), folder / "m.xyz")
              .failure.ends_with("files end in `.csv`, `.mtx`, `.dbdf` or `.parquet`"));
    CHECK(Run(read("f64", "1L, 1L"), folder.path.string() + "/.").failure != "");
    CHECK(cells<std::int32_t>(
              Run(read("i32", "-1L, -1L, 59c, true"), folder.put("s.csv", "a;b\n1;2\n3;4\n")).value()) ==
          std::vector<std::int32_t>{1, 2, 3, 4});
}

TEST_CASE("kernels read strings from CSV files") {
    const Folder folder;
    const std::string path =
        folder.put("w.csv", "plain,\"with, comma\"\r\n\"say \"\"x\"\"\",\"two\nlines\"\n,end");
    const Run run(read("vec[i8]", "3L, 2L"), path);
    std::vector<std::string> all;
    for (const WeldVec& v : cells<WeldVec>(run.value())) all.push_back(text(v));
    CHECK(all == std::vector<std::string>{"plain", "with, comma", "say \"x\"", "two\nlines", "", "end"});
    CHECK(Run(read("vec[i8]", "1L, 1L"), folder.put("open.csv", "\"a\n"))
              .failure.ends_with("row 1: the quoted field is not closed"));
    CHECK(cells<WeldVec>(Run(read("vec[i8]", "-1L, 1L"), folder.put("one.csv", "a\n\nb\n")).value()).size() ==
          3);
}

TEST_CASE("large CSV files are read in pieces, and as one where quotes stand where they mean nothing") {
    const Folder folder;
    for (const std::string name : {"plain", "quoted\nover, lines", "5\" wide"}) {
        const bool quoted = name[0] == 'q';
        std::string file;
        constexpr int rows = 150'000;
        for (int i = 0; i < rows; ++i) {
            const std::string cell = quoted                            ? "\"" + name + "\""
                                     : i % 1000 == 7 || name[0] == 'p' ? name
                                                                       : "x";
            file += std::to_string(i) + "," + std::to_string(i) + ".5," + cell + (i % 3 ? "\n" : "\r\n");
        }
        const std::string path = folder.put("large.csv", file);
        for (const char* wanted : {"150000L", "-1L"}) {
            const Run run(std::string("cudf[weld_read_frame,{{vec[i64],vec[f64],vec[vec[i8]]},i64}](path, ") +
                              wanted + ")",
                          path);
            struct Frame {
                WeldVec a, b, c;
                std::int64_t rows;
            };
            const auto& frame = *static_cast<const Frame*>(run.value());
            REQUIRE(frame.rows == rows);
            int wrong = 0;
            for (int i = 0; i < rows; ++i) {
                const bool named = name[0] != '5' || i % 1000 == 7;
                wrong += static_cast<const std::int64_t*>(frame.a.data)[i] != i ||
                         static_cast<const double*>(frame.b.data)[i] != i + 0.5 ||
                         text(static_cast<const WeldVec*>(frame.c.data)[i]) != (named ? name : "x");
            }
            CHECK(wrong == 0);
        }
        CHECK(Run(read("f64", "150001L, 3L"), path).failure.ends_with("it has 150000 rows, not 150001"));
    }
}

TEST_CASE("kernels read Matrix Market files") {
    const Folder folder;
    const auto real = [&](const std::string& text) {
        return cells<double>(Run(read("f64", "-1L, -1L"), folder.put("m.mtx", text)).value());
    };
    CHECK(real("%%MatrixMarket matrix coordinate real general\n% a comment\n2 3 2\n1 1 1.5\n2 3 -2\n") ==
          std::vector<double>{1.5, 0, 0, 0, 0, -2});
    CHECK(real("%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n") ==
          std::vector<double>{1, 3, 2, 4});
    CHECK(real("%%matrixmarket MATRIX coordinate pattern symmetric\n\n2 2 2\n1 1\n2 1\n") ==
          std::vector<double>{1, 1, 1, 0});
    CHECK(real("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n") ==
          std::vector<double>{1, 2, 2, 3});
    CHECK(real("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 5\n") ==
          std::vector<double>{0, -5, 5, 0});
    const auto failure = [&](const std::string& text, const std::string& shape = "-1L, -1L") {
        return Run(read("f64", shape), folder.put("m.mtx", text)).failure;
    };
    CHECK(failure("1 2 3\n").ends_with("its first line is not one of a Matrix Market file of numbers"));
    CHECK(failure("%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1.5\n")
              .ends_with("it has 1 of 2 entries"));
    CHECK(failure("%%MatrixMarket matrix coordinate real general\n2 3 1\n3 1 1.5\n")
              .ends_with("outside of the matrix"));
    CHECK(failure("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n")
              .ends_with("it has too few numbers"));
    CHECK(failure("%%MatrixMarket matrix array real general\n1 1\n1\n", "2L, 1L")
              .ends_with("it has 1 rows, not 2"));
    CHECK(failure("").ends_with("file of numbers"));
}

TEST_CASE("kernels write matrices and frames, and what describes them") {
    const Folder folder;
    const auto write = [&](const std::string& value, const std::string& name) {
        return Run("cudf[weld_write_matrix,{}](" + value + ", path)", folder / name).failure;
    };
    CHECK(write("{[1.5, -2.25, 0.0, 1000000.5], 2L, 2L}", "x.csv") == "");
    CHECK(folder.get("x.csv") == "1.500000,-2.250000\n0.000000,1000000.500000\n");
    CHECK(folder.get("x.csv.meta") == "{\"numCols\":2,\"numRows\":2,\"valueType\":\"f64\"}\n");
    CHECK(write("{[\"a,b\", \"c\\\"d\", \"\"], 3L, 1L}", "s.csv") == "");
    CHECK(folder.get("s.csv") == "\"a,b\"\n\"c\"\"d\"\n\n");
    CHECK(write("{[1L, -2L, 3L, 4L, 5L, 6L], 2L, 3L}", "i.dbdf") == "");
    CHECK(cells<std::int64_t>(Run(read("i64", "2L, 3L"), folder / "i.dbdf").value()) ==
          std::vector<std::int64_t>{1, -2, 3, 4, 5, 6});
    CHECK(Run(read("f64", "2L, 3L"), folder / "i.dbdf").failure.ends_with("its cells have another type"));
    const std::string whole = folder.get("i.dbdf");
    for (std::size_t size = 0; size < whole.size(); ++size)
        if (size != 19)  // a header without blocks is a matrix of zeros
            CHECK(Run(read("i64", "2L, 3L"), folder.put("cut.dbdf", whole.substr(0, size))).failure != "");
    CHECK(Run("cudf[weld_write_frame,{}]({{[7L], [\"x y\"], [0.5f]}, 1L}, [\"a\", \"b \\\"\", \"c\"], path)",
              folder / "f.csv")
              .failure == "");
    CHECK(folder.get("f.csv") == "7,x y,0.500000\n");
    CHECK(folder.get("f.csv.meta") ==
          "{\"numCols\":3,\"numRows\":1,\"schema\":[{\"label\":\"a\",\"valueType\":\"si64\"},{\"label\":\"b "
          "\\\"\","
          "\"valueType\":\"str\"},{\"label\":\"c\",\"valueType\":\"f32\"}]}\n");
    const auto before = folder.size();
    CHECK(write("{[1.0], 1L, 1L}", "x.mtx")
              .ends_with("matrices are written to `.csv`, `.dbdf` and `.parquet`"));
    CHECK(write("{[1.0], 1L, 1L}", "nowhere/x.csv").find("cannot write") == 0);
    CHECK(folder.size() == before);
}

TEST_CASE("programs that may call no functions have no files") {
    const auto diagnostics = [](std::vector<std::string> allowed) {
        CompileReport report;
        CompileOptions options;
        options.allowed_functions = std::move(allowed);
        compile("cudf[weld_write_matrix,{}]({[1.0], 1L, 1L}, \"x.csv\")", options, &report);
        return report.diagnostics;
    };
    CHECK(diagnostics({}).find("`cudf` may not call `weld_write_matrix` here") != std::string::npos);
    CHECK(diagnostics({"weld_write_matrix"}) == "");
}
