// Which dictionaries are only listed, or counted.
#include "codegen/listed.h"

#include "weldir/ir/builder.h"

namespace weld::codegen {

static bool makes_dictionary(const Expr* e) { return e->op == Op::Result && info(e->arg(0)->type).probes; }

Listed::Listed(const Module& m) {
    look(m.main);
    for (const Function* f : m.functions) look(f->lambda);
}

void Listed::look_below(const Expr* e) {
    for (const Expr* a : e->args()) look(a);
}

static bool lists(const Expr* e) { return e->op == Op::ToVec || e->op == Op::Len; }

/// One node may stand in several places: one that is neither a `tovec` nor a `len` decides.
void Listed::look(const Expr* e) {
    if (e->op == Op::Block) {
        const auto b = e->as<Block>();
        for (std::size_t i = 0; i < b.size(); ++i) {
            if (!makes_dictionary(b.value(i))) {
                look(b.value(i));
                continue;
            }
            named_[b.symbol(i)] = b.value(i);
            listed_.try_emplace(b.value(i), true);
            look_below(b.value(i));
        }
        return look(b.result());
    }
    if (lists(e) && e->arg(0)->op == Op::Var) return;
    if (lists(e) && makes_dictionary(e->arg(0))) {
        listed_.try_emplace(e->arg(0), true);
        return look_below(e->arg(0));
    }
    if (e->op == Op::Var) {
        if (const auto at = named_.find(e->attr.symbol); at != named_.end()) listed_[at->second] = false;
    } else if (makes_dictionary(e)) {
        listed_[e] = false;
    }
    look_below(e);
}

}  // namespace weld::codegen
