// The reference interpreter: a plain walk over the tree, slow and obviously right. What it computes is what
// Weld means.
//
// Everything is evaluated in the order in which it is written: arguments from left to right, the data of a
// loop before its builder, iterations one after the other. The first failure in that order is the outcome.
// Where the language leaves a choice, it takes the plainest: reductions add up in order, `tovec` and
// `serialize` give dictionaries in the order of their keys, annotations mean nothing. `compare_results`
// (compare.h) knows these choices. What is promised of sizes (weldir/ir/promises.h) is looked at each time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tests/interp/scalars.h"
#include "tests/interp/value.h"
#include "weldir/ir/module.h"

namespace weld::interp {

struct Options {
    MathFn math = standard_math;
    /// The address of a function that `cudf` calls by name; null if unknown.
    std::function<void*(std::string_view name)> resolve;
    /// Nodes evaluated and elements copied, compared, written or read before it gives up.
    std::uint64_t max_steps = 1'000'000'000;
};

struct Outcome {
    /// Broken: a size is not what was promised of it, which is a defect of the program or of what has made it.
    enum Kind { Done, Failed, GaveUp, Broken };
    Kind kind = GaveUp;
    Value value;         ///< Done
    int code = 0;        ///< Failed: a WeldErrno (runtime/abi/weld_abi.h)
    Loc loc;             ///< Failed: of the expression that failed
    std::string output;  ///< what the program printed
    std::string said;    ///< Failed: the text of the assert, if it has one; Broken: what is not true
    bool decided =
        false;  ///< something hung on the order of a reduction: the value is one of several (see Slack)
};

/// Runs the main program. Needs a deep stack for deep programs: see `on_big_stack`.
Outcome run(const Module& m, std::span<const Value> args, const Options& options = {});

/// Calls `fn` on a thread with a stack of 1 GiB and waits for it.
void on_big_stack(const std::function<void()>& fn);

}  // namespace weld::interp
