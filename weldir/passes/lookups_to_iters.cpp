// A lookup that walks along with its loop becomes a datum of the loop.
//
//     for(rangeiter(0L, n, 1L), B, |b, i, x| merge(b, lookup(u, x) * lookup(v, k + x)))
// becomes, where `u` has `n` elements for sure and nothing is known of `v`,
//     let end = k + n;
//     if(k >= 0L & k <= end & end <= len(v),
//       for(zip(rangeiter(0L, n, 1L), u, iter(v, k, end, 1L)), B, |b, i, z| merge(b, z.$1 * z.$2)),
//       for(zip(rangeiter(0L, n, 1L), u), B, |b, i, z| merge(b, z.$1 * lookup(v, k + z.$0))))
//
// so that the check of the index is made once, and the loop can run on lanes. The second loop runs only if
// some index might lie outside, and fails where the program said. Two loops are made only if the first can be
// vectorised.
//
// Where the offsets are numbers, the rounds in which some index lies outside stand apart: the first, the
// last, or both.
//
//     for(xs, B, |b, i, x| merge(b, if(i == 0L, x, x - lookup(xs, i - 1L))))
// becomes
//     for(zip(iter(xs, 1L, n, 1L), iter(xs, 0L, n - 1L, 1L)), for(iter(xs, 0L, 1L, 1L), B, as it was),
//       |b, k, z| let i = k + 1L; merge(b, if(i == 0L, z.$0, z.$0 - z.$1)))
//
// The index must be a loop's index, or the element of a range with stride 1, plus what does not change in the
// loop. Lookups in vectors that the loop makes itself, in dictionaries, and inside inner functions are left
// alone.
#include <unordered_set>

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/subrange.h"
#include "weldir/passes/vectorize.h"

namespace weld {

namespace {

constexpr std::int64_t kFarthest = 1024;   // ends that are as they were
constexpr std::uint32_t kMostNodes = 150;  // of bodies that are there three times

/// Lookups in `vec` at counter + `offset` (null: 0).
struct Walk {
    const Expr* vec;
    const Expr* counter_start;  ///< where the counter begins
    const Expr* offset;
    bool is_whole;  ///< it yields all of `vec` for sure
};

class WalkFinder {
  public:
    WalkFinder(Module& m, Facts& facts, For loop) : m_(m), facts_(facts), loop_(loop) {
        visit(loop.body().node,
              [&](const Expr* e) { inside_.insert(e->symbols().begin(), e->symbols().end()); });
        look(loop.body().body());
    }

    const std::vector<Walk>& walks() const { return walks_; }
    bool all_whole() const {
        return std::all_of(walks_.begin(), walks_.end(), [](const Walk& w) { return w.is_whole; });
    }

    /// The number of the walk that a lookup belongs to, or -1.
    int walk_of(const Expr* lookup) {
        const std::optional<Walk> w = as_walk(lookup);
        return w ? position(*w) : -1;
    }

  private:
    void look(const Expr* e) {
        if (e->op == Op::Lambda) return;
        for (const Expr* a : e->args()) look(a);
        const std::optional<Walk> w = as_walk(e);
        if (w && position(*w) < 0) walks_.push_back(*w);
    }

    int position(const Walk& w) {
        for (std::size_t i = 0; i < walks_.size(); ++i)
            if (same(walks_[i].vec, w.vec) && is_same(walks_[i].offset, w.offset) &&
                same(walks_[i].counter_start, w.counter_start))
                return int(i);
        return -1;
    }
    static bool is_same(const Expr* a, const Expr* b) { return a && b ? same(a, b) : a == b; }

    std::optional<Walk> as_walk(const Expr* e) {
        const Lookup at = e->as<Lookup>();
        if (!at || !is_path(at.of()) || inside_.count(base_of(at.of()))) return {};
        if (!at.of()->type->is_vec() || !at.of()->type->elem()->is_scalar()) return {};
        Walk w = {at.of(), nullptr, nullptr, false};
        if (!take_apart(at.key(), w) || !w.counter_start) return {};
        const std::optional<Count> rounds = facts_.iterations(loop_.node), n = facts_.length(w.vec);
        w.is_whole = !w.offset && is_int(w.counter_start, 0) && rounds && n &&
                     facts_.agree(*rounds, *n, loop_.index_param());
        return w;
    }

    /// Reads `key` as the counter plus an offset that is the same in every round.
    bool take_apart(const Expr* key, Walk& w) {
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
        if (key->op == Op::Add) return take_apart(key->arg(0), w) && take_apart(key->arg(1), w);
        if (key->op != Op::Sub || !is_the_same_always(key->arg(1)) || !take_apart(key->arg(0), w))
            return false;
        add_offset(w, Op::Sub, key->arg(1));
        return true;
    }

    void add_offset(Walk& w, Op op, const Expr* by) {
        if (!w.offset && op == Op::Add) w.offset = by;
        else w.offset = scalar_op(m_, op, {w.offset ? w.offset : int_literal(m_, by->type, 0), by});
    }

    bool is_the_same_always(const Expr* e) {
        if (!facts_.traits(e).free_to_repeat() || facts_.traits(e).heavy) return false;
        const std::vector<const Symbol*> read = free_symbols(e);
        return std::none_of(read.begin(), read.end(), [&](const Symbol* s) { return inside_.count(s) > 0; });
    }

    /// The first value of a counter of the loop; null if `e` is none.
    const Expr* counter_start(const Expr* e) {
        e = facts_.root(e);
        if (e->op == Op::Var && e->attr.symbol == loop_.index_param())
            return int_literal(m_, m_.types.i64(), 0);
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

    Module& m_;
    Facts& facts_;
    For loop_;
    std::unordered_set<const Symbol*> inside_;
    std::vector<Walk> walks_;
};

class Converter {
  public:
    Converter(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* converted(const Expr* e) {
        const For loop = e->as<For>();
        if (!loop) return nullptr;
        for (const Expr* d : loop.data())
            if (Iter it = d->as<Iter>(); it && it.shape().kind != IterKind::Scalar) return nullptr;
        WalkFinder finder(m_, facts_, loop);
        if (finder.walks().empty()) return nullptr;
        if (finder.all_whole()) {
            std::vector<const Expr*> data(loop.data().begin(), loop.data().end());
            for (const Walk& w : finder.walks()) data.push_back(w.vec);
            return with_data(loop, data, finder);
        }
        const Expr* apart = with_ends_apart(loop, finder);
        return apart ? apart : in_two_ways(loop, finder);
    }

  private:
    using Pair = std::pair<const Symbol*, const Expr*>;

    const Expr* name(const Expr* e, std::string_view as, Lets& lets) {
        if (is_atom(e)) return e;
        const Symbol* s = m_.symbol(as, e->type);
        lets.emplace_back(s, e);
        return var(m_, s);
    }

    const Expr* i64(std::int64_t n) { return int_literal(m_, m_.types.i64(), n); }
    const Expr* select_if(Op op, const Expr* a, const Expr* b, const Expr* then, const Expr* otherwise) {
        return select(m_, scalar_op(m_, op, {a, b}), then, otherwise);
    }

    /// How far `w` is ahead of the rounds of its loop, if that is a small number.
    static std::optional<std::int64_t> distance(const Walk& w) {
        if (!is_int(w.counter_start, 0)) return {};
        if (!w.offset) return 0;
        std::int64_t sign = 1;
        const Expr* e = w.offset;
        if (e->op == Op::Sub && is_int(e->arg(0), 0)) {
            sign = -1;
            e = e->arg(1);
        }
        const Literal n = e->as<Literal>();
        if (!n || n.as_int() > kFarthest || n.as_int() < -kFarthest) return {};
        return sign * n.as_int();
    }

    /// What `loop` starts with; an appender of one element a round makes room for `n` at once.
    const Expr* with_room(For loop, const Expr* n) {
        const NewBuilder made = loop.builder()->as<NewBuilder>();
        if (!made || made.arg() || !info(made.kind()).lists_merges) return loop.builder();
        const std::optional<Count> each = facts_.merges_per_iteration(loop.node, {});
        if (!each || !each->known() || *each->known() != 1) return loop.builder();
        const Expr* start = new_builder(m_, made.node->type, n, made.node->loc);
        return annotate(m_, with_annotations(m_, start, made.node->annotations), AttrKey::Room, "true");
    }

    /// The rounds in which all lookups lie inside walk along with `loop`; those before and behind them are as
    /// they were. Null if an offset is no small number, or all offsets are 0.
    const Expr* with_ends_apart(For loop, WalkFinder& finder) {
        const Traits& body = facts_.traits(loop.body().node);
        if (body.ordered || body.size > kMostNodes || holds_table(loop.node->type)) return nullptr;
        if (!std::ranges::all_of(loop.data(), [&](const Expr* d) { return may_be_cut(facts_, d); }))
            return nullptr;
        std::int64_t before = 0;
        bool any = false;
        for (const Walk& w : finder.walks()) {
            const std::optional<std::int64_t> by = distance(w);
            if (!by) return nullptr;
            before = std::max(before, -*by);
            any |= *by != 0;
        }
        if (!any) return nullptr;
        Lets lets;
        if (const Expr* check = length_check(m_, facts_, loop.data(), loop.node->loc))
            name(check, "equal", lets);
        const Expr* n = name(weld::trip_count(m_, loop.data()[0]), "n", lets);
        const Expr* from =
            before ? name(select_if(Op::Lt, n, i64(before), n, i64(before)), "from", lets) : i64(0);
        const Expr* to = n;
        for (const Walk& w : finder.walks()) {
            const std::int64_t by = *distance(w);
            const std::optional<Count> rounds = facts_.iterations(loop.node), length = facts_.length(w.vec);
            if (by <= 0 && rounds && length && facts_.agree(*rounds, *length, loop.index_param())) continue;
            const Expr* last = by ? scalar_op(m_, Op::Sub, {len(m_, w.vec), i64(by)}) : len(m_, w.vec);
            last = name(last, "last", lets);
            to = name(select_if(Op::Lt, last, to, last, to), "to", lets);
        }
        const bool all_to_end = to == n;
        if (!all_to_end) to = name(select_if(Op::Lt, to, from, from, to), "to", lets);
        const Expr* inside = scalar_op(m_, Op::Lt, {from, to});
        const Expr* count = name(scalar_op(m_, Op::Sub, {to, from}), "count", lets);
        std::vector<const Expr*> data = subranges(m_, loop, from, to);
        for (const Walk& w : finder.walks()) {
            const std::int64_t by = *distance(w);
            const Expr* start = by ? scalar_op(m_, Op::Add, {from, i64(by)}) : from;
            start = name(select(m_, inside, start, i64(0)), "start", lets);
            const Expr* bounds[] = {start, scalar_op(m_, Op::Add, {start, count}), i64(1)};
            data.push_back(iter(m_, IterKind::Scalar, w.vec, bounds));
        }
        const Expr* middle = with_data(loop, data, finder, from);
        if (!can_vectorize(m_, facts_, middle)) return nullptr;
        const Expr* start = with_room(loop, n);
        const Expr* first = before ? loop_over_subrange(m_, loop, i64(0), from, start) : start;
        const Expr* all = with_builder(middle, first);
        if (!all_to_end) all = loop_over_subrange(m_, loop, to, n, all);
        return block(m_, lets, all, loop.node->loc);
    }

    const Expr* in_two_ways(For loop, WalkFinder& finder) {
        for (const Expr* d : loop.data())
            if (!is_consecutive(d)) return nullptr;
        Lets lets;
        const Expr* n = name(trip_count(loop.data()[0], lets), "n", lets);
        std::vector<const Expr*> data(loop.data().begin(), loop.data().end());
        const Expr* fits = nullptr;
        for (const Walk& w : finder.walks()) {
            if (w.is_whole) data.push_back(w.vec);
            else data.push_back(checked(w, n, lets, fits));
        }
        const Expr* builder = loop.builder();
        if (builder->op != Op::NewBuilder && builder->op != Op::Var && !all_new(builder))
            builder = name(builder, "b", lets);
        const Expr* fast = with_builder(with_data(loop, data, finder), builder);
        if (!can_vectorize(m_, facts_, fast)) return nullptr;
        const Expr* slow = with_builder(fresh(m_, loop.node), builder);
        return block(m_, lets, if_(m_, fits, fast, slow, loop.node->loc), loop.node->loc);
    }

    static bool all_new(const Expr* b) {
        return b->op == Op::MakeStruct && std::all_of(b->args().begin(), b->args().end(),
                                                      [](const Expr* f) { return f->op == Op::NewBuilder; });
    }

    const Expr* trip_count(const Expr* datum, Lets& lets) {
        const Iter it = datum->as<Iter>();
        const Expr* v = it ? it.data() : datum;
        if ((it && it.shape().bounded) || is_path(v)) return weld::trip_count(m_, datum);
        return len(m_, name(v, "d", lets));
    }

    static bool is_consecutive(const Expr* datum) {
        const Iter it = datum->as<Iter>();
        if (!it || !it.shape().bounded) return true;
        if (it.shape().nd) return false;
        const Literal stride = it.stride()->as<Literal>();
        return stride && stride.as_int() == 1;
    }

    /// The part of the vector that the loop walks along; `fits` learns that it must be there.
    const Expr* checked(const Walk& w, const Expr* n, Lets& lets, const Expr*& fits) {
        const Type* i64 = m_.types.i64();
        const Literal zero = w.counter_start->as<Literal>();
        const bool from_zero = zero && zero.as_int() == 0;
        const Expr* start = w.counter_start;
        if (w.offset) start = from_zero ? w.offset : scalar_op(m_, Op::Add, {w.counter_start, w.offset});
        start = name(start, "start", lets);
        const bool at_zero = start->op == Op::Literal && start->as<Literal>().as_int() == 0;
        const Expr* end = at_zero ? n : name(scalar_op(m_, Op::Add, {start, n}), "end", lets);
        auto demand = [&](Op op, const Expr* a, const Expr* b) {
            const Expr* holds = scalar_op(m_, op, {a, b});
            fits = fits ? scalar_op(m_, Op::BitAnd, {fits, holds}) : holds;
        };
        if (!at_zero) demand(Op::Ge, start, int_literal(m_, i64, 0));
        demand(Op::Le, start, end);
        demand(Op::Le, end, len(m_, w.vec));
        const Expr* bounds[] = {start, end, int_literal(m_, i64, 1)};
        return iter(m_, IterKind::Scalar, w.vec, bounds);
    }

    const Expr* with_builder(const Expr* loop, const Expr* builder) {
        std::vector<const Expr*> args(loop->args().begin(), loop->args().end());
        args[0] = builder;
        return with_args(m_, loop, args);
    }

    /// The loop over more data, with lookups replaced by their elements. Its index begins at `from`, if
    /// given.
    const Expr* with_data(For loop, const std::vector<const Expr*>& data, WalkFinder& finder,
                          const Expr* from = nullptr) {
        const std::size_t own = loop.data().size();
        std::vector<const Type*> types;
        for (const Expr* d : data) types.push_back(d->type->elem());
        const Symbol* z = m_.symbol("z", m_.types.structure(types));
        std::vector<const Expr*> parts;
        for (std::size_t i = 0; i < own; ++i) parts.push_back(get_field(m_, var(m_, z), i));
        const Expr* body = rewrite(m_, loop.body().body(), [&](const Expr* e) -> const Expr* {
            const int k = e->op == Op::Lookup ? finder.walk_of(e) : -1;
            return k < 0 ? nullptr : get_field(m_, var(m_, z), own + std::size_t(k), e->loc);
        });
        body = let(m_, loop.elem_param(), own == 1 ? parts[0] : make_struct(m_, parts), body);
        const Symbol* index = loop.index_param();
        if (from) {
            const Symbol* k = m_.symbol(index->name, index->type);
            body = with_index(m_, index, from, k, body);
            index = k;
        }
        const Expr* f = lambda(m_, {loop.builder_param(), index, z}, body, loop.body().node->loc);
        std::vector<const Expr*> args = {loop.builder(), f};
        args.insert(args.end(), data.begin(), data.end());
        return with_args(m_, loop.node, args);
    }

    Module& m_;
    Facts facts_;
};

}  // namespace

const Expr* lookups_to_iters(Module& m, const Expr* lambda) {
    Converter converter(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) { return converter.converted(e); });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
