// What kernels.def says of the sizes in results, which passes rely on, looked at in what the kernels give.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "frontend/api/compile.h"
#include "weldir/ir/kernels.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/walk.h"

using namespace weld;

namespace {

constexpr std::string_view kPromising[] = {
#define WELD_KERNEL_HOLDS(symbol, sizes) #symbol,
#include "runtime/abi/kernels.def"
};

/// The size that `name` means in a value of `type` at `at`.
std::int64_t size_at(const Type* type, const char* at, const SizeName& name) {
    for (std::size_t i : name.path) {
        at += offsets_of(type->args)[i];
        type = type->args[i];
    }
    return name.is_length ? reinterpret_cast<const WeldVec*>(at)->len
                          : *reinterpret_cast<const std::int64_t*>(at);
}

struct Checker {
    std::set<std::string_view> seen;

    /// A call of a kernel with arguments that are written as they stand in a program.
    void call(const std::string& name, const std::string& type, const std::vector<std::string>& args) {
        std::string text, names;
        for (std::size_t i = 0; i < args.size(); ++i) {
            text += fmt::format("let a{} = {}; ", i, args[i]);
            names += fmt::format("{}a{}", i ? ", " : "", i);
        }
        text += fmt::format("{{cudf[{},{}]({}), {{{}}}}}", name, type, names, names);
        CAPTURE(text);
        CompileReport report;
        const auto program = compile(text, {.level = 0}, &report);
        REQUIRE_MESSAGE(program, report.diagnostics);
        const RunOutcome outcome = program->run(nullptr, {});
        REQUIRE_MESSAGE(outcome.ok(), program->describe(outcome.failure()));
        const Expr* called = nullptr;
        visit(program->module().main, [&](const Expr* e) { called = e->op == Op::Kernel ? e : called; });
        const BuiltinKernel& kernel = *called->as<Kernel>().ref().builtin;
        const Type* all = program->result_type();
        const auto* value = static_cast<const char*>(outcome.value());
        for (const Promise& p : promises_of(kernel)) {
            CAPTURE(print_promises({&p, 1}, [](int of) { return fmt::format("${}", of); }));
            CHECK(is_true(p, [&](const SizeName& size) {
                const Type* given = all->args[1];
                if (size.of == SizeName::kResult) return size_at(all->args[0], value, size);
                const auto i = std::size_t(size.of);
                return size_at(given->args[i], value + offsets_of(all->args)[1] + offsets_of(given->args)[i],
                               size);
            }));
        }
        seen.insert(kernel.symbol);
    }
};

std::string matrix(int rows, int columns, const std::string& one = "1.0") {
    std::string cells;
    for (int i = 0; i < rows * columns; ++i) cells += (i ? ", " : "") + one;
    const std::string type = one.ends_with("L") ? "i64" : "f64";
    return fmt::format("{{[{}]: vec[{}], {}L, {}L}}", cells, type, rows, columns);
}

}  // namespace

TEST_CASE("what kernels promise of the sizes in their results is so") {
    Checker check;
    const std::string dense = "{vec[f64],i64,i64}", sparse = "{vec[f64],i64,i64,vec[i64],vec[i64]}";
    for (const char* words : {"[\"ab\", \"c\", \"\"]", "[]: vec[vec[i8]]"})
        for (const char* name : {"weld_contains", "weld_matches"})
            check.call(name, "vec[bool]", {words, "\"b\""});
    for (const char* name : {"weld_upper", "weld_lower"})
        for (const char* word : {"\"aBc\"", "\"\""}) check.call(name, "vec[i8]", {word});
    for (const int n : {0, 1, 3})
        for (const int k : {0, 2}) {
            for (const int m : {0, 2}) {
                check.call("weld_matmul", dense, {matrix(n, k), matrix(k, m)});
                check.call("weld_matmul", "{vec[i64],i64,i64}", {matrix(n, k, "2L"), matrix(k, m, "3L")});
            }
            check.call("weld_syrk", dense, {matrix(n, k)});
            check.call("weld_gemv", "vec[f64]", {matrix(n, k), matrix(k, 1) + ".$0"});
            check.call("weld_random", "vec[f64]",
                       {"0.0", "1.0", fmt::format("{}L", n + 1), fmt::format("{}L", k + 1), "0.5", "7L"});
            check.call("weld_random_csr", sparse,
                       {"0.0", "1.0", fmt::format("{}L", n + 1), fmt::format("{}L", k + 1), "0.5", "7L"});
        }
    for (const std::string& a : {matrix(0, 0), matrix(1, 1), std::string("{[2.0, 1.0, 1.0, 3.0], 2L, 2L}")}) {
        const int n = a.ends_with("0L}") ? 0 : a.ends_with("1L}") ? 1 : 2;
        for (const int columns : {0, 1, 3}) check.call("weld_solve", dense, {a, matrix(n, columns)});
        check.call("weld_solve", "vec[f64]", {a, matrix(n, 1) + ".$0"});
        check.call("weld_eigen", "{vec[f64],vec[f64]}", {a});
    }
    std::string row = "{1";
    for (int fields = 2; fields <= 16; ++fields) {
        row += ", 2";
        check.call("weld_fields", "vec[i32]", {fmt::format("[{0}}}, {0}}}, {0}}}]", row)});
    }
    for (const char* n : {"1L", "5L"}) check.call("weld_sample", "vec[i64]", {"9L", n, "true", "3L"});

    std::string folder = std::filesystem::temp_directory_path() / "weld-promises-XXXXXX";
    REQUIRE(::mkdtemp(folder.data()));
    const std::string csv = folder + "/m.csv", mtx = folder + "/m.mtx";
    std::ofstream(csv) << "1,0\n0,4\n5,6\n";
    std::ofstream(mtx) << "%%MatrixMarket matrix coordinate real general\n3 4 2\n1 2 5\n3 4 6\n";
    for (const auto& [path, columns] : {std::pair(csv, "2L"), std::pair(mtx, "4L")})
        for (const std::string& type : {dense, sparse})
            check.call("weld_read_matrix", type, {fmt::format("\"{}\"", path), "3L", columns});
    check.call("weld_read_matrix", dense, {fmt::format("\"{}\"", csv), "-1L", "2L", "44c", "false"});
    std::filesystem::remove_all(folder);

    for (std::string_view symbol : kPromising) CHECK_MESSAGE(check.seen.contains(symbol), symbol);
}
