// Builders that go from run to run.
#include "api.h"

using namespace test;

namespace {

template <class T>
struct Appender {
    T* data;
    std::int64_t size, capacity;
};

/// Arguments: a builder's state as it came out of a run, and a number.
template <class State>
struct With {
    State state;
    std::int64_t n;
};

}  // namespace

TEST_CASE("an appender goes on") {
    const Context c = context();
    const Module begin = compile("appender[i64]");
    const Module more =
        compile("|b: appender[i64], n: i64| for(rangeiter(n, n + 10L, 1L), b, |b, i, x| merge(b, x))");
    const Module end = compile("|b: appender[i64]| result(b)");
    Value b = run(begin, c);
    for (std::int64_t n = 0; n < 1000; n += 10)
        b = run(more, c, With<Appender<std::int64_t>>{as<Appender<std::int64_t>>(b), n});
    CHECK(as<Appender<std::int64_t>>(b).size == 1000);
    const Value out = run(end, c, as<Appender<std::int64_t>>(b));
    const auto& v = as<Vec<std::int64_t>>(out);
    REQUIRE(v.len == 1000);
    for (std::int64_t i = 0; i < 1000; ++i) CHECK(v.data[i] == i);
}

TEST_CASE("builders and vectors of values without bytes") {
    struct {
    } nothing;
    using Nothings = Vec<void>;
    const Context c = context();
    const Value literal = run(compile("{[{}], [{}, {}], \"ab\"}"), c);
    CHECK(json(literal) == "[[[]], [[], []], [97, 98]]");
    Value b = run(compile("appender[{}]"), c);
    const Module more =
        compile("|b: appender[{}], n: i64| for(rangeiter(0L, n, 1L), b, |b, i, x| merge(b, {}))");
    for (std::int64_t n = 1; n <= 100; ++n) b = run(more, c, With<Appender<void>>{as<Appender<void>>(b), n});
    CHECK(as<Appender<void>>(b).size == 5050);
    const Value v = run(compile("|b: appender[{}]| result(b)"), c, as<Appender<void>>(b));
    CHECK(as<Nothings>(v).len == 5050);

    const Module group =
        compile("|v: vec[{}]| result(for(v, groupmerger[{},{}], |b, i, x| merge(b, {x, x})))");
    const Value groups = run(group, c, as<Nothings>(v));
    CHECK(json(run(compile("|d: dict[{},vec[{}]]| len(lookup(d, {}))"), c, as<void*>(groups))) == "5050");
    // Where they lie does not matter.
    const Module count = compile("|v: vec[{}]| {len(v), len(sort(v, |x| x)), len(slice(v, 1L, 7L)), v}");
    for (void* data : {static_cast<void*>(nullptr), static_cast<void*>(&nothing)})
        CHECK(json(run(count, c, Nothings{data, 3})) == "[3, 3, 2, [[], [], []]]");
}

TEST_CASE("a new builder that is left behind is none of the errors") {
    CHECK(result<std::int64_t>("|n: i64| let b = appender[i64](n); let m = merger[f64,+]; n + 1L",
                               std::int64_t(41)) == 42);
    const Error e = error();
    CHECK_FALSE(weld_module_compile("let b = merge(appender[i64], 1L); 5", nullptr, e.get()));
    CHECK(weld_error_code(e.get()) == WELD_COMPILE_ERROR);
}

TEST_CASE("an appender may be continued for ever in little memory") {
    const Context c = context({{"weld.memory.limit", "4MiB"}});
    const Module begin = compile("appender[vec[i64]]");
    const Module more = compile(
        "|b: appender[vec[i64]], n: i64| merge(b, result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| "
        "merge(b, x))))");
    const Module last =
        compile("|b: appender[vec[i64]]| let v = result(b); {len(v), lookup(lookup(v, len(v) - 1L), 7L)}");
    Value b = run(begin, c);
    for (int i = 0; i < 5000; ++i)
        b = run(more, c, With<Appender<Vec<std::int64_t>>>{as<Appender<Vec<std::int64_t>>>(b), 10});
    const Value out = run(last, c, as<Appender<Vec<std::int64_t>>>(b));
    CHECK(json(out) == "[5000, 7]");
}

TEST_CASE("mergers, dictionaries, groups and vectors go on") {
    const Context c = context();
    SUBCASE("merger") {
        const Module more = compile("|b: merger[i64,+], n: i64| merge(b, n)");
        Value b = run(compile("merger[i64,+](5L)"), c);
        REQUIRE(weld_module_params_size(more.get()) == 16);
        for (std::int64_t n = 1; n <= 10; ++n) b = run(more, c, With<std::int64_t>{as<std::int64_t>(b), n});
        CHECK(as<std::int64_t>(run(compile("|b: merger[i64,+]| result(b)"), c, as<std::int64_t>(b))) == 60);
    }
    SUBCASE("dictmerger") {
        const Module more = compile(
            "|b: dictmerger[i64,i64,+], n: i64| for(rangeiter(0L, n, 1L), b, |b, i, x| merge(b, {x % 100L, "
            "1L}))");
        Value b = run(compile("dictmerger[i64,i64,+]"), c);
        for (int i = 0; i < 50; ++i) b = run(more, c, With<void*>{as<void*>(b), 1000});
        const Value out = run(compile("|b: dictmerger[i64,i64,+]| result(b)"), c, as<void*>(b));
        b.reset();
        const weld_dict_t d = as<weld_dict_t>(out);
        REQUIRE(weld_dict_size(d) == 100);
        for (std::int64_t k = 0; k < 100; ++k)
            CHECK(*static_cast<const std::int64_t*>(weld_dict_find(d, &k)) == 500);
    }
    SUBCASE("groupmerger") {
        const Module more = compile(
            "|b: groupmerger[vec[i8],i64], n: i64| merge(b, {if(n % 2L == 0L, \"even\", \"odd\"), n})");
        Value b = run(compile("groupmerger[vec[i8],i64]"), c);
        for (std::int64_t n = 0; n < 6; ++n) b = run(more, c, With<void*>{as<void*>(b), n});
        const Value out = run(
            compile(
                "|b: groupmerger[vec[i8],i64]| let d = result(b); {lookup(d, \"even\"), lookup(d, \"odd\")}"),
            c, as<void*>(b));
        CHECK(json(out) == "[[0, 2, 4], [1, 3, 5]]");
    }
    SUBCASE("vecmerger") {
        const Module more = compile("|b: vecmerger[i64,+], n: i64| merge(b, {n, 10L * n})");
        Value b = run(compile("vecmerger[i64,+]([1L, 2L, 3L])"), c);
        for (std::int64_t n = 0; n < 3; ++n)
            b = run(more, c, With<Vec<std::int64_t>>{as<Vec<std::int64_t>>(b), n});
        const Value out = run(compile("|b: vecmerger[i64,+]| result(b)"), c, as<Vec<std::int64_t>>(b));
        CHECK(json(out) == "[1, 12, 23]");
    }
}

TEST_CASE("passing a builder consumes it") {
    const Context c = context();
    const Module begin = compile("merge(appender[i64], 1L)");
    const Module more = compile("|b: appender[i64]| merge(b, 2L)");
    const Value first = run(begin, c);
    const Appender<std::int64_t> state = as<Appender<std::int64_t>>(first);
    const Value second = run(more, c, state);
    CHECK(as<Appender<std::int64_t>>(second).size == 2);
    if (as<Appender<std::int64_t>>(second).data != state.data) {
        std::string message;
        CHECK(failure(more, c, state, &message) == WELD_INVALID_ARGUMENT);
        CHECK(message.find("builder") != std::string::npos);
    }
    const Value third = run(more, c, as<Appender<std::int64_t>>(second));
    CHECK(as<Appender<std::int64_t>>(third).size == 3);
}

TEST_CASE("a builder that no run of the context returned is refused") {
    const Context c = context(), other = context();
    const Module begin = compile("merge(appender[i64], 1L)");
    const Module more = compile("|b: appender[i64]| merge(b, 2L)");
    const Value b = run(begin, other);
    CHECK(failure(more, c, as<Appender<std::int64_t>>(b)) == WELD_INVALID_ARGUMENT);
    std::int64_t room[4] = {};
    CHECK(failure(more, c, Appender<std::int64_t>{room, 1, 4}) == WELD_INVALID_ARGUMENT);
    const Value fresh = run(more, c, Appender<std::int64_t>{nullptr, 0, 0});
    CHECK(as<Appender<std::int64_t>>(fresh).size == 1);
    Value freed = run(begin, c);
    const Appender<std::int64_t> state = as<Appender<std::int64_t>>(freed);
    freed.reset();
    CHECK(failure(more, c, state) == WELD_INVALID_ARGUMENT);
}

TEST_CASE("a value with a builder and more keeps the more") {
    const Context c = context();
    struct Both {
        Appender<std::int64_t> b;
        Vec<std::int64_t> v;
    };
    const Module begin = compile("{merge(appender[i64], 1L), map([10L, 20L], |x| x + 1L)}");
    const Module more =
        compile("|b: appender[i64], n: i64| for(rangeiter(0L, n, 1L), b, |b, i, x| merge(b, x))");
    Value first = run(begin, c);
    Value second = run(more, c, With<Appender<std::int64_t>>{as<Both>(first).b, 1000});
    CHECK(elements(as<Both>(first).v) == std::vector<std::int64_t>{11, 21});
    first.reset();
    const Value out = run(compile("|b: appender[i64]| result(b)"), c, as<Appender<std::int64_t>>(second));
    second.reset();
    CHECK(as<Vec<std::int64_t>>(out).len == 1001);
    CHECK(as<Vec<std::int64_t>>(out).data[1000] == 999);
}

TEST_CASE("memory of continued builders comes back") {
    const Context c = context();
    const Module begin = compile("{appender[i64], dictmerger[i64,i64,+]}");
    const Module more = compile(
        "|b: {appender[i64], dictmerger[i64,i64,+]}, n: i64| for(rangeiter(0L, n, 1L), b, "
        "|b, i, x| {merge(b.$0, x), merge(b.$1, {x, 1L})})");
    struct State {
        Appender<std::int64_t> a;
        void* d;
    };
    Value b = run(begin, c);
    for (int i = 0; i < 10; ++i) b = run(more, c, With<State>{as<State>(b), 1000});
    CHECK(as<State>(b).a.size == 10'000);
    CHECK(weld_dict_size(as<weld_dict_t>(
              run(compile("|b: dictmerger[i64,i64,+]| result(b)"), c, as<State>(b).d))) == 1000);
    b.reset();
    CHECK(weld_context_memory_usage(c.get()) == 0);
}

TEST_CASE("a run that fails loses the builder") {
    const Context c = context();
    const Module begin = compile("for(rangeiter(0L, 100L, 1L), appender[i64], |b, i, x| merge(b, x))");
    const Module bad = compile("|b: appender[i64], n: i64| merge(b, 1L / n)");
    Value b = run(begin, c);
    const Appender<std::int64_t> state = as<Appender<std::int64_t>>(b);
    CHECK(failure(bad, c, With<Appender<std::int64_t>>{state, 0}) == WELD_DIVISION_BY_ZERO);
    CHECK(failure(bad, c, With<Appender<std::int64_t>>{state, 1}) == WELD_INVALID_ARGUMENT);
    b.reset();
    CHECK(weld_context_memory_usage(c.get()) == 0);
}
