// Loops with loops inside go over lanes of their own elements, where their inner loops take equally many
// rounds. An `iterate` inside may take as many as each element wants (codegen/iterate.cpp).
//
//     for(rows, appender[f64], |b, i, row| merge(b, iterate(..., sum(map(zip(row, other), ...)) ...)))
// becomes
//     for(rangeiter(0L, (len(rows) + 7L) / 8L, 1L), appender[f64], |b, g, k|
//       let r = optlookup[8](rows, k * 8L);
//       if(r.$0, merge(b, iterate(..., result(for(zip(r.$1, other), merger[simd[f64,8],+], ...)) ...)),
//         for(iter(rows, k * 8L, min(k * 8L + 8L, len(rows)), 1L), b, ... as before)))
//
// Elements that are vectors are transposed, so that lane j of element i is element i of vector j: worth it
// where each is read many times. A loop inside that reads its row once is better off on lanes of the row, but
// for rows that are so short that they hardly fill these: `optlookup[8](rows, k * 8L, 16L)` has those alone. There are no
// groups where rows are long, or not all as long as the first; the loop follows as it was.
//
// So are short rows of a flat matrix, `iter(x, k * n, k * n + n, 1L)` or `slice(x, k * n, n)` with a counter k, which lie one
// behind the other: `optlookup[8](x, k * 8L * n, 16L, n)` has eight of n elements.
//
// Rows of which no loop goes through the elements, but some are looked up at places that all share, `lookup(row, 0L)`, are
// such rows, too, if they are very short: points, say. In nests rows of a flat matrix may be longer, and rows may be made
// that the nest reads itself.
//
// Rows that the loop makes are made side by side as well, and merged as copies that lie one behind the other:
//
//     for(rows, appender[vec[f64]], |b, i, row| let s = sum(row); merge(b, map(row, |e| e / s)))
// is in a group
//     let s = result(for(r.$1, merger[simd[f64,16],+], ...));
//     let t = result(for(r.$1, appender[simd[f64,16]], |c, j, e| merge(c, e / s)));  # a vec[simd[f64,16]]
//     merge(b, t)                                                                    # sixteen rows
//
// Only short ones are, shorter ones than are read: what is turned over twice has to be worth it.
// Where the vectors of a group differ in length, and for the last group, the loop stays what it was.
//
// So it does with windows that begin at the index, `slice(x, i, w)`, of which lanes read what lies side by
// side (lane_windows.cpp): a group is on lanes where the windows of all of it are inside.
//
// And with loops over elements that all lanes share, unless there are many of them:
//
//     for(xs, appender[f64], |b, i, x| merge(b, result(for(cs, merger[f64,min], |m, j, c| merge(m, (x - c) * (x - c))))))
//
// is for eight elements of xs a loop over `cs` with one merger of lanes, where it has no more than 512 elements.
//
// In a loop around, as that over the columns of a matrix, elements may be few: what does not fill a group of sixteen
// goes by fours, and what is left then one by one.
//
// Where few elements are known to be, lanes are no more than these, and a loop of a single group is straight code.
//
// Not done where the body cannot be translated (lane_body.h), or holds no `iterate`, no loops in loops, no
// windows and no loop over what lanes share; with strides other than 1; for `@(vectorize:false)`; for three elements or fewer.
#include <algorithm>
#include <bit>

#include "weldir/ir/builder.h"
#include "weldir/passes/lane_body.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/subrange.h"
#include "weldir/passes/vectorize.h"

namespace weld {

namespace {

constexpr std::uint32_t kMostNodes = 1000;  // of a body, which is there twice afterwards
constexpr std::uint32_t kMostOfRows = 250;  // of one that reads short rows, which is there three times
constexpr std::uint32_t kMostLanes = 16;    // of rows: transposing takes that many registers
constexpr std::uint32_t kFewLanes = 4;      // of what does not fill a group, in loops in loops
constexpr std::int64_t kShortRow = 16;      // elements; longer ones are as well off on lanes of their own
constexpr std::int64_t kNewRow = 12;        // where rows are made of sums, say: they have to be turned back
constexpr std::int64_t kMappedRow = 4;      // where they are made, or looked up, element by element
constexpr std::int64_t kMostShared = 512;   // elements of a loop that may go over lanes of its own as well
constexpr std::int64_t kMostBytesInNest = 16 << 10;  // of rows of a flat matrix, side by side
constexpr std::int64_t kSmallWindow = 1 << 20;       // no length less such a size wraps around
// Rounds that hold so few values wait for each other; twice as many lanes fill the waiting, and fit sixteen registers.
constexpr std::uint32_t kFewHeld = 3;

/// Which loops go over groups.
enum class Take : bool { Nests, ShortRows };

class OuterVectorizer {
  public:
    OuterVectorizer(Module& m, Facts& facts, Take take = Take::Nests) : m_(m), facts_(facts), take_(take) {}

    /// The loop over groups of at most `most` iterations, or null. `inner`: it is in another loop.
    const Expr* groups(For loop, bool inner = false, std::uint32_t most = kMostLanes) {
        inner_ = inner;
        for (const Expr* d : loop.data())
            if (!may_be_grouped(d)) return nullptr;
        if (facts_.traits(loop.body().node).size > (take_ == Take::Nests ? kMostNodes : kMostOfRows))
            return nullptr;
        LaneBody body(m_, facts_, loop, Nests::Yes);
        if (!body.ok()) return nullptr;
        if (take_ == Take::Nests ? !body.is_nest() || body.merges_rows() : !is_for_rows(loop, body))
            return nullptr;
        most_in_row_ = !body.has_loops()                          ? kMappedRow
                       : !body.makes_rows() || body.holds_nests() ? kShortRow
                       : body.reduces()                           ? kNewRow
                                                                  : kMappedRow;
        const std::uint32_t width = body.width();
        lanes_ = std::min(most, 2 * kLaneBytes / width);
        const bool has_no_rows = std::ranges::none_of(loop.data(), has_rows) &&
                                 (take_ == Take::ShortRows || body.flat_rows().empty());
        if (most == kMostLanes && has_no_rows)
            lanes_ =
                std::max(lanes_, inner ? kLaneBytes / width : std::min(2 * kLaneBytes / width, kLaneBytes));
        if (lanes_ > kFewLanes && body.held_in_rounds().value_or(kFewHeld + 1) <= kFewHeld) lanes_ *= 2;
        const std::optional<Count> n = facts_.iterations(loop.node);
        rounds_ = n ? n->known() : std::nullopt;
        if (rounds_ && *rounds_ <= lanes_ && take_ == Take::ShortRows) return nullptr;
        if (rounds_ && *rounds_ < lanes_)
            lanes_ = *rounds_ < kFewLanes ? 0 : std::bit_floor(std::uint32_t(*rounds_));
        return lanes_ >= 2 && std::has_single_bit(lanes_) ? grouped(loop, body) : nullptr;
    }

  private:
    bool may_be_grouped(const Expr* datum) {
        if (const Iter it = datum->as<Iter>())
            if (it.shape().kind != IterKind::Scalar || it.shape().nd || !it.shape().bounded ||
                !is_int(it.stride(), 1))
                return false;
        return (datum->type->elem()->is_scalar() || has_rows(datum)) && !facts_.traits(datum).calls;
    }
    /// Loops inside read rows, once each, or elements of rows are looked up; or rows are made, not of elements of others alone.
    bool is_for_rows(For loop, const LaneBody& body) {
        const bool reads = std::ranges::any_of(loop.data(), has_rows) || !body.flat_rows().empty();
        if (body.makes_rows() ? reads && !body.has_loops() && !computes(loop)
                              : !reads || !(body.has_loops() || body.reads_rows()) || body.is_nest())
            return false;
        const auto are_narrow = [](const Type* row) { return size_of(row->elem()->scalar) < kLeastInRow; };
        return std::ranges::none_of(
                   loop.data(), [&](const Expr* d) { return has_rows(d) && are_narrow(d->type->elem()); }) &&
               std::ranges::none_of(body.flat_rows(),
                                    [&](const LaneBody::FlatRow& r) { return are_narrow(r.of->type); });
    }
    /// An element of a new row is no element of another.
    bool computes(For loop) {
        bool does = false;
        visit(loop.body().body(), [&](const Expr* e) {
            does |= e->op == Op::MakeVec && std::ranges::any_of(e->args(), [&](const Expr* a) {
                        return is_scalar_op(facts_.resolve(a)->op);
                    });
        });
        return does;
    }
    static bool has_rows(const Expr* datum) {
        const Type* elem = datum->type->elem();
        return elem->is_vec() && elem->elem()->is_scalar();
    }

    const Expr* i64(std::int64_t n) { return i64_literal(m_, n); }
    const Expr* add(const Expr* a, const Expr* b) { return scalar_op(m_, Op::Add, {a, b}); }

    /// `datum`, where what it walks along, from where to where, are names.
    const Expr* with_names(const Expr* datum, Lets& lets) {
        const Iter it = datum->as<Iter>();
        if (!it) return is_path(datum) ? datum : as_atom(m_, datum, "d", lets);
        return map_args(m_, datum, [&](const Expr* a, std::size_t) {
            return is_path(a) ? a : as_atom(m_, a, a->type->is_vec() ? "d" : "bound", lets);
        });
    }

    /// The loop over `data` without what it does; null if it cannot fail.
    const Expr* data_check(Args data, Loc loc) {
        for (const Expr* d : data)
            if (facts_.traits(d).fails) return empty_loop(m_, data, loc);
        return length_check(m_, facts_, data, loc);
    }

    const Expr* grouped(For loop, LaneBody& body) {
        Lets before;
        std::vector<const Expr*> data;
        for (const Expr* d : loop.data()) data.push_back(with_names(d, before));
        if (const Expr* check = data_check(data, loop.node->loc)) as_atom(m_, check, "equal", before);
        const Expr* n = rounds_ ? i64(*rounds_) : as_atom(m_, trip_count(m_, data[0]), "n", before);
        const Expr* count =
            scalar_op(m_, Op::Div, {scalar_op(m_, Op::Add, {n, i64(lanes_ - 1)}), i64(lanes_)});
        const Expr* short_rows = take_ == Take::ShortRows ? are_short(data, body, n) : nullptr;
        if (short_rows) count = if_(m_, short_rows, count, i64(0));
        const Expr* range = range_iter(m_, IterKind::Scalar, i64(0), as_atom(m_, count, "n", before), i64(1));

        const Symbol* b = m_.symbol(loop.builder_param()->name, loop.node->type);
        const Symbol* g = m_.symbol(loop.index_param()->name, m_.types.i64());
        const Symbol* k = m_.symbol("k", m_.types.i64());
        Lets inside;
        const Expr* first = as_atom(m_, scalar_op(m_, Op::Mul, {var(m_, k), i64(lanes_)}), "first", inside);
        const Expr* found = nullptr;
        const auto also = [&](const Expr* c) { found = found ? scalar_op(m_, Op::BitAnd, {found, c}) : c; };
        const Expr* elem = elements(data, first, n, inside, also);
        body.set_flat_rows(flat_rows(body, first, inside, also));
        for (const LaneBody::Window& w : body.windows()) also(are_inside(w, first));
        if (take_ == Take::Nests)
            for (const Expr* d : body.made_along())
                also(scalar_op(m_, Op::Le, {trip_count(m_, fresh(m_, d)), i64(kMostShared)}));
        for (const Expr* d : body.shared())
            also(scalar_op(m_, Op::Le, {trip_count(m_, fresh(m_, d)), i64(kMostShared)}));
        const Expr* index = body.reads_index() ? as_atom(m_, indices(first, inside), "i", inside) : nullptr;
        const Expr* on_lanes = body.translated(lanes_, b, first, index, elem);
        if (!on_lanes) return nullptr;
        const Expr* choice =
            found ? if_(m_, found, on_lanes, rest(loop, data, b, first, n), loop.node->loc) : on_lanes;
        if (rounds_ == lanes_) {  // a single group
            before.insert(before.end(), {{b, loop.builder()}, {k, i64(0)}});
            return block(m_, before, block(m_, inside, choice), loop.node->loc);
        }
        const Expr* f = lambda(m_, {b, g, k}, block(m_, inside, choice), loop.body().node->loc);
        const Expr* all = weld::loop(m_, {&range, 1}, loop.builder(), f, loop.node->loc);
        const Expr* annotated = with_annotations(m_, all, loop.node->annotations);
        const Expr* groups = with_appends(m_, facts_, loop, lanes_, without(m_, annotated, AttrKey::Tile));
        if (short_rows) groups = with_others(loop, data, range->as<Iter>().end(), n, groups);
        return block(m_, before, groups, loop.node->loc);
    }

    /// Rows are short, those that are read and those that are made along others; null if there are none of these.
    const Expr* are_short(std::span<const Expr* const> data, const LaneBody& body, const Expr* n) {
        const Expr* all = nullptr;
        const auto also = [&](const Expr* c) { all = all ? scalar_op(m_, Op::BitAnd, {all, c}) : c; };
        for (const Expr* d : body.made_along())
            also(scalar_op(m_, Op::Le, {trip_count(m_, fresh(m_, d)), i64(most_in_row_)}));
        for (const LaneBody::FlatRow& row : body.flat_rows())
            also(scalar_op(m_, Op::Le, {fresh(m_, row.size), i64(most_in_row_)}));
        const auto rows = std::ranges::find_if(data, has_rows);
        if (rows != data.end()) also(are_short_rows(*rows, n));
        return all;
    }

    /// They are as long in the middle and at the end as at the beginning.
    const Expr* are_short_rows(const Expr* rows, const Expr* n) {
        const Iter it = rows->as<Iter>();
        Lets lets;
        const auto length = [&](const Expr* k) {
            const Expr* at = it ? add(it.start(), k) : k;
            return as_atom(m_, len(m_, lookup(m_, it ? it.data() : rows, at)), "length", lets);
        };
        const Expr* first = length(i64(0));
        const Expr* middle = length(scalar_op(m_, Op::Div, {n, i64(2)}));
        const Expr* last = length(scalar_op(m_, Op::Sub, {n, i64(1)}));
        const Expr* all = scalar_op(m_, Op::Le, {first, i64(most_in_row_)});
        for (const Expr* other : {middle, last})
            all = scalar_op(m_, Op::BitAnd, {all, scalar_op(m_, Op::Eq, {other, first})});
        return if_(m_, scalar_op(m_, Op::Gt, {n, i64(0)}), block(m_, lets, all), bool_literal(m_, false));
    }

    /// The loop as it was behind `count` groups, for what is in none.
    const Expr* with_others(For loop, std::span<const Expr* const> data, const Expr* count, const Expr* n,
                            const Expr* groups) {
        const Expr* done = scalar_op(m_, Op::Mul, {count, i64(lanes_)});
        done = scalar_op(m_, Op::Min, {done, n});
        const Expr* whole = weld::loop(m_, data, loop.builder(), loop.body().node, loop.node->loc);
        whole = with_annotations(m_, whole, loop.node->annotations);
        return loop_over_subrange(m_, whole->as<For>(), done, n, groups);
    }

    /// No group is smaller than the others.
    bool fills_groups() const { return rounds_ && *rounds_ % lanes_ == 0; }
    const Expr* are_left(const Expr* first, const Expr* n) {
        return scalar_op(m_, Op::Le, {add(first, i64(lanes_)), n});
    }

    /// The elements of a group from `first` on; `also` takes what must hold for them to be there.
    const Expr* elements(std::span<const Expr* const> data, const Expr* first, const Expr* n, Lets& lets,
                         const std::function<void(const Expr*)>& also) {
        std::vector<const Expr*> parts;
        for (const Expr* d : data) {
            const Iter it = d->as<Iter>();
            const Expr* from = it && !is_int(it.start(), 0) ? add(first, it.start()) : first;
            if (it && it.shape().range) {
                if (!fills_groups()) also(are_left(first, n));
                parts.push_back(as_atom(m_, indices(from, lets), "i", lets));
                continue;
            }
            const Expr* most = take_ == Take::ShortRows && has_rows(d) ? i64(most_in_row_) : nullptr;
            const Expr* group = opt_lanes(m_, it ? it.data() : d, from, lanes_, {}, most);
            group = as_atom(m_, group, "group", lets);
            also(get_field(m_, group, 0));
            if (it && !fills_groups()) also(are_left(first, n));
            parts.push_back(get_field(m_, group, 1));
        }
        return parts.size() == 1 ? parts[0] : make_struct(m_, parts);
    }

    /// The flat rows of a group from `first` on.
    std::vector<const Expr*> flat_rows(const LaneBody& body, const Expr* first, Lets& lets,
                                       const std::function<void(const Expr*)>& also) {
        std::vector<const Expr*> all;
        for (const LaneBody::FlatRow& row : body.flat_rows()) {
            const Expr* number = is_int(row.offset, 0) ? first : add(first, fresh(m_, row.offset));
            const Expr* size = fresh(m_, row.size);
            const Expr* at = scalar_op(m_, Op::Mul, {number, size});
            const std::int64_t bytes = size_of(row.of->type->elem()->scalar) * lanes_;
            const Expr* most = i64(take_ == Take::ShortRows ? most_in_row_ : kMostBytesInNest / bytes);
            const Expr* group = opt_rows(m_, row.of, at, lanes_, most, fresh(m_, row.size));
            group = as_atom(m_, group, "group", lets);
            also(get_field(m_, group, 0));
            all.push_back(get_field(m_, group, 1));
        }
        return all;
    }

    /// Whether the windows of all lanes are there and equally long; nothing in it can wrap around unnoticed.
    const Expr* are_inside(const LaneBody::Window& w, const Expr* first) {
        const Expr* from = is_int(w.offset, 0) ? first : add(first, fresh(m_, w.offset));
        const Expr *size = fresh(m_, w.size), *n = len(m_, w.of);
        const Expr* room = scalar_op(m_, Op::Sub, {scalar_op(m_, Op::Sub, {n, size}), i64(lanes_ - 1)});
        const Expr* bounds[] = {scalar_op(m_, Op::Ge, {from, i64(0)}), scalar_op(m_, Op::Le, {from, room}),
                                scalar_op(m_, Op::Ge, {size, i64(0)}), scalar_op(m_, Op::Le, {size, n})};
        const Literal known = size->as<Literal>();
        const bool is_small = known && known.as_int() >= 0 && known.as_int() <= kSmallWindow;
        const Expr* all = bounds[0];
        for (const Expr* c : std::span(bounds).subspan(1, is_small ? 1 : 3))
            all = scalar_op(m_, Op::BitAnd, {all, c});
        return all;
    }

    /// `first`, `first + 1`, ... as lanes.
    const Expr* indices(const Expr* first, Lets& lets) {
        std::vector<const Expr*> numbers;
        for (std::uint32_t k = 0; k < lanes_; ++k) numbers.push_back(i64(k));
        const Expr* all = as_atom(m_, make_vec(m_, m_.types.i64(), numbers), "lanes", lets);
        return scalar_op(
            m_, Op::Add,
            {broadcast(m_, first, lanes_), get_field(m_, opt_lanes(m_, all, i64(0), lanes_), 1)});
    }

    /// The loop over the elements of one group that are no full one.
    const Expr* rest(For loop, std::span<const Expr* const> data, const Symbol* builder, const Expr* first,
                     const Expr* n) {
        Lets lets;
        const bool by_fours = inner_ && lanes_ > kFewLanes && std::ranges::all_of(data, [](const Expr* d) {
                                  return d->type->elem()->is_scalar();
                              });
        const Expr* each = one_by_one(loop, data, builder, first, n, lets);
        if (by_fours) {
            each = fresh(m_, each);  // its lets are not what is known of those that were there
            Facts facts(m_, lambda(m_, {}, each));
            if (const Expr* fours = OuterVectorizer(m_, facts).groups(each->as<For>(), false, kFewLanes))
                each = fours;
        }
        if (take_ == Take::ShortRows) each = in_order(each);
        return block(m_, lets, each, loop.node->loc);
    }

    /// With sums that are made as those on lanes are, element by element: there are few such groups.
    const Expr* in_order(const Expr* each) {
        return rewrite_binding(m_, each, [&](const Expr* e) -> const Expr* {
            return e->op == Op::For ? annotate(m_, e, AttrKey::Vectorize, "false") : nullptr;
        });
    }

    /// The loop as it was, over the elements of one group.
    const Expr* one_by_one(For loop, std::span<const Expr* const> data, const Symbol* builder,
                           const Expr* first, const Expr* n, Lets& lets) {
        const Expr* end = scalar_op(m_, Op::Add, {first, i64(lanes_)});
        end = as_atom(m_, scalar_op(m_, Op::Min, {end, n}), "end", lets);
        std::vector<const Expr*> iters;
        for (const Expr* d : data) {
            const Iter it = d->as<Iter>();
            const auto at = [&](const Expr* k) {
                return it && !is_int(it.start(), 0) ? add(it.start(), k) : k;
            };
            const Expr* bounds[] = {at(first), at(end), i64(1)};
            iters.push_back(it && it.shape().range
                                ? range_iter(m_, IterKind::Scalar, bounds[0], bounds[1], bounds[2])
                                : iter(m_, IterKind::Scalar, it ? it.data() : d, bounds));
        }
        const Symbol *b = loop.builder_param(), *i = loop.index_param(), *x = loop.elem_param();
        const Symbol* own = m_.symbol(i->name, i->type);
        const Expr* body = let(m_, i, scalar_op(m_, Op::Add, {first, var(m_, own)}), loop.body().body());
        return weld::loop(m_, iters, var(m_, builder), lambda(m_, {b, own, x}, body), loop.node->loc);
    }

    Module& m_;
    Facts& facts_;
    Take take_;
    std::uint32_t lanes_ = 0;
    std::int64_t most_in_row_ = kShortRow;
    std::optional<std::int64_t> rounds_;  // of the loop, if they are known
    bool inner_ = false;
};

/// `e` with groups of short rows in the outermost loops that may go over these.
const Expr* with_short_rows(Module& m, Facts& facts, const Expr* e, bool inner) {
    if (!e->binds) return e;
    const bool is_loop = e->op == Op::For;
    OuterVectorizer short_rows(m, facts, Take::ShortRows);
    const Expr* grouped = is_loop ? short_rows.groups(e->as<For>(), inner) : nullptr;
    if (grouped) return grouped;
    return map_args(m, e, [&](const Expr* a, std::size_t) {
        return with_short_rows(m, facts, a, inner || (is_loop && a->op == Op::Lambda));
    });
}

/// `e` with groups for all loops that may go over them; `inner`: it is in a loop. Short rows are for what holds no nests.
const Expr* with_groups(Module& m, Facts& facts, const Expr* e, bool inner) {
    if (!e->binds) return e;
    const For loop = e->as<For>();
    const Expr* now = map_args(m, e, [&](const Expr* a, std::size_t) {
        return with_groups(m, facts, a, inner || (loop && a->op == Op::Lambda));
    });
    if (!loop) return now;
    const For after = now->as<For>();
    if (const Expr* grouped = OuterVectorizer(m, facts).groups(after, inner)) return grouped;
    const bool holds_nests = after.body().node != loop.body().node;
    return inner || holds_nests ? now : with_short_rows(m, facts, now, inner);
}

}  // namespace

bool can_vectorize_outer(Module& m, Facts& facts, const Expr* loop) {
    return OuterVectorizer(m, facts).groups(loop->as<For>()) != nullptr;
}

bool has_lanes_side_by_side(Module& m, Facts& facts, const Expr* loop) {
    return LaneBody(m, facts, loop->as<For>(), Nests::Yes).reads_side_by_side() &&
           can_vectorize_outer(m, facts, loop);
}

const Expr* vectorize_outer(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    return in_normal_form(m, lambda, with_groups(m, facts, lambda, false));
}

}  // namespace weld
