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
// one go. A slab lives as long as any vector in it, so only what is merged as it is made goes there. What goes
// again before the round ends lies in scratch, from which the last vector is taken back:
//
//     let t = result(for(v, appender[i64], f));
//     @(free:t) merge(b, lookup(t, 0L))
// becomes
//     let t = result(@(scratch:1) for(v, appender[i64], f));
//     @(pop:t) merge(b, lookup(t, 0L))
//
// (So do vectors that a loop makes beside sums, and copies into which `vecmerger`s and `vecsetter`s merge.) So do appenders that an `iterate` fills: their merges and their result say it.
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "weldir/ir/builder.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::int64_t kMostInRound = 256;  // values

bool is_appender(const Type* t) { return t->is_builder() && info(t).lists_merges; }

/// Calls `fn(number of the field)` for the appenders of a loop's state; the only one has the number 0.
template <class Fn>
void each_appender(const Type* t, Fn&& fn) {
    if (!t->is_struct()) return is_appender(t) ? fn(std::size_t(0)) : void();
    for (std::size_t i = 0; i < t->args.size(); ++i)
        if (is_appender(t->args[i])) fn(i);
}

/// What is done in a round of a loop with what it makes there.
class Round {
  public:
    /// `key`: Slab or Scratch.
    Round(Module& m, AttrKey key) : m_(m), key_(key) {}

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
                    const bool keeps = e->op == Op::Merge && i == 1 && !e->as<Merge>().rows();
                    return keeps ? kept(a) : a;
                });
            default: return e;
        }
    }

    /// A vector that a loop or a literal makes, in the slab; `e` if it is none.
    const Expr* vector(const Expr* e) {
        if (e->op == Op::MakeVec) return e->num_args && !is_constant(e) ? in_slab(e, e->num_args) : e;
        if (e->op != Op::Result) return e;
        if (e->arg(0)->op != Op::For) return e;
        return with_first(e, [&](const Expr* loop) {
            return info(loop->type).indexed ? merging_at_indices(loop) : appending(loop);
        });
    }

    /// The result of an appender that has a name, or is in a struct that has one: so it is known of the loop of that name.
    const Expr* ended(const Expr* e) {
        const Expr* builder = e->arg(0);
        const Expr* of = builder->op == Op::GetField ? builder->arg(0) : builder;
        if (of->op != Op::Var || !is_appender(builder->type)) return e;
        ended_.insert({of->attr.symbol, of == builder ? 0 : builder->attr.index});
        return iterated_.contains(of->attr.symbol) ? in_slab(e, 1) : e;
    }

    /// The loop `value`, called `name`, in the slab, if its only appender has ended; else `value`.
    const Expr* loop_with_one(const Symbol* name, const Expr* value) {
        int appenders = 0;
        each_appender(name->type, [&](std::size_t) { ++appenders; });
        return value->op == Op::For && appenders == 1 && are_all_kept(name) ? appending(value) : value;
    }

  private:
    /// The lets last: then it is known which of their names are kept.
    template <class Fn>
    const Expr* block(Block b, const Fn& fn) {
        for (std::size_t i = 0; i < b.size(); ++i)
            if (b.value(i)->op == Op::Iterate && may_append(b.value(i)->as<Iterate>()))
                iterated_.insert(b.symbol(i));
        const Expr* result = fn(b.result());
        std::vector<const Expr*> args(b.size());
        for (std::size_t i = b.size(); i-- > 0;) args[i] = bound(b.symbol(i), b.value(i));
        args.push_back(result);
        return with_args(m_, b.node, args);
    }

    const Expr* bound(const Symbol* name, const Expr* value) {
        if (!name->type->holds_builder) return names_.contains(name) ? kept(value) : value;
        if (!are_all_kept(name)) return merging(value);
        return value->op == Op::Iterate ? iterating(value->as<Iterate>()) : appending(value);
    }

    /// Its state begins with new appenders, and each round of it merges into these as they are in the state.
    static bool may_append(Iterate it) {
        const Expr* init = it.init();
        if (init->op != Op::MakeStruct || it.lanes()) return false;
        bool any = false, all = true;
        for (const Expr* field : init->args()) {
            if (!field->type->holds_builder) continue;
            any = true;
            while (field->op == Op::Merge) field = field->arg(0);
            all &= field->op == Op::NewBuilder && is_appender(field->type) && !field->num_args &&
                   !field->says(AttrKey::InPlace, true);
        }
        return any && all;
    }

    const Expr* iterating(Iterate it) {
        const Symbol* state = it.body().param(0);
        const auto merge_in_slab = [&](const Expr* e) -> const Expr* {
            const bool is_own = e->op == Op::Merge && is_appender(e->type) && is_path(e->arg(0)) &&
                                base_of(e->arg(0)) == state;
            return is_own ? in_slab(e, 1) : nullptr;
        };
        return with_body(m_, it.node, rewrite(m_, it.body().body(), merge_in_slab));
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
            case Op::Result: return e->arg(0)->op == Op::For ? vector(e) : ended(e);
            default: return vector(e);
        }
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

    /// Loops that merge into the elements of a copy, which goes before the round ends.
    const Expr* merging_at_indices(const Expr* e) {
        if (e->op == Op::For) return with_first(e, [&](const Expr* b) { return merging_at_indices(b); });
        const bool copies = e->op == Op::NewBuilder && !e->says(AttrKey::InPlace, true);
        return copies && key_ == AttrKey::Scratch && !e->type->elem()->holds_pointer ? in_slab(e, 1) : e;
    }

    /// `start` makes new builders, of which the appenders have no memory yet. That of one that goes over a datum
    /// of `f` is kept.
    bool begins_in_slab(For f, const Expr* start) {
        if (start->op == Op::MakeStruct)
            return std::ranges::all_of(start->args(), [&](const Expr* a) { return begins_in_slab(f, a); });
        if (start->op != Op::NewBuilder) return false;
        if (!info(start->type).keeps_merges) return true;
        const Annotation* over = start->annotation(AttrKey::Over);
        if (!over)
            return is_appender(start->type) && !start->num_args && !start->says(AttrKey::InPlace, true);
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
        return most > kMostInRound ? e : annotate(m_, e, key_, std::to_string(most));
    }

    Module& m_;
    AttrKey key_;
    std::unordered_set<const Symbol*> names_;
    std::set<std::pair<const Symbol*, std::size_t>> ended_;  // appenders whose results are kept
    std::unordered_set<const Symbol*> iterated_;             // what an iterate with appenders gives
};

/// Vectors that `b` makes and frees lie in scratch.
const Expr* with_scratch(Module& m, Block b) {
    std::unordered_set<const Symbol*> freed;
    for (const Expr* e : b.node->args())
        if (const Annotation* ends = e->annotation(AttrKey::Free))
            freed.insert(ends->symbols.begin(), ends->symbols.end());
    if (freed.empty()) return b.node;
    std::vector<const Symbol*> in_scratch;
    std::vector<const Expr*> args(b.node->args().begin(), b.node->args().end());
    Round round(m, AttrKey::Scratch);
    std::unordered_map<const Symbol*, const Symbol*> results;  // by the name of the loop
    for (std::size_t i = b.size(); i-- > 0;) {
        const Symbol* s = b.symbol(i);
        const bool is_freed = freed.contains(s) && s->type->is_vec();
        if (is_freed && args[i]->op == Op::Result && is_path(args[i]->arg(0))) {
            round.ended(args[i]);
            results[base_of(args[i]->arg(0))] = s;
            continue;
        }
        const Expr* now = is_freed                 ? round.vector(args[i])
                          : s->type->holds_builder ? round.loop_with_one(s, args[i])
                                                   : args[i];
        if (now != args[i]) in_scratch.push_back(is_freed ? s : results.at(s));
        args[i] = now;
    }
    std::ranges::reverse(in_scratch);
    if (in_scratch.empty()) return b.node;
    for (const Expr*& e : args) {
        const Annotation* ends = e->annotation(AttrKey::Free);
        if (!ends) continue;
        std::vector<const Symbol*> pops, frees;
        for (const Symbol* s : ends->symbols)
            if (std::ranges::find(in_scratch, s) == in_scratch.end()) frees.push_back(s);
        for (const Symbol* s : in_scratch)
            if (std::ranges::find(ends->symbols, s) != ends->symbols.end()) pops.push_back(s);
        if (pops.empty()) continue;
        std::ranges::reverse(pops);  // the last one first
        e = frees.empty() ? without(m, e, AttrKey::Free) : annotate(m, e, AttrKey::Free, frees);
        e = annotate(m, e, AttrKey::Pop, pops);
    }
    return with_args(m, b.node, args);
}

}  // namespace

const Expr* slabs(Module& m, const Expr* lambda) {
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        if (const Block b = e->as<Block>()) return with_scratch(m, b);
        const For f = e->as<For>();
        if (!f) return nullptr;
        const Expr* body = Round(m, AttrKey::Slab).merging(f.body().body());
        return body == f.body().body() ? nullptr : with_body(m, e, body);
    });
}

}  // namespace weld
