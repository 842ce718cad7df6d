// Where there is much to optimise, loops are compiled the quick way at first.
//
//     let a = result(for(v, merger[f64,+], f));     # and hundreds of others
// becomes
//     let a = result(@(optimize:later) for(v, merger[f64,+], f));
//
// To optimise a loop takes LLVM milliseconds, and most have too little to do to bring them back. So where
// more is optimised than PassOptions says, each loop begins as quick code, and those that turn out to have
// much to do are optimised then. A loop inside of another one, in a sort, or in a function that runs often,
// goes with what is around it.
//
// What is optimised is estimated in LLVM instructions: a few for each node, more for merges and look-ups in
// tables, times how often codegen writes it. A body is there in the function of its loop and, if that may be
// short, in place; each time once for each accumulator, once for the rounds that these leave, and once for a
// tail. For nine of ten programs of the tests the estimate is within a third.
//
// Runs last: `segments` says what straight-line code is optimised, `weigh` what loops may be short.
#include <algorithm>

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
        const bool may_be_short = (grouped ? rest : loop).node->annotation(AttrKey::Short);
        const std::int64_t outlined = !loop.node->says(AttrKey::Optimize, false);
        const std::int64_t all = outlined + (may_be_short ? copies : 0);
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

/// `e` with its loops marked, but for those inside of others.
const Expr* later(Module& m, const Expr* e) {
    if (!e->binds) return e;
    const For loop = e->as<For>();
    const bool repeats = loop || e->op == Op::Sort;
    const Expr* now = map_args(
        m, e, [&](const Expr* a, std::size_t) { return repeats && a->op == Op::Lambda ? a : later(m, a); });
    if (!loop || does_nothing(loop) || e->annotation(AttrKey::Tail) || e->annotation(AttrKey::Optimize))
        return now;
    return annotate(m, now, AttrKey::Optimize, "later");
}

}  // namespace

bool tiers(Module& m, const PassOptions& options) {
    if (Estimate(m).instructions() <= options.most_optimised) return false;
    bool changed = false;
    const auto look_at = [&](const Expr** root) {
        const Expr* now = with_args(m, *root, {{later(m, (*root)->arg(0))}});
        changed |= now != *root;
        *root = now;
    };
    if (m.main) look_at(&m.main);
    for (Function* f : m.functions)
        if (f->lambda && !f->summary.repeated) look_at(&f->lambda);
    return changed;
}

}  // namespace weld
