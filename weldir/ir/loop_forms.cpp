// Telling whether a loop has the form that an annotation is about.
#include "weldir/ir/loop_forms.h"

#include <algorithm>
#include <vector>

#include "weldir/ir/builder.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"

namespace weld {

std::optional<Filter> filter_of(For f) {
    const Expr* body = f.body().body();
    const Block lets = body->as<Block>();
    const If choice = (lets ? lets.result() : body)->as<If>();
    if (!choice) return {};
    const auto is_untouched = [&](const Expr* e) { return is_var(e, f.builder_param()); };
    const bool wanted = is_untouched(choice.otherwise());
    if (!wanted && !is_untouched(choice.then())) return {};
    return Filter{lets, choice.cond(), wanted, wanted ? choice.then() : choice.otherwise()};
}

bool is_known_early(const Filter& filter) {
    for (std::size_t i = 0; filter.lets && i < filter.lets.size(); ++i)
        if (!is_movable(filter.lets.value(i))) return false;
    return is_movable(filter.cond);
}

bool does_nothing(For loop) {
    const Var end = loop.body().body()->as<Var>();
    return end && end.symbol() == loop.builder_param();
}

/// Whether a body can do a round on some of `lanes` lanes: it has no loops, calls or builders of its own, and
/// merges all lanes or none.
static bool has_plain_lanes(const Expr* body, std::uint32_t lanes) {
    bool plain = true;
    visit(body, [&](const Expr* e) {
        switch (e->op) {
            case Op::Lambda:
            case Op::NewBuilder:
            case Op::Result:
            case Op::Call:
            case Op::Kernel: plain = false; break;
            case Op::Merge: plain &= !e->type->holds_simd && lanes_in(e->arg(1)->type) == lanes; break;
            case Op::Block:
                for (const Expr* v : e->as<Block>().values()) plain &= !v->type->holds_builder;
                break;
            default: break;
        }
    });
    return plain;
}

/// The fringe of what `full` goes over.
static bool is_rest_of(Iter full, Iter rest) {
    if (!full || !rest || full.shape().kind != IterKind::Simd || rest.shape().kind != IterKind::Fringe)
        return false;
    if (rest.lanes() != full.lanes() || (full.shape().bounded && !is_int(full.stride(), 1))) return false;
    return std::ranges::equal(full.node->args(), rest.node->args(), same);
}

For masked_loop(For rest) {
    const For lanes = rest.builder()->as<For>();
    if (!lanes || lanes.data().size() > rest.data().size()) return {};
    for (std::size_t i = 0; i < lanes.data().size(); ++i)
        if (!is_rest_of(lanes.data()[i]->as<Iter>(), rest.data()[i]->as<Iter>())) return {};
    const std::uint32_t n = lanes.data()[0]->as<Iter>().lanes();
    return n <= 64 && has_plain_lanes(lanes.body().body(), n) ? lanes : For{};
}

For last_loop(For f) {
    const Expr* end = f.body().body();
    if (const Block b = end->as<Block>()) end = b.result();
    return end->as<For>();
}

For tiled_loop(For outer) {
    const NewBuilder start = outer.builder()->as<NewBuilder>();
    const Annotation* size = start ? start.node->annotation(AttrKey::Size) : nullptr;
    if (!size || size->text != "given" || !info(start.node->type).lists_merges) return {};
    const For inner = last_loop(outer);
    if (!inner) return {};
    const For lanes = masked_loop(inner);
    const Var into = (lanes ? lanes : inner).builder()->as<Var>();
    if (!into || into.symbol() != outer.builder_param()) return {};
    return appends_per_iteration(inner) == std::vector<std::int64_t>{1} ? inner : For{};
}

}  // namespace weld
