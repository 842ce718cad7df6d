// A comparison that compares what one function makes of each side becomes that function, the key.
//
//     sort(v, |a, b| if(a.$1 > b.$1, 1, if(a.$1 < b.$1, -1, 0)))
// becomes
//     sort(v, |a| a.$1)
// and a second comparison, asked where the first finds no difference, becomes a second field of the key:
//     sort(v, |a, b| let c = compare(a.$0, b.$0); if(c == 0, compare(b.$1, a.$1), c))
// becomes, where $1 is an i64,
//     sort(v, |a| {a.$0, -1L - a.$1})
//
// So do `if(a.$0 != b.$0, compare(a.$0, b.$0), compare(b.$1, a.$1))` and `compare({a.$0, b.$1}, {b.$0, a.$1})`.
//
// Keys are sorted without asking emitted code for each pair. Not done where a key may fail, or where a
// descending one is no number.
//
// Numbers in descending order are reversed, sorted as they are, and reversed again:
//     sort(v, |a, b| compare(b, a))        or      sort(v, |a| -a)
// become, where v is a vec[f64],
//     map(sort(map(v, |x| -x), |a| a), |x| -x)
#include <algorithm>

#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/pass.h"

namespace weld {

namespace {

constexpr std::size_t kMostNodes = 400;

struct Key {
    const Expr* of;  ///< in terms of the first parameter
    bool descending;
};

class KeyFinder {
  public:
    KeyFinder(Module& m, Lambda by) : m_(m), a_(by.param(0)), b_(by.param(1)) {}

    /// Adds the keys by which `order` decides; false if it is not made of keys.
    bool add(const Expr* order) {
        if (is_int(order, 0)) return true;
        const Choice outer = choice(order);
        if (!outer.cond) return false;
        if (const Expr* first = tied(outer)) {
            const Expr* rest = outer.cond->op == Op::Eq ? outer.then : outer.otherwise;
            return add(first) && add(rest);
        }
        if (outer.cond->op == Op::Eq || outer.cond->op == Op::Ne) {  // of a key that decides if it differs
            const bool equal = outer.cond->op == Op::Eq;
            const std::size_t at = keys_.size();
            const Expr* key = key_of(outer.cond->arg(0), outer.cond->arg(1));
            if (!key || !add(equal ? outer.otherwise : outer.then)) return false;
            if (keys_.size() != at + 1 || !same(keys_[at].of, key)) return false;
            return add(equal ? outer.then : outer.otherwise);
        }
        const Choice inner = choice(outer.otherwise);
        const int sign = sign_of(outer.then), other = inner.cond ? sign_of(inner.then) : 0;
        if (!sign || sign != -other) return false;
        std::vector<Key> keys, again;
        if (!compared(outer.cond, sign, &keys) || !compared(inner.cond, other, &again)) return false;
        const auto same_key = [](const Key& x, const Key& y) {
            return x.descending == y.descending && same(x.of, y.of);
        };
        if (!std::ranges::equal(keys, again, same_key)) return false;
        keys_.insert(keys_.end(), keys.begin(), keys.end());
        return add(inner.otherwise);
    }

    /// The function that gives the keys, or null.
    const Expr* key_function(Loc loc) const {
        std::vector<const Expr*> parts;
        for (const Key& k : keys_) parts.push_back(k.descending ? reversed(k.of) : k.of);
        if (parts.empty() || std::count(parts.begin(), parts.end(), nullptr)) return nullptr;
        return lambda(m_, {a_}, parts.size() == 1 ? parts[0] : make_struct(m_, parts, loc), loc);
    }

  private:
    struct Choice {
        const Expr *cond, *then, *otherwise;
    };
    static Choice choice(const Expr* e) {
        if (const If i = e->as<If>()) return {i.cond(), i.then(), i.otherwise()};
        if (const Select s = e->as<Select>()) return {s.cond(), s.then(), s.otherwise()};
        return {};
    }

    static int sign_of(const Expr* e) {
        const Literal literal = e->as<Literal>();
        if (!literal) return 0;
        const std::int64_t value = literal.as_int();
        return value > 0 ? 1 : value < 0 ? -1 : 0;
    }

    /// `if(o == 0, rest, o)` or `if(o != 0, o, rest)`: `o`.
    static const Expr* tied(const Choice& c) {
        if (c.cond->op != Op::Eq && c.cond->op != Op::Ne) return nullptr;
        const Expr* order = is_int(c.cond->arg(1), 0) ? c.cond->arg(0) : nullptr;
        return order && same(order, c.cond->op == Op::Eq ? c.otherwise : c.then) ? order : nullptr;
    }

    /// What `x` and `y` are of both elements, in terms of the first parameter; or null.
    const Expr* key_of(const Expr* x, const Expr* y) {
        const bool swapped = !mentions(x, a_);
        const Expr* of_a = swapped ? y : x;
        const Expr* of_b = swapped ? x : y;
        if (!mentions(of_a, a_) || mentions(of_a, b_) || !mentions(of_b, b_) || mentions(of_b, a_))
            return nullptr;
        return is_movable(of_a) && same(of_a, substitute(m_, of_b, {{b_, var(m_, a_)}})) ? of_a : nullptr;
    }

    /// The keys of `x > y` or `x < y`, where a yes stands for the order `sign`; false if it is not made of keys.
    bool compared(const Expr* cond, int sign, std::vector<Key>* keys) {
        if (cond->op != Op::Gt && cond->op != Op::Lt) return false;
        return compared(cond->arg(0), cond->arg(1), (cond->op == Op::Gt) == (sign > 0), keys);
    }

    /// `greater_is_after`: the first element comes after the second where `x` is greater.
    bool compared(const Expr* x, const Expr* y, bool greater_is_after, std::vector<Key>* keys) {
        if (const Expr* key = key_of(x, y)) {
            const bool swapped = !mentions(x, a_);
            keys->push_back({key, swapped == greater_is_after});
            return true;
        }
        if (x->op != Op::MakeStruct || y->op != Op::MakeStruct) return false;
        for (std::size_t i = 0; i < x->num_args; ++i)
            if (!compared(x->arg(i), y->arg(i), greater_is_after, keys)) return false;
        return true;
    }

    /// A key in the opposite order.
    const Expr* reversed(const Expr* key) const {
        if (!key->type->is_scalar() || key->type->scalar == Scalar::Bool) return nullptr;
        if (is_float(key->type->scalar)) return scalar_op(m_, Op::Neg, {key}, key->loc);
        return scalar_op(m_, Op::Sub, {int_literal(m_, key->type, -1), key}, key->loc);
    }

    Module& m_;
    const Symbol *a_, *b_;
    std::vector<Key> keys_;
};

/// `e` with the values of its lets in their places, or null if that would be large.
const Expr* without_lets(Module& m, const Expr* e) {
    const Block block = e->as<Block>();
    if (!block) return e;
    SymbolMap values;
    for (std::size_t i = 0; i < block.size(); ++i) {
        const Expr* value = without_lets(m, substitute(m, block.value(i), values));
        if (!value || size_of_tree(value) > kMostNodes || !is_movable(value)) return nullptr;
        values[block.symbol(i)] = value;
    }
    return without_lets(m, substitute(m, block.result(), values));
}

/// The function that gives the keys of a sort, or null if it has none, or has it already.
const Expr* key_function(Module& m, Sort s) {
    if (s.by().params().size() != 2 || size_of_tree(s.by().body()) > kMostNodes) return nullptr;
    const Expr* order = without_lets(m, s.by().body());
    KeyFinder finder(m, s.by());
    if (!order || size_of_tree(order) > kMostNodes || !finder.add(order)) return nullptr;
    return finder.key_function(s.by().node->loc);
}

/// A key that is the number itself in the opposite order: `-x`, and of integers `c - x`. That of such a key is the number.
const Expr* opposite(Module& m, Lambda key) {
    const Symbol* of = key.param(0);
    const Expr* body = of->type->is_scalar() ? key.body() : nullptr;
    if (!body || body->num_args == 0 || !is_var(body->arg(body->num_args - 1), of)) return nullptr;
    if (body->op == Op::Neg) return body;
    const Literal from = body->op == Op::Sub ? body->arg(0)->as<Literal>() : Literal{};
    if (!from) return nullptr;
    if (!is_float(of->type->scalar)) return body;
    return from.as_float() == 0 ? scalar_op(m, Op::Neg, {body->arg(1)}, body->loc) : nullptr;
}

/// A vector of `f`, in terms of `of`, of all elements of `v`.
const Expr* map(Module& m, const Expr* v, const Symbol* of, const Expr* f, Loc loc) {
    const Type* type = m.types.builder(BuilderKind::Appender, {&f->type, 1});
    const Symbol *b = m.symbol("b", type), *i = m.symbol("i", m.types.i64()), *x = m.symbol("x", of->type);
    const Expr* step = merge(m, var(m, b), substitute(m, f, {{of, var(m, x)}}));
    return result(m, loop(m, {&v, 1}, new_builder(m, type), lambda(m, {b, i, x}, step), loc), loc);
}

const Expr* keyed(Module& m, const Expr* e) {
    const Sort s = e->as<Sort>();
    if (!s) return nullptr;
    const Expr* found = key_function(m, s);
    const Lambda by = found ? found->as<Lambda>() : s.by();
    if (const Expr* key = by.params().size() == 1 ? opposite(m, by) : nullptr) {
        const Symbol* of = by.param(0);
        const Expr* sorted =
            sort(m, map(m, s.of(), of, key, e->loc), lambda(m, {of}, var(m, of)), e->loc, s.limit());
        return map(m, sorted, of, key, e->loc);
    }
    return found ? sort(m, s.of(), found, e->loc, s.limit()) : nullptr;
}

}  // namespace

const Expr* sort_keys(Module& m, const Expr* lambda) {
    return in_normal_form(m, lambda, rewrite_binding(m, lambda, [&](const Expr* e) { return keyed(m, e); }));
}

}  // namespace weld
