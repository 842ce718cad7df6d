// Exact identities of scalar operations.
//
// Of floats only what IEEE 754 makes exact: x * 1, x - 0.0, x + -0.0, --x, x / 2^k = x * 2^-k. Not x + 0.0
// (-0.0), not x - x (NaN), not !(a < b) (NaN). Powers with a few constants are exact neither way. An operand is
// left out only if it can neither fail nor be missed.
#include "weldir/passes/algebra.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "weldir/ir/scalar.h"
#include "weldir/ir/walk.h"

namespace weld {

namespace {

/// The literal that `e` is, or that all its lanes are.
Literal constant(const Expr* e) { return (e->op == Op::Broadcast ? e->arg(0) : e)->as<Literal>(); }

bool all_int(const Expr* e, std::int64_t value) {
    const Literal l = constant(e);
    return l && is_int(l.node, value);
}
bool is_all_ones(const Expr* e) {
    const Literal l = constant(e);
    if (!l || !is_integer(l.node->type->scalar)) return false;
    const int width = 8 * size_of(l.node->type->scalar);
    return std::popcount(l.bits()) == width;
}
/// Exactly this float, told apart from the other zero.
bool is_float_of(const Expr* e, double value) {
    const Literal l = constant(e);
    if (!l || !is_float(l.node->type->scalar)) return false;
    const double has = l.as_float();
    return has == value && std::signbit(has) == std::signbit(value);
}
bool is_bool(const Expr* e, bool value) {
    const Literal l = constant(e);
    return l && l.node->type->is_bool() && (l.bits() != 0) == value;
}

bool of_floats(const Expr* e) { return is_float(e->arg(0)->type->scalar); }
bool of_bools(const Expr* e) { return e->arg(0)->type->scalar == Scalar::Bool; }

class Algebra {
  public:
    Algebra(Module& m, Facts& facts, const Expr* e)
        : m_(m),
          facts_(facts),
          e_(e),
          a_(e->num_args > 0 ? e->arg(0) : nullptr),
          b_(e->num_args > 1 ? e->arg(1) : nullptr) {}

    const Expr* simpler() {
        switch (e_->op) {
            case Op::Add: return add();
            case Op::Sub: return sub();
            case Op::Mul: return mul();
            case Op::Div: return div();
            case Op::Rem: return all_int(b_, 1) && can_go(a_) ? zero() : nullptr;
            case Op::Neg:
            case Op::Not:
            case Op::BitNot: return twice();
            case Op::Pow: return power();
            case Op::Shl:
            case Op::Shr: return all_int(b_, 0) ? a_ : nullptr;
            case Op::BitAnd: return bit_and();
            case Op::BitOr: return bit_or();
            case Op::BitXor: return bit_xor();
            case Op::Min:
            case Op::Max: return are_same() ? a_ : literal_last();
            case Op::And: return logical(false);
            case Op::Or: return logical(true);
            case Op::Eq:
            case Op::Ne:
            case Op::Lt:
            case Op::Gt:
            case Op::Le:
            case Op::Ge: return comparison();
            case Op::Cast: return cast_of();
            case Op::If:
            case Op::Select: return choice();
            default: return nullptr;
        }
    }

  private:
    bool can_go(const Expr* e) { return facts_.traits(e).free_to_repeat(); }
    bool are_same() { return can_go(a_) && same(a_, b_); }
    const Expr* op(Op op, const Expr* a, const Expr* b) { return scalar_op(m_, op, {a, b}, e_->loc); }
    const Expr* like(const Expr* model, const Expr* scalar) {
        return model->type->is_simd() ? broadcast(m_, scalar, model->type->lanes, e_->loc) : scalar;
    }
    const Type* scalar_type() { return m_.types.scalar(e_->type->scalar); }
    const Expr* number(std::int64_t value) {
        return like(e_, int_literal(m_, scalar_type(), value, e_->loc));
    }
    const Expr* zero() { return is_float(e_->type->scalar) ? nullptr : number(0); }

    // ---- arithmetic

    /// Of an operation that commutes: the literal stands on the right.
    const Expr* literal_last() { return constant(a_) && !constant(b_) ? op(e_->op, b_, a_) : nullptr; }

    /// (x op c) op d = x op (c op d), of integers.
    const Expr* regroup() {
        if (of_floats(e_) || a_->op != e_->op || !e_->type->is_scalar()) return nullptr;
        const Literal c = a_->arg(1)->as<Literal>(), d = b_->as<Literal>();
        std::uint64_t bits = 0;
        if (!c || !d || !eval_scalar(e_->op, e_->type->scalar, c.bits(), d.bits(), &bits)) return nullptr;
        return op(e_->op, a_->arg(0), literal(m_, e_->type, bits, e_->loc));
    }

    const Expr* commuting() {
        const Expr* turned = literal_last();
        return turned ? turned : regroup();
    }

    /// A sum of names of numbers in which all cancel each other, or all but one: (x - 1) - x is -1.
    const Expr* cancelled() {
        const bool may_cancel = e_->type == m_.types.i64() && can_go(e_) && !constant(a_) &&
                                (e_->op == Op::Sub || a_->op == Op::Sub || a_->op == Op::Add);
        const std::optional<Count> sum = may_cancel ? facts_.count(e_) : std::nullopt;
        if (!sum) return nullptr;
        if (const std::optional<std::int64_t> n = sum->known()) return number(*n);
        return sum->name() && sum->name()->op == Op::Var ? sum->name() : nullptr;
    }

    const Expr* add() {
        if (all_int(b_, 0) || is_float_of(b_, -0.0)) return a_;
        if (all_int(a_, 0) || is_float_of(a_, -0.0)) return b_;
        if (const Expr* turned = commuting()) return turned;
        return cancelled();
    }

    const Expr* sub() {
        if (all_int(b_, 0) || is_float_of(b_, 0.0)) return a_;
        if (of_floats(e_)) return nullptr;
        if (are_same()) return zero();
        if (const Expr* rest = cancelled()) return rest;
        if (const Literal c = b_->as<Literal>())  // x - c = x + -c
            return op(Op::Add, a_, int_literal(m_, e_->type, std::int64_t(0 - c.bits()), b_->loc));
        return nullptr;
    }

    const Expr* mul() {
        if (all_int(b_, 1) || is_float_of(b_, 1.0)) return a_;
        if (all_int(a_, 1) || is_float_of(a_, 1.0)) return b_;
        if (all_int(b_, 0) && can_go(a_)) return b_;
        if (all_int(a_, 0) && can_go(b_)) return a_;
        return commuting();
    }

    const Expr* div() {
        if (all_int(b_, 1) || is_float_of(b_, 1.0)) return a_;
        const Literal by = constant(b_);
        if (!by || !of_floats(e_)) return nullptr;
        // A power of two whose reciprocal is normal: both ways round the same exact quotient.
        int exponent = 0;
        const double value = by.as_float();
        const int limit = by.node->type->is_scalar(Scalar::F32) ? 126 : 1022;
        if (!std::isnormal(value) || std::abs(std::frexp(value, &exponent)) != 0.5) return nullptr;
        if (exponent - 1 < -limit || exponent - 1 > limit) return nullptr;
        return op(Op::Mul, a_, like(b_, float_literal(m_, by.node->type, 1 / value, b_->loc)));
    }

    /// x^1, x^2, x^3, 1/x and roots: at most as far from the true value as what computes any power.
    const Expr* power() {
        const Literal by = e_->type->is_scalar() ? b_->as<Literal>() : Literal{};
        if (!by) return nullptr;
        const double n = by.as_float();
        const auto number = [&](double value) { return float_literal(m_, e_->type, value, e_->loc); };
        if (n == 0 && can_go(a_)) return number(1);
        if (n == 1) return a_;
        if (n == -1) return op(Op::Div, number(1), a_);
        if (n != 0.5 && n != 2 && n != 3) return nullptr;
        const Symbol* name = a_->op == Op::Var ? nullptr : m_.symbol("x", a_->type);
        const Expr* x = name ? var(m_, name) : a_;
        const Expr* now = n == 2   ? op(Op::Mul, x, x)
                          : n == 3 ? op(Op::Mul, op(Op::Mul, x, x), x)
                                   : root_of(x);
        return name ? let(m_, name, a_, now, e_->loc) : now;
    }
    /// x^0.5, which is the square root but of -0 and of minus infinity.
    const Expr* root_of(const Expr* x) {
        const auto number = [&](double value) { return float_literal(m_, e_->type, value, e_->loc); };
        const Expr* root = scalar_op(m_, Op::Sqrt, {op(Op::Add, x, number(0))}, e_->loc);
        constexpr double infinity = std::numeric_limits<double>::infinity();
        return select(m_, op(Op::Eq, x, number(-infinity)), number(infinity), root, e_->loc);
    }

    // ---- bits and bools

    /// --x, !!x, ~~x; and of integers and bools the comparison that `!` turns round.
    const Expr* twice() {
        if (a_->op == e_->op) return a_->arg(0);
        if (e_->op != Op::Not || !is_comparison(a_->op)) return nullptr;
        const Type* compared = a_->arg(0)->type;
        const bool exact = a_->op == Op::Eq || a_->op == Op::Ne || (compared->is_lanes() && !of_floats(a_));
        return exact ? op(opposite(a_->op), a_->arg(0), a_->arg(1)) : nullptr;
    }

    static Op opposite(Op comparison) {
        switch (comparison) {
            case Op::Eq: return Op::Ne;
            case Op::Ne: return Op::Eq;
            case Op::Lt: return Op::Ge;
            case Op::Ge: return Op::Lt;
            case Op::Gt: return Op::Le;
            default: return Op::Gt;
        }
    }
    /// The comparison with its operands exchanged.
    static Op mirrored(Op comparison) {
        switch (comparison) {
            case Op::Lt: return Op::Gt;
            case Op::Gt: return Op::Lt;
            case Op::Le: return Op::Ge;
            case Op::Ge: return Op::Le;
            default: return comparison;
        }
    }

    const Expr* bit_and() {
        if (is_all_ones(b_) || is_bool(b_, true)) return a_;
        if (is_all_ones(a_) || is_bool(a_, true)) return b_;
        if ((all_int(b_, 0) || is_bool(b_, false)) && can_go(a_)) return b_;
        if ((all_int(a_, 0) || is_bool(a_, false)) && can_go(b_)) return a_;
        return are_same() ? a_ : commuting_bits();
    }
    const Expr* bit_or() {
        if (all_int(b_, 0) || is_bool(b_, false)) return a_;
        if (all_int(a_, 0) || is_bool(a_, false)) return b_;
        if ((is_all_ones(b_) || is_bool(b_, true)) && can_go(a_)) return b_;
        if ((is_all_ones(a_) || is_bool(a_, true)) && can_go(b_)) return a_;
        return are_same() ? a_ : commuting_bits();
    }
    const Expr* bit_xor() {
        if (all_int(b_, 0) || is_bool(b_, false)) return a_;
        if (all_int(a_, 0) || is_bool(a_, false)) return b_;
        if (is_bool(b_, true)) return scalar_op(m_, Op::Not, {a_}, e_->loc);
        if (are_same() && !of_bools(e_)) return number(0);
        return commuting_bits();
    }
    const Expr* commuting_bits() { return of_bools(e_) ? literal_last() : commuting(); }

    /// `&&` (absorbed by false) and `||` (by true).
    const Expr* logical(bool absorbing) {
        if (is_bool(a_, absorbing) && (a_->type->is_bool() || can_go(b_))) return a_;  // lanes compute both
        if (is_bool(a_, !absorbing)) return b_;
        if (is_bool(b_, !absorbing)) return a_;
        if (is_bool(b_, absorbing) && can_go(a_)) return b_;
        return are_same() ? a_ : nullptr;
    }

    const Expr* comparison() {
        const Type* type = a_->type;
        if (!type->is_lanes()) return nullptr;
        if (constant(a_) && !constant(b_)) return op(mirrored(e_->op), b_, a_);
        if (of_bools(e_) && e_->op == Op::Eq && is_bool(b_, true)) return a_;
        if (of_bools(e_) && e_->op == Op::Ne && is_bool(b_, false)) return a_;
        if (of_bools(e_) && e_->op == Op::Eq && is_bool(b_, false))
            return scalar_op(m_, Op::Not, {a_}, e_->loc);
        if (of_bools(e_) && e_->op == Op::Ne && is_bool(b_, true))
            return scalar_op(m_, Op::Not, {a_}, e_->loc);
        if (!of_floats(e_) && are_same()) {
            const bool holds = e_->op == Op::Eq || e_->op == Op::Le || e_->op == Op::Ge;
            return like(e_, bool_literal(m_, holds, e_->loc));
        }
        return nullptr;
    }

    // ---- casts

    /// Every value of `from` is a value of `to`.
    static bool is_widening(Scalar from, Scalar to) {
        if (from == to || from == Scalar::Bool) return true;
        if (to == Scalar::Bool) return false;
        if (is_float(to)) {
            const int digits = to == Scalar::F32 ? 24 : 53;
            return is_float(from) ? size_of(from) <= size_of(to) : 8 * size_of(from) <= digits;
        }
        if (is_float(from)) return false;
        if (is_signed(from) == is_signed(to)) return size_of(from) <= size_of(to);
        return is_unsigned(from) && size_of(from) < size_of(to);
    }

    /// A cast to the same type; a cast there and back; two steps that one makes.
    const Expr* cast_of() {
        const Scalar to = e_->type->scalar, via = a_->type->scalar;
        if (to == via) return a_;
        if (a_->op != Op::Cast) return nullptr;
        const Expr* inner = a_->arg(0);
        const Scalar from = inner->type->scalar;
        const bool keeps_low_bits =
            is_integer(from) && is_integer(via) && is_integer(to) && size_of(to) <= size_of(via);
        if (!is_widening(from, via) && !keeps_low_bits) return nullptr;
        // floats that do not fit become the nearest integer that there is; integers lose their high bits
        if (is_integer(from) && is_float(via) && is_integer(to) && !is_widening(from, to)) return nullptr;
        return from == to ? inner : cast(m_, to, inner, e_->loc);
    }

    // ---- choices

    const Expr* choice() {
        const Expr* c = e_->arg(2);
        const bool strict = e_->op == Op::Select;
        if (is_bool(a_, true) && (!strict || can_go(c))) return b_;
        if (is_bool(a_, false) && (!strict || can_go(b_))) return c;
        if (a_->op == Op::Not) {
            const Expr* args[] = {a_->arg(0), c, b_};
            return with_args(m_, e_, args);
        }
        if (e_->type->is_bool() && a_->type->is_bool()) {
            if (is_bool(b_, true) && is_bool(c, false)) return a_;
            if (is_bool(b_, false) && is_bool(c, true)) return scalar_op(m_, Op::Not, {a_}, e_->loc);
        }
        if (can_go(a_) && can_go(b_) && can_go(c) && same(b_, c)) return b_;
        return nullptr;
    }

    Module& m_;
    Facts& facts_;
    const Expr* e_;
    const Expr* a_;
    const Expr* b_;
};

}  // namespace

const Expr* simpler_scalar(Module& m, Facts& facts, const Expr* e) { return Algebra(m, facts, e).simpler(); }

}  // namespace weld
