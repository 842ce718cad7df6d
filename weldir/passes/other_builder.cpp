// Loops on builders of another type: builders stand at the ends of bodies, branches and blocks.
#include "weldir/passes/other_builder.h"

namespace weld {

const Expr* OtherBuilder::loop(For f, const Expr* start) {
    const Symbol* b = m_.symbol(f.builder_param()->name, to_);
    names_[f.builder_param()] = b;
    const Expr* body = rebuilt(f.body().body());
    if (!body) return nullptr;
    const Expr* by = lambda(m_, {b, f.index_param(), f.elem_param()}, body, f.body().node->loc);
    return with_annotations(m_, weld::loop(m_, f.data(), start, by, f.node->loc), f.node->annotations);
}

const Expr* OtherBuilder::rebuilt(const Expr* e) {
    switch (e->op) {
        case Op::Var: {
            const auto at = names_.find(e->attr.symbol);
            return at == names_.end() ? nullptr : var(m_, at->second);
        }
        case Op::Merge: {
            const Merge g = e->as<Merge>();
            const Expr* before = g.mask() ? nullptr : rebuilt(g.builder());
            return before ? merged_(g, before) : nullptr;
        }
        case Op::If: {
            const Expr *then = rebuilt(e->arg(1)), *otherwise = then ? rebuilt(e->arg(2)) : nullptr;
            return otherwise ? if_(m_, e->arg(0), then, otherwise, e->loc) : nullptr;
        }
        case Op::For: {
            const Expr* start = rebuilt(e->arg(0));
            return start ? loop(e->as<For>(), start) : nullptr;
        }
        case Op::Block: return block(e->as<Block>());
        default: return nullptr;
    }
}

const Expr* OtherBuilder::block(Block b) {
    Lets lets;
    for (std::size_t i = 0; i < b.size(); ++i) {
        const Symbol* name = b.symbol(i);
        const Expr* value = b.value(i);
        if (name->type->holds_builder) {
            value = name->type == from_ ? rebuilt(value) : nullptr;
            if (!value) return nullptr;
            name = names_[name] = m_.symbol(name->name, to_);
        }
        lets.emplace_back(name, value);
    }
    const Expr* result = rebuilt(b.result());
    return result ? weld::block(m_, lets, result, b.node->loc) : nullptr;
}

}  // namespace weld
