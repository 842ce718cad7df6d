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
//   - a loop that puts elements into a vector (vecmerger, vecsetter) is not to read that vector in other
//     places because of it: it could not change it in place any more;
//   - if the producer merges in several places the consumer's body is copied to each, so it must be small;
//   - a producer with an `iterate` or loops in loops goes over lanes of its own elements (vectorize-outer), and
//     does so no more once a loop in it merges what the consumer gathers: the nearest centre of each row stays
//     a vector beside the loop that adds rows to sums.
// `@(fuse:false)` on either loop keeps them apart.
#include <algorithm>
#include <unordered_map>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::uint32_t kMostNodes =
    2000;  // of a producer: longer loops gain nothing, and growth stays linear
constexpr std::uint32_t kMostCopied = 200;  // nodes of consumers' bodies that are copied

/// Replaces the appender in the body of a producer by the builder of its consumer, and merges by the
/// consumer's body.
class Splicer {
  public:
    Splicer(Module& m, Facts& facts, For producer, For consumer)
        : m_(m), facts_(facts), p_(producer), c_(consumer) {
        builder_ = m.symbol(c_.builder_param()->name, c_.node->type);
        renamed_[p_.builder_param()] = builder_;
        count_merges(p_.body().body());
    }

    /// The merges can be replaced; there are few enough.
    bool fits() {
        if (!simple_ || merges_ == 0) return simple_;
        return std::uint64_t(merges_ - 1) * facts_.traits(c_.body().body()).size <= kMostCopied;
    }

    /// The fused body. `index` is the consumer's index; `element` makes its element of what is merged.
    template <class Element>
    const Expr* body(const Expr* index, Element&& element) {
        at_merge_ = [&, index](const Expr* builder, const Expr* value) {
            Lambda step = c_.body();
            if (spliced_++) step = fresh(m_, step.node)->as<Lambda>();
            Lets lets;
            bind(lets, step.param(0), builder);
            bind(lets, step.param(1), index);
            bind(lets, step.param(2), element(value));
            return block(m_, lets, step.body());
        };
        return spliced(p_.body().body());
    }

    const Symbol* builder() const { return builder_; }

  private:
    void bind(Lets& lets, const Symbol* s, const Expr* value) {
        lets.emplace_back(s, value);
        facts_.define(s, value);
    }

    const Type* appender() const { return p_.builder_param()->type; }

    /// The name that a builder is a later state of; null if it is none of these.
    static const Symbol* origin(const Expr* e) {
        for (;;) switch (e->op) {
                case Op::Var: return e->attr.symbol;
                case Op::Merge:
                case Op::For: e = e->arg(0); break;
                case Op::If: e = e->arg(1); break;
                case Op::Block: e = e->as<Block>().result(); break;
                default: return nullptr;
            }
    }
    bool derives(const Expr* e) {
        const Symbol* s = e->type == appender() ? origin(e) : nullptr;
        return s && derived_.count(s);
    }

    /// Counts the merges on the way from the parameter to what `e` is, and sees whether `spliced` knows the
    /// way.
    void count_merges(const Expr* e) {
        derived_.try_emplace(p_.builder_param());
        switch (e->op) {
            case Op::Var: simple_ &= derived_.count(e->attr.symbol) > 0; return;
            case Op::Merge:
                simple_ &= e->num_args == 2 && !e->arg(1)->type->holds_simd;
                count_merges(e->arg(0));
                ++merges_;
                return;
            case Op::If:
                count_merges(e->arg(1));
                count_merges(e->arg(2));
                return;
            case Op::For:
                count_merges(e->arg(0));
                derived_.try_emplace(e->as<For>().builder_param());
                count_merges(e->as<For>().body().body());
                return;
            case Op::Block:
                for (std::size_t i = 0; i < e->num_symbols; ++i)
                    if (block_derives(e, i)) count_merges(e->arg(i));
                count_merges(e->as<Block>().result());
                return;
            default: simple_ = false;
        }
    }
    /// The origin may be bound by an earlier let of the same block, so lets are looked at in order.
    bool block_derives(const Expr* block, std::size_t i) {
        const Expr* value = block->arg(i);
        if (value->op == Op::Block || !derives(value)) return false;
        derived_.try_emplace(block->attr.symbols[i]);
        return true;
    }

    const Symbol* new_name(const Symbol* old) { return renamed_[old] = m_.symbol(old->name, c_.node->type); }

    /// `e`, a later state of the appender, as a later state of the consumer's builder.
    const Expr* spliced(const Expr* e) {
        switch (e->op) {
            case Op::Var: return var(m_, renamed_.at(e->attr.symbol), e->loc);
            case Op::Merge: return at_merge_(spliced(e->arg(0)), e->arg(1));
            case Op::If: {
                const Expr* args[] = {e->arg(0), spliced(e->arg(1)), spliced(e->arg(2))};
                return with_args(m_, e, args);
            }
            case Op::For: return spliced_loop(e->as<For>());
            default: return spliced_block(e->as<Block>());
        }
    }

    const Expr* spliced_loop(For inner) {
        std::vector<const Expr*> args(inner.node->args().begin(), inner.node->args().end());
        args[0] = spliced(inner.builder());
        const Symbol* b = new_name(inner.builder_param());
        args[1] = lambda(m_, {b, inner.index_param(), inner.elem_param()}, spliced(inner.body().body()),
                         inner.body().node->loc);
        return with_args(m_, inner.node, args);
    }

    const Expr* spliced_block(Block inner) {
        Lets lets;
        for (std::size_t i = 0; i < inner.size(); ++i) {
            if (!derives(inner.value(i))) {
                lets.emplace_back(inner.symbol(i), inner.value(i));
                continue;
            }
            const Expr* value = spliced(inner.value(i));
            bind(lets, new_name(inner.symbol(i)), value);
        }
        return block(m_, lets, spliced(inner.result()), inner.node->loc);
    }

    Module& m_;
    Facts& facts_;
    For p_, c_;
    const Symbol* builder_;
    bool simple_ = true;
    int merges_ = 0;
    int spliced_ = 0;
    std::unordered_map<const Symbol*, const Symbol*> derived_;  // states of the appender
    std::unordered_map<const Symbol*, const Symbol*> renamed_;  // and what they are called afterwards
    std::function<const Expr*(const Expr*, const Expr*)> at_merge_;
};

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
            if (For loop = producer(value); loop && uses_.count(s) == 1)
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

    /// The loop in `result(for(..., appender, ...))`.
    For producer(const Expr* value) {
        const Result result = value->as<Result>();
        const For loop = result ? result.builder()->as<For>() : For{};
        const NewBuilder start = loop ? loop.builder()->as<NewBuilder>() : NewBuilder{};
        if (!start || !info(start.kind()).lists_merges || loop.node->says(AttrKey::Fuse, false)) return {};
        if (start.arg() && !facts_.traits(start.arg()).free_to_repeat()) return {};
        for (const Expr* d : loop.data()) {
            const Iter it = d->as<Iter>();
            if ((it && it.shape().kind != IterKind::Scalar) || facts_.traits(d).calls) return {};
        }
        const Traits& t = facts_.traits(value);
        return t.ordered || t.size > kMostNodes ? For{} : loop;
    }

    const Expr* fuse(For consumer) {
        if (consumer.node->says(AttrKey::Fuse, false)) return nullptr;
        for (std::size_t k = 0; k < consumer.data().size(); ++k) {
            const Var v = consumer.data()[k]->as<Var>();
            Producer* producer = v ? producers_.find(v.symbol()) : nullptr;
            if (!producer || !may_move(*producer)) continue;
            if (facts_.traits(consumer.node).ordered) return nullptr;
            if (reads_what_changes(producer->loop, consumer.builder())) continue;
            if (const Expr* fused = fuse(producer->loop, consumer, k)) {
                producer->fused = true;
                note_lengths(*producer, consumer, fused, k);
                return fused;
            }
        }
        return nullptr;
    }

    /// `loop` reads a vector that one of `builders` begins with.
    static bool reads_what_changes(For loop, const Expr* builders) {
        if (builders->op == Op::MakeStruct)
            return std::ranges::any_of(builders->args(),
                                       [&](const Expr* b) { return reads_what_changes(loop, b); });
        const NewBuilder start = builders->as<NewBuilder>();
        return start && info(start.kind()).indexed && is_path(start.arg()) && reads(loop.node, start.arg());
    }
    static bool reads(const Expr* e, const Expr* vector) {
        if (is_path(e)) return e->type == vector->type && is_same_path(e, vector);
        return std::ranges::any_of(e->args(), [&](const Expr* a) { return reads(a, vector); });
    }
    static bool is_same_path(const Expr* a, const Expr* b) {
        if (a->op != b->op) return false;
        if (a->op == Op::Var) return a->attr.symbol == b->attr.symbol;
        return a->attr.index == b->attr.index && is_same_path(a->arg(0), b->arg(0));
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

    /// A loop in `e`, a body, goes on with a builder from outside.
    static bool merges_in_loops(const Expr* e) {
        const For loop = e->as<For>();
        if (loop && loop.builder()->op != Op::NewBuilder && !does_nothing(loop)) return true;
        return e->binds && std::ranges::any_of(e->args(), merges_in_loops);
    }
    /// Its values are found by an `iterate`, or by loops in loops.
    static bool is_nest(For producer) {
        bool any = false;
        visit(producer.body().body(), [&](const Expr* e) {
            any |= e->op == Op::Iterate || (e->op == Op::For && has_loop(e->as<For>().body().body()));
        });
        return any;
    }
    static bool is_better_apart(For producer, For consumer) {
        const Type* made = producer.node->type;
        return made->is_builder() && made->elem()->is_scalar() && merges_in_loops(consumer.body().body()) &&
               is_nest(producer) && !merges_in_loops(producer.body().body());
    }

    const Expr* fuse(For producer, For consumer, std::size_t k) {
        if (is_better_apart(producer, consumer)) return nullptr;
        const bool zips = consumer.data().size() > 1;
        const bool counts = zips || mentions(consumer.body().body(), consumer.index_param());
        if (counts && facts_.merges_per_iteration(producer.node) != Count(1)) return nullptr;
        Splicer splicer(m_, facts_, producer, consumer);
        if (!splicer.fits()) return nullptr;
        return zips ? fuse_zip(splicer, producer, consumer, k) : fuse_plain(splicer, producer, consumer);
    }

    const Expr* fuse_plain(Splicer& splicer, For producer, For consumer) {
        const Symbol *i = producer.index_param(), *x = producer.elem_param();
        const Expr* body = splicer.body(var(m_, i), [](const Expr* value) { return value; });
        const Expr* f = lambda(m_, {splicer.builder(), i, x}, body);
        // What fails by itself is the producer: it zips, perhaps.
        return with_annotations(m_, loop(m_, producer.data(), consumer.builder(), f, producer.node->loc),
                                consumer.node->annotations);
    }

    const Expr* fuse_zip(Splicer& splicer, For producer, For consumer, std::size_t k) {
        std::vector<const Expr*> data(consumer.data().begin(), consumer.data().end());
        data.erase(data.begin() + k);
        data.insert(data.begin() + k, producer.data().begin(), producer.data().end());
        std::vector<const Type*> types;
        for (const Expr* d : data) types.push_back(d->type->elem());
        const Symbol* z = m_.symbol("z", m_.types.structure(types));
        const std::size_t inner = producer.data().size();
        auto part = [&](std::size_t at) { return get_field(m_, var(m_, z), at); };

        std::vector<const Expr*> of_producer;
        for (std::size_t j = 0; j < inner; ++j) of_producer.push_back(part(k + j));
        const Expr* x = inner == 1 ? of_producer[0] : make_struct(m_, of_producer);
        auto element = [&](const Expr* value) {
            std::vector<const Expr*> fields;
            for (std::size_t j = 0; j < consumer.data().size(); ++j)
                fields.push_back(j == k ? value : part(j < k ? j : j + inner - 1));
            return make_struct(m_, fields);
        };
        const Symbol* i = producer.index_param();
        const Expr* body = splicer.body(var(m_, i), element);
        body = let(m_, producer.elem_param(), x, body);
        facts_.define(producer.elem_param(), x);
        std::vector<const Expr*> args = {consumer.builder(), lambda(m_, {splicer.builder(), i, z}, body)};
        args.insert(args.end(), data.begin(), data.end());
        return with_args(m_, consumer.node, args);
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
