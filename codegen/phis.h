// What a loop changes from round to round.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// Phis at the present place, where a loop comes from `before` and from itself. Leaves listed in `fixed` do
/// not change.
class LoopPhis {
  public:
    LoopPhis(Emitter& e, const Leaves& begin, llvm::BasicBlock* before, std::vector<bool> fixed = {});

    const Leaves& state() const { return state_; }
    /// The loop comes back from `latch` with `next`.
    void go_on_with(const Leaves& next, llvm::BasicBlock* latch);
    /// What comes back as it came is no phi: it is replaced, among `others` too. After all of `go_on_with`.
    void drop_unchanged(Leaves& others);

  private:
    bool is_fixed(std::size_t k) const { return k < fixed_.size() && fixed_[k]; }

    Leaves state_;
    std::vector<bool> fixed_;
};

}  // namespace weld::codegen
