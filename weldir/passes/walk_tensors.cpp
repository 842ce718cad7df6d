// A loop over `nditer`s, which find the place of each element, becomes a loop in a loop: over rows, and along each of them.
//
//     for(nditer(v, start, _, _, [h, w], [t, u]), B, |b, i, x| f(b, i, x))
// becomes, where all of it lies in the vector,
//     if(u == 1L,
//       for(rangeiter(0L, h, 1L), B, |b, r, y|
//         let at = y * w;
//         let first = start + y * t;
//         for(iter(v, first, first + w, 1L), b, |c, j, x| let i = at + j; f(c, i, x))),
//       for(rangeiter(0L, h, 1L), B, |b, r, y|
//         let at = y * w;
//         let first = start + y * t;
//         for(rangeiter(0L, w, 1L), b, |c, j, k| let i = at + j; f(c, i, lookup(v, first + k * u)))))
//
// which passes after it know from loops that are written so. A tensor with more dimensions has rows along the last one, and
// their coordinates are taken apart by division. Where it is not known how many there are, a matrix is asked for. What
// does not lie inside, is empty, or has sizes that multiply to more than numbers hold, is left to the loop as it was, which
// fails where the program said.
//
// Vectors and `nditer`s of the same shape may be zipped. Not done for large bodies, which are there three times; for tables,
// which inner loops open and close.
#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/matrix_loops.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/subrange.h"

namespace weld {

namespace {

constexpr std::size_t kMostDimensions = 6;

bool is_tensor(const Expr* datum) {
    const Iter it = datum->as<Iter>();
    return it && it.shape().nd;
}

class TensorWalker {
  public:
    TensorWalker(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* walked(const Expr* e) {
        const For loop = e->as<For>();
        if (!loop || std::ranges::none_of(loop.data(), is_tensor) || !may_be_walked(loop)) return nullptr;
        const std::optional<std::size_t> rank = rank_of(loop);
        if (!rank || *rank < 1 || *rank > kMostDimensions) return nullptr;
        Lets before;
        Tensors all = tensors_of(loop, before);
        const Expr* builder = loop.builder();
        if (!may_be_written_twice(builder)) builder = as_atom(m_, builder, "b", before);
        const auto branch = [&](bool in_order) { return rows(loop, builder, all, *rank, in_order); };
        const Expr* nested = branch(false);
        if (const Expr* unit = are_in_order(all, *rank)) nested = if_(m_, unit, branch(true), nested);
        const Expr* as_before =
            weld::loop(m_, all.data, fresh(m_, builder), fresh(m_, loop.body().node), loop.node->loc);
        return block(m_, before, if_(m_, fits(all, *rank), nested, as_before), loop.node->loc);
    }

  private:
    /// Tensors of one shape, and vectors that are as long.
    struct Tensors {
        std::vector<const Expr*> data;  ///< of the loop, whose arguments are names
        const Expr* shape = nullptr;
    };

    // ---- which loops

    bool may_be_walked(For loop) {
        const Traits& body = facts_.traits(loop.body().node);
        if (body.ordered || body.size > matrix_loops::kMostNodes || holds_table(loop.node->type))
            return false;
        const Expr* shape = nullptr;
        return std::ranges::all_of(loop.data(), [&](const Expr* d) {
            if (!is_tensor(d)) return d->op != Op::Iter && is_path(d);
            const Iter it = d->as<Iter>();
            if (it.shape().kind != IterKind::Scalar) return false;
            if (!shape) shape = it.nd_shape();
            return same(shape, it.nd_shape());
        });
    }

    /// A new builder of what is at hand.
    static bool may_be_written_twice(const Expr* builder) {
        if (builder->op == Op::MakeStruct) return std::ranges::all_of(builder->args(), may_be_written_twice);
        return builder->op == Op::NewBuilder &&
               std::ranges::all_of(builder->args(), [](const Expr* a) { return is_atom(a); });
    }

    std::optional<std::size_t> length(const Expr* numbers) {
        const Expr* literal = facts_.resolve(numbers);
        if (literal->op != Op::MakeVec) return {};
        return literal->num_args;
    }

    /// How many dimensions there are, two if that is not known; none where lengths cannot agree.
    std::optional<std::size_t> rank_of(For loop) {
        std::optional<std::size_t> rank;
        bool agree = true;
        for (const Expr* d : loop.data()) {
            if (!is_tensor(d)) continue;
            for (const Expr* numbers : {d->as<Iter>().nd_shape(), d->as<Iter>().nd_strides()}) {
                const std::optional<std::size_t> n = length(numbers);
                agree &= !n || !rank || *n == *rank;
                if (n) rank = n;
            }
        }
        if (!agree) return {};
        return rank.value_or(2);
    }

    // ---- numbers

    const Expr* i64(std::int64_t n) { return i64_literal(m_, n); }
    const Expr* op(Op o, const Expr* a, const Expr* b) { return scalar_op(m_, o, {a, b}); }
    const Expr* sum(const Expr* a, const Expr* b) { return is_int(a, 0) ? b : op(Op::Add, a, b); }
    Tensors tensors_of(For loop, Lets& before) {
        Tensors all;
        for (const Expr* d : loop.data()) {
            if (is_tensor(d)) {
                d = map_args(m_, d, [&](const Expr* a, std::size_t) {
                    return is_path(a) ? a : as_atom(m_, a, a->type->is_vec() ? "d" : "bound", before);
                });
                if (!all.shape) all.shape = d->as<Iter>().nd_shape();
            }
            all.data.push_back(d);
        }
        return all;
    }
    /// Number `k` of a shape, or of strides.
    const Expr* number(const Expr* numbers, std::size_t k, Lets& lets) {
        const Expr* literal = facts_.resolve(numbers);
        if (literal->op == Op::MakeVec && is_atom(literal->arg(k))) return literal->arg(k);
        return as_atom(m_, lookup(m_, numbers, i64(std::int64_t(k))), "n", lets);
    }

    /// Whether the last numbers of all strides are 1; null if that is known not to be so.
    const Expr* are_in_order(const Tensors& all, std::size_t rank) {
        const Expr* every = nullptr;
        Lets lets;
        for (const Expr* d : all.data) {
            if (!is_tensor(d)) continue;
            const Expr* last = number(d->as<Iter>().nd_strides(), rank - 1, lets);
            if (last->op == Op::Literal && !is_int(last, 1)) return nullptr;
            const Expr* is_one = op(Op::Eq, last, i64(1));
            every = every ? op(Op::BitAnd, every, is_one) : is_one;
        }
        return block(m_, lets, every);
    }

    /// Whether all elements lie inside, there are some, and no number of them, nor place, is too large.
    const Expr* fits(const Tensors& all, std::size_t rank) {
        const Expr* ranks = nullptr;
        const auto has_rank = [&](const Expr* numbers) {
            if (length(numbers)) return;
            const Expr* is_rank = op(Op::Eq, len(m_, numbers), i64(std::int64_t(rank)));
            ranks = ranks ? op(Op::BitAnd, ranks, is_rank) : is_rank;
        };
        has_rank(all.shape);
        for (const Expr* d : all.data)
            if (is_tensor(d)) has_rank(d->as<Iter>().nd_strides());

        Lets lets;
        const Expr* every = nullptr;
        const auto also = [&](Op compare, const Expr* a, const Expr* b) {
            const Expr* c = op(compare, a, b);
            every = every ? op(Op::BitAnd, every, c) : c;
        };
        const std::int64_t most = std::int64_t(1) << (60 / rank);
        std::vector<const Expr*> sizes;
        const Expr* count = i64(1);
        for (std::size_t k = 0; k < rank; ++k) {
            sizes.push_back(number(all.shape, k, lets));
            also(Op::Ge, sizes[k], i64(1));
            also(Op::Le, sizes[k], i64(most));
            count = is_int(count, 1) ? sizes[k] : op(Op::Mul, count, sizes[k]);
        }
        for (const Expr* d : all.data) {
            if (!is_tensor(d)) {
                also(Op::Eq, len(m_, d), count);
                continue;
            }
            const Iter it = d->as<Iter>();
            const Expr *least = it.start(), *greatest = it.start();
            also(Op::Ge, it.start(), i64(0));
            also(Op::Lt, it.start(), len(m_, it.data()));
            for (std::size_t k = 0; k < rank; ++k) {
                const Expr* stride = number(it.nd_strides(), k, lets);
                also(Op::Ge, stride, i64(-most));
                also(Op::Le, stride, i64(most));
                const Expr* last =
                    as_atom(m_, op(Op::Mul, op(Op::Sub, sizes[k], i64(1)), stride), "last", lets);
                least = op(Op::Add, least, op(Op::Min, last, i64(0)));
                greatest = op(Op::Add, greatest, op(Op::Max, last, i64(0)));
            }
            also(Op::Ge, least, i64(0));
            also(Op::Lt, greatest, len(m_, it.data()));
        }
        const Expr* inside = block(m_, lets, every);
        return ranks ? if_(m_, ranks, inside, bool_literal(m_, false)) : inside;
    }

    // ---- the nest

    /// The loop over rows. `in_order`: the elements of each lie one behind the other.
    const Expr* rows(For loop, const Expr* builder, const Tensors& all, std::size_t rank, bool in_order) {
        Lets before, inside;
        std::vector<const Expr*> sizes;
        const Expr* count = i64(1);
        for (std::size_t k = 0; k < rank; ++k) {
            sizes.push_back(number(all.shape, k, before));
            if (k + 1 < rank) count = is_int(count, 1) ? sizes[k] : op(Op::Mul, count, sizes[k]);
        }
        count = as_atom(m_, count, "rows", before);
        const Type* i = m_.types.i64();
        const Symbol* b = m_.symbol(loop.builder_param()->name, loop.node->type);
        const Symbol *r = m_.symbol("r", i), *y = m_.symbol("y", i), *j = m_.symbol("j", i);

        std::vector<const Expr*> coordinates(rank - 1);
        const Expr* rest = var(m_, y);
        for (std::size_t k = rank - 1; k-- > 0;) {
            coordinates[k] = k ? as_atom(m_, op(Op::Rem, rest, sizes[k]), "c", inside) : rest;
            if (k) rest = as_atom(m_, op(Op::Div, rest, sizes[k]), "rest", inside);
        }
        const Expr* width = sizes.back();
        const Expr* at = as_atom(m_, op(Op::Mul, var(m_, y), width), "at", inside);
        std::vector<const Expr*> data, elements;
        std::vector<const Type*> types;
        const Symbol* x = loop.elem_param();
        const Symbol* z = in_order ? m_.symbol(x->name, x->type) : m_.symbol("k", i);
        for (const Expr* d : all.data) {
            const Iter it = is_tensor(d) ? d->as<Iter>() : Iter{};
            const Expr *of = it ? it.data() : d, *first = at, *stride = i64(1);
            if (it) {
                first = it.start();
                for (std::size_t k = 0; k + 1 < rank; ++k)
                    first = sum(first, op(Op::Mul, coordinates[k], number(it.nd_strides(), k, before)));
                first = as_atom(m_, first, "first", inside);
                stride = number(it.nd_strides(), rank - 1, before);
            }
            const Expr* bounds[] = {first, op(Op::Add, first, width), i64(1)};
            if (in_order) data.push_back(iter(m_, IterKind::Scalar, of, bounds, 0, d->loc));
            const Expr* k = is_int(stride, 1) ? var(m_, z) : op(Op::Mul, var(m_, z), stride);
            elements.push_back(in_order ? var(m_, z) : lookup(m_, of, sum(first, k), d->loc));
        }
        if (!in_order) data.push_back(range_iter(m_, IterKind::Scalar, i64(0), width, i64(1)));
        const Expr* element = in_order || elements.size() == 1 ? elements[0] : make_struct(m_, elements);
        const Expr* body = let(m_, x, element, loop.body().body());
        body = with_index(m_, loop.index_param(), at, j, body);
        const Expr* f = lambda(m_, {loop.builder_param(), j, z}, body, loop.body().node->loc);
        const Expr* inner = weld::loop(m_, data, var(m_, b), f, loop.node->loc);
        const Expr* range = range_iter(m_, IterKind::Scalar, i64(0), count, i64(1));
        const Expr* outer = weld::loop(m_, {&range, 1}, builder,
                                       lambda(m_, {b, r, y}, block(m_, inside, inner)), loop.node->loc);
        return fresh(m_, block(m_, before, outer));
    }

    Module& m_;
    Facts facts_;
};

}  // namespace

const Expr* walk_tensors(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    TensorWalker walker(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) { return walker.walked(e); });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
