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

TEST_CASE("each round of a loop may be a part, and so may the parts of a function that is called there") {
    const Module m = script(
        "n = as.si64(sum([1.0, 2.0]));\n"
        "def labelled(k) { label = \"c\" + sum([k]); return createFrame([k], label); }\n"
        "for (i in 1:n) { F = labelled(i); print(F[, \"c\" + (i * as.si64(sum([1])))]); }\n");
    const std::string expected =
        "Frame(1x1, [c1:int64_t])\n1\nFrame(1x1, [c2:int64_t])\n2\nFrame(1x1, [c3:int64_t])\n3\n";
    for (int i = 0; i < 2; ++i) CHECK(printed(m) == expected);
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
    CHECK(text == "3\n");  // the run comes to it after what is before it
}

namespace {

const char* const kWithArguments =
    "print($n + 1); print($text); print(typeOf(rand(40, 10, 1.0, 2.0, 0.1, 1)));";

using Keys = std::vector<std::pair<const char*, const char*>>;

/// What a script prints; why it is rejected, if it is.
std::string outcome(const char* code, const Keys& keys) {
    const Conf settings = conf({{"weld.compile.language", "daphne"}});
    for (const auto& [key, value] : keys) weld_conf_set(settings.get(), key, value);
    const Error e = error();
    const Module m(weld_module_compile(code, settings.get(), e.get()));
    if (m) return printed(m);
    CHECK(weld_error_code(e.get()) == WELD_COMPILE_ERROR);
    return weld_error_message(e.get());
}

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("arguments of a script are a key of the configuration") {
    const auto with = [](const char* arguments) {
        return outcome(kWithArguments, {{"weld.daphne.arguments", arguments}});
    };
    const std::string shape = "DenseMatrix(40x10, double)\n";
    CHECK(with("n=4,text=\"a, b\"") == "5\na, b\n" + shape);
    CHECK(with("n=4.5,text=\"\"") == "5.5\n\n" + shape);  // the types are others
    CHECK(says(with("n=4,text=a b"), "script argument `text`: `a b` is no literal"));
    CHECK(says(with("n=4,n=5"), "script argument `n` is given twice"));
    CHECK(says(with("n=4"), "needs an argument `text`"));
    CHECK(says(outcome("1 + 2", {{"weld.compile.language", "weld"}, {"weld.daphne.arguments", "n=4"}}),
               "weld.daphne.arguments"));
}

TEST_CASE("matrices of a script may be sparse") {
    const auto kind = [](Keys keys) {
        keys.emplace_back("weld.daphne.arguments", "n=1,text=\"\"");
        const std::string text = outcome(kWithArguments, keys);
        return says(text, "CSRMatrix(40x10") ? "sparse" : says(text, "DenseMatrix(40x10") ? "dense" : text;
    };
    CHECK(kind({{"weld.daphne.selectMatrixRepr", "true"}}) == "sparse");
    CHECK(kind({{"weld.daphne.selectMatrixRepr", "false"}}) == "dense");
    CHECK(kind({{"weld.daphne.sparsityThreshold", "0.5"}}) == "dense");
    CHECK(kind({{"weld.daphne.selectMatrixRepr", "true"}, {"weld.daphne.sparsityThreshold", "0.05"}}) ==
          "dense");
    CHECK(says(kind({{"weld.daphne.sparsityThreshold", "2"}}), "a number from 0 to 1"));
}
