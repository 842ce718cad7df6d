// A node costs what its arguments do and something of its own; a loop as many rounds of its body as it has, or
// as is guessed.
#include "weldir/passes/cost.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"

namespace weld {

constexpr std::int64_t kBeginning = 10'000;  // of a loop
constexpr std::int64_t kRound = 1000;        // what counting costs
constexpr std::int64_t kGuess = 16;          // rounds of a loop
constexpr std::int64_t kGuessOnLanes = 128;
constexpr std::int64_t kGuessOfIterate = 64;
constexpr std::int64_t kGuessOfSort = 1000;        // comparisons
constexpr std::int64_t kMost = 1'000'000'000'000;  // nests multiply

/// Of a node that is no loop, beside its arguments.
static std::int64_t own_picoseconds(const Expr* e) {
    switch (e->op) {
        case Op::Call:
        case Op::Kernel:
        case Op::Serialize:
        case Op::Deserialize: return 100'000;
        case Op::Lookup:
        case Op::OptLookup:
        case Op::KeyExists:
            if (e->num_args > 2) return 1'000;  // by bits
            return e->arg(0)->type->is_dict() ? 15'000 : 1'000;
        case Op::LookupLanes: {
            const Annotation* apart = e->annotation(AttrKey::Apart);
            return 1'000 * (apart ? std::abs(apart->number) : e->type->lanes);
        }
        case Op::OptLanes: return 10'000;
        case Op::Merge: return info(e->type).probes ? 10'000 : 500;
        case Op::Literal:
        case Op::Var:
        case Op::Block:
        case Op::Lambda:
        case Op::MakeStruct:
        case Op::GetField: return 0;
        case Op::Sqrt:
        case Op::Div:
        case Op::Rem: return 2'000;
        default: return is_math(e->op) ? 5'000 : 300;
    }
}

/// Of what binds no names, and so has no loops.
static std::int64_t plain_picoseconds(const Expr* e) {
    std::int64_t sum = own_picoseconds(e);
    for (const Expr* a : e->args()) sum += plain_picoseconds(a);
    return std::min(sum, kMost);
}

/// `rounds * cost`. Nests multiply, so costs have a most.
static Count multiplied(const Count& rounds, const Count& cost) {
    const auto most = [](const Count& n) {
        double most = 0;
        for (const Count::Product& p : n.sum()) most = std::max(most, std::abs(double(p.factor)));
        return most;
    };
    return most(rounds) * most(cost) > double(kMost) ? Count(kMost) : rounds * cost;
}

namespace {

/// In terms of the sizes that `names` tell, if `facts` know them; else rounds are guessed.
class Estimate {
  public:
    Estimate() = default;
    Estimate(Facts& facts, const std::vector<const Symbol*>& names)
        : facts_(&facts), names_(names.begin(), names.end()) {}

    Count of(const Expr* e) {
        if (!e->binds) return plain_picoseconds(e);
        if (const For f = e->as<For>()) return of_loop(f);
        Count sum = own_picoseconds(e);
        for (const Expr* a : e->args()) sum = sum + of(a);
        if (e->op == Op::Iterate) return multiplied(kGuessOfIterate, sum);
        return e->op == Op::Sort ? multiplied(kGuessOfSort, sum) : sum;
    }

  private:
    Count of_loop(For f) {
        Count sum = of(f.builder());
        for (const Expr* d : f.data()) sum = sum + of(d);
        if (does_nothing(f)) return sum;
        const Iter it = f.data()[0]->as<Iter>();
        const IterKind kind = it ? it.shape().kind : IterKind::Scalar;
        Count body = of(f.body().body());
        if (kind == IterKind::Fringe) return sum + body;  // what a loop over lanes has left
        sum = sum + kBeginning;
        const std::optional<Count> n = facts_ ? facts_->elements(f.node) : std::nullopt;
        if (n && are_known(*n)) {
            if (const auto round = body.known(); round && kind == IterKind::Simd)
                body = std::max<std::int64_t>(1, *round / it.lanes());
            if (const Count all = multiplied(*n, body); all.is_small()) return sum + all;
        }
        const std::int64_t guess = kind == IterKind::Simd ? kGuessOnLanes : kGuess;
        const std::optional<std::int64_t> most = facts_ ? likely_rounds(*facts_, f) : std::nullopt;
        return sum + multiplied(most ? std::clamp<std::int64_t>(*most, 1, guess) : guess, body);
    }

    bool are_known(const Count& n) const {
        return std::ranges::all_of(n.sum(), [&](const Count::Product& p) {
            return std::ranges::all_of(p.of, [&](const Expr* name) {
                return std::ranges::all_of(free_symbols(name),
                                           [&](const Symbol* s) { return names_.contains(s); });
            });
        });
    }

    Facts* facts_ = nullptr;
    std::unordered_set<const Symbol*> names_;
};

}  // namespace

std::int64_t picoseconds(const Expr* e) {
    return e->binds ? guessed(Estimate().of(e)) : plain_picoseconds(e);
}

Count round_cost(Facts& facts, For loop) {
    const Expr* body = loop.body().body();
    // what the loop reads is known when it begins
    const Count round =
        has_loop(body) ? Estimate(facts, free_symbols(loop.node)).of(body) : Count(picoseconds(body));
    return Count(kRound) + round;
}

std::int64_t guessed(const Count& cost) {
    std::int64_t sum = 0;
    for (const Count::Product& p : cost.sum()) {
        std::int64_t product = p.factor;
        for (std::size_t k = 0; k < p.of.size(); ++k) product = std::clamp(product * kGuess, -kMost, kMost);
        sum += product;
    }
    return std::clamp<std::int64_t>(sum, 1, kMost);
}

}  // namespace weld
