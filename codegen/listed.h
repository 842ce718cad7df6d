// Dictionaries that nothing but `tovec` reads. Their tables need no index in the end, and if they were cut
// into partitions they may stay so.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "weldir/ir/module.h"

namespace weld::codegen {

class Listed {
  public:
    /// Looks at all of `m` once.
    explicit Listed(const Module& m);

    /// The dictionary that `result`, a Result, gives is only listed.
    bool holds(const Expr* result) const { return listed_.count(result) > 0; }

  private:
    void look(const Expr* e);

    std::unordered_map<const Symbol*, const Expr*> named_;  ///< while looking: results and their names
    std::unordered_set<const Expr*> listed_;
};

}  // namespace weld::codegen
