// The reference interpreter: its values, and that it tells what depends on the order of additions from what
// does not.
#include <doctest/doctest.h>

#include <cstring>

#include "frontend/weld/weld.h"
#include "runtime/abi/weld_abi.h"
#include "tests/interp/compare.h"
#include "tests/interp/interp.h"
#include "tests/interp/memory.h"
#include "tests/interp/serialize.h"
#include "tests/interp/text.h"

using namespace weld;
using namespace weld::interp;

namespace {

struct Fixture {
    Module m;
    Diagnostics diagnostics;
    const Type* type(std::string_view text) {
        const Type* t = read_type(m, text, diagnostics);
        REQUIRE(t);
        return t;
    }
    Value value(const Type* t, std::string_view text) {
        std::string error;
        std::optional<Value> v = parse_value(t, &text, &error);
        REQUIRE_MESSAGE(v, error);
        CHECK(text.empty());
        return *v;
    }
    Outcome run(std::string text, Options options = {}) {
        REQUIRE(read_weld(m, "test", std::move(text), {}, diagnostics));
        return interp::run(m, {}, options);
    }
    std::string result(std::string text) {
        const Outcome out = run(std::move(text));
        return out.kind == Outcome::Done ? to_text(m.main->type->result(), out.value) : "failed";
    }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "values are written and read") {
    auto same = [&](std::string_view t, const std::string& text) {
        CHECK(to_text(type(t), value(type(t), text)) == text);
    };
    same("i64", "-9223372036854775808");
    same("u64", "18446744073709551615");
    same("f64", "1.0");
    same("f64", "-0.0");
    same("f32", "0.1");
    same("f64", "-Infinity");
    same("{i8,vec[bool]}", "{-3, [true, false]}");
    same("vec[vec[i8]]", "[\"a\\n\\\"\", \"\"]");
    same("vec[i8]", "[-1, 3]");
    same("dict[i64,{f64}]", "{1: {2.5}, 3: {0.5}}");
    same("{}", "{}");
    CHECK(to_text(type("vec[i8]"), value(type("vec[i8]"), "iota(3)")) == "[0, 1, 2]");
    CHECK(to_text(type("vec[f64]"), value(type("vec[f64]"), "repeat(2, 2)")) == "[2.0, 2.0]");
    CHECK(to_text(type("i8"), value(type("i8"), "0xffc")) == "-4");
    CHECK(to_json(type("dict[vec[i8],f64]"), value(type("dict[vec[i8],f64]"), "{\"a\": 1.0}")) ==
          "[[[97], 1]]");
    std::string error;
    std::string_view text = "{1}";
    CHECK(!parse_value(type("{i32,i32}"), &text, &error));
    CHECK(error == "too few fields for `{i32,i32}`");
}

TEST_CASE_FIXTURE(Fixture, "values lie in memory as C has them") {
    const Type* t = type("{i8,f64,vec[{bool,i32}]}");
    const Value v = value(t, "{-3, 2.5, [{true, 7}, {false, -1}]}");
    struct Elem {
        bool a;
        std::int32_t b;
    };
    struct Layout {
        std::int8_t a;
        double b;
        WeldVec c;
    } layout;
    Memory memory;
    REQUIRE(store(t, v, &layout, memory));
    CHECK(layout.a == -3);
    CHECK(layout.b == 2.5);
    REQUIRE(layout.c.len == 2);
    const Elem* elems = static_cast<const Elem*>(layout.c.data);
    CHECK(elems[0].a);
    CHECK(elems[1].b == -1);
    CHECK(difference(t, v, load(t, &layout)) == "");
}

TEST_CASE_FIXTURE(Fixture, "serialized values are packed") {
    const Type* t = type("{i8,vec[i16],bool}");
    const std::vector<std::uint8_t> bytes = serialize(t, value(t, "{1, [2, -1], true}"));
    CHECK(bytes == std::vector<std::uint8_t>{1, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 255, 255, 1});
    CHECK(deserialize(t, bytes).has_value());
    auto changed = [&](std::size_t at, std::uint8_t to) {
        std::vector<std::uint8_t> other = bytes;
        other[at] = to;
        return deserialize(t, other).has_value();
    };
    CHECK(!changed(13, 2));    // a bool is 0 or 1
    CHECK(!changed(1, 3));     // more elements than there are bytes
    CHECK(!changed(8, 0x80));  // a negative count
    CHECK(!deserialize(t, {}).has_value());
}

TEST_CASE_FIXTURE(Fixture, "orders: by value, and of keys") {
    const Type* f = type("f64");
    const Value nan = value(f, "NaN"), one = value(f, "1"), zero = value(f, "0.0"), minus = value(f, "-0.0");
    CHECK(compare(f, nan, one) == 2);
    CHECK(compare(f, minus, zero) == 0);
    CHECK(order(f, nan, one) == 1);
    CHECK(order(f, nan, nan) == 0);
    const Type* v = type("vec[i8]");
    CHECK(compare(v, value(v, "[1, 2]"), value(v, "[1, 2, 0]")) == -1);
    CHECK(compare(v, value(v, "[-1]"), value(v, "[1]")) == -1);
}

TEST_CASE_FIXTURE(Fixture, "exact sums have no slack") {
    const Outcome out = run("result(for([0.5, 1.25, 3.0], merger[f64,+], |b, i, x| merge(b, x)))");
    CHECK(out.value.slack == 0);
    CHECK(!out.decided);
}

TEST_CASE_FIXTURE(Fixture, "sums that round have slack, which arithmetic hands on") {
    const Outcome out = run("-(result(for([0.1, 0.2, 0.3], merger[f64,+], |b, i, x| merge(b, x))) * 2.0)");
    CHECK(out.value.slack > 1e-13);
    CHECK(out.value.slack < 1e-11);
    CHECK(!out.decided);
    const Type* f = type("f64");
    CHECK(difference(f, out.value, value(f, "-1.2")) == "");
    CHECK(difference(f, out.value, value(f, "-1.2000001")) != "");
}

TEST_CASE_FIXTURE(Fixture, "a decision by a sum that rounds is noticed") {
    CHECK(run("i32(result(for([0.1, 0.2], merger[f64,+], |b, i, x| merge(b, x))))").decided);
}

TEST_CASE_FIXTURE(Fixture, "failures have a code and a place") {
    const Outcome out = run("let v = [1, 2];\nlookup(v, 2L)");
    CHECK(out.kind == Outcome::Failed);
    CHECK(out.code == kWeldArrayOutOfBounds);
    CHECK(m.sources.position(out.loc).line == 2);
    CHECK(m.sources.position(out.loc).column == 1);
}

TEST_CASE_FIXTURE(Fixture, "programs without end are given up") {
    Options options;
    options.max_steps = 1000;
    CHECK(run("iterate(1, |x| {x, true})", options).kind == Outcome::GaveUp);
}

TEST_CASE_FIXTURE(Fixture, "values that are quickly made and large are given up") {
    Options options;
    options.max_steps = 20'000;
    const auto kind = [&](const std::string& of_rows) {
        return run("let v = result(for(rangeiter(0L, 300L, 1L), appender[i64], |b, i, x| merge(b, x)));\n"
                   "let rows = result(for(v, appender[vec[i64]], |b, i, x| merge(b, v)));\n" +
                       of_rows,
                   options)
            .kind;
    };
    CHECK(kind("len(rows)") == Outcome::Done);
    CHECK(kind("rows") == Outcome::GaveUp);
    CHECK(kind("len(serialize(rows))") == Outcome::GaveUp);
    CHECK(kind("rows == rows") == Outcome::GaveUp);
    CHECK(kind("len(tovec(result(merge(dictmerger[vec[vec[i64]],i64,+], {rows, 1L}))))") == Outcome::GaveUp);
    CHECK(kind("result(for(v, merger[i64,+], |b, i, x| merge(b, len(slice(v, x, 300L)))))") ==
          Outcome::GaveUp);
    CHECK(kind("len(sort(v, |x| -x))") == Outcome::Done);
    CHECK(kind("result(for(v, merger[i64,+], |b, i, x| merge(b, len(sort(v, |y| 0L - y)))))") ==
          Outcome::GaveUp);
}

TEST_CASE_FIXTURE(Fixture, "sort is stable, by key or by comparator") {
    CHECK(result("sort([{2, 0}, {1, 1}, {2, 2}, {1, 3}], |p| p.$0)") == "[{1, 1}, {1, 3}, {2, 0}, {2, 2}]");
}

TEST_CASE_FIXTURE(Fixture, "nditer walks by shape and strides") {
    CHECK(result("result(for(nditer([1, 2, 3, 4, 5, 6], 0L, 6L, 1L, [3L, 2L], [1L, 3L]), appender[i32], "
                 "|b, i, x| merge(b, x)))") == "[1, 4, 2, 5, 3, 6]");
    CHECK(result("result(for(nditer([1, 2, 3, 4, 5, 6], 4L, 0L, 0L, [2L, 2L], [-3L, 1L]), appender[i32], "
                 "|b, i, x| merge(b, x)))") == "[5, 6, 2, 3]");
}

TEST_CASE_FIXTURE(Fixture, "recursion has variables of its own") {
    CHECK(result("def fib(n: i64): i64 = let k = n; if(k < 2L, k, (let a = fib(k - 1L); a + fib(k - "
                 "2L)));\nfib(15L)") == "610");
}
