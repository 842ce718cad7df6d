// The natural way: text, program, run.
#include "frontend/api/compile.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "frontend/api/config.h"
#include "frontend/api/languages.h"
#include "frontend/api/load_text.h"
#include "runtime/stack.h"
#include "weldir/support/deep_stack.h"

using namespace weld;

static std::shared_ptr<const Program> compiled(const std::string& text, CompileOptions options = {}) {
    CompileReport report;
    auto program = compile(text, options, &report);
    CHECK(report.diagnostics == "");
    REQUIRE(program);
    return program;
}

TEST_CASE("the loops of a large program are compiled by several threads") {
    std::string text = "|v: vec[i64], k: i64| let names = [\"a\", \"bc\"];\n";
    std::string sums;
    for (int i = 0; i < 40; ++i) {
        const std::string n = std::to_string(i);
        text += "let s" + n + " = result(for(v, merger[i64,+], |b, j, x| merge(b, x * k / " +
                std::to_string(i + 1) + "L + len(lookup(names, j)))));\n";
        sums += " + s" + n;
    }
    for (const int threads : {1, 2, 5}) {
        const auto program = compiled(text + "0L" + sums, {.threads = threads});
        std::int64_t data[] = {1000, 2000};
        struct {
            WeldVec v;
            std::int64_t k;
        } args{{data, 2}, 3};
        std::int64_t sum = 0;
        for (int i = 1; i <= 40; ++i) sum += 3000 / i + 6000 / i + 3;
        const RunOutcome outcome = program->run(&args, {.threads = 2});
        REQUIRE(outcome.ok());
        CHECK(*static_cast<const std::int64_t*>(outcome.value()) == sum);
    }
}

TEST_CASE("counters are one in all functions that a loop is made of") {
    std::string text =
        "|n: i64, m: i64| let z = result(for(rangeiter(0L, m, 1L), appender[i64], "
        "|b, i, x| merge(b, 0L))); result(for(rangeiter(0L, n, 1L), vecmerger[i64,+](z), "
        "|b, i, x| let a0 = x; ";
    const int lets = 500;  // more than one function holds
    const auto number = [](const char* name, int i) { return name + std::to_string(i); };
    for (int half = 0; half < 2; ++half) {
        for (int i = half * lets + 1; i <= (half + 1) * lets; ++i)
            text += "let " + number("a", i) + " = " + number("a", i - 1) + " * 3L + 1L; ";
        text +=
            half ? "let d = merge(c, {a1000 & 32767L, 1L}); d))" : "let c = merge(b, {a500 & 32767L, 1L}); ";
    }
    const struct {
        std::int64_t n, m;
    } args{200'000, 40'000};
    std::vector<std::int64_t> expected(std::size_t(args.m));
    for (std::int64_t x = 0; x < args.n; ++x) {
        auto a = std::uint64_t(x);
        for (int i = 1; i <= 2 * lets; ++i) {
            a = a * 3 + 1;
            if (i % lets == 0) ++expected[a & 32767];
        }
    }
    for (const int level : {0, 2}) {
        const auto program = compiled(text, {.level = level});
        for (const int threads : {1, 2}) {
            const RunOutcome outcome = program->run(&args, {.threads = threads});
            REQUIRE(outcome.ok());
            const auto* counts = static_cast<const WeldVec*>(outcome.value());
            REQUIRE(counts->len == args.m);
            CHECK(std::equal(expected.begin(), expected.end(), static_cast<std::int64_t*>(counts->data)));
        }
    }
}

TEST_CASE("a program runs many times, by many threads") {
    const auto program = compiled("|v: vec[i64], k: i64| map(v, |x| x * k)");
    CHECK(program->params().size() == 2);
    CHECK(program->result_type()->str() == "vec[i64]");
    CHECK(name_of(program->args()) == "{vec[i64],i64}");
    std::int64_t data[] = {1, 2, 3};
    std::atomic<int> right = 0;
    const auto work = [&](std::int64_t k) {
        const struct {
            WeldVec v;
            std::int64_t k;
        } args{{data, 3}, k};
        for (int i = 0; i < 20; ++i) {
            const RunOutcome outcome = program->run(&args, {.threads = 2});
            const auto* vec = static_cast<const WeldVec*>(outcome.value());
            right += outcome.ok() && vec->len == 3 && static_cast<std::int64_t*>(vec->data)[2] == 3 * k;
        }
    };
    std::vector<std::thread> threads;
    for (std::int64_t k = 1; k <= 4; ++k) threads.emplace_back(work, k);
    for (std::thread& t : threads) t.join();
    CHECK(right == 80);
}

TEST_CASE("the same text with the same options is compiled once") {
    const auto program = compiled("|x: i64| x + 41L");
    CHECK(compiled("|x: i64| x + 41L") == program);
    CHECK(compiled("|x: i64| x + 42L") != program);
    CHECK(compiled("|x: i64| x + 41L", {.name = "other.weld"}) != program);
    CHECK(compiled("|x: i64| x + 41L", {.level = 1}) != program);
    CHECK(compiled("|x: i64| x + 41L", {.passes = std::vector<std::string>{}}) != program);
    const auto libraries = std::make_shared<Libraries>();
    CHECK(compiled("|x: i64| x + 41L", {.libraries = libraries}) != program);
    for (int i = 0; i < 70; ++i) compiled("1 + " + std::to_string(i));  // so many are not kept
    CHECK(compiled("|x: i64| x + 41L") != program);
}

TEST_CASE("warnings are told to who wants them, whoever compiled the program first") {
    for (const bool first : {false, true}) {
        const std::string text = first ? "@(foo:true) 1.5" : "@(foo:true) 2.5";
        std::shared_ptr<const Program> program;
        for (const bool wanted : {first, !first, first}) {
            CompileReport report;
            program = compile(text, {.warnings = wanted}, &report);
            REQUIRE(program);
            CHECK((report.diagnostics.find("unknown annotation `foo`") != std::string::npos) == wanted);
        }
    }
}

TEST_CASE("functions that may be called are part of what is compiled once") {
    const auto why_not = [](std::optional<std::vector<std::string>> allowed) {
        CompileReport report;
        const auto program =
            compile("cudf[getpid,i32]()", {.allowed_functions = std::move(allowed)}, &report);
        return program ? std::string() : report.first_error.message;
    };
    for (int round = 0; round < 2; ++round) {
        CHECK(why_not(std::nullopt) == "");
        CHECK(why_not(std::vector<std::string>{"abs", "getpid"}) == "");
        CHECK(why_not(std::vector<std::string>{"abs"}) == "`cudf` may not call `getpid` here");
        CHECK(why_not(std::vector<std::string>{}) == "`cudf` may not call `getpid` here");
    }
}

TEST_CASE("a value lives longer than its program's handle") {
    RunOutcome outcome;
    {
        const auto program = compiled("\"a string that is part of the program\"");
        outcome = program->run(nullptr, {});
    }
    REQUIRE(outcome.ok());
    const auto* vec = static_cast<const WeldVec*>(outcome.value());
    CHECK(std::string_view(static_cast<char*>(vec->data), std::size_t(vec->len)) ==
          "a string that is part of the program");
}

TEST_CASE("failures say where and what") {
    const auto program = compiled("|i: i64|\n  lookup([1, 2], i)", {.name = "look.weld"});
    const std::int64_t index = 7;
    const RunOutcome outcome = program->run(&index, {});
    CHECK_FALSE(outcome.ok());
    CHECK(outcome.value() == nullptr);
    CHECK(outcome.failure().code == kWeldArrayOutOfBounds);
    CHECK(program->position(outcome.failure()).line == 2);
    CHECK(program->position(outcome.failure()).column == 3);
    const std::string text = program->describe(outcome.failure());
    CHECK(text.starts_with("look.weld:2:3: error: "));
    CHECK(text.find("\n2 |   lookup([1, 2], i)\n  |   ^") != text.npos);
    CHECK(program->describe({kWeldOutOfMemory, 0, "out of memory"}) == "error: out of memory\n");
}

TEST_CASE("rejected programs") {
    CompileReport report;
    CHECK_FALSE(compile("1 + true", {}, &report));
    CHECK(report.diagnostics.starts_with("<expr>:1:5: error: "));
    CHECK_FALSE(compile("1", {.language = "cobol"}, &report));
    CHECK_FALSE(compile("1", {.passes = std::vector<std::string>{"no-such-pass"}}, &report));
}

TEST_CASE("checking makes no code") {
    const auto program = compiled("|x: f64| {x, 1}", {.only_check = true});
    CHECK_FALSE(program->can_run());
    CHECK(program->result_type()->str() == "{f64,i32}");
}

TEST_CASE("stages are shown as they are reached") {
    std::vector<std::string> seen;
    CompileOptions options{.explained = {"typed", "optimized", "fold", "asm", "parsed"}};
    options.explain = [&](std::string_view stage, std::string_view text) {
        if (seen.empty() || seen.back() != stage) seen.emplace_back(stage);
        CHECK_FALSE(text.empty());
    };
    compiled("1 + 2", options);
    REQUIRE(seen.size() >= 5);
    CHECK(seen.front() == "parsed");
    CHECK(seen[1] == "typed");
    CHECK(seen[2] == "fold");
    CHECK(seen.back() == "asm");
}

TEST_CASE("times are taken") {
    CompileReport report;
    REQUIRE(compile("map([1], |x| x + 1)", {}, &report));
    CHECK(report.times.parse > 0);
    CHECK(report.times.type > 0);
    CHECK(report.times.llvm_emit > 0);
    CHECK_FALSE(report.times.passes.empty());
}

TEST_CASE("deep programs compile, are freed, and are refused when too deep") {
    std::string text = "1";
    for (int i = 0; i < 5000; ++i) text = "(" + text + " + 1)";
    const auto program = compiled(text);
    const RunOutcome outcome = program->run(nullptr, {});
    REQUIRE(outcome.ok());
    CHECK(*static_cast<const std::int32_t*>(outcome.value()) == 5001);
    CompileReport report;
    CHECK_FALSE(compile(std::string(1'000'000, '('), {}, &report));
    CHECK(report.diagnostics.find("error: ") != report.diagnostics.npos);
}

TEST_CASE("work on a deep stack recurses deeply") {
    struct Recursion {
        static int depth_of(int n) {
            volatile char frame[1000] = {};
            return n == 0 ? int(frame[0]) : 1 + depth_of(n - 1);
        }
    };
    int depth = 0;
    on_deep_stack([&] { on_deep_stack([&] { depth = Recursion::depth_of(100'000); }); });
    CHECK(depth == 100'000);
}

TEST_CASE("a run knows where the stack ends that it was called on") {
    const auto room = [] { return static_cast<char*>(__builtin_frame_address(0)) - runtime::end_of_stack(); };
    std::ptrdiff_t own = 0, deep = 0;
    own = room();
    on_deep_stack([&] { deep = room(); });
    CHECK(own > 0);
    CHECK(deep >= 1 << 20);  // else each call of a function that calls itself went to another stack
}

TEST_CASE("languages are found by their files") {
    REQUIRE(find_language("weld"));
    CHECK(find_language("weld")->arguments == ArgumentStyle::Values);
    REQUIRE(find_language("daphne"));
    CHECK(find_language("daphne")->results == ResultStyle::Prints);
    CHECK_FALSE(find_language(""));
    CHECK(language_of_file("a.daph") == "daphne");
    CHECK(language_of_file("a.daphne") == "daphne");
    CHECK(language_of_file("a/b.weld") == "weld");
    CHECK(language_of_file("weld") == "");
    CHECK(all_languages().find("`weld`") != std::string::npos);
}

TEST_CASE("files that a program names are read whole, or not at all") {
    std::string text, error;
    char path[] = "/tmp/weld-unit-XXXXXX";
    const int fd = ::mkstemp(path);
    REQUIRE(::write(fd, "a\nb", 3) == 3);
    ::close(fd);
    CHECK(load_text(path, &text, &error));
    CHECK(text == "a\nb");
    ::unlink(path);
    CHECK_FALSE(load_text("/nowhere/file", &text, &error));
    CHECK(error == "no such file or directory");
    CHECK_FALSE(load_text("/dev/null", &text, &error));
    CHECK(error == "not a regular file");
}
