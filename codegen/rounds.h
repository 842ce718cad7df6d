// The rounds of a loop: one after the other, by turns on accumulators or copies, by tiles, those that a
// condition selects.
#pragma once

#include "codegen/loop_plan.h"

namespace weld::codegen {

struct Rounds {
    bool may_be_long = false;  ///< it has to look whether to stop
    bool collect = false;      ///< see Emitter::collect_check
    bool has_slack = false;    ///< its appenders have room for all lanes of the partial round
};

/// The iterations [lo, hi), on a state that begins and ends in the emitter's present form.
Leaves emit_rounds(Emitter& e, const LoopPlan& plan, llvm::Value* lo, llvm::Value* hi, const Leaves& state,
                   Rounds how);

}  // namespace weld::codegen
