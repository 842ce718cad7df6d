// Loops that count in large vectors of 64-bit integers count in 32 bits, so that twice as many counters are
// in the cache; another loop adds them up.
//
//     let h = result(for(xs, vecmerger[i64,+](z), |b, i, x| merge(b, {x, 1L})));
// becomes
//     let h = result(if(len(z) > 32768L & len(z) <= 33554432L & len(xs) >= len(z) * 4L &
//         len(xs) <= 2147483647L,
//       let none = result(for(rangeiter(0L, len(z), 1L), appender[i32], |b, i, x| merge(b, 0)));
//       let counts = result(@(accumulators:1) for(xs, vecmerger[i32,+](none), |b, i, x| merge(b, {x, 1})));
//       @(accumulators:1) for(counts, vecmerger[i64,+](z), |b, i, n| merge(b, {i, i64(n)})),
//       for(xs, vecmerger[i64,+](z), |b, i, x| merge(b, {x, 1L}))));
//
// What is merged has to be known to be small: literals, `bool` and integers of up to 16 bits as numbers,
// choices of such. Then the condition says that no counter overflows; that the vector doesn't fit the cache
// anyway, yet several threads can have copies of it; that adding up is little beside counting. Done for loops
// that stand in no other one over elements: those that do are short. Not done for merges in loops of their
// own, nor where it is known that there are too few counters or rounds. Before vectorize, for the sake of the
// other two loops.
#include <limits>
#include <unordered_map>

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/subrange.h"

namespace weld {

namespace {

constexpr std::int64_t kMostAtOnce = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kUnknown = kMostAtOnce + 1;
constexpr std::int64_t kFewCounters = 32'768;     // in 32 bits they fit the cache as in 64
constexpr std::int64_t kMostCounters = 32 << 20;  // there may be several copies
constexpr std::int64_t kRoundsForEach = 4;
constexpr std::uint32_t kMostNodes = 100;  // of a body, which is there twice afterwards

/// What the absolute value of an integer `e` is at most, or more; kUnknown or more if that is unknown.
std::int64_t bound(const Expr* e) {
    if (!e->type->is_scalar()) return kUnknown;
    switch (e->op) {
        case Op::Literal: {
            const auto v = std::int64_t(e->attr.bits);
            return v < -kMostAtOnce ? kUnknown : std::min(std::abs(v), kUnknown);
        }
        case Op::Select: return std::max(bound(e->arg(1)), bound(e->arg(2)));
        case Op::Cast: {
            const Type* from = e->arg(0)->type;
            if (from->is_bool()) return 1;
            return !is_float(from->scalar) && size_of(from->scalar) < 4 ? 1 << 8 * size_of(from->scalar)
                                                                        : kUnknown;
        }
        default: return kUnknown;
    }
}

bool sums_wide_integers(const Type* t) {
    return t->is_builder() && info(t).indexed && has_operator(t->builder) && t->op == MergeOp::Add &&
           t->elem()->is_scalar() && !is_float(t->elem()->scalar) && size_of(t->elem()->scalar) == 8;
}

class Narrower {
  public:
    Narrower(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* narrowed(const Expr* e) {
        if (!e->binds) return e;
        const bool repeats = e->op == Op::For || e->op == Op::Sort;
        const Expr* now = map_args(m_, e, [&](const Expr* a, std::size_t) {
            return repeats && a->op == Op::Lambda ? a : narrowed(a);
        });
        if (e->op != Op::For || now != e) return now;
        const Expr* both = both_ways(e->as<For>());
        return both ? both : e;
    }

  private:
    /// A builder in the state of the loop, and what it starts with.
    struct Counters {
        const Type* type;
        const Expr* start;
        std::int64_t most = 0;  // that a round adds to a counter, if they may be narrow
    };

    const Expr* both_ways(For loop) {
        const Traits& body = facts_.traits(loop.body().node);
        if (body.ordered || body.calls || body.size > kMostNodes) return nullptr;
        if (!std::ranges::all_of(loop.data(), [&](const Expr* d) { return may_be_cut(facts_, d); }))
            return nullptr;
        const std::vector<Counters> parts = parts_of(loop);
        const Expr* holds = nullptr;
        types_.clear();
        names_.clear();
        for (const Counters& part : parts) {
            if (!part.most) continue;
            holds = both(holds, condition(loop, part.start, part.most));
            types_[part.type] = narrow_type(part.type);
        }
        if (!holds || !can_translate(loop.body().body())) return nullptr;
        return if_(m_, holds, narrow_way(loop, parts), loop.node, loop.node->loc);
    }

    std::vector<Counters> parts_of(For loop) {
        const Expr* start = loop.builder();
        std::vector<Counters> parts;
        if (start->op == Op::MakeStruct)
            for (const Expr* s : start->args()) parts.push_back(part_of(loop, s));
        else parts.push_back(part_of(loop, start));
        for (Counters& part : parts)  // one type becomes one type
            for (const Counters& other : parts)
                if (other.type == part.type && !other.most) part.most = 0;
        return parts;
    }

    Counters part_of(For loop, const Expr* begin) {
        Counters part{begin->type, begin->op == Op::NewBuilder && begin->num_args ? begin->arg(0) : nullptr};
        if (!sums_wide_integers(part.type) || !part.start || !is_path(part.start)) return part;
        const std::int64_t most = most_per_round(loop.body().body(), part.type, false);
        if (most <= kMostAtOnce && may_pay(loop, part.start)) part.most = most;
        return part;
    }

    /// Adds what `e` merges into builders of type `t`; kUnknown or more if that is unknown.
    std::int64_t most_per_round(const Expr* e, const Type* t, bool in_loop) {
        std::int64_t sum = 0;
        if (e->op == Op::Merge && e->type == t) sum = in_loop ? kUnknown : bound_of(e->as<Merge>());
        const bool loops = in_loop || e->op == Op::For || e->op == Op::Iterate;
        for (const Expr* a : e->args())
            if (sum <= kMostAtOnce) sum += most_per_round(a, t, loops);
        return std::min(sum, kUnknown);
    }
    static std::int64_t bound_of(Merge g) {
        const bool known = !g.mask() && g.value()->op == Op::MakeStruct;
        return known ? bound(g.value()->arg(1)) : kUnknown;
    }

    bool may_pay(For loop, const Expr* start) {
        const std::optional<Count> counters = facts_.length(start), rounds = facts_.iterations(loop.node);
        if (counters && counters->known() && *counters->known() <= kFewCounters) return false;
        return !rounds || !rounds->known() || *rounds->known() / kRoundsForEach > kFewCounters;
    }

    const Expr* i64(std::int64_t n) { return i64_literal(m_, n); }
    const Expr* both(const Expr* a, const Expr* b) { return a ? scalar_op(m_, Op::BitAnd, {a, b}) : b; }

    const Expr* condition(For loop, const Expr* start, std::int64_t most) {
        const Expr *n = len(m_, start), *rounds = trip_count(m_, loop.data()[0]);
        const Expr* all = scalar_op(m_, Op::Gt, {n, i64(kFewCounters)});
        all = both(all, scalar_op(m_, Op::Le, {n, i64(kMostCounters)}));
        const Expr* enough = scalar_op(m_, Op::Mul, {n, i64(kRoundsForEach)});
        all = both(all, scalar_op(m_, Op::Ge, {rounds, enough}));
        return both(all, scalar_op(m_, Op::Le, {rounds, i64(kMostAtOnce / most)}));
    }

    // ---- the narrow loop

    /// Builders go through merges, branches and lets only.
    static bool can_translate(const Expr* e) {
        if (!e->type->holds_builder) return true;
        switch (e->op) {
            case Op::Var: return true;
            case Op::GetField:
            case Op::Merge: return can_translate(e->arg(0));
            case Op::If: return can_translate(e->arg(1)) && can_translate(e->arg(2));
            case Op::MakeStruct:
            case Op::Block: return std::ranges::all_of(e->args(), can_translate);
            default: return false;
        }
    }

    const Type* narrow_type(const Type* wide) {
        const Type* elem[] = {m_.types.scalar(Scalar::I32)};
        return m_.types.builder(wide->builder, elem, wide->op);
    }

    const Type* retyped(const Type* t) {
        if (!t->holds_builder) return t;
        if (const auto at = types_.find(t); at != types_.end()) return at->second;
        if (!t->is_struct()) return t;
        std::vector<const Type*> fields;
        for (const Type* f : t->args) fields.push_back(retyped(f));
        return m_.types.structure(fields);
    }

    const Expr* narrow_way(For loop, const std::vector<Counters>& parts) {
        const bool one = loop.builder()->op != Op::MakeStruct;
        const auto begin = [&](std::size_t k) { return one ? loop.builder() : loop.builder()->arg(k); };
        Lets lets;
        std::vector<const Expr*> starts, ends;
        for (std::size_t k = 0; k < parts.size(); ++k)
            starts.push_back(parts[k].most ? narrow_start(parts[k], lets) : begin(k));
        const Symbol* state = m_.symbol("counting", retyped(loop.node->type));
        lets.emplace_back(state, counting(loop, one ? starts[0] : make_struct(m_, starts)));
        for (std::size_t k = 0; k < parts.size(); ++k) {
            const Expr* end = one ? var(m_, state) : get_field(m_, var(m_, state), k);
            if (!parts[k].most) {
                ends.push_back(end);
                continue;
            }
            const Expr* counts = result(m_, end, loop.node->loc);
            const Symbol* name = m_.symbol("counts", counts->type);
            lets.emplace_back(name, counts);
            ends.push_back(added_up(var(m_, name), begin(k), loop.node->loc));
        }
        return block(m_, lets, one ? ends[0] : make_struct(m_, ends), loop.node->loc);
    }

    const Expr* narrow_start(const Counters& part, Lets& lets) {
        const Expr* none = zeros(part.start);
        const Symbol* name = m_.symbol("none", none->type);
        lets.emplace_back(name, none);
        return new_builder(m_, retyped(part.type), var(m_, name));
    }

    const Expr* counting(For loop, const Expr* start) {
        const Lambda copy = fresh(m_, loop.body().node)->as<Lambda>();
        const Symbol* b = retyped(copy.param(0));
        const Expr* f =
            lambda(m_, {b, copy.param(1), copy.param(2)}, translated(copy.body()), copy.node->loc);
        const Expr* all = weld::loop(m_, loop.data(), start, f, loop.node->loc);
        // Its vector is not small.
        return annotate(m_, with_annotations(m_, all, loop.node->annotations), AttrKey::Accumulators, "1");
    }

    /// As many as `of` has.
    const Expr* zeros(const Expr* of) {
        const Type* i32 = m_.types.scalar(Scalar::I32);
        const Type* t = m_.types.builder(BuilderKind::Appender, {{i32}});
        const Symbol *b = m_.symbol("b", t), *i = m_.symbol("i", m_.types.i64()),
                     *x = m_.symbol("x", m_.types.i64());
        const Expr* range = range_iter(m_, IterKind::Scalar, i64(0), len(m_, of), i64(1), 0);
        const Expr* f = lambda(m_, {b, i, x}, merge(m_, var(m_, b), int_literal(m_, i32, 0)));
        return result(m_, weld::loop(m_, {&range, 1}, new_builder(m_, t), f));
    }

    /// The counts merged into what the loop would have started with.
    const Expr* added_up(const Expr* counts, const Expr* start, Loc loc) {
        const Symbol *b = m_.symbol("b", start->type), *i = m_.symbol("i", m_.types.i64()),
                     *n = m_.symbol("n", m_.types.scalar(Scalar::I32));
        const Expr* wide = cast(m_, start->type->elem()->scalar, var(m_, n));
        const Expr* f = lambda(m_, {b, i, n}, merge(m_, var(m_, b), make_struct(m_, {var(m_, i), wide})));
        const Expr* all = weld::loop(m_, {&counts, 1}, start, f, loc);
        return annotate(m_, all, AttrKey::Accumulators, "1");  // no two rounds meet the same element
    }

    const Symbol* retyped(const Symbol* s) {
        const Symbol*& now = names_[s];
        if (!now) now = m_.symbol(s->name, retyped(s->type));
        return now;
    }

    const Expr* translated(const Expr* e) {
        if (!e->type->holds_builder) return e;
        switch (e->op) {
            case Op::Var: return var(m_, retyped(e->attr.symbol), e->loc);
            case Op::GetField: return get_field(m_, translated(e->arg(0)), e->attr.index, e->loc);
            case Op::If: return with_args(m_, e, {{e->arg(0), translated(e->arg(1)), translated(e->arg(2))}});
            case Op::Merge: {
                const Merge g = e->as<Merge>();
                const Expr* b = translated(g.builder());
                if (b->type == e->type) return with_args(m_, e, {{b, g.value()}});
                const Expr* value = make_struct(m_, {g.value()->arg(0), narrow(g.value()->arg(1))});
                return with_annotations(m_, merge(m_, b, value, nullptr, e->loc), e->annotations);
            }
            case Op::Block: {
                const Block block = e->as<Block>();
                Lets lets;
                for (std::size_t i = 0; i < block.size(); ++i) {
                    const Expr* value = translated(block.value(i));
                    const Symbol* s = block.symbol(i);
                    lets.emplace_back(s->type->holds_builder ? retyped(s) : s, value);
                }
                return weld::block(m_, lets, translated(block.result()), e->loc);
            }
            default: return map_args(m_, e, [&](const Expr* a, std::size_t) { return translated(a); });
        }
    }

    const Expr* narrow(const Expr* e) {
        switch (e->op) {
            case Op::Literal:
                return int_literal(m_, m_.types.scalar(Scalar::I32), std::int64_t(e->attr.bits), e->loc);
            case Op::Select: return select(m_, e->arg(0), narrow(e->arg(1)), narrow(e->arg(2)), e->loc);
            default: return cast(m_, Scalar::I32, e->arg(0), e->loc);
        }
    }

    Module& m_;
    Facts facts_;
    std::unordered_map<const Type*, const Type*> types_;      // narrow ones, of the loop at hand
    std::unordered_map<const Symbol*, const Symbol*> names_;  // of builders that have such types
};

}  // namespace

const Expr* narrow_counters(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    return in_normal_form(m, lambda, Narrower(m, lambda).narrowed(lambda));
}

}  // namespace weld
