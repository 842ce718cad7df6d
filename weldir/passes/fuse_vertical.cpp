// Vertical fusion: a loop over what one other loop appends becomes that other loop.
//
//     let ys = result(for(xs, appender[f64], |b, i, x| if(x > 0.0, merge(b, f(x)), b)));
//     result(for(ys, merger[f64,+], |c, j, y| merge(c, g(y))))
// becomes
//     result(for(xs, merger[f64,+], |c, i, x| if(x > 0.0, let y = f(x); merge(c, g(y)), c)))
//
// so `ys` is never stored: one write and one read of memory fewer. Each `merge(b, v)` of the producer turns
// into the consumer's body with `y` = v, whatever stands around it: filters, several merges, and loops that
// append (flat-maps) fuse as maps do. In a zip the producer's data take the place of `ys`, and the check that
// all have one length stays:
//
//     for(zip(ys, zs), B, h)      # ys made from xs by exactly one merge per iteration
// becomes
//     for(zip(xs, zs), B, ...)
//
// `len(ys)` is a loop that counts, where nothing else reads `ys`:
//
//     result(for(xs, merger[i64,+], |c, i, x| if(x > 0.0, merge(c, 1L), c)))
//
// If the producer zips as well, the lengths of its own data are compared where it stood (see lengths.h). So
// they are if it moves past another loop that may fail.
//
// The producer goes; what it computed, and what failed in it, happens in the consumer. Hence it must be read
// there and nowhere else, and:
//   - not in a deeper loop (its work would be repeated), nor on the side of an `if` if it may fail;
//   - not past an effect if it may fail; loops with effects are left alone;
//   - if the consumer looks at its index, or zips, every run of the producer's body must merge exactly once:
//     then the indices are the same;
//   - the consumer takes all elements (no start, end, stride);
//   - a loop that puts elements into a vector (vecmerger, vecsetter) is not to read there, because of it, what
//     other rounds put (independent.cpp): it could not change it in place any more;
//   - if the producer merges in several places the consumer's body is copied to each, so it must be small;
//   - a producer with an `iterate` or loops in loops goes over lanes of its own elements (vectorize-outer),
//     and does so no more once a loop in it merges what the consumer gathers: it stays a vector, unless
//     `distribute` takes it out again, block by block.
//   - nor does a producer with a loop over a row go with a consumer that calls `exp` and the like: these would be
//     called once a row, and not on lanes.
// `@(fuse:false)` on either loop keeps them apart.
#include <algorithm>

#include "weldir/ir/walk.h"
#include "weldir/passes/independent.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/splice.h"

namespace weld {

namespace {

/// A loop that does nothing but append, bound by a let and read once.
struct Producer {
    For loop;
    std::size_t frame, lambda;  ///< where it is bound: the stretch of certain evaluation, the function
    std::size_t effects;        ///< that came before it
    std::size_t failures;       ///< loops before it that may fail
    bool fused = false;
    const Expr* check = nullptr;  ///< what is left of it then, or null
};

class VerticalFuser {
  public:
    VerticalFuser(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda), uses_(lambda) {}

    const Expr* rewrite(const Expr* e) {
        if (e->num_args == 0) return e;
        if (Block inner = e->as<Block>()) return rewrite_block(inner);
        e = map_args(m_, e, [&](const Expr*, std::size_t i) { return rewrite_arg(e, i); });
        if ((e->op == Op::Kernel || e->op == Op::Call) && facts_.traits(e).ordered) ++effects_;
        if (const Expr* counted = e->op == Op::Len ? count(e->as<Len>()) : nullptr) return counted;
        while (const Expr* fused = e->op == Op::For ? fuse(e->as<For>()) : nullptr) e = fused;
        return e;
    }

  private:
    const Expr* rewrite_arg(const Expr* e, std::size_t i) {
        if (!is_lazy_arg(e, i)) return rewrite(e->arg(i));
        const std::size_t frame = frame_, lambda = lambda_;
        frame_ = ++last_frame_;
        if (e->op == Op::Lambda) lambda_ = frame_;
        const Expr* now = rewrite(e->arg(i));
        frame_ = frame;
        lambda_ = lambda;
        return now;
    }

    const Expr* rewrite_block(Block inner) {
        Lets lets;
        bool changed = false;
        for (std::size_t i = 0; i < inner.size(); ++i) {
            const Symbol* s = inner.symbol(i);
            const Expr* value = rewrite(inner.value(i));
            if (value != inner.value(i)) facts_.define(s, value), changed = true;
            lets.emplace_back(s, value);
            if (For loop = appending_loop(facts_, value); loop && uses_.count(s) == 1)
                producers_[s] = {loop, frame_, lambda_, effects_, failures_};
            if (value->binds && facts_.traits(value).fails_here) ++failures_;
        }
        const Expr* result = rewrite(inner.result());
        changed |= result != inner.result();
        if (!changed) return inner.node;
        Lets left;
        for (const auto& let : lets) {
            const Producer* p = producers_.find(let.first);
            if (!p || !p->fused) left.push_back(let);
            else if (p->check) left.emplace_back(m_.symbol("equal", p->check->type), p->check);
        }
        return block(m_, left, result, inner.node->loc);
    }

    const Expr* count(Len len) {
        const Var v = len.of()->as<Var>();
        if (!v || !producers_.find(v.symbol())) return nullptr;
        const Expr* counter = counting_loop(m_, {&v.node, 1}, 1, len.node->loc);
        const Expr* fused = fuse(counter->as<For>());
        return fused ? result(m_, fused, len.node->loc) : nullptr;
    }

    const Expr* fuse(For consumer) {
        if (consumer.node->says(AttrKey::Fuse, false)) return nullptr;
        for (std::size_t k = 0; k < consumer.data().size(); ++k) {
            const Var v = consumer.data()[k]->as<Var>();
            Producer* producer = v ? producers_.find(v.symbol()) : nullptr;
            if (!producer || !may_move(*producer)) continue;
            if (goes_over_rows(producer->loop) && calls_math(consumer)) continue;
            if (facts_.traits(consumer.node).ordered) return nullptr;
            const Expr* fused = fused_into(m_, facts_, producer->loop, consumer, k);
            if (fused && reads_what_changes(producer->loop, consumer.builder()) &&
                !rounds_are_independent(facts_, fused->as<For>()))
                continue;
            if (fused) {
                producer->fused = true;
                note_lengths(*producer, consumer, fused, k);
                return fused;
            }
        }
        return nullptr;
    }

    /// Each round makes one number in a loop of its own, whose rounds are not known.
    bool goes_over_rows(For producer) {
        if (!producer.node->type->is_builder() || !producer.node->type->elem()->is_scalar()) return false;
        bool any = false;
        visit(producer.body().body(), [&](const Expr* e) {
            if (e->op != Op::For) return;
            const std::optional<Count> rounds = facts_.iterations(e);
            any |= !rounds || !rounds->known();
        });
        return any;
    }

    /// It goes over numbers, and calls functions of mathematics, on lanes of its own.
    static bool calls_math(For consumer) {
        bool math = false, loops = false;
        visit(consumer.body().body(), [&](const Expr* e) {
            math |= is_math(e->op) && e->op != Op::Sqrt;
            loops |= e->op == Op::For || e->op == Op::Iterate;
        });
        return math && !loops;
    }

    /// The data of the producer are compared where it stood, unless `fused` is the next to do so. Of those
    /// that were, `fused` has to compare only the first with its others.
    void note_lengths(Producer& producer, For consumer, const Expr* fused, std::size_t k) {
        if (fused->as<For>().data().size() == 1) return;
        std::vector<const Expr*> all = compared(consumer), made = compared(producer.loop);
        if (consumer.data().size() == 1 && failures_ == producer.failures + 1) {
            all = made;
        } else {
            producer.check =
                length_check(m_, facts_, made, producer.loop.node->loc, producer.loop.index_param());
            std::replace(all.begin(), all.end(), consumer.data()[k], made[0]);
        }
        compared_[fused] = all;
    }

    /// The data of a loop that are not known to have one length from loops that were fused into it.
    std::vector<const Expr*> compared(For loop) {
        if (const std::vector<const Expr*>* known = compared_.find(loop.node)) return *known;
        return {loop.data().begin(), loop.data().end()};
    }

    /// The producer may be evaluated here instead.
    bool may_move(const Producer& p) {
        const Traits& t = facts_.traits(p.loop.node);
        const bool nobody_can_tell = !t.fails_here && !t.calls;
        if (p.lambda != lambda_) return false;
        return nobody_can_tell || (p.frame == frame_ && p.effects == effects_);
    }

    Module& m_;
    Facts facts_;
    Uses uses_;
    Table<Symbol, Producer> producers_;
    Table<Expr, std::vector<const Expr*>> compared_;
    std::size_t frame_ = 0, lambda_ = 0, last_frame_ = 0, effects_ = 0, failures_ = 0;
};

}  // namespace

const Expr* fuse_vertical(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    return in_normal_form(m, lambda, VerticalFuser(m, lambda).rewrite(lambda));
}

}  // namespace weld
