// Loops that append several values in each round append one struct of them.
//
//     let v = result(for(x, appender[u8], |b, i, e| merge(merge(b, e >> 4u8), e & 15u8)));
// becomes
//     let rows = result(for(x, appender[{u8,u8}], |b, i, e| merge(b, {e >> 4u8, e & 15u8})));
//     let v = cudf[weld_fields,vec[u8]](rows);
//
// where the kernel gives the same memory. Structs, if they are not too large, are appended in lanes, their fields in turn; values one after the other
// are not. Not inside of loops, where vectors tend to be short and lie in slabs (slabs.cpp).
#include "weldir/ir/builder.h"
#include "weldir/ir/kernels.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

/// Adds what `e` merges into `builder` to `values`, in order; false if it does something else.
bool list_merges(const Expr* e, const Symbol* builder, std::vector<const Expr*>* values) {
    if (is_var(e, builder)) return true;
    const Merge g = e->as<Merge>();
    if (!g || g.mask() || !list_merges(g.builder(), builder, values)) return false;
    values->push_back(g.value());
    return true;
}

const Expr* of_structs(Module& m, const Expr* e) {
    const For loop = e->op == Op::Result ? e->arg(0)->as<For>() : For{};
    const NewBuilder start = loop ? loop.builder()->as<NewBuilder>() : NewBuilder{};
    if (!start || !info(start.kind()).lists_merges || start.node->num_args > 0) return nullptr;
    const Type* elem = start.node->type->elem();
    if (!elem->is_scalar() || elem->is_bool()) return nullptr;
    const Lambda body = loop.body();
    const Block lets = body.body()->as<Block>();
    std::vector<const Expr*> values;
    const Expr* merges = lets ? lets.result() : body.body();
    if (!list_merges(merges, loop.builder_param(), &values) || values.size() < 2) return nullptr;

    const Type* row = m.types.structure(std::vector<const Type*>(values.size(), elem));
    const Type* rows = m.types.vec(row);
    if (!find_builtin_kernel("weld_fields", {&rows, 1}, e->type)) return nullptr;
    const Type* builder = m.types.builder(start.kind(), {&row, 1});
    if (!info(start.kind()).takes_lanes(builder)) return nullptr;
    const Symbol* b = m.symbol(loop.builder_param()->name, builder);
    const Expr* step = merge(m, var(m, b), make_struct(m, values, merges->loc), nullptr, merges->loc);
    if (lets) {
        std::vector<const Expr*> args(lets.node->args().begin(), lets.node->args().end());
        args.back() = step;
        step = with_args(m, lets.node, args);
    }
    const Lambda round =
        lambda(m, {b, loop.index_param(), loop.elem_param()}, step, body.node->loc)->as<Lambda>();
    const Expr* made = weld::loop(m, loop.data(), new_builder(m, builder, nullptr, start.node->loc),
                                  round.node, loop.node->loc);
    const Expr* all = result(m, with_annotations(m, made, loop.node->annotations), e->loc);
    return builtin_kernel(m, "weld_fields", e->type, {&all, 1}, e->loc);
}

/// Where what is asked first decides between two loops, each of them may be one that appends structs.
const Expr* of_either(Module& m, const Expr* e) {
    const If choice = e->op == Op::Result ? e->arg(0)->as<If>() : If{};
    if (!choice) return nullptr;
    const auto side = [&](const Expr* loop) {
        const Expr* all = result(m, loop, e->loc);
        const Expr* now = of_structs(m, all);
        return now ? now : all;
    };
    const Expr *yes = side(choice.then()), *no = side(choice.otherwise());
    if (yes->op == Op::Result && no->op == Op::Result) return nullptr;
    return if_(m, choice.cond(), yes, no, choice.node->loc);
}

const Expr* outermost(Module& m, const Expr* e) {
    if (const Expr* now = of_structs(m, e)) return now;
    if (const Expr* now = of_either(m, e)) return now;
    if (!e->binds || e->op == Op::For || e->op == Op::Iterate) return e;
    return map_args(m, e, [&](const Expr* a, std::size_t) { return outermost(m, a); });
}

}  // namespace

const Expr* append_structs(Module& m, const Expr* lambda) {
    return in_normal_form(m, lambda, outermost(m, lambda));
}

}  // namespace weld
