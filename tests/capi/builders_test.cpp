// Builders that go from run to run.
#include "api.h"

#include <array>
#include <cstddef>
#include <cstring>

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
    SUBCASE("topk") {
        const Module more = compile("|b: topk[{i64,vec[i8]}], n: i64| merge(b, {n * 7L % 10L, \"s\"})");
        Value b = run(compile("topk[{i64,vec[i8]}](3L)"), c);
        for (std::int64_t n = 0; n < 2000; ++n) b = run(more, c, With<void*>{as<void*>(b), n});
        const Value out = run(compile("|b: topk[{i64,vec[i8]}]| {result(b), 1L}"), c, as<void*>(b));
        b.reset();
        CHECK(json(out) == "[[[0, [115]], [0, [115]], [0, [115]]], 1]");
        const Module wrong = compile("|b: topk[i64]| result(b)");
        CHECK(failure(wrong, c, as<void*>(run(compile("topk[i32](3L)"), c))) == WELD_INVALID_ARGUMENT);
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

TEST_CASE("a builder that shares memory with more keeps that memory") {
    const Context c = context();
    struct Both {
        void* b;
        Vec<std::int64_t> v;
    };
    const Module begin = compile("{merge(dictmerger[i64,i64,+], {1L, 2L}), map([10L, 20L], |x| x + 1L)}");
    const Module more = compile("|b: dictmerger[i64,i64,+], n: i64| merge(b, {1L, n})");
    Value first = run(begin, c);
    Value b = run(more, c, With<void*>{as<Both>(first).b, 3});
    first.reset();
    run(compile("|n: i64| result(for(rangeiter(0L, n, 1L), appender[i64], |b, i, x| merge(b, -7L)))"), c,
        std::int64_t(20'000));
    weld_context_trim(c.get());
    b = run(more, c, With<void*>{as<void*>(b), 4});
    Value d = run(compile("|b: dictmerger[i64,i64,+]| result(b)"), c, as<void*>(b));
    b.reset();
    weld_context_trim(c.get());
    CHECK(json(d) == "[[1, 9]]");
    d.reset();
    CHECK(weld_context_memory_usage(c.get()) == 0);
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

// ---- what is no builder of the type

namespace {

struct Maker {
    const char* type;
    const char* program;  ///< one that holds something
};
constexpr Maker kMakers[] = {
    {"appender[i64]", "merge(merge(appender[i64], 1L), 3L)"},
    {"appender[i32]", "merge(merge(appender[i32], 1), 3)"},
    {"appender[f64]", "merge(merge(appender[f64], 1.0), 3.0)"},
    {"appender[vec[i8]]", "merge(appender[vec[i8]], \"one\")"},
    {"appender[{i64,i64}]", "merge(appender[{i64,i64}], {1L, 2L})"},
    {"vecmerger[i64,+]", "vecmerger[i64,+]([1L, 2L])"},
    {"vecmerger[i64,*]", "vecmerger[i64,*]([1L, 2L])"},
    {"vecmerger[f64,+]", "vecmerger[f64,+]([1.0, 2.0])"},
    {"dictmerger[i64,i64,+]", "merge(dictmerger[i64,i64,+], {1L, 2L})"},
    {"dictmerger[i64,i64,max]", "merge(dictmerger[i64,i64,max], {1L, 2L})"},
    {"dictmerger[i64,f64,+]", "merge(dictmerger[i64,f64,+], {1L, 2.0})"},
    {"dictmerger[i64,{i64,i64},+]", "merge(dictmerger[i64,{i64,i64},+], {1L, {2L, 3L}})"},
    {"dictmerger[vec[i8],i64,+]", "merge(dictmerger[vec[i8],i64,+], {\"one\", 2L})"},
    {"groupmerger[i64,i64]", "merge(groupmerger[i64,i64], {1L, 2L})"},
    {"groupmerger[i64,f64]", "merge(groupmerger[i64,f64], {1L, 2.0})"},
    {"groupmerger[vec[i8],i64]", "merge(groupmerger[vec[i8],i64], {\"one\", 2L})"},
};

/// The bytes of a builder, with zeros for longer ones behind them.
std::array<std::int64_t, 8> state_of(const Value& v, const Module& maker) {
    std::array<std::int64_t, 8> bytes{};
    std::memcpy(bytes.data(), weld_value_data(v.get()), std::size_t(weld_module_return_size(maker.get())));
    return bytes;
}
Module taker_of(const std::string& type) { return compile("|b: " + type + "| result(b)"); }

}  // namespace

TEST_CASE("a builder of one type is refused as one of any other, and stays whole") {
    const Context c = context();
    for (const Maker& made : kMakers) {
        const Module maker = compile(made.program), taker = taker_of(made.type);
        Value b = run(maker, c);
        for (const Maker& wanted : kMakers) {
            if (&wanted == &made) continue;
            std::string message;
            CAPTURE(made.type);
            CAPTURE(wanted.type);
            CHECK(failure(taker_of(wanted.type), c, state_of(b, maker), &message) == WELD_INVALID_ARGUMENT);
            CHECK_MESSAGE(message.find("the builder `b` ") != std::string::npos, message);
        }
        run(taker, c, state_of(b, maker));
        CHECK(failure(taker, c, state_of(b, maker)) == WELD_INVALID_ARGUMENT);  // only now it is used up
        b.reset();
        CHECK(weld_context_memory_usage(c.get()) == 0);
    }
}

TEST_CASE("builders of other contexts, and those that are gone, are refused") {
    for (const Maker& made : kMakers) {
        CAPTURE(made.type);
        const Context c = context(), other = context();
        Module maker = compile(made.program);
        const Module taker = taker_of(made.type);
        Value b = run(maker, other);
        const auto state = state_of(b, maker);
        std::string message;
        CHECK(failure(taker, c, state, &message) == WELD_INVALID_ARGUMENT);
        CHECK_MESSAGE(message.find("no run of this context returned it") != std::string::npos, message);
        maker.reset();
        run(taker, other, state);  // the module that it was made by is not needed
        CHECK(failure(taker, other, state) == WELD_INVALID_ARGUMENT);
        maker = compile(made.program);
        b = run(maker, c);
        const auto freed = state_of(b, maker);
        b.reset();
        CHECK(failure(taker, c, freed) == WELD_INVALID_ARGUMENT);
        const std::int64_t garbage[] = {0x1234567890, 1, 4, 0, 0, 0, 0, 0};
        CHECK(failure(taker, c, garbage) == WELD_INVALID_ARGUMENT);
        CHECK(weld_context_memory_usage(c.get()) == 0);
    }
}

TEST_CASE("the state of a builder has to be as it was returned") {
    const Context c = context();
    const Module maker = compile("merge(merge(appender[i64], 1L), 3L)"), taker = taker_of("appender[i64]");
    const Value b = run(maker, c);
    const auto state = as<Appender<std::int64_t>>(b);
    std::string message;
    for (const Appender<std::int64_t> changed : {Appender<std::int64_t>{state.data, 100'000'000, 200'000'000},
                                                 {state.data, 1, state.capacity},
                                                 {state.data, state.size, state.capacity + 1},
                                                 {state.data + 1, state.size, state.capacity},
                                                 {state.data, -1, state.capacity},
                                                 {nullptr, state.size, state.capacity},
                                                 {nullptr, 2, 0},
                                                 {nullptr, 0, -4},
                                                 {state.data, 2, 0},
                                                 {nullptr, -1, 0}}) {
        CAPTURE(changed.size);
        CAPTURE(changed.capacity);
        CHECK(failure(taker, c, changed, &message) == WELD_INVALID_ARGUMENT);
    }
    CHECK(elements(as<Vec<std::int64_t>>(run(taker, c, state))) == std::vector<std::int64_t>{1, 3});
    const Value v = run(compile("vecmerger[i64,+]([1L, 2L])"), c);
    const auto cells = as<Vec<std::int64_t>>(v);
    const Module end = taker_of("vecmerger[i64,+]");
    for (const Vec<std::int64_t> changed :
         {Vec<std::int64_t>{cells.data, 3}, {cells.data, -1}, {cells.data + 1, 1}, {nullptr, 2}})
        CHECK(failure(end, c, changed) == WELD_INVALID_ARGUMENT);
    CHECK(elements(as<Vec<std::int64_t>>(run(end, c, cells))) == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("builders without anything in them") {
    const Context c = context();
    const std::int64_t zeros[8] = {};
    CHECK(json(run(compile("|b: appender[i64]| result(merge(b, 5L))"), c, zeros)) == "[5]");
    CHECK(json(run(compile("|b: vecmerger[i64,+]| result(b)"), c, zeros)) == "[]");
    for (const char* type : {"dictmerger[i64,i64,+]", "dictmerger[vec[i8],i64,+]", "groupmerger[i64,i64]"})
        CHECK(failure(taker_of(type), c, zeros) == WELD_INVALID_ARGUMENT);  // these are never without memory
    CHECK(json(run(compile("|b: merger[i64,+]| result(merge(b, 3L))"), c, zeros)) == "3");
    for (const Maker& made : kMakers) {  // as a program returns them
        if (std::strncmp(made.type, "vecmerger", 9) == 0) continue;
        const Module maker = compile(made.type);
        Value b = run(maker, c);
        CHECK(json(run(compile("|b: " + std::string(made.type) + "| len(result(b))"), c,
                       state_of(b, maker))) == "0");
    }
    CHECK(failure(compile("|b: vecmerger[i64,+]| result(merge(b, {0L, 5L}))"), c, zeros) ==
          WELD_ARRAY_OUT_OF_BOUNDS);
}

TEST_CASE("structs of builders are checked one by one") {
    const Context c = context();
    const Module maker =
        compile("{merge(appender[i64], 1L), {merge(dictmerger[i64,i64,+], {1L, 2L}), merger[i64,+](4L)}}");
    const std::string type = "{appender[i64],{dictmerger[i64,i64,+],merger[i64,+]}}";
    const Module taker =
        compile("|n: i64, s: " + type + "| {result(s.$0), result(s.$1.$0), result(s.$1.$1), n}");
    struct Args {
        std::int64_t n;
        Appender<std::int64_t> a;
        void* d;
        std::int64_t m;
    };
    const auto args_of = [&](const Value& v) {
        Args args{7, {}, nullptr, 0};
        std::memcpy(&args.a, weld_value_data(v.get()), sizeof args - offsetof(Args, a));
        return args;
    };
    const Value v = run(maker, c), w = run(maker, c);
    Args bad = args_of(v);
    std::string message;
    bad.a.size = 5;
    CHECK(failure(taker, c, bad, &message) == WELD_INVALID_ARGUMENT);
    CHECK_MESSAGE(message.find("`s.$0` was changed") != std::string::npos, message);
    bad = args_of(v);
    bad.d = &bad;
    CHECK(failure(taker, c, bad, &message) == WELD_INVALID_ARGUMENT);
    CHECK_MESSAGE(message.find("`s.$1.$0` was used before, or no run") != std::string::npos, message);
    const Module both = compile("|a: appender[i64], b: appender[i64]| {result(a), result(b)}");
    const Appender<std::int64_t> twice[] = {args_of(v).a, args_of(v).a};
    CHECK(failure(both, c, twice, &message) == WELD_INVALID_ARGUMENT);
    CHECK_MESSAGE(message.find("`b` stands among the arguments twice") != std::string::npos, message);
    Args mixed = args_of(v);
    mixed.d = args_of(w).d;
    CHECK(json(run(taker, c, mixed)) == "[[1], [[1, 2]], 4, 7]");
    mixed = args_of(w);
    mixed.d = args_of(v).d;
    CHECK(json(run(taker, c, mixed)) == "[[1], [[1, 2]], 4, 7]");
}

TEST_CASE("a dictionary is none of another type, no builder, and none of a value that was freed") {
    const Context c = context();
    const Module taker = compile("|d: dict[i64,i64]| len(d)");
    const Value builder = run(compile("merge(dictmerger[i64,i64,+], {1L, 2L})"), c);
    std::string message;
    CHECK(failure(taker, c, as<void*>(builder), &message) == WELD_INVALID_ARGUMENT);
    CHECK_MESSAGE(message.find("`d` is a builder") != std::string::npos, message);
    const Value other = run(compile("result(merge(dictmerger[i64,{i64,i64},+], {1L, {2L, 3L}}))"), c);
    CHECK(failure(taker, c, as<void*>(other), &message) == WELD_INVALID_ARGUMENT);
    CHECK_MESSAGE(message.find("`d` is no `dict[i64,i64]`") != std::string::npos, message);
    std::int64_t garbage[32] = {};
    CHECK(failure(taker, c, static_cast<void*>(garbage), &message) == WELD_INVALID_ARGUMENT);
    CHECK_MESSAGE(message.find("`d` is no dictionary of a value that lives") != std::string::npos, message);
    CHECK(as<std::int64_t>(run(taker, c, static_cast<void*>(nullptr))) == 0);
}
