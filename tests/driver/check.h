// Does a program do the same everywhere: printed and read back, rewritten by passes, interpreted and
// compiled, on one thread and on several?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/driver/compiled.h"
#include "tests/driver/functions.h"
#include "tests/interp/interp.h"
#include "weldir/ir/module.h"

namespace weld::driver {

/// A program as text, read. `error` says why it was not.
struct Text {
    explicit Text(const std::string& text);
    Module module;
    std::string error;
    bool ok() const { return error.empty(); }
};

/// The options with which everything here interprets: the math of the runtime, functions of this process.
interp::Options interpreter_options();

/// What is wrong with the program by itself: it must verify, and print as text that reads back and prints the
/// same.
std::string check_text(const Module& m);

/// What passes make of a program. `error` says why they don't; it names the pass.
std::string run_named_passes(Module& m, const std::vector<std::string>& passes);

/// All ways to compile that tests go through: `passes` only, if given, else none and those of each level.
std::vector<Config> configs_for(const std::optional<std::vector<std::string>>& passes);

struct CheckOptions {
    bool unordered = false;       ///< vectors in results are multisets
    bool exact_failures = false;  ///< a failure must have this code and place however the program is compiled
    Notes notes;                  ///< what weld_test_note was called with when the program was interpreted
};

/// Where running `m`, which was read from `text`, differs from `expected`, by the interpreter (skipped if it
/// gives up).
std::string check_interpreted(const Module& m, std::span<const interp::Value> args,
                              const interp::Outcome& expected, const Sources& sources,
                              const CheckOptions& options);

/// Where compiled programs differ from `expected`. `programs` are compilations of one text, under `configs`.
std::string check_compiled(const std::vector<Config>& configs, const std::vector<Compiled>& programs,
                           const Module& m, std::span<const interp::Value> args,
                           const interp::Outcome& expected, const CheckOptions& options);

/// Everything of the above for one program with one set of arguments, where the interpreter decides. Empty if
/// all agree, or if there is nothing to compare because the program runs too long.
std::string check_everything(const std::string& text, std::span<const interp::Value> args,
                             const interp::Options& limits);

}  // namespace weld::driver
