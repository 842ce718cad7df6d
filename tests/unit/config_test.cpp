// Configuration keys, sizes, and what the machine offers.
#include "frontend/api/config.h"

#include <doctest/doctest.h>

using namespace weld;

TEST_CASE("sizes") {
    CHECK(parse_size("1000000") == 1'000'000);
    CHECK(parse_size("2GiB") == std::int64_t(2) << 30);
    CHECK(parse_size("1.5g") == std::int64_t(3) << 29);
    CHECK(parse_size("500 MB") == 500'000'000);
    CHECK(parse_size("4K") == 4096);
    CHECK(parse_size("7b") == 7);
    for (const char* none : {"", "0", "-1", "x", "1x", "1kk", "1 bibs", "inf", "nan", "1e300", "0.5"})
        CHECK(parse_size(none) == -1);
}

TEST_CASE("keys change options") {
    Config config;
    CompileOptions compile;
    RunSettings run;
    CHECK(config.apply(&compile, &run) == "");
    CHECK(run.threads == 0);
    config.set("weld.threads", "3");
    config.set("weld.memory.limit", "100000000000");
    config.set("weld.compile.enableBoundsChecks", "false");
    config.set("weld.optimization.level", "1");
    config.set("weld.llvm.optimization.level", "0");
    config.set("weld.compile.tiers", "false");
    config.set("some.other.key", "anything");
    CHECK(config.apply(&compile, &run) == "");
    CHECK(run.threads == 3);
    CHECK(run.memory_limit == 100'000'000'000);
    CHECK(compile.level == 1);
    CHECK(compile.llvm_level == 0);
    CHECK(compile.most_optimised == PassOptions::kAllAtOnce);
    CHECK(*config.get("some.other.key") == "anything");
    CHECK(config.get("weld.compile.verify") == nullptr);
}

TEST_CASE("functions that programs may call") {
    const auto allowed = [](const char* value) {
        Config config;
        config.set("weld.cudf.allow", value);
        CompileOptions compile;
        RunSettings run;
        REQUIRE(config.apply(&compile, &run) == "");
        REQUIRE(compile.allowed_functions);
        return *compile.allowed_functions;
    };
    CHECK(!CompileOptions().allowed_functions);
    CHECK(allowed("none").empty());
    CHECK(allowed("").empty());
    CHECK(allowed("f1, _g") == std::vector<std::string>{"f1", "_g"});
}

TEST_CASE("values that cannot be understood") {
    const auto wrong = [](const char* key, const char* value) {
        Config config;
        config.set(key, value);
        CompileOptions compile;
        RunSettings run;
        return config.apply(&compile, &run);
    };
    CHECK(wrong("weld.threads", "0") ==
          "invalid value `0` of `weld.threads`: expected a number of threads, at least 1");
    CHECK(wrong("weld.memory.limit", "-1") != "");
    CHECK(wrong("weld.compile.traceExecution", "yes") != "");
    CHECK(wrong("weld.llvm.optimization.level", "4") != "");
    CHECK(wrong("weld.optimization.passes", "no-such-pass") != "");
    CHECK(wrong("weld.optimization.passes", "") == "");
    CHECK(wrong("weld.cudf.allow", "f,1g") ==
          "invalid value `f,1g` of `weld.cudf.allow`: expected names of functions, or `none`");
    CHECK(wrong("weld.cudf.allow", "none,f") != "");
}

TEST_CASE("every key of the original is known, and can be set to its default") {
    const std::pair<const char*, const char*> keys[] = {
        {"weld.memory.limit", "1000000000"},
        {"weld.threads", "1"},
        {"weld.compile.traceExecution", "false"},
        {"weld.compile.enableBoundsChecks", "false"},
        {"weld.compile.dumpCode", "false"},
        {"weld.compile.dumpCodeDir", "."},
        {"weld.compile.dumpCodeFilename", "code-1-ab"},
        {"weld.compile.dumpCodeFormats", "weld,weldopt,llvm,llvmopt,sir,assembly"},
        {"weld.compile.multithreadSupport", "true"},
        {"weld.optimization.passes",
         "inline-zip,inline-apply,inline-let,loop-fusion,unroll-static-loop,infer-size,algebraic,"
         "inline-literals,cse,short-circuit-booleans,predicate,vectorize"},
        {"weld.optimization.applyExperimentalTransforms", "false"},
        {"weld.optimization.sirOptimization", "true"},
        {"weld.llvm.optimization.level", "2"},
        {"weld.llvm.optimization.unroller", "true"},
        {"weld.llvm.optimization.vectorizer", "true"},
        {"weld.llvm.optimization.targetPasses", "true"},
        {"weld.llvm.optimization.moduleOpts", "true"},
        {"weld.llvm.optimization.funcOpts", "true"},
        {"weld.llvm.runFunctionName", "run"}};
    Config config;
    for (const auto& [key, value] : keys) {
        CHECK(Config::knows(key));
        config.set(key, value);
    }
    CompileOptions compile;
    RunSettings run;
    CHECK(config.apply(&compile, &run) == "");
    CHECK(compile.passes->size() == 12);
    CHECK(Config::nearest("weld.thread") == "weld.threads");
    CHECK(Config::nearest("something else") == "");
}

TEST_CASE("dump formats") {
    Config config;
    config.set("weld.compile.dumpCodeFormats", "weld, llvmopt");
    ConfigValues values;
    CHECK(config.read(&values) == "");
    CHECK(values.dump_formats->names == std::vector<std::string>{"weld", "llvmopt"});
    config.set("weld.compile.dumpCodeFormats", "weld,pdf");
    CHECK(config.read(&values) != "");
}

TEST_CASE("the machine has cores and memory") {
    CHECK(default_threads() >= 1);
    CHECK(default_memory_limit() > std::int64_t(1) << 26);
}
