// Look-ups in bodies on lanes, in a vector that all lanes share. How far the places of neighbours lie apart
// is noted, where that is a small number:
//
//     lookup(v, i * 3L + k)
// is on lanes
//     @(apart:3) lookup[8](v, i * broadcast[8](3L) + broadcast[8](k))
//
// Then what lies between the first and the last lane is read as it lies, and their elements are picked out.
#include <cstdlib>
#include <string>

#include "weldir/ir/loop_forms.h"
#include "weldir/passes/lane_body.h"

namespace weld {

/// A look-up in a vector that is the same for all lanes.
bool LaneBody::is_gather(const Expr* e) const {
    return e->op == Op::Lookup && is_row(e->arg(0)->type) && is_path(e->arg(0)) && !varies(e->arg(0)) &&
           varies(e->arg(1));
}

/// Lanes that do not look up must not fail.
void LaneBody::scan_gather(const Expr* e, bool certain) {
    ok_ &= certain;
    count_width(e->type);
    count_width(e->arg(1)->type);
    scan(e->arg(1), certain);
}

const Expr* LaneBody::gathered(const Expr* e, Lets& lets) {
    const std::optional<std::int64_t> stride = lane_stride(e->arg(1));
    const Expr* all = lookup_lanes(m_, uniform(e->arg(0)), wide(e->arg(1), lets), e->loc);
    if (e->says(AttrKey::Tile, true)) return annotate(m_, all, AttrKey::Tile, "true");
    if (!stride || *stride == 0 || std::abs(*stride) > kFarthestLane) return all;
    return annotate(m_, all, AttrKey::Apart, std::to_string(*stride));
}

/// How far each lane's place lies behind that of the lane before, as arithmetic of i64 has it.
std::optional<std::int64_t> LaneBody::lane_stride(const Expr* place) {
    const std::optional<Count> sum = facts_.count(place);
    if (!sum) return {};
    Count stride;
    for (const Count::Product& p : sum->sum())
        for (const Expr* name : p.of) {
            if (!varying_.contains(base_of(name->op == Op::Len ? name->arg(0) : name))) continue;
            const std::optional<std::int64_t> step = step_of_counter(name);
            if (!step || p.of.size() > 1) return {};
            stride = stride + Count(p.factor) * Count(*step);
        }
    return stride.known();
}

/// How far a counter of the loop goes on in each round; nothing if it is none.
std::optional<std::int64_t> LaneBody::step_of_counter(const Expr* name) const {
    if (name->op == Op::Var && name->attr.symbol == loop_.index_param()) return 1;
    if (!is_path(name) || base_of(name) != loop_.elem_param()) return {};
    const bool zips = loop_.data().size() > 1;
    if (zips ? name->op != Op::GetField || name->arg(0)->op != Op::Var : name->op != Op::Var) return {};
    const Iter range = loop_.data()[zips ? name->attr.index : 0]->as<Iter>();
    const Literal step = range && range.shape().range ? range.stride()->as<Literal>() : Literal{};
    return step ? std::optional(step.as_int()) : std::nullopt;
}

}  // namespace weld
