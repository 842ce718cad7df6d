// The command line.
#include "frontend/cli/options.h"

#include <doctest/doctest.h>

using namespace weld;

static Options parse(std::vector<const char*> words, std::string* error = nullptr) {
    words.insert(words.begin(), "weld-cli");
    Options options;
    const std::string wrong = parse_options(int(words.size()), words.data(), &options);
    if (error) *error = wrong;
    else CHECK(wrong == "");
    return options;
}

static std::string wrong(std::vector<const char*> words) {
    std::string error;
    parse(std::move(words), &error);
    return error;
}

TEST_CASE("everything after the program is an argument") {
    const Options file = parse({"--json", "x.weld", "-5", "--quiet", "-e"});
    CHECK(file.source == Source::File);
    CHECK(file.program == "x.weld");
    CHECK(file.json);
    CHECK_FALSE(file.quiet);
    CHECK(file.args == std::vector<std::string>{"-5", "--quiet", "-e"});
    const Options text = parse({"-e", "-1 + 3", "--json"});
    CHECK(text.source == Source::Text);
    CHECK(text.program == "-1 + 3");
    CHECK(text.args == std::vector<std::string>{"--json"});
    CHECK(parse({"--expr=1"}).program == "1");
    CHECK(parse({"-"}).source == Source::StandardInput);
    CHECK(parse({}).source == Source::None);
}

TEST_CASE("values of options") {
    const Options o =
        parse({"--threads", "4", "--memory-limit=2GiB", "--explain=typed,llvm", "--timing=json", "-O3",
               "--set", "a.b=c=d", "--lib", "x.so", "--lib=y.so", "--repeat", "7", "--out", "r.npy"});
    CHECK(o.threads == 4);
    CHECK(o.memory_limit == std::int64_t(2) << 30);
    CHECK(o.explain);
    CHECK(o.stages == std::vector<std::string>{"typed", "llvm"});
    CHECK(o.timing == Timing::Json);
    CHECK(o.level == 3);
    CHECK(o.set == std::vector<std::pair<std::string, std::string>>{{"a.b", "c=d"}});
    CHECK(o.libraries == std::vector<std::string>{"x.so", "y.so"});
    CHECK(o.repeat == 7);
    CHECK(o.out == "r.npy");
    const Options plain = parse({"--explain", "--timing", "typed"});
    CHECK(plain.explain);
    CHECK(plain.stages.empty());
    CHECK(plain.timing == Timing::Table);
    CHECK(plain.program == "typed");
}

TEST_CASE("wrong usage") {
    CHECK(wrong({"--nonsense"}) == "unknown option `--nonsense`; `weld-cli --help` lists all");
    CHECK(wrong({"--threads"}) == "`--threads` needs a value: N");
    CHECK(wrong({"--threads", "0"}) == "--threads: expected a number from 1 to 65536, found `0`");
    CHECK(wrong({"--threads", "-2"}) != "");
    CHECK(wrong({"--threads", "2x"}) != "");
    CHECK(wrong({"--repeat", "0"}) != "");
    CHECK(wrong({"--memory-limit", "lots"}) == "--memory-limit: expected a size like 2GiB, found `lots`");
    CHECK(wrong({"--timing=xml"}) != "");
    CHECK(wrong({"--set", "novalue"}) != "");
    CHECK(wrong({"--json=yes"}) == "`--json` takes no value");
    CHECK(wrong({"-e"}) == "`-e` needs a value: PROGRAM");
    CHECK(wrong({"-O9"}) != "");
    CHECK(wrong({"--out", ""}) != "");
}

TEST_CASE("the help names every option that is shown") {
    const std::string help = help_text();
    for (const char* name :
         {"--check", "--type", "--threads N", "--explain[=STAGE,...]", "-O0", "-e, --expr PROGRAM"})
        CHECK(help.find(name) != help.npos);
}

TEST_CASE("options of scripts") {
    const Options o = parse({"--args", R"(a=1,s="x,\"y",b=2)", "--args=c=3", "--vec", "--partitioning=STATIC",
                             "--select-matrix-repr", "--num-threads=3", "x.daphne", "d=4"});
    CHECK(o.script_args == std::vector<std::string>{"a=1", R"(s="x,\"y")", "b=2", "c=3"});
    CHECK(o.args == std::vector<std::string>{"d=4"});
    CHECK(o.select_matrix_repr);
    CHECK(o.threads == 3);
    CHECK_FALSE(parse({"--num-threads=-1"}).threads.has_value());
    CHECK(parse({"--args", "a=1,,"}).script_args == std::vector<std::string>{"a=1", "", ""});
    CHECK(wrong({"--vec=1"}) == "`--vec` takes no value");
}
