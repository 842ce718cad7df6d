// Loops that look up or merge by keys in a few of their rounds find out first which.
//
//     for(zip(xs, ks), b, |b, i, e| if(e.$0 < 0.1, merge(b, @(prefetch:16) lookup(d, e.$1)), b))
// becomes
//     @(selection:16384) for(zip(xs, ks), b, |b, i, e| if(…, …, b))
//
// Of 16,384 rounds at a time, the numbers of those in which the condition holds are noted without a branch;
// then only these are done, so that what is prefetched for coming rounds is needed. Otherwise keys would be
// hashed and memory asked for in vain, and a branch that cannot be predicted would stand before each look-up.
//
// So do merges that groups in registers are too few for, whose keys lie near; but only where the condition cannot be
// guessed: @(selection:16384, often:10), it was another than in the round before in 10 of the first 64.
//
// A filter of bits (ask-bits), which rounds need not have asked, is left alone for longer and longer where it
// holds in most rounds: @(selection:16384, unasked:63); if rounds that pass ask again what is asked along with it. What is
// asked behind it, as whether the key is there, they ask alone.
#include <algorithm>
#include <vector>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::string_view kRounds = "16384";  // one in a hundred of them are more than are asked for early
constexpr std::string_view kBlocks = "63";
constexpr std::string_view kChanges =
    "10";  // of a condition, in 64 rounds: guesses cost more than its selection
constexpr std::size_t kLargestCondition = 24;  // nodes, with the lets before it

bool is_of_bits(const Expr* cond) { return cond->op == Op::KeyExists && cond->as<KeyExists>().bits(); }
bool holds_bits(const Expr* cond) {
    bool any = false;
    each_condition(cond, [&](const Expr* c) { any |= is_of_bits(c); });
    return any;
}

/// A filter of bits is asked, and rounds that pass it ask again what else `f` does, before they do anything.
bool asks_bits(For f) {
    const Filter filter = *filter_of(f);
    std::vector<const Expr*> again;
    for (const Expr* work = filter.work;;) {
        const If choice = work->as<If>();
        if (!choice || !is_var(choice.otherwise(), f.builder_param())) break;
        each_condition(choice.cond(), [&](const Expr* c) { again.push_back(c); });
        work = choice.then();
    }
    bool all = filter.wanted && holds_bits(filter.cond);
    each_condition(filter.cond, [&](const Expr* c) {
        all &= is_of_bits(c) || std::ranges::any_of(again, [&](const Expr* a) { return same(a, c); });
    });
    return all;
}

/// `f` with what is asked behind a filter of bits asked by the rounds that pass it.
const Expr* with_bits_first(Module& m, For f, const Filter& filter) {
    const Expr *cond = filter.cond, *work = filter.work, *untouched = var(m, f.builder_param());
    while (cond->op == Op::And && holds_bits(cond->arg(0))) {
        work = if_(m, cond->arg(1), work, untouched);
        cond = cond->arg(0);
    }
    if (!filter.wanted || cond == filter.cond) return f.node;
    const Expr* body = if_(m, cond, work, untouched);
    Lets lets;
    for (std::size_t i = 0; filter.lets && i < filter.lets.size(); ++i)
        lets.emplace_back(filter.lets.symbol(i), filter.lets.value(i));
    return with_body(m, f.node, block(m, lets, body));
}

/// Something in `work` is asked for early, and by a key.
bool seeks(const Expr* work) {
    bool any = false;
    visit(work, [&](const Expr* e) {
        any |= e->annotation(AttrKey::Prefetch) && e->op != Op::Iter && e->op != Op::Slice &&
               (e->op != Op::Merge || info(e->type).probes);
    });
    return any;
}

/// It goes on one by one where the groups of a loop over lanes are too many.
bool has_groups(For f) { return f.builder()->op == Op::For && f.builder()->annotation(AttrKey::Groups); }

}  // namespace

const Expr* select_rounds(Module& m, const Expr* lambda) {
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const For f = e->as<For>();
        if (!f || e->annotation(AttrKey::Selection) || e->annotation(AttrKey::Accumulators) ||
            !(has_groups(f) || (goes_one_by_one(f) && !e->annotation(AttrKey::Tail))))
            return nullptr;
        const std::optional<Filter> filter = filter_of(f);
        if (!filter || !(has_groups(f) || seeks(filter->work))) return nullptr;
        std::size_t size = size_of_tree(filter->cond);
        bool plain = is_straight_line(filter->cond);
        for (std::size_t i = 0; filter->lets && i < filter->lets.size(); ++i) {
            size += size_of_tree(filter->lets.value(i));
            plain &= is_straight_line(filter->lets.value(i));
        }
        if (!plain || size > kLargestCondition) return nullptr;
        if (has_groups(f))
            return annotate(m, annotate(m, e, AttrKey::Selection, kRounds), AttrKey::Often, kChanges);
        const Expr* now = annotate(m, with_bits_first(m, f, *filter), AttrKey::Selection, kRounds);
        return asks_bits(now->as<For>()) ? annotate(m, now, AttrKey::Unasked, kBlocks) : now;
    });
}

}  // namespace weld
