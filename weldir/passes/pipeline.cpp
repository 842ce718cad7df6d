// The order of the passes, and the reasons for it. First the algebra (what is computed), then the choice of
// means (how).
#include "weldir/passes/pipeline.h"

namespace weld {

using Name = std::string_view;

static constexpr Name kPrepare[] = {
    "check-promises",    // before all that could believe them
    "inline-functions",  // early: everything after it sees through calls
    "flatten",           // before all that looks for loops in blocks; the others keep the form
};

static constexpr Name kReduce[] = {
    "inline-lets",       // `result(l)` meets the loop `l` that it ends
    "fold",              //
    "simplify",          // after fold: constants are bare
    "fold-comparisons",  // after simplify, which knows those of constants; what they choose goes in the next round
    "cse",               // before fusion: two loops that are one need not be fused
    "drop-dead",         // before fusion: readers that are dead don't count
    "limit-sorts",       // before sort-keys, which makes a loop of what is sliced
    "sort-keys",         // after inline-lets: comparisons stand where they are asked
    "topk-sorts",        // after both; before fusion, which joins its loops with others
    "fuse-horizontal",  // before fuse-vertical: a vector with two readers has one after it
    "share-tables",  // after it: the loops are one; before fuse-vertical, which joins the entries with their readers
    "fuse-vertical",  //
    "fuse-zip",       // after fuse-vertical, which zips vectors with themselves
};

static constexpr Name kStraighten[] = {
    "split-states",   // before split-structs, which takes apart what is left at both ends
    "simplify",       // fields of the state
    "inline-lets",    //
    "split-structs",  // after fusion, which needs no vector at all for most
    "simplify",       // fields of structs that it makes
    "fuse-kept",      // after fusion, which may need no vector at all
    "fuse-zip",       // after it: both may read the same
    "walk-tensors",   // after fusion, which sees one walk; before all that knows loops in loops
    "windows",        // before unroll, which makes straight code of them
    "unroll",         // after fusion: loops over fused short vectors
    "count-bits",     // after simplify, which makes `x + -1` of `x - 1`
    "inline-lets",    // unrolled bodies are chains of lets
    "fold",           // and full of constants
    "simplify",       //
    "hoist",          // after fusion, which would lose loops that have moved apart
    "cse",            // hoisting brings equal things together
    "inline-lets",    // after cse, whose names of names it resolves
    "carry-lookups",  // after it: look-ups stand where they are asked for
    "drop-dead",      //
};

static constexpr Name kChooseMeans[] = {
    "nest",               // after fusion, which would not join nests; before those that see the walks
    "inline-lets",        // the row is `y` by no other name
    "hoist",              // so what it decides is made once a row
    "jam-rows",           // before the next three: conditions for one row are none for four
    "ask-sizes",          // before the next two, which ask in each round of a loop around
    "strides",            // before lookups-to-iters: rows are walked
    "lookups-to-iters",   // after hoist, which makes offsets plain; before vectorize, which stops at lookups
    "append-structs",     // after fusion, which joins loops with what appends one value; before vectorize
    "group-columns",      // after fusion, which may need no vector for what is grouped
    "dense-keys",         // after fusion; before distribute, which has less to do then
    "distribute",         // after fusion, which would join the loops again
    "ask-bits",           // after distribute: what it computes early is asked for by lanes
    "inline-lets",        //
    "simplify",           // elements that are structs of one another
    "fuse-zip",           // ranges that only lookups read
    "jam",                // after lookups-to-iters: rows are walked; before vectorize
    "jam-sums",           // for the same reason
    "parts-first",        // after fusion, which reads behind changes; before sizes, for the copies
    "sizes",              // before vectorize, which hides the counts
    "narrow-counters",    // before vectorize, which takes the loops that begin and end it
    "independent",        // after all that joins loops; before vectorize, which hides the counts
    "defer-merges",       // after independent, of what is not
    "narrow-numbers",     // after fusion, which brings casts together; before vectorize: lanes
    "short-circuit",      // before predicate: conditions without branches
    "exits",              // after it: conditions stay now; before predicate, which would select
    "search",             // after exits; before vectorize, which takes its loops
    "predicate",          // before vectorize: fewer branches to mask
    "vectorize-outer",    // before vectorize, which takes the loops inside
    "vectorize",          //
    "inline-lets",        //
    "drop-dead",          //
    "count-appends",      // after vectorize: merges of lanes are counted as such
    "choose-branches",    // after vectorize: masks
    "list-dictionaries",  //
    "parallelize",        // marks the loops that are left
    "accumulate",         // after vectorize: lanes are accumulated
    "hold-groups",        //
    "spread-groups",      // after hold-groups, for the loop that goes on
    "skip-rounds",        // after vectorize: masks
    "prefetch",           // after accumulate: loops with copies read several lines at once
    "select-rounds",      // after prefetch, for whose sake it is
    "read-first",         // after inline-lets, which moves what is read once to its reader; before reuse
    "double-buffer",      // before reuse, which says whose memory it is; after what changes rounds
    "tail-calls",         // late: others would bind the calls to names again
    "reuse",              // late: others move what is read
    "collect",            // after reuse, for what that does not free
    "slabs",              // after reuse: what a loop writes over is kept where it is
    "unread-state",       // late, for the same reason as reuse
    "weigh",              // after all that changes loops: what there is, is weighed
    "segments",           // cuts at what there is, and knows from weigh what is too large
    "tiers",              // last: estimates what is optimised, which segments says
};

static constexpr Stage kPipeline[] = {
    {"", false, kPrepare},
    {"", true, kReduce},
    {"optimized", false, kStraighten},
    {"vectorized", false, kChooseMeans},
};

std::span<const Stage> pipeline() { return kPipeline; }

// ---- names of Weld 0.4

static constexpr Name kInlineApply[] = {"inline-functions"};
static constexpr Name kInlineLet[] = {"flatten", "inline-lets", "drop-dead"};
static constexpr Name kLoopFusion[] = {"flatten",         "inline-lets",   "simplify", "drop-dead",
                                       "fuse-horizontal", "fuse-vertical", "fuse-zip", "inline-lets",
                                       "simplify",        "fuse-vertical", "fuse-zip", "inline-lets"};
static constexpr Name kUnroll[] = {"unroll", "flatten"};
static constexpr Name kSizes[] = {"sizes"};
static constexpr Name kAlgebraic[] = {"simplify"};
static constexpr Name kInlineLiterals[] = {"inline-lets", "fold"};
static constexpr Name kShortCircuit[] = {"short-circuit"};
static constexpr Name kUnrollStructs[] = {"simplify", "drop-dead"};

static constexpr OldName kOldNames[] = {
    {"inline-zip", {}},  // zips exist only as data of loops here
    {"inline-apply", kInlineApply},
    {"inline-let", kInlineLet},
    {"loop-fusion", kLoopFusion},
    {"unroll-static-loop", kUnroll},
    {"infer-size", kSizes},
    {"algebraic", kAlgebraic},
    {"inline-literals", kInlineLiterals},
    {"short-circuit-booleans", kShortCircuit},
    {"unroll-structs", kUnrollStructs},
    {"fix-iterate", {}},
};

std::span<const OldName> old_names() { return kOldNames; }

}  // namespace weld
