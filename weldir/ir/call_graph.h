// Which function calls which, and what follows from that for each: Function::summary.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "weldir/ir/module.h"

namespace weld {

/// Keeps the summaries of one module true while its functions change. It looks only at what has changed since
/// the last time, and at who calls that.
class CallGraph {
  public:
    /// Brings all summaries up to date.
    void update(Module& m);

  private:
    struct Edge {
        Function* callee;
        bool in_loop;  ///< the call stands in the body of a loop
    };
    struct Node {
        const Expr* seen = nullptr;  ///< the lambda that `calls` was found in
        std::vector<Edge> calls;
        bool changed = false;  ///< since the last update, or what it calls has
        std::uint32_t number = 0, lowest = 0;
        bool open = false;
    };
    using Cycle = std::vector<Function*>;

    bool look(Function* f, const Expr* lambda);
    void find_cycles(const Module& m);
    void visit(Function* f);
    bool is_recursive(const Cycle& cycle);
    void summarize(Module& m, const Cycle& cycle);
    void find_repeated();

    std::unordered_map<const Function*, Node> nodes_;  ///< null: the main program
    std::vector<Cycle> cycles_;                        ///< callees before callers
    std::vector<Function*> stack_;
    std::uint32_t next_number_ = 0;
};

}  // namespace weld
