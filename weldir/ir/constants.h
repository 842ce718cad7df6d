// Values that are known before a program runs: literals, structs and vectors of them, and names for such.
// They lie in the program's data and are not computed.
#pragma once

#include <unordered_set>
#include <vector>

#include "weldir/ir/module.h"
#include "weldir/ir/table.h"

namespace weld {

class Constants {
  public:
    /// Looks at all of `m` once.
    explicit Constants(const Module& m);

    bool holds(const Expr* e) const;
    /// What a Block binds `s` to, if that is constant; else null.
    const Expr* value(const Symbol* s) const;
    /// The packed vectors of the module, each once.
    const std::vector<PackedVec>& packed() const { return packed_; }

  private:
    void look(const Expr* e);

    std::unordered_set<const Expr*> vectors_;
    std::vector<PackedVec> packed_;
    Table<Symbol, const Expr*> values_;
};

}  // namespace weld
