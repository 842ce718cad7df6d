// A table of options, and the loop over the command line.
#include "frontend/cli/options.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "frontend/api/config.h"
#include "frontend/cli/kernel_catalog.h"

namespace weld {

namespace {

enum class Takes { Nothing, Value, OptionalValue };  // an optional value follows only as `--name=value`

/// Takes in the option and its value. Returns what is wrong with the value, after "--name: ".
using Setter = std::string (*)(Options& options, std::string_view value);

struct Row {
    std::string_view name;
    std::string_view also;  ///< a second name, or empty
    Takes takes;
    const char* value_name;  ///< in the help
    const char* help;        ///< null: accepted, not shown
    Setter set;
};

std::string set_count(std::string_view value, std::int64_t most, std::int64_t* to) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *to);
    if (error == std::errc() && end == value.data() + value.size() && *to >= 1 && *to <= most) return {};
    return fmt::format("expected a number from 1 to {}, found `{}`", most, value);
}

std::string set_threads(Options& o, std::string_view value) {
    std::int64_t n = 0;
    std::string error = set_count(value, 1 << 16, &n);
    o.threads = int(n);
    return error;
}

std::string set_stages(Options& o, std::string_view value) {
    o.explain = true;
    o.stages = split_names(value);
    return {};
}

std::string set_timing(Options& o, std::string_view value) {
    if (value != "" && value != "json" && value != "table")
        return fmt::format("expected `json` or `table`, found `{}`", value);
    o.timing = value == "json" ? Timing::Json : Timing::Table;
    return {};
}

std::string set_size(Options& o, std::string_view value) {
    o.memory_limit = parse_size(value);
    return *o.memory_limit > 0 ? "" : fmt::format("expected a size like 2GiB, found `{}`", value);
}

std::string set_key(Options& o, std::string_view value) {
    const std::size_t equals = value.find('=');
    if (equals == value.npos || equals == 0) return fmt::format("expected KEY=VALUE, found `{}`", value);
    o.set.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    return {};
}

std::string set_program(Options& o, std::string_view value) {
    o.source = Source::Text;
    o.program = value;
    return {};
}

template <int level>
std::string set_level(Options& o, std::string_view) {
    o.level = level;
    return {};
}

template <Task task>
std::string set_task(Options& o, std::string_view) {
    o.task = task;
    return {};
}

template <bool Options::* field>
std::string set_flag(Options& o, std::string_view) {
    o.*field = true;
    return {};
}

template <std::string Options::* field>
std::string set_text(Options& o, std::string_view value) {
    o.*field = value;
    return value.empty() ? "expected a value" : "";
}

std::string set_script_args(Options& o, std::string_view value) {
    for (std::string& one : split_script_arguments(value)) o.script_args.push_back(std::move(one));
    return {};
}

/// DAPHNE counts -1 for all cores.
std::string set_daphne_threads(Options& o, std::string_view value) {
    return value == "-1" || value == "0" ? "" : set_threads(o, value);
}

std::string ignore(Options&, std::string_view) { return {}; }

constexpr Row kRows[] = {
    {"-e", "--expr", Takes::Value, "PROGRAM", "the program is this text", set_program},
    {"--lang", "", Takes::Value, "NAME", "language of the program, where the file's name does not tell",
     set_text<&Options::language>},
    {"--check", "", Takes::Nothing, "", "only say what is wrong with the program", set_task<Task::Check>},
    {"--type", "", Takes::Nothing, "", "print the type of the result, do not run", set_task<Task::Type>},
    {"--header", "", Takes::Nothing, "", "print a C++ header for parameters and result, do not run",
     set_task<Task::Header>},
    {"--json", "", Takes::Nothing, "", "print the result as JSON", set_flag<&Options::json>},
    {"--out", "", Takes::Value, "FILE", "write the result to a .npy or .csv file", set_text<&Options::out>},
    {"--quiet", "", Takes::Nothing, "", "do not print the result", set_flag<&Options::quiet>},
    {"--threads", "", Takes::Value, "N", "worker threads (default: all cores)", set_threads},
    {"--memory-limit", "", Takes::Value, "SIZE",
     "memory of compiling and of the run, e.g. 2GiB (default: 80 % of the machine's)", set_size},
    {"--lib", "", Takes::Value, "LIB.so", "library with functions for cudf[...]; may be repeated",
     [](Options& o, std::string_view value) {
         o.libraries.emplace_back(value);
         return std::string(value.empty() ? "expected a value" : "");
     }},
    {"--repeat", "", Takes::Value, "N", "run the program N times",
     [](Options& o, std::string_view value) { return set_count(value, 1'000'000'000, &o.repeat); }},
    {"--timing", "", Takes::OptionalValue, "json", "say how long each step took", set_timing},
    {"--explain", "", Takes::OptionalValue, "STAGE,...",
     "show the program after: parsed, typed, properties, optimized, vectorized, llvm, asm, or passes by name",
     set_stages},
    {"--passes", "", Takes::Value, "LIST", "run exactly these passes",
     [](Options& o, std::string_view value) {
         o.passes = value;
         return std::string();
     }},
    {"-O0", "", Takes::Nothing, "", "do not optimise", set_level<0>},
    {"-O1", "", Takes::Nothing, "", "optimise what makes programs smaller", set_level<1>},
    {"-O2", "", Takes::Nothing, "", "optimise (default)", set_level<2>},
    {"-O3", "", Takes::Nothing, "", "optimise, even if the code becomes larger", set_level<3>},
    {"--verify", "", Takes::Nothing, "", "check the program after each pass", set_flag<&Options::verify>},
    {"--set", "", Takes::Value, "KEY=VALUE", "set a configuration key of the C API", set_key},
    {"--cache", "", Takes::Value, "DIR", "keep compiled code there", set_text<&Options::cache>},
    {"--progress", "", Takes::Nothing, "", "show how far long loops are",
     [](Options& o, std::string_view) {
         o.progress = true;
         return std::string();
     }},
    {"--no-progress", "", Takes::Nothing, "", nullptr,
     [](Options& o, std::string_view) {
         o.progress = false;
         return std::string();
     }},
    {"--args", "", Takes::Value, "NAME=VALUE,...", "arguments of a script, beside those after FILE",
     set_script_args},
    {"--select-matrix-repr", "", Takes::Nothing, "", "matrices of a script may be stored sparsely",
     set_flag<&Options::select_matrix_repr>},
    {"--select-matrix-representations", "", Takes::Nothing, "", nullptr,
     set_flag<&Options::select_matrix_repr>},
    {"--config", "", Takes::Value, "FILE", "settings of scripts: where they find what they import",
     set_text<&Options::user_config>},
    {"--num-threads", "", Takes::Value, "N", nullptr, set_daphne_threads},
    {"--kernel-ext", "", Takes::Value, "FILE[:N]",
     "catalog of kernels that a script may name; may be repeated",
     [](Options& o, std::string_view value) {
         return read_kernel_extension(value, &o.kernel_catalogs.emplace_back());
     }},
    {"--version", "", Takes::Nothing, "", "print the version", set_task<Task::Version>},
    {"--help", "-h", Takes::Nothing, "", "print this", set_task<Task::Help>},
};

/// Switches of DAPHNE for its own engine, which mean nothing here.
constexpr Row switch_of_daphne(std::string_view name, Takes takes) {
    return {name, "", takes, "VALUE", nullptr, ignore};
}
constexpr Row flag(std::string_view name) { return switch_of_daphne(name, Takes::Nothing); }
constexpr Row setting(std::string_view name) { return switch_of_daphne(name, Takes::Value); }

constexpr Row kDaphneRows[] = {
    flag("--vec"),
    flag("--vec-restricted"),
    setting("--grain-size"),
    setting("--phy-batch-size"),
    setting("--partitioning"),
    setting("--queue_layout"),
    setting("--victim_selection"),
    flag("--pre-partition"),
    flag("--pin-workers"),
    flag("--hyperthreading"),
    flag("--debug-mt"),
    flag("--columnar"),
    flag("--optimistic-splitting"),
    flag("--no-obj-ref-mgnt"),
    flag("--no-ipa-const-propa"),
    flag("--no-phy-op-selection"),
    flag("--codegen"),
    flag("--mlir-codegen"),
    flag("--mlir-hybrid-codegen"),
    flag("--matmul-tile"),
    setting("--matmul-vec-size-bits"),
    setting("--matmul-unroll-factor"),
    setting("--matmul-unroll-jam-factor"),
    setting("--matmul-num-vec-registers"),
    setting("--matmul-fixed-tile-sizes"),
    flag("--matmul-invert-loops"),
    setting("--libdir"),
    flag("--statistics"),
    flag("--enable-profiling"),
    flag("--enable-property-recording"),
    flag("--enable-property-insert"),
    setting("--properties-file-path"),
    flag("--distributed"),
    setting("--dist_backend"),
    setting("--max-distr-chunk-size"),
    flag("--enable-hdfs"),
    setting("--hdfs-ip"),
    setting("--hdfs-username"),
    flag("--cuda"),
    flag("--fpgaopencl"),
};

const Row* find_row(std::string_view name) {
    for (const Row& row : kRows)
        if (row.name == name || (!row.also.empty() && row.also == name)) return &row;
    for (const Row& row : kDaphneRows)
        if (row.name == name) return &row;
    return nullptr;
}

}  // namespace

std::string parse_options(int argc, const char* const* argv, Options* options) {
    int i = 1;
    for (; i < argc && options->source == Source::None; ++i) {
        const std::string_view word = argv[i];
        if (!word.starts_with('-') || word == "-") {
            options->source = word == "-" ? Source::StandardInput : Source::File;
            options->program = word;
            continue;
        }
        const std::size_t equals = word.starts_with("--") ? word.find('=') : word.npos;
        const std::string_view name = word.substr(0, equals);
        const Row* row = find_row(name);
        if (!row) return fmt::format("unknown option `{}`; `weld-cli --help` lists all", name);
        std::string_view value = equals == word.npos ? "" : word.substr(equals + 1);
        if (row->takes == Takes::Nothing && equals != word.npos)
            return fmt::format("`{}` takes no value", name);
        if (row->takes == Takes::Value && equals == word.npos) {
            if (i + 1 == argc) return fmt::format("`{}` needs a value: {}", name, row->value_name);
            value = argv[++i];
        }
        if (std::string error = row->set(*options, value); !error.empty())
            return fmt::format("{}: {}", name, error);
    }
    options->args.assign(argv + i, argv + argc);
    return {};
}

std::string help_text() {
    std::string text =
        "usage: weld-cli [OPTIONS] FILE [ARG...]        run a program file\n"
        "       weld-cli [OPTIONS] -e PROGRAM [ARG...]  run program text\n"
        "       weld-cli [OPTIONS] - [ARG...]           run program text from standard input\n"
        "       weld-cli [OPTIONS]                      interactive mode, on a terminal\n"
        "\n"
        "An ARG is a literal of its parameter's type (`5`, `[1, 2]`, `{1, \"text\"}`), or `@file.npy`, or "
        "`@file.csv`.\n"
        "Scripts of DaphneDSL take ARGs like `name=5` for `$name`, and print what they print.\n"
        "\n"
        "options:\n";
    for (const Row& row : kRows) {
        if (!row.help) continue;
        std::string left(row.name);
        if (!row.also.empty()) (left += ", ") += row.also;
        if (row.takes == Takes::Value) (left += ' ') += row.value_name;
        if (row.takes == Takes::OptionalValue) ((left += "[=") += row.value_name) += ']';
        text += fmt::format("  {:<22} {}\n", left, row.help);
    }
    return text +
           "\n"
           "exit codes: 0 it ran, 1 the program is rejected, 2 wrong usage, 3 it failed while running, 130 "
           "interrupted\n";
}

}  // namespace weld
