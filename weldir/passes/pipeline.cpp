// The order of the passes, and the reasons for it. First the algebra (what is computed), then the choice of
// means (how).
#include "weldir/passes/pipeline.h"

namespace weld {

using Name = std::string_view;

static constexpr Name kPrepare[] = {
    "inline-functions",  // first: everything after it sees through calls
};

static constexpr Name kReduce[] = {
    "flatten",      // before all that looks for loops in blocks; again, since rewrites may nest blocks
    "inline-lets",  // `result(l)` meets the loop `l` it ends
    "fold",         //
    "simplify",     // after fold: constants are on the right and bare
    "cse",          // before fusion: two loops that are one need not be fused
    "drop-dead",    // before fusion: readers that are dead don't count
};

static constexpr Stage kPipeline[] = {
    {"", false, kPrepare},
    {"optimized", true, kReduce},
};

std::span<const Stage> pipeline() { return kPipeline; }

static constexpr Name kInlineApply[] = {"inline-functions"};
static constexpr Name kInlineLet[] = {"flatten", "inline-lets", "drop-dead"};
static constexpr Name kAlgebraic[] = {"simplify"};
static constexpr Name kInlineLiterals[] = {"inline-lets", "fold"};
static constexpr Name kUnrollStructs[] = {"simplify"};

static constexpr OldName kOldNames[] = {
    {"inline-zip", {}},  // zips exist only as data of loops here
    {"inline-apply", kInlineApply},
    {"inline-let", kInlineLet},
    {"algebraic", kAlgebraic},
    {"inline-literals", kInlineLiterals},
    {"unroll-structs", kUnrollStructs},
    {"fix-iterate", {}},
};

std::span<const OldName> old_names() { return kOldNames; }

}  // namespace weld
