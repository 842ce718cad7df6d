// Loops learn what a round costs, and what follows from that.
//
//     result(for(rows, appender[f64], |b, i, row| merge(b, result(for(row, merger[f64,+], f)))))
// becomes
//     result(@(cost:35300) for(rows, appender[f64], |b, i, row|
//       merge(b, result(@(cost:1500, short:33333) for(row, merger[f64,+], f)))))
//
// - `cost` decides how the runtime cuts a loop into chunks, and how often it looks whether to stop. The bits
//   of float sums depend on it, so it depends on the program and on nothing else.
// - `work`, where loops inside go on as often as sizes say that are known when the loop begins, is the name of
//   what a round costs then. How chunks are cut depends on it instead:
//     let work = 11000L + len(w) * 1500L;
//     result(@(cost:35300, work:work) for(rows, appender[f64], |b, i, x|
//       merge(b, result(@(cost:1500, short:33333) for(w, merger[f64,+], f)))))
// - `short`: a loop inside of another one over elements is run where it stands, on the state in registers,
//   if it has so few rounds that a call would cost more than several threads bring. So is one in a small `iterate`.
//   `short:all`: what it goes over is never longer than that; then it is there in no other form.
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
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/pass.h"

namespace weld {

namespace {

constexpr std::int64_t kComparison = 1000;       // what a sort does besides comparing
constexpr std::int64_t kShortWork = 50'000'000;  // of a loop in place: the runtime cuts none with so little
constexpr std::size_t kMostOptimised = 5000;     // nodes
constexpr std::size_t kMostInRounds = 600;       // nodes of an `iterate` in which loops are in place

class Weigher {
  public:
    Weigher(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    /// `in_loop`: over elements, or in a small `iterate`.
    const Expr* weighed(const Expr* e, bool in_loop) {
        if (!e->binds) return e;
        if (e->op == Op::Block) return in_block(e->as<Block>(), in_loop);
        const bool repeats = e->op == Op::For || e->op == Op::Sort ||
                             (e->op == Op::Iterate && size_of_tree(e) <= kMostInRounds);
        const Expr* now = map_args(m_, e, [&](const Expr* a, std::size_t i) {
            const bool inside = in_loop || (repeats && a->op == Op::Lambda);
            return is_lazy_arg(e, i) ? alone(a, inside) : weighed(a, inside);
        });
        if (e->op == Op::Sort)
            return set(now, AttrKey::Cost, kComparison + picoseconds(e->as<Sort>().by().body()));
        const For loop = e->as<For>();
        if (!loop || does_nothing(loop)) return now;
        const Count work = round_cost(facts_, loop);
        const std::int64_t cost = guessed(work);
        now = set(now, AttrKey::Cost, cost);
        const std::int64_t short_rounds = kShortWork / cost;
        const std::optional<std::int64_t> most =
            in_loop && work.known() ? most_rounds(facts_, loop) : std::nullopt;
        if (most && *most <= short_rounds) now = annotate(m_, now, AttrKey::Short, "all");
        else if (in_loop) now = set(now, AttrKey::Short, short_rounds);
        if (size_of_tree(loop.body().body()) > kMostOptimised)
            now = annotate(m_, now, AttrKey::Optimize, "false");
        if (work.known() || now->annotation(AttrKey::Work)) return now;
        const Symbol* name = m_.symbol("work", m_.types.i64());
        const Symbol* names[] = {name};
        lets_.emplace_back(name, written(m_, work));
        return annotate(m_, now, AttrKey::Work, names);
    }

  private:
    /// The names of what is weighed in a value stand before it.
    const Expr* in_block(Block b, bool in_loop) {
        Lets around = std::exchange(lets_, {});
        std::vector<const Symbol*> names;
        std::vector<const Expr*> args;
        for (std::size_t i = 0; i < b.node->num_args; ++i) {
            const Expr* now = weighed(b.node->arg(i), in_loop);
            for (const auto& [name, value] : std::exchange(lets_, {})) {
                names.push_back(name);
                args.push_back(value);
            }
            if (i < b.size()) names.push_back(b.symbol(i));
            args.push_back(now);
        }
        lets_ = std::move(around);
        if (names.size() == b.size()) return with_args(m_, b.node, args);
        return with_symbols(m_, b.node, names, args);
    }

    /// What is evaluated by itself, if at all.
    const Expr* alone(const Expr* e, bool in_loop) {
        Lets around = std::exchange(lets_, {});
        const Expr* now = weighed(e, in_loop);
        return block(m_, std::exchange(lets_, std::move(around)), now);
    }

    const Expr* set(const Expr* e, AttrKey key, std::int64_t n) {
        const Annotation* known = e->annotation(key);
        return known && known->number == n ? e : annotate(m_, e, key, std::to_string(n));
    }

    Module& m_;
    Facts facts_;
    Lets lets_;  // before what is being weighed
};

}  // namespace

bool weigh(Module& m, const PassOptions&) {
    bool changed = false;
    const auto look_at = [&](const Expr** root, bool in_loop) {
        const Expr* now = Weigher(m, *root).weighed(*root, in_loop);
        changed |= now != *root;
        *root = now;
    };
    if (m.main) look_at(&m.main, false);
    for (Function* f : m.functions)
        if (f->lambda) look_at(&f->lambda, f->summary.repeated);
    return changed;
}

}  // namespace weld
