// The names that a loop binds, inside of it too: what reads one of them may be another in each round.
#pragma once

#include <algorithm>
#include <unordered_set>

#include "weldir/ir/count.h"
#include "weldir/ir/walk.h"

namespace weld {

class BoundNames {
  public:
    BoundNames() = default;
    explicit BoundNames(const Expr* loop) { add(loop); }

    /// Those that `part` binds, too.
    void add(const Expr* part) {
        visit_binding(part, [&](const Expr* e) { all_.insert(e->symbols().begin(), e->symbols().end()); });
    }
    bool hold(const Symbol* s) const { return all_.contains(s); }
    bool are_read_by(const Expr* e) const {
        return std::ranges::any_of(free_symbols(e), [&](const Symbol* s) { return hold(s); });
    }
    bool are_read_by(const Count& n) const {
        return std::ranges::any_of(n.sum(), [&](const Count::Product& p) {
            return std::ranges::any_of(p.of, [&](const Expr* name) { return are_read_by(name); });
        });
    }

  private:
    std::unordered_set<const Symbol*> all_;
};

}  // namespace weld
