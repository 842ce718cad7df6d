// Cycles by Tarjan's algorithm, which finds callees before callers; summaries in that order.
#include "weldir/ir/call_graph.h"

#include <algorithm>

#include "weldir/ir/builder.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/result_sizes.h"

namespace weld {

// ---- calls

/// Calls `fn(call, whether it stands in a loop)` for all calls below `e`.
template <class Fn>
static void visit_calls(const Expr* e, bool in_loop, const Fn& fn) {
    if (e->op == Op::Call) fn(e, in_loop);
    for (const Expr* a : e->args()) visit_calls(a, in_loop || a->op == Op::Lambda, fn);
}

/// Whether `lambda`, the body of `f`, is another one than before.
bool CallGraph::look(Function* f, const Expr* lambda) {
    Node& node = nodes_[f];
    node.changed = node.seen != lambda;
    if (!node.changed) return false;
    node.seen = lambda;
    node.calls.clear();
    if (!lambda) return true;
    visit_calls(lambda->as<Lambda>().body(), false, [&](const Expr* call, bool in_loop) {
        node.calls.push_back({const_cast<Function*>(call->attr.function), in_loop});
    });
    return true;
}

void CallGraph::update(Module& m) {
    if (m.functions.empty()) return;
    bool changed = look(nullptr, m.main);
    for (Function* f : m.functions) changed |= look(f, f->lambda);
    if (!changed) return;
    find_cycles(m);
    for (const Cycle& cycle : cycles_) summarize(m, cycle);
    find_repeated();
}

// ---- cycles

void CallGraph::find_cycles(const Module& m) {
    cycles_.clear();
    next_number_ = 0;
    for (auto& [f, node] : nodes_) node.number = 0, node.open = false;
    for (Function* f : m.functions)
        if (!nodes_[f].number) visit(f);
}

void CallGraph::visit(Function* f) {
    Node& node = nodes_[f];
    node.number = node.lowest = ++next_number_;
    node.open = true;
    stack_.push_back(f);
    for (const Edge& edge : node.calls) {
        Node& callee = nodes_[edge.callee];
        if (!callee.number) visit(edge.callee);
        if (callee.open) node.lowest = std::min(node.lowest, callee.lowest);
    }
    if (node.lowest != node.number) return;
    Cycle cycle;
    do {
        cycle.push_back(stack_.back());
        nodes_[stack_.back()].open = false;
        stack_.pop_back();
    } while (cycle.back() != f);
    cycles_.push_back(std::move(cycle));
}

bool CallGraph::is_recursive(const Cycle& cycle) {
    return cycle.size() > 1 || std::ranges::any_of(nodes_[cycle[0]].calls,
                                                   [&](const Edge& edge) { return edge.callee == cycle[0]; });
}

// ---- summaries

/// Sizes that are found stay, as passes don't change what a function gives; whether there are new ones.
static bool find_sizes(Module& m, Function* f, Facts& facts) {
    const auto added = [&](Promises found) {
        if (found.empty()) return false;
        std::vector<Promise> all(f->holds.begin(), f->holds.end());
        all.insert(all.end(), found.begin(), found.end());
        f->holds = m.arena.copy(std::span<const Promise>(all));
        return true;
    };
    const bool any = added(find_result_sizes(m, *f, facts));
    if (!f->summary.recursive || f->summary.mutual) return any;
    return added(find_recursive_sizes(m, *f, facts)) || any;
}

/// Functions of one cycle do what any of them does.
void CallGraph::summarize(Module& m, const Cycle& cycle) {
    const auto number = std::uint32_t(&cycle - cycles_.data());
    const auto any_changed = [&](Function* f) {
        return nodes_[f].changed || std::ranges::any_of(nodes_[f].calls, [&](const Edge& edge) {
                   return nodes_[edge.callee].changed;
               });
    };
    if (std::ranges::none_of(cycle, any_changed)) {  // so are functions that are not defined yet
        for (Function* f : cycle) f->summary.cycle = number;
        return;
    }
    Summary all{.fails = false, .calls = false, .ordered = false, .allocates = false};
    all.recursive = all.fails = is_recursive(cycle);  // it may never end
    all.mutual = cycle.size() > 1;
    all.cycle = number;
    for (Function* f : cycle)
        for (const Edge& edge : nodes_[f].calls)
            if (std::ranges::find(cycle, edge.callee) == cycle.end())
                all.height = std::max(all.height, edge.callee->summary.height + 1);
    std::vector<Summary> before;
    for (Function* f : cycle) before.push_back(std::exchange(f->summary, all));
    std::vector<bool> has_new_sizes;
    for (Function* f : cycle) {
        Facts facts(m, f->lambda);
        const Traits t = facts.traits(f->lambda);
        has_new_sizes.push_back(find_sizes(m, f, facts));
        all.fails |= t.fails;
        all.calls |= t.calls;
        all.ordered |= t.ordered;
        all.allocates |= t.allocates;
    }
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        cycle[i]->summary = all;
        cycle[i]->summary.repeated = before[i].repeated;
        nodes_[cycle[i]].changed = cycle[i]->summary != before[i] || has_new_sizes[i];
    }
}

/// Callers before callees.
void CallGraph::find_repeated() {
    for (const Cycle& cycle : cycles_)
        for (Function* f : cycle) f->summary.repeated = f->summary.recursive;
    const auto spread = [&](const Function* f, bool repeated) {
        for (const Edge& edge : nodes_[f].calls) edge.callee->summary.repeated |= repeated || edge.in_loop;
    };
    spread(nullptr, false);
    for (auto cycle = cycles_.rbegin(); cycle != cycles_.rend(); ++cycle)
        for (const Function* f : *cycle) spread(f, f->summary.repeated);
}

}  // namespace weld
