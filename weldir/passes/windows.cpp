// Loops over short windows of a vector, one in each round, go over elements that are looked up one by one.
//
//     for(rangeiter(0L, len(v) / 4L, 1L), B, |b, i, x|
//       let sum = result(for(slice(v, x * 4L, 4L), merger[f64,+], f));
//       merge(b, sum))
// becomes
//     for(rangeiter(0L, len(v) / 4L, 1L), B, |b, i, x|
//       let at = x * 4L;
//       let e0 = lookup(v, at);
//       let e1 = lookup(v, at + 1L);
//       ...
//       let sum = result(for([e0, e1, e2, e3], merger[f64,+], f));
//       merge(b, sum))
//
// which `unroll` makes straight code of, so that the loop around it can run on lanes. A slice has fewer elements
// where the vector ends; so this is for loops of which the last round's window is known to lie inside, or else
// it is asked once before the loop.
#include <optional>
#include <unordered_set>

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/short_loops.h"

namespace weld {

namespace {

constexpr std::int64_t kMostWindow = 16;                     // elements
constexpr std::int64_t kMostStep = 1 << 20;                  // from window to window
constexpr std::int64_t kMostRounds = std::int64_t(1) << 40;  // with which nothing wraps around

class Windows {
  public:
    Windows(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* converted(const Expr* e) {
        const For loop = e->as<For>();
        if (!loop || !has_loop(loop.body().body())) return nullptr;
        loop_ = loop;
        asked_ = nullptr;
        const Expr* body = with_elements(loop.body().body());
        if (body == loop.body().body()) return nullptr;
        const Expr* now = with_body(m_, e, body);
        return asked_ ? if_(m_, asked_, now, fresh(m_, e), e->loc) : now;
    }

  private:
    /// `counter * step + first`, where the counter is that of the loop.
    struct Affine {
        std::int64_t step, first;
    };

    const Expr* with_elements(const Expr* body) {
        const Block block = body->as<Block>();
        if (!block) return body;
        bound_ = {};
        visit(body, [&](const Expr* e) { bound_.insert(e->symbols().begin(), e->symbols().end()); });
        Lets lets;
        bool any = false;
        for (std::size_t i = 0; i < block.size(); ++i) {
            const Expr* value = with_window(block.value(i), lets);
            any |= value != block.value(i);
            lets.emplace_back(block.symbol(i), value);
        }
        const Expr* result = with_window(block.result(), lets);
        any |= result != block.result();
        return any ? weld::block(m_, lets, result, body->loc) : body;
    }

    /// `value`, if it is a loop over a window, over its elements, which `lets` get.
    const Expr* with_window(const Expr* value, Lets& lets) {
        if (value->op == Op::Result)
            return map_args(m_, value, [&](const Expr* a, std::size_t) { return with_window(a, lets); });
        const For inner = value->as<For>();
        if (!inner || inner.data().size() != 1) return value;
        const Slice window = inner.data()[0]->as<Slice>();
        const Literal size = window ? window.size()->as<Literal>() : Literal{};
        if (!size || !fits(window, size.as_int()) || !is_unrolled(facts_, inner, size.as_int(), true))
            return value;
        const Symbol* at = m_.symbol("at", m_.types.i64());
        lets.emplace_back(at, window.start());
        std::vector<const Expr*> elements;
        for (std::int64_t k = 0; k < size.as_int(); ++k) {
            const Symbol* x = m_.symbol("x", window.of()->type->elem());
            const Expr* index = k ? scalar_op(m_, Op::Add, {var(m_, at), i64_literal(m_, k)}) : var(m_, at);
            lets.emplace_back(x, lookup(m_, window.of(), index, window.node->loc));
            elements.push_back(var(m_, x));
        }
        const Expr* all = make_vec(m_, window.of()->type->elem(), elements, window.node->loc);
        return map_args(m_, value, [&](const Expr* a, std::size_t i) { return i == 2 ? all : a; });
    }

    /// The windows of all rounds have `size` elements, if what is asked before the loop is true.
    bool fits(Slice window, std::int64_t size) {
        if (size < 1 || size > kMostWindow || !is_path(window.of()) ||
            bound_.contains(base_of(window.of())) || base_of(window.of()) == loop_.elem_param())
            return false;
        const std::optional<Affine> start = affine(window.start());
        if (!start || start->step < 1 || start->step > kMostStep || start->first < 0 ||
            start->first > kMostStep)
            return false;
        const std::int64_t beyond = start->first + size - start->step;  // of the step behind the last round
        if (is_inside(window.of(), *start, beyond)) return true;
        const bool is_new = loop_.builder()->op == Op::NewBuilder || loop_.builder()->op == Op::Var;
        const Expr* datum = loop_.data()[0];
        if (!is_new || !(datum->op == Op::Iter || is_path(datum))) return false;
        const Expr* n = trip_count(m_, datum);
        const Expr* steps = scalar_op(m_, Op::Mul, {n, i64_literal(m_, start->step)});
        const Expr* end = scalar_op(m_, Op::Add, {steps, i64_literal(m_, beyond)});
        demand(scalar_op(m_, Op::Le, {n, i64_literal(m_, kMostRounds)}));
        demand(scalar_op(m_, Op::Le, {end, len(m_, window.of())}));
        return true;
    }

    void demand(const Expr* condition) {
        asked_ = asked_ ? scalar_op(m_, Op::BitAnd, {asked_, condition}) : condition;
    }

    /// That the rounds' steps and `beyond` more lie inside is known.
    bool is_inside(const Expr* vec, const Affine& start, std::int64_t beyond) {
        const std::optional<Count> n = facts_.iterations(loop_.node), length = facts_.length(vec);
        if (n && length) {
            const std::optional<std::int64_t> more =
                (*n * Count(start.step) + Count(beyond) - *length).known();
            if (more && *more <= 0) return true;
        }
        const Iter range = loop_.data()[0]->as<Iter>();  // for(rangeiter(0L, len(v) / 4L, 1L), ...)
        if (!range || !range.shape().range || loop_.data().size() != 1) return false;
        const Expr* end = facts_.resolve(range.end());
        const Literal divisor = end->op == Op::Div ? end->arg(1)->as<Literal>() : Literal{};
        if (!divisor || start.step > divisor.as_int() || beyond > 0) return false;
        const std::optional<Count> all = facts_.count(end->arg(0));
        return all && length && *all == *length;
    }

    std::optional<Affine> affine(const Expr* e) {
        if (is_counter(e)) return Affine{1, 0};
        e = facts_.resolve(e);
        if (is_counter(e)) return Affine{1, 0};
        if (const Literal n = e->as<Literal>()) return Affine{0, n.as_int()};
        if (e->op != Op::Add && e->op != Op::Mul) return {};
        const std::optional<Affine> a = affine(e->arg(0)), b = affine(e->arg(1));
        const auto is_small = [](const Affine& n) {
            return std::abs(n.step) <= kMostStep && std::abs(n.first) <= kMostStep;
        };
        if (!a || !b || !is_small(*a) || !is_small(*b)) return {};
        if (e->op == Op::Add) return Affine{a->step + b->step, a->first + b->first};
        if (a->step && b->step) return {};
        return Affine{a->step * b->first + b->step * a->first, a->first * b->first};
    }

    /// The number of the round.
    bool is_counter(const Expr* e) const {
        if (is_var(e, loop_.index_param())) return true;
        const Iter range = loop_.data()[0]->as<Iter>();
        return is_var(e, loop_.elem_param()) && loop_.data().size() == 1 && range && range.shape().range &&
               range.shape().kind == IterKind::Scalar && is_int(range.start(), 0) &&
               is_int(range.stride(), 1);
    }

    Module& m_;
    Facts facts_;
    For loop_;
    const Expr* asked_ = nullptr;
    std::unordered_set<const Symbol*> bound_;  // in its body
};

}  // namespace

const Expr* windows(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    Windows pass(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) { return pass.converted(e); });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
