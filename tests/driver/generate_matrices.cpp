// Programs over matrices that lie in vectors row by row, in the forms in which people and front ends write
// them.
#include "tests/driver/generator.h"

namespace weld::driver {

/// A matrix of `rows * columns` elements, and a vector for each side; all by name.
struct Generator::Matrix {
    const Symbol *of, *row, *column, *rows, *columns;
    const Type* elem() const { return of->type->elem(); }
};

/// A number that passes know, or don't.
const Expr* Generator::side() {
    constexpr std::int64_t sides[] = {0, 1, 2, 7, 8, 9, 16, 17, 40};
    const std::int64_t n = sides[r_.below(std::size(sides))];
    if (r_.percent(30)) return i64(n);
    const Type* number[] = {m_.types.i64()};
    const Type* sum = m_.types.builder(BuilderKind::Merger, number, MergeOp::Add);
    return result(m_, counting(i64(n), new_builder(m_, sum),
                               [&](const Expr* s, const Symbol*) { return merge(m_, s, i64(1)); }));
}

/// `for(rangeiter(0L, n, 1L), builder, |b, o, i| ...)`; the body may name the index or the element.
const Expr* Generator::counting(const Expr* n, const Expr* builder,
                                const std::function<const Expr*(const Expr*, const Symbol*)>& body) {
    return over(
        {range_iter(m_, IterKind::Scalar, i64(0), n, i64(1))}, builder,
        [&](const Expr* b, const Symbol* o, const Symbol* i) { return body(b, r_.percent(30) ? o : i); });
}

const Expr* Generator::over(
    const std::vector<const Expr*>& data, const Expr* builder,
    const std::function<const Expr*(const Expr*, const Symbol*, const Symbol*)>& body) {
    std::vector<const Type*> yields;
    for (const Expr* d : data) yields.push_back(d->type->elem());
    const Symbol *b = symbol("b", builder->type), *o = symbol("o", m_.types.i64()),
                 *x = symbol("x", yields.size() == 1 ? yields[0] : m_.types.structure(yields));
    ++depth_;
    const Expr* made = body(var(m_, b), o, x);
    --depth_;
    return loop(m_, data, builder, lambda(m_, {b, o, x}, made));
}

const Expr* Generator::op(Op op, const Expr* a, const Expr* b) { return scalar_op(m_, op, {a, b}); }

/// A vector of `n` elements that are made of their numbers.
const Expr* Generator::made_of_numbers(const Type* elem, const Expr* n) {
    const Expr* start = new_builder(m_, builder_of(BuilderKind::Appender, {elem}));
    return result(m_, counting(n, start, [&](const Expr* b, const Symbol* k) {
                      const Expr* number = cast(m_, elem->scalar, op(Op::Rem, var(m_, k), i64(13)));
                      return merge(m_, b, op(Op::Sub, number, cast(m_, elem->scalar, i64(5))));
                  }));
}

/// A builder that sums or compares: products of so many floats are no numbers any more.
const Type* Generator::summing(BuilderKind kind, const Type* elem) {
    constexpr MergeOp ops[] = {MergeOp::Add, MergeOp::Add, MergeOp::Min, MergeOp::Max};
    return m_.types.builder(kind, {&elem, 1}, ops[r_.below(4)]);
}

/// A neighbour of `k`, which is less than `n`, kept inside in one of the ways in which one does; or `k`.
const Expr* Generator::neighbour(const Expr* k, const Expr* n) {
    if (r_.percent(70)) return k;
    const auto by = std::int64_t(1 + r_.below(3));
    const auto choose = [&](const Expr* cond, const Expr* a, const Expr* b) {
        return r_.percent(50) ? if_(m_, cond, a, b) : select(m_, cond, a, b);
    };
    if (r_.percent(50)) {
        const Expr* there = op(Op::Sub, k, i64(by));
        if (r_.percent(40)) return op(Op::Max, there, i64(0));
        if (r_.percent(50)) return choose(op(Op::Lt, k, i64(by)), i64(0), there);
        return choose(op(Op::Ge, there, i64(0)), there, k);
    }
    const Expr *there = op(Op::Add, k, i64(by)), *last = op(Op::Sub, n, i64(1));
    if (r_.percent(40)) return op(Op::Min, there, last);
    if (r_.percent(50)) return choose(op(Op::Lt, k, op(Op::Sub, n, i64(by))), there, last);
    return choose(op(Op::Gt, n, there), there, k);
}

/// Something of an element of the matrix, of the row and of the column.
const Expr* Generator::cell(const Matrix& m, const Expr* element, const Expr* i, const Expr* j) {
    const auto at = [&](const Symbol* v, const Expr* k) {
        if (risky()) k = op(Op::Add, k, i64(1));
        return lookup(m_, var(m_, v), k);
    };
    const Symbol* e = symbol("e", m.elem());
    std::vector<std::pair<const Symbol*, const Expr*>> lets = {{e, element}};
    if (r_.percent(60)) lets.emplace_back(symbol("p", m.elem()), at(m.row, neighbour(j, var(m_, m.columns))));
    if (r_.percent(60)) lets.emplace_back(symbol("q", m.elem()), at(m.column, neighbour(i, var(m_, m.rows))));
    std::vector<const Symbol*> names;
    for (const auto& [name, value] : lets) names.push_back(name);
    const Expr* sum = var(m_, e);
    for (std::size_t k = 1; k < lets.size(); ++k)
        sum = op(r_.percent(50) ? Op::Mul : Op::Sub, sum, var(m_, lets[k].first));
    fuel_ = 8;
    return block(m_, lets, r_.percent(70) ? sum : within(names, [&] { return expr(m.elem()); }));
}

/// Loops over all cells; by columns, `turned`.
const Expr* Generator::cells(const Matrix& m, const Expr* builder, bool turned) {
    const Expr *matrix = var(m_, m.of), *r = var(m_, m.rows), *c = var(m_, m.columns);
    const Expr *outer = turned ? c : r, *inner = turned ? r : c;
    const auto element = [&](const Expr* i, const Expr* j) {
        return lookup(m_, matrix, op(Op::Add, op(Op::Mul, neighbour(i, r), c), neighbour(j, c)));
    };
    const auto flat_cell = [&](const Expr* k, const Expr* element_there) {
        const Expr *first = op(Op::Div, k, inner), *second = op(Op::Rem, k, inner);
        const Expr *i = turned ? second : first, *j = turned ? first : second;
        return cell(m, element_there ? element_there : turned ? element(i, j) : lookup(m_, matrix, k), i, j);
    };
    switch (r_.below(turned ? 3 : 5)) {
        case 0:
            return counting(op(Op::Mul, r, c), builder, [&](const Expr* b, const Symbol* k) {
                return merge(m_, b, flat_cell(var(m_, k), nullptr));
            });
        case 1:
        case 2:
            return counting(outer, builder, [&](const Expr* b, const Symbol* y) {
                const auto inside = [&](const Expr* d, const Symbol* x) {
                    const Expr *i = var(m_, turned ? x : y), *j = var(m_, turned ? y : x);
                    return merge(m_, d, cell(m, element(i, j), i, j));
                };
                if (r_.percent(70)) return counting(inner, b, inside);
                return over({var(m_, turned ? m.column : m.row)}, b,
                            [&](const Expr* d, const Symbol* x, const Symbol*) { return inside(d, x); });
            });
        case 3:
            return over({matrix}, builder, [&](const Expr* b, const Symbol* k, const Symbol* x) {
                return merge(m_, b, flat_cell(var(m_, k), var(m_, x)));
            });
        default:
            return counting(r, builder, [&](const Expr* b, const Symbol* i) {
                const Expr* start = op(Op::Mul, var(m_, i), c);
                const Expr* end =
                    r_.percent(50) ? op(Op::Add, start, c) : op(Op::Mul, op(Op::Add, var(m_, i), i64(1)), c);
                const Expr* bounds[] = {start, end, i64(1)};
                return over({iter(m_, IterKind::Scalar, matrix, bounds), var(m_, m.row)}, b,
                            [&](const Expr* d, const Symbol* j, const Symbol* x) {
                                return merge(m_, d,
                                             cell(m, get_field(m_, var(m_, x), 0), var(m_, i), var(m_, j)));
                            });
            });
    }
}

/// A number for each column.
const Expr* Generator::column_sums(const Matrix& m) {
    const Expr *matrix = var(m_, m.of), *r = var(m_, m.rows), *c = var(m_, m.columns);
    if (r_.percent(50)) {
        const Expr* start = new_builder(m_, builder_of(BuilderKind::Appender, {m.elem()}));
        return result(m_, counting(c, start, [&](const Expr* b, const Symbol* j) {
                          const Expr* none = new_builder(m_, summing(BuilderKind::Merger, m.elem()));
                          const Expr* sum =
                              result(m_, counting(r, none, [&](const Expr* d, const Symbol* i) {
                                         const Expr* at = op(Op::Add, op(Op::Mul, var(m_, i), c), var(m_, j));
                                         return merge(
                                             m_, d, cell(m, lookup(m_, matrix, at), var(m_, i), var(m_, j)));
                                     }));
                          return named("s", sum, [&](const Symbol* s) {
                              return merge(m_, b, op(Op::Add, var(m_, s), var(m_, s)));
                          });
                      }));
    }
    const Expr* start = new_builder(m_, summing(BuilderKind::VecMerger, m.elem()), var(m_, m.row));
    if (r_.percent(50))
        return result(m_, over({matrix}, start, [&](const Expr* b, const Symbol* k, const Symbol* x) {
                          const Expr *i = op(Op::Div, var(m_, k), c), *j = op(Op::Rem, var(m_, k), c);
                          return merge(m_, b, make_struct(m_, {j, cell(m, var(m_, x), i, j)}));
                      }));
    return result(m_, counting(r, start, [&](const Expr* b, const Symbol* i) {
                      return counting(c, b, [&](const Expr* d, const Symbol* j) {
                          const Expr* at = op(Op::Add, op(Op::Mul, var(m_, i), c), var(m_, j));
                          const Expr* v = cell(m, lookup(m_, matrix, at), var(m_, i), var(m_, j));
                          return merge(m_, d, make_struct(m_, {var(m_, j), v}));
                      });
                  }));
}

const Expr* Generator::matrices() {
    std::vector<std::pair<const Symbol*, const Expr*>> lets;
    const std::size_t before = scope_.size();
    const auto let_be = [&](const char* name, const Expr* value) {
        lets.emplace_back(symbol(name, value->type), value);
        if (!value->type->is_scalar(Scalar::Bool)) scope_.push_back(lets.back().first);
        return lets.back().first;
    };
    const Type* elem = number_type();
    Matrix m{};
    m.rows = let_be("r", side());
    m.columns = let_be("c", side());
    const Expr* count = op(Op::Mul, var(m_, m.rows), var(m_, m.columns));
    m.of = let_be("m", made_of_numbers(elem, count));
    m.row = let_be("row", made_of_numbers(elem, var(m_, m.columns)));
    m.column = let_be("column", made_of_numbers(elem, var(m_, m.rows)));
    std::vector<const Expr*> out;
    for (std::size_t i = 0, n = 1 + r_.below(3); i < n; ++i) {
        const auto start = [&](BuilderKind kind) { return new_builder(m_, summing(kind, elem)); };
        const bool is_matrix = r_.percent(60);
        const Symbol* next =
            let_be("v", is_matrix        ? result(m_, cells(m, start(BuilderKind::Appender), r_.percent(50)))
                        : r_.percent(60) ? column_sums(m)
                                         : result(m_, cells(m, start(BuilderKind::Merger), false)));
        out.push_back(var(m_, next));
        if (!is_matrix || r_.percent(50)) continue;
        m.of = next;
        const Expr* as_many = risky() ? i64(8) : count;
        if (r_.percent(70)) let_be("fits", assert_(m_, op(Op::Eq, len(m_, var(m_, next)), as_many)));
    }
    const Expr* e = block(m_, lets, make_struct(m_, out));
    scope_.resize(before);
    return e;
}

}  // namespace weld::driver
