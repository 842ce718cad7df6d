// Lets that move before another one, with those that they read, for the passes that put reads of a vector before its change.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

class MovedLets {
  public:
    /// Behind those of `before`.
    explicit MovedLets(Lets before = {}) : all(std::move(before)) {}

    Lets all;  ///< in an order in which they may stand

    /// This one moves if something that does needs it.
    void wait(const Symbol* name, const Expr* value) { waiting_.emplace(name, value); }
    /// Moves one that waits.
    void pull(const Symbol* name) {
        const Expr* value = waiting_.extract(name).mapped();
        pull_for(value);
        all.emplace_back(name, value);
        pulled_.insert(name);
    }
    /// Moves those that wait and are read by `e`.
    void pull_for(const Expr* e) {
        for (const Symbol* s : free_symbols(e))
            if (waiting_.contains(s)) pull(s);
    }
    bool pulled(const Symbol* name) const { return pulled_.contains(name); }

  private:
    std::unordered_map<const Symbol*, const Expr*> waiting_;
    std::unordered_set<const Symbol*> pulled_;
};

}  // namespace weld
