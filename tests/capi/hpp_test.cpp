// weld.hpp: types of C++ for types of Weld, and errors as exceptions.
#include <weld/weld.hpp>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {
struct Point {
    std::int32_t x;
    double y;
    friend bool operator==(const Point&, const Point&) = default;
};
struct Tagged {
    bool tag;
    Point point;
    weld::Vec<char> name;
};
}  // namespace
WELD_STRUCT(Point, x, y)
WELD_STRUCT(Tagged, tag, point, name)

/// The program gives back what it is given.
template <class T>
static void goes_through(const T& value) {
    const std::string name = weld::Type<T>::name();
    CAPTURE(name);
    const weld::Module m("|x: " + name + "| x");
    CHECK(m.param_type(0) == name);
    const auto result = m.run<T>(value);
    CHECK(*result == value);
}

TEST_CASE("types have names") {
    CHECK(weld::Type<bool>::name() == "bool");
    CHECK(weld::Type<char>::name() == "i8");
    CHECK(weld::Type<signed char>::name() == "i8");
    CHECK(weld::Type<unsigned char>::name() == "u8");
    CHECK(weld::Type<short>::name() == "i16");
    CHECK(weld::Type<unsigned>::name() == "u32");
    CHECK(weld::Type<long>::name() == "i64");
    CHECK(weld::Type<long long>::name() == "i64");
    CHECK(weld::Type<std::size_t>::name() == "u64");
    CHECK(weld::Type<std::vector<float>>::name() == "vec[f32]");
    CHECK(weld::Type<std::span<const double>>::name() == "vec[f64]");
    CHECK(weld::Type<std::array<int, 3>>::name() == "vec[i32]");
    CHECK(weld::Type<std::string>::name() == "vec[i8]");
    CHECK(weld::Type<std::tuple<int, std::tuple<bool>, std::string_view>>::name() == "{i32,{bool},vec[i8]}");
    CHECK(weld::Type<weld::Vec<weld::Vec<Point>>>::name() == "vec[vec[{i32,f64}]]");
    CHECK(weld::Type<weld::Dict<long, weld::Vec<char>>>::name() == "dict[i64,vec[i8]]");
    CHECK(weld::Type<Tagged>::name() == "{bool,{i32,f64},vec[i8]}");
}

TEST_CASE("values go through") {
    goes_through(true);
    goes_through('x');
    goes_through(std::int8_t(-5));
    goes_through(std::uint16_t(65535));
    goes_through(-7);
    goes_through(INT64_MIN);
    goes_through(UINT64_MAX);
    goes_through(0.1f);
    goes_through(0.1);
    goes_through(std::vector<std::int32_t>{1, 2, 3});
    goes_through(std::vector<double>{});
    goes_through(std::string("hello"));
    goes_through(std::string_view("hello"));
    goes_through(Point{1, 2.5});
    goes_through(std::vector<Point>{{1, 2.5}, {3, 4.5}});
    goes_through(std::tuple(1, 2.5, true));
    goes_through(std::tuple(std::int8_t(1), std::tuple(std::int8_t(2), 3L), std::string("x")));
    goes_through(weld::Struct<char, char, short, long>('a', 'b', 3, 4));
}

TEST_CASE("a function of C++ types") {
    const weld::Function<double(std::span<const double>)> mean(
        "|v: vec[f64]| result(for(v, merger[f64,+], |b, i, x| merge(b, x))) / f64(len(v))");
    CHECK(mean(std::vector{1.0, 2.0, 6.0}) == 3.0);
    const weld::Function<std::tuple<int, bool>(int, int)> divide("|a: i32, b: i32| {a / b, a % b == 0}");
    CHECK(divide(7, 2) == std::tuple(3, false));
    const weld::Function<weld::Vec<long>(long)> range(
        "|n: i64| result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, x)))");
    const auto r = range(5);
    CHECK((*r).copy() == std::vector<long>{0, 1, 2, 3, 4});
    CHECK(r->size() == 5);
    long sum = 0;
    for (long x : *r) sum += x;
    CHECK(sum == 10);
}

TEST_CASE("vectors of structs, of vectors, of strings") {
    const weld::Module pairs("|v: vec[i32]| map(v, |x| {i8(x), i8(x + 1), f64(x)})");
    const auto p = pairs.run<weld::Vec<weld::Struct<std::int8_t, std::int8_t, double>>>(std::vector{1, 2, 3});
    REQUIRE(p->size() == 3);
    auto [a, b, c] = (*p)[2];
    CHECK(int(a) == 3);
    CHECK(int(b) == 4);
    CHECK(c == 3.0);
    const weld::Module lengths("|v: vec[vec[i8]]| map(v, |s| len(s))");
    const std::vector<std::string> names = {"Ada", "", "Grace"};
    CHECK((*lengths.run<weld::Vec<long>>(weld::vecs(names))).copy() == std::vector<long>{3, 0, 5});
    const auto words = weld::Module("[\"one\", \"three\"]").run<weld::Vec<weld::Vec<char>>>();
    CHECK((*words)[1].text() == "three");
    CHECK(*weld::Module("|s: vec[i8]| len(s)").run<long>("four") == 4);
    const auto tagged = weld::Module("|p: {i32,f64}| {true, p, \"name\"}").run<Tagged>(Point{1, 2.0});
    CHECK(tagged->tag);
    CHECK(tagged->point == Point{1, 2.0});
    CHECK(tagged->name.text() == "name");
}

TEST_CASE("dictionaries") {
    const weld::Module count(
        "|v: vec[i64]| result(for(v, dictmerger[i64,i64,+], |b, i, x| merge(b, {x, 1L})))");
    const auto result = count.run<weld::Dict<long, long>>(std::vector<long>{5, 6, 5});
    const auto& dict = *result;
    CHECK(dict.size() == 2);
    CHECK(dict.at(5) == 2);
    CHECK(*dict.find(6) == 1);
    CHECK(dict.find(7) == nullptr);
    CHECK(dict.contains(5));
    CHECK_THROWS_AS(dict.at(7), weld::Error);
    std::map<long, long> copy;
    for (auto [key, value] : dict) copy[key] = value;
    CHECK(copy == std::map<long, long>{{5, 2}, {6, 1}});
    // as an argument
    CHECK(*weld::Module("|d: dict[i64,i64]| lookup(d, 5L)").run<long>(dict) == 2);
    // with strings
    const weld::Module group(
        "|v: vec[i64]| result(for(v, groupmerger[vec[i8],i64], "
        "|b, i, x| merge(b, {if(x > 1L, \"many\", \"one\"), x})))");
    const auto groups = group.run<weld::Dict<weld::Vec<char>, weld::Vec<long>>>(std::vector<long>{1, 2, 3});
    CHECK((*groups).at(weld::Vec<char>("many", 4)).copy() == std::vector<long>{2, 3});
}

TEST_CASE("anything, and builders from run to run") {
    const weld::Context context;
    const weld::Module more("|b: appender[i64], n: i64| merge(b, n)");
    weld::Any b = weld::Module("appender[i64]").run_in(context);
    for (long n = 0; n < 5; ++n) b = more.run_in(context, b, n);
    CHECK(b.type() == "appender[i64]");
    const auto v = weld::Module("|b: appender[i64]| result(b)").run_in<weld::Vec<long>>(context, b);
    CHECK(v->copy() == std::vector<long>{0, 1, 2, 3, 4});
    CHECK(v.json() == "[0, 1, 2, 3, 4]");
    CHECK(v.text() == "[0, 1, 2, 3, 4]");
    CHECK(context.memory_usage() == b.memory_usage() + v.memory_usage());
}

TEST_CASE("what goes wrong is thrown") {
    try {
        weld::Module("1 +\n true");
        FAIL("compiled");
    } catch (const weld::Error& e) {
        CHECK(e.code() == WELD_COMPILE_ERROR);
        CHECK(e.line() == 2);
        CHECK(e.column() == 2);
        CHECK(std::string(e.what()).find(e.summary()) != std::string::npos);
    }
    const weld::Module m("|a: i32, b: i32| a / b");
    try {
        m.run<int>(1, 0);
        FAIL("ran");
    } catch (const weld::Error& e) {
        CHECK(e.code() == WELD_DIVISION_BY_ZERO);
        CHECK(e.line() == 1);
    }
    CHECK_THROWS_WITH_AS(m.run<int>(1), "the program takes 2 arguments, found 1", weld::Error);
    CHECK_THROWS_WITH_AS(m.run<int>(1, 2L), "parameter `b` has the type `i32`, found `i64`", weld::Error);
    CHECK_THROWS_WITH_AS(m.run<long>(1, 2), "the result has the type `i32`, found `i64`", weld::Error);
    CHECK_THROWS_AS(weld::Function<int(int)>("|a: i32, b: i32| a / b"), weld::Error);
    CHECK_THROWS_AS(weld::Context(weld::Config().threads(0)), weld::Error);
    CHECK_THROWS_AS(weld::load_library("/nowhere"), weld::Error);
}

TEST_CASE("configurations and contexts") {
    const weld::Config config{{"weld.threads", "2"}, {"weld.memory.limit", "1MiB"}};
    const weld::Context context(config);
    CHECK(context.memory_limit() == 1 << 20);
    const weld::Module m("|n: i64| result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, x)))",
                         config);
    CHECK(m.run_in<weld::Vec<long>>(context, 100L)->size() == 100);
    try {
        m.run_in<weld::Vec<long>>(context, 1'000'000L);
        FAIL("ran");
    } catch (const weld::Error& e) {
        CHECK(e.code() == WELD_OUT_OF_MEMORY);
    }
    CHECK(context.memory_usage() == 0);
    CHECK(context.memory_peak() > 0);
}
