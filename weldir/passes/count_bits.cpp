// An `iterate` that counts the bits of a number, one in each round, becomes arithmetic:
//
//     iterate({x, 0L}, |s| let t = s.$0 & s.$0 + -1L; {{t, s.$1 + 1L}, t != 0L})
// becomes
//     let u = u64(x);
//     let pairs = u - (u >> 1u64 & 6148914691236517205u64);
//     let fours = (pairs & 3689348814741910323u64) + (pairs >> 2u64 & 3689348814741910323u64);
//     let bytes = fours + (fours >> 4u64) & 1085102592571150095u64;
//     let bits = i64(bytes * 72340172838076673u64 >> 56u64);
//     {0L, 0L + max(bits, 1L)}
//
// which processors have an instruction for, that LLVM finds in it. A round takes away the last bit that is set
// and counts one, or shifts the number by one place and adds the bit that falls out. It goes on while bits are
// left, which is asked before a round or behind it; behind it there is one round even without any bit.
#include <algorithm>
#include <functional>
#include <optional>

#include "weldir/ir/scalar.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::size_t kMostNodes = 40;  // of a body that is looked at

class BitCounter {
  public:
    BitCounter(Module& m, Facts& facts, Iterate it) : m_(m), facts_(facts), it_(it) {}

    /// The state in the end; null if it is something else.
    const Expr* counted() {
        const Type* state = it_.node->type;
        if (it_.one_lane() || it_.init()->op != Op::MakeStruct || state->args.size() != 2) return nullptr;
        for (const Type* field : state->args)
            if (!field->is_scalar() || !is_integer(field->scalar)) return nullptr;
        if (size_of_tree(it_.body().node) > kMostNodes) return nullptr;
        if (!facts_.traits(it_.body().body()).free_to_repeat()) return nullptr;  // it does more than count
        const Expr* end = round();
        for (const std::size_t k : {std::size_t(0), std::size_t(1)}) {
            number_ = k;
            if (const std::optional<std::int64_t> least = least_rounds(end)) return total(*least);
        }
        return nullptr;
    }

  private:
    // ---- which iterates

    /// What the body ends with, without names.
    const Expr* round() const {
        const Expr* body = it_.body().body();
        const Block b = body->as<Block>();
        if (!b) return body;
        SymbolMap values;
        for (std::size_t i = 0; i < b.size(); ++i) values[b.symbol(i)] = substitute(m_, b.value(i), values);
        return substitute(m_, b.result(), values);
    }

    /// How much is counted at least, if `end` is a round that counts.
    std::optional<std::int64_t> least_rounds(const Expr* end) const {
        if (end->op == Op::If || end->op == Op::Select) {
            const std::optional<bool> stops = asks_for_none(end->arg(0), is_number());
            if (!stops) return {};
            const Expr *last = end->arg(*stops ? 1 : 2), *next = end->arg(*stops ? 2 : 1);
            const bool goes_on = next->op == Op::MakeStruct && is_bool(next->arg(1), true);
            const bool ends =
                last->op == Op::MakeStruct && is_state(last->arg(0)) && is_bool(last->arg(1), false);
            if (!goes_on || !ends || !counts(next->arg(0))) return {};
            return 0;
        }
        if (end->op != Op::MakeStruct || !counts(end->arg(0))) return {};
        const Expr* left = end->arg(0)->arg(number_);
        const auto is_left = [&](const Expr* e) { return same(e, left); };
        if (asks_for_none(end->arg(1), is_left) != false) return {};
        return takes_last_bit(left) && !one_more(end->arg(0)->arg(1 - number_)) ? 1 : 0;
    }

    /// The next state has one bit less and one counted.
    bool counts(const Expr* next) const {
        if (next->op != Op::MakeStruct) return false;
        const Expr *left = next->arg(number_), *count = next->arg(1 - number_);
        if (const Expr* more = one_more(count); takes_last_bit(left)) return adds_one(more ? more : count);
        return shifts(left) && adds_bit(count);
    }

    /// `x & x + -1`.
    bool takes_last_bit(const Expr* e) const {
        if (e->op != Op::BitAnd) return false;
        for (const int k : {0, 1}) {
            const Expr* less = e->arg(1 - k);
            if (is_field(e->arg(k), number_) && less->op == Op::Add && is_field(less->arg(0), number_) &&
                is_all_ones(less->arg(1)))
                return true;
        }
        return false;
    }
    static bool is_all_ones(const Expr* e) {
        const Literal l = e->as<Literal>();
        const int unused = l ? 64 - 8 * size_of(e->type->scalar) : 0;
        return l && l.bits() << unused == ~std::uint64_t(0) << unused;
    }
    /// `x >> 1`, which is 0 some time.
    bool shifts(const Expr* e) const {
        return e->op == Op::Shr && is_unsigned(e->type->scalar) && is_field(e->arg(0), number_) &&
               is_int(e->arg(1), 1);
    }

    /// `n + 1`.
    bool adds_one(const Expr* e) const {
        return e->op == Op::Add && is_field(e->arg(0), 1 - number_) && is_int(e->arg(1), 1);
    }
    /// `n + (x & 1)`.
    bool adds_bit(const Expr* e) const {
        if (e->op != Op::Add) return false;
        for (const int k : {0, 1}) {
            const Expr* bit = e->arg(1 - k);
            if (bit->op == Op::Cast) bit = bit->arg(0);
            if (is_field(e->arg(k), 1 - number_) && bit->op == Op::BitAnd && is_field(bit->arg(0), number_) &&
                is_int(bit->arg(1), 1))
                return true;
        }
        return false;
    }
    /// The other side of `if(x == 0, n, n + 1)`; null if it is something else.
    const Expr* one_more(const Expr* count) const {
        if (count->op != Op::If && count->op != Op::Select) return nullptr;
        const std::optional<bool> none = asks_for_none(count->arg(0), is_number());
        if (!none || !is_field(count->arg(*none ? 1 : 2), 1 - number_)) return nullptr;
        return count->arg(*none ? 2 : 1);
    }

    /// Whether it is true of a number without bits; nothing if it asks something else.
    static std::optional<bool> asks_for_none(const Expr* condition,
                                             const std::function<bool(const Expr*)>& is_number) {
        const Op op = condition->op;
        if (op == Op::Eq || op == Op::Ne)
            for (const int k : {0, 1})
                if (is_number(condition->arg(k)) && is_int(condition->arg(1 - k), 0)) return op == Op::Eq;
        if (condition->args().empty() || !condition->arg(0)->type->is_scalar() ||
            !is_unsigned(condition->arg(0)->type->scalar))
            return {};
        const bool is_positive =
            (op == Op::Gt && is_number(condition->arg(0)) && is_int(condition->arg(1), 0)) ||
            (op == Op::Lt && is_int(condition->arg(0), 0) && is_number(condition->arg(1)));
        return is_positive ? std::optional(false) : std::nullopt;
    }

    std::function<bool(const Expr*)> is_number() const {
        return [this](const Expr* e) { return is_field(e, number_); };
    }
    bool is_state(const Expr* e) const {
        if (is_var(e, it_.body().param(0))) return true;
        return e->op == Op::MakeStruct && is_field(e->arg(0), 0) && is_field(e->arg(1), 1);
    }
    bool is_field(const Expr* e, std::size_t k) const {
        return e->op == Op::GetField && e->attr.index == k && is_var(e->arg(0), it_.body().param(0));
    }
    static bool is_bool(const Expr* e, bool value) {
        const Literal l = e->as<Literal>();
        return l && (l.bits() != 0) == value;
    }

    // ---- arithmetic

    const Expr* total(std::int64_t least) {
        const Expr *x = it_.init()->arg(number_), *n = it_.init()->arg(1 - number_);
        const Loc loc = it_.node->loc;
        const Expr* bits = cast_to(n->type->scalar, bits_of(x));
        if (least) bits = scalar_op(m_, Op::Max, {bits, int_literal(m_, n->type, least)}, loc);
        const Expr* fields[2];
        fields[number_] = int_literal(m_, x->type, 0);
        fields[1 - number_] = scalar_op(m_, Op::Add, {n, bits}, loc);
        return block(m_, lets_, make_struct(m_, fields, loc), loc);
    }

    const Expr* bits_of(const Expr* x) {
        const Scalar own = unsigned_of(size_of(x->type->scalar));
        const Scalar wide = size_of(own) <= 4 ? Scalar::U32 : Scalar::U64;
        const Expr* u = named(cast_to(wide, cast_to(own, x)), "u");
        const auto number = [&](std::uint64_t bits) {
            return literal(m_, u->type, wide == Scalar::U32 ? bits & 0xFFFFFFFF : bits);
        };
        const auto op = [&](Op o, const Expr* a, const Expr* b) { return scalar_op(m_, o, {a, b}); };
        const auto masked = [&](const Expr* a, std::uint64_t mask) {
            return op(Op::BitAnd, a, number(mask));
        };
        const auto shifted = [&](const Expr* a, std::uint64_t by) { return op(Op::Shr, a, number(by)); };
        constexpr std::uint64_t kOnes = ~std::uint64_t(0);
        const Expr* pairs = named(op(Op::Sub, u, masked(shifted(u, 1), kOnes / 3)), "pairs");
        const Expr* fours =
            named(op(Op::Add, masked(pairs, kOnes / 5), masked(shifted(pairs, 2), kOnes / 5)), "fours");
        const Expr* bytes = named(masked(op(Op::Add, fours, shifted(fours, 4)), kOnes / 17), "bytes");
        return shifted(op(Op::Mul, bytes, number(kOnes / 255)), wide == Scalar::U32 ? 24 : 56);
    }
    const Expr* cast_to(Scalar to, const Expr* e) { return e->type->scalar == to ? e : cast(m_, to, e); }
    static Scalar unsigned_of(int bytes) {
        switch (bytes) {
            case 1: return Scalar::U8;
            case 2: return Scalar::U16;
            case 4: return Scalar::U32;
            default: return Scalar::U64;
        }
    }
    const Expr* named(const Expr* e, const char* name) {
        const Symbol* s = m_.symbol(name, e->type);
        lets_.emplace_back(s, e);
        return var(m_, s);
    }

    Module& m_;
    Facts& facts_;
    Iterate it_;
    std::size_t number_ = 0;  // the field whose bits are counted; the other one counts
    Lets lets_;
};

}  // namespace

const Expr* count_bits(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    bool any = false;
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const Iterate it = e->as<Iterate>();
        const Expr* total = it ? BitCounter(m, facts, it).counted() : nullptr;
        any |= total != nullptr;
        return total;
    });
    return any ? in_normal_form(m, lambda, now) : lambda;
}

}  // namespace weld
