// The command line of weld-cli.
//
// Options come before the program; everything after it is an argument of the program, so nothing there is an
// option.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weld {

/// What is to be done with the program.
enum class Task { Run, Check, Type, Header, Version, Help };
/// Where its text is.
enum class Source { None, File, Text, StandardInput };
enum class Timing { None, Table, Json };

struct Options {
    Task task = Task::Run;
    Source source = Source::None;
    std::string program;  ///< the file's name, or the text
    std::vector<std::string> args;
    std::vector<std::string> script_args;  ///< of `--args`: `name=value`
    bool select_matrix_repr = false;
    std::string user_config;  ///< of `--config`
    std::string language;     ///< as `--lang` says; empty: by the file's ending

    std::optional<int> threads;
    std::optional<int> level;
    std::optional<std::string> passes;
    std::optional<std::int64_t> memory_limit;
    std::vector<std::pair<std::string, std::string>> set;  ///< configuration keys
    std::vector<std::string> libraries;
    std::vector<std::string> kernel_catalogs;  ///< files
    bool explain = false;
    std::vector<std::string> stages;  ///< of `--explain=...`; empty: all
    bool verify = false;
    std::string cache;

    std::int64_t repeat = 1;
    Timing timing = Timing::None;
    std::optional<bool> progress;

    bool json = false;
    bool quiet = false;
    std::string out;
};

/// Reads the command line. Nothing, or what is wrong with it.
std::string parse_options(int argc, const char* const* argv, Options* options);

/// What `--help` prints.
std::string help_text();

}  // namespace weld
