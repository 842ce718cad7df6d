// Counting the merges of a body, builder by builder: through names, structs and blocks; the sides of an `if`
// must agree.
#include "weldir/ir/merges.h"

#include <unordered_map>

#include "weldir/ir/builder.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/walk.h"

namespace weld {

int num_builders(const Type* t) {
    if (t->is_builder()) return 1;
    int n = 0;
    if (t->is_struct())
        for (const Type* f : t->args) n += num_builders(f);
    return n;
}

namespace {

/// What a builder is: one of those that the body began with, and so many merges later.
struct Merged {
    std::int32_t from = -1;  ///< -1: not known
    std::int32_t times = -1;
    bool operator==(const Merged&) const = default;
};

using Counts = std::vector<Merged>;

struct MergeCounter {
    bool most = false;  ///< count as many as there may be, instead of those that there always are
    std::unordered_map<const Symbol*, Counts> known;

    static Counts unknown(const Type* t) { return Counts(std::size_t(num_builders(t))); }

    /// Of the values of `s`, which a body begins with.
    void begin(const Symbol* s) {
        Counts all = unknown(s->type);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = {std::int32_t(i), 0};
        known[s] = std::move(all);
    }

    /// By builder of `e`, which is what those become that the body began with.
    std::vector<std::int32_t> end(const Expr* e) {
        std::vector<std::int32_t> times;
        for (const Merged& m : of(e)) times.push_back(m.from == std::int32_t(times.size()) ? m.times : -1);
        return times;
    }

    Counts of(const Expr* e) {
        if (num_builders(e->type) == 0) return {};
        switch (e->op) {
            case Op::Var: {
                auto at = known.find(e->attr.symbol);
                return at == known.end() ? unknown(e->type) : at->second;
            }
            case Op::Block: {
                Block b = e->as<Block>();
                for (std::size_t i = 0; i < b.size(); ++i)
                    if (b.symbol(i)->type->holds_builder) known[b.symbol(i)] = of(b.value(i));
                return of(b.result());
            }
            case Op::Merge: return of_merge(e->as<Merge>());
            case Op::If: {
                Counts a = of(e->as<If>().then());
                const Counts b = of(e->as<If>().otherwise());
                for (std::size_t i = 0; i < a.size(); ++i) {
                    if (a[i] == b[i]) continue;
                    const bool may = most && a[i].from == b[i].from && a[i].from >= 0;
                    a[i] = may ? Merged{a[i].from, std::max(a[i].times, b[i].times)} : Merged();
                }
                return a;
            }
            case Op::MakeStruct: {
                Counts all;
                for (const Expr* f : e->args()) {
                    const Counts one = of(f);
                    all.insert(all.end(), one.begin(), one.end());
                }
                return all;
            }
            case Op::GetField: {
                const Expr* s = e->arg(0);
                const Counts all = of(s);
                int from = 0;
                for (std::size_t i = 0; i < e->attr.index; ++i) from += num_builders(s->type->args[i]);
                return Counts(all.begin() + from, all.begin() + from + num_builders(e->type));
            }
            default: return unknown(e->type);
        }
    }

    Counts of_merge(Merge g) {
        Counts c = of(g.builder());
        if (c[0].from < 0 || (g.mask() && !most)) return unknown(g.node->type);
        const Type* v = g.value()->type;
        if (g.rows() && !g.node->type->takes->is_vec()) return unknown(g.node->type);
        if (g.rows()) v = v->elem();
        if (v == g.node->type->takes) return ++c[0].times, c;
        while (v->is_struct() && !v->args.empty() && v->holds_simd) v = v->args[0];
        c[0].times += v->is_simd() ? std::int32_t(v->lanes) : 1;
        return c;
    }
};

}  // namespace

/// `most`: as many as there may be.
static std::vector<std::int32_t> counted(Lambda body, bool most) {
    MergeCounter counter{.most = most, .known = {}};
    counter.begin(body.param(0));
    return counter.end(body.body());
}

std::vector<std::int32_t> merges_per_iteration(For f) { return counted(f.body(), false); }

static void keep_kept(const Type* t, const std::vector<std::int32_t>& all, std::size_t& number,
                      std::vector<std::int64_t>& kept) {
    if (t->is_struct())
        for (const Type* f : t->args) keep_kept(f, all, number, kept);
    if (!t->is_builder()) return;
    if (info(t).keeps_merges) kept.push_back(all[number]);
    ++number;
}

static std::vector<std::int64_t> kept_of(const Type* state, const std::vector<std::int32_t>& all) {
    std::vector<std::int64_t> kept;
    std::size_t number = 0;
    keep_kept(state, all, number, kept);
    return kept;
}

std::vector<std::int64_t> appends_per_iteration(For f) {
    return kept_of(f.builder()->type, merges_per_iteration(f));
}

std::vector<std::int64_t> most_appends_per_round(Iterate it) {
    return kept_of(it.init()->type, counted(it.body(), true));
}

std::vector<std::int64_t> appends_per_round(Iterate it) {
    return kept_of(it.init()->type, counted(it.body(), false));
}

std::int64_t most_appends_per_iteration(For f) {
    const std::vector<std::int64_t> kept = kept_of(f.builder()->type, counted(f.body(), true));
    if (kept.empty() || std::ranges::find(kept, -1) != kept.end()) return -1;
    return *std::ranges::max_element(kept);
}

/// Sums that are numbers, in a vector.
static bool adds_to_elements(const Type* b) {
    return info(b).indexed && has_operator(b->builder) && b->op == MergeOp::Add && b->elem()->is_scalar();
}

Merge conditional_merge(If choice) {
    const Type* b = choice.node->type;
    if (!b->is_builder() || !(info(b).keeps_merges || adds_to_elements(b))) return {};
    Merge one = choice.then()->as<Merge>();
    const Expr* none = choice.otherwise();
    if (!one) {
        one = none->as<Merge>();
        none = choice.then();
    }
    const bool fits =
        one && !one.mask() && !one.value()->type->holds_simd && is_path(none) && same(one.builder(), none);
    return fits ? one : Merge();
}

}  // namespace weld
