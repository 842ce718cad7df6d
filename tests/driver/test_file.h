// Program files with `#@` lines: what to do with a program, and what must come of it. The ending of a file
// tells the language.
//
//     #@ passes: fuse-vertical, drop-dead    # optional: rewrite the program with exactly these passes
//     #@ most-optimised: 100                 # optional: PassOptions::most_optimised for these passes
//     |xs: vec[f64]| ...
//     #@ after:                              # optional, after the program: what the passes must make of it
//     |xs: vec[f64]| ...
//     #@ call: [1.0, 2.0], 3 => 8.0          # arguments, separated by commas, and the result; any number of
//     times
//     #@ fails: [1.0], 0 => DivisionByZero 2:14    # a call that must fail there
//     #@ prints: 1\n2\n                     # what the call before it prints, on one line; nothing, if this
//     is missing
//     #@ says: the text                      # what the assert says that the call before it fails at
//     #@ error: 2:14 unknown name            # the compiler must say this (any part of the message) about
//     that place
//     #@ unordered                           # the order of vectors does not matter (`tovec`)
//     #@ program: a title                    # begins another program in the same file
//
// Values are written as interp/text.h says (`iota(100000)` makes long vectors). `#@` lines are comments of
// Weld, so places count lines of the file. `call` and `fails` of programs without parameters begin with `=>`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weld::driver {

struct Call {
    std::size_t line = 0;
    std::string args, expected;  // as written
    bool fails = false;
    std::string prints, says;
};

/// `LINE:COL text`
struct ExpectedError {
    std::size_t line = 0;  // where it is written
    std::string place, text;
};

struct TestCase {
    std::string title;
    std::string program;  ///< padded with empty lines, so that places are those of the file
    std::optional<std::vector<std::string>> passes;
    std::optional<std::int64_t> most_optimised;
    std::optional<std::string> after;
    std::size_t after_begin = 0, after_end = 0;  ///< lines of the block, from 0, without the `#@ after:`
    std::vector<Call> calls;
    std::vector<ExpectedError> errors;
    bool unordered = false;
};

struct TestFile {
    std::string path;
    std::vector<std::string> lines;
    std::vector<TestCase> cases;
    std::string error;  ///< why it is none
};

TestFile read_test_file(const std::string& path);

/// Code of a failure by name (`DivisionByZero`) and back; nothing if unknown.
std::optional<int> code_of(const std::string& name);
std::string name_of_code(int code);

}  // namespace weld::driver
