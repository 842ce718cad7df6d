// The rules of annotations: which stand on which nodes, and what must hold for code generation to obey them.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "weldir/ir/builder.h"
#include "weldir/ir/demands.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/merges.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"

namespace weld {

/// There are appenders in `t`, and nothing else keeps what is merged.
static bool only_appends(const Type* t) {
    if (t->is_builder()) return info(t).lists_merges;
    const auto keeps_rows = [](const Type* f) {
        return f->is_builder() && info(f).keeps_merges && !info(f).lists_merges;
    };
    return std::ranges::any_of(t->args, only_appends) && std::ranges::none_of(t->args, keeps_rows);
}

/// `e` can ask whether any lane needs its second argument, or whether one of two floats is NaN or -0.0.
static bool asks_before(const Expr* e) {
    if (e->op == Op::Min || e->op == Op::Max) return e->type->is_scalar() && is_float(e->type->scalar);
    if (e->op == Op::Merge) return e->num_args > 2 && !e->type->holds_simd;
    if (e->op == Op::Select) return e->arg(0)->type->is_simd();
    return (e->op == Op::BitAnd || e->op == Op::BitOr) && e->type->is_simd() &&
           e->type->scalar == Scalar::Bool;
}

/// As often as the loop says, where it says so in one place: passes know it of loops over blocks, too.
static bool may_append(For loop, std::span<const std::int64_t> numbers) {
    return std::ranges::equal(
        numbers, appends_per_iteration(loop),
        [](std::int64_t noted, std::int64_t seen) { return noted == seen || (seen < 0 && noted >= 0); });
}

void annotations(Demands& d, const Expr* e) {
    for (std::size_t i = 1; i < e->annotations.size(); ++i)
        d.that(e->annotations[i - 1].key < e->annotations[i].key, "annotations out of order");
    for (const Annotation& a : e->annotations) {
        const auto on_loop = [&](std::int64_t least, std::int64_t most) {
            d.that(e->op == Op::For && a.number >= least && a.number <= most,
                   "`@({}:…)` is a number from {} to {} of a loop", name_of(a.key), least, most);
        };
        switch (a.key) {
            case AttrKey::Accumulators:
                on_loop(1, 16);
                d.that((a.number & (a.number - 1)) == 0, "accumulators are a power of two");
                break;
            case AttrKey::Privatise:
                d.that(e->op == Op::For && e->annotation(AttrKey::Accumulators) && e->type->is_builder() &&
                           info(e->type).indexed && a.number > 0,
                       "what is privatised is a vecmerger with accumulators");
                d.that(e->annotation(AttrKey::Rounds), "a loop is privatised from so many rounds on");
                break;
            case AttrKey::Rounds:
                on_loop(1, 1 << 16);
                d.that(e->annotation(AttrKey::Privatise), "rounds are counted for the sake of copies");
                break;
            case AttrKey::Cost:
                d.that((e->op == Op::For || e->op == Op::Sort) && a.number > 0,
                       "loops and sorts have a cost");
                break;
            case AttrKey::Independent:
                d.that(e->op == Op::NewBuilder && info(e->type->builder).indexed && is_path(e->arg(0)),
                       "what is independent puts elements into a vector that has a name");
                break;
            case AttrKey::Work:
                d.that(e->op == Op::For && e->annotation(AttrKey::Cost) && a.symbols.size() == 1 &&
                           is_i64(a.symbols[0]->type),
                       "a number says what a round of a loop costs");
                break;
            case AttrKey::Short: on_loop(0, std::numeric_limits<std::int64_t>::max()); break;
            case AttrKey::Optimize:
                d.that((e->op == Op::For && (a.text == "false" || a.text == "later")) ||
                           (e->op == Op::Iterate && a.text == "later" && !e->as<Iterate>().lanes()),
                       "a loop is optimised at once, `later`, or not at all");
                break;
            case AttrKey::Function:
                d.that(a.text == "optimized" || a.text == "later",
                       "a function is `optimized` at once or `later`");
                break;
            case AttrKey::Segment:
                d.that(a.text == "quick" || a.text == "optimized", "a segment is `quick` or `optimized`");
                break;
            case AttrKey::Appends:
                d.that(e->op == Op::For && may_append(e->as<For>(), a.numbers),
                       "each round appends so often as the loop says");
                break;
            case AttrKey::Most:
                d.that(e->op == Op::Iterate &&
                           std::ranges::equal(a.numbers, most_appends_per_round(e->as<Iterate>())),
                       "a round appends no more often than it says");
                break;
            case AttrKey::Counts: {
                const auto counting = e->op == Op::Iterate ? counting_of(e->as<Iterate>()) : std::nullopt;
                d.that(counting && std::int64_t(counting->field) == a.number && e->annotation(AttrKey::Most),
                       "rounds with room for what they append count in a field of their state");
                break;
            }
            case AttrKey::Exact:
                d.that(e->op == Op::Iterate && e->annotation(AttrKey::Counts) &&
                           appends_per_round(e->as<Iterate>()) == most_appends_per_round(e->as<Iterate>()),
                       "rounds that count append as often as they say");
                break;
            case AttrKey::Pairs:
                d.that(e->op == Op::Iterate && e->annotation(AttrKey::Counts) && a.text == "true",
                       "rounds that count may go between branches two at a time");
                break;
            case AttrKey::TopK:
                d.that(e->op == Op::Sort && a.text == "false", "sorts say `false` if they stay sorts");
                break;
            case AttrKey::Branch:
                d.that(asks_before(e),
                       "a branch asks whether lanes are needed, or what is not in order as numbers are");
                d.that(e->type->is_scalar() || is_movable(e->arg(1)),
                       "what a branch may leave out can be left out");
                break;
            case AttrKey::Often:
                d.that((e->says(AttrKey::Branch, true) || e->says(AttrKey::Always, true) ||
                        e->annotation(AttrKey::Selection)) &&
                           !e->type->is_scalar() && a.number >= 1 && a.number <= 64,
                       "how often lanes are needed is counted where a branch asks for them, in 64 rounds");
                break;
            case AttrKey::Always: {
                const Merge one = e->op == Op::If ? conditional_merge(e->as<If>()) : Merge();
                d.that(one && is_movable(one.value()),
                       "what is written in any case is merged on one side of an `if`, and cannot fail");
                break;
            }
            case AttrKey::Listed:
                d.that(e->op == Op::Result && info(e->arg(0)->type).probes, "dictionaries are listed");
                break;
            case AttrKey::Apart:
                if (e->op == Op::LookupLanes) {
                    d.that(a.number != 0 && -farthest_lane(e->type) <= a.number &&
                               a.number <= farthest_lane(e->type),
                           "lanes are looked up at places that lie no more than {} apart",
                           farthest_lane(e->type));
                    break;
                }
                d.that(e->annotation(AttrKey::Accumulators) && a.number >= 1,
                       "what is read apart from so many rounds on has accumulators");
                break;
            case AttrKey::Walks:
                d.that(e->op == Op::LookupLanes && !e->as<LookupLanes>().mask() && a.text == "true",
                       "look-ups of all lanes say `true` if these walk");
                break;
            case AttrKey::InPlace:
                d.that(e->op == Op::NewBuilder && (info(e->type).indexed || e->annotation(AttrKey::Spare)),
                       "what begins in place is given a vector");
                break;
            case AttrKey::Spare:
                d.that(e->op == Op::NewBuilder && info(e->type).lists_merges && a.symbols.size() == 1 &&
                           a.symbols[0]->type->is_vec() && a.symbols[0]->type->elem() == e->type->elem(),
                       "an appender begins in the memory of a vector of its type");
                break;
            case AttrKey::Capacity:
                d.that(e->op == Op::NewBuilder && e->num_args == 1 && info(e->type).lists_merges,
                       "an appender begins with the capacity that its argument says");
                break;
            case AttrKey::Tail:
                d.that(e->op == Op::For && a.text == "masked" && masked_loop(e->as<For>()),
                       "a loop finishes one over lanes of the same data, all of which merges or none");
                break;
            case AttrKey::Blocks:
                d.that(e->op == Op::For && a.text == "true", "loops over blocks say `true`");
                break;
            case AttrKey::Tile:
                if (e->op == Op::Lookup || e->op == Op::LookupLanes) {
                    d.that(a.text == "true" && (e->type->is_scalar() || e->type->is_simd()),
                           "look-ups of scalars by tiles say `true`");
                    break;
                }
                on_loop(1, 1 << 16);
                d.that(e->op == Op::For && tiled_loop(e->as<For>()),
                       "a loop goes on by tiles if it appends as often as its last loop has rounds");
                break;
            case AttrKey::Few: {
                const Iterate it = e->as<Iterate>();
                d.that(it && it.one_lane() && a.number >= 1 && a.number <= it.lanes() &&
                           e->annotation(AttrKey::Patience),
                       "few of the lanes of an `iterate` go on one by one, after some patience");
                break;
            }
            case AttrKey::Patience:
                d.that(e->annotation(AttrKey::Few) && a.number >= 1, "patience is with few lanes");
                break;
            case AttrKey::Unread: {
                const Iterate it = e->as<Iterate>();
                d.that(it && it.lanes() && it.node->type->is_struct() && is_straight_line(it.body().body()) &&
                           std::ranges::is_sorted(a.numbers, std::less_equal()) && a.numbers.front() >= 0 &&
                           a.numbers.back() < std::int64_t(it.node->type->args.size()),
                       "lanes of an `iterate` that have ended go on with fields of its state, where that is "
                       "safe");
                break;
            }
            case AttrKey::TailCall:
                d.that(e->op == Op::Call && a.text == "true",
                       "calls of functions take the place of their callers");
                break;
            case AttrKey::Far:
                d.that(e->annotation(AttrKey::Prefetch) && e->op != Op::For && a.number >= 0,
                       "what is far is prefetched, by a key");
                break;
            case AttrKey::Groups:
                on_loop(1, 64);
                d.that(e->annotation(AttrKey::Batch), "groups are compared in batches");
                break;
            case AttrKey::Spread:
                on_loop(1, 1 << 30);
                d.that(e->op == Op::For && merges_at_places(e->as<For>()),
                       "groups are spread where all that is merged, once in a round, are keys of a few "
                       "integers");
                break;
            case AttrKey::Batch:
                on_loop(1, 64);
                d.that(e->annotation(AttrKey::Groups), "batches are of groups");
                break;
            case AttrKey::Selection: {
                on_loop(64, 1 << 16);
                const std::optional<Filter> filter =
                    e->op == Op::For ? filter_of(e->as<For>()) : std::nullopt;
                d.that(
                    filter && is_known_early(*filter) && !e->annotation(AttrKey::Accumulators),
                    "rounds are selected by a condition that cannot fail, without which the builder stays");
                break;
            }
            case AttrKey::Unasked:
                on_loop(1, 1 << 16);
                d.that(e->annotation(AttrKey::Selection), "rounds that are selected go by unasked");
                break;
            case AttrKey::Skip:
                on_loop(16, 1 << 16);
                d.that(e->op == Op::For && demand_of(e->as<For>()),
                       "rounds of lanes are skipped by a mask of all merges that cannot fail");
                break;
            case AttrKey::Slab:
            case AttrKey::Scratch: {
                const bool is_merge_or_loop = e->op == Op::Merge || e->op == Op::For;
                d.that(e->op == Op::MakeVec || (is_merge_or_loop && only_appends(e->type)) ||
                           (e->op == Op::Result && only_appends(e->arg(0)->type)) ||
                           (a.key == AttrKey::Scratch && e->op == Op::NewBuilder && info(e->type).indexed),
                       "what lies in a slab are vectors that are appended, literals, and copies that are "
                       "merged into");
                d.that(a.number >= 1 && a.number <= 1 << 16, "a round appends a few values to a slab");
                break;
            }
            case AttrKey::Pop:
                for (const Symbol* s : a.symbols) d.that(s->type->is_vec(), "vectors lie in scratch");
                break;
            case AttrKey::Stream:
                if (e->op != Op::LookupLanes) on_loop(1, 1 << 20);
                d.that(e->op != Op::LookupLanes || (e->annotation(AttrKey::Apart) && a.number >= 1),
                       "look-ups of lanes that lie close together ask for what follows");
                break;
            case AttrKey::Meanwhile: on_loop(1, 1 << 20); break;
            case AttrKey::Every:
                on_loop(1, 16);
                d.that(e->annotation(AttrKey::Stream),
                       "what is asked for once in so many rounds is a stream");
                break;
            case AttrKey::Scattered:
                d.that(
                    a.number >= 1 && (e->op == Op::Lookup || e->op == Op::LookupLanes || e->op == Op::Merge),
                    "what is scattered are places of look-ups and merges");
                break;
            case AttrKey::Inside:
                d.that(
                    e->op == Op::Slice || (e->op == Op::Iter && e->attr.iter.bounded && !e->attr.iter.range &&
                                           !e->attr.iter.nd && is_int(e->as<Iter>().stride(), 1)),
                    "what is inside is a part of a vector");
                break;
            case AttrKey::Prefetch:
                d.that(e->op == Op::For || e->op == Op::Merge || e->op == Op::Lookup ||
                           e->op == Op::OptLookup || e->op == Op::KeyExists || e->op == Op::Iter ||
                           e->op == Op::Slice,
                       "a loop, a merge, a look-up or a row prefetches memory");
                d.that(e->op == Op::For || e->annotation(AttrKey::Far),
                       "what is prefetched by a key says from which size on");
                break;
            default: break;
        }
    }
}

}  // namespace weld
