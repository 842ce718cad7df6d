// Integers that are known to be small are computed with as few bits as hold them, so that more of them fill the lanes.
//
//     map(pixels, |x| u8(min(i32(x) * 5 >> 2, 255)))              # pixels: vec[u8]
// becomes
//     map(pixels, |x| u8(min(i16(x) * 5si >> 2si, 255si)))
//
// What is known: casts from narrower types, constants, and what arithmetic makes of them. Done where a number is cast to
// fewer bits, or compared; names that are read more often hold the narrow number. Of what is cast, sums, products and shifts
// may wrap around, as long as the bits that are read are right:
//
//     map(pixels, |x| u8(i32(x) * k >> 8))                        # k: i32, whatever it is
// becomes
//     map(pixels, |x| u8(u16(x) * u16(k) >> 8u16))
//
// Only in loops over scalars without loops inside, which may go on lanes: one number is no faster with fewer bits. After
// fusion, before vectorize.
#include <algorithm>
#include <bit>
#include <optional>

#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::uint32_t kMostNodes = 1000;  // of a body

/// All that a number may be.
struct Range {
    std::int64_t least, most;

    bool holds(Range inner) const { return least <= inner.least && inner.most <= most; }
    Range joined(Range other) const { return {std::min(least, other.least), std::max(most, other.most)}; }
};

bool is_int_type(const Type* t) { return t->is_scalar() && is_integer(t->scalar); }

/// Nothing for u64, which an i64 does not hold.
std::optional<Range> range_of(const Type* t) {
    if (!t->is_scalar() || is_float(t->scalar) || t->scalar == Scalar::U64) return {};
    if (t->scalar == Scalar::Bool) return Range{0, 1};
    const int bits = 8 * size_of(t->scalar);
    if (!is_signed(t->scalar)) return Range{0, std::int64_t((std::uint64_t(1) << bits) - 1)};
    const auto most = std::int64_t((std::uint64_t(1) << (bits - 1)) - 1);
    return Range{-most - 1, most};
}

/// Of numbers that lie within it sums and products do not overflow.
constexpr Range kSmall = {-(std::int64_t(1) << 31), (std::int64_t(1) << 32) - 1};

std::optional<std::int64_t> constant(const Expr* e) {
    const Literal l = e->as<Literal>();
    return l && is_int_type(l.node->type) && l.node->type->scalar != Scalar::U64 ? std::optional(l.as_int())
                                                                                 : std::nullopt;
}

/// The bytes that machines have lanes for.
bool is_for_bytes(Op op) {
    switch (op) {
        case Op::Add:
        case Op::Sub:
        case Op::Min:
        case Op::Max:
        case Op::BitAnd:
        case Op::BitOr:
        case Op::BitXor:
        case Op::Select:
        case Op::If: return true;
        default: return false;
    }
}

class Narrower {
  public:
    Narrower(Module& m, Lambda body) : m_(m), body_(body), inside_(body.node) {}

    const Expr* narrow() { return all(body_.body()); }

  private:
    const Expr* all(const Expr* e) {
        if (const Block b = e->as<Block>()) return block_of(b);
        if (e->op == Op::Var) {
            const Expr* const* narrow = names_.find(e->attr.symbol);
            return narrow ? *narrow : e;
        }
        const Expr* now = map_args(m_, e, [&](const Expr* a, std::size_t) { return all(a); });
        if (now->op == Op::Cast) return cast_of(now);
        return is_comparison(now->op) && is_int_type(now->arg(0)->type) ? compared(now) : now;
    }

    static bool is_leaf(const Expr* e) { return e->op == Op::Cast || e->op == Op::Literal; }
    static bool is_choice(const Expr* e) { return e->op == Op::Select || e->op == Op::If; }

    const Expr* block_of(Block b) {
        Lets lets;
        for (std::size_t i = 0; i < b.size(); ++i) {
            const Symbol* s = b.symbol(i);
            const Expr* value = all(b.value(i));
            const std::optional<Scalar> to = is_leaf(value) ? std::nullopt : narrowest({value});
            if (to) {
                const Symbol* narrow = m_.symbol(s->name, m_.types.scalar(*to));
                names_[s] = cast(m_, s->type->scalar, var(m_, narrow));
                ranges_[narrow] = *range(value);
                s = narrow, value = narrowed(value, *to);
            }
            lets.emplace_back(s, value);
        }
        return block(m_, lets, all(b.result()), b.node->loc);
    }

    const Expr* cast_of(const Expr* e) {
        const Expr* of = e->arg(0);
        if (!is_int_type(e->type) || !is_int_type(of->type) ||
            size_of(e->type->scalar) >= size_of(of->type->scalar))
            return e;
        if (of->op == Op::Cast && range(of)) return cast_to(e->type->scalar, of->arg(0), e->loc);
        if (is_leaf(of)) return e;
        std::optional<Scalar> to = narrowest({of});
        if (!to) to = narrowest_for(of, 8 * size_of(e->type->scalar));
        return to ? cast_to(e->type->scalar, narrowed(of, *to), e->loc) : e;
    }

    const Expr* compared(const Expr* e) {
        const std::optional<Scalar> to = narrowest(e->args());
        return to ? scalar_op(m_, e->op, {narrowed(e->arg(0), *to), narrowed(e->arg(1), *to)}, e->loc) : e;
    }

    const Expr* cast_to(Scalar to, const Expr* e, Loc loc) {
        return e->type->scalar == to ? e : cast(m_, to, e, loc);
    }

    // ---- what numbers may be

    std::optional<Range> range(const Expr* e) {
        const std::optional<Range> found = unchecked(e), all = range_of(e->type);
        return found && all && all->holds(*found) && kSmall.holds(*found) ? found : std::nullopt;
    }

    /// As if nothing wrapped around.
    std::optional<Range> unchecked(const Expr* e) {
        if (e->op == Op::Literal) {
            const std::optional<std::int64_t> value = constant(e);
            return value ? std::optional<Range>({*value, *value}) : std::nullopt;
        }
        if (e->op == Op::Cast) {
            const Expr* of = e->arg(0);
            const Range* known = of->op == Op::Var ? ranges_.find(of->attr.symbol) : nullptr;
            return known ? *known : range_of(of->type);
        }
        if (is_choice(e)) {
            const std::optional<Range> a = range(e->arg(1)), b = range(e->arg(2));
            return a && b ? std::optional(a->joined(*b)) : std::nullopt;
        }
        if (!is_scalar_op(e->op) || e->num_args != 2) return {};
        const std::optional<Range> a = range(e->arg(0)), b = range(e->arg(1));
        return a && b ? of_two(e, *a, *b) : std::nullopt;
    }

    static std::optional<Range> of_two(const Expr* e, Range a, Range b) {
        const std::optional<std::int64_t> by = constant(e->arg(1));
        const bool is_positive = a.least >= 0 && b.least >= 0;
        switch (e->op) {
            case Op::Add: return Range{a.least + b.least, a.most + b.most};
            case Op::Sub: return Range{a.least - b.most, a.most - b.least};
            case Op::Mul: {
                if (!range_of_products.holds(a) || !range_of_products.holds(b)) return {};
                const auto [least, most] =
                    std::minmax({a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most});
                return Range{least, most};
            }
            case Op::Min: return Range{std::min(a.least, b.least), std::min(a.most, b.most)};
            case Op::Max: return Range{std::max(a.least, b.least), std::max(a.most, b.most)};
            case Op::BitAnd:
                if (!is_positive) return {};
                return Range{0, std::min(a.most, b.most)};
            case Op::BitOr:
            case Op::BitXor:
                if (!is_positive) return {};
                return Range{0, std::int64_t(std::bit_ceil(std::uint64_t(std::max(a.most, b.most)) + 1)) - 1};
            case Op::Shl:
                if (!by || *by < 0 || *by >= 31) return {};
                return Range{a.least * (std::int64_t(1) << *by), a.most * (std::int64_t(1) << *by)};
            case Op::Shr:
                if (!by || *by < 0 || *by >= 8 * size_of(e->type->scalar)) return {};
                return Range{a.least >> *by, a.most >> *by};
            case Op::Div:
                if (!by || *by <= 0) return {};
                return Range{a.least / *by, a.most / *by};
            default: return {};
        }
    }

    // ---- with fewer bits

    /// The type with the fewest bits that holds all that `trees`, of one type, compute.
    std::optional<Scalar> narrowest(Args trees) {
        if (!is_int_type(trees[0]->type)) return {};
        const int bytes = size_of(trees[0]->type->scalar);
        for (const Scalar to : {Scalar::U8, Scalar::I8, Scalar::I16, Scalar::U16, Scalar::I32, Scalar::U32})
            if (size_of(to) < bytes &&
                std::ranges::all_of(trees, [&](const Expr* tree) { return fits(tree, to); }))
                return to;
        return {};
    }
    std::optional<Scalar> narrowest(std::initializer_list<const Expr*> trees) {
        return narrowest(Args(trees.begin(), trees.size()));
    }

    bool fits(const Expr* e, Scalar to) {
        const std::optional<Range> own = range(e);
        if (!own || !range_of(m_.types.scalar(to))->holds(*own)) return false;
        if (is_leaf(e)) return true;
        if (size_of(to) == 1 && !is_for_bytes(e->op)) return false;
        if (is_choice(e)) return fits(e->arg(1), to) && fits(e->arg(2), to);
        const bool shifts = e->op == Op::Shl || e->op == Op::Shr;
        if (shifts && *constant(e->arg(1)) >= 8 * size_of(to)) return false;
        return fits(e->arg(0), to) && fits(e->arg(1), to);
    }

    /// The same for `tree` of which the last `read` bits count.
    std::optional<Scalar> narrowest_for(const Expr* tree, int read) {
        for (const Scalar to : {Scalar::U8, Scalar::U16, Scalar::U32})
            if (size_of(to) < size_of(tree->type->scalar) && has_bits(tree, to, read) && has_narrow(tree, to))
                return to;
        return {};
    }

    /// The last `read` bits of `e` are the same if it is computed with those of `to`.
    bool has_bits(const Expr* e, Scalar to, int read) {
        const int bits = 8 * size_of(to);
        if (read > bits || (size_of(to) == 1 && !is_leaf(e) && !is_for_bytes(e->op))) return false;
        if (fits(e, to)) return true;
        const auto both = [&] { return has_bits(e->arg(0), to, read) && has_bits(e->arg(1), to, read); };
        const std::optional<std::int64_t> by = e->num_args == 2 ? constant(e->arg(1)) : std::nullopt;
        const bool is_shift = by && *by >= 0 && *by < bits;
        switch (e->op) {
            case Op::Var: return !inside_.hold(e->attr.symbol);
            case Op::Literal: return constant(e).has_value();
            case Op::Cast:
                return is_integer(e->arg(0)->type->scalar) && size_of(e->arg(0)->type->scalar) <= size_of(to);
            case Op::Add:
            case Op::Sub:
            case Op::Mul:
            case Op::BitAnd:
            case Op::BitOr:
            case Op::BitXor: return both();
            case Op::Shl: return is_shift && has_bits(e->arg(0), to, read);
            case Op::Shr: return is_shift && has_bits(e->arg(0), to, read + int(*by));
            case Op::Select:
            case Op::If: return has_bits(e->arg(1), to, read) && has_bits(e->arg(2), to, read);
            default: return false;
        }
    }

    /// A part of it has no more bits than `to` before it is cast.
    static bool has_narrow(const Expr* e, Scalar to) {
        if (e->op == Op::Cast) return size_of(e->arg(0)->type->scalar) <= size_of(to);
        return std::ranges::any_of(e->args(), [&](const Expr* a) { return has_narrow(a, to); });
    }

    const Expr* narrowed(const Expr* e, Scalar to) {
        if (e->op == Op::Var) return cast(m_, to, e, e->loc);
        if (e->op == Op::Literal) return int_literal(m_, m_.types.scalar(to), *constant(e), e->loc);
        if (e->op == Op::Cast) return cast_to(to, e->arg(0), e->loc);
        return map_args(m_, e, [&](const Expr* a, std::size_t i) {
            return is_choice(e) && i == 0 ? a : narrowed(a, to);
        });
    }

    static constexpr Range range_of_products = {-(std::int64_t(1) << 30), std::int64_t(1) << 30};

    Module& m_;
    Lambda body_;
    BoundNames inside_;                 ///< others are the same in all rounds
    Table<Symbol, const Expr*> names_;  ///< of wide numbers: the narrow ones, cast
    Table<Symbol, Range> ranges_;       ///< of narrow ones
};

/// Its body may go on lanes, as far as can be told so early.
bool may_go_on_lanes(Facts& facts, For loop) {
    const Expr* body = loop.body().body();
    const bool are_scalars =
        std::ranges::all_of(loop.data(), [](const Expr* d) { return d->type->elem()->is_scalar(); });
    return are_scalars && !has_loop(body) && !facts.traits(body).heavy &&
           facts.traits(body).size <= kMostNodes;
}

}  // namespace

const Expr* narrow_numbers(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const For loop = e->as<For>();
        if (!loop || !may_go_on_lanes(facts, loop)) return nullptr;
        const Expr* body = loop.body().body();
        const Expr* narrow = Narrower(m, loop.body()).narrow();
        return narrow == body ? nullptr : with_body(m, e, narrow);
    });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
