// Does a compiled program do what the interpreter does, however it is compiled and on any number of threads?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/driver/compiled.h"
#include "tests/driver/functions.h"
#include "tests/driver/interpreted.h"

namespace weld::driver {

/// The options with which everything here interprets: the math of the runtime, functions of this process.
interp::Options interpreter_options(Cpu cpu = Cpu::Native);

/// All ways to compile that tests go through: `passes` only, if given, else none and those of each level; and
/// for less than this machine has.
std::vector<Config> configs_for(const std::optional<std::vector<std::string>>& passes);

/// One of these ways for each width of registers, at one level, and one more, as `choice` says: for tests
/// with programs without end, which come to all of them in turn.
std::vector<Config> some_configs(std::uint64_t choice);

/// Where compiled programs differ from `expected`, or in a bit from each other where they must not: for any
/// number of threads and registers of any width, if multiplying and adding may be one operation. `programs`
/// are compilations of one text, under `configs`; `notes` is what weld_test_note was called with when
/// `expected` was found.
std::string check_compiled(const std::vector<Config>& configs, const std::vector<Compiled>& programs,
                           const Module& m, std::span<const interp::Value> args,
                           const interp::Outcome& expected, const CompareOptions& options,
                           const Notes& notes);

/// All of the above for one program with one set of arguments, compiled as `configs` say, where the
/// interpreter decides. Empty if all agree, or if there is nothing to compare because the program runs too
/// long.
std::string check_everything(const std::string& text, std::span<const interp::Value> args,
                             const interp::Options& limits, const std::vector<Config>& configs);

}  // namespace weld::driver
