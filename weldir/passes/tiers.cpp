// Loops are compiled the quick way at first, and optimised when they turn out to have much to do.
//
//     let a = result(for(v, merger[f64,+], f));
// becomes
//     let a = result(@(optimize:later) for(v, merger[f64,+], f));
//
// To optimise a loop takes LLVM milliseconds, and most have too little to do to bring them back. A loop inside
// of another one, or of rounds, is optimised with what is around it; but what is called instead of it where it
// is long (`weigh` says which is `short`) begins as quick code, too:
//
//     for(y, appender[f64], |b, i, row| merge(b, result(@(short:9000, optimize:later) for(row, …))))
//
// Where more is optimised than PassOptions says, loops in rounds and in functions wait as well, and so do rounds
// of an iterate and functions that run often, where they do little but call loops: they are optimised once
// they were called often.
//
//     iterate(x, |s| … for(…) …)        ->   @(optimize:later) iterate(x, |s| … @(optimize:later) for(…) …)
//     def f(n: i64): i64 = … f(n / 2L)  ->   def f(n: i64): i64 = … @(function:later) …
//
// What is optimised is estimated in LLVM instructions: a few for each node, more for merges and look-ups in
// tables, times how often codegen writes it. A body is there in the function of its loop and, if that may be
// short, in place; each time once for each accumulator, once for the rounds that these leave, and once for a
// tail. For nine of ten programs of the tests the estimate is within a third.
//
// Runs last: `segments` says what straight-line code is optimised, `weigh` what loops may be short.
#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <vector>

#include "weldir/ir/build.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/pass.h"

namespace weld {

namespace {

constexpr std::int64_t kFunction = 4, kLoop = 28, kTail = 14, kDatum = 10;
constexpr std::int64_t kTableOfLanes = 200, kTable = 95, kSearch = 45, kArray = 26, kCall = 11, kNode = 2;

std::int64_t instructions_of(const Expr* e) {
    switch (e->op) {
        case Op::Merge: {
            const BuilderInfo& b = info(e->type);
            const bool on_lanes = e->arg(1)->type->holds_simd;
            if (b.probes) return on_lanes ? kTableOfLanes : kTable;
            if (b.keeps_merges) return on_lanes && e->num_args == 2 ? kNode : kArray;
            return is_value(b) ? kNode : kCall;
        }
        case Op::OptLookup:
        case Op::KeyExists:
        case Op::ToVec: return kSearch;
        case Op::Lookup: return e->arg(0)->type->is_dict() ? kSearch : kCall;
        case Op::LookupLanes:
        case Op::OptLanes:
        case Op::NewBuilder:
        case Op::Result:
        case Op::Call:
        case Op::Kernel:
        case Op::Sort: return kCall;
        case Op::Literal:
        case Op::Block:
        case Op::Lambda:
        case Op::GetField:
        case Op::Broadcast: return 0;
        default: return is_comparison(e->op) && !e->arg(0)->type->is_lanes() ? kCall : kNode;
    }
}

/// It is compiled in place, for when it has few iterations.
bool may_be_short(For loop) {
    const Annotation* most = loop.node->annotation(AttrKey::Short);
    return most && (most->number > 0 || most->text == "all");
}

/// LLVM instructions of a module that are optimised before the first run.
class Estimate {
  public:
    explicit Estimate(const Module& m) {
        if (m.main) function(m.main);
        for (const Function* f : m.functions)
            if (f->lambda) function(f->lambda);
    }
    std::int64_t instructions() const { return sum_; }

  private:
    void function(const Expr* lambda) {
        const Expr* body = lambda->arg(0);
        const Expr* result = body->op == Op::Block ? body->as<Block>().result() : body;
        const bool optimised = result->annotation(AttrKey::Function);
        if (optimised) sum_ += kFunction;
        add(body, optimised);
    }

    /// `copies` of `e` are optimised.
    void add(const Expr* e, std::int64_t copies) {
        copies = std::min<std::int64_t>(copies, 1 << 20);  // nests multiply
        if (!e->binds && copies == 0) return;
        switch (e->op) {
            case Op::For: return add_loop(e->as<For>(), copies);
            case Op::Block: return add_block(e->as<Block>(), copies);
            case Op::Sort: return add_sort(e->as<Sort>(), copies);
            default: break;
        }
        sum_ += copies * instructions_of(e);
        for (const Expr* a : e->args()) add(a, copies);
    }

    void add_block(Block b, std::int64_t copies) {
        for (const Expr* part : b.node->args()) {
            if (const Annotation* segment = part->annotation(AttrKey::Segment)) {
                copies = segment->text == "optimized";
                sum_ += copies * kFunction;
            }
            add(part, copies);
        }
    }

    void add_sort(Sort s, std::int64_t copies) {
        sum_ += copies * kCall;
        const bool compares = s.by().params().size() > 1;  // in a function, which is optimised
        for (const Expr* a : s.node->args())
            add(a->op == Op::Lambda ? a->arg(0) : a, a->op == Op::Lambda && compares ? 1 : copies);
    }

    void add_loop(For loop, std::int64_t copies) {
        for (const Expr* d : loop.data()) add(d, copies);
        if (does_nothing(loop)) return add(loop.builder(), copies);
        const For rest = loop.node->annotation(AttrKey::Tail) ? loop : For{};
        if (rest) loop = rest.builder()->as<For>();
        add(loop.builder(), copies);
        const bool grouped = loop.node->annotation(AttrKey::Groups);
        const std::int64_t outlined = !loop.node->annotation(AttrKey::Optimize);
        const std::int64_t all = outlined + (may_be_short(grouped ? rest : loop) ? copies : 0);
        sum_ += outlined * kLoop;
        std::int64_t bodies = all;
        if (const Annotation* a = loop.node->annotation(AttrKey::Accumulators)) bodies += all * a->number;
        if (grouped) {
            add_body(rest, all);
        } else if (rest) {
            bodies += all;
            sum_ += all * kTail;
        }
        add_body(loop, bodies);
    }

    void add_body(For loop, std::int64_t copies) {
        sum_ += copies * kDatum * std::int64_t(loop.data().size());
        add(loop.body().body(), copies);
    }

    std::int64_t sum_ = 0;
};

/// Rounds that are neither those of a loop over elements nor optimised later run in `e`.
bool runs_rounds(const Expr* e) {
    if (!e->binds) return false;
    if (e->op == Op::Sort || (e->op == Op::Iterate && !e->annotation(AttrKey::Optimize))) return true;
    return std::ranges::any_of(e->args(),
                               [](const Expr* a) { return a->op != Op::Lambda && runs_rounds(a); });
}

/// A loop over elements is called from `e`.
bool calls_loop(const Expr* e) {
    if (!e->binds) return false;
    if (e->op == Op::For) return !does_nothing(e->as<For>());
    return std::ranges::any_of(e->args(), calls_loop);
}

/// Between one call of a loop and the next there is little to be optimised in `e`.
bool mostly_calls_loops(const Expr* e) { return calls_loop(e) && !runs_rounds(e); }

/// The functions that run in loops over elements, and in sorts.
class InLoops {
  public:
    explicit InLoops(const Module& m) {
        if (m.main) look(m.main, false);
        for (const Function* f : m.functions)
            if (f->lambda) look(f->lambda, false);
    }
    bool contains(const Function* f) const { return all_.contains(f); }

  private:
    void look(const Expr* e, bool inside) {
        if (const Call call = e->as<Call>(); call && inside && all_.insert(&call.function()).second)
            if (const Expr* lambda = call.function().lambda) look(lambda, true);
        const bool repeats = e->op == Op::For || e->op == Op::Sort;
        for (const Expr* a : e->args()) look(a, inside || (repeats && a->op == Op::Lambda));
    }
    std::unordered_set<const Function*> all_;
};

class Marker {
  public:
    /// `all`: rounds and functions wait as well.
    Marker(Module& m, bool all) : m_(m), in_loops_(m), all_(all) {}

    /// Code that runs once.
    const Expr* program(const Expr* lambda) const {
        const Expr* body = later(lambda->arg(0), Where::Once);
        if (all_ && !runs_rounds(body))
            body = with_result(body, [&](const Expr* e) { return without(e, AttrKey::Function); });
        return with_args(m_, lambda, {{body}});
    }

    /// A function that runs often.
    const Expr* function(const Function* f) const {
        const Expr* body = f->lambda->arg(0);
        const bool with_others = f->summary.mutual || in_loops_.contains(f) || jumps(body);
        const Expr* now = later(body, with_others ? Where::Loop : Where::Rounds);
        if (all_ && !with_others && mostly_calls_loops(now))
            now = with_result(now, [&](const Expr* e) {
                return e->annotation(AttrKey::Function) ? annotate(m_, e, AttrKey::Function, "later") : e;
            });
        return with_args(m_, f->lambda, {{now}});
    }

  private:
    /// Where code runs: once, in rounds of an iterate or calls of a function, or in those of a loop.
    enum class Where : std::uint8_t { Once, Rounds, Loop };

    /// `e` with what waits marked.
    const Expr* later(const Expr* e, Where where) const {
        if (!e->binds) return e;
        const Expr* now = map_args(m_, e, [&](const Expr* a, std::size_t) {
            return later(a, a->op == Op::Lambda ? inside(e, where) : where);
        });
        if (all_ && where != Where::Loop && now->op == Op::Block)
            now = map_args(m_, now, [&](const Expr* a, std::size_t) { return now_quick(a); });
        return waits(now, where) && !e->annotation(AttrKey::Optimize)
                   ? annotate(m_, now, AttrKey::Optimize, "later")
                   : now;
    }

    static Where inside(const Expr* e, Where where) {
        if (e->op == Op::For || e->op == Op::Sort) return Where::Loop;
        return e->op == Op::Iterate ? std::max(where, Where::Rounds) : where;
    }

    bool waits(const Expr* e, Where where) const {
        if (e->op == Op::Iterate) return all_ && where != Where::Loop && is_worth_calling(e->as<Iterate>());
        const For loop = e->as<For>();
        if (!loop || does_nothing(loop) || e->annotation(AttrKey::Tail)) return false;
        return where == Where::Once || (all_ && where == Where::Rounds) || may_be_short(loop);
    }

    static bool is_worth_calling(Iterate it) { return !it.lanes() && mostly_calls_loops(it.body().body()); }

    /// A segment that was optimised for rounds that are now optimised later.
    const Expr* now_quick(const Expr* part) const {
        const Annotation* segment = part->annotation(AttrKey::Segment);
        return segment && segment->text == "optimized" && !runs_rounds(part)
                   ? annotate(m_, part, AttrKey::Segment, "quick")
                   : part;
    }

    static bool jumps(const Expr* e) {
        return e->annotation(AttrKey::TailCall) || std::ranges::any_of(e->args(), jumps);
    }

    const Expr* without(const Expr* e, AttrKey key) const {
        std::vector<Annotation> others;
        std::ranges::remove_copy_if(e->annotations, std::back_inserter(others),
                                    [&](const Annotation& a) { return a.key == key; });
        return others.size() < e->annotations.size() ? with_annotations(m_, e, others) : e;
    }

    template <class F>
    const Expr* with_result(const Expr* body, const F& change) const {
        if (body->op != Op::Block) return change(body);
        std::vector<const Expr*> args(body->args().begin(), body->args().end());
        args.back() = change(args.back());
        return with_args(m_, body, args);
    }

    Module& m_;
    const InLoops in_loops_;
    const bool all_;
};

bool mark(Module& m, bool all) {
    const Marker marker(m, all);
    bool changed = false;
    const auto put = [&](const Expr** root, const Expr* now) {
        changed |= now != *root;
        *root = now;
    };
    if (m.main) put(&m.main, marker.program(m.main));
    for (Function* f : m.functions)
        if (f->lambda) put(&f->lambda, f->summary.repeated ? marker.function(f) : marker.program(f->lambda));
    return changed;
}

}  // namespace

bool tiers(Module& m, const PassOptions& options) {
    if (options.most_optimised == PassOptions::kAllAtOnce) return false;
    const bool changed = mark(m, false);
    return (Estimate(m).instructions() > options.most_optimised && mark(m, true)) || changed;
}

}  // namespace weld
