// What is computed though it may not be needed, because a branch would cost more; and where a branch pays.
//
//     if(x > 0.0, merge(b, x * 2.0), b)                      # appends
//     merge(b, exp(x), x > 0.0)                              # lanes, under a mask
//     x > 0.0 & exp(x) < y                                   # of lanes
// becomes
//     @(always:true) if(x > 0.0, merge(b, x * 2.0), b)
//     @(branch:true) merge(b, exp(x), x > 0.0)
//     @(branch:true) (x > 0.0 & exp(x) < y)
//
// `always`: a few operations on scalars take less time than a mispredicted branch; the value is written
// behind the others, and counts if the condition holds. `branch`: lanes that are not needed cost nothing more
// where another lane is needed, but where none is, something costly can be left out. After vectorize.
#include "weldir/ir/builder.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/cheap.h"
#include "weldir/passes/cost.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::int64_t kWorthABranch = 4'000;  // picoseconds
constexpr std::uint32_t kMostNodes = 16;       // of what is written in any case
constexpr std::int64_t kMostBytes = 64;

bool appends_always(Facts& facts, If choice) {
    if (choice.node->says(AttrKey::Predicate, false)) return false;
    const Merge append = conditional_append(choice);
    return append && size_of(append.value()->type) <= kMostBytes && is_cheap(facts, append.value()) &&
           facts.traits(append.value()).size <= kMostNodes;
}

bool is_worth_a_branch(const Expr* e) { return picoseconds(e) >= kWorthABranch && is_movable(e); }

bool asks_first(const Expr* e) {
    switch (e->op) {
        case Op::Merge: return e->num_args > 2 && !e->type->holds_simd && is_worth_a_branch(e->arg(1));
        case Op::BitAnd:
        case Op::BitOr:
            return e->type->is_simd() && e->type->scalar == Scalar::Bool && is_worth_a_branch(e->arg(1));
        default: return false;
    }
}

}  // namespace

const Expr* choose_branches(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    return rewrite(m, lambda, [&](const Expr* e) -> const Expr* {
        if (const If choice = e->as<If>();
            choice && !e->annotation(AttrKey::Always) && appends_always(facts, choice))
            return annotate(m, e, AttrKey::Always, "true");
        if (!e->annotation(AttrKey::Branch) && asks_first(e)) return annotate(m, e, AttrKey::Branch, "true");
        return nullptr;
    });
}

}  // namespace weld
