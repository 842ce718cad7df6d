// Taking the index of each lookup apart: into the counter of the loop, and what stays the same.
#include "weldir/passes/walks.h"

#include <algorithm>

#include "weldir/ir/walk.h"

namespace weld {

std::optional<std::int64_t> Walk::distance() const {
    if (!is_int(counter_start, 0)) return {};
    if (!offset) return 0;
    std::int64_t sign = 1;
    const Expr* e = offset;
    if (e->op == Op::Sub && is_int(e->arg(0), 0)) {
        sign = -1;
        e = e->arg(1);
    }
    const Literal n = e->as<Literal>();
    if (!n || n.as_int() > kFarthestWalk || n.as_int() < -kFarthestWalk) return {};
    return sign * n.as_int();
}

const Expr* Walk::behind() const {
    const bool is_behind =
        is_int(counter_start, 0) && offset && offset->op == Op::Sub && is_int(offset->arg(0), 0);
    return is_behind && offset->arg(1)->op != Op::Literal ? offset->arg(1) : nullptr;
}

const Expr* Walk::start(Module& m) const {
    if (!offset) return counter_start;
    return is_int(counter_start, 0) ? offset : scalar_op(m, Op::Add, {counter_start, offset});
}

void Middle::end_before(const Expr* limit, std::int64_t plus) {
    for (const Last& last : lasts_)
        if (last.plus == plus && same(last.limit, limit)) return;
    lasts_.push_back({limit, plus});
}

WalkFinder::WalkFinder(Module& m, Facts& facts, For loop, bool clamped)
    : m_(m), facts_(facts), loop_(loop), clamped_(clamped) {
    visit(loop.body().node, [&](const Expr* e) { inside_.insert(e->symbols().begin(), e->symbols().end()); });
    look(loop.body().body());
}

bool WalkFinder::all_inside() const {
    return std::ranges::all_of(walks_, [](const Walk& w) { return w.is_inside; });
}

int WalkFinder::walk_of(const Expr* lookup) {
    const std::optional<Walk> w = as_walk(lookup);
    return w ? position(*w) : -1;
}

void WalkFinder::look(const Expr* e) {
    if (e->op == Op::Lambda) return;
    for (const Expr* a : e->args()) look(a);
    if (e->op != Op::Lookup) return;
    const Middle without = middle_;
    const std::optional<Walk> w = as_walk(e);
    if (!w) middle_ = without;
    else if (position(*w) < 0) walks_.push_back(*w);
}

static bool is_same(const Expr* a, const Expr* b) { return a && b ? same(a, b) : a == b; }

int WalkFinder::position(const Walk& w) const {
    for (std::size_t i = 0; i < walks_.size(); ++i)
        if (same(walks_[i].vec, w.vec) && is_same(walks_[i].offset, w.offset) &&
            same(walks_[i].counter_start, w.counter_start))
            return int(i);
    return -1;
}

bool WalkFinder::reads_vector(Lookup at) const {
    return at && is_path(at.of()) && !inside_.count(base_of(at.of())) && at.of()->type->is_vec() &&
           at.of()->type->elem()->is_scalar();
}

bool WalkFinder::is_still(const Expr* e) {
    const Lookup at = e->as<Lookup>();
    return reads_vector(at) && is_the_same_always(at.key());
}

std::optional<Walk> WalkFinder::as_walk(const Expr* e) {
    const Lookup at = e->as<Lookup>();
    if (!reads_vector(at)) return {};
    Walk w = {at.of(), nullptr, nullptr, false, false};
    if (!take_apart(at.key(), w) || !w.counter_start) return {};
    const std::optional<Count> rounds = facts_.iterations(loop_.node), n = facts_.length(w.vec);
    w.is_whole = !w.offset && is_int(w.counter_start, 0) && rounds && n &&
                 facts_.agree(*rounds, *n, loop_.index_param());
    w.is_inside = w.is_whole || facts_.walks_inside(w.vec, w.start(m_), loop_.node);
    return w;
}

/// Reads `key` as the counter plus an offset that is the same in every round.
bool WalkFinder::take_apart(const Expr* key, Walk& w) {
    if (const Expr* start = counter_start(key)) {
        if (w.counter_start) return false;
        w.counter_start = start;
        return true;
    }
    if (is_the_same_always(key)) {
        add_offset(w, Op::Add, key);
        return true;
    }
    key = facts_.resolve(key);
    if (const Expr* inside = clamped_ ? in_middle(key) : nullptr) return take_apart(inside, w);
    if (key->op == Op::Add) return take_apart(key->arg(0), w) && take_apart(key->arg(1), w);
    if (key->op != Op::Sub || !is_the_same_always(key->arg(1)) || !take_apart(key->arg(0), w)) return false;
    add_offset(w, Op::Sub, key->arg(1));
    return true;
}

void WalkFinder::add_offset(Walk& w, Op op, const Expr* by) {
    if (!w.offset && op == Op::Add) w.offset = by;
    else w.offset = scalar_op(m_, op, {w.offset ? w.offset : int_literal(m_, by->type, 0), by});
}

bool WalkFinder::is_the_same_always(const Expr* e) {
    if (!facts_.traits(e).free_to_repeat() || facts_.traits(e).heavy) return false;
    const std::vector<const Symbol*> read = free_symbols(e);
    return std::none_of(read.begin(), read.end(), [&](const Symbol* s) { return inside_.count(s) > 0; });
}

/// The first value of a counter of the loop; null if `e` is none.
const Expr* WalkFinder::counter_start(const Expr* e) {
    e = facts_.root(e);
    if (is_var(e, loop_.index_param())) return i64_literal(m_, 0);
    if (!is_path(e) || base_of(e) != loop_.elem_param()) return nullptr;
    std::size_t datum = 0;
    if (loop_.data().size() > 1) {
        if (e->op != Op::GetField || e->arg(0)->op != Op::Var) return nullptr;
        datum = e->attr.index;
    } else if (e->op != Op::Var) {
        return nullptr;
    }
    const Iter range = loop_.data()[datum]->as<Iter>();
    if (!range || !range.shape().range || range.shape().kind != IterKind::Scalar) return nullptr;
    return is_int(range.stride(), 1) ? range.start() : nullptr;
}

// ---- clamps

/// How far `e` is ahead of the rounds, if it counts along with them.
std::optional<std::int64_t> WalkFinder::ahead(const Expr* e) {
    Walk w = {e, nullptr, nullptr, false, false};
    if (!take_apart(e, w) || !w.counter_start) return {};
    return w.distance();
}

/// What is compared with the counter + `ahead` is about the first rounds, a small number; if not, the last.
/// Nothing if that can't be told.
std::optional<bool> WalkFinder::at_begin(const Expr* limit, std::int64_t ahead) {
    const Literal n = facts_.resolve(limit)->as<Literal>();
    if (!n) return is_the_same_always(limit) ? std::optional(false) : std::nullopt;
    if (n.as_int() > kFarthestWalk || n.as_int() < -kFarthestWalk) return false;
    const std::optional<Count> rounds = facts_.iterations(loop_.node);
    return !rounds || !rounds->known() || 2 * (n.as_int() - ahead) <= *rounds->known();
}

/// What an index is in the middle that begins or ends where it would not be kept inside; null if it is no
/// such index.
const Expr* WalkFinder::in_middle(const Expr* key) {
    switch (key->op) {
        case Op::Max:
        case Op::Min: {
            const bool max = key->op == Op::Max;
            const auto first = ahead(key->arg(0)), second = ahead(key->arg(1));
            if (first && second) return key->arg((*first >= *second) == max ? 0 : 1);
            if (!first && !second) return nullptr;
            const Expr *index = key->arg(first ? 0 : 1), *limit = key->arg(first ? 1 : 0);
            const std::int64_t by = first ? *first : *second;
            if (at_begin(limit, by) != max) return nullptr;
            if (max) middle_.begin_at(facts_.resolve(limit)->as<Literal>().as_int() - by);
            else middle_.end_before(limit, 1 - by);
            return index;
        }
        case Op::If:
        case Op::Select: {
            const std::optional<bool> holds = holds_in_middle(key->arg(0));
            return holds ? key->arg(*holds ? 1 : 2) : nullptr;
        }
        case Op::Rem: return unwrapped(key);
        default: return nullptr;
    }
}

/// Where an index goes around a ring of `n`, `(i + 1L) % n` or `(i + n - 1L) % n`, the counter and what it is
/// ahead in the rounds in which it does not.
const Expr* WalkFinder::unwrapped(const Expr* key) {
    const Expr* n = key->arg(1);
    Walk w = {key, nullptr, nullptr, false, false};
    if (key->type != m_.types.i64() || !is_the_same_always(n)) return nullptr;
    if (!take_apart(key->arg(0), w) || !w.counter_start || !is_int(w.counter_start, 0)) return nullptr;
    const std::optional<Count> ring = facts_.count(n), rounds = facts_.iterations(loop_.node);
    const std::optional<Count> offset = w.offset ? facts_.count(w.offset) : Count(std::int64_t(0));
    if (!ring || !offset) return nullptr;
    // a number that the loop goes around often, as `i % 7L` does, leaves no middle to speak of
    if (ring->known() && !(rounds && rounds->known() && *rounds->known() <= 2 * *ring->known()))
        return nullptr;
    std::optional<std::int64_t> by = offset->known();
    if (!by) by = (*offset - *ring).known();
    if (!by || *by < -kFarthestWalk || *by > kFarthestWalk) return nullptr;
    // no ring is so long that its numbers wrap around
    const Expr* is_ring = scalar_op(m_, Op::Le, {n, i64_literal(m_, kFar)});
    middle_.end_before(select(m_, is_ring, n, i64_literal(m_, 0)), -*by);
    middle_.begin_at(-*by);
    const Expr* counter = var(m_, loop_.index_param());
    return *by ? scalar_op(m_, Op::Add, {counter, i64_literal(m_, *by)}) : counter;
}

static Op turned(Op op) {
    switch (op) {
        case Op::Lt: return Op::Gt;
        case Op::Le: return Op::Ge;
        case Op::Gt: return Op::Lt;
        case Op::Ge: return Op::Le;
        default: return op;
    }
}

/// A comparison of the counter with something else.
std::optional<WalkFinder::Compared> WalkFinder::compared(const Expr* cond) {
    if (!is_comparison(cond->op) || cond->arg(0)->type != m_.types.i64()) return {};
    if (const auto by = ahead(cond->arg(0))) return Compared{cond->op, *by, cond->arg(1)};
    if (const auto by = ahead(cond->arg(1))) return Compared{turned(cond->op), *by, cond->arg(0)};
    return {};
}

/// Some walk begins in that round, which may be any.
bool WalkFinder::begins_at(const Expr* round) const {
    return std::ranges::any_of(walks_, [&](const Walk& w) { return w.behind() && same(w.behind(), round); });
}

template <class Fn>
auto WalkFinder::within_middle(Fn&& fn) -> decltype(fn()) {
    const Middle without = middle_;
    const auto found = fn();
    const bool is_clamped =
        middle_.from() != without.from() || middle_.lasts().size() != without.lasts().size();
    middle_ = without;
    return is_clamped ? decltype(fn()){} : found;
}

const Expr* WalkFinder::without_ring(const Expr* rem) {
    return clamped_ ? within_middle([&] { return unwrapped(rem); }) : nullptr;
}

std::optional<bool> WalkFinder::settled(const Expr* cond, std::int64_t first) {
    const std::optional<Compared> c = within_middle([&] { return compared(cond); });
    if (!c) return {};
    // how far the counter is at least above the limit, or below it
    std::optional<std::int64_t> above, below;
    if (const Literal n = facts_.resolve(c->limit)->as<Literal>()) {
        const std::int64_t limit = n.as_int();
        if (-kFarthestWalk <= limit && limit <= kFarthestWalk) above = first + c->ahead - limit;
    } else if (begins_at(c->limit)) {
        above = c->ahead;
    } else if (const std::optional<Count> limit = facts_.count(c->limit)) {
        for (const Walk& w : walks_) {
            const std::optional<Count> length = facts_.length(w.vec);
            const std::optional<std::int64_t> by = w.distance();
            const std::optional<std::int64_t> over =
                length && by ? (*limit - *length).known() : std::nullopt;  // the limit over the length
            if (over) below = std::max(below.value_or(INT64_MIN), *over + 1 + *by - c->ahead);
        }
    }
    const bool is_above = above && *above > 0, is_below = below && *below > 0;
    switch (c->op) {
        case Op::Eq:
        case Op::Ne: return is_above || is_below ? std::optional(c->op == Op::Ne) : std::nullopt;
        case Op::Gt:
        case Op::Le:
            if (is_above || (below && *below >= 0)) return is_above == (c->op == Op::Gt);
            return {};
        default:
            if (is_below || (above && *above >= 0)) return is_below == (c->op == Op::Lt);
            return {};
    }
}

std::optional<bool> WalkFinder::holds_in_middle(const Expr* cond) {
    cond = facts_.resolve(cond);
    switch (cond->op) {
        case Op::Not:
            if (const auto holds = holds_in_middle(cond->arg(0))) return !*holds;
            return {};
        case Op::And:
        case Op::BitAnd:
        case Op::Or:
        case Op::BitOr: {
            const bool decides = cond->op == Op::Or || cond->op == Op::BitOr;
            const auto first = holds_in_middle(cond->arg(0)), second = holds_in_middle(cond->arg(1));
            if (first == decides || second == decides) return decides;
            return first && second ? std::optional(!decides) : std::nullopt;
        }
        default: break;
    }
    const std::optional<Compared> c = compared(cond);
    if (!c) return {};
    const std::optional<bool> begin = at_begin(c->limit, c->ahead);
    if (!begin) return {};
    const bool next =
        *begin ? c->op != Op::Ge && c->op != Op::Lt : c->op == Op::Le || c->op == Op::Gt;  // one round later
    if (*begin) middle_.begin_at(facts_.resolve(c->limit)->as<Literal>().as_int() - c->ahead + next);
    else middle_.end_before(c->limit, next - c->ahead);
    if (c->op == Op::Eq || c->op == Op::Ne) return c->op == Op::Ne;
    return (c->op == Op::Gt || c->op == Op::Ge) == *begin;
}

}  // namespace weld
