// What the string kernels are fast by, against what is plain: the automaton of a pattern against RE2, the
// scans of all instruction sets against a loop.
#include <doctest/doctest.h>
#include <re2/re2.h>

#include <random>

#include "runtime/kernels/byte_scan.h"
#include "runtime/kernels/search_dfa.h"

using namespace weld::runtime;

namespace {

struct Random {
    std::mt19937 bits;
    std::size_t below(std::size_t n) { return bits() % n; }
    std::string_view one_of(std::initializer_list<std::string_view> all) {
        return all.begin()[below(all.size())];
    }
};

std::string random_pattern(Random& r, int depth) {
    std::string p;
    for (std::size_t n = r.below(4) + (depth == 0); n > 0; --n) {
        switch (depth > 2 ? r.below(5) : r.below(8)) {
            case 0:
            case 1:
            case 2:
                p += r.one_of({"a", "b", "c", "0", "\xC3\xA9", "-", "]", "{", "}", "{,2}", ",", ":"});
                break;
            case 3:
                p += r.one_of({".", "\\d", "\\w", "\\S", "\\D", "\\n", "\\.", "\\]", "\\-", "\\t", "\\pL"});
                break;
            case 4:
                p += r.one_of({"[ab]",        "[^ab]",      "[a-c0]",      "[]a]",    "[^]a]",
                               "[a-]",        "[-a]",       "[a-b-c]",     "[\\d-a]", "[\\w.]",
                               "[\\--a]",     "[^\\d]",     "[{}]",        "[a^]",    "[\\S]",
                               "[[:alpha:]]", "[\xC3\xA9]", "[^\xC3\xA9]", "[ -~]",   "[^\\n]"});
                break;
            case 5: p += "(" + random_pattern(r, depth + 1) + ")"; break;
            case 6:
                p += "(?:" + random_pattern(r, depth + 1) + "|" + random_pattern(r, depth + 1) + ")";
                break;
            default: p += "(?P<x>" + random_pattern(r, depth + 1) + ")"; break;
        }
        if (r.below(2) == 0)
            p += r.one_of({"*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0}", "{0,2}", "{2,}", "{0,}",
                           "{3,4}?", "{02}", "{2,1}", "{1,02}", "|"});
    }
    return p;
}

std::string random_text(Random& r) {
    std::string t;
    for (std::size_t n = r.below(14); n > 0; --n)
        t += r.below(12) ? r.one_of({"a", "b", "c", "0", "1", "a", "b", "\n", " ", "{", "}", "-", "]", ",",
                                     "\xC3\xA9"})
                         : std::string_view(&"\xC3\xA9\xE0\x80\xF0\x9F\xED\xBF\xFF\x00"[r.below(10)], 1);
    return t;
}

/// What the string kernels do with an automaton.
bool found(const SearchDfa& dfa, const std::string& text) {
    if (dfa.matches_empty()) return true;
    const ByteSet first = dfa.first_bytes(), second = dfa.second_bytes();
    const auto *at = reinterpret_cast<const std::uint8_t*>(text.data()), *end = at + text.size();
    while (at < end) {
        const bool last = at + 1 == end;
        if (!first[*at] || (last ? !second.all() : !second[at[1]])) ++at;
        else if (dfa.follow(SearchDfa::kStart, at, end) == SearchDfa::kAccept) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("the automaton of a pattern finds what RE2 finds") {
    Random r{std::mt19937(7)};
    RE2::Options options;
    options.set_log_errors(false);
    int plain = 0, all = 0;
    for (int i = 0; i < 5000; ++i) {
        const std::string pattern = random_pattern(r, 0);
        const RE2 re(pattern, options);
        if (!re.ok()) continue;
        ++all;
        const auto dfa = SearchDfa::make(pattern);
        if (!dfa) continue;
        ++plain;
        CAPTURE(pattern);
        for (int k = 0; k < 30; ++k) {
            const std::string text = random_text(r);
            CAPTURE(text);
            REQUIRE(found(*dfa, text) == RE2::PartialMatch(text, re));
        }
    }
    CHECK(plain > all / 3);
}

TEST_CASE("patterns that are not plain are left to RE2") {
    for (const char* pattern :
         {"^a", "a$", "\\ba", "(?i)a", "\\pL", "[[:alpha:]]", "\\x41", "\\Qa\\E", "[\xC3\xA9]", "a{65}",
          "(a{10}){10}", "(a|b)*a(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)"})
        CHECK_FALSE(SearchDfa::make(pattern));
    CHECK_FALSE(SearchDfa::make(std::string(10000, '(') + std::string(10000, ')')));
    CHECK(SearchDfa::make("a[0-5]+b"));
    CHECK(SearchDfa::make("\"[^\"]*\"|'[^']*'"));
}

TEST_CASE("a match begins with few pairs of bytes") {
    const auto dfa = SearchDfa::make("a[0-5]+b");
    REQUIRE(dfa);
    CHECK(dfa->first_bytes().count() == 1);
    CHECK(dfa->second_bytes().count() == 6);
    CHECK(SearchDfa::make("x|ab")->second_bytes().all());
    CHECK(SearchDfa::make("a*b")->first_bytes().count() == 1);
}

TEST_CASE("every instruction set marks the same pairs") {
    Random r{std::mt19937(8)};
    for (const ScanForms& forms : scan_forms()) {
        CAPTURE(forms.isa);
        for (int i = 0; i < 200; ++i) {
            ByteSet first, second;
            for (std::size_t n = 1 + r.below(4); n > 0; --n)
                for (std::size_t c = r.below(256), k = r.below(40) * r.below(3) + 1; k > 0; --k)
                    first.set((c + k) % 256);
            for (std::size_t n = 1 + r.below(4); n > 0; --n) second.set(r.below(256));
            std::uint8_t text[64 * 3 + 1];
            for (std::uint8_t& c : text) c = std::uint8_t(r.below(256));
            std::uint64_t marks[3], plain[3];
            const std::uint64_t marked_blocks = PairScan(first, second, forms).mark(text, 3, marks);
            for (int block = 0; block < 3; ++block)
                REQUIRE(bool(marked_blocks >> block & 1) == (marks[block] != 0));
            PairScan(first, second, scan_forms().back()).mark(text, 3, plain);
            for (std::size_t at = 0; at < 192; ++at) {
                const bool marked = marks[at / 64] >> (at % 64) & 1;
                REQUIRE(marked == bool(plain[at / 64] >> (at % 64) & 1));
                if (first[text[at]] && second[text[at + 1]]) REQUIRE(marked);
            }
        }
    }
}

TEST_CASE("single bytes are marked as sets of them are") {
    Random r{std::mt19937(9)};
    for (int i = 0; i < 100; ++i) {
        std::uint8_t text[64 * 2 + 1];
        for (std::uint8_t& c : text) c = std::uint8_t(r.below(3) * 127);
        const std::uint8_t first = text[r.below(64)], second = text[r.below(64)];
        const ByteSet one = ByteSet().set(first), other = ByteSet().set(second);
        std::uint64_t marks[2], expected[2];
        PairScan(first, second).mark(text, 2, marks);
        PairScan(one, other).mark(text, 2, expected);
        CHECK(marks[0] == expected[0]);
        CHECK(marks[1] == expected[1]);
        PairScan(first, std::nullopt).mark(text, 2, marks);
        PairScan(one, ~ByteSet()).mark(text, 2, expected);
        CHECK(marks[0] == expected[0]);
        CHECK(marks[1] == expected[1]);
    }
}

TEST_CASE("a short text holds another, whatever may be read behind it") {
    Random r{std::mt19937(11)};
    for (int i = 0; i < 20000; ++i) {
        std::string room(r.below(80) + 16, ' ');
        for (char& c : room) c = "abb\xFF"[r.below(4)];
        const std::size_t size = r.below(room.size() - 15);
        const std::string_view text(room.data(), size);
        std::string what = room.substr(r.below(room.size()), r.below(20) + 1);
        if (r.below(2)) what[r.below(what.size())] = 'a';
        CAPTURE(text);
        CAPTURE(what);
        const bool expected = text.find(what) != text.npos;
        CHECK(short_text_holds(text, what, text.data() + size + 16) == expected);
        CHECK(short_text_holds(text, what, text.data() + size) == expected);
    }
}

TEST_CASE("offsets ascend or do not, on every instruction set") {
    for (const ScanForms& forms : scan_forms()) {
        CAPTURE(forms.isa);
        for (std::size_t n = 0; n < 40; ++n) {
            std::vector<std::int64_t> offsets;
            for (std::size_t i = 0; i <= n; ++i) offsets.push_back(std::int64_t(i / 2));
            CHECK(forms.ascends(offsets.data(), n));
            for (std::size_t i = 0; i <= n; ++i)
                for (const std::int64_t wrong :
                     {std::int64_t(-1), INT64_MIN, i < n ? INT64_MAX : std::int64_t(-5)}) {
                    std::vector<std::int64_t> some = offsets;
                    some[i] = wrong;
                    CHECK_FALSE(forms.ascends(some.data(), n));
                }
        }
    }
}
