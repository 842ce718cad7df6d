// A loop that takes its counter apart by `/` and `%` becomes a loop in a loop.
//
//     for(xs, B, |b, i, x| merge(b, x * lookup(row, i % c) + lookup(column, i / c)))
// becomes
//     let n = len(xs);
//     let rounds = if(c >= 8L & n > 0L, n / c, 0L);
//     let from = rounds * c;
//     for(iter(xs, from, n, 1L),
//       for(rangeiter(0L, rounds, 1L), B, |b, o, y|
//         let start = y * c;
//         let end = start + c;
//         for(iter(xs, start, end, 1L), b, |d, j, x| merge(d, x * lookup(row, j) + lookup(column, y)))),
//       |b, i, x| let k = from + i; merge(b, x * lookup(row, k % c) + lookup(column, k / c)))
//
// so that nothing divides, the lookups walk along with a loop or stay the same in it, and the inner loop can
// run on lanes. What doesn't fill a round is left to the loop as it was (which goes if it is known that there is
// nothing); and all of it if `c` is so small that inner loops don't pay, or no number of columns: then it fails
// where the program said.
//
// A small literal by whose remainder the counter says where the loop merges, a channel, say, makes rounds of several:
//
//     for(xs, vecmerger[i64,+](zeros), |b, i, x| merge(b, {i % 3L * 256L + x, 1L}))
// becomes, but for the last one or two elements,
//     for(rangeiter(0L, len(xs) / 3L, 1L), vecmerger[i64,+](zeros), |b, o, y|
//       let b1 = merge(b, {lookup(xs, y * 3L), 1L});
//       let b2 = merge(b1, {256L + lookup(xs, y * 3L + 1L), 1L});
//       merge(b2, {512L + lookup(xs, y * 3L + 2L), 1L}))
//
// The counter is the loop's index, or the element of a range from 0 with stride 1; `c` stays the same in the
// loop. Done for one `c` of each loop. Not done for small literals, by which lanes divide, but in small matrices; for large bodies,
// which are there twice; for tables, which inner loops open and close; for data whose bounds may be wrong.

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/matrix_loops.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/subrange.h"

namespace weld {

namespace {

constexpr std::int64_t kMostInTurn = 200;  // nodes

using matrix_loops::kLeastColumns, matrix_loops::kLeastLiteral, matrix_loops::kMostNodes,
    matrix_loops::kMostSmall;

class Nester {
  public:
    Nester(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* nested(const Expr* e) {
        const For loop = e->as<For>();
        if (!loop || !may_be_nested(loop)) return nullptr;
        const Expr* columns = divisor(loop);
        const Expr* by = columns ? columns : small_divisor(loop);
        return by ? taken_apart(loop, by, columns != nullptr) : nullptr;
    }

  private:
    // ---- which loops

    bool may_be_nested(For loop) {
        const Traits& body = facts_.traits(loop.body().node);
        if (body.ordered || body.size > kMostNodes || holds_table(loop.node->type)) return false;
        return std::ranges::all_of(loop.data(), [&](const Expr* d) { return may_be_cut(facts_, d); });
    }

    /// What the counter is divided by.
    const Expr* divisor(For loop) {
        const BoundNames inside(loop.node);
        const Expr* found = nullptr;
        visit(loop.body().body(), [&](const Expr* e) {
            if (!found && divides_counter(loop, e) && is_fixed(loop, e->arg(1), inside)) found = e->arg(1);
        });
        return found;
    }

    /// A small literal by whose remainder the counter says where the loop merges, which lanes cannot: a channel, say.
    const Expr* small_divisor(For loop) {
        const std::int64_t most = kMostInTurn / std::int64_t(facts_.traits(loop.body().node).size);
        const auto is_whole = [](const Expr* d) { return counts_from_zero(d) || is_path(d); };
        if (!std::ranges::all_of(loop.data(), is_whole)) return nullptr;
        const Expr* found = nullptr;
        visit(loop.body().body(), [&](const Expr* e) {
            if (found || e->op != Op::Merge || !info(e->type).indexed || e->arg(1)->op != Op::MakeStruct)
                return;
            visit(facts_.resolve(e->arg(1)->arg(0)), [&](const Expr* place) {
                const bool is_turn = place->op == Op::Rem && divides_counter(loop, place);
                const Literal by = is_turn ? place->arg(1)->as<Literal>() : Literal{};
                if (by && by.as_int() >= 2 && by.as_int() <= most) found = place->arg(1);
            });
        });
        return found;
    }

    bool divides_counter(For loop, const Expr* e) {
        return (e->op == Op::Div || e->op == Op::Rem) && e->type == m_.types.i64() &&
               is_counter(loop, e->arg(0));
    }

    /// The number of the loop's rounds by something: by the columns it is the number of rows, where there are any.
    bool divides_rounds(For loop, const Expr* e) {
        if (e->op != Op::Div || e->type != m_.types.i64()) return false;
        const std::optional<Count> n = facts_.iterations(loop.node), of = facts_.count(e->arg(0));
        return n && of && *n == *of;
    }

    bool is_fixed(For loop, const Expr* e, const BoundNames& inside) {
        if (const Literal l = e->as<Literal>())
            return l.as_int() >= (is_small(loop) ? kLeastColumns : kLeastLiteral);
        return is_path(e) && !inside.hold(base_of(e));
    }

    /// A matrix with few elements, of which it looks up others.
    bool is_small(For loop) {
        const std::optional<Count> n = facts_.iterations(loop.node);
        if (!n || !n->known() || *n->known() > kMostSmall) return false;
        bool looks_up = false;
        visit(loop.body().body(), [&](const Expr* e) { looks_up |= e->op == Op::Lookup; });
        return looks_up;
    }

    bool is_counter(For loop, const Expr* e) {
        if (!is_path(e)) return false;
        e = facts_.root(e);
        if (is_var(e, loop.index_param())) return true;
        if (base_of(e) != loop.elem_param()) return false;
        if (loop.data().size() == 1) return e->op == Op::Var && counts_from_zero(loop.data()[0]);
        return e->op == Op::GetField && e->arg(0)->op == Op::Var &&
               counts_from_zero(loop.data()[e->attr.index]);
    }

    // ---- the nest

    const Expr* i64(std::int64_t n) { return i64_literal(m_, n); }
    const Expr* sum(const Expr* a, const Expr* b) {
        return is_int(a, 0) ? b : scalar_op(m_, Op::Add, {a, b});
    }

    /// How often `columns` fit into `n`; none if they are too few.
    const Expr* full_rows(const Expr* n, const Expr* columns) {
        const Literal known_n = n->as<Literal>(), known_columns = columns->as<Literal>();
        if (known_n && known_columns)
            return i64(std::max<std::int64_t>(0, known_n.as_int()) / known_columns.as_int());
        const Expr* enough = known_n ? nullptr : scalar_op(m_, Op::Gt, {n, i64(0)});
        if (!known_columns) {
            const Expr* wide = scalar_op(m_, Op::Ge, {columns, i64(kLeastColumns)});
            enough = enough ? scalar_op(m_, Op::BitAnd, {wide, enough}) : wide;
        }
        return if_(m_, enough, scalar_op(m_, Op::Div, {n, columns}), i64(0));
    }

    /// A nest, or rounds of as many as `columns`, and what they leave over.
    const Expr* taken_apart(For loop, const Expr* columns, bool is_nest) {
        Lets lets;
        if (const Expr* check = length_check(m_, facts_, loop.data(), loop.node->loc))
            as_atom(m_, check, "equal", lets);
        const std::optional<Count> times = facts_.iterations(loop.node);
        const Expr* n = times && times->known() ? i64(*times->known())
                                                : as_atom(m_, trip_count(m_, loop.data()[0]), "n", lets);
        const Expr* rounds = as_atom(m_, full_rows(n, columns), "rounds", lets);
        if (is_int(rounds, 0)) return nullptr;
        const Expr* from = as_atom(m_, product_of(m_, rounds, columns), "from", lets);
        const Expr* rows =
            is_nest ? nest(loop, rounds, columns) : turns(loop, rounds, columns->as<Literal>());
        if (!same(from, n)) rows = loop_over_subrange(m_, loop, from, n, rows);
        return block(m_, lets, rows, loop.node->loc);
    }

    /// The inner loop strides through a matrix: then vectors that it goes along are looked up as well, so that it
    /// may go by tiles.
    static bool strides(const Expr* body, const Symbol* j) {
        bool any = false;
        visit(body, [&](const Expr* e) {
            if (e->op != Op::Lookup) return;
            visit(e->arg(1), [&](const Expr* place) {
                any |= place->op == Op::Mul && (is_var(place->arg(0), j) || is_var(place->arg(1), j));
            });
        });
        return any;
    }

    /// The elements of `z` in the inner loop as the whole loop has them: those that count go on from `start`, and
    /// from there on others are looked up where the inner loop has numbers in their place.
    const Expr* element(For loop, const Symbol* z, Args data, const Expr* start) {
        std::vector<const Expr*> all;
        for (std::size_t i = 0; i < data.size(); ++i) {
            const Expr* own = data.size() == 1 ? var(m_, z) : get_field(m_, var(m_, z), i);
            const Expr* datum = loop.data()[i];
            if (counts_from_zero(data[i])) own = sum(start, own);
            const bool is_looked_up = counts_from_zero(data[i]) && !counts_from_zero(datum);
            all.push_back(is_looked_up ? lookup(m_, datum, own, datum->loc) : own);
        }
        return all.size() == 1 ? all[0] : make_struct(m_, all);
    }

    const Expr* nest(For loop, const Expr* rounds, const Expr* columns) {
        const Type* number = m_.types.i64();
        const Symbol* b = m_.symbol(loop.builder_param()->name, loop.node->type);
        const Symbol *o = m_.symbol("o", number), *y = m_.symbol("y", number), *j = m_.symbol("j", number);
        Lets lets;
        const Expr* start = as_atom(m_, scalar_op(m_, Op::Mul, {var(m_, y), columns}), "start", lets);
        const Expr* end = as_atom(m_, scalar_op(m_, Op::Add, {start, columns}), "end", lets);
        const Expr* body = rewrite(m_, loop.body().body(), [&](const Expr* e) -> const Expr* {
            if (divides_rounds(loop, e) && same(e->arg(1), columns)) return rounds;
            if (!divides_counter(loop, e) || !same(e->arg(1), columns)) return nullptr;
            return var(m_, e->op == Op::Div ? y : j, e->loc);
        });
        body = with_index(m_, loop.index_param(), start, j, body);
        const bool looks_up = strides(body, j);
        std::vector<const Expr*> data = subranges(m_, loop, start, end);
        std::vector<const Type*> types;
        for (std::size_t i = 0; i < data.size(); ++i) {
            const Expr* datum = loop.data()[i];
            if (counts_from_zero(datum) || (looks_up && is_path(datum) && datum->type->elem()->is_scalar()))
                data[i] = range_iter(m_, IterKind::Scalar, i64(0), columns, i64(1), 0, data[i]->loc);
            types.push_back(data[i]->type->elem());
        }
        const Type* type = types.size() == 1 ? types[0] : m_.types.structure(types);
        const Symbol* z = m_.symbol(loop.elem_param()->name, type);
        body = let(m_, loop.elem_param(), element(loop, z, data, start), body);
        const Expr* f = lambda(m_, {loop.builder_param(), j, z}, body, loop.body().node->loc);
        const Expr* inner = weld::loop(m_, data, var(m_, b), f, loop.node->loc);
        inner = with_annotations(m_, inner, loop.node->annotations);
        const Expr* range = range_iter(m_, IterKind::Scalar, i64(0), rounds, i64(1));
        const Expr* outer = weld::loop(m_, {&range, 1}, loop.builder(),
                                       lambda(m_, {b, o, y}, block(m_, lets, inner)), loop.node->loc);
        return without(m_, with_annotations(m_, outer, loop.node->annotations), AttrKey::Appends);
    }

    /// A loop each of whose rounds is `by` of the rounds of `loop`, one after the other.
    const Expr* turns(For loop, const Expr* rounds, Literal by) {
        const Symbol* b = m_.symbol(loop.builder_param()->name, loop.node->type);
        const Symbol *o = m_.symbol("o", m_.types.i64()), *y = m_.symbol("y", m_.types.i64());
        Lets lets;
        const Expr* first = as_atom(m_, scalar_op(m_, Op::Mul, {var(m_, y), by.node}), "first", lets);
        const Expr* state = var(m_, b);
        for (std::int64_t k = 0; k < by.as_int(); ++k) {
            const Expr* at = k ? as_atom(m_, scalar_op(m_, Op::Add, {first, i64(k)}), "at", lets) : first;
            std::vector<const Expr*> elems;
            for (const Expr* d : loop.data())
                elems.push_back(counts_from_zero(d) ? at : lookup(m_, d, at, d->loc));
            const Expr* elem = elems.size() == 1 ? elems[0] : make_struct(m_, elems);
            const Expr* body = rewrite(m_, loop.body().body(), [&](const Expr* e) -> const Expr* {
                if (!divides_counter(loop, e) || !same(e->arg(1), by.node)) return nullptr;
                return e->op == Op::Div ? var(m_, y, e->loc) : i64(k);
            });
            body = let(m_, loop.index_param(), at, let(m_, loop.elem_param(), elem, body));
            body = fresh(m_, let(m_, loop.builder_param(), state, body));
            state = as_atom(m_, body, "b", lets);
        }
        const Expr* range = range_iter(m_, IterKind::Scalar, i64(0), rounds, i64(1));
        const Expr* all = weld::loop(m_, {&range, 1}, loop.builder(),
                                     lambda(m_, {b, o, y}, block(m_, lets, state)), loop.node->loc);
        return without(m_, with_annotations(m_, all, loop.node->annotations), AttrKey::Appends);
    }

    Module& m_;
    Facts facts_;
};

}  // namespace

const Expr* nest(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    Nester nester(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) { return nester.nested(e); });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
