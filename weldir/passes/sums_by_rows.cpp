// Loops that go along the rows of a matrix and merge into vectors, in the place of sums of its columns.
//
// A sum for each column becomes a vector of sums, into which all rows are merged:
//     for(rangeiter(0L, c, 1L), appender[f64], |b, o, j|
//       let s = result(for(rangeiter(0L, r, 1L), merger[f64,+], |d, n, i| merge(d, lookup(m, i * c + j))));
//       merge(b, f(s)))
// becomes
//     let start = result(for(rangeiter(0L, c, 1L), appender[f64], |b, o, j| merge(b, 0.0)));
//     let sums = result(for(rangeiter(0L, r, 1L), vecmerger[f64,+](start), |d, n, i|
//       for(rangeiter(0L, c, 1L), d, |g, o, j| merge(g, {o, lookup(m, i * c + j)}))));
//     for(zip(rangeiter(0L, c, 1L), sums), appender[f64], |b, o, z| let s = z.$1; merge(b, f(s)))
//
// So do sums over windows, whose loops over rows have loops over a few columns inside:
//     for(rangeiter(k, c - k, 1L), b, |b, o, x|
//       let s = result(for(rangeiter(0L, w, 1L), merger[f64,+], |d, n, i|
//         for(rangeiter(0L, w, 1L), d, |e, n, j| merge(e, lookup(m, i * c + x + j)))));
//       merge(b, f(s)))
// becomes the same with
//     for(rangeiter(0L, w, 1L), vecmerger[f64,+](start), |d, n, i|
//       for(rangeiter(0L, w, 1L), d, |e, n, j|
//         for(rangeiter(k, c - k, 1L), e, |g, o, x| merge(g, {o, lookup(m, i * c + x + j)}))))
// in which neighbours lie side by side.
//
// Where a loop around the columns makes a few of these vectors, `products`, from the same long rows, all of
// them are made at once, while a row is in the cache:
//     for(rangeiter(0L, n, 1L), B, |b, p, i|
//       for(rangeiter(0L, c, 1L), b, |d, o, j|
//         let s = result(for(rangeiter(0L, r, 1L), merger[f64,+], |g, q, l|
//           merge(g, lookup(m, l * c + i) * lookup(m, l * c + j))));
//         merge(d, f(s))))
// becomes
//     let products = result(for(rangeiter(0L, r, 1L), vecmerger[f64,+](start), |d, q, l|
//       for(rangeiter(0L, n, 1L), d, |e, p, i|
//         let t = lookup(m, l * c + i);
//         for(rangeiter(0L, c, 1L), e, |g, o, j| merge(g, {p * c + o, t * lookup(m, l * c + j)})))));
//     for(rangeiter(0L, n, 1L), B, |b, p, i|
//       for(zip(rangeiter(0L, c, 1L), iter(products, p * c, p * c + c, 1L)), b, |d, o, z|
//         let s = z.$1; merge(d, f(s))))
//
// What a sum reads of its round, beside the counters, may be looked up too, and is so in each row then:
//     let y = lookup(mean, j);
//     result(for(rangeiter(0L, r, 1L), merger[f64,+], |d, n, i| merge(d, lookup(m, i * c + j) - y)))
#include "weldir/passes/sums_by_rows.h"

#include <algorithm>
#include <span>
#include <unordered_set>

#include "weldir/ir/builder.h"
#include "weldir/ir/scalar.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"

namespace weld {

namespace {

bool is_shifted(const Expr* datum) { return counts_by_one(datum) && !counts_from_zero(datum); }

class RowWriter {
  public:
    explicit RowWriter(Module& m) : m_(m) {}

    const Expr* with_vectors(For outer, const std::vector<ColumnSum>& all) {
        Lets lets;
        std::vector<const Expr*> data = from_zero(outer.data());
        for (const ColumnSum& one : all) {
            const Expr* vector = sums(outer, one, lets);
            const Symbol* name = m_.symbol("sums", vector->type);
            lets.emplace_back(name, vector);
            data.push_back(var(m_, name));
        }
        return block(m_, lets, over_sums(outer, all, data), outer.node->loc);
    }

    const Expr* with_products(For outer, For columns, const ColumnSum& sum) {
        const Expr *n = trip_count(m_, outer.data()[0]), *c = trip_count(m_, columns.data()[0]);
        const For rows = sum.inner[0];
        const Type *builder = rows.builder()->type, *number = builder->elem();
        Lets lets;
        const Expr* places =
            range_iter(m_, IterKind::Scalar, i64_literal(m_, 0), product_of(m_, n, c), i64_literal(m_, 1));
        const Expr* start = all_equal(
            {&places, 1}, literal(m_, number, identity_bits(builder->op, number->scalar)), outer.node->loc);
        const Symbol* start_name = m_.symbol("start", start->type);
        lets.emplace_back(start_name, start);
        const Type* elem[] = {number};
        const Type* type = m_.types.builder(BuilderKind::VecMerger, elem, builder->op);
        const Expr* begin = new_builder(m_, type, var(m_, start_name));
        const Expr* all = result(m_, fresh(m_, products_of_rows(outer, columns, rows, begin, c)));
        const Symbol* products = m_.symbol("products", all->type);
        lets.emplace_back(products, all);

        const Symbol* first = m_.symbol("first", m_.types.i64());
        const Expr* bounds[] = {var(m_, first), scalar_op(m_, Op::Add, {var(m_, first), c}),
                                i64_literal(m_, 1)};
        std::vector<const Expr*> data = from_zero(columns.data());
        data.push_back(iter(m_, IterKind::Scalar, var(m_, products), bounds));
        Lets inside;
        if (const Block around = outer.body().body()->as<Block>())
            for (std::size_t i = 0; i < around.size(); ++i)
                inside.emplace_back(around.symbol(i), around.value(i));
        inside.emplace_back(first, product_of(m_, var(m_, outer.index_param()), c));
        const Expr* body = block(m_, inside, over_sums(columns, {sum}, data));
        const Lambda was = outer.body();
        std::vector<const Expr*> args(outer.node->args().begin(), outer.node->args().end());
        args[1] = lambda(m_, was.params(), body, was.node->loc);
        return block(m_, lets, with_args(m_, outer.node, args), outer.node->loc);
    }

  private:
    /// The sums of all columns, from rows.
    const Expr* sums(For outer, const ColumnSum& one, Lets& lets) {
        const Type* builder = one.inner.front().builder()->type;
        const Type* number = builder->elem();
        const Type* elem[] = {number};
        const Symbol* start = m_.symbol("start", m_.types.vec(number));
        const Expr* least = literal(m_, number, identity_bits(builder->op, number->scalar));
        lets.emplace_back(start, all_equal(outer.data(), least, outer.node->loc));

        const Type* type = m_.types.builder(BuilderKind::VecMerger, elem, builder->op);
        const Expr* begin = new_builder(m_, type, var(m_, start));
        std::unordered_set<const Symbol*> by_column = {outer.index_param(), outer.elem_param()};
        for (const auto& [name, value] : one.before) by_column.insert(name);
        return result(m_,
                      fresh(m_, with_row_inside(outer, one.inner, begin, one.before, std::move(by_column))));
    }

    /// Loops over rows on `builder`, and the loop over columns in the innermost one. What is bound in them
    /// and depends on the column goes there: `in_row`, by `by_column`.
    const Expr* with_row_inside(For outer, std::span<const For> inner, const Expr* builder, Lets in_row,
                                std::unordered_set<const Symbol*> by_column) {
        const For f = inner.front();
        const Symbol *d = m_.symbol("d", builder->type), *x = f.elem_param();
        Lets lets;
        if (std::ranges::any_of(f.data(), is_shifted)) {
            x = m_.symbol(x->name, x->type);
            lets.emplace_back(f.elem_param(), elem_of(f.data(), var(m_, f.index_param()), var(m_, x)));
        }
        const Expr* end = f.body().body();
        if (const Block b = end->as<Block>()) {
            end = b.result();
            for (std::size_t i = 0; i < b.size(); ++i) {
                const std::vector<const Symbol*> read = free_symbols(b.value(i));
                const bool moves =
                    std::ranges::any_of(read, [&](const Symbol* s) { return by_column.contains(s); });
                if (moves) by_column.insert(b.symbol(i));
                (moves ? in_row : lets).emplace_back(b.symbol(i), b.value(i));
            }
        }
        if (inner.size() == 1) end = with_row_lookups_before(end, by_column, lets);
        const Expr* now = inner.size() == 1 ? row_of(outer, end->as<Merge>(), d, in_row)
                                            : with_row_inside(outer, inner.subspan(1), var(m_, d),
                                                              std::move(in_row), std::move(by_column));
        const Symbol* params[] = {d, f.index_param(), x};
        return loop(m_, from_zero(f.data()), builder,
                    lambda(m_, params, block(m_, lets, now), f.body().node->loc), f.node->loc);
    }

    /// What is looked up in any case, and is the same for all columns, is so once for a row. It cannot fail.
    const Expr* with_row_lookups_before(const Expr* e, const std::unordered_set<const Symbol*>& by_column,
                                        Lets& lets) {
        const auto is_by_column = [&](const Symbol* s) { return by_column.contains(s); };
        if (e->op == Op::Lookup && std::ranges::none_of(free_symbols(e), is_by_column)) {
            const Symbol* name = m_.symbol("t", e->type);
            lets.emplace_back(name, e);
            return var(m_, name);
        }
        return map_args(m_, e, [&](const Expr* a, std::size_t i) {
            return is_lazy_arg(e, i) ? a : with_row_lookups_before(a, by_column, lets);
        });
    }

    /// The loop over columns, which merges for each what `one` merges for it, after `lets`.
    /// They go to the places from `first` on (null: 0).
    const Expr* row_of(For outer, Merge one, const Symbol* builder, const Lets& lets,
                       const Expr* first = nullptr) {
        const Symbol* g = m_.symbol("g", builder->type);
        const Symbol* o = m_.symbol(outer.index_param()->name, m_.types.i64());
        const Symbol* x = m_.symbol(outer.elem_param()->name, outer.elem_param()->type);
        const Expr* place = first ? scalar_op(m_, Op::Add, {first, var(m_, o)}) : var(m_, o);
        const Expr* sum =
            merge(m_, var(m_, g), make_struct(m_, {place, one.value()}), nullptr, one.node->loc);
        const Expr* body = substitute(m_, block(m_, lets, sum),
                                      {{outer.index_param(), var(m_, o)},
                                       {outer.elem_param(), elem_of(outer.data(), var(m_, o), var(m_, x))}});
        return loop(m_, from_zero(outer.data()), var(m_, builder), lambda(m_, {g, o, x}, body),
                    one.node->loc);
    }

    /// A vector of one number for each round of a loop over `data`.
    const Expr* all_equal(Args data, const Expr* number, Loc loc) {
        const Type* elem[] = {number->type};
        const Type* type = m_.types.builder(BuilderKind::Appender, elem);
        const Symbol *b = m_.symbol("b", type), *o = m_.symbol("o", m_.types.i64());
        const std::vector<const Expr*> rounds = from_zero(data);
        std::vector<const Type*> types;
        for (const Expr* d : rounds) types.push_back(d->type->elem());
        const Symbol* x = m_.symbol("x", types.size() == 1 ? types[0] : m_.types.structure(types));
        const Expr* f = lambda(m_, {b, o, x}, merge(m_, var(m_, b), number));
        return result(m_, loop(m_, rounds, new_builder(m_, type), f, loc));
    }

    /// `outer` with the vectors among its data.
    const Expr* over_sums(For outer, const std::vector<ColumnSum>& all,
                          const std::vector<const Expr*>& data) {
        const std::size_t own = outer.data().size();
        std::vector<const Type*> types;
        for (const Expr* d : data) types.push_back(d->type->elem());
        const Symbol* z = m_.symbol("z", m_.types.structure(types));
        const Expr* elem = get_field(m_, var(m_, z), 0);
        if (own > 1) {
            std::vector<const Expr*> parts;
            for (std::size_t i = 0; i < own; ++i) parts.push_back(get_field(m_, var(m_, z), i));
            elem = make_struct(m_, parts);
        }
        Lets lets;
        lets.emplace_back(outer.elem_param(), elem_of(outer.data(), var(m_, outer.index_param()), elem));
        const Block b = outer.body().body()->as<Block>();
        std::size_t k = 0;
        for (std::size_t i = 0; i < b.size(); ++i) {
            const bool is_sum = k < all.size() && all[k].name == b.symbol(i);
            lets.emplace_back(b.symbol(i), is_sum ? get_field(m_, var(m_, z), own + k++) : b.value(i));
        }
        const Expr* f = lambda(m_, {outer.builder_param(), outer.index_param(), z},
                               block(m_, lets, b.result()), outer.body().node->loc);
        return with_annotations(m_, loop(m_, data, outer.builder(), f, outer.node->loc),
                                outer.node->annotations);
    }

    /// The loops over rows, over the rounds of `outer`, and over columns.
    const Expr* products_of_rows(For outer, For columns, For rows, const Expr* begin, const Expr* c) {
        const Symbol *d = m_.symbol("d", begin->type), *e = m_.symbol("e", begin->type);
        const Symbol* p = outer.index_param();
        const Symbol *x = m_.symbol(rows.elem_param()->name, rows.elem_param()->type),
                     *y = m_.symbol(outer.elem_param()->name, outer.elem_param()->type);
        std::unordered_set<const Symbol*> by_round = {outer.index_param(), outer.elem_param()},
                                          by_column = {columns.index_param(), columns.elem_param()};
        Lets in_row, in_round, in_column;
        in_row.emplace_back(rows.elem_param(), elem_of(rows.data(), var(m_, rows.index_param()), var(m_, x)));
        in_round.emplace_back(outer.elem_param(), elem_of(outer.data(), var(m_, p), var(m_, y)));
        const auto read = [&](const Expr* v, const std::unordered_set<const Symbol*>& names) {
            return std::ranges::any_of(free_symbols(v), [&](const Symbol* s) { return names.contains(s); });
        };
        const auto place = [&](Block b) {
            for (std::size_t i = 0; b && i < b.size(); ++i) {
                const bool of_column = read(b.value(i), by_column), of_round = read(b.value(i), by_round);
                (of_column ? in_column : of_round ? in_round : in_row).emplace_back(b.symbol(i), b.value(i));
                if (of_column) by_column.insert(b.symbol(i));
                else if (of_round) by_round.insert(b.symbol(i));
            }
        };
        place(outer.body().body()->as<Block>());
        const Expr* end = rows.body().body();
        place(end->as<Block>());
        if (const Block b = end->as<Block>()) end = b.result();
        end = with_row_lookups_before(end, by_column, in_round);
        const Symbol* first = m_.symbol("first", m_.types.i64());
        in_round.emplace_back(first, product_of(m_, var(m_, p), c));
        const Expr* inner = row_of(columns, end->as<Merge>(), e, in_column, var(m_, first));
        const Expr* middle = loop(m_, from_zero(outer.data()), var(m_, d),
                                  lambda(m_, {e, p, y}, block(m_, in_round, inner)), outer.node->loc);
        return loop(m_, from_zero(rows.data()), begin,
                    lambda(m_, {d, rows.index_param(), x}, block(m_, in_row, middle), rows.body().node->loc),
                    rows.node->loc);
    }

    /// The data of a loop with ranges that begin at 0, and so cannot fail and can be cut.
    std::vector<const Expr*> from_zero(Args data) {
        std::vector<const Expr*> now(data.begin(), data.end());
        for (const Expr*& d : now)
            if (is_shifted(d))
                d = range_iter(m_, IterKind::Scalar, i64_literal(m_, 0), trip_count(m_, d),
                               i64_literal(m_, 1), 0, d->loc);
        return now;
    }

    /// The element of the data as they were, where `elem` is that of the data from zero.
    const Expr* elem_of(Args data, const Expr* index, const Expr* elem) {
        if (std::ranges::none_of(data, is_shifted)) return elem;
        std::vector<const Expr*> parts;
        for (std::size_t i = 0; i < data.size(); ++i)
            parts.push_back(is_shifted(data[i]) ? scalar_op(m_, Op::Add, {data[i]->as<Iter>().start(), index})
                            : data.size() == 1  ? elem
                                                : get_field(m_, elem, i));
        return parts.size() == 1 ? parts[0] : make_struct(m_, parts);
    }

    Module& m_;
};

}  // namespace

const Expr* with_sums_by_rows(Module& m, For columns, const std::vector<ColumnSum>& sums) {
    return RowWriter(m).with_vectors(columns, sums);
}

const Expr* with_products_by_rows(Module& m, For outer, For columns, const ColumnSum& sum) {
    return RowWriter(m).with_products(outer, columns, sum);
}

}  // namespace weld
