// Scripts of DaphneDSL as trees.
#include <doctest/doctest.h>

#include <cmath>

#include "frontend/daphne/syntax.h"

using namespace weld;
using daphne::Literal;
using daphne::ValueType;

namespace {

struct Parsed {
    Sources sources;
    Arena texts;
    Diagnostics diagnostics;
    std::unique_ptr<daphne::Script> script;

    explicit Parsed(std::string text) {
        const Loc begin = sources.add("s", std::move(text));
        script = daphne::parse(sources, begin, texts, diagnostics);
    }
    std::string drawn() const { return diagnostics.draw(sources); }
};

/// The script with parentheses around what operators take, or what is wrong with it.
std::string parsed(const std::string& text) {
    const Parsed once(text);
    if (once.diagnostics.has_errors()) return once.drawn();
    const std::string printed = print_syntax(*once.script);
    const Parsed again(printed);
    if (again.diagnostics.has_errors()) return "reading `" + printed + "` again:\n" + again.drawn();
    const std::string twice = print_syntax(*again.script);
    return twice == printed ? printed : "`" + printed + "` is read as `" + twice + "`";
}

/// The same of one expression.
std::string tree(const std::string& expression) {
    std::string out = parsed(expression + ";");
    if (out.ends_with(";\n")) out.resize(out.size() - 2);
    return out;
}

/// `LINE:COLUMN message` of all findings, one a line.
std::string findings(const std::string& text) {
    const Parsed p(text);
    std::string out;
    for (const Diagnostic& d : p.diagnostics.all()) {
        const Position at = p.sources.position(d.loc);
        out += fmt::format("{}:{} {}\n", at.line, at.column, d.message);
    }
    return out;
}

}  // namespace

TEST_CASE("scripts: precedence") {
    CHECK(tree("1 + 2 * 3") == "1 + (2 * 3)");
    CHECK(tree("1 - 2 - 3") == "(1 - 2) - 3");
    CHECK(tree("2 ^ 3 ^ 2") == "(2 ^ 3) ^ 2");
    CHECK(tree("-2 ^ 2") == "-2 ^ 2");
    CHECK(tree("-(2 ^ 2)") == "-(2 ^ 2)");
    CHECK(tree("a * b % c") == "a * (b % c)");
    CHECK(tree("a % b ^ c") == "a % (b ^ c)");
    CHECK(tree("a ^ X @ Y") == "a ^ (X @ Y)");
    CHECK(tree("1.5 * X @ y + 0.001") == "(1.5 * (X @ y)) + 0.001");
    CHECK(tree("1 < 2 < 3 == 4") == "((1 < 2) < 3) == 4");
    CHECK(tree("a || b && c == d + e") == "a || (b && (c == (d + e)))");
    CHECK(tree("a ? b : c ? d : e") == "(a ? b : c) ? d : e");
    CHECK(tree("a ? b ? c : d : e") == "a ? (b ? c : d) : e");
    CHECK(tree("a || b ? c + 1 : d") == "(a || b) ? (c + 1) : d");
    CHECK(tree("--2") == "--2");
    CHECK(tree("-X[0, ]") == "-X[0, ]");
    CHECK(tree("(-X)[0, ]") == "(-X)[0, ]");
    CHECK(tree("i < 10 && !converged") == "(i < 10) && !converged");
    CHECK(tree("!(a != b)") == "!(a != b)");
    CHECK(tree("A +::mine B *::yours C") == "A +::mine (B *::yours C)");
}

TEST_CASE("scripts: literals") {
    CHECK(tree("1_000'000") == "1000000");
    CHECK(tree("18446744073709551615u") == "18446744073709551615u");
    CHECK(tree("5ull") == "5u");
    CHECK(tree("5l") == "5");
    CHECK(tree("5z") == "5z");
    CHECK(tree("-9223372036854775808") == "-9223372036854775808");
    CHECK(tree("1.5e5f") == "150000.0f");
    CHECK(tree("1E-14") == "1e-14");
    CHECK(tree("1e-5") == "1e-5");
    CHECK(tree("1_0.2'5") == "10.25");
    CHECK(tree("nanf + inff") == "nan + inf");
    CHECK(tree("true && false") == "true && false");
    CHECK(tree(R"("a\b\f\n\r\t\"\\n")") == R"("a\b\f\n\r\t\"\\n")");
    CHECK(tree("\"two\nlines\"") == R"("two\nlines")");
}

TEST_CASE("scripts: literals of objects") {
    CHECK(tree("[1, 0, -4.0]") == "[1, 0, -4.0]");
    CHECK(tree("[1, 2, sqrt(3), 4](1,)") == "[1, 2, sqrt(3), 4](1, )");
    CHECK(tree("[1, 2](,2)") == "[1, 2](, 2)");
    CHECK(tree("[1, 2](,)") == "[1, 2]");
    CHECK(tree("[1, 2] (n, m + 1)[0, ]") == "[1, 2](n, (m + 1))[0, ]");
    CHECK(tree("{\"a\": [1], b + c: X}") == "{\"a\": [1], (b + c): X}");
    CHECK(tree("{[\"a\", \"b\"], [1, 1.5]}") == "{[\"a\", \"b\"], [1, 1.5]}");
    CHECK(tree("[1, [2, 3], 4]") == "[1, [2, 3], 4]");
    CHECK(tree("f({})") == "f(({}))");
}

TEST_CASE("scripts: indexing") {
    CHECK(tree("X[2:5, 3]") == "X[2:5, 3]");
    CHECK(tree("X[:, i:]") == "X[:, i:]");
    CHECK(tree("X[, ]") == "X[, ]");
    CHECK(tree("X[a ? 1 : 2 : 5, ]") == "X[(a ? 1 : 2):5, ]");
    CHECK(tree("X[ [5, 1], [2] ]") == "X[ [5, 1], [2] ]");
    CHECK(tree("X[[[0, 1], ]]") == "X[[ [0, 1], ]]");
    CHECK(tree("X[[, [1, 0] ]]") == "X[[, [1, 0] ]]");
    CHECK(tree("X[0, Y[0, 0] ][1:, \"a\"]") == "X[0, Y[0, 0] ][1:, \"a\"]");
}

TEST_CASE("scripts: calls and casts") {
    CHECK(tree("f()") == "f()");
    CHECK(tree("f(1, 2,)") == "f(1, 2)");
    CHECK(tree("lib . part.f(a, b=c == d)") == "lib.part.f(a, b=(c == d))");
    CHECK(tree("sum::my_kernel(X)") == "sum::my_kernel(X)");
    CHECK(tree("as.scalar<f64>(x)") == "as.scalar<f64>(x)");
    CHECK(tree("as.matrix(x)") == "as.matrix(x)");
    CHECK(tree("as . ui8(x + 1)") == "as.ui8((x + 1))");
    CHECK(tree("$n + 1") == "$n + 1");
    CHECK(tree("list + size") == "list + size");  // no reserved words
}

TEST_CASE("scripts: statements") {
    CHECK(parsed("x = 1; # one\n// two\n/* three\n * four */ y = x;") == "x = 1;\ny = x;\n");
    CHECK(parsed("x, Y[3, :], ns.z = f(1);") == "x, Y[3, :], ns.z = f(1);\n");
    CHECK(parsed("if (a) b = 1; else if (c) { d(); }; else e();") ==
          "if (a) {\n  b = 1;\n}\nelse {\n  if (c) {\n    d();\n  }\n  else {\n    e();\n  }\n}\n");
    CHECK(parsed("while (i < 3) i = i + 1;") == "while (i < 3) {\n  i = i + 1;\n}\n");
    CHECK(parsed("do i = 1; while (i) do { } while (j);") ==
          "do {\n  i = 1;\n}\nwhile (i);\ndo {\n}\nwhile (j);\n");
    CHECK(parsed("for(i in 10:1:-3) x = i; for (j in a ? 1 : 2 : 3) f();") ==
          "for (i in 10:1:-3) {\n  x = i;\n}\nfor (j in (a ? 1 : 2):3) {\n  f();\n}\n");
    CHECK(parsed("def f(a: si64, b, c: matrix<f64>,) -> si64, matrix { return a, b; }") ==
          "def f(a: si64, b, c: matrix<f64>) -> si64, matrix {\n  return a, b;\n}\n");
    CHECK(parsed("def f() { }; return_ = 1;") == "def f() {\n}\nreturn_ = 1;\n");
    CHECK(parsed("import \"a/b.daphne\"; import \"c\" as \"d\";") ==
          "import \"a/b.daphne\";\nimport \"c\" as \"d\";\n");
}

TEST_CASE("scripts: blocks and frames") {
    CHECK(parsed("{}") == "{\n}\n");
    CHECK(parsed("{ { x = 1; } };") == "{\n  {\n    x = 1;\n  }\n}\n");
    CHECK(parsed("{ a ? b : c; }") == "{\n  a ? b : c;\n}\n");
    CHECK(parsed("{ f(a=1); }") == "{\n  f(a=1);\n}\n");
    CHECK(parsed("{ [1, 2]; }") == "{\n  [1, 2];\n}\n");
    CHECK(parsed("{ x, y = f(); }") == "{\n  x, y = f();\n}\n");
    CHECK(parsed("{\"a\": [1]};") == "{\"a\": [1]};\n");
    CHECK(parsed("{c ? \"a\" : \"b\": [1]}[0, ];") == "{(c ? \"a\" : \"b\"): [1]}[0, ];\n");
    CHECK(parsed("{[\"a\"], [1]};") == "{[\"a\"], [1]};\n");
    CHECK(parsed("{[\"a\"]};") == "{[\"a\"]};\n");
}

TEST_CASE("scripts: places") {
    const Parsed p("  (a + b) * f(c)[0, ];");
    REQUIRE(!p.diagnostics.has_errors());
    const daphne::Node* product = p.script->statements[0]->value;
    auto column = [&](Loc loc) { return p.sources.position(loc).column; };
    CHECK(column(product->start) == 3);
    CHECK(column(product->loc) == 11);
    CHECK(column(product->args[0]->start) == 3);
    CHECK(column(product->args[0]->loc) == 6);
    CHECK(column(product->args[1]->start) == 13);
    CHECK(column(product->args[1]->loc) == 17);
    CHECK(product->height == 4);
}

TEST_CASE("scripts: many errors in one run") {
    CHECK(findings("x = ;\ny = 2;\nf(1, );\nif (x z = 1;\n{ a = (1; b = 2 }\nc = 3") ==
          "1:5 expected an expression, found `;`\n"
          "4:7 expected an operator or `)`, found `z`\n"
          "5:9 expected an operator or `)`, found `;`\n"
          "5:17 expected an operator or `;`, found `}`\n"
          "6:6 expected an operator or `;` at the end of this statement\n");
    CHECK(findings("x = 1\ny = 2;\nif (a) b = ; else c = 3;\nd = 1 +;") ==
          "1:6 expected an operator or `;` at the end of this statement\n"
          "3:12 expected an expression, found `;`\n"
          "4:8 expected an expression, found `;`\n");
    CHECK(findings("}\nx = 1;\n}") ==
          "1:1 unexpected `}`; no block is open here\n"
          "3:1 unexpected `}`; no block is open here\n");
}

TEST_CASE("scripts: what follows return is dropped") {
    CHECK(findings("def f() { return 1; x = 2; y = 3; }") == "1:21 what follows `return` never runs\n");
    CHECK(parsed("def f() { return 1; x = 2; y = 3; }") == "def f() {\n  return 1;\n}\n");
}

TEST_CASE("scripts: long ones and deep ones") {
    std::string chain = "x = 1";
    for (int i = 0; i < 100'000; ++i) chain += " + 1";
    const Parsed sum(chain + ";");
    REQUIRE(!sum.diagnostics.has_errors());
    CHECK(sum.script->statements[0]->value->height == 100'001);
    CHECK(print_syntax(*sum.script).size() > chain.size());

    auto deep = [](std::string open, std::string close) {
        std::string text;
        for (int i = 0; i < 1'000'000; ++i) text += open;
        return findings(text + close);
    };
    const std::string message = " the script is nested too deeply here; at most 2000 levels are possible\n";
    CHECK(deep("(", "") == "1:2000" + message);
    CHECK(deep("-", "1;") == "1:1999" + message);
    CHECK(deep("X[", "") == "1:3999" + message);
    CHECK(deep("f(", "") == "1:3999" + message);
    CHECK(deep("[ ", "") == "1:3999" + message);
    CHECK(deep("{", "") == "1:2001" + message);
    CHECK(deep("if (a) ", "") == "1:13998" + message);
    CHECK(deep("a ? ", "") == "1:7997" + message);
    CHECK(deep("{1:", "").ends_with(message));
}

TEST_CASE("scripts: literals by themselves") {
    Arena texts;
    auto read = [&](std::string_view text) -> std::string {
        Literal l;
        if (!read_literal(text, texts, &l)) return "no";
        if (l.value == ValueType::Str) return fmt::format("str {}", l.text);
        if (is_float(l.value)) return fmt::format("{} {}", name_of(l.value), l.number);
        return fmt::format("{} {}", name_of(l.value), l.integer);
    };
    CHECK(read("12") == "si64 12");
    CHECK(read("-2") == "si64 -2");
    CHECK(read("-9223372036854775808") == "si64 -9223372036854775808");
    CHECK(read("7u") == "ui64 7");
    CHECK(read("2.0") == "f64 2");
    CHECK(read("-1.5f") == "f32 -1.5");
    CHECK(read("-inf") == "f64 -inf");
    CHECK(read("true") == "bool 1");
    CHECK(read("\"a \\\"b\\\"\"") == "str a \"b\"");
    for (const char* wrong : {"", "-", "hello", "1+2", "1 2", "[1]", "-true", "-\"a\"", "\"a", "\"\\q\"",
                              "01", "1.", "--1", "$a", "1;", "9223372036854775809"})
        CHECK_MESSAGE(read(wrong) == "no", wrong);
}
