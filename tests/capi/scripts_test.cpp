// Scripts of DaphneDSL, and those whose rest can be read only when something has run.
#include "api.h"

#include <thread>

using namespace test;

namespace {

Module script(const std::string& text) {
    return compile(text, {{"weld.compile.language", "daphne"}, {"weld.compile.name", "labels.daphne"}});
}

// The label of a column depends on data, twice.
const char* const kParts =
    "X = reshape(seq(1.0, 6.0), 3, 2);\n"
    "n = as.si64(sum(X)) % 4;\n"
    "print(\"n is \" + n);\n"
    "label = \"c\" + n;\n"
    "F = createFrame(X[, 0], X[, 1], label, \"rest\");\n"
    "last = label + \"_\" + nrow(F);\n"
    "G = createFrame(X[, 1], last);\n"
    "print(G[0, last]);\n";
const char* const kPrinted = "n is 1\nFrame(1x1, [c1_3:double])\n2\n";

int append(void* to, const char* text, std::size_t size) {
    static_cast<std::string*>(to)->append(text, size);
    return 0;
}

std::string printed(const Module& m) {
    const Context c = context();
    std::string text;
    weld_context_set_output(c.get(), append, &text);
    run(m, c);
    return text;
}

}  // namespace

TEST_CASE("a script prints and has a result without fields") {
    const Module m = script("print(sum([1, 2, 3]));");
    CHECK(weld_module_return_type(m.get()) == std::string("{}"));
    CHECK(weld_module_num_params(m.get()) == 0);
    CHECK(printed(m) == "6\n");
}

TEST_CASE("a script in parts is one module, that runs as often as one likes") {
    const Module m = script(kParts);
    CHECK(weld_module_return_type(m.get()) == std::string("{}"));
    CHECK(weld_module_return_size(m.get()) == 0);
    CHECK(weld_module_num_params(m.get()) == 0);
    for (int i = 0; i < 3; ++i) CHECK(printed(m) == kPrinted);
    const Context c = context();
    std::string text;
    weld_context_set_output(c.get(), append, &text);
    const Value v = run(m, c);
    CHECK(weld_value_type(v.get()) == std::string("{}"));
    CHECK(json(v) == "[]");
}

TEST_CASE("a script in parts on several threads") {
    const Module m = script(kParts);
    std::string texts[4];
    std::vector<std::thread> threads;
    for (std::string& text : texts) threads.emplace_back([&] { text = printed(m); });
    for (std::thread& t : threads) t.join();
    for (const std::string& text : texts) CHECK(text == kPrinted);
}

TEST_CASE("a later part that fails, or is wrong, says where") {
    const std::string begin =
        "n = as.si64(sum([1.0, 2.0]));\nF = createFrame([1, 2], \"c\" + n);\nprint(n);\n";
    std::string message, text;
    const Context c = context();
    weld_context_set_output(c.get(), append, &text);
    const auto code_of = [&](const std::string& end) {
        text.clear();
        return failure(script(begin + end), c, None{}, &message);
    };
    CHECK(code_of("print(1 / (as.si64(sum(as.matrix(F))) - n));\n") == WELD_DIVISION_BY_ZERO);
    CHECK(message.find("labels.daphne:4:") == 0);
    CHECK(text == "3\n");
    CHECK(code_of("print(F[, \"d\" + n]);\n") == WELD_COMPILE_ERROR);
    CHECK(message.find("labels.daphne:4:") == 0);
    CHECK(text == "");  // nothing of the part has run
}
