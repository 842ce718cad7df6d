// Short vectors that a loop makes in its rounds, and merges, lie one behind the other in memory.
//
//     for(vs, appender[vec[f64]], |b, i, v|
//       let t = result(for(v, appender[f64], f));
//       merge(b, t))
// becomes
//     for(vs, appender[vec[f64]], |b, i, v|
//       let t = result(@(slab:1) for(v, appender[f64], f));
//       merge(b, t))
//
// Room for each is a few instructions then, instead of a call, and what is kept together is looked through in
// one go. A slab lives as long as any vector in it, so only what is merged as it is made goes there.
#include <unordered_set>

#include "weldir/ir/builder.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::int64_t kMostInRound = 256;  // values

/// The round of a loop: what it merges.
class Round {
  public:
    explicit Round(Module& m) : m_(m) {}

    /// `e`, which gives a builder, with slabs for what is merged into it.
    const Expr* merging(const Expr* e) {
        switch (e->op) {
            case Op::Block: return block(e->as<Block>(), [&](const Expr* result) { return merging(result); });
            case Op::For: return with_first(e, [&](const Expr* builder) { return merging(builder); });
            case Op::If:
            case Op::MakeStruct:
            case Op::GetField:
            case Op::Merge:
                return map_args(m_, e, [&](const Expr* a, std::size_t i) {
                    if (a->type->holds_builder) return merging(a);
                    return e->op == Op::Merge && i == 1 ? kept(a) : a;
                });
            default: return e;
        }
    }

  private:
    /// The lets last: then it is known which of their names are kept.
    template <class Fn>
    const Expr* block(Block b, const Fn& fn) {
        const Expr* result = fn(b.result());
        std::vector<const Expr*> args(b.size());
        for (std::size_t i = b.size(); i-- > 0;) {
            const Expr* value = b.value(i);
            if (b.symbol(i)->type->holds_builder) value = merging(value);
            else if (names_.contains(b.symbol(i))) value = kept(value);
            args[i] = value;
        }
        args.push_back(result);
        return with_args(m_, b.node, args);
    }

    template <class Fn>
    const Expr* with_first(const Expr* e, const Fn& fn) {
        return map_args(m_, e, [&](const Expr* a, std::size_t i) { return i ? a : fn(a); });
    }

    /// `e`, whose value lives on in what the round merges, with vectors in slabs.
    const Expr* kept(const Expr* e) {
        switch (e->op) {
            case Op::Var: names_.insert(e->attr.symbol); return e;
            case Op::Block: return block(e->as<Block>(), [&](const Expr* result) { return kept(result); });
            case Op::If:
                return map_args(m_, e, [&](const Expr* a, std::size_t i) { return i ? kept(a) : a; });
            case Op::MakeStruct: return map_args(m_, e, [&](const Expr* a, std::size_t) { return kept(a); });
            case Op::MakeVec: return e->num_args && !is_constant(e) ? in_slab(e, e->num_args) : e;
            case Op::Result: return with_first(e, [&](const Expr* loop) { return appending(loop); });
            default: return e;
        }
    }

    /// A loop that only appends, one that goes on with what another one has appended among them.
    const Expr* appending(const Expr* e) {
        const For f = e->as<For>();
        if (!f || !e->type->is_builder() || !info(e->type).keeps_merges || info(e->type).keyed) return e;
        const Expr* start = f.builder();
        if (start->op == Op::NewBuilder && start->num_args) return e;  // how many it takes is said otherwise
        if (start->op != Op::NewBuilder && start->op != Op::For) return e;
        const Expr* before = start->op == Op::For ? appending(start) : start;
        if (start->op == Op::For && before == start) return e;
        const std::int64_t most = most_merges_per_iteration(f);
        const Expr* same = with_first(e, [&](const Expr*) { return before; });
        return most < 1 ? same : in_slab(same, most);
    }

    const Expr* in_slab(const Expr* e, std::int64_t most) {
        return most > kMostInRound ? e : annotate(m_, e, AttrKey::Slab, std::to_string(most));
    }

    Module& m_;
    std::unordered_set<const Symbol*> names_;
};

}  // namespace

const Expr* slabs(Module& m, const Expr* lambda) {
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const For f = e->as<For>();
        if (!f) return nullptr;
        const Expr* body = Round(m).merging(f.body().body());
        if (body == f.body().body()) return nullptr;
        return map_args(m, e, [&](const Expr* a, std::size_t i) {
            return i == 1 ? map_args(m, a, [&](const Expr*, std::size_t) { return body; }) : a;
        });
    });
}

}  // namespace weld
