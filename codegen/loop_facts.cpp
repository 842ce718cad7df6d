// What the emitter needs to know of loop bodies before it emits them.
#include <algorithm>
#include <unordered_map>

#include "codegen/loops.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/walk.h"

namespace weld::codegen {

// ---- how many merges -----------------------------------------------------------------------------------

int num_builders(const Type* t) {
    if (t->is_builder()) return 1;
    int n = 0;
    if (t->is_struct())
        for (const Type* f : t->args) n += num_builders(f);
    return n;
}

namespace {

using Counts = std::vector<std::int32_t>;

struct MergeCounter {
    std::unordered_map<const Symbol*, Counts> known;

    static Counts unknown(const Type* t) { return Counts(std::size_t(num_builders(t)), -1); }

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
                for (std::size_t i = 0; i < a.size(); ++i)
                    if (a[i] != b[i]) a[i] = -1;
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
        if (c[0] < 0 || g.mask()) return {-1};
        const Type* v = g.value()->type;
        while (v->is_struct() && !v->args.empty() && v->holds_simd) v = v->args[0];
        c[0] += v->is_simd() ? std::int32_t(v->lanes) : 1;
        return c;
    }
};

}  // namespace

std::vector<std::int32_t> merges_per_iteration(For f) {
    MergeCounter counter;
    const Type* t = f.builder()->type;
    counter.known[f.builder_param()] = Counts(std::size_t(num_builders(t)), 0);
    return counter.of(f.body().body());
}

// ---- branches ------------------------------------------------------------------------------------------

/// A few operations on scalars that cannot fail.
static bool is_cheap(const Expr* e, int& budget) {
    if (--budget < 0) return false;
    switch (e->op) {
        case Op::Var:
        case Op::Literal: return true;
        case Op::GetField:
        case Op::MakeStruct:
        case Op::Cast:
        case Op::Select: break;
        case Op::Div:
        case Op::Rem: return false;
        default:
            if (!is_scalar_op(e->op) || is_math(e->op) || !e->arg(0)->type->is_scalar()) return false;
    }
    for (const Expr* a : e->args())
        if (!is_cheap(a, budget)) return false;
    return true;
}

Merge conditional_append(If choice) {
    constexpr std::int64_t most_bytes = 64;
    if (!choice.node->type->is_builder() || !info(choice.node->type->builder).keeps_merges ||
        choice.node->says(AttrKey::Predicate, false))
        return {};
    Merge append = choice.then()->as<Merge>();
    const Expr* none = choice.otherwise();
    if (!append) {
        append = none->as<Merge>();
        none = choice.then();
    }
    if (!append || append.mask() || !is_path(none) || !same(append.builder(), none)) return {};
    int budget = 16;
    if (size_of(append.value()->type) > most_bytes || append.value()->type->holds_simd ||
        !is_cheap(append.value(), budget))
        return {};
    return append;
}

// ---- cost ----------------------------------------------------------------------------------------------

static std::int64_t picoseconds(const Expr* e) {
    std::int64_t sum = 0;
    for (const Expr* a : e->args()) sum += picoseconds(a);
    sum = std::min<std::int64_t>(sum, 1'000'000'000'000);  // nests multiply
    switch (e->op) {
        case Op::For: return does_nothing(e->as<For>()) ? sum : 16 * sum + 10'000;
        case Op::Iterate: return 64 * sum;
        case Op::Sort: return sum * 1000;
        case Op::Call:
        case Op::Kernel:
        case Op::Serialize:
        case Op::Deserialize: return sum + 100'000;
        case Op::Lookup:
        case Op::OptLookup:
        case Op::KeyExists: return sum + (e->arg(0)->type->is_dict() ? 15'000 : 1'000);
        case Op::OptLanes: return sum + 10'000;
        case Op::Merge: return sum + (info(e->type).probes ? 10'000 : 500);
        case Op::Literal:
        case Op::Var:
        case Op::Block:
        case Op::Lambda:
        case Op::MakeStruct:
        case Op::GetField: return sum;
        case Op::Sqrt:
        case Op::Div:
        case Op::Rem: return sum + 2'000;
        default: return sum + (is_math(e->op) ? 5'000 : 300);
    }
}

bool is_worth_a_branch(const Expr* e) { return picoseconds(e) >= 4'000 && is_movable(e); }

std::int64_t cost_of(const Expr* e) { return 1000 + picoseconds(e); }

std::int64_t strip_of(const Expr* e) {
    constexpr std::int64_t work = 200'000'000;  // which may take ten times as long as is thought
    return std::max<std::int64_t>(1, work / cost_of(e));
}

}  // namespace weld::codegen
