// Dictmergers in loops over lanes hold the values of the first few keys in registers.
//
//     @(tail:masked) for(zip(fringeiter[8](ks), …),
//       for(zip(simditer[8](ks), …), dictmerger[i64,f64,+], f), g)
// becomes
//     @(tail:masked) for(zip(fringeiter[8](ks), …),
//       @(groups:4, batch:2) for(zip(simditer[8](ks), …), dictmerger[i64,f64,+], f), g)
//
// So keys that turn out to be few, which is known only while the loop runs, cost neither hashing nor memory.
// If more come than are held, the scalar loop goes on with the table; so there has to be one. How many are
// held depends on the type of the values alone, and not on the machine: it decides the order of float sums.
#include <algorithm>

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::uint32_t kRegisters = 24;  // for values
constexpr std::uint32_t kMostGroups = 4;
constexpr std::uint32_t kBatch = 2;  // of groups, whose keys are compared without a branch

std::uint32_t scalars_in(const Type* t) {
    if (!t->is_struct()) return 1;
    std::uint32_t n = 0;
    for (const Type* f : t->args) n += scalars_in(f);
    return n;
}

/// As many as all dictmergers in `t` can hold; 0 if there is none.
std::uint32_t groups_of(const Type* t) {
    if (t->is_builder() && info(t).probes)
        return std::min(kMostGroups, kRegisters / std::max(1u, scalars_in(t->value())));
    std::uint32_t least = 0;
    if (t->is_struct())
        for (const Type* f : t->args)
            if (const std::uint32_t n = groups_of(f)) least = least ? std::min(least, n) : n;
    return least;
}

}  // namespace

const Expr* hold_groups(Module& m, const Expr* lambda) {
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const For rest = e->as<For>();
        if (!rest || !e->annotation(AttrKey::Tail)) return nullptr;
        const For lanes = rest.builder()->as<For>();
        const std::uint32_t n = lanes ? groups_of(e->type) : 0;
        if (!n || lanes.node->annotation(AttrKey::Groups)) return nullptr;
        std::vector<const Expr*> args(e->args().begin(), e->args().end());
        const auto at = std::ranges::find(args, lanes.node);
        *at = annotate(m, lanes.node, AttrKey::Groups, std::to_string(n));
        *at = annotate(m, *at, AttrKey::Batch, std::to_string(kBatch));
        return with_args(m, e, args);
    });
}

}  // namespace weld
