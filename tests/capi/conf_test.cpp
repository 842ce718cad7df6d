// Configurations: what is set is kept, and read by those who need it.
#include <cmath>
#include <limits>

#include "api.h"

using namespace test;

TEST_CASE("values are kept as they were set") {
    const Conf c = conf();
    CHECK(weld_conf_get(c.get(), "weld.threads") == nullptr);
    weld_conf_set(c.get(), "weld.threads", "3");
    weld_conf_set(c.get(), "no.such.key", "anything at all");
    CHECK(std::string(weld_conf_get(c.get(), "weld.threads")) == "3");
    CHECK(std::string(weld_conf_get(c.get(), "no.such.key")) == "anything at all");
    weld_conf_set(c.get(), "weld.threads", "rubbish");
    CHECK(std::string(weld_conf_get(c.get(), "weld.threads")) == "rubbish");
}

TEST_CASE("a wrong value is found when it is needed, whichever key it has") {
    CHECK_FALSE(context({{"weld.threads", "0"}}));
    CHECK_FALSE(context({{"weld.memory.limit", "many"}}));
    CHECK_FALSE(context({{"weld.compile.dumpCode", "True"}}));
    const Error e = error();
    const Conf bad = conf({{"weld.threads", "-1"}});
    CHECK_FALSE(Module(weld_module_compile("1", bad.get(), e.get())));
    CHECK(weld_error_code(e.get()) == WELD_COMPILE_ERROR);
    CHECK(std::string(weld_error_message(e.get())).find("weld.threads") != std::string::npos);
    const Conf passes = conf({{"weld.optimization.passes", "loop-fusion,no-such-pass"}});
    CHECK_FALSE(Module(weld_module_compile("1", passes.get(), e.get())));
    CHECK(std::string(weld_error_message(e.get())).find("no-such-pass") != std::string::npos);
}

TEST_CASE("code for less than the machine has gives the same bits") {
    const char* program =
        "|v: vec[f64]| {sum(map(v, |x| x * x)), result(for(v, merger[f64,*], |b, i, x| merge(b, exp(x)))), "
        "len(filter(v, |x| x > 0.5))}";
    struct Sums {
        double squares, product;
        std::int64_t large;
        bool operator==(const Sums&) const = default;
    };
    std::vector<double> v(100'003);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1.0 / double(i + 1);
    const Sums native = as<Sums>(run(compile(program), context(), vec(v)));
    CHECK(native.squares == doctest::Approx(1.6449240667));
    for (const char* cpu : {"avx2", "avx512"})
        for (const char* threads : {"1", "3"}) {
            const Conf c = conf({{"weld.compile.cpu", cpu}});
            const Module m(weld_module_compile(program, c.get(), nullptr));
            if (m) CHECK(as<Sums>(run(m, context({{"weld.threads", threads}}), vec(v))) == native);
        }
    const Sums plain = as<Sums>(run(compile(program, {{"weld.compile.cpu", "sse2"}}), context(), vec(v)));
    CHECK(plain.squares == doctest::Approx(native.squares).epsilon(1e-14));
    CHECK(plain.large == native.large);
    const Error e = error();
    const Conf bad = conf({{"weld.compile.cpu", "z80"}});
    CHECK_FALSE(Module(weld_module_compile("1", bad.get(), e.get())));
    CHECK(std::string(weld_error_message(e.get())).find("sse2") != std::string::npos);
}

TEST_CASE("the least and the largest float are numbers beside any NaN, on all machines") {
    const char* const program =
        "|v: vec[f64], w: vec[f64]| let least = map(zip(v, w), |e| min(e.$0, e.$1));"
        "let largest = map(zip(v, w), |e| max(e.$0, e.$1));"
        "let of_places = result(for(v, vecmerger[f64,min](w), |b, i, x| merge(b, {(i * 7L) % len(w), x})));"
        "let run = iterate({0L, 1.0 / 0.0}, |s| {{s.$0 + 1L, min(s.$1, lookup(v, s.$0))}, s.$0 + 1L < "
        "len(v)});"
        "let bits = |x: vec[f64]| result(for(x, merger[f64,+], |b, i, e| "
        "merge(b, f64(i + 1L) * if(1.0 / e < 0.0, 3.0, if(e == 0.0, 2.0, if(e == e, e, 1000.0))))));"
        "{bits(least), bits(largest), bits(of_places), result(for(v, merger[f64,min], |b, i, x| merge(b, "
        "x))),"
        "result(for(w, merger[f64,max], |b, i, x| merge(b, x))), run.$1}";
    struct Found {
        double least, largest, of_places, least_of_all, largest_of_all, run;
        bool operator==(const Found&) const = default;
    };
    constexpr std::size_t n = 1003;
    const double of[] = {std::numeric_limits<double>::signaling_NaN(), -0.0, 0.0, 2.5,
                         std::numeric_limits<double>::quiet_NaN(),     4.0};
    std::vector<double> v(n), w(n), least(n), largest(n);
    const auto less = [](double a, double b) { return a < b || (a == b && std::signbit(a)); };
    for (std::size_t i = 0; i < n; ++i) {
        v[i] = of[i % 6];
        w[i] = of[i / 6 % 6];
        const bool is_less = std::isnan(w[i]) || less(v[i], w[i]);
        least[i] = std::isnan(v[i]) ? w[i] : is_less ? v[i] : w[i];
        largest[i] = std::isnan(v[i]) ? w[i] : std::isnan(w[i]) || less(w[i], v[i]) ? v[i] : w[i];
    }
    const auto bits = [](const std::vector<double>& all) {
        double sum = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const double e = all[i];
            sum += double(i + 1) * (std::isnan(e) ? 1000.0 : 1.0 / e < 0 ? 3.0 : e == 0 ? 2.0 : e);
        }
        return sum;
    };
    std::vector<double> places = w;
    for (std::size_t i = 0; i < n; ++i) {
        double& at = places[i * 7 % n];
        if (!std::isnan(v[i]) && (std::isnan(at) || less(v[i], at))) at = v[i];
    }
    const Found expected = {bits(least), bits(largest), bits(places), -0.0, 4.0, -0.0};
    for (const char* cpu : {"native", "sse2", "avx2", "avx512"})
        for (const char* level : {"0", "3"}) {
            const Conf c = conf({{"weld.compile.cpu", cpu}, {"weld.llvm.optimization.level", level}});
            const Module m(weld_module_compile(program, c.get(), nullptr));
            if (!m) continue;
            const Found found = as<Found>(run(m, context(), std::pair(vec(v), vec(w))));
            CHECK(found == expected);
            CHECK(std::signbit(found.least_of_all));
            CHECK(std::signbit(found.run));
        }
}

TEST_CASE("casts there and back leave a signalling NaN what it is, which is no number for the least") {
    std::vector<float> v(37, std::numeric_limits<float>::signaling_NaN());
    for (const char* cpu : {"native", "sse2", "avx2", "avx512"})
        for (const char* level : {"0", "3"}) {
            const Conf c = conf({{"weld.compile.cpu", cpu}, {"weld.llvm.optimization.level", level}});
            const Module m(
                weld_module_compile("|v: vec[f32]| result(for(v, merger[f64,+], |b, i, x| merge(b, "
                                    "f64(min(f32(f64(x)), f32(len(v)))))))",
                                    c.get(), nullptr));
            if (m) CHECK(as<double>(run(m, context(), vec(v))) == 37.0 * 37.0);
        }
}

TEST_CASE("keys of both generations are accepted") {
    const std::initializer_list<std::pair<const char*, const char*>> all = {
        {"weld.memory.limit", "1000000000"},
        {"weld.threads", "2"},
        {"weld.compile.traceExecution", "false"},
        {"weld.compile.enableBoundsChecks", "true"},
        {"weld.compile.dumpCode", "false"},
        {"weld.compile.dumpCodeDir", "/nowhere"},
        {"weld.compile.dumpCodeFilename", "x"},
        {"weld.compile.dumpCodeFormats", "weld,sir"},
        {"weld.compile.multithreadSupport", "false"},
        {"weld.optimization.passes",
         "inline-zip,inline-apply,inline-let,loop-fusion,unroll-static-loop,infer-size,algebraic,inline-"
         "literals,"
         "cse,short-circuit-booleans,predicate,vectorize,unroll-structs,fix-iterate"},
        {"weld.optimization.applyExperimentalTransforms", "true"},
        {"weld.optimization.sirOptimization", "false"},
        {"weld.llvm.optimization.level", "1"},
        {"weld.llvm.optimization.unroller", "false"},
        {"weld.llvm.optimization.vectorizer", "false"},
        {"weld.llvm.optimization.targetPasses", "false"},
        {"weld.llvm.optimization.moduleOpts", "false"},
        {"weld.llvm.optimization.funcOpts", "false"},
        {"weld.llvm.runFunctionName", "main"}};
    const Module m =
        compile("|v: vec[i64]| result(for(map(v, |x| x + 1L), merger[i64,+], |b, i, x| merge(b, x)))", all);
    std::vector<std::int64_t> v = {1, 2, 3};
    CHECK(as<std::int64_t>(run(m, context(all), vec(v))) == 9);
}

TEST_CASE("string literals end in a NUL where old clients want that") {
    CHECK(result<std::int64_t>("len(\"abc\")") == 3);
    const Module m = compile("len(\"abc\")", {{"weld.compat.nulTerminatedStrings", "true"}});
    CHECK(as<std::int64_t>(run(m, context())) == 4);
    const std::string text = '"' + std::string(1000, 'x') + '"',
                      last = "let s = " + text + "; {len(s), lookup(s, len(s) - 1L)}";
    CHECK(json(run(compile(last), context())) == "[1000, 120]");
    CHECK(json(run(compile(last, {{"weld.compat.nulTerminatedStrings", "true"}}), context())) == "[1001, 0]");
}

TEST_CASE("serialized values may have a header, which is then demanded") {
    const std::initializer_list<std::pair<const char*, const char*>> header = {
        {"weld.serialize.header", "true"}};
    const Context c = context();
    const Value bytes = run(compile("serialize({1, [2.0]})", header), c);
    const auto& b = as<Vec<std::uint8_t>>(bytes);
    REQUIRE(b.len == 16 + 4 + 8 + 8);
    CHECK(std::string(reinterpret_cast<char*>(b.data), 4) == "WELD");
    const Value back = run(compile("|b: vec[u8]| deserialize[{i32,vec[f64]}](b)", header), c, b);
    CHECK(json(back) == "[1, [2.0]]");
    std::string message;
    CHECK(failure(compile("|b: vec[u8]| deserialize[{i32,vec[i64]}](b)", header), c, b, &message) ==
          WELD_DESERIALIZATION_ERROR);
    CHECK(message.find("another type") != std::string::npos);
    const Value bare = run(compile("serialize({1, [2.0]})"), c);
    CHECK(as<Vec<std::uint8_t>>(bare).len == 20);
    CHECK(failure(compile("|b: vec[u8]| deserialize[{i32,vec[f64]}](b)", header), c,
                  as<Vec<std::uint8_t>>(bare)) == WELD_DESERIALIZATION_ERROR);
}

TEST_CASE("bounds checks can be switched off") {
    std::vector<std::int32_t> v = {1, 2, 3};
    const std::string code = "|v: vec[i32]| lookup(v, 1L)";
    CHECK(as<std::int32_t>(
              run(compile(code, {{"weld.compile.enableBoundsChecks", "false"}}), context(), vec(v))) == 2);
}

TEST_CASE("every level gives the same result") {
    for (const char* level : {"0", "1", "2", "3"})
        for (const char* llvm : {"0", "3"}) {
            std::vector<double> v = {1.5, 2.5};
            const Module m =
                compile("|v: vec[f64]| result(for(v, merger[f64,+], |b, i, x| merge(b, x * x)))",
                        {{"weld.optimization.level", level}, {"weld.llvm.optimization.level", llvm}});
            CHECK(as<double>(run(m, context(), vec(v))) == 8.5);
        }
}

TEST_CASE(
    "loops that are optimised while a program runs give the same bits as those that were before it ran") {
    const char* program =
        "|v: vec[f64]| {sum(map(v, |x| x * 0.1)), "
        "result(for(v, merger[f64,+], |b, i, x| if(x > 1.0, merge(b, sum(map([x, 2.0, 3.0], |y| y * x))), "
        "b)))}";
    struct Sums {
        double all, some;
        bool operator==(const Sums&) const = default;
    };
    std::vector<double> v(200'000);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = double(i % 1000) / 7;
    const Module before = compile(program, {{"weld.compile.tiers", "false"}}), meanwhile = compile(program);
    for (const char* threads : {"1", "3"}) {
        const Sums expected = as<Sums>(run(before, context({{"weld.threads", threads}}), vec(v)));
        for (int k = 0; k < 5; ++k)
            CHECK(as<Sums>(run(meanwhile, context({{"weld.threads", threads}}), vec(v))) == expected);
    }
}
