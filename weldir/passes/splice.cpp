// Putting the body of a consumer in the place of the merges of its producer.
#include "weldir/passes/splice.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/independent.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/vectorize.h"

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

}  // namespace

For appending_loop(Facts& facts, const Expr* value) {
    const Result result = value->as<Result>();
    const For loop = result ? result.builder()->as<For>() : For{};
    const NewBuilder start = loop ? loop.builder()->as<NewBuilder>() : NewBuilder{};
    if (!start || !info(start.kind()).lists_merges || loop.node->says(AttrKey::Fuse, false)) return {};
    if (start.arg() && !facts.traits(start.arg()).free_to_repeat()) return {};
    for (const Expr* d : loop.data()) {
        const Iter it = d->as<Iter>();
        if ((it && it.shape().kind != IterKind::Scalar) || facts.traits(d).calls) return {};
    }
    const Traits& t = facts.traits(value);
    return t.ordered || t.size > kMostNodes ? For{} : loop;
}

bool reads_what_changes(For loop, const Expr* builders) {
    if (builders->op == Op::MakeStruct)
        return std::ranges::any_of(builders->args(),
                                   [&](const Expr* b) { return reads_what_changes(loop, b); });
    const NewBuilder start = builders->as<NewBuilder>();
    return start && info(start.kind()).indexed && is_path(start.arg()) && reads(loop.node, start.arg());
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
/// But for those that `distribute` takes apart again, block by block.
static bool is_better_apart(For producer, For consumer) {
    const Type* made = producer.node->type;
    return made->is_builder() && made->elem()->is_scalar() && merges_in_loops(consumer.body().body()) &&
           is_nest(producer) && !merges_in_loops(producer.body().body());
}

static const Expr* fuse_plain(Module& m, Splicer& splicer, For producer, For consumer) {
    const Symbol *i = producer.index_param(), *x = producer.elem_param();
    const Expr* body = splicer.body(var(m, i), [](const Expr* value) { return value; });
    const Expr* f = lambda(m, {splicer.builder(), i, x}, body);
    // What fails by itself is the producer: it zips, perhaps.
    return with_annotations(m, loop(m, producer.data(), consumer.builder(), f, producer.node->loc),
                            consumer.node->annotations);
}

static const Expr* fuse_zip(Module& m, Facts& facts, Splicer& splicer, For producer, For consumer,
                            std::size_t k) {
    std::vector<const Expr*> data(consumer.data().begin(), consumer.data().end());
    data.erase(data.begin() + k);
    data.insert(data.begin() + k, producer.data().begin(), producer.data().end());
    std::vector<const Type*> types;
    for (const Expr* d : data) types.push_back(d->type->elem());
    const Symbol* z = m.symbol("z", m.types.structure(types));
    const std::size_t inner = producer.data().size();
    auto part = [&](std::size_t at) { return get_field(m, var(m, z), at); };

    std::vector<const Expr*> of_producer;
    for (std::size_t j = 0; j < inner; ++j) of_producer.push_back(part(k + j));
    const Expr* x = inner == 1 ? of_producer[0] : make_struct(m, of_producer);
    auto element = [&](const Expr* value) {
        std::vector<const Expr*> fields;
        for (std::size_t j = 0; j < consumer.data().size(); ++j)
            fields.push_back(j == k ? value : part(j < k ? j : j + inner - 1));
        return make_struct(m, fields);
    };
    const Symbol* i = producer.index_param();
    const Expr* body = splicer.body(var(m, i), element);
    body = let(m, producer.elem_param(), x, body);
    facts.define(producer.elem_param(), x);
    std::vector<const Expr*> args = {consumer.builder(), lambda(m, {splicer.builder(), i, z}, body)};
    args.insert(args.end(), data.begin(), data.end());
    return with_args(m, consumer.node, args);
}

const Expr* fused_into(Module& m, Facts& facts, For producer, For consumer, std::size_t k) {
    const bool zips = consumer.data().size() > 1;
    const bool counts = zips || mentions(consumer.body().body(), consumer.index_param());
    if (counts && facts.merges_per_iteration(producer.node) != Count(1)) return nullptr;
    Splicer splicer(m, facts, producer, consumer);
    if (!splicer.fits()) return nullptr;
    const Expr* fused = zips ? fuse_zip(m, facts, splicer, producer, consumer, k)
                             : fuse_plain(m, splicer, producer, consumer);
    return is_better_apart(producer, consumer) && !can_distribute(m, facts, fused) ? nullptr : fused;
}

}  // namespace weld
