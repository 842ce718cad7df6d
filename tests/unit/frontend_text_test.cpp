// Places, tokens, literals, and how findings are drawn.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "frontend/text/lexer.h"
#include "frontend/weld/literals.h"
#include "frontend/weld/tokens.h"
#include "weldir/support/diag.h"
#include "weldir/support/nearest.h"
#include "weldir/support/utf8.h"
#include "weldir/support/visible.h"

using namespace weld;

TEST_CASE("places count lines and code points") {
    Sources sources;
    const Loc first = sources.add("a", "ä\n\txy\r\n\xFFz");
    const Loc second = sources.add("b", "");
    auto at = [&](std::uint32_t offset) {
        const Position p = sources.position({first.offset + offset});
        return fmt::format("{}:{}:{}", p.file, p.line, p.column);
    };
    CHECK(at(0) == "a:1:1");
    CHECK(at(2) == "a:1:2");  // after two bytes, one character
    CHECK(at(3) == "a:2:1");
    CHECK(at(5) == "a:2:3");  // a tab is one column
    CHECK(at(8) == "a:3:1");
    CHECK(at(9) == "a:3:2");   // an invalid byte is one too
    CHECK(at(10) == "a:3:3");  // one past the end
    CHECK(sources.position(second).file == "b");
    CHECK(sources.position({}).line == 0);
    CHECK(sources.line({first.offset + 4}) == "\txy");
    CHECK(sources.text(second).empty());
}

TEST_CASE("internal texts have no place") {
    Sources sources;
    const Loc hidden = sources.add("standard", "let", true);
    CHECK(sources.internal(hidden));
    CHECK(sources.position(hidden).line == 0);
}

TEST_CASE("UTF-8 sequences") {
    CHECK(utf8_sequence("a") == 1);
    CHECK(utf8_sequence("é") == 2);
    CHECK(utf8_sequence("€") == 3);
    CHECK(utf8_sequence("😀") == 4);
    CHECK(utf8_sequence("\x80") == 0);
    CHECK(utf8_sequence("\xC0\x80") == 0);      // overlong
    CHECK(utf8_sequence("\xED\xA0\x80") == 0);  // surrogate
    CHECK(utf8_sequence("\xF4\x90\x80\x80") == 0);
    CHECK(utf8_sequence("\xE2\x82") == 0);  // cut off
    CHECK(utf8_step("\xE2") == 1);
}

TEST_CASE("what a terminal would obey is shown instead") {
    CHECK(visible("a \xc3\xa9 \xe2\x82\xac \\") == "a \xc3\xa9 \xe2\x82\xac \\");
    CHECK(visible("\x1b[31m\n\t\r\x7f") == "\\x1b[31m\\n\\t\\x0d\\x7f");
    CHECK(visible("\x9b \xc2\x9b \xff \xe2\x80\xa8") == "\\x9b \\xc2\\x9b \\xff \\xe2\\x80\\xa8");
    CHECK(visible(std::string_view("\0", 1)) == "\\x00");
    CHECK(visible_lines("a\n\tb\x1b") == "a\n\tb\\x1b");
    Sources sources;
    const Loc loc = sources.add("a\x1b\n.weld", "x \xc2\x9b\x07 y");
    Diagnostics diagnostics;
    diagnostics.error(loc, "bad `{}`", "\x1b").label(loc, "\x07").note("\x9b");
    CHECK(diagnostics.draw(sources) ==
          "a\\x1b\\n.weld:1:1: error: bad `\\x1b`\n"
          "1 | x \uFFFD\uFFFD y\n"
          "  | ^\n"
          "  | \\x07\n"
          "note: \\x9b\n");
}

TEST_CASE("findings are drawn by place, with labels and notes, once") {
    Sources sources;
    const Loc text = sources.add("p", "let a = 1;\nb + a");
    Diagnostics d;
    d.warning({text.offset + 15}, "second");
    for (int i = 0; i < 2; ++i)
        d.error({text.offset + 11}, "unknown name `{}`", "b")
            .label({text.offset + 4}, "near")
            .note("did you mean `a`?");
    CHECK(d.num_errors() == 2);
    CHECK(d.draw(sources) ==
          "p:2:1: error: unknown name `b`\n"
          "2 | b + a\n"
          "  | ^\n"
          "1 | let a = 1;\n"
          "  |     -\n"
          "  |     near\n"
          "note: did you mean `a`?\n"
          "p:2:5: warning: second\n"
          "2 | b + a\n"
          "  |     ^\n");
    CHECK(d.draw(sources, false).find("second") == std::string::npos);
}

TEST_CASE("long lines are cut around the mark") {
    Sources sources;
    const Loc text = sources.add("p", std::string(1'000'000, 'x') + "!" + std::string(1'000'000, 'y'));
    Diagnostics d;
    d.error({text.offset + 1'000'000}, "here");
    const std::string drawn = d.draw(sources);
    CHECK(drawn.size() < 500);
    CHECK(drawn.find("p:1:1000001: error: here") == 0);
    const std::size_t line = drawn.find("1 | ") + 4, mark = drawn.find("^");
    CHECK(drawn.substr(line, 3) == "…");
    const std::size_t row = drawn.rfind("| ", mark) + 2;
    CHECK(drawn[line + 2 + (mark - row)] == '!');  // `…` has three bytes and one column
}

TEST_CASE("errors past the limit are counted") {
    Sources sources;
    const Loc text = sources.add("p", "x");
    Diagnostics d;
    for (std::size_t i = 0; i < Diagnostics::kMaxErrors + 5; ++i)
        d.error(text, "number {}", i).note("kept or not");
    CHECK(d.all().size() == Diagnostics::kMaxErrors);
    CHECK(d.draw(sources).ends_with("5 more errors\n"));
}

TEST_CASE("the nearest name") {
    auto nearest = [](std::string_view name, std::initializer_list<const char*> known) {
        Nearest n(name);
        for (const char* k : known) n.consider(k);
        return n.best();
    };
    CHECK(nearest("mpa", {"sum", "map", "max"}) == "map");
    CHECK(nearest("lokup", {"lookup", "optlookup"}) == "lookup");
    CHECK(nearest("x", {"y", "z"}).empty());  // a letter is near to all others
    CHECK(nearest("something", {"else"}).empty());
    CHECK(edit_distance("abcd", "acbd", 3) == 1);
    CHECK(edit_distance("kitten", "sitting", 5) == 3);
    CHECK(edit_distance("kitten", "sitting", 1) == 2);
}

static std::string tokens_of(const std::string& text, std::size_t errors = 0) {
    Sources sources;
    Diagnostics d;
    const Loc begin = sources.add("p", text);
    std::string out;
    for (const Token& t : lex(sources, begin, front::language(), d)) {
        if (!out.empty()) out += ' ';
        out += t.kind == front::kEnd ? "END" : text.substr(t.loc.offset - begin.offset, t.length);
    }
    CHECK(d.num_errors() == errors);
    return out;
}

TEST_CASE("tokens") {
    CHECK(tokens_of("a<=b<<c") == "a <= b << c END");
    CHECK(tokens_of("x.$0.$1") == "x . $0 . $1 END");
    CHECK(tokens_of("1.5e+3f 1.x 12abc 0x1fL 1e5 2e") == "1.5e+3f 1 . x 12abc 0x1fL 1e5 2e END");
    CHECK(tokens_of("a # comment ] \"\n b") == "a b END");
    CHECK(tokens_of("\"a#b\\\"c\" d") == "\"a#b\\\"c\" d END");
    CHECK(tokens_of("||x|") == "|| x | END");
    CHECK(tokens_of("") == "END");
    CHECK(tokens_of("a §§ b", 1) == "a §§ b END");
    CHECK(tokens_of(std::string("1 \0 2", 5), 1).size() == 9);
    CHECK(tokens_of("\"\xFF\"", 1) == "\"\xFF\" END");
    CHECK(tokens_of("\"abc", 1) == "\"abc END");
}

TEST_CASE("numbers") {
    using front::read_number;
    auto value = [](std::string_view text, bool negative = false) {
        const front::Number n = read_number(text, negative);
        return n.error.empty() ? fmt::format("{} {:#x}", name_of(n.scalar), n.bits) : n.error;
    };
    CHECK(value("12") == "i32 0xc");
    CHECK(value("007") == "i32 0x7");
    CHECK(value("12L") == "i64 0xc");
    CHECK(value("12l") == "i64 0xc");
    CHECK(value("7c") == "i8 0x7");
    CHECK(value("3si") == "i16 0x3");
    CHECK(value("7u8") == "u8 0x7");
    CHECK(value("18446744073709551615u64") == "u64 0xffffffffffffffff");
    CHECK(value("0x1c") == "i32 0x1c");
    CHECK(value("0x1ci8") == "i8 0x1c");
    CHECK(value("0xffu64") == "u64 0xff");
    CHECK(value("0b101c") == "i8 0x5");
    CHECK(value("0b1L") == "i64 0x1");
    CHECK(value("1", true) == "i32 0xffffffff");
    CHECK(value("2147483648", true) == "i32 0x80000000");
    CHECK(value("128c", true) == "i8 0x80");
    CHECK(value("1.0") == "f64 0x3ff0000000000000");
    CHECK(value("1f") == "f32 0x3f800000");
    CHECK(value("1f64") == "f64 0x3ff0000000000000");
    CHECK(value("2.5f32") == "f32 0x40200000");
    CHECK(value("1e+3") == "f64 0x408f400000000000");
    CHECK(value("0.0", true) == "f64 0x8000000000000000");
    CHECK(value("1e-400") == "f64 0x0");
    CHECK(value("0.1f") == "f32 0x3dcccccd");  // rounded once
    CHECK(value("2147483648").find("does not fit") != std::string::npos);
    CHECK(value("99999999999999999999").find("does not fit") != std::string::npos);
    CHECK(value("1e400").find("does not fit") != std::string::npos);
    CHECK(value("1e99999999999999999999").find("does not fit") != std::string::npos);
    CHECK(value("1e-99999999999999999999") == "f64 0x0");
    CHECK(value("1.5i32").find("is not a number") != std::string::npos);
    CHECK(value("0x").find("is not a number") != std::string::npos);
    CHECK(value("12abc").find("is not a number") != std::string::npos);
    std::uint64_t bits = 0;
    CHECK(front::read_bits("0x7ff8000000000000", &bits));
    CHECK(bits == 0x7ff8000000000000);
    CHECK(front::read_bits("0xfff8000000000000L", &bits));
    CHECK(bits == 0xfff8000000000000);
    CHECK_FALSE(front::read_bits("1.5", &bits));
}

TEST_CASE("strings") {
    std::size_t bad = 0;
    CHECK(front::read_string("\"a\\n\\t\\r\\\\\\\"\\x41\"", &bad) == "a\n\t\r\\\"A");
    CHECK(bad == std::string::npos);
    CHECK(front::read_string("\"\\0\"", &bad) == std::string(1, '\0'));
    CHECK(front::read_string("\"ab\\qc\"", &bad) == "abc");
    CHECK(bad == 3);
    front::read_string("\"\\x4\"", &bad);
    CHECK(bad == 1);
}
