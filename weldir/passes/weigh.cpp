// Loops learn what a round costs, and what follows from that.
//
//     result(for(rows, appender[f64], |b, i, row| merge(b, result(for(row, merger[f64,+], f)))))
// becomes
//     result(@(cost:35300) for(rows, appender[f64], |b, i, row|
//       merge(b, result(@(cost:1500, short:33333) for(row, merger[f64,+], f)))))
//
// - `cost` decides how the runtime cuts a loop into chunks, and how often it looks whether to stop. The bits
//   of float sums depend on it, so it depends on the program and on nothing else.
// - `short`: a loop inside of another one over elements is run where it stands, on the state in registers,
//   if it has so few rounds that a call would cost more than several threads bring.
// - `optimize:false`: bodies that are too large, since LLVM takes more than linear time to optimise.
//
// Sorts learn the cost of their function.
#include <algorithm>
#include <string>

#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/cost.h"
#include "weldir/passes/pass.h"

namespace weld {

namespace {

constexpr std::int64_t kRound = 1000;            // what counting costs
constexpr std::int64_t kShortWork = 50'000'000;  // of a loop in place
constexpr std::size_t kMostOptimised = 5000;     // nodes

class Weigher {
  public:
    explicit Weigher(Module& m) : m_(m) {}

    /// `in_loop`: over elements.
    const Expr* weighed(const Expr* e, bool in_loop) {
        if (!e->binds) return e;
        const bool repeats = e->op == Op::For || e->op == Op::Sort;
        const Expr* now = map_args(m_, e, [&](const Expr* a, std::size_t) {
            return weighed(a, in_loop || (repeats && a->op == Op::Lambda));
        });
        if (e->op == Op::Sort) return set(now, AttrKey::Cost, cost_of(e->as<Sort>().by()));
        const For loop = e->as<For>();
        if (!loop || does_nothing(loop)) return now;
        const std::int64_t cost = cost_of(loop.body());
        now = set(now, AttrKey::Cost, cost);
        if (in_loop) now = set(now, AttrKey::Short, kShortWork / cost);
        if (size_of_tree(loop.body().body()) > kMostOptimised)
            now = annotate(m_, now, AttrKey::Optimize, "false");
        return now;
    }

  private:
    static std::int64_t cost_of(Lambda body) { return kRound + picoseconds(body.body()); }

    const Expr* set(const Expr* e, AttrKey key, std::int64_t n) {
        const Annotation* known = e->annotation(key);
        return known && known->number == n ? e : annotate(m_, e, key, std::to_string(n));
    }

    Module& m_;
};

}  // namespace

bool weigh(Module& m, const PassOptions&) {
    bool changed = false;
    const auto look_at = [&](const Expr** root, bool in_loop) {
        const Expr* now = with_args(m, *root, {{Weigher(m).weighed((*root)->arg(0), in_loop)}});
        changed |= now != *root;
        *root = now;
    };
    if (m.main) look_at(&m.main, false);
    for (Function* f : m.functions)
        if (f->lambda) look_at(&f->lambda, f->summary.repeated);
    return changed;
}

}  // namespace weld
