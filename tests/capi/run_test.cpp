// Values of all types in and out.
#include "api.h"

#include <cmath>
#include <limits>

using namespace test;

TEST_CASE("scalars come back in every bit") {
    CHECK(result<std::int8_t>("|x: i8| x", std::int8_t(-128)) == -128);
    CHECK(result<std::int16_t>("|x: i16| x", std::int16_t(-32768)) == -32768);
    CHECK(result<std::int32_t>("|x: i32| x", INT32_MIN) == INT32_MIN);
    CHECK(result<std::int64_t>("|x: i64| x", INT64_MIN) == INT64_MIN);
    CHECK(result<std::uint8_t>("|x: u8| x", std::uint8_t(255)) == 255);
    CHECK(result<std::uint16_t>("|x: u16| x", std::uint16_t(65535)) == 65535);
    CHECK(result<std::uint32_t>("|x: u32| x", UINT32_MAX) == UINT32_MAX);
    CHECK(result<std::uint64_t>("|x: u64| x", UINT64_MAX) == UINT64_MAX);
    CHECK(result<float>("|x: f32| x", 0.1f) == 0.1f);
    CHECK(result<double>("|x: f64| -x", std::numeric_limits<double>::infinity()) ==
          -std::numeric_limits<double>::infinity());
    CHECK(std::isnan(result<double>("|x: f64| x", std::nan(""))));
}

TEST_CASE("a byte other than 0 is true going in, and 0 or 1 comes out") {
    for (int byte = 0; byte < 256; ++byte) {
        const std::uint8_t b = std::uint8_t(byte);
        CHECK(result<std::uint8_t>("|x: bool| x", b) == (b != 0));
        CHECK(result<std::uint8_t>("|x: bool| !x", b) == (b == 0));
        CHECK(result<std::int32_t>("|x: bool| if(x, 1, 2)", b) == (b ? 1 : 2));
        CHECK(result<std::int32_t>("|x: bool| i32(x)", b) == (b != 0));
    }
    std::vector<std::uint8_t> v = {0, 1, 2, 128, 255};
    const Context c = context();
    const Value out = run(compile("|v: vec[bool]| map(v, |x| x == true)"), c, vec(v));
    CHECK(elements(as<Vec<std::uint8_t>>(out)) == std::vector<std::uint8_t>{0, 1, 1, 1, 1});
}

TEST_CASE("structs are laid out as in C") {
    struct Args {
        std::int8_t a;
        double b;
        struct {
            std::int16_t c;
            std::int8_t d;
        } inner;
        std::int64_t e;
    };
    const Args args = {1, 2.5, {3, 4}, 5};
    struct Out {
        double b;
        std::int8_t a;
        std::int16_t c;
        struct {
            std::int64_t e;
            std::int8_t d;
        } inner;
    };
    const Context c = context();
    const Value out = run(compile("|a: i8, b: f64, s: {i16, i8}, e: i64| {b, a, s.$0, {e, s.$1}}"), c, args);
    const Out& o = as<Out>(out);
    CHECK(o.b == 2.5);
    CHECK(o.a == 1);
    CHECK(o.c == 3);
    CHECK(o.inner.e == 5);
    CHECK(o.inner.d == 4);
    CHECK(std::string(weld_value_type(out.get())) == "{f64,i8,i16,{i64,i8}}");
}

TEST_CASE("vectors") {
    const Context c = context();
    std::vector<std::int32_t> v = {1, 2, 3, 4, 5};
    SUBCASE("of scalars") {
        const Value out = run(compile("|v: vec[i32]| map(v, |x| x * x)"), c, vec(v));
        CHECK(elements(as<Vec<std::int32_t>>(out)) == std::vector<std::int32_t>{1, 4, 9, 16, 25});
    }
    SUBCASE("an empty one may have no memory") {
        const Value out = run(compile("|v: vec[i32]| map(v, |x| x * x)"), c, Vec<std::int32_t>{nullptr, 0});
        CHECK(as<Vec<std::int32_t>>(out).len == 0);
    }
    SUBCASE("of structs") {
        struct Pair {
            std::int32_t key;
            double value;
        };
        const Value out = run(compile("|v: vec[i32]| map(v, |x| {x, f64(x) / 2.0})"), c, vec(v));
        const auto& pairs = as<Vec<Pair>>(out);
        REQUIRE(pairs.len == 5);
        CHECK(pairs.data[4].key == 5);
        CHECK(pairs.data[4].value == 2.5);
    }
    SUBCASE("of vectors") {
        std::vector<Vec<std::int32_t>> rows = {{v.data(), 2}, {v.data() + 2, 0}, {v.data() + 2, 3}};
        const Value out = run(
            compile("|m: vec[vec[i32]]| map(m, |r| result(for(r, merger[i32,+], |b, i, x| merge(b, x))))"), c,
            vec(rows));
        CHECK(elements(as<Vec<std::int32_t>>(out)) == std::vector<std::int32_t>{3, 0, 12});
    }
    SUBCASE("a slice of an argument points into it") {
        const Value out = run(compile("|v: vec[i32]| slice(v, 1L, 3L)"), c, vec(v));
        CHECK(as<Vec<std::int32_t>>(out).data == v.data() + 1);
        CHECK(as<Vec<std::int32_t>>(out).len == 3);
    }
    SUBCASE("arguments are not written to") {
        const Value sorted = run(compile("|v: vec[i32]| sort(v, |x, y| compare(y, x))"), c, vec(v));
        CHECK(elements(as<Vec<std::int32_t>>(sorted)) == std::vector<std::int32_t>{5, 4, 3, 2, 1});
        const Value added =
            run(compile("|v: vec[i32]| result(for(v, vecmerger[i32,+](v), |b, i, x| merge(b, {i, x})))"), c,
                vec(v));
        CHECK(elements(as<Vec<std::int32_t>>(added)) == std::vector<std::int32_t>{2, 4, 6, 8, 10});
        CHECK(v == std::vector<std::int32_t>{1, 2, 3, 4, 5});
    }
}

TEST_CASE("a program without parameters needs no argument") {
    const Module m = compile("[1, 2, 3]");
    const Context c = context();
    const Error e = error();
    for (int i = 0; i < 3; ++i) {
        const Value none(i == 0 ? nullptr : weld_value_new(i == 1 ? nullptr : &i));
        const Value out(weld_module_run(m.get(), c.get(), none.get(), e.get()));
        REQUIRE(out);
        CHECK(elements(as<Vec<std::int32_t>>(out)) == std::vector<std::int32_t>{1, 2, 3});
    }
}

TEST_CASE("results outlive the module, literals in them too") {
    const Context c = context();
    Value text, texts, longer;
    const std::string many = std::string(5000, 'x') + "y";
    {
        text = run(compile("\"hello\""), c);
        longer = run(compile("let s = \"" + many + "\"; [s, \"z\"]"), c);
        texts = run(compile("|n: i64| [\"one\", \"two\", \"three\"]"), c, std::int64_t(1));
    }
    const auto& t = as<Vec<char>>(text);
    CHECK(std::string(t.data, t.len) == "hello");
    const auto& ts = as<Vec<Vec<char>>>(texts);
    REQUIRE(ts.len == 3);
    CHECK(std::string(ts.data[2].data, ts.data[2].len) == "three");
    const auto& l = as<Vec<Vec<char>>>(longer);
    REQUIRE(l.len == 2);
    CHECK(std::string(l.data[0].data, l.data[0].len) == many);
    CHECK(std::string(l.data[1].data, l.data[1].len) == "z");
}

TEST_CASE("results outlive the handle of their context") {
    Value out;
    {
        const Context c = context();
        out = run(compile("result(for(rangeiter(0L, 1000L, 1L), appender[i64], |b, i, x| merge(b, x)))"), c);
    }
    CHECK(as<Vec<std::int64_t>>(out).data[999] == 999);
    const Context again(weld_value_context(out.get()));
    REQUIRE(again);
    CHECK(weld_context_memory_usage(again.get()) == weld_value_memory_usage(out.get()));
    CHECK(weld_context_memory_usage(again.get()) >= 8000);
}

TEST_CASE("a freed result can be read until its context runs again") {
    const Context c = context();
    Value out =
        run(compile("result(for(rangeiter(0L, 1000L, 1L), appender[i64], |b, i, x| merge(b, x)))"), c);
    const Vec<std::int64_t> v = as<Vec<std::int64_t>>(out);
    out.reset();
    CHECK(weld_context_memory_usage(c.get()) == 0);
    CHECK(v.data[999] == 999);
}

TEST_CASE("values know whether a run made them") {
    const int x = 1;
    const Value mine(weld_value_new(&x));
    CHECK(weld_value_data(mine.get()) == &x);
    CHECK(weld_value_run(mine.get()) == -1);
    CHECK(weld_value_memory_usage(mine.get()) == -1);
    CHECK(weld_value_context(mine.get()) == nullptr);
    CHECK(weld_value_type(mine.get()) == nullptr);
    const Context c = context();
    const Value a = run(compile("1"), c), b = run(compile("2"), c);
    CHECK(weld_value_run(a.get()) >= 0);
    CHECK(weld_value_run(b.get()) > weld_value_run(a.get()));
    CHECK(weld_value_memory_usage(a.get()) >= 0);
}

TEST_CASE("results as text") {
    const Context c = context();
    const Value out = run(compile("{1c, [1.0, 0.1, 1.0 / 0.0], \"a\\\"b\", true, {2.5f, [0L, 5L]}}"), c);
    CHECK(json(out) == "[1, [1.0, 0.1, Infinity], [97, 34, 98], true, [2.5, [0, 5]]]");
    const Error e = error();
    const Owned<char> text(weld_value_to_text(out.get(), e.get()));
    CHECK(std::string(text.get()) == "{1, [1.0, 0.1, Infinity], \"a\\\"b\", true, {2.5, [0, 5]}}");
    const int x = 1;
    const Value mine(weld_value_new(&x));
    CHECK(weld_value_to_json(mine.get(), e.get()) == nullptr);
    CHECK(weld_error_code(e.get()) == WELD_INVALID_ARGUMENT);
    const Value builder = run(compile("appender[i32]"), c);
    CHECK(weld_value_to_json(builder.get(), e.get()) == nullptr);
    CHECK(weld_error_code(e.get()) == WELD_INVALID_ARGUMENT);
}

TEST_CASE("dictionaries can be read without a program") {
    const Context c = context();
    std::vector<std::int64_t> v = {3, 1, 3, 2, 3};
    SUBCASE("sums") {
        const Value out =
            run(compile("|v: vec[i64]| result(for(v, dictmerger[i64,f64,+], |b, i, x| merge(b, {x, 0.5})))"),
                c, vec(v));
        const weld_dict_t d = as<weld_dict_t>(out);
        REQUIRE(weld_dict_size(d) == 3);
        std::int64_t key = 3;
        CHECK(*static_cast<const double*>(weld_dict_find(d, &key)) == 1.5);
        key = 4;
        CHECK(weld_dict_find(d, &key) == nullptr);
        std::int64_t keys = 0;
        for (std::int64_t i = 0; i < 3; ++i) {
            const auto* k = static_cast<const std::int64_t*>(weld_dict_key(d, i));
            keys += *k;
            CHECK(weld_dict_find(d, k) == weld_dict_value(d, i));
        }
        CHECK(keys == 6);
        CHECK(weld_dict_key(d, 3) == nullptr);
        CHECK(weld_dict_value(d, -1) == nullptr);
        CHECK(json(out) == "[[1, 0.5], [2, 0.5], [3, 1.5]]");
        // and handed to another program
        const Value two = run(compile("|d: dict[i64,f64]| {lookup(d, 1L), keyexists(d, 9L), len(d)}"), c, d);
        CHECK(json(two) == "[0.5, false, 3]");
    }
    SUBCASE("with strings for keys, and groups") {
        const Value out = run(compile("|v: vec[i64]| result(for(v, groupmerger[vec[i8],i64], |b, i, x| "
                                      "merge(b, {if(x > 2L, \"big\", \"small\"), i})))"),
                              c, vec(v));
        const weld_dict_t d = as<weld_dict_t>(out);
        REQUIRE(weld_dict_size(d) == 2);
        char big[] = "big";
        const Vec<char> key = {big, 3};
        const auto* group = static_cast<const Vec<std::int64_t>*>(weld_dict_find(d, &key));
        REQUIRE(group);
        CHECK(elements(*group) == std::vector<std::int64_t>{0, 2, 4});
    }
    SUBCASE("empty") {
        const Value out = run(compile("result(dictmerger[i64,i64,+])"), c);
        const weld_dict_t d = as<weld_dict_t>(out);
        const std::int64_t key = 1;
        CHECK(weld_dict_size(d) == 0);
        CHECK(weld_dict_find(d, &key) == nullptr);
        CHECK(json(out) == "[]");
        CHECK(weld_dict_size(nullptr) == 0);
        CHECK(weld_dict_find(nullptr, &key) == nullptr);
        CHECK(weld_dict_key(nullptr, 0) == nullptr);
    }
}
