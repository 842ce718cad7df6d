// Windows in bodies on lanes: lane k begins at the loop's index plus k, so that element j of all lanes lies
// side by side in memory.
//
//     for(slice(x, i, w), merger[f64,+], |b, j, e| merge(b, e))
// is for the lanes from `first` on
//     for(rangeiter(0L, w, 1L), merger[simd[f64,16],+], |b, j, e| merge(b, optlookup[16](x, first + e).$1))
//
// Whoever asks for the lanes has tested before that all windows are inside and equally long.
#include <algorithm>

#include "weldir/ir/build.h"
#include "weldir/passes/lane_body.h"
#include "weldir/passes/lengths.h"

namespace weld {

/// It is the same before the loop, where it cannot fail either.
bool LaneBody::is_known_outside(const Expr* e) {
    if (outside_.empty())
        for (const Symbol* s : free_symbols(loop_.node)) outside_.insert(s);
    const Traits& t = facts_.traits(e);
    return !t.fails && !t.calls && !t.ordered &&
           std::ranges::all_of(free_symbols(e), [&](const Symbol* s) { return outside_.contains(s); });
}

/// How far `e` is behind the loop's index, if that is known outside of the loop; else null.
const Expr* LaneBody::behind_index(const Expr* e) {
    const std::optional<const Expr*> offset = offset_of(e);
    if (!offset) return nullptr;
    if (!*offset) return i64_literal(m_, 0);
    return is_known_outside(*offset) ? *offset : nullptr;
}

const Expr* LaneBody::distance(const Expr* begin, const Expr* end) {
    const std::optional<Count> from = facts_.count(begin), to = facts_.count(end);
    const std::optional<std::int64_t> known = from && to ? (*to - *from).known() : std::nullopt;
    if (known) return i64_literal(m_, *known);
    return is_int(begin, 0) ? end : scalar_op(m_, Op::Sub, {end, begin});
}

std::optional<LaneBody::Window> LaneBody::window(const Expr* datum) {
    const auto of_index = [&](const Expr* of, const Expr* start, const Expr* size) -> std::optional<Window> {
        if (varies(of) || !is_path(of) || !is_known_outside(of) || !is_row(of->type)) return {};
        if (!varies(start)) return {};
        const Expr* offset = behind_index(start);
        return offset && size ? std::optional<Window>({of, offset, size}) : std::nullopt;
    };
    if (datum->op == Op::Var) {
        const auto at = slices_.find(datum->attr.symbol);
        return at == slices_.end() ? std::nullopt : window(at->second);
    }
    if (const Slice s = datum->as<Slice>())
        return of_index(s.of(), s.start(),
                        !varies(s.size()) && is_known_outside(s.size()) ? s.size() : nullptr);
    const Iter it = datum->as<Iter>();
    if (!it || it.shape().kind != IterKind::Scalar || it.shape().nd || it.shape().range ||
        !it.shape().bounded || !is_int(it.stride(), 1) || !varies(it.start()))
        return {};
    const Expr *begin = behind_index(it.start()), *end = behind_index(it.end());
    return of_index(it.data(), it.start(), begin && end ? distance(begin, end) : nullptr);
}

/// `iter(of, k * size, k * size + size, 1L)`, or `slice(of, k * size, size)`, where `k` counts along with the loop.
std::optional<LaneBody::FlatRow> LaneBody::flat_row(const Expr* datum) {
    if (datum->op == Op::Var) {
        const auto at = slices_.find(datum->attr.symbol);
        return at == slices_.end() ? std::nullopt : flat_row(at->second);
    }
    const Iter it = datum->as<Iter>();
    const Slice s = datum->as<Slice>();
    const bool walks = it && it.shape().kind == IterKind::Scalar && !it.shape().nd && !it.shape().range &&
                       it.shape().bounded && is_int(it.stride(), 1);
    if (!walks && !s) return {};
    const Expr *of = s ? s.of() : it.data(), *begin = s ? s.start() : it.start();
    if (varies(of) || !is_path(of) || !is_known_outside(of) || !is_row(of->type) || !varies(begin)) return {};
    const Expr* start = facts_.resolve(begin);
    if (start->op != Op::Mul) return {};
    const bool swapped = !varies(start->arg(0));
    const Expr *row = start->arg(swapped ? 1 : 0), *size = start->arg(swapped ? 0 : 1);
    if (varies(size) || !is_known_outside(size)) return {};
    const std::optional<Count> length = facts_.count(size);
    std::optional<Count> found;
    if (s) {
        found = facts_.count(s.size());
    } else if (const auto from = facts_.count(begin), to = facts_.count(it.end()); from && to) {
        found = *to - *from;
    }
    if (!length || !found || *found != *length) return {};
    const Expr* offset = behind_index(row);
    return offset ? std::optional<FlatRow>({of, offset, size}) : std::nullopt;
}

std::optional<std::size_t> LaneBody::number_of(const FlatRow& row) const {
    for (std::size_t i = 0; i < flat_rows_.size(); ++i) {
        const FlatRow& other = flat_rows_[i];
        if (same(row.of, other.of) && same(row.offset, other.offset) && same(row.size, other.size)) return i;
    }
    return {};
}

// ---- on lanes

const Expr* LaneBody::begin_of(const Window& w) {
    return is_int(w.offset, 0) ? first_ : scalar_op(m_, Op::Add, {first_, fresh(m_, w.offset)});
}

/// The window of the first lane.
const Expr* LaneBody::first_window(const Window& w, Loc loc) {
    return slice(m_, w.of, begin_of(w), fresh(m_, w.size), loc);
}

/// Element `k` of each lane's window.
const Expr* LaneBody::window_lanes(const Window& w, const Expr* k, Lets& lets) {
    const Expr* at = scalar_op(m_, Op::Add, {begin_of(w), k});
    return get_field(m_, named(opt_lanes(m_, w.of, at, lanes_), lets), 1);
}

}  // namespace weld
