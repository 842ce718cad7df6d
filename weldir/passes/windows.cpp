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
// which `unroll` makes straight code of, so that the loop around it can run on lanes. The same for `iter`s of a
// known few elements, for several windows of a size, and for windows that begin at a sum of steps of several
// loops in one another. A slice has fewer elements where the vector ends, and an `iter` fails there; so this is
// for nests of which the last rounds' windows are known to lie inside, or else it is asked once before the nest.
#include <algorithm>
#include <optional>

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/short_loops.h"

namespace weld {

namespace {

constexpr std::int64_t kMostWindow = 16;                     // elements
constexpr std::int64_t kMostStep = 1 << 20;                  // from window to window
constexpr std::int64_t kMostRounds = std::int64_t(1) << 40;  // with which nothing wraps around
constexpr std::size_t kMostWalks = 3;                        // neither with the sum of so many

class Windows {
  public:
    Windows(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    const Expr* converted(const Expr* e) {
        const For loop = e->as<For>();
        if (!loop || !has_loop(loop.body().body())) return nullptr;
        nest_ = {loop};
        inside_ = BoundNames(e);
        asked_ = nullptr;
        const Expr* body = with_elements(loop.body().body());
        if (body == loop.body().body()) return nullptr;
        const Expr* now = with_body(m_, e, body);
        return asked_ ? if_(m_, asked_, now, fresh(m_, e), e->loc) : now;
    }

  private:
    /// The sum of each loop's counter times a step, and of `first`.
    struct Affine {
        std::vector<std::int64_t> steps;  ///< of the loops of the nest
        std::int64_t first;
    };

    /// `size` elements of `of`, `stride` apart.
    struct Window {
        const Expr *of, *start;
        std::int64_t size, stride;
    };

    const Expr* with_elements(const Expr* body) {
        Lets lets;
        const Expr* end = body;
        bool any = false;
        if (const Block block = body->as<Block>()) {
            for (std::size_t i = 0; i < block.size(); ++i) {
                const Expr* value = with_windows(block.value(i), lets);
                any |= value != block.value(i);
                lets.emplace_back(block.symbol(i), value);
            }
            end = block.result();
        }
        const Expr* result = with_windows(end, lets);
        any |= result != end;
        return any ? block(m_, lets, result, body->loc) : body;
    }

    /// `value`, if it is a loop over windows, over their elements, which `lets` get.
    const Expr* with_windows(const Expr* value, Lets& lets) {
        if (value->op == Op::Result)
            return map_args(m_, value, [&](const Expr* a, std::size_t) { return with_windows(a, lets); });
        const For inner = value->as<For>();
        if (!inner) return value;
        if (has_loop(inner.body().body())) return with_windows_inside(inner);
        const std::vector<Window> windows = windows_of(inner);
        if (windows.empty() || !is_unrolled(facts_, inner, windows[0].size, true) ||
            !std::ranges::all_of(windows, [&](const Window& w) { return fits(w); }))
            return value;
        auto window = windows.begin();
        return map_args(m_, value, [&](const Expr* a, std::size_t i) {
            return i < 2 || !window_of(a) ? a : elements_of(*window++, a->loc, lets);
        });
    }

    /// A loop of the nest: it goes over what is there before the outermost one begins.
    const Expr* with_windows_inside(For inner) {
        if (inner.data().size() != 1 || inside_.are_read_by(inner.data()[0])) return inner.node;
        nest_.push_back(inner);
        const Expr* body = with_elements(inner.body().body());
        nest_.pop_back();
        return body == inner.body().body() ? inner.node : with_body(m_, inner.node, body);
    }

    const Expr* elements_of(const Window& window, Loc loc, Lets& lets) {
        const Symbol* at = m_.symbol("at", m_.types.i64());
        lets.emplace_back(at, window.start);
        const Type* type = window.of->type->elem();
        std::vector<const Expr*> elements;
        for (std::int64_t k = 0; k < window.size; ++k) {
            const Symbol* x = m_.symbol("x", type);
            const Expr* index =
                k ? scalar_op(m_, Op::Add, {var(m_, at), i64_literal(m_, k * window.stride)}) : var(m_, at);
            lets.emplace_back(x, lookup(m_, window.of, index, loc));
            elements.push_back(var(m_, x));
        }
        return make_vec(m_, type, elements, loc);
    }

    /// The windows among the data of a loop; none if it may go over more or fewer elements.
    std::vector<Window> windows_of(For inner) {
        std::vector<Window> all;
        for (const Expr* d : inner.data())
            if (const std::optional<Window> w = window_of(d)) all.push_back(*w);
        const auto has_as_many = [&](const Expr* d) {
            if (const std::optional<Window> w = window_of(d)) return w->size == all[0].size;
            const Iter range = d->as<Iter>();
            if (!(range ? counts_by_one(d) : is_path(d))) return false;
            const std::optional<Count> n = range ? difference(range.end(), range.start()) : facts_.length(d);
            return n && n->known() == all[0].size;
        };
        if (!all.empty() && !std::ranges::all_of(inner.data(), has_as_many)) return {};
        return all;
    }

    std::optional<Window> window_of(const Expr* datum) {
        if (const Slice slice = datum->as<Slice>()) {
            const Literal size = slice.size()->as<Literal>();
            if (!size) return {};
            return Window{slice.of(), slice.start(), size.as_int(), 1};
        }
        const Iter it = datum->as<Iter>();
        if (!it || it.shape().range || !it.shape().bounded || it.shape().kind != IterKind::Scalar) return {};
        const Literal stride = it.stride()->as<Literal>();
        const std::optional<Count> length = difference(it.end(), it.start());
        if (!stride || stride.as_int() < 1 || stride.as_int() > kMostStep || !length) return {};
        const std::optional<std::int64_t> known = length->known();
        if (!known || *known % stride.as_int() != 0) return {};
        return Window{it.data(), it.start(), *known / stride.as_int(), stride.as_int()};
    }

    std::optional<Count> difference(const Expr* a, const Expr* b) {
        const std::optional<Count> x = facts_.count(a), y = facts_.count(b);
        return x && y ? *x - *y : std::optional<Count>();
    }

    /// The windows of all rounds lie inside, if what is asked before the loop is true.
    bool fits(const Window& window) {
        if (window.size < 1 || window.size > kMostWindow || !is_path(window.of) ||
            inside_.hold(base_of(window.of)))
            return false;
        const std::optional<Affine> start = affine(window.start);
        if (!start || start->first < 0 || start->first > kMostStep ||
            !std::ranges::all_of(start->steps, [](std::int64_t s) { return s >= 0 && s <= kMostStep; }))
            return false;
        std::int64_t beyond = start->first + window.size * window.stride;  // the last round's end
        std::vector<std::size_t> walks;  // loops of a number of rounds that is not known
        for (std::size_t k = 0; k < nest_.size(); ++k) {
            const std::int64_t step = start->steps[k];
            if (!step) continue;
            beyond -= step;
            const std::optional<Count> n = facts_.iterations(nest_[k].node);
            const std::optional<std::int64_t> known = n ? n->known() : std::nullopt;
            if (known && (*known < 1 || *known > kMostStep)) return false;
            if (known) beyond += step * *known;
            else walks.push_back(k);
        }
        return is_inside(window.of, *start, walks, beyond) || ask(window.of, *start, walks, beyond);
    }

    /// Of each of the `walks` the steps of all rounds, and `beyond`, are no more than there are elements.
    bool ask(const Expr* vec, const Affine& start, const std::vector<std::size_t>& walks,
             std::int64_t beyond) {
        const For outermost = nest_[0];
        const Op builder = outermost.builder()->op;
        if (walks.size() > kMostWalks || !(builder == Op::NewBuilder || builder == Op::Var)) return false;
        const Expr* end = nullptr;
        for (const std::size_t k : walks) {
            const Expr* datum = nest_[k].data()[0];
            if (!(datum->op == Op::Iter || is_path(datum))) return false;
            const Expr* n = trip_count(m_, datum);
            const Expr* steps = scalar_op(m_, Op::Mul, {n, i64_literal(m_, start.steps[k])});
            end = end ? scalar_op(m_, Op::Add, {end, steps}) : steps;
            demand(scalar_op(m_, Op::Le, {n, i64_literal(m_, kMostRounds)}));
        }
        const Expr* more = i64_literal(m_, beyond);
        end = end ? scalar_op(m_, Op::Add, {end, more}) : more;
        demand(scalar_op(m_, Op::Le, {end, len(m_, vec)}));
        return true;
    }

    void demand(const Expr* condition) {
        asked_ = asked_ ? scalar_op(m_, Op::BitAnd, {asked_, condition}) : condition;
    }

    /// That the rounds' steps and `beyond` more lie inside is known.
    bool is_inside(const Expr* vec, const Affine& start, const std::vector<std::size_t>& walks,
                   std::int64_t beyond) {
        const std::optional<Count> length = facts_.length(vec);
        if (!length) return false;
        std::optional<Count> end = Count(beyond);
        for (const std::size_t k : walks) {
            const std::optional<Count> n = facts_.iterations(nest_[k].node);
            end = n && end ? *end + *n * Count(start.steps[k]) : std::optional<Count>();
        }
        const std::optional<std::int64_t> more = end ? (*end - *length).known() : std::nullopt;
        if (more && *more <= 0) return true;
        if (walks.size() != 1) return false;
        const For loop = nest_[walks[0]];
        const Iter range = loop.data()[0]->as<Iter>();  // for(rangeiter(0L, len(v) / 4L, 1L), ...)
        if (!range || !range.shape().range || loop.data().size() != 1) return false;
        const Expr* rounds = facts_.resolve(range.end());
        const Literal divisor = rounds->op == Op::Div ? rounds->arg(1)->as<Literal>() : Literal{};
        if (!divisor || start.steps[walks[0]] > divisor.as_int() || beyond > 0) return false;
        const std::optional<Count> all = facts_.count(rounds->arg(0));
        return all && *all == *length;
    }

    std::optional<Affine> affine(const Expr* e) {
        if (const std::optional<Affine> one = counter(e)) return one;
        e = facts_.resolve(e);
        if (const std::optional<Affine> one = counter(e)) return one;
        if (const Literal n = e->as<Literal>())
            return Affine{std::vector<std::int64_t>(nest_.size()), n.as_int()};
        if (e->op != Op::Add && e->op != Op::Mul) return {};
        std::optional<Affine> a = affine(e->arg(0)), b = affine(e->arg(1));
        if (!a || !b || !is_small(*a) || !is_small(*b)) return {};
        if (e->op == Op::Add) {
            for (std::size_t k = 0; k < nest_.size(); ++k) a->steps[k] += b->steps[k];
            a->first += b->first;
            return a;
        }
        if (is_number(*b)) std::swap(a, b);
        if (!is_number(*a)) return {};
        for (std::int64_t& step : b->steps) step *= a->first;
        b->first *= a->first;
        return b;
    }

    static bool is_number(const Affine& a) {
        return std::ranges::all_of(a.steps, [](std::int64_t step) { return step == 0; });
    }

    static bool is_small(const Affine& a) {
        const auto is_near = [](std::int64_t n) { return n >= -kMostStep && n <= kMostStep; };
        return is_near(a.first) && std::ranges::all_of(a.steps, is_near);
    }

    /// `e` as the number of a loop's round.
    std::optional<Affine> counter(const Expr* e) const {
        for (std::size_t k = 0; k < nest_.size(); ++k) {
            if (!counts(nest_[k], e)) continue;
            Affine one{std::vector<std::int64_t>(nest_.size()), 0};
            one.steps[k] = 1;
            return one;
        }
        return {};
    }

    static bool counts(For loop, const Expr* e) {
        return is_var(e, loop.index_param()) ||
               (is_var(e, loop.elem_param()) && loop.data().size() == 1 && counts_from_zero(loop.data()[0]));
    }

    Module& m_;
    Facts facts_;
    std::vector<For> nest_;  ///< loops in one another, the outermost first
    const Expr* asked_ = nullptr;
    BoundNames inside_;  ///< names of the outermost
};

}  // namespace

const Expr* windows(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    Windows pass(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) { return pass.converted(e); });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
