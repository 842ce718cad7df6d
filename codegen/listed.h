// Dictionaries that nothing but `tovec` and `len` reads. Their tables need no index in the end, and if they
// were cut into partitions they may stay so.
#pragma once

#include <unordered_map>

#include "weldir/ir/module.h"

namespace weld::codegen {

class Listed {
  public:
    /// Looks at all of `m` once.
    explicit Listed(const Module& m);

    /// The dictionary that `result`, a Result, gives is only listed.
    bool holds(const Expr* result) const {
        const auto at = listed_.find(result);
        return at != listed_.end() && at->second;
    }

  private:
    void look(const Expr* e);
    void look_below(const Expr* e);

    std::unordered_map<const Symbol*, const Expr*> named_;  ///< while looking: results and their names
    std::unordered_map<const Expr*, bool> listed_;          ///< by Result: nothing else was seen yet
};

}  // namespace weld::codegen
