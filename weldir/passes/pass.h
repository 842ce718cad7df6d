// The optimiser from outside: which passes there are, and running them over a Module.
//
// A pass is one function in one file, without state. The pipeline (pipeline.cpp) is a list of their names;
// the runner here chooses, times, verifies and shows. passes.def has one row per pass.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weldir/ir/module.h"

namespace weld {

/// Rewrites one function: gets its Lambda (of main, or of a module function) and returns the new one, or the
/// same pointer if there was nothing to do.
using PassFn = const Expr* (*)(Module& m, const Expr* lambda);
struct PassOptions;
/// Rewrites the functions of a module together; says whether anything changed.
using ModulePassFn = bool (*)(Module& m, const PassOptions& options);

/// In the place of a level: the pass runs where passes are verified.
constexpr int kVerify = -1;

/// One row of passes.def.
struct PassInfo {
    std::string_view name;     ///< as users write it: `fuse-vertical`
    int level;                 ///< runs from -O this on; or kVerify
    unsigned finds, keeps;     ///< of AttrInfo::Finding
    std::string_view summary;  ///< one line
    PassFn run;                ///< or null, and
    ModulePassFn run_module;
};

/// Every pass, in the order of passes.def.
std::span<const PassInfo> all_passes();
/// Null if there is no pass of that name.
const PassInfo* find_pass(std::string_view name);

struct PassOptions {
    /// 0: none; 1: what makes programs smaller; 2: fusion, vectorisation, parallel loops; 3: also what makes
    /// code larger.
    int level = 2;
    /// LLVM instructions that are optimised before the first run, by the estimate of `tiers`: where there are
    /// more, rounds and functions are compiled the quick way at first, as loops are in any case.
    std::int64_t most_optimised = 4000;
    /// Everything is optimised before the first run.
    static constexpr std::int64_t kAllAtOnce = std::numeric_limits<std::int64_t>::max();
    /// If set, exactly these run, once each, in this order, whatever the level. Names of Weld 0.4 are
    /// understood.
    std::optional<std::vector<std::string>> names;
    /// Verify the module after every pass that changed it.
    bool verify = false;
    /// Called after every pass (again for each round), and with the stages `optimized` (the algebra is done)
    /// and `vectorized` (the means are chosen as well) where they are reached.
    std::function<void(std::string_view pass, const Module& m, bool changed)> after;
    /// If set, receives the milliseconds of each pass that ran, in the order of first run, rounds added up.
    std::vector<std::pair<std::string, double>>* times = nullptr;
};

/// Runs the passes that `options` choose. False with `*error` set if a name is unknown (the nearest one is
/// offered; nothing has run then) or if verification failed, which is our bug and names the pass.
bool run_passes(Module& m, const PassOptions& options, std::string* error);

/// Checks an explicit list without running it: empty, or what is wrong with it.
std::string check_pass_names(std::span<const std::string> names);

}  // namespace weld
