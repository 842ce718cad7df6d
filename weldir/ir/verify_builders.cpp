// Builders are used once on every path, and loops give back what derives from what they were given.
#include "weldir/ir/verifier.h"

#include <algorithm>

#include "weldir/ir/walk.h"

namespace weld {

void Verifier::find_summaries() {
    bool changed = false;
    for (const Function* f : m_.functions)
        if (f->lambda && f->type->result()->holds_builder) {
            summaries_[f] = BuilderSummary(leaves(f->type->result()), kAny);
            changed = true;
        }
    while (changed && error_.empty()) {
        changed = false;
        for (auto& f : m_.functions) {
            auto at = summaries_.find(f);
            if (at == summaries_.end() || !error_.empty()) continue;
            BuilderSummary now = summary(f->lambda);
            changed |= now != at->second;
            at->second = std::move(now);
        }
        std::fill(scope_.begin(), scope_.end(), Scope::Unbound);
    }
}

BuilderSummary Verifier::summary(const Expr* lambda) {
    Origin first = 0, end = 0;
    BuilderSummary s = function(lambda, &first, &end);
    for (Origin& o : s)
        if (o != kAny) o = o >= first && o < end ? o - first : kUnknown;
    return s;
}

Origins Verifier::function(const Expr* lambda, Origin* first, Origin* end) {
    const Lambda l = lambda->as<Lambda>();
    check(lambda);
    if (!error_.empty()) return {};
    if (depth_ == 0) {
        root_ = l;
        last_calls_.clear();
        if (lambda != m_.main) visit_last(l.body(), [&](const Expr* e) { last_calls_.insert(e); });
    }
    ++depth_;
    if (first) *first = next_origin_;
    for (const Symbol* p : l.params()) bind(p, new_origins(p->type), lambda);
    if (end) *end = next_origin_;
    Origins out = walk(l.body(), true);
    for (const Symbol* p : l.params()) unbind(p, lambda);
    --depth_;
    return out;
}

Origins Verifier::use(const Symbol* s, std::size_t from, std::size_t to, const Expr* at) {
    auto found = states_.find(s);
    if (!error_.empty() || found == states_.end()) return Origins(to - from, kAny);
    State& state = found->second;
    if (state.depth != depth_) fail(at, "builder `{}` from outside is used inside a function", s->name);
    for (std::size_t i = from; i < to; ++i) {
        if (state.used[i]) fail(at, "builder `{}` is used twice", s->name);
        state.used[i] = true;
        trail_.push_back({&state, i});
    }
    return {state.origins.begin() + from, state.origins.begin() + to};
}

std::size_t Verifier::leaves(const Type* t) {
    if (t->is_builder()) return 1;
    if (!t->holds_builder) return 0;
    auto at = leaves_.find(t);
    if (at != leaves_.end()) return at->second;
    std::size_t n = 0;
    for (const Type* f : t->args) n += leaves(f);
    return leaves_[t] = n;
}

std::size_t Verifier::leaves_before(const Type* t, std::size_t field) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < field; ++i) n += leaves(t->args[i]);
    return n;
}

Origins Verifier::new_origins(const Type* t) {
    Origins o(leaves(t));
    for (Origin& x : o) x = next_origin_++;
    return o;
}

std::vector<Verifier::Mark> Verifier::marks_since(std::size_t begin, std::uint32_t order) {
    std::vector<Mark> marks;
    for (std::size_t i = begin; i < trail_.size(); ++i)
        if (trail_[i].state->order < order) marks.push_back(trail_[i]);
    std::sort(marks.begin(), marks.end());
    return marks;
}

Origins Verifier::branches(const Expr* e, bool ordered) {
    walk(e->arg(0), false);
    const std::size_t begin = trail_.size();
    const std::uint32_t order = next_order_;
    const std::size_t freed = freed_.size();
    const std::vector<const Symbol*> reused = reused_;
    Origins a = walk(e->arg(1), ordered);
    const std::vector<const Symbol*> reused_there = std::exchange(reused_, reused);
    const std::vector<const Symbol*> freed_there(freed_.begin() + std::ptrdiff_t(freed), freed_.end());
    set_scope(freed_there, Scope::Freed, Scope::Open);
    const std::vector<Mark> first = marks_since(begin, order);
    for (const Mark& m : first) m.state->used[m.leaf] = false;
    trail_.resize(begin);
    const Origins b = walk(e->arg(2), ordered);
    set_scope(freed_there, Scope::Open, Scope::Freed);
    // what the first side added; what came before both is there once
    reused_.insert(reused_.end(), reused_there.begin() + std::ptrdiff_t(reused.size()), reused_there.end());
    const std::vector<Mark> second = marks_since(begin, order);
    trail_.resize(begin);
    trail_.insert(trail_.end(), second.begin(), second.end());
    if (error_.empty() && first != second) {
        const auto differ = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
        const Mark& m = differ.first != first.end() ? *differ.first : *differ.second;
        fail(e, "builder `{}` is used on one side of an `if` only", m.state->symbol->name);
    }
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
        if (a[i] == kAny) a[i] = b[i];
        else if (b[i] != kAny && b[i] != a[i]) a[i] = next_origin_++;
    }
    return a;
}

}  // namespace weld
