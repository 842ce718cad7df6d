// One walk over the module, in which names and vectors are found constant once what they consist of is.
#include "weldir/ir/constants.h"

#include <algorithm>

namespace weld {

Constants::Constants(const Module& m) {
    look(m.main);
    for (const Function* f : m.functions) look(f->lambda);
}

void Constants::look(const Expr* e) {
    if (e->op == Op::Block) {
        const auto b = e->as<Block>();
        for (std::size_t i = 0; i < b.size(); ++i) {
            look(b.value(i));
            if (holds(b.value(i))) values_[b.symbol(i)] = b.value(i);
        }
        return look(b.result());
    }
    for (const Expr* a : e->args()) look(a);
    if (e->op == Op::PackedVec && vectors_.insert(e).second) packed_.push_back(e->as<PackedVec>());
    const auto known = [this](const Expr* a) { return holds(a); };
    if (e->op == Op::MakeVec && std::all_of(e->args().begin(), e->args().end(), known)) vectors_.insert(e);
}

bool Constants::holds(const Expr* e) const {
    switch (e->op) {
        case Op::Literal: return true;
        case Op::Var: return value(e->attr.symbol);
        case Op::PackedVec: return true;
        case Op::MakeVec: return vectors_.count(e);
        case Op::MakeStruct:
            return std::all_of(e->args().begin(), e->args().end(),
                               [this](const Expr* a) { return holds(a); });
        default: return false;
    }
}

const Expr* Constants::value(const Symbol* s) const {
    const Expr* const* known = values_.find(s);
    return known ? *known : nullptr;
}

}  // namespace weld
