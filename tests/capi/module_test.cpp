// Compiling: what is told about programs, right ones and wrong ones.
#include "api.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace test;

TEST_CASE("the types of a program") {
    const Module m = compile("|a: i8, v: vec[{f64,bool}], d: dict[i64,vec[i8]]| {a, v, len(v)}");
    CHECK(weld_module_num_params(m.get()) == 3);
    CHECK(std::string(weld_module_param_name(m.get(), 1)) == "v");
    CHECK(std::string(weld_module_param_type(m.get(), 0)) == "i8");
    CHECK(std::string(weld_module_param_type(m.get(), 1)) == "vec[{f64,bool}]");
    CHECK(std::string(weld_module_param_type(m.get(), 2)) == "dict[i64,vec[i8]]");
    CHECK(std::string(weld_module_return_type(m.get())) == "{i8,vec[{f64,bool}],i64}");
    CHECK(weld_module_param_offset(m.get(), 0) == 0);
    CHECK(weld_module_param_offset(m.get(), 1) == 8);
    CHECK(weld_module_param_offset(m.get(), 2) == 24);
    CHECK(weld_module_params_size(m.get()) == 32);
    CHECK(weld_module_return_size(m.get()) == 32);
    for (std::int64_t none : {std::int64_t(-1), std::int64_t(3), INT64_MAX}) {
        CHECK(weld_module_param_name(m.get(), none) == nullptr);
        CHECK(weld_module_param_type(m.get(), none) == nullptr);
        CHECK(weld_module_param_offset(m.get(), none) == -1);
    }
    CHECK(weld_module_num_params(compile("1").get()) == 0);
}

TEST_CASE("a mistake is told with its place") {
    const Error e = error();
    CHECK(weld_error_code(e.get()) == WELD_SUCCESS);
    CHECK(std::string(weld_error_message(e.get())) == "");
    const Module m(weld_module_compile("|x: i32|\n  x + 1.5", nullptr, e.get()));
    CHECK_FALSE(m);
    CHECK(weld_error_code(e.get()) == WELD_COMPILE_ERROR);
    CHECK(weld_error_line(e.get()) == 2);
    CHECK(weld_error_column(e.get()) == 7);
    const std::string message = weld_error_message(e.get());
    CHECK(message.find("<weld>:2:7: error: ") == 0);
    CHECK(message.find("  x + 1.5") != std::string::npos);
    CHECK(message.back() != '\n');
    const std::string summary = weld_error_summary(e.get());
    CHECK(message.find(summary) == strlen("<weld>:2:7: error: "));
    CHECK(summary.find('\n') == std::string::npos);
}

TEST_CASE("an error object is overwritten by every call") {
    const Error e = error();
    CHECK_FALSE(Module(weld_module_compile("|", nullptr, e.get())));
    CHECK(weld_error_code(e.get()) == WELD_COMPILE_ERROR);
    CHECK(Module(weld_module_compile("1", nullptr, e.get())));
    CHECK(weld_error_code(e.get()) == WELD_SUCCESS);
    CHECK(std::string(weld_error_message(e.get())) == "Success");
    CHECK(weld_error_line(e.get()) == 0);
    CHECK(weld_error_column(e.get()) == 0);
}

TEST_CASE("programs of all sorts of rubbish are rejected") {
    for (const char* code :
         {"", " ", "#", "\xff\xfe", "|", "|x|", "let", "(", "\"", "1 +", "foo", "for(1, 2, 3)", "|x: i32| x;",
          "cudf[no_such_function,i32](1)", "merger[i32,?]", "1;2"}) {
        const Error e = error();
        CHECK_FALSE(Module(weld_module_compile(code, nullptr, e.get())));
        CHECK(weld_error_code(e.get()) == WELD_COMPILE_ERROR);
        CHECK(std::strlen(weld_error_message(e.get())) > 0);
    }
}

TEST_CASE("the name of the program's text can be chosen") {
    const Error e = error();
    CHECK_FALSE(
        Module(weld_module_compile("1 + ", conf({{"weld.compile.name", "sum.weld"}}).get(), e.get())));
    CHECK(std::string(weld_error_message(e.get())).find("sum.weld:1:") == 0);
}

TEST_CASE("warnings stay with the module") {
    CHECK(std::string(weld_module_warnings(compile("1").get())) == "");
    const Module m = compile("@(no_such_annotation: 1) 1 + 1");
    CHECK(std::string(weld_module_warnings(m.get())).find("warning") != std::string::npos);
}

TEST_CASE("many modules live in few mappings of memory") {
    const auto mappings = [] {
        std::ifstream maps("/proc/self/maps");
        return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
    };
    const Context c = context();
    const auto before = mappings();
    std::vector<Module> modules;
    for (std::int64_t i = 0; i < 300; ++i)
        modules.push_back(compile("|x: i64| x + " + std::to_string(i) + "L"));
    CHECK(mappings() - before < 100);  // memory of all kinds, there is more than that of code
    for (std::int64_t i = 0; i < 300; ++i)
        CHECK(as<std::int64_t>(run(modules[std::size_t(i)], c, std::int64_t(1000))) == 1000 + i);
}

TEST_CASE("the version") { CHECK(std::string(weld_version()).find("0.") == 0); }
