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
#include <set>
#include <unordered_set>

#include "weldir/ir/builder.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::int64_t kMostInRound = 256;  // values

/// What slabs are for: vectors that only grow.
bool is_appender(const Type* t) { return t->is_builder() && info(t).keeps_merges && !info(t).keyed; }

/// Calls `fn(number of the field)` for the appenders of a loop's state; the only one has the number 0.
template <class Fn>
void each_appender(const Type* t, Fn&& fn) {
    if (!t->is_struct()) return is_appender(t) ? fn(std::size_t(0)) : void();
    for (std::size_t i = 0; i < t->args.size(); ++i)
        if (is_appender(t->args[i])) fn(i);
}

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
        for (std::size_t i = b.size(); i-- > 0;) args[i] = bound(b.symbol(i), b.value(i));
        args.push_back(result);
        return with_args(m_, b.node, args);
    }

    const Expr* bound(const Symbol* name, const Expr* value) {
        if (!name->type->holds_builder) return names_.contains(name) ? kept(value) : value;
        return are_all_kept(name) ? appending(value) : merging(value);
    }

    bool are_all_kept(const Symbol* name) const {
        bool all = true, any = false;
        each_appender(name->type, [&](std::size_t i) {
            any = true;
            all &= ended_.contains({name, i});
        });
        return any && all;
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
            case Op::Result: return with_first(e, [&](const Expr* builder) { return ended(builder); });
            default: return e;
        }
    }

    const Expr* ended(const Expr* builder) {
        if (builder->op == Op::For) return appending(builder);
        const Expr* of = builder->op == Op::GetField ? builder->arg(0) : builder;
        if (of->op == Op::Var) ended_.insert({of->attr.symbol, of == builder ? 0 : builder->attr.index});
        return builder;
    }

    /// A loop all of whose appenders make what is kept, or what goes on with one.
    const Expr* appending(const Expr* e) {
        const For f = e->as<For>();
        if (!f) return e;
        const Expr* start = f.builder();
        if (start->op == Op::For) {
            const Expr* before = appending(start);
            return before == start ? e : in_slab(with_first(e, [&](const Expr*) { return before; }), f);
        }
        return begins_in_slab(f, start) ? in_slab(e, f) : e;
    }

    /// `start` makes new builders, of which the appenders have no memory yet. That of one that goes over a datum
    /// of `f` is kept.
    bool begins_in_slab(For f, const Expr* start) {
        if (start->op == Op::MakeStruct)
            return std::ranges::all_of(start->args(), [&](const Expr* a) { return begins_in_slab(f, a); });
        if (start->op != Op::NewBuilder) return false;
        if (!info(start->type).keeps_merges) return true;
        const Annotation* over = start->annotation(AttrKey::Over);
        if (!over) return is_appender(start->type) && !start->num_args;
        const Expr* datum = f.data()[std::size_t(over->number)];
        const Expr* of = datum->op == Op::Iter ? datum->as<Iter>().data() : datum;
        if (of) kept(of);
        return false;
    }

    const Expr* in_slab(const Expr* loop, For before) {
        const std::int64_t most = most_appends_per_iteration(before);
        return most < 1 ? loop : in_slab(loop, most);
    }
    const Expr* in_slab(const Expr* e, std::int64_t most) {
        return most > kMostInRound ? e : annotate(m_, e, AttrKey::Slab, std::to_string(most));
    }

    Module& m_;
    std::unordered_set<const Symbol*> names_;
    std::set<std::pair<const Symbol*, std::size_t>> ended_;  // appenders whose results are kept
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
