// What single nodes may do: the rows of ops.def, and where a node or another table knows better.
#include "weldir/ir/traits.h"

#include <algorithm>

#include "weldir/ir/builder.h"
#include "weldir/ir/module.h"

namespace weld {

static bool divides_by_what_may_be_zero(const Expr* e) {
    if (is_float(e->type->scalar)) return false;
    const Expr* by = e->arg(1)->op == Op::Broadcast ? e->arg(1)->arg(0) : e->arg(1);
    return by->op != Op::Literal || by->attr.bits == 0;
}

static Traits worst_of(Op op) {
    const unsigned does = info(op).does;
    Traits t;
    t.fails = does & OpInfo::Fails;
    t.heavy = does & OpInfo::Heavy;
    t.costly = does & OpInfo::Costly;
    t.builds = does & OpInfo::Builds;
    t.allocates = does & OpInfo::Allocates;
    return t;
}

Traits own_traits(const Expr* e) {
    Traits t = worst_of(e->op);
    switch (e->op) {
        case Op::Div:
        case Op::Rem: t.fails = divides_by_what_may_be_zero(e); break;
        case Op::Iter: t.fails = e->as<Iter>().shape().bounded; break;
        case Op::For: t.fails = e->as<For>().data().size() > 1; break;
        case Op::Merge:
            t.fails = info(e->type).merge_fails;
            t.allocates = e->as<Merge>().rows() > 0;
            break;
        case Op::NewBuilder: t.allocates = !is_value(info(e->type)); break;
        case Op::MakeVec:  // of constants: it lies in the program
            t.allocates = std::ranges::any_of(e->args(), [](const Expr* x) { return x->op != Op::Literal; });
            break;
        case Op::OptLanes:  // rows side by side; short ones in the frame
            t.heavy = e->type->holds_pointer;
            t.allocates = t.heavy && !e->as<OptLanes>().most();
            break;
        case Op::Kernel: {
            const KernelRef& ref = e->as<Kernel>().ref();
            t.fails = ref.fails;
            t.calls = !ref.pure;
            t.ordered = ref.effect || e->says(AttrKey::Parallel, false);
            break;
        }
        case Op::Call: {
            const Summary& body = e->as<Call>().function().summary;
            t.fails = body.fails;
            t.calls = body.calls;
            t.ordered = body.ordered;
            t.allocates = body.allocates;
            t.builds = std::ranges::any_of(e->args(), [](const Expr* a) { return a->type->holds_builder; });
            break;
        }
        default:
            if (is_comparison(e->op)) t.costly = !e->arg(0)->type->is_lanes();
    }
    t.fails_here = t.fails;
    return t;
}

/// Of `e` and all below it.
template <class Fn>
static bool all_nodes(const Expr* e, const Fn& fn) {
    return fn(own_traits(e)) &&
           std::ranges::all_of(e->args(), [&](const Expr* a) { return all_nodes(a, fn); });
}

template <class Fn>
static bool any_node(const Expr* e, const Fn& fn) {
    return fn(e) || std::ranges::any_of(e->args(), [&](const Expr* a) { return any_node(a, fn); });
}

bool is_movable(const Expr* e) {
    return !e->type->holds_builder &&
           all_nodes(e, [](const Traits& t) { return !t.fails && !t.calls && !t.ordered; });
}

bool is_straight_line(const Expr* e) {
    return !e->type->holds_builder &&
           all_nodes(e, [](const Traits& t) { return t.free_to_repeat() && !t.heavy; });
}

bool may_allocate(const Expr* e) {
    return !all_nodes(e, [](const Traits& t) { return !t.allocates; });
}

static bool lies_in_slab(const Expr* e) { return e->annotation(AttrKey::Slab); }
/// The value, or a part of it.
static bool has_slab(const Expr* e) {
    if (e->op == Op::Result) return lies_in_slab(e->arg(0));
    return lies_in_slab(e) || (e->op == Op::MakeStruct && std::ranges::any_of(e->args(), has_slab));
}
static bool chooses_builders(const Expr* e) { return e->op == Op::If && e->type->holds_builder; }

/// Vectors that `b` makes in slabs, to be merged, are merged in some rounds only.
static bool may_forget(Block b) {
    return std::ranges::any_of(b.values(), has_slab) && any_node(b.node, chooses_builders);
}

bool may_leave_memory(const Expr* e) {
    if (const Block b = e->as<Block>(); b && may_forget(b)) return true;
    // Of slabs all is kept, and what lies in scratch is taken back before the round ends.
    if (lies_in_slab(e) || e->annotation(AttrKey::Scratch) || e->op == Op::Merge) {
        const bool begins = e->op == Op::For && e->as<For>().builder()->op != Op::For;
        return std::ranges::any_of(e->args().subspan(begins ? 1 : 0), may_leave_memory);
    }
    if (e->op == Op::For && may_allocate(e->as<For>().builder())) return true;
    const bool in_place = e->op == Op::NewBuilder && info(e->type).indexed && e->says(AttrKey::InPlace, true);
    return (own_traits(e).allocates && !in_place) || std::ranges::any_of(e->args(), may_leave_memory);
}

}  // namespace weld
