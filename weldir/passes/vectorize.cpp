// Loops over scalars become loops over lanes, and a scalar loop over what is left.
//
//     for(xs, merger[f64,+], |b, i, x| if(x > 0.0, merge(b, x * k), b))
// becomes
//     for(fringeiter(xs),
//       for(simditer(xs), merger[f64,+], |b, i, x: simd[f64,8]|
//         merge(b, x * broadcast(k), x > broadcast(0.0))),
//       |b, i, x| if(x > 0.0, merge(b, x * k), b))
//
// (with the lanes written out: `simditer[8]`, and `@(tail:masked)` before the outer loop, which says that
// both loops compute the same: machines with masks do what is left in one round of lanes). All values of a
// body have equally many lanes, as many as one register of the target holds of the widest type among them.
// What does not depend on the element stays scalar and is spread where lanes meet it. The index becomes a
// range that is zipped with the data, whose lanes count on.
//
// An `if` that depends on the element is evaluated on both sides: values are selected, merges get a mask. If
// both sides merge once into the same builder, the values are selected and one merge is left. Lanes merge in
// order, so a builder that keeps the order (an appender) may be merged into at one place only.
//
// A vecmerger that is merged into at the index (or the index plus what stays the same) gets
// `merge(b, {i * 8L, lanes})`: lanes for consecutive elements.
//
// Not done:
//   - if anything in the body that depends on the element, or on a condition that does, may fail: lanes that
//   the scalar
//     loop would not have evaluated must not fail. (Division of integers by a constant other than 0 is fine.)
//   - over vectors of anything but scalars, with a stride other than 1, if the body holds loops, collections
//   or calls;
//   - for builders that don't take lanes; for `@(vectorize:false)`; where the trip count is known to be less
//   than the
//     lanes; where an `if` asks to stay a branch, or costs too much to evaluate always.
// Float arithmetic is the same lane by lane; only the order of additions in mergers differs.
#include "weldir/passes/vectorize.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::uint32_t kMostNodes = 5000;  // of a body: machine code of larger ones is not optimised
constexpr std::uint32_t kMostAlways = 100;  // nodes of a side of an `if` that are worth evaluating always

/// The builders in a value: one of the loop's (numbered depth first), or a struct of such.
struct Place {
    int leaf = -1;
    std::vector<Place> fields;
    friend bool operator==(const Place&, const Place&) = default;
};

/// One merge that the body makes; without a mask on all lanes.
struct LaneMerge {
    const Expr* value;
    const Expr* mask;
    Loc loc;
};
using Merges = std::vector<std::vector<LaneMerge>>;  // by leaf

/// Translates the body of one loop to lanes. `ok` tells whether that is possible.
class LaneBody {
  public:
    LaneBody(Module& m, Facts& facts, For loop) : m_(m), facts_(facts), loop_(loop) {
        varying_.insert(loop.body().params().begin(), loop.body().params().end());
        find_leaves(loop.node->type);
        for (const Type* leaf : leaves_) ok_ &= info(leaf->builder).takes_lanes(leaf);
        for (const Expr* d : loop.data()) count_width(d->type->elem());
        scan(loop.body().body());
    }

    bool ok() const { return ok_; }
    /// Bytes of the widest scalar.
    std::uint32_t width() const { return width_; }
    bool reads_index() const { return reads_index_; }
    /// It merges at indices that count along with the loop.
    bool merges_at_index() const { return merges_at_index_; }

    /// The body on `lanes` lanes. `elem` and `index` stand for the parameters; `lane_index` counts rounds.
    const Expr* translated(std::uint32_t lanes, const Symbol* builder, const Symbol* lane_index,
                           const Expr* index, const Expr* elem) {
        lanes_ = lanes;
        lane_index_ = lane_index;
        int next = 0;
        places_[loop_.builder_param()] = whole(loop_.node->type, next);
        if (index) values_[loop_.index_param()] = index;
        values_[loop_.elem_param()] = elem;
        Lets lets;
        Merges merges(leaves_.size());
        const Place place = run(loop_.body().body(), nullptr, lets, merges);
        for (std::size_t i = 0; i < merges.size(); ++i)
            if (merges[i].size() > 1 && info(leaves_[i]->builder).ordered(leaves_[i])) ok_ = false;
        if (!ok_) return nullptr;
        return block(m_, lets, merged(place, var(m_, builder), merges), loop_.body().body()->loc);
    }

  private:
    // ---- what the body holds

    void find_leaves(const Type* t) {
        if (t->is_builder()) return leaves_.push_back(t);
        ok_ &= t->is_struct() && t->holds_builder;
        if (t->is_struct())
            for (const Type* f : t->args) find_leaves(f);
    }

    static Place whole(const Type* t, int& next) {
        Place p;
        if (t->is_builder()) p.leaf = next++;
        else
            for (const Type* f : t->args) p.fields.push_back(whole(f, next));
        return p;
    }

    void count_width(const Type* t) {
        if (t->is_struct())
            for (const Type* f : t->args) count_width(f);
        else if (t->is_scalar()) width_ = std::max(width_, std::uint32_t(size_of(t->scalar)));
        else if (!t->is_builder()) ok_ = false;
    }

    bool varies(const Expr* e) {
        if (e->op == Op::Var) return varying_.count(e->attr.symbol) > 0;
        auto at = varies_.find(e);
        if (at != varies_.end()) return at->second;
        bool v = std::any_of(e->args().begin(), e->args().end(), [&](const Expr* a) { return varies(a); });
        return varies_[e] = v;
    }

    /// Looks at every node: what depends on the element, how wide it is, whether it can be done at all.
    void scan(const Expr* e, bool certain = true) {
        if (!ok_) return;
        if (e->type->holds_builder) return scan_builder(e, certain);
        if (e->op == Op::Block) {
            scan_block(e->as<Block>(), certain);
            return;
        }
        if (!varies(e)) {
            const Traits& t = facts_.traits(e);
            ok_ &= !t.calls && !t.ordered && (certain || !t.fails);
            return;
        }
        ok_ &= may_be_lanes(e);
        count_width(e->type);
        reads_index_ |= e->op == Op::Var && e->attr.symbol == loop_.index_param();
        const bool meets = is_scalar_op(e->op) || e->op == Op::Select;
        for (std::size_t i = 0; i < e->num_args; ++i) {
            if (meets) count_width(e->arg(i)->type);
            scan(e->arg(i), certain && !is_lazy_arg(e, i));
        }
    }

    void scan_block(Block b, bool certain) {
        for (std::size_t i = 0; i < b.size(); ++i) {
            scan(b.value(i), certain);
            if (varies(b.value(i))) varying_.insert(b.symbol(i));
        }
        scan(b.result(), certain);
    }

    void scan_builder(const Expr* e, bool certain) {
        switch (e->op) {
            case Op::Var: return;
            case Op::GetField:
            case Op::MakeStruct:
                for (const Expr* a : e->args()) ok_ &= a->type->holds_builder, scan(a, certain);
                return;
            case Op::Merge:
                ok_ &= e->num_args == 2 && !e->arg(1)->type->holds_simd;
                if (info(e->type->builder).indexed) return scan_indexed(e, certain);
                count_width(e->arg(1)->type);
                scan(e->arg(0), certain);
                scan(e->arg(1), certain);
                return;
            case Op::If:
                ok_ &= is_worth_it(e);
                scan(e->arg(0), certain);
                scan(e->arg(1), false);
                scan(e->arg(2), false);
                return;
            case Op::Block: scan_block(e->as<Block>(), certain); return;
            default: ok_ = false;
        }
    }

    /// A merge at the loop's index, plus what does not depend on the element: lanes at consecutive indices.
    /// An index outside of the vector must fail, so it must be one that the scalar loop would reach.
    void scan_indexed(const Expr* e, bool certain) {
        scan(e->arg(0), certain);
        const Expr* value = e->arg(1);
        ok_ &= certain && value->op == Op::MakeStruct && is_index(value->arg(0));
        if (!ok_) return;
        merges_at_index_ = true;
        if (const Expr* offset = offset_of(value->arg(0))) scan(offset, certain);
        count_width(value->arg(1)->type);
        scan(value->arg(1), certain);
    }

    bool is_index_name(const Expr* e) const {
        return e->op == Op::Var && e->attr.symbol == loop_.index_param();
    }
    /// What is added to the loop's index, or null.
    const Expr* offset_of(const Expr* index) const {
        return index->op == Op::Add ? index->arg(is_index_name(index->arg(0)) ? 1 : 0) : nullptr;
    }
    bool is_index(const Expr* e) {
        if (is_index_name(e)) return true;
        return e->op == Op::Add && (is_index_name(e->arg(0)) || is_index_name(e->arg(1))) &&
               !varies(offset_of(e));
    }

    bool is_worth_it(const Expr* branch) {
        return !branch->says(AttrKey::Predicate, false) &&
               facts_.traits(branch->arg(1)).size <= kMostAlways &&
               facts_.traits(branch->arg(2)).size <= kMostAlways;
    }

    /// A node that depends on the element: a scalar operation or what goes with it, that cannot fail.
    bool may_be_lanes(const Expr* e) {
        switch (e->op) {
            case Op::Var: return e->type->is_scalar() || e->type->is_struct();
            case Op::Rem:
                return e->type->is_scalar() && !is_float(e->type->scalar) && !facts_.traits(e).fails;
            case Op::MakeStruct:
            case Op::GetField: return true;
            case Op::Cast:
            case Op::Select: return !facts_.traits(e).fails;
            case Op::If: return !facts_.traits(e).fails && is_worth_it(e);
            default: return is_scalar_op(e->op) && e->arg(0)->type->is_scalar() && !facts_.traits(e).fails;
        }
    }

    // ---- values

    const Expr* spread(const Expr* e, Lets& lets) {
        if (e->type->is_scalar()) return broadcast(m_, e, lanes_, e->loc);
        if (!e->type->is_struct() || is_wide(e->type)) return e;
        if (e->op != Op::MakeStruct) e = named(e, lets);
        std::vector<const Expr*> fields;
        for (std::size_t i = 0; i < e->type->args.size(); ++i) fields.push_back(spread(field(e, i), lets));
        return make_struct(m_, fields, e->loc);
    }
    static bool is_wide(const Type* t) {
        return t->is_simd() || (t->is_struct() && std::all_of(t->args.begin(), t->args.end(), is_wide));
    }
    const Expr* field(const Expr* e, std::size_t i) {
        return e->op == Op::MakeStruct ? e->arg(i) : get_field(m_, e, i, e->loc);
    }

    /// What does not depend on the element, with the names of this body.
    const Expr* uniform(const Expr* e) { return fresh(m_, substitute(m_, e, values_)); }

    const Expr* wide(const Expr* e, Lets& lets) { return spread(value(e, lets), lets); }

    const Expr* named(const Expr* e, Lets& lets) {
        if (is_atom(e)) return e;
        const Symbol* name = m_.symbol("t", e->type);
        lets.emplace_back(name, e);
        return var(m_, name);
    }

    /// `e` on lanes; a scalar if it is the same on all of them.
    const Expr* value(const Expr* e, Lets& lets) {
        if (e->op == Op::Var) {
            auto at = values_.find(e->attr.symbol);
            return at == values_.end() ? e : at->second;
        }
        if (e->op == Op::Block) return block_value(e->as<Block>(), lets);
        if (!varies(e)) return uniform(e);
        if (e->op == Op::GetField) return field(value(e->arg(0), lets), e->attr.index);
        if (e->op == Op::If) return branch(e, lets);
        std::vector<const Expr*> args;
        for (const Expr* a : e->args()) args.push_back(e->op == Op::Cast ? value(a, lets) : wide(a, lets));
        switch (e->op) {
            case Op::And: return scalar_op(m_, Op::BitAnd, args, e->loc);
            case Op::Or: return scalar_op(m_, Op::BitOr, args, e->loc);
            default: return with_args(m_, e, args);
        }
    }

    const Expr* block_value(Block b, Lets& lets) {
        for (std::size_t i = 0; i < b.size(); ++i) bind(b, i, lets);
        return value(b.result(), lets);
    }

    void bind(Block b, std::size_t i, Lets& lets) {
        const Expr* v = varies(b.value(i)) ? wide(b.value(i), lets) : value(b.value(i), lets);
        if (is_atom(v)) {
            values_[b.symbol(i)] = v;
            return;
        }
        const Symbol* name = m_.symbol(b.symbol(i)->name, v->type);
        lets.emplace_back(name, v);
        values_[b.symbol(i)] = var(m_, name);
    }

    /// Of a condition that is the same on all lanes one side is evaluated, else both.
    const Expr* branch(const Expr* e, Lets& lets) {
        if (varies(e->arg(0))) {
            const Expr *c = wide(e->arg(0), lets), *then = wide(e->arg(1), lets),
                       *otherwise = wide(e->arg(2), lets);
            return select(m_, c, then, otherwise, e->loc);
        }
        auto side = [&](const Expr* of) {
            Lets own;
            const Expr* v = wide(of, own);
            return block(m_, own, v);
        };
        const Expr *c = value(e->arg(0), lets), *then = side(e->arg(1));
        return if_(m_, c, then, side(e->arg(2)), e->loc);
    }

    // ---- builders

    /// Follows a builder expression: what it merges under `mask` goes to `merges`.
    Place run(const Expr* e, const Expr* mask, Lets& lets, Merges& merges) {
        switch (e->op) {
            case Op::Var: return places_[e->attr.symbol];
            case Op::GetField: {
                Place of = run(e->arg(0), mask, lets, merges);
                return e->attr.index < of.fields.size() ? of.fields[e->attr.index] : Place{};
            }
            case Op::MakeStruct: {
                Place all;
                for (const Expr* f : e->args()) all.fields.push_back(run(f, mask, lets, merges));
                return all;
            }
            case Op::Block: {
                const Block b = e->as<Block>();
                for (std::size_t i = 0; i < b.size(); ++i) {
                    if (b.value(i)->type->holds_builder)
                        places_[b.symbol(i)] = run(b.value(i), mask, lets, merges);
                    else bind(b, i, lets);
                }
                return run(b.result(), mask, lets, merges);
            }
            case Op::Merge: {
                const Place place = run(e->arg(0), mask, lets, merges);
                const Expr* v = info(e->type->builder).indexed ? row(e->arg(1), lets) : wide(e->arg(1), lets);
                if (place.leaf >= 0) merges[std::size_t(place.leaf)].push_back({v, mask, e->loc});
                else ok_ = false;
                return place;
            }
            case Op::If: return run_branch(e, mask, lets, merges);
            default: ok_ = false; return {};
        }
    }

    /// `{i, v}` as the index of the first lane and lanes.
    const Expr* row(const Expr* e, Lets& lets) {
        const Type* i64 = m_.types.i64();
        const Expr* first =
            scalar_op(m_, Op::Mul, {var(m_, lane_index_), int_literal(m_, i64, lanes_)}, e->loc);
        if (const Expr* offset = offset_of(e->arg(0)))
            first = scalar_op(m_, Op::Add, {first, value(offset, lets)}, e->loc);
        return make_struct(m_, {first, wide(e->arg(1), lets)}, e->loc);
    }

    static bool merges_anything(const Expr* e) {
        bool any = false;
        visit(e, [&](const Expr* x) { any |= x->op == Op::Merge; });
        return any;
    }

    /// `c` under `mask`.
    const Expr* under(const Expr* mask, const Expr* c, Lets& lets) {
        return mask ? named(scalar_op(m_, Op::BitAnd, {mask, c}, c->loc), lets) : c;
    }

    Place run_branch(const Expr* e, const Expr* mask, Lets& lets, Merges& merges) {
        const Expr* c = named(wide(e->arg(0), lets), lets);
        Merges then(merges.size()), otherwise(merges.size());
        const Expr *yes = c, *no = c;  // masks of the sides, made only if they merge
        if (merges_anything(e->arg(1))) yes = under(mask, c, lets);
        const Place place = run(e->arg(1), yes, lets, then);
        if (merges_anything(e->arg(2)))
            no = named(under(mask, scalar_op(m_, Op::Not, {c}, c->loc), lets), lets);
        ok_ &= run(e->arg(2), no, lets, otherwise) == place;
        for (std::size_t i = 0; i < merges.size(); ++i) {
            const std::vector<LaneMerge>&a = then[i], &b = otherwise[i];
            if (a.size() == 1 && b.size() == 1 && a[0].mask == yes && b[0].mask == no) {
                merges[i].push_back({select(m_, c, a[0].value, b[0].value, e->loc), mask, e->loc});
                continue;
            }
            merges[i].insert(merges[i].end(), a.begin(), a.end());
            merges[i].insert(merges[i].end(), b.begin(), b.end());
        }
        return place;
    }

    /// The builders at `place` in `state` after their merges.
    const Expr* merged(const Place& place, const Expr* state, const Merges& merges) {
        if (place.leaf >= 0) {
            for (const LaneMerge& one : merges[std::size_t(place.leaf)])
                state = merge(m_, state, one.value, one.mask, one.loc);
            return state;
        }
        std::vector<const Expr*> fields;
        for (std::size_t i = 0; i < place.fields.size(); ++i)
            fields.push_back(merged(place.fields[i], get_field(m_, state, i), merges));
        return make_struct(m_, fields);
    }

    Module& m_;
    Facts& facts_;
    For loop_;
    std::vector<const Type*> leaves_;
    std::unordered_set<const Symbol*> varying_;
    std::unordered_map<const Expr*, bool> varies_;
    std::unordered_map<const Symbol*, Place> places_;  // of symbols that hold builders
    SymbolMap values_;                                 // what names of the scalar body are here
    std::uint32_t lanes_ = 0;
    std::uint32_t width_ = 1;
    const Symbol* lane_index_ = nullptr;
    bool reads_index_ = false;
    bool merges_at_index_ = false;
    bool ok_ = true;
};

class Vectorizer {
  public:
    Vectorizer(Module& m, Facts& facts) : m_(m), facts_(facts) {}

    /// The pair of loops, or null.
    const Expr* pair(For loop) {
        if (loop.node->says(AttrKey::Vectorize, false)) return nullptr;
        for (const Expr* d : loop.data())
            if (!may_be_lanes(d)) return nullptr;
        if (facts_.traits(loop.body().node).size > kMostNodes) return nullptr;
        LaneBody body(m_, facts_, loop);
        if (!body.ok()) return nullptr;
        const std::uint32_t width = body.reads_index() ? std::max(8u, body.width()) : body.width();
        const std::uint32_t lanes = m_.simd_bytes / width;
        const std::optional<Count> n = facts_.iterations(loop.node);
        if (lanes < 2 || (n && !n->of && n->factor < lanes)) return nullptr;
        return pair(loop, body, lanes);
    }

  private:
    /// Consecutive scalars.
    bool may_be_lanes(const Expr* datum) {
        if (!datum->type->elem()->is_scalar() || facts_.traits(datum).calls) return false;
        const Iter it = datum->as<Iter>();
        if (!it) return true;
        const IterShape s = it.shape();
        return s.kind == IterKind::Scalar && !s.nd && (!s.bounded || is_int(it.stride(), 1));
    }

    /// Gives names to what both loops read.
    const Expr* shared(const Expr* datum, Lets& lets) {
        if (is_path(datum) || datum->op == Op::Literal) return datum;
        if (datum->op == Op::Iter) {
            std::vector<const Expr*> args;
            for (const Expr* a : datum->args()) args.push_back(shared(a, lets));
            return with_args(m_, datum, args);
        }
        const Symbol* name = m_.symbol("d", datum->type);
        lets.emplace_back(name, datum);
        return var(m_, name);
    }

    const Expr* iterator(const Expr* datum, IterKind kind, std::uint32_t lanes) {
        const Iter it = datum->as<Iter>();
        if (!it) return iter(m_, kind, datum, {}, lanes);
        if (it.shape().range)
            return range_iter(m_, kind, it.start(), it.end(), it.stride(), lanes, datum->loc);
        return iter(m_, kind, it.data(), datum->args().subspan(1), lanes, datum->loc);
    }

    /// How often the loop runs, from its first datum.
    const Expr* trip_count(const Expr* datum) {
        const Iter it = datum->as<Iter>();
        if (!it) return len(m_, datum);
        if (!it.shape().bounded) return len(m_, it.data());
        if (is_int(it.start(), 0)) return it.end();
        return scalar_op(m_, Op::Sub, {it.end(), it.start()});
    }

    const Symbol* element(std::span<const Expr* const> data, std::string_view name) {
        std::vector<const Type*> types;
        for (const Expr* d : data) types.push_back(d->type->elem());
        return m_.symbol(name, types.size() == 1 ? types[0] : m_.types.structure(types));
    }

    /// What `elem` of `data` gives for the loop's own element, and for the index that was zipped with it.
    const Expr* own_part(const Symbol* elem, std::size_t own, std::size_t all) {
        if (own == all) return var(m_, elem);
        if (own == 1) return get_field(m_, var(m_, elem), 0);
        std::vector<const Expr*> parts;
        for (std::size_t i = 0; i < own; ++i) parts.push_back(get_field(m_, var(m_, elem), i));
        return make_struct(m_, parts);
    }

    const Expr* pair(For loop, LaneBody& body, std::uint32_t lanes) {
        Lets lets;
        std::vector<const Expr*> data;
        for (const Expr* d : loop.data()) data.push_back(shared(d, lets));
        const std::size_t own = data.size();
        if (body.reads_index() || body.merges_at_index()) {
            const Type* i64 = m_.types.i64();
            const Expr* n = shared(trip_count(data[0]), lets);
            data.push_back(
                range_iter(m_, IterKind::Scalar, int_literal(m_, i64, 0), n, int_literal(m_, i64, 1)));
        }
        std::vector<const Expr*> wide, rest;
        for (const Expr* d : data) wide.push_back(iterator(d, IterKind::Simd, lanes));
        if (!body.reads_index()) wide.resize(own);
        for (const Expr* d : data) rest.push_back(iterator(d, IterKind::Fringe, lanes));

        const Expr* first = lane_loop(loop, body, lanes, wide, own);
        if (!first) return nullptr;
        return block(m_, lets, rest_loop(loop, first, rest, own), loop.node->loc);
    }

    const Expr* lane_loop(For loop, LaneBody& body, std::uint32_t lanes, Args data, std::size_t own) {
        const Symbol* b = m_.symbol(loop.builder_param()->name, loop.node->type);
        const Symbol* i = m_.symbol(loop.index_param()->name, m_.types.i64());
        const Symbol* x = element(data, loop.elem_param()->name);
        const Expr* index = own < data.size() ? get_field(m_, var(m_, x), own) : nullptr;
        const Expr* made = body.translated(lanes, b, i, index, own_part(x, own, data.size()));
        if (!made) return nullptr;
        const Expr* f = lambda(m_, {b, i, x}, made, loop.body().node->loc);
        return with_annotations(m_, weld::loop(m_, data, loop.builder(), f, loop.node->loc),
                                loop.node->annotations);
    }

    /// The scalar loop over what the lanes left.
    const Expr* rest_loop(For loop, const Expr* builder, Args data, std::size_t own) {
        const Expr* body = loop.body().node;
        if (own < data.size()) {
            const Symbol *b = loop.builder_param(), *i = loop.index_param();
            const Symbol* x = element(data, loop.elem_param()->name);
            const std::pair<const Symbol*, const Expr*> lets[] = {
                {m_.symbol(i->name, i->type), get_field(m_, var(m_, x), own)},
                {loop.elem_param(), own_part(x, own, data.size())}};
            const Expr* same = substitute(m_, loop.body().body(), {{i, var(m_, lets[0].first)}});
            body = lambda(m_, {b, i, x}, block(m_, lets, same), body->loc);
        }
        const Expr* rest = weld::loop(m_, data, builder, body, loop.node->loc);
        return annotate(m_, with_annotations(m_, rest, loop.node->annotations), AttrKey::Tail, "masked");
    }

    Module& m_;
    Facts& facts_;
};

}  // namespace

bool can_vectorize(Module& m, Facts& facts, const Expr* loop) {
    return Vectorizer(m, facts).pair(loop->as<For>()) != nullptr;
}

const Expr* vectorize(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    Vectorizer vectorizer(m, facts);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const For loop = e->as<For>();
        return loop ? vectorizer.pair(loop) : nullptr;
    });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
