// Facts: which conditions hold where, and what they say of the data of loops.
//
//     let a = assert(len(v) == r * c);               place 0   nothing is known
//     if(i < n,                                      place 1   len(v) is r * c, everywhere (depth 0)
//       lookup(v, i),                                place 2   and i < n, as long as it stays on this side
//       0.0)                                         place 3   and n <= i
//
// The places of loops, look-ups and iterators are noted in one walk, when the first question comes. Nodes
// that a pass makes afterwards are nowhere: of them nothing is known but what holds everywhere.
#include <algorithm>
#include <utility>

#include "weldir/ir/facts.h"

namespace weld {

void Facts::find_conditions() {
    if (!std::exchange(conditions_found_, true)) find_conditions(root_, 0, 0, false);
}

void Facts::find_conditions(const Expr* e, Place place, Depth depth, bool outermost) {
    switch (e->op) {
        case Op::Block: {
            const Block b = e->as<Block>();
            for (const Expr* value : b.values()) {
                find_conditions(value, place, depth, false);
                const Assert a = value->as<Assert>();
                if (!a) continue;
                const Place now = behind(a.of(), true, place, outermost ? 0 : depth + 1);
                depth += now != place && !outermost;
                place = now;
            }
            if (outermost) place_at_end_ = place;
            return find_conditions(b.result(), place, depth, false);
        }
        case Op::Iterate: return find_in_rounds(e->as<Iterate>(), place, depth);
        case Op::If:
            find_conditions(e->arg(0), place, depth, false);
            find_in_branch(e, 1, true, place, depth);
            return find_in_branch(e, 2, false, place, depth);
        case Op::And:
        case Op::Or:
            find_conditions(e->arg(0), place, depth, false);
            return find_in_branch(e, 1, e->op == Op::And, place, depth);
        case Op::For: loop_places_[e->as<For>().index_param()] = place; break;
        case Op::Lookup:
        case Op::Iter: note_place(e, place); break;
        default:
            if (is_comparison(e->op) && e->arg(0)->type == m_.types.i64()) note_place(e, place);
    }
    for (const Expr* a : e->args()) find_conditions(a, place, depth, e == root_ && e->op == Op::Lambda);
}

void Facts::find_in_branch(const Expr* e, std::size_t arg, bool holds, Place place, Depth depth) {
    const Place there = behind(e->arg(0), holds, place, depth + 1);
    if (there != place) branch_depths_[e] = std::max(branch_depths_[e], depth + 1);
    find_conditions(e->arg(arg), there, depth + (there != place), false);
}

/// The comparisons of i64 that hold where `condition` does, or doesn't.
void Facts::list_comparisons(const Expr* condition, bool holds, std::vector<Comparison>& all) {
    const Expr* e = resolve(condition);
    switch (e->op) {
        case Op::Not: return list_comparisons(e->arg(0), !holds, all);
        case Op::And:
        case Op::BitAnd:
        case Op::Or:
        case Op::BitOr:
            if ((e->op == Op::And || e->op == Op::BitAnd) != holds) return;
            list_comparisons(e->arg(0), holds, all);
            return list_comparisons(e->arg(1), holds, all);
        default: break;
    }
    if (!is_comparison(e->op) || e->arg(0)->type != m_.types.i64()) return;
    const std::optional<Count> a = count(e->arg(0)), b = count(e->arg(1));
    if (!a || !b) return;
    switch (e->op) {
        case Op::Eq:
        case Op::Ne:
            if ((e->op == Op::Eq) == holds) all.push_back({Op::Eq, *a, *b});
            break;
        case Op::Lt:
        case Op::Ge:
            if ((e->op == Op::Lt) == holds) all.push_back({Op::Lt, *a, *b});
            else all.push_back({Op::Le, *b, *a});
            break;
        default:
            if ((e->op == Op::Gt) == holds) all.push_back({Op::Lt, *b, *a});
            else all.push_back({Op::Le, *a, *b});
    }
}

/// The place where `condition` holds, or doesn't.
Conditions::Place Facts::behind(const Expr* condition, bool holds, Place place, Depth depth) {
    std::vector<Comparison> all;
    list_comparisons(condition, holds, all);
    for (const auto& [op, a, b] : all) place = conditions_.add(place, depth, op, a, b);
    return place;
}

/// A node that stands in several places knows what all of them do.
void Facts::note_place(const Expr* e, Place place) {
    if (Place* known = places_.find(e)) *known = conditions_.common(*known, place);
    else places_[e] = place;
}

Conditions::Place Facts::place_of(const Expr* e) {
    find_conditions();
    const Place* place = places_.find(e);
    return place ? *place : 0;
}

Conditions::Place Facts::place_of(const Symbol* index) {
    find_conditions();
    const Place* place = index ? loop_places_.find(index) : nullptr;
    return place ? *place : 0;
}

std::optional<Count> Facts::asserted(const Expr* name) {
    find_conditions();
    for (const Conditions::Equal& equal : conditions_.solved(place_at_end_, Conditions::kNever))
        if (equal.name == name) return equal.is;
    return {};
}

bool Facts::agree(const Count& a, const Count& b, const Symbol* at) {
    return a == b || (at && conditions_.equal(a, b, place_of(at)) != Conditions::kNever);
}

/// Conditions of what depth make the data of a loop equally long.
Conditions::Depth Facts::agreement(std::span<const Expr* const> data, Place place) {
    if (data.size() < 2) return 0;
    const std::optional<Count> first = iterations_of(data[0]);
    Depth all = first ? 0 : Conditions::kNever;
    for (std::size_t i = 1; i < data.size() && all != Conditions::kNever; ++i) {
        const std::optional<Count> n = iterations_of(data[i]);
        all = Conditions::outer(all, n ? conditions_.equal(*n, *first, place) : Conditions::kNever);
    }
    return all;
}

bool Facts::lengths_agree(std::span<const Expr* const> data, const Symbol* at) {
    return agreement(data, 0) == 0 || (at && agreement(data, place_of(at)) != Conditions::kNever);
}

}  // namespace weld
