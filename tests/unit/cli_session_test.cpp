// What an interactive session makes of lines, and what it keeps.
#include "frontend/cli/session.h"

#include <doctest/doctest.h>

using namespace weld;

TEST_CASE("input that goes on") {
    CHECK(is_incomplete("map([1, 2],"));
    CHECK(is_incomplete("|x: i64|"));
    CHECK(is_incomplete("1 +"));
    CHECK(is_incomplete("let x ="));
    CHECK(is_incomplete("\"abc"));
    CHECK(is_incomplete("(1 # )"));
    CHECK(is_incomplete("{1, \"}\""));
    CHECK_FALSE(is_incomplete(""));
    CHECK_FALSE(is_incomplete("1 + 2"));
    CHECK_FALSE(is_incomplete("1 # + ("));
    CHECK(is_incomplete("x /* ("));
    CHECK_FALSE(is_incomplete("x / /* ( */ 2 // ( /*"));
    CHECK_FALSE(is_incomplete("\"a\\\"(\""));
    CHECK_FALSE(is_incomplete("let x = 1;"));
    CHECK_FALSE(is_incomplete(")"));
}

TEST_CASE("what a loop or a branch of a script is for may come on the next line") {
    for (const char* open : {"for (i in 1:3)", "if (x > (1 + 2)) # why", "while (f(a)[0] == \")\")",
                             "if (a) b; else", "do", "x = 1; for(i in 1:2)", "if (a) for (i in 1:2)"})
        CHECK_MESSAGE(lacks_body(open), open);
    for (const char* whole :
         {"for (i in 1:3) print(i)", "if (a) b;", "do x = x + 1; while (x < 3)", "print(if_not)", "forth(1)",
          "elsewhere", "", "for (i in", "f(for)", "\"if\" (1)", "x = (1)"})
        CHECK_FALSE_MESSAGE(lacks_body(whole), whole);
}

TEST_CASE("statements end with semicolons outside of brackets") {
    CHECK(split_statements("let a = 1; let b = (let c = 2; c); a + b") ==
          std::vector<std::string>{"let a = 1;", " let b = (let c = 2; c);", " a + b"});
    CHECK(split_statements("let f = |x| let y = x; y;") ==
          std::vector<std::string>{"let f = |x| let y = x; y;"});
    CHECK(split_statements("let a = \";\"; # ;\n") == std::vector<std::string>{"let a = \";\";"});
    CHECK(split_statements("  # nothing\n").empty());
}

TEST_CASE("definitions") {
    CHECK(is_definition("let a = 1;"));
    CHECK(is_definition("type t = i64; macro m(x) = (x); # done\n let a = 1;"));
    CHECK_FALSE(is_definition("let a = 1; a"));
    CHECK_FALSE(is_definition("let a = 1"));
    CHECK_FALSE(is_definition("a;"));
    CHECK_FALSE(is_definition(""));
    CHECK_FALSE(is_definition("let a = (1;"));
    CHECK_FALSE(is_definition("letter;"));
}

TEST_CASE("a definition ends with its line") {
    CHECK(is_definition(with_last_semicolon("let a = 1")));
    CHECK(is_definition(with_last_semicolon("type t = i32; let a = (let b = 1; b) # one")));
    CHECK(with_last_semicolon("let a = 1;") == "let a = 1;");
    CHECK(with_last_semicolon("let a = 1; a") == "let a = 1; a");
    CHECK(with_last_semicolon("") == "");
}

TEST_CASE("functions go on until their body ends") {
    Definitions definitions;
    definitions.add("def f(x: i64): i64 = let a = x; let b = a + 1L; a * b; let c = f(2L);");
    definitions.add("def g(x: i64): i64 = f(x);");
    definitions.add("def f(x: i64): i64 = g(x - 1L);");
    CHECK(definitions.program("g(c)") ==
          "def g(x: i64): i64 = f(x);\ndef f(x: i64): i64 = g(x - 1L);\n let c = f(2L);\ng(c)");
    CHECK(is_definition("def f(x: i64): i64 = x;"));
    CHECK_FALSE(is_definition("def f(x: i64): i64 = x; f(1L)"));
}

TEST_CASE("definitions stand in the order that programs want") {
    Definitions definitions;
    definitions.add("let a = 1;");
    definitions.add("macro m(x) = (x + a);");
    definitions.add("type t = i64; let b: t = 2L;");
    CHECK(definitions.program("m(b)") ==
          "type t = i64;\nmacro m(x) = (x + a);\nlet a = 1;\n let b: t = 2L;\nm(b)");
    definitions.add("macro m(x) = (x);");
    definitions.add("type # a comment\n t = i32;");
    CHECK(definitions.program("0") ==
          "type # a comment\n t = i32;\nmacro m(x) = (x);\nlet a = 1;\n let b: t = 2L;\n0");
    definitions.clear();
    CHECK(definitions.program("0") == "0");
}
