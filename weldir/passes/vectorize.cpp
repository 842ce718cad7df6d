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
// body have equally many lanes: 64 bytes of the widest type among them, whatever registers the target has.
// What does not depend on the element stays scalar and is broadcast where lanes meet it. The index becomes a
// range that is zipped with the data, whose lanes count on.
//
// A vecmerger that is merged into at the index (or the index plus what stays the same) gets
// `merge(b, {i * 8L, lanes})`: lanes for consecutive elements.
//
// Of a dictmerger that takes lanes both loops are needed: lanes hold a few groups, and the scalar loop goes
// on where keys turn out to be more (codegen/builders/groups.h).
//
// The last loop of one that goes by tiles is done only for the sake of look-ups that are transposed
// (`@(tile:true)`); then tiles are longer, since lines that are read as they lie do not have to stay:
//     @(tile:16) for(..., |b, n, j| for(is, b, |b2, m, i| merge(b2, @(tile:true) lookup(v, i * c + j))))
// becomes
//     @(tile:64) for(..., |b, n, j| for(fringeiter[8](is), for(simditer[8](is), b, |b2, m, i|
//       merge(b2, @(tile:true) lookup[8](v, i * broadcast[8](c) + broadcast[8](j)))), ...))
//
// Loops in loops that do little but look up elements anywhere, as those over the rows of a sparse matrix, have both forms:
// lanes are looked up one by one, too, so that lanes do not pay where there are few.
//     result(if(n < 64L, @(vectorize:false) for(columns, merger[f64,+], ...), for(fringeiter[8](columns), ...)))
//
// Not done where the body cannot be translated (lane_body.h); over vectors of anything but scalars, or with a
// stride other than 1; for `@(vectorize:false)`; where the trip count is known to be less than the lanes.
// Float arithmetic is the same lane by lane; only the order of additions in mergers differs.
#include "weldir/passes/vectorize.h"

#include <algorithm>
#include <unordered_set>

#include "weldir/ir/loop_forms.h"
#include "weldir/passes/lane_body.h"
#include "weldir/passes/lengths.h"

namespace weld {

namespace {

constexpr std::uint32_t kMostNodes = 5000;  // of a body: machine code of larger ones is not optimised
constexpr int kMostAcross = 4;  // look-ups for which a tile is kept, so that they fit the nearest cache
constexpr std::int64_t kFewGathers =
    64;  // rounds one by one, if they do little but look up elements anywhere
constexpr std::string_view kTile =
    "64";  // so much is read from where a row lies: eight lines of eight-byte numbers

class Vectorizer {
  public:
    Vectorizer(Module& m, Facts& facts) : m_(m), facts_(facts) {}

    /// The pair of loops, or null.
    const Expr* pair(For loop) {
        for (const Expr* d : loop.data())
            if (!may_be_lanes(d)) return nullptr;
        if (does_nothing(loop) || facts_.traits(loop.body().node).size > kMostNodes) return nullptr;
        LaneBody body(m_, facts_, loop, Nests::No);
        if (!body.ok()) return nullptr;
        const std::uint32_t width = body.width();
        const std::uint32_t lanes = kLaneBytes / width;
        const std::optional<Count> n = facts_.iterations(loop.node);
        if (lanes < 2 || (n && n->known() && *n->known() < lanes)) return nullptr;
        return pair(loop, body, lanes);
    }

    /// The same, and the loop as it was for few rounds, of a loop in a loop that does little but look up elements anywhere.
    const Expr* inner_pair(For loop) {
        if (!mostly_gathers(loop)) return pair(loop);
        const std::optional<Count> n = facts_.iterations(loop.node);
        if (n && n->known()) return *n->known() < kFewGathers ? nullptr : pair(loop);
        Lets lets;
        std::vector<const Expr*> data;
        for (const Expr* d : loop.data()) data.push_back(shared(d, lets));
        const Expr* same =
            with_annotations(m_, weld::loop(m_, data, loop.builder(), loop.body().node, loop.node->loc),
                             loop.node->annotations);
        const Expr* lanes = pair(same->as<For>());
        if (!lanes) return nullptr;
        const Expr* are_few = scalar_op(m_, Op::Lt, {trip_count(m_, data[0]), i64_literal(m_, kFewGathers)});
        const Expr* one_by_one = annotate(m_, fresh(m_, same), AttrKey::Vectorize, "false");
        return block(m_, lets, if_(m_, are_few, one_by_one, lanes), loop.node->loc);
    }

    /// The loop by tiles with its last loop on lanes, or null.
    const Expr* transposed(For outer) {
        const For inner = last_loop(outer);
        int across = 0;
        visit(inner.body().body(), [&](const Expr* e) { across += e->says(AttrKey::Tile, true); });
        const Expr* lanes = across > 0 && across <= kMostAcross ? pair(inner) : nullptr;
        if (!lanes) return nullptr;
        const Expr* now =
            rewrite(m_, outer.node, [&](const Expr* e) { return e == inner.node ? lanes : nullptr; });
        return annotate(m_, now, AttrKey::Tile, kTile);
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

    /// Merges in any case, into mergers, what it looks up at places that the data say, with two operations for each at most.
    bool mostly_gathers(For loop) {
        std::ptrdiff_t gathers = 0, operations = 0;
        bool is_plain = true;
        visit(loop.body().body(), [&](const Expr* e) {
            gathers += e->op == Op::Lookup && e->arg(0)->type->is_vec() && is_anywhere(e->arg(1), loop);
            operations += is_scalar_op(e->op) && e->op != Op::Cast;
            is_plain &= e->op != Op::If && e->op != Op::Select && e->op != Op::For && !is_math(e->op);
        });
        const auto is_merger = [](const Type* t) { return t->is_builder(BuilderKind::Merger); };
        const Type* made = loop.node->type;
        return is_plain && gathers > 0 && operations <= 2 * gathers &&
               (made->is_struct() ? std::ranges::all_of(made->args, is_merger) : is_merger(made));
    }

    /// A place that depends on an element of a vector.
    bool is_anywhere(const Expr* place, For loop) {
        bool does = false;
        visit(facts_.resolve(place), [&](const Expr* e) {
            if (!is_var(e, loop.elem_param())) return;
            const auto is_vector = [](const Expr* d) {
                const Iter it = d->as<Iter>();
                return !it || !it.shape().range;
            };
            does |= std::ranges::any_of(loop.data(), is_vector);
        });
        return does;
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
        const Expr* part = iter(m_, kind, it.data(), datum->args().subspan(1), lanes, datum->loc);
        return datum->says(AttrKey::Inside, true) ? annotate(m_, part, AttrKey::Inside, "true") : part;
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
            const Expr* n = shared(trip_count(m_, data[0]), lets);
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
        const Expr* first = scalar_op(m_, Op::Mul, {var(m_, i), i64_literal(m_, lanes)});
        const Expr* made = body.translated(lanes, b, first, index, own_part(x, own, data.size()));
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
        rest = with_annotations(m_, rest, loop.node->annotations);
        return masked_loop(rest->as<For>()) ? annotate(m_, rest, AttrKey::Tail, "masked") : rest;
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
    std::unordered_set<const Expr*> in_tiles;  // these go down the columns of a tile, element by element
    visit(lambda, [&](const Expr* e) {
        if (e->op == Op::For && e->annotation(AttrKey::Tile)) in_tiles.insert(last_loop(e->as<For>()).node);
    });
    std::unordered_set<const Expr*> inner;  // in other loops
    visit(lambda, [&](const Expr* e) {
        if (e->op != Op::For || inner.contains(e)) return;
        visit(e->as<For>().body().body(), [&](const Expr* in) {
            if (in->op == Op::For) inner.insert(in);
        });
    });
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const For loop = e->as<For>();
        if (!loop || in_tiles.contains(e)) return nullptr;
        if (loop.node->annotation(AttrKey::Tile)) return vectorizer.transposed(loop);
        return inner.contains(e) ? vectorizer.inner_pair(loop) : vectorizer.pair(loop);
    });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
