// Long straight-line code becomes functions of bounded size, and what runs once is compiled the quick way.
//
//     let a = …;  let b = …;  let r = iterate(…);  let c = …;  …
// becomes
//     let a = @(segment:quick) …;  let b = …;  let r = @(segment:optimized) iterate(…);
//     let c = @(segment:quick) …;  …
//
// From each mark on to the next one, code is a function of its own. LLVM takes more than linear time for a
// long function: 10,000 lets in one cost seconds. Code outside of loops runs once, so these functions are
// compiled the quick way; so are those in bodies of loops that are too large to be optimised. The elements of
// a long vector literal are computed by such functions as well.
//
// What has rounds in place, such as an iterate, is worth optimising, and is cut out of straight-line code
// that is not. The other way round, calls of many loops are cut out of a round of an iterate: they take LLVM
// long, and gain nothing by it.
//
// A function without marks is optimised if something in it has rounds in place, or if it runs often; its
// result says so:
//
//     |x: i64| iterate({x, 0L}, f).$0
// becomes
//     |x: i64| @(function:optimized) iterate({x, 0L}, f).$0
//
// but for one with far more parameters than there are registers, which would take minutes to optimise.
#include <algorithm>
#include <vector>

#include "weldir/ir/build.h"
#include "weldir/ir/constants.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/pass.h"

namespace weld {

namespace {

constexpr std::size_t kSegment = 400;     // nodes that one function takes
constexpr std::size_t kWorthApart = 60;   // straight-line code of so many is not optimised along with what is
constexpr std::size_t kFewParts = 8;      // lets or elements that are one function in any case
constexpr std::size_t kAroundALoop = 20;  // nodes, for what surrounds the function of a loop

/// Where code stands.
struct Surroundings {
    bool quick;     ///< in what is compiled the quick way
    bool repeated;  ///< in a loop, an iterate, or a function that runs often
    bool in_for;    ///< in a loop over elements, perhaps
    bool on_lanes = false;

    bool may_be_cut() const { return (quick || !repeated) && !on_lanes; }
    /// In a round of an iterate, which is optimised; loops are called from there.
    bool in_rounds() const { return !quick && repeated && !in_for && !on_lanes; }
};

/// Calls loops, and has no rounds in place.
bool calls_loops(const Expr* e) {
    if (e->op == Op::Iterate || e->op == Op::Sort) return false;
    bool calls = e->op == Op::For;
    for (const Expr* a : e->args()) {
        if (a->op == Op::Lambda) continue;
        if (has_rounds_in_place(a)) return false;
        calls |= calls_loops(a);
    }
    return calls;
}

bool is_marked(const Expr* e) { return e->annotation(AttrKey::Segment); }

/// The body of a function that is optimised.
const Expr* optimized(Module& m, const Expr* body) {
    const auto mark = [&](const Expr* e) { return annotate(m, e, AttrKey::Function, "optimized"); };
    const Block block = body->as<Block>();
    if (!block) return mark(body);
    std::vector<const Expr*> args(body->args().begin(), body->args().end());
    args.back() = mark(args.back());
    return with_args(m, body, args);
}

bool is_over_lanes(For loop) {
    const Iter it = loop.data()[0]->as<Iter>();
    return it && it.shape().kind == IterKind::Simd;
}

class Cutter {
  public:
    explicit Cutter(Module& m) : m_(m), constants_(m) {}

    bool is_mixed(const Expr* body) const {
        if (body->op != Op::Block || !has_rounds_in_place(body)) return false;
        std::size_t straight = 0;
        for (const Expr* part : body->args())
            if (!has_rounds_in_place(part)) straight += weight(part, kWorthApart);
        return straight >= kWorthApart;
    }

    const Expr* cut(const Expr* e, Surroundings at) const {
        switch (e->op) {
            case Op::Block: return cut_block(e->as<Block>(), at);
            case Op::MakeVec: return cut_vector(e, at);
            case Op::For: return cut_loop(e->as<For>(), at);
            case Op::Iterate:
            case Op::Sort: {
                Surroundings inside = at;
                inside.repeated = true;
                inside.in_for |= e->op == Op::Sort;
                // A comparator is a function that is optimised.
                if (e->op == Op::Sort && e->as<Sort>().by().params().size() > 1) inside.quick = false;
                return cut_args(e, at, inside);
            }
            default: return cut_args(e, at, at);
        }
    }

  private:
    using Parts = std::vector<const Expr*>;

    std::size_t weight(const Expr* e, std::size_t limit) const {
        if (constants_.holds(e)) return 0;
        std::size_t n = e->op == Op::For || e->op == Op::Sort ? 1 + kAroundALoop : 1;
        for (const Expr* a : e->args()) {
            if (n > limit) break;
            if (a->op != Op::Lambda) n += weight(a, limit);
        }
        return n;
    }

    bool is_long(const Expr* e) const { return weight(e, 2 * kSegment) >= 2 * kSegment; }

    bool is_cut(Block b, Surroundings at) const {
        if (at.in_rounds()) {
            std::size_t calls = 0;
            for (const Expr* value : b.values())
                if (calls_loops(value)) calls += weight(value, kSegment);
            return calls >= kSegment;
        }
        if (!at.may_be_cut()) return false;
        return (b.size() >= kFewParts && is_long(b.node)) || (at.quick && is_mixed(b.node));
    }

    const Expr* cut_block(Block b, Surroundings at) const {
        if (!is_cut(b, at)) return cut_args(b.node, at, at);
        Parts parts(b.values().begin(), b.values().end());
        if (has_rounds_in_place(b.result())) parts.push_back(b.result());
        return with_segments(b.node, parts, at);
    }

    const Expr* cut_vector(const Expr* v, Surroundings at) const {
        if (v->num_args < kFewParts || !at.may_be_cut() || constants_.holds(v) || !is_long(v))
            return cut_args(v, at, at);
        return with_segments(v, {v->args().begin(), v->args().end()}, at);
    }

    const Expr* cut_loop(For loop, Surroundings at) const {
        const bool large = loop.node->says(AttrKey::Optimize, false);
        return cut_args(loop.node, at,
                        {.quick = large,
                         .repeated = true,
                         .in_for = true,
                         .on_lanes = at.on_lanes || is_over_lanes(loop)});
    }

    const Expr* cut_args(const Expr* e, Surroundings at, Surroundings inside) const {
        return map_args(m_, e, [&](const Expr* a, std::size_t) {
            return a->op == Op::Lambda ? cut_args(a, inside, inside) : cut(a, at);
        });
    }

    /// A little of the one kind between parts of the other stays with these.
    std::vector<bool> quick_parts(const Parts& parts, Surroundings at) const {
        std::vector<bool> quick;
        for (const Expr* part : parts)
            quick.push_back(at.in_rounds() ? calls_loops(part) : !has_rounds_in_place(part));
        const auto join = [&](bool kind) {
            for (std::size_t from = 0, to; from < parts.size(); from = to) {
                std::size_t n = 0;
                bool joins = quick[from] == kind;
                for (to = from; to < parts.size() && quick[to] == quick[from]; ++to) {
                    n += weight(parts[to], kWorthApart);
                    joins = joins && (kind || !has_rounds_in_place(parts[to]));
                }
                const bool alone = from == 0 && to == parts.size();
                if (joins && !alone && n < kWorthApart)
                    std::fill(quick.begin() + std::ptrdiff_t(from), quick.begin() + std::ptrdiff_t(to),
                              !kind);
            }
        };
        if (at.in_rounds()) join(false);
        join(true);
        return quick;
    }

    /// The first of the arguments of `e` are `parts`.
    /// A result that is one of them is marked by itself.
    const Expr* with_segments(const Expr* e, const Parts& parts, Surroundings at) const {
        const std::vector<bool> quick = quick_parts(parts, at);
        std::vector<const Expr*> args(e->args().begin(), e->args().end());
        bool begins = true;
        std::size_t n = 0;
        for (std::size_t i = 0; i < args.size(); ++i) {
            Surroundings inside = at;
            if (i < parts.size()) inside.quick = quick[i];
            const Expr* now = cut(args[i], inside);
            if (i < parts.size()) {
                const bool is_result = e->op == Op::Block && i + 1 == args.size();
                begins |= is_result;
                if (begins) now = annotate(m_, now, AttrKey::Segment, quick[i] ? "quick" : "optimized");
                n = (begins ? 0 : n) + weight(parts[i], kSegment);
                begins = n >= kSegment || (i + 1 < parts.size() && quick[i + 1] != quick[i]);
            }
            args[i] = now;
        }
        return with_args(m_, e, args);
    }

    Module& m_;
    const Constants constants_;
};

}  // namespace

bool segments(Module& m, const PassOptions&) {
    const Cutter cutter(m);
    bool changed = false;
    const auto look_at = [&](const Expr** root, bool often, bool in_memory) {
        const Expr* body = (*root)->arg(0);
        const bool quick = in_memory || (!often && (!has_rounds_in_place(body) || cutter.is_mixed(body)));
        const Expr* now = cutter.cut(body, {quick, often, often});
        const bool is_cut = now->op == Op::Block && std::ranges::any_of(now->args(), is_marked);
        if (!in_memory && (often || (has_rounds_in_place(now) && !is_cut))) now = optimized(m, now);
        now = with_args(m, *root, {{now}});
        changed |= now != *root;
        *root = now;
    };
    if (m.main) look_at(&m.main, false, false);
    for (Function* f : m.functions)
        if (f->lambda) look_at(&f->lambda, f->summary.repeated, has_params_in_memory(f->type));
    return changed;
}

}  // namespace weld
