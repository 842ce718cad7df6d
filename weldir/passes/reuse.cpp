// Whose memory a value is, and what follows from it: vectors are changed in place where nobody sees it, and
// freed after their last reader.
//
//     let a = result(for(v, appender[f64], f));
//     let h = result(for(a, vecmerger[f64,+](z), g));
//     let k = result(for(h, vecmerger[f64,+](h2), g2)); ...
// becomes
//     let h = @(free:a) result(...);                                     # nobody reads `a` after this
//     let k = result(for(h, @(inplace:true) vecmerger[f64,+](h2), ...    # nor `h2`, which `k` now is
//
// Three steps, each one walk:
//   1. `Origins` (origins.cpp), forward: which *objects* each value may point at. An object is memory that a
//      node of the program allocates: what a builder builds, what a sort gives. Parameters, constants, and all
//      that is unknown are one object, kOutside, which nobody here owns.
//   2. `Lives` (lives.cpp), backward: which objects are read later. A vecmerger or vecsetter may start in
//      place on a vector whose objects are all owned and not read later.
//   3. `Marks` writes down what was found.
//
// A function does not know who else reads its parameters. Its caller does: `@(give:a) f(a)` says that nobody
// reads `a` later, and moves its memory to the region of the callee, which ends it after its last reader
// there. Freeing a parameter that was not given does nothing, since that lies in another region. What
// functions give is known as well: which of it is new, and which may be a parameter.
//
// The vectors in the state of an `iterate` are objects of its round. If a round owns what it gives to the
// next, it owns what it gets, but for the first round: that gets a copy of what isn't its own.
#include <map>
#include <string>
#include <unordered_set>

#include "weldir/ir/build.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lives.h"
#include "weldir/passes/pass.h"

namespace weld {

using namespace ownership;

namespace {

constexpr int kMostRounds = 8;  // until the results of functions that call each other are known

class Marks {
  public:
    Marks(Module& m, const Origins& origins, const Lives& lives) : m_(m), o_(origins), lives_(lives) {}

    const Expr* marked(const Expr* e) {
        if (!e->binds && !o_.has_start(e)) return e;
        const Expr* now = map_args(m_, e, [&](const Expr* a, std::size_t) { return marked(a); });
        if (e->op == Op::NewBuilder && lives_.is_in_place(e))
            return annotate(m_, now, AttrKey::InPlace, "true");
        if (e->op == Op::NewBuilder && e->annotation(AttrKey::Spare)) return without(m_, now, AttrKey::Spare);
        if (e->op == Op::For)
            return map_args(
                m_, now, [&](const Expr* a, std::size_t i) { return i == 0 ? laid_over(e->arg(0), a) : a; });
        if (e->op == Op::Iterate) return with_copies(e, now);
        if (e->op == Op::Call) {
            const std::vector<const Symbol*> given = lives_.gives(e);
            return given.empty() ? now : annotate(m_, now, AttrKey::Give, given);
        }
        if (e->op == Op::Block) return with_frees(e->as<Block>(), now);
        return now;
    }

  private:
    /// `now`, which is `start` and begins a loop, with what its appenders go over.
    const Expr* laid_over(const Expr* start, const Expr* now) {
        if (start->op == Op::MakeStruct)
            return map_args(m_, now,
                            [&](const Expr* a, std::size_t i) { return laid_over(start->arg(i), a); });
        const auto datum = start->op == Op::NewBuilder ? lives_.over(start) : std::nullopt;
        return datum ? annotate(m_, now, AttrKey::Over, std::to_string(*datum)) : now;
    }

    const Expr* with_frees(Block b, const Expr* now) {
        const auto frees = lives_.frees(b);
        return map_args(m_, now, [&](const Expr* a, std::size_t i) {
            return frees[i].empty() ? a : annotate(m_, a, AttrKey::Free, frees[i]);
        });
    }

    const Expr* with_copies(const Expr* before, const Expr* now) {
        auto found = o_.states.find(before);
        if (found == o_.states.end()) return now;
        const Expr* init = now->arg(0);
        for (const auto& s : found->second)
            if (s->copied) init = with_copy(init, s->path, 0);
        return init == now->arg(0) ? now : with_args(m_, now, {{init, now->arg(1)}});
    }

    const Expr* with_copy(const Expr* e, const Path& path, std::size_t depth) {
        if (depth == path.size()) {
            const auto kind = is_mergeable(e->type->elem()) ? BuilderKind::VecMerger : BuilderKind::VecSetter;
            const Type* t = m_.types.builder(kind, {{e->type->elem()}}, MergeOp::Add);
            return result(m_, new_builder(m_, t, e));
        }
        std::vector<const Expr*> fields;
        for (std::size_t i = 0; i < e->type->args.size(); ++i) {
            const Expr* f = e->op == Op::MakeStruct ? e->arg(i) : get_field(m_, e, i);
            fields.push_back(i == path[depth] ? with_copy(f, path, depth + 1) : f);
        }
        return make_struct(m_, fields);
    }

    Module& m_;
    const Origins& o_;
    const Lives& lives_;
};

}  // namespace

/// `e`, in which no two loops share the node of a builder that they start with: what is found for one
/// loop is written there.
static const Expr* with_own_starts(Module& m, const Expr* e, std::unordered_set<const Expr*>& seen,
                                   bool is_start = false) {
    if (is_start && e->op == Op::NewBuilder && !seen.insert(e).second)
        return with_annotations(m, e, e->annotations);
    const auto is_start_at = [&](std::size_t i) {
        if (e->op == Op::For) return i == 0;
        return is_start && (e->op == Op::MakeStruct || (e->op == Op::Merge && i == 0));
    };
    if (!e->binds && !is_start_at(0)) return e;
    return map_args(
        m, e, [&](const Expr* a, std::size_t i) { return with_own_starts(m, a, seen, is_start_at(i)); });
}

/// What the functions of a cycle of calls give: at first nothing, then what that leads to.
static void find_results(std::span<Function* const> cycle, Results& results) {
    for (const Function* f : cycle) results[f] = {};
    for (int round = 0;; ++round) {
        bool changed = false;
        for (const Function* f : cycle) {
            if (!f->type->result()->holds_pointer) continue;
            Reach now = Origins(f->lambda, false, results).result(f->type->result());
            changed |= !is_same(now, results[f]);
            results[f] = std::move(now);
        }
        if (!changed || !cycle[0]->summary.recursive) return;
        if (round < kMostRounds) continue;
        for (const Function* f : cycle) results.erase(f);
        return;
    }
}

bool reuse(Module& m, const PassOptions&) {
    std::map<std::uint32_t, std::vector<Function*>> cycles;  // callees have lower numbers
    for (Function* f : m.functions)
        if (f->lambda) cycles[f->summary.cycle].push_back(f);
    Results results;
    for (const auto& [number, cycle] : cycles) find_results(cycle, results);
    bool changed = false;
    const auto mark = [&](const Expr** root, const Function* f) {
        std::unordered_set<const Expr*> starts;
        *root = with_args(m, *root, {{with_own_starts(m, (*root)->arg(0), starts)}});
        Origins origins(*root, !f, results);
        const Lives lives(origins, *root, f);
        const Expr* now = with_args(m, *root, {{Marks(m, origins, lives).marked((*root)->arg(0))}});
        changed |= now != *root;
        *root = now;
    };
    if (m.main) mark(&m.main, nullptr);
    for (Function* f : m.functions)
        if (f->lambda) mark(&f->lambda, f);
    return changed;
}

}  // namespace weld
