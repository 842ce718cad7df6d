// Look-ups in bodies on lanes, in a vector that all lanes share. How far the places of neighbours lie apart
// is noted, where that is a small number:
//
//     lookup(v, i * 3L + k)
// is on lanes
//     @(apart:3) lookup[8](v, i * broadcast[8](3L) + broadcast[8](k))
//
// Then what lies between the first and the last lane is read as it lies, and their elements are picked out.
//
// So it is noted where each lane goes along a row of its own, from round to round of an `iterate`:
//
//     iterate({0L, ...}, |s| ... lookup(m, i * c + s.$0) ... {{s.$0 + 1L, ...}, s.$0 + 1L < c})
// has on lanes
//     @(walks:true) lookup[8](m, i * broadcast[8](c) + broadcast[8](s.$0))
//
// These lanes are loaded one by one, which processors follow, to fetch what comes next; gathers they do not:
// the largest of each row takes a third of the time.
#include <cstdlib>
#include <string>

#include "weldir/ir/loop_forms.h"
#include "weldir/passes/lane_body.h"

namespace weld {

constexpr int kLeastGathered = 4;  // bytes

/// A look-up in a vector that is the same for all lanes.
bool LaneBody::is_gather(const Expr* e) const {
    return e->op == Op::Lookup && is_row(e->arg(0)->type) && !varies(e->arg(0)) && varies(e->arg(1));
}

/// So far that what lies between the lanes is read as well.
static bool is_near(std::optional<std::int64_t> stride, const Type* type) {
    return stride && *stride != 0 && std::abs(*stride) <= farthest_lane(type);
}

/// Lanes that do not look up must not fail: these do so under a mask. Where lanes of an `iterate` end apart, looking up one
/// behind the other takes no longer alone, nor do bytes, which lanes have no instruction for.
void LaneBody::scan_gather(const Expr* e, bool certain) {
    if (some_have_ended_) ok_ &= size_of(e->type->scalar) >= kLeastGathered && lanes_jump(e->arg(1));
    looks_up_ = true;
    count_width(e->type);
    const std::optional<std::int64_t> stride = lane_stride(e->arg(1));
    if (!rounds_.empty() && stride && std::abs(*stride) == 1 && !goes_along_in_rounds(e->arg(1)))
        side_by_side_ = true;
    if (!is_near(stride, e->type)) count_taken_apart();
    scan(e->arg(0), certain);
    if (!is_place(e->arg(1)) || !is_near(stride, e->type)) count_width(e->arg(1)->type);
    scan(e->arg(1), certain);
}

const Expr* LaneBody::gathered(const Expr* e, Lets& lets) {
    const std::optional<std::int64_t> stride = lane_stride(e->arg(1));
    const Expr* row = named(uniform(e->arg(0)), lets);
    const Expr* all = lookup_lanes(m_, row, wide(e->arg(1), lets), mask_, e->loc);
    if (e->says(AttrKey::Tile, true)) return annotate(m_, all, AttrKey::Tile, "true");
    if (is_near(stride, e->type)) return annotate(m_, all, AttrKey::Apart, std::to_string(*stride));
    return !mask_ && lanes_walk(e->arg(1)) ? annotate(m_, all, AttrKey::Walks, "true") : all;
}

/// How far each lane's place lies behind that of the lane before, as arithmetic of i64 has it.
std::optional<std::int64_t> LaneBody::lane_stride(const Expr* place) {
    if (!varies(place)) return 0;
    const std::optional<Count> sum = facts_.count(place);
    if (!sum) {  // of parts that all lanes share no more is known
        const Expr* e = facts_.resolve(place);
        if (e->op != Op::Add && e->op != Op::Sub) return {};
        const std::optional<std::int64_t> a = lane_stride(e->arg(0)), b = lane_stride(e->arg(1));
        if (!a || !b) return {};
        return (Count(*a) + Count(e->op == Op::Add ? 1 : -1) * Count(*b)).known();
    }
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

/// The place goes on by one from round to round of a loop inside, of which lanes of its own would be better.
bool LaneBody::goes_along_in_rounds(const Expr* place) {
    const auto is_counter = [&](const Expr* e) {
        return std::ranges::any_of(rounds_, [&](For f) {
            return is_var(e, f.index_param()) || (is_path(e) && base_of(e) == f.elem_param());
        });
    };
    const Expr* e = facts_.resolve(place);
    if (is_counter(place) || is_counter(e)) return true;
    return (e->op == Op::Add || e->op == Op::Sub) &&
           (goes_along_in_rounds(e->arg(0)) || goes_along_in_rounds(e->arg(1)));
}

/// The place goes on by few elements in each round of an `iterate`, from where the lane has begun.
bool LaneBody::lanes_walk(const Expr* place) {
    constexpr std::int64_t most = 8;  // elements, some of which share a line of the cache
    const std::optional<Count> sum = facts_.count(place);
    if (!sum) return false;
    Count by;
    for (const Count::Product& p : sum->sum())
        for (const Expr* name : p.of) {
            const std::optional<std::int64_t> step = step_in_rounds(name);
            if (step && p.of.size() == 1) by = by + Count(p.factor) * Count(*step);
        }
    const std::optional<std::int64_t> step = by.known();
    return step && *step != 0 && std::abs(*step) <= most;
}

/// The place lies elsewhere in each round of an `iterate`, as far as one can tell.
bool LaneBody::lanes_jump(const Expr* place) {
    if (lanes_walk(place)) return false;
    const std::optional<Count> sum = facts_.count(place);
    return !sum || std::ranges::all_of(sum->sum(), [&](const Count::Product& p) {
        return std::ranges::all_of(p.of, [&](const Expr* name) {
            const Expr* next = next_in_rounds(name);
            return !next || next->op != Op::GetField;
        });
    });
}

/// What `name`, the state of an `iterate` or a field of it, is in the next round; null if it is none.
const Expr* LaneBody::next_in_rounds(const Expr* name) {
    const bool is_field = name->op == Op::GetField && name->arg(0)->op == Op::Var;
    if (!is_field && !(name->op == Op::Var && name->type->is_scalar())) return nullptr;
    for (const auto& [node, step] : steps_) {
        if (step.fields.empty() || base_of(name) != node->as<Iterate>().body().param(0)) continue;
        const Expr* next = step.fields[is_field ? std::size_t(name->attr.index) : 0];
        const bool is_of_name = next->op == Op::GetField && next->arg(0)->op == Op::Var;
        return is_of_name ? part(facts_.resolve(next->arg(0)), std::size_t(next->attr.index)) : next;
    }
    return nullptr;
}

/// How far it goes on in each round; nothing if it is none, or this varies.
std::optional<std::int64_t> LaneBody::step_in_rounds(const Expr* name) {
    const Expr* next = next_in_rounds(name);
    const std::optional<Count> count = next ? facts_.count(next) : std::nullopt;
    return count ? (*count - Count(name)).known() : std::nullopt;
}

/// How far a counter of the loop goes on in each round; nothing if it is none.
std::optional<std::int64_t> LaneBody::step_of_counter(const Expr* name) const {
    if (is_var(name, loop_.index_param())) return 1;
    const Expr* datum = datum_of(loop_, name);
    const Iter range = datum ? datum->as<Iter>() : Iter{};
    const Literal step = range && range.shape().range ? range.stride()->as<Literal>() : Literal{};
    return step ? std::optional(step.as_int()) : std::nullopt;
}

}  // namespace weld
