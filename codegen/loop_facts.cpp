// What the emitter needs to know of loop bodies before it emits them.
#include <algorithm>
#include <unordered_map>

#include "codegen/loop_facts.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/walk.h"

namespace weld::codegen {

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
