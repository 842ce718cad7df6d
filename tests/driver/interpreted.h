// The interpreted side of every comparison: does a program do the same when it is printed and read back, and
// when passes rewrite it? Nothing is compiled here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "frontend/weld/weld.h"
#include "tests/interp/interp.h"
#include "weldir/ir/module.h"
#include "weldir/passes/pass.h"

namespace weld::driver {

/// A program as text, read. `error` says why it was not.
struct Text {
    explicit Text(const std::string& text, decltype(&read_weld) read = read_weld);
    Module module;
    std::string error;
    bool ok() const { return error.empty(); }
};

/// What is wrong with the program by itself: it must verify, and print as text that reads back and prints the
/// same.
std::string check_text(const Module& m);

/// What passes make of a program. `error` says why they don't; it names the pass.
std::string run_named_passes(Module& m, const std::vector<std::string>& passes,
                             std::optional<std::int64_t> most_optimised = {});

/// How a run ended, interpreted or compiled.
struct Ran {
    bool done = false;
    interp::Value value;  ///< done
    int code = 0;         ///< failed: a WeldErrno
    std::uint32_t line = 0, column = 0;
    std::string message;
    std::string output;  ///< what it printed
};

struct CompareOptions {
    bool unordered = false;       ///< vectors in results are multisets
    bool exact_failures = false;  ///< a failure must have this code and place
};

/// Where a run differs from what the interpreter says of `m`.
std::string compare_ran(const Ran& ran, const Module& m, const interp::Outcome& expected,
                        const CompareOptions& options);

/// Where running `rewritten`, which was read from the text of `m`, differs from `expected` (skipped if the
/// interpreter gives up).
std::string check_interpreted(const Module& rewritten, const Module& m, std::span<const interp::Value> args,
                              const interp::Outcome& expected, const CompareOptions& options,
                              const interp::Options& limits);

/// Interprets a program before and after each of the passes that `passes` choose. Finds what compiled code
/// would hide, and says which pass.
std::string check_passes(const std::string& text, std::span<const interp::Value> args, PassOptions passes,
                         const interp::Options& limits);

}  // namespace weld::driver
