// Which dictionaries are only listed.
#include "codegen/listed.h"

namespace weld::codegen {

static bool makes_dictionary(const Expr* e) {
    return e->op == Op::Result && e->arg(0)->type->is_builder(BuilderKind::DictMerger);
}

Listed::Listed(const Module& m) {
    look(m.main);
    for (const Function* f : m.functions) look(f->lambda);
}

/// A name that is read in another way takes its result from the set again.
void Listed::look(const Expr* e) {
    if (e->op == Op::Block) {
        const auto b = e->as<Block>();
        for (std::size_t i = 0; i < b.size(); ++i) {
            look(b.value(i));
            if (!makes_dictionary(b.value(i))) continue;
            named_[b.symbol(i)] = b.value(i);
            listed_.insert(b.value(i));
        }
        return look(b.result());
    }
    if (e->op == Op::Var) {
        if (const auto at = named_.find(e->attr.symbol); at != named_.end()) listed_.erase(at->second);
    }
    if (e->op == Op::ToVec && e->arg(0)->op == Op::Var) return;
    if (e->op == Op::ToVec && makes_dictionary(e->arg(0))) listed_.insert(e->arg(0));
    for (const Expr* a : e->args()) look(a);
}

}  // namespace weld::codegen
