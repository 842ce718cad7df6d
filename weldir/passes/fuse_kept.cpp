// A vector that is kept, and read by a loop, is read while it is made:
//
//     let ys = result(for(xs, appender[f64], |b, i, x| merge(b, f(x))));
//     let s = result(for(ys, merger[f64,+], |c, j, y| merge(c, y * y)));
//     {ys, s}
// becomes
//     let bs = for(xs, {appender[f64], merger[f64,+]}, |d, i, x|
//       let y = f(x);
//       {merge(d.$0, y), merge(d.$1, y * y)});
//     let ys = result(bs.$0);
//     let s = result(bs.$1);
//
// so `ys` is written and not read again. It is what vertical fusion makes of a loop over `ys` that copies it
// beside what the reader does; there the vector goes, here it stays, since others want it as well.
//
// The joint loop stands where the first one stood if all that the second reads is there, else where the
// second stood if nobody reads `ys` before it; if it may fail, not past an effect or an assert, nor before
// what may fail first, which others may rely on.
//
// Kept apart: loops of which one can run on lanes and the other cannot; loops with loops or an `iterate`
// inside, unless they go over lanes of their own elements and `distribute` takes them out of the joint loop
// again; producers that do not append exactly once in each round; large bodies, loops with effects,
// `@(fuse:false)`, more results than registers.
#include <algorithm>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/splice.h"
#include "weldir/passes/vectorize.h"

namespace weld {

namespace {

constexpr std::size_t kMostResults = 6;
constexpr std::uint32_t kMostNodes = 400;

class KeptFuser {
  public:
    KeptFuser(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda), uses_(lambda) {}

    const Expr* fused(const Expr* e) {
        const Block block = e->as<Block>();
        if (!block || block.size() < 2) return nullptr;
        lets_.clear();
        at_ = {};
        barriers_ = failures_ = 0;
        bool changed = false;
        for (std::size_t i = 0; i < block.size(); ++i) changed |= joined({block.symbol(i), block.value(i)});
        if (!changed) return nullptr;
        Lets lets;
        for (const Step& step : lets_)
            if (!step.is_gone) lets.emplace_back(step.name, step.value);
        return weld::block(m_, lets, block.result(), block.node->loc);
    }

  private:
    struct Step {
        const Symbol* name;
        const Expr* value;
        For kept = {};             ///< the loop that makes it, if others may be done in it
        std::size_t barriers = 0;  ///< up to it
        std::size_t failures = 0;  ///< the same
        bool is_read = false;
        bool is_gone = false;
    };

    void add(Step step) {
        const Traits& t = facts_.traits(step.value);
        barriers_ += t.ordered || step.value->op == Op::Assert;
        failures_ += t.fails;
        step.barriers = barriers_;
        step.failures = failures_;
        at_[step.name] = lets_.size();
        lets_.push_back(step);
    }

    /// Adds `step`, joined with the loop that makes what it reads if that can be.
    bool joined(Step step) {
        const For consumer = loop_in(step.value);
        if (consumer && is_simple(step.value, consumer))
            for (std::size_t k = 0; k < consumer.data().size(); ++k) {
                const std::size_t* at =
                    consumer.data()[k]->op == Op::Var ? at_.find(consumer.data()[k]->attr.symbol) : nullptr;
                if (at && lets_[*at].kept && join(*at, step, consumer, k)) return true;
            }
        note_reads(step.value);
        if (const For made = appending_loop(facts_, step.value);
            made && uses_.count(step.name) > 1 && is_simple(step.value, made) &&
            facts_.merges_per_iteration(made.node) == Count(1))
            step.kept = made;
        add(step);
        return false;
    }

    void note_reads(const Expr* value) {
        visit(value, [&](const Expr* e) {
            if (const std::size_t* at = e->op == Op::Var ? at_.find(e->attr.symbol) : nullptr)
                lets_[*at].is_read = true;
        });
    }

    /// The loop that a let runs: it makes new builders, and nothing else touches them.
    static For loop_in(const Expr* value) {
        const Result result = value->as<Result>();
        const For loop = (result ? result.builder() : value)->as<For>();
        if (!loop || does_nothing(loop)) return {};
        const Expr* start = loop.builder();
        const auto is_new = [](const Expr* b) { return b->op == Op::NewBuilder; };
        if (result) return is_new(start) ? loop : For{};
        return start->op == Op::MakeStruct && std::ranges::all_of(start->args(), is_new) ? loop : For{};
    }

    bool is_simple(const Expr* value, For loop) {
        const Traits& t = facts_.traits(value);
        if (t.ordered || t.size > kMostNodes || loop.node->says(AttrKey::Fuse, false)) return false;
        return std::ranges::all_of(loop.data(), is_path);
    }

    /// Somebody could tell if it moved past an effect, or past an assert that says that it can't fail.
    bool may_be_told(const Expr* value, For loop) {
        const Traits& t = facts_.traits(value);
        return t.fails || t.calls || !facts_.lengths_agree(loop.data());
    }

    bool join(std::size_t at, const Step& step, For consumer, std::size_t k) {
        Step& made = lets_[at];
        const std::size_t results = is_joint(consumer) ? consumer.builder()->num_args : 1;
        if (1 + results > kMostResults || reads_what_changes(made.kept, consumer.builder())) return false;
        if (facts_.traits(made.value).size + facts_.traits(step.value).size > kMostNodes) return false;
        if (can_vectorize(m_, facts_, made.kept.node) != can_vectorize(m_, facts_, consumer.node))
            return false;
        const bool is_nest = has_loop(made.kept.body().body());
        if (is_nest ? !can_vectorize_outer(m_, facts_, made.kept.node) : has_loop(consumer.body().body()))
            return false;
        std::size_t mentions = 0, last = 0;
        visit(step.value, [&](const Expr* e) {
            const std::size_t* read = e->op == Op::Var ? at_.find(e->attr.symbol) : nullptr;
            if (!read) return;
            if (*read == at) ++mentions;
            else last = std::max(last, *read + 1);
        });
        if (mentions != 1) return false;
        const bool is_past = made.barriers != barriers_;
        const bool stands_first =
            last <= at && !((is_past || made.failures != failures_) && may_be_told(step.value, consumer));
        if (!stands_first && (made.is_read || (is_past && may_be_told(made.value, made.kept)))) return false;
        const For copying = with_copy(made.kept, consumer, k);
        const Expr* all = fused_into(m_, facts_, made.kept, copying, k);
        if (!all || (is_nest && !can_vectorize_outer(m_, facts_, all) && !can_distribute(m_, facts_, all)))
            return false;
        place(at, stands_first, step, consumer, all);
        return true;
    }

    static bool is_joint(For loop) { return loop.builder()->op == Op::MakeStruct; }

    /// `consumer`, which reads in its datum `k` what `made` makes, and copies that.
    For with_copy(For made, For consumer, std::size_t k) {
        std::vector<const Expr*> builders = {made.builder()};
        if (is_joint(consumer))
            builders.insert(builders.end(), consumer.builder()->args().begin(),
                            consumer.builder()->args().end());
        else builders.push_back(consumer.builder());
        const Expr* start = make_struct(m_, builders);
        const Symbol* d = m_.symbol("b", start->type);
        const Symbol* element = consumer.elem_param();
        const Expr* own = own_builders(consumer, d);
        const Symbol* then = m_.symbol("n", consumer.node->type);
        const Expr* datum = var(m_, element);
        if (consumer.data().size() > 1) datum = get_field(m_, datum, k);
        std::vector<const Expr*> results = {merge(m_, get_field(m_, var(m_, d), 0), datum)};
        for (std::size_t i = 0; i + 1 < builders.size(); ++i)
            results.push_back(is_joint(consumer) ? get_field(m_, var(m_, then), i) : var(m_, then));
        const Lets lets = {{consumer.builder_param(), own}, {then, consumer.body().body()}};
        const Expr* body =
            lambda(m_, {d, consumer.index_param(), element}, block(m_, lets, make_struct(m_, results)));
        return loop(m_, consumer.data(), start, body, consumer.node->loc)->as<For>();
    }

    /// The builders of `consumer` among those of the joint loop: all but the first.
    const Expr* own_builders(For consumer, const Symbol* all) {
        if (!is_joint(consumer)) return get_field(m_, var(m_, all), 1);
        std::vector<const Expr*> own;
        for (std::size_t i = 0; i < consumer.builder()->num_args; ++i)
            own.push_back(get_field(m_, var(m_, all), 1 + i));
        return make_struct(m_, own);
    }

    /// The joint loop `all` takes the place of the loop at `at`, or of `step`.
    void place(std::size_t at, bool stands_first, const Step& step, For consumer, const Expr* all) {
        const Step made = lets_[at];
        const Symbol* bs = m_.symbol("bs", all->type);
        std::vector<Step> steps;
        if (const Expr* check =
                length_check(m_, facts_, made.kept.data(), made.kept.node->loc, made.kept.index_param());
            check && all->as<For>().data().size() > made.kept.data().size())
            steps.push_back({m_.symbol("equal", check->type), check});
        steps.push_back({bs, all});
        steps.push_back({made.name, result(m_, get_field(m_, var(m_, bs), 0), made.value->loc)});
        const Expr* own = own_builders(consumer, bs);
        if (stands_first) {
            for (Step& one : steps) one.barriers = made.barriers, one.failures = made.failures;
            lets_.erase(lets_.begin() + std::ptrdiff_t(at));
            lets_.insert(lets_.begin() + std::ptrdiff_t(at), steps.begin(), steps.end());
            for (std::size_t i = at; i < lets_.size(); ++i) at_[lets_[i].name] = i;
        } else {
            lets_[at].is_gone = true;
            for (const Step& one : steps) add(one);
        }
        note_reads(all);
        add({step.name, is_joint(consumer) ? own : result(m_, own, step.value->loc)});
    }

    Module& m_;
    Facts facts_;
    Uses uses_;
    std::vector<Step> lets_;  // of the block, so far
    Table<Symbol, std::size_t> at_;
    std::size_t barriers_ = 0;  // before the let that is looked at: effects and asserts
    std::size_t failures_ = 0;  // and what may fail
};

}  // namespace

const Expr* fuse_kept(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    KeptFuser fuser(m, lambda);
    return in_normal_form(m, lambda,
                          rewrite_binding(m, lambda, [&](const Expr* e) { return fuser.fused(e); }));
}

}  // namespace weld
