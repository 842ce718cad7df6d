// Short loops of a known number of rounds become straight code.
//
//     let w = [a, b, c];
//     for(zip(w, rangeiter(0L, 3L, 1L)), B, |s, i, x| merge(s, x.$0 * f64(x.$1)))
// becomes
//     merge(merge(merge(B, a * f64(0L)), b * f64(1L)), c * f64(2L))
//
// so that the loop around it can run on lanes, and constants meet. The data are vector literals, ranges, or
// vectors whose length is known otherwise (then elements are looked up, which cannot fail). Ranges may begin
// with counters of loops around: rangeiter(y - 1L, y + 2L, 1L). Not done for large bodies, for bodies with
// effects, if the data might differ in length, or where lanes are better: where loops inside, that stay, read what lies
// side by side for the rounds (has_lanes_side_by_side).
//
// So do iterates whose rounds are counted by constants:
//     iterate({2L, y}, |s| {{s.$0 - 1L, s.$1 * x + lookup(c, s.$0)}, s.$0 > 1L})
// becomes
//     let s = {2L, y};
//     let s2 = {s.$0 - 1L, s.$1 * x + lookup(c, s.$0)};
//     {s2.$0 - 1L, s2.$1 * x + lookup(c, s2.$0)}
// without loops in them, which would be there several times for no gain.
#include <algorithm>
#include <unordered_map>

#include "weldir/ir/scalar.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/short_loops.h"
#include "weldir/passes/vectorize.h"

namespace weld {

namespace {

constexpr std::int64_t kMostRoundsOfIterate = 16;
constexpr std::int64_t kMostNodes = 300;  // of an iterate
constexpr std::int64_t kRegisterBytes = 64;
constexpr std::int64_t kLeastLanes = 4;

/// Of the fields of a struct, or of the value itself: null for what is no constant.
using Constants = std::vector<const Expr*>;

/// What is constant in a round of an iterate, whose state is the symbol `s`.
class Round {
  public:
    Round(Module& m, Facts& facts, const Symbol* s, const Constants& state)
        : m_(m), facts_(facts), s_(s), state_(state) {}

    /// The constant that `e` is, or null.
    const Expr* constant(const Expr* e) {
        e = facts_.resolve(e);
        if (e->op == Op::Literal) return e;
        if (is_path(e)) return base_of(e) == s_ ? of_state(e) : nullptr;
        if (!is_scalar_op(e->op) || !e->type->is_scalar() || e->num_args > 2) return nullptr;
        if (const auto known = known_.find(e); known != known_.end()) return known->second;
        return known_[e] = computed(e);
    }

  private:
    const Expr* of_state(const Expr* path) const {
        const bool is_field = path->op == Op::GetField && path->arg(0)->op == Op::Var;
        const std::size_t k = is_field ? path->attr.index : 0;
        return is_field == s_->type->is_struct() && k < state_.size() ? state_[k] : nullptr;
    }

    const Expr* computed(const Expr* e) {
        const Expr *a = constant(e->arg(0)), *b = constant(e->arg(e->num_args - 1));
        std::uint64_t bits = 0;
        if (!a || !b ||
            !eval_scalar(e->op, a->type->scalar, a->as<Literal>().bits(), b->as<Literal>().bits(), &bits))
            return nullptr;
        return literal(m_, e->type, bits, e->loc);
    }

    Module& m_;
    Facts& facts_;
    const Symbol* s_;
    const Constants& state_;
    std::unordered_map<const Expr*, const Expr*> known_;  // names are read more than once
};

class Unroller {
  public:
    Unroller(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* unrolled(const Expr* e) {
        if (const Iterate it = e->as<Iterate>()) return unrolled(it);
        const For loop = e->as<For>();
        if (!loop || !is_short(loop)) return nullptr;
        const std::int64_t rounds = *facts_.iterations(e)->known();
        const Expr* state = loop.builder();
        for (std::int64_t k = 0; k < rounds; ++k) {
            const Lambda body = (k ? fresh(m_, loop.body().node) : loop.body().node)->as<Lambda>();
            Lets lets = {{body.param(0), state},
                         {body.param(1), i64_literal(m_, k)},
                         {body.param(2), element(loop, k)}};
            state = block(m_, lets, body.body(), e->loc);
        }
        return state;
    }

  private:
    /// A range is its data, and what it looks up lies side by side for rounds of the loop around, of which lanes are better
    /// then; or is a row of less than a register, of which they are better, too.
    bool goes_over_windows(For loop, std::int64_t rounds) {
        const auto is_range = [](const Expr* d) {
            const Iter it = d->as<Iter>();
            return it && it.shape().range;
        };
        if (!std::ranges::all_of(loop.data(), is_range)) return false;
        bool any = false, all = true;
        visit(loop.body().body(), [&](const Expr* e) {
            if (e->op != Op::Lookup) return;
            const std::optional<Count> place = facts_.count(e->arg(1));
            const auto is_step = [](const Count::Product& p) {
                return p.of.empty() || (p.of.size() == 1 && p.factor == 1);
            };
            const bool by_steps = place && std::ranges::all_of(place->sum(), is_step);
            any = true;
            all &= e->type->is_scalar() && (by_steps || rounds * size_of(e->type->scalar) < kRegisterBytes);
        });
        return any && all;
    }

    bool is_short(For loop) {
        const std::optional<Count> n = facts_.iterations(loop.node);
        const auto is_literal = [&](const Expr* d) { return facts_.resolve(d)->op == Op::MakeVec; };
        if (!n || !n->known()) return false;
        const bool over_literals = std::ranges::all_of(loop.data(), is_literal);
        if (!is_unrolled(facts_, loop, *n->known(), over_literals || goes_over_windows(loop, *n->known())))
            return false;
        if (!facts_.lengths_agree(loop.data())) return false;
        if (*n->known() >= kLeastLanes && has_loop(loop.body().body()) &&
            has_lanes_side_by_side(m_, facts_, loop.node))
            return false;
        for (const Expr* d : loop.data())
            if ((facts_.traits(d).fails && !goes_with_counters(d)) || !has_elements(d)) return false;
        return true;
    }

    /// A range in steps of one whose start counts along with loops around it, and no further than they do: its end, which is
    /// known to be behind that, does not wrap around.
    bool goes_with_counters(const Expr* datum) {
        constexpr std::int64_t most = 1 << 20;
        const std::optional<Count> start =
            counts_by_one(datum) ? facts_.count(datum->as<Iter>().start()) : std::optional<Count>();
        return start && std::ranges::all_of(start->sum(), [&](const Count::Product& p) {
                   const Symbol* s =
                       p.of.size() == 1 && p.of[0]->op == Op::Var ? p.of[0]->attr.symbol : nullptr;
                   return p.factor >= -most && p.factor <= most && (p.of.empty() || (s && is_counter(s)));
               });
    }

    bool is_counter(const Symbol* s) const {
        const Expr* around = facts_.loop_of(s);
        const For loop = around ? around->as<For>() : For{};
        return loop && (s == loop.index_param() ||
                        (s == loop.elem_param() && loop.data().size() == 1 && counts_by_one(loop.data()[0])));
    }

    static bool has_elements(const Expr* datum) {
        const Iter it = datum->as<Iter>();
        if (!it) return is_path(datum);
        return it.shape().range && it.shape().kind == IterKind::Scalar && it.stride()->op == Op::Literal;
    }

    const Expr* element(For loop, std::int64_t k) {
        std::vector<const Expr*> parts;
        for (const Expr* d : loop.data()) parts.push_back(element_of(d, k));
        return parts.size() == 1 ? parts[0] : make_struct(m_, parts);
    }

    const Expr* element_of(const Expr* datum, std::int64_t k) {
        const Type* i64 = m_.types.i64();
        if (const Iter it = datum->as<Iter>()) {
            const std::int64_t more = k * it.stride()->as<Literal>().as_int();
            if (const Literal start = it.start()->as<Literal>())
                return i64_literal(m_, start.as_int() + more);
            return more ? scalar_op(m_, Op::Add, {it.start(), i64_literal(m_, more)}) : it.start();
        }
        const MakeVec made = facts_.resolve(datum)->as<MakeVec>();
        const Expr* elem = made ? made.elems()[std::size_t(k)] : nullptr;
        return elem && (is_atom(elem) || is_constant(elem)) ? elem
                                                            : lookup(m_, datum, int_literal(m_, i64, k));
    }

    // ---- iterates

    const Expr* unrolled(Iterate it) {
        const Traits& body = facts_.traits(it.body().node);
        if (body.ordered || it.one_lane() || has_loop(it.body().body())) return nullptr;
        const std::vector<Constants> rounds =
            rounds_of(it, std::min(kMostRoundsOfIterate, kMostNodes / body.size));
        const Expr* state = it.init();
        for (std::size_t k = 0; k < rounds.size(); ++k) {
            state = with_constants(state, rounds[k]);
            const Lambda round = (k ? fresh(m_, it.body().node) : it.body().node)->as<Lambda>();
            Lets lets = {{round.param(0), state}};
            if (const Block b = round.body()->as<Block>())
                for (std::size_t i = 0; i < b.size(); ++i) lets.emplace_back(b.symbol(i), b.value(i));
            state = block(m_, lets, end_of(round)->arg(0), it.node->loc);
        }
        return rounds.empty() ? nullptr : state;
    }

    /// `state` with the fields that are constants written as such.
    const Expr* with_constants(const Expr* state, const Constants& known) {
        if (!state->type->is_struct() || known.size() != state->type->args.size()) return state;
        const Symbol* s = m_.symbol("s", state->type);
        std::vector<const Expr*> fields;
        for (std::size_t i = 0; i < known.size(); ++i)
            fields.push_back(known[i] ? known[i] : get_field(m_, var(m_, s), i));
        const Lets lets = {{s, state}};
        return block(m_, lets, make_struct(m_, fields), state->loc);
    }

    /// The pair of the next state and whether there is another round.
    static const Expr* end_of(Lambda round) {
        const Block b = round.body()->as<Block>();
        return b ? b.result() : round.body();
    }

    /// What is known of the state in each round; empty if it is not known how many there are, or if they are
    /// more than `most`.
    std::vector<Constants> rounds_of(Iterate it, std::int64_t most) {
        const Expr* end = end_of(it.body());
        if (end->op != Op::MakeStruct) return {};
        const auto literal_of = [&](const Expr* e) {
            e = facts_.resolve(e);
            return e->op == Op::Literal ? e : nullptr;
        };
        std::vector<Constants> rounds = {fields(it.init(), literal_of)};
        while (std::int64_t(rounds.size()) <= most) {
            Round round(m_, facts_, it.body().param(0), rounds.back());
            const Expr* again = round.constant(end->arg(1));
            if (!again) return {};
            if (!again->as<Literal>().bits()) return rounds;
            rounds.push_back(fields(end->arg(0), [&](const Expr* e) { return round.constant(e); }));
        }
        return {};
    }

    template <class F>
    Constants fields(const Expr* e, const F& constant) {
        e = facts_.resolve(e);
        if (e->op != Op::MakeStruct) return {constant(e)};
        Constants all;
        for (const Expr* field : e->args()) all.push_back(constant(field));
        return all;
    }

    Module& m_;
    Facts facts_;
};

}  // namespace

const Expr* unroll(Module& m, const Expr* lambda) {
    Unroller unroller(m, lambda);
    const Expr* straight = rewrite_binding(m, lambda, [&](const Expr* e) { return unroller.unrolled(e); });
    return in_normal_form(m, lambda, straight);
}

}  // namespace weld
