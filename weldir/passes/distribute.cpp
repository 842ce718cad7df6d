// Loops that go row by row for the sake of a table compute what takes long in loops of their own, on lanes.
//
//     for(v, dictmerger[i32,f64,+], |b, i, x| merge(b, {i32(log(x) * 10.0), x}))
// becomes
//     let n = len(v);
//     for(rangeiter(0L, (n + 4095L) / 4096L, 1L), dictmerger[i32,f64,+], |b, k, part|
//       let from = part * 4096L;
//       let to = min(from + 4096L, n);
//       let early = result(for(iter(v, from, to, 1L), appender[i32], |c, i, x| merge(c, i32(log(x) * 10.0))));
//       for(zip(iter(v, from, to, 1L), early), b, |b, i, z| merge(b, {z.$1, z.$0})))
//
// As many rows at a time as have 16 KiB of what is computed early, which stays in the cache, and 1,024 at least.
//
// So do loops with loops inside, of numbers that an `iterate` or a loop finds first, if those can go over
// lanes of their own elements (vectorize-outer) where the whole cannot: the nearest centre of each row, beside
// a loop that adds the row to sums, which is still in the cache then. 256 rows at a time.
//
// And so do loops that find numbers by loops inside, as a sum of each row, and go on with what takes long, as `exp`: the
// numbers of 256 rows are found first, and what follows goes over lanes. If loops inside follow again, which add the row to
// sums, they are those of 32 rows, and what takes long is computed in between.
//
// Conditions that are cheap are asked early too, so that rounds in which they do not hold are left out quickly; not those
// that only guard the index of a vector, which hold in nearly all.
//
// Not for loops that can be vectorised as they are; nor in loops, which may be short; nor what only some
// rounds compute, or, but for such loops, may fail; nor, but beside these, with appenders.
#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

#include "weldir/ir/builder.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/cost.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"
#include "weldir/passes/subrange.h"
#include "weldir/passes/vectorize.h"

namespace weld {

namespace {

constexpr std::int64_t kBytes = 16 << 10, kFewestRows = 1024;  // of what is computed early at a time
constexpr std::int64_t kRowsOfVectors = 256;                   // where the elements may be vectors
constexpr std::uint32_t kMostNodes = 1000;                     // of a body, parts of which are there twice
constexpr std::int64_t kLeastOfEach = 1'500;  // picoseconds of a value that is computed early
constexpr std::int64_t kLeastOfAll = 5'000;
// Where rows are read twice, with little in between: 8 KiB stay in the first level, and memory goes on meanwhile (64 rows: 1.2 of the time).
constexpr std::int64_t kRowsOfSums = 32;
constexpr std::int64_t kLeastBehind = 4'000;  // of what follows rounds: two roots or quotients

bool merges_by_key(const Type* t) {
    if (t->is_builder()) return info(t).probes || (info(t).indexed && has_operator(t->builder));
    return std::ranges::any_of(t->args, merges_by_key);
}
/// It goes row by row, to look up or merge by keys.
bool seeks_keys(For loop) {
    bool any = merges_by_key(loop.node->type);
    visit(loop.body().body(), [&](const Expr* e) {
        const bool looks_up = e->op == Op::Lookup || e->op == Op::OptLookup || e->op == Op::KeyExists;
        any |= looks_up && e->arg(0)->type->is_dict();
    });
    return any;
}
bool appends(const Type* t) {
    if (t->is_builder()) return info(t).lists_merges;
    return std::ranges::any_of(t->args, appends);
}

/// What lanes compute no faster: integers of 64 bits divided by constants, which scalars multiply to 128 bits instead.
std::int64_t without_long_divisions(const Expr* e) {
    const bool is_long = (e->op == Op::Div || e->op == Op::Rem) && e->type->is_scalar() &&
                         !is_float(e->type->scalar) && size_of(e->type->scalar) == 8;
    std::int64_t less = is_long ? picoseconds(e) : 0;
    for (const Expr* a : e->args()) less -= is_long ? picoseconds(a) : 0;
    for (const Expr* a : e->args()) less += without_long_divisions(a);
    return less;
}

/// A number, or a struct of numbers.
bool are_numbers(const Type* t) {
    return t->is_scalar() || (t->is_struct() && std::ranges::all_of(t->args, are_numbers));
}

/// Mergers of numbers.
bool are_mergers(const Type* t) {
    if (t->is_struct()) return std::ranges::all_of(t->args, are_mergers);
    return t->is_builder() && is_value(info(t)) && are_numbers(t->args[0]);
}

/// The body of a loop, and what of it can be computed early.
class Body {
  public:
    Body(Facts& facts, For loop) : facts_(facts), loop_(loop), lets_(loop.body().body()->as<Block>()) {
        for (std::size_t i = 0; lets_ && i < lets_.size(); ++i) {
            const Symbol* s = lets_.symbol(i);
            const Expr* value = lets_.value(i);
            const bool are_early = is_rounds(value) && reads_fields(i);
            is_early_[s] = are_early || is_early(value);
            if (are_early || is_simple(value)) movable_[s] = value;
            if (are_early) shared_.insert(s);
        }
        has_rounds_ = !early_.empty();
        num_of_rounds_ = early_.size();
        const auto of_rounds = std::ptrdiff_t(num_of_rounds_);
        for (std::size_t i = 0; lets_ && i < lets_.size(); ++i)
            if (!movable_.contains(lets_.symbol(i))) look(lets_.value(i));
        look(lets_ ? lets_.result() : loop.body().body());
        for (std::size_t i = 0; lets_ && i < lets_.size(); ++i)
            if (!movable_.contains(lets_.symbol(i))) share(lets_.value(i));
        share(lets_ ? lets_.result() : loop.body().body());
        early_.erase(std::remove_if(early_.begin() + of_rounds, early_.end(),  // with what is shared known
                                    [&](const Expr* e) { return !is_costly(e); }),
                     early_.end());
    }

    const std::vector<const Expr*>& early() const { return early_; }
    /// Among what is computed early are loops.
    bool has_rounds() const { return has_rounds_; }

    /// Loops inside are left behind those whose results are computed early, perhaps over the same rows.
    bool has_rounds_behind() const {
        for (std::size_t i = 0; lets_ && i < lets_.size(); ++i)
            if (!is_early_.at(lets_.symbol(i)) && has_loop(lets_.value(i))) return true;
        return has_loop(lets_ ? lets_.result() : loop_.body().body());
    }

    /// Nothing but what rounds find is computed early.
    void keep_rounds_alone() { early_.resize(num_of_rounds_); }

    /// Rounds in which it does something follow from a condition that is computed early, on lanes, so that
    /// those are found quickly: noted in `early`, however cheap it is.
    bool asks_early() {
        const std::optional<Filter> filter = filter_of(loop_);
        if (!filter || !is_early(filter->cond) || guards_index(*filter)) return false;
        if (!is_known(filter->cond)) early_.push_back(filter->cond);
        return true;
    }

    /// So many at a time.
    std::int64_t rows() const {
        if (has_rounds_) return kRowsOfVectors;
        std::int64_t bytes = 0;
        for (const Expr* e : early_) bytes += size_of(e->type);
        return std::max(kFewestRows, std::int64_t(std::bit_floor(std::uint64_t(kBytes / bytes))));
    }

    /// Of all that is computed early.
    std::int64_t cost() {
        std::int64_t sum = 0;
        for (const Expr* e : early_) sum += picoseconds(e) - without_long_divisions(e);
        for (const Expr* value : needed(early_)) sum += picoseconds(value) - without_long_divisions(value);
        return sum;
    }

    /// The body with `now` in the place of what it holds, and without lets that nobody reads then.
    const Expr* behind(Module& m, const std::function<const Expr*(const Expr*)>& now) {
        const Expr* result = now(lets_ ? lets_.result() : loop_.body().body());
        std::vector<const Symbol*> read = free_symbols(result);
        Lets kept;
        for (std::size_t i = lets_ ? lets_.size() : 0; i-- > 0;) {
            const bool is_read = std::ranges::find(read, lets_.symbol(i)) != read.end();
            if (!is_read && movable_.contains(lets_.symbol(i))) continue;
            const Expr* value = now(lets_.value(i));
            std::ranges::copy(free_symbols(value), std::back_inserter(read));
            kept.insert(kept.begin(), {lets_.symbol(i), value});
        }
        return block(m, kept, result);
    }

    /// `merges` of what is early, after the lets that this is computed from.
    const Expr* before(Module& m, const Expr* merges) {
        Lets kept;
        const std::vector<const Expr*> values = needed(early_);
        for (std::size_t i = 0; lets_ && i < lets_.size(); ++i)
            if (std::ranges::find(values, lets_.value(i)) != values.end())
                kept.emplace_back(lets_.symbol(i), lets_.value(i));
        return block(m, kept, merges);
    }

  private:
    /// The values of the movable lets that `all` read, one through another, but for those that were `seen`.
    std::vector<const Expr*> needed(std::vector<const Expr*> all,
                                    std::unordered_set<const Symbol*> seen = {}) {
        std::vector<const Expr*> values;
        while (!all.empty()) {
            const Expr* e = all.back();
            all.pop_back();
            for (const Symbol* s : free_symbols(e)) {
                const auto at = movable_.find(s);
                if (at == movable_.end() || !seen.insert(s).second) continue;
                values.push_back(at->second);
                all.push_back(at->second);
            }
        }
        return values;
    }

    /// It and what it reads can be computed before anything else of its round, from the element.
    bool is_early(const Expr* e) { return is_simple(e) && reads_what_is_early(e); }
    static bool is_simple(const Expr* e) {
        return e->type->is_scalar() ? is_straight_line(e) : is_path(e) && !e->type->holds_builder;
    }
    /// Loops, or an `iterate`, whose result is numbers, and which can be run early.
    bool is_rounds(const Expr* e) {
        const Traits& t = facts_.traits(e);
        return (are_numbers(e->type) || are_mergers(e->type)) && has_loop(e) && !t.ordered && !t.calls &&
               reads_what_is_early(e);
    }
    bool reads_what_is_early(const Expr* e) {
        return std::ranges::all_of(free_symbols(e), [&](const Symbol* s) {
            const auto at = is_early_.find(s);
            return at == is_early_.end() ? s != loop_.builder_param() : at->second;
        });
    }

    /// Notes the numbers in the value of let `at`, rounds, that others read; false if they read anything else
    /// of it, or nothing.
    bool reads_fields(std::size_t at) {
        const std::size_t before = early_.size();
        bool any = false, all = true;
        const std::function<void(const Expr*)> look = [&](const Expr* e) {
            const Expr* of = e;
            while (of->op == Op::GetField || of->op == Op::Result) of = of->arg(0);
            if (!is_var(of, lets_.symbol(at))) {
                std::ranges::for_each(e->args(), look);
                return;
            }
            any = true;
            if (!e->type->is_scalar()) all = false;
            else if (!is_known(e)) early_.push_back(e);
        };
        for (std::size_t i = at + 1; i < lets_.size(); ++i)
            if (!is_rounds(lets_.value(i))) look(lets_.value(i));
        look(lets_.result());
        if (!all) early_.resize(before);
        return any && all;
    }

    /// Without what is computed early by a name of its own.
    bool is_costly(const Expr* e) {
        if (const auto at = e->op == Op::Var ? movable_.find(e->attr.symbol) : movable_.end();
            at != movable_.end())
            return is_costly(at->second);
        std::int64_t cost = picoseconds(e);
        for (const Expr* value : needed({e}, shared_)) cost += picoseconds(value);
        return cost >= kLeastOfEach;
    }
    bool is_known(const Expr* e) const {
        return std::ranges::any_of(early_, [&](const Expr* other) { return same(other, e); });
    }

    bool is_invariant(const Expr* e) const {
        return std::ranges::none_of(free_symbols(e), [&](const Symbol* s) {
            return s == loop_.elem_param() || s == loop_.index_param() || is_early_.contains(s);
        });
    }
    /// `e` is computed from `part`, or is it.
    bool is_made_of(const Expr* e, const Expr* part) {
        std::vector<const Expr*> all = needed({e});
        all.push_back(e);
        bool any = false;
        for (const Expr* of : all) visit(of, [&](const Expr* x) { any |= same(x, part); });
        return any;
    }

    /// All it asks is whether the index of a merge into a vector, or what that is computed from, lies in a range, which is
    /// so in nearly every round.
    bool guards_index(const Filter& filter) {
        const Expr* index = nullptr;
        visit(filter.work, [&](const Expr* e) {
            const Merge one = e->as<Merge>();
            if (one && one.builder()->type->is_builder() && info(one.builder()->type).indexed &&
                one.value()->op == Op::MakeStruct)
                index = one.value()->arg(0);
        });
        bool all = index && filter.wanted;
        each_condition(filter.cond, [&](const Expr* c) {
            all = all && is_comparison(c->op) && c->op != Op::Eq && c->op != Op::Ne &&
                  ((is_made_of(index, c->arg(0)) && is_invariant(c->arg(1))) ||
                   (is_made_of(index, c->arg(1)) && is_invariant(c->arg(0))));
        });
        return all;
    }

    /// Finds what every round computes.
    void look(const Expr* e) {
        if (e->type->is_scalar() && is_early(e)) {
            if (is_costly(e) && !is_known(e)) early_.push_back(e);
            return;
        }
        for (std::size_t i = 0; i < e->num_args; ++i)
            if (!is_lazy_arg(e, i)) look(e->arg(i));
    }

    /// Lets that are computed early for the sake of others, and read by what is left as well.
    void share(const Expr* e) {
        if (is_known(e)) return;
        const auto at = e->op == Op::Var ? movable_.find(e->attr.symbol) : movable_.end();
        if (at != movable_.end() && looked_at_.insert(at->first).second) {
            if (e->type->is_scalar() && is_early(e) && is_costly(e))
                early_.push_back(e), shared_.insert(e->attr.symbol);
            else share(at->second);
        }
        for (const Expr* a : e->args()) share(a);
    }

    Facts& facts_;
    For loop_;
    Block lets_;
    bool has_rounds_ = false;
    std::size_t num_of_rounds_ = 0;                           // the first of what is early
    std::unordered_map<const Symbol*, const Expr*> movable_;  // scalars, and rounds, by their names
    std::unordered_map<const Symbol*, bool> is_early_;        // of the lets
    std::unordered_set<const Symbol*> looked_at_;
    std::vector<const Expr*> early_;
    std::unordered_set<const Symbol*> shared_;  // names among these that what is left reads, too
};

class Distributor {
  public:
    Distributor(Module& m, Facts& facts) : m_(m), facts_(facts) {}

    const Expr* distributed(const Expr* e) {
        if (const For loop = e->as<For>()) {
            std::vector<const Expr*> args(e->args().begin(), e->args().end());
            args[0] = distributed(args[0]);  // what it begins with is not inside
            const Expr* now = with_args(m_, e, args);
            const Expr* apart = in_parts(loop, now->as<For>().builder());
            return apart ? apart : now;
        }
        return map_args(m_, e, [&](const Expr* a, std::size_t) { return distributed(a); });
    }

    /// `loop` by blocks of rounds, or null.
    const Expr* in_parts(For loop, const Expr* builder);

  private:
    const Expr* i64(std::int64_t n) { return i64_literal(m_, n); }

    const Expr* name(const Expr* e, std::string_view as, Lets& lets) {
        if (is_atom(e)) return e;
        const Symbol* s = m_.symbol(as, e->type);
        lets.emplace_back(s, e);
        return var(m_, s);
    }

    /// Straight code is worth a loop of its own.
    bool pays(For loop, Body& body) {
        const bool filters = !holds_table(loop.node->type) && body.asks_early();
        if (body.early().empty() || (!filters && body.cost() < kLeastOfAll)) return false;
        // of a table, lanes hold the first few groups alone
        return holds_table(loop.node->type) || !can_vectorize(m_, facts_, loop.node);
    }

    /// The vectors that `first`, the early loop, makes, by names.
    std::vector<const Expr*> vectors_of(const Expr* first, const Body& body, Lets& lets) {
        const Expr* all = name(first, "early", lets);
        std::vector<const Expr*> vectors;
        for (std::size_t i = 0; i < body.early().size(); ++i) {
            const Expr* one = body.early().size() > 1 ? get_field(m_, all, i) : all;
            vectors.push_back(name(result(m_, one), "early", lets));
        }
        return vectors;
    }

    /// What is left behind rounds goes over lanes, and takes long.
    bool pays_behind(const Expr* late) {
        const Expr* body = late->as<For>().body().body();
        return !has_loop(body) && picoseconds(body) - without_long_divisions(body) >= kLeastBehind &&
               can_vectorize(m_, facts_, late);
    }

    /// The rounds that are left behind others, `late`, with what takes long in them computed before, on lanes. Null: nothing
    /// does.
    const Expr* behind_lanes(For late, Lets& lets) {
        Body body(facts_, late);
        if (body.early().empty() || body.has_rounds() || body.cost() < kLeastOfAll) return nullptr;
        const Expr* first = early_loop(late, body, i64(0), nullptr);
        if (!can_vectorize(m_, facts_, first)) return nullptr;
        return late_loop(late, body, i64(0), nullptr, vectors_of(first, body, lets), late.builder());
    }

    const Type* appender_of(const Type* elem) { return m_.types.builder(BuilderKind::Appender, {&elem, 1}); }

    /// The vectors of what is computed early, for the rounds [from, to).
    const Expr* early_loop(For loop, Body& body, const Expr* from, const Expr* to) {
        std::vector<const Expr*> builders, merges;
        for (const Expr* e : body.early()) builders.push_back(new_builder(m_, appender_of(e->type)));
        const bool is_one = builders.size() == 1;
        const Expr* start = is_one ? builders[0] : make_struct(m_, builders);
        const Symbol* c = m_.symbol("c", start->type);
        for (std::size_t i = 0; i < body.early().size(); ++i)
            merges.push_back(merge(m_, is_one ? var(m_, c) : get_field(m_, var(m_, c), i), body.early()[i]));
        const Expr* merged = body.before(m_, is_one ? merges[0] : make_struct(m_, merges));
        return fresh(m_, rounds(loop, from, to, {}, merged, c, start));
    }

    /// The rounds [from, to), which find in `early` what was computed before.
    const Expr* late_loop(For loop, Body& body, const Expr* from, const Expr* to,
                          const std::vector<const Expr*>& early, const Expr* builder) {
        std::vector<const Symbol*> names;  // of elements
        for (const Expr* e : body.early()) names.push_back(m_.symbol("e", e->type));
        const Expr* late = body.behind(m_, [&](const Expr* e) {
            return rewrite(m_, e, [&](const Expr* x) -> const Expr* {
                for (std::size_t i = 0; i < early.size(); ++i)
                    if (same(x, body.early()[i])) return var(m_, names[i], x->loc);
                return nullptr;
            });
        });
        std::vector<std::pair<const Symbol*, const Expr*>> more;
        for (std::size_t i = 0; i < early.size(); ++i) more.emplace_back(names[i], early[i]);
        return rounds(loop, from, to, more, late, loop.builder_param(), builder);
    }

    /// The rounds [from, to), or all if `to` is null, with another body, over those of its data that this reads, and `more`
    /// by names.
    const Expr* rounds(For loop, const Expr* from, const Expr* to, const Lets& more, const Expr* body,
                       const Symbol* builder_param, const Expr* builder) {
        const std::vector<const Expr*> own =
            to ? subranges(m_, loop, from, to)
               : std::vector<const Expr*>(loop.data().begin(), loop.data().end());
        std::vector<bool> reads(own.size());
        const auto is_field = [&](const Expr* e) {
            return own.size() > 1 && e->op == Op::GetField && is_var(e->arg(0), loop.elem_param());
        };
        const std::function<void(const Expr*)> look = [&](const Expr* e) {
            if (is_field(e)) reads[std::size_t(e->attr.index)] = true;
            else if (is_var(e, loop.elem_param())) reads.assign(own.size(), true);
            else std::ranges::for_each(e->args(), look);
        };
        look(body);
        if (more.empty() && std::ranges::find(reads, true) == reads.end()) reads[0] = true;

        std::vector<const Expr*> data;
        std::vector<std::size_t> at(own.size());
        for (std::size_t i = 0; i < own.size(); ++i)
            if (reads[i]) at[i] = data.size(), data.push_back(own[i]);
        const std::size_t first = data.size();
        for (const auto& [name, vector] : more) data.push_back(vector);
        std::vector<const Type*> types;
        for (const Expr* d : data) types.push_back(d->type->elem());
        const Symbol* z = m_.symbol("z", types.size() == 1 ? types[0] : m_.types.structure(types));
        const auto element = [&](std::size_t i) {
            return types.size() == 1 ? var(m_, z) : get_field(m_, var(m_, z), i);
        };
        body = rewrite(m_, body, [&](const Expr* e) -> const Expr* {
            if (e->op == Op::GetField && e->arg(0)->op == Op::MakeStruct)
                return e->arg(0)->arg(e->attr.index);
            if (!is_var(e, loop.elem_param())) return nullptr;
            std::vector<const Expr*> all;
            for (std::size_t i = 0; i < own.size(); ++i) all.push_back(element(at[i]));
            return own.size() == 1 ? all[0] : make_struct(m_, all);
        });
        SymbolMap by_names;
        for (std::size_t i = 0; i < more.size(); ++i) by_names[more[i].first] = element(first + i);
        const Symbol* k = m_.symbol(loop.index_param()->name, m_.types.i64());
        body = with_index(m_, loop.index_param(), from, k, substitute(m_, body, by_names));
        const Expr* f = lambda(m_, {builder_param, k, z}, body, loop.body().node->loc);
        return with_annotations(m_, weld::loop(m_, data, builder, f, loop.node->loc), loop.node->annotations);
    }

    Module& m_;
    Facts& facts_;
};

const Expr* Distributor::in_parts(For loop, const Expr* builder) {
    if (!goes_one_by_one(loop) || loop.node->says(AttrKey::Vectorize, false)) return nullptr;
    const Traits& traits = facts_.traits(loop.body().node);
    if (traits.ordered || traits.calls || traits.size > kMostNodes) return nullptr;
    if (!std::ranges::all_of(loop.data(), [&](const Expr* d) { return may_be_cut(facts_, d); }))
        return nullptr;
    Body body(facts_, loop);
    if (has_loop(loop.body().body()) ? !body.has_rounds() || can_vectorize_outer(m_, facts_, loop.node)
                                     : !seeks_keys(loop) || appends(loop.node->type) || !pays(loop, body))
        return nullptr;

    Lets lets, inner;
    if (const Expr* check = length_check(m_, facts_, loop.data(), loop.node->loc)) name(check, "equal", lets);
    const Expr* n = name(trip_count(m_, loop.data()[0]), "n", lets);
    const bool on_lanes =
        !body.has_rounds() || can_vectorize_outer(m_, facts_, early_loop(loop, body, i64(0), nullptr));
    if (!on_lanes) body.keep_rounds_alone();
    const std::int64_t rows = on_lanes || !body.has_rounds_behind() ? body.rows() : kRowsOfSums;
    const Symbol* part = m_.symbol("part", m_.types.i64());
    const Expr* from = name(scalar_op(m_, Op::Mul, {var(m_, part), i64(rows)}), "from", inner);
    const Expr* to = scalar_op(m_, Op::Min, {scalar_op(m_, Op::Add, {from, i64(rows)}), n});
    to = name(to, "to", inner);
    const Expr* first = early_loop(loop, body, from, to);
    if (!body.has_rounds() && !can_vectorize(m_, facts_, first)) return nullptr;
    const std::vector<const Expr*> vectors = vectors_of(first, body, inner);
    const Symbol *b = m_.symbol(loop.builder_param()->name, loop.node->type),
                 *k = m_.symbol("k", m_.types.i64());
    const Expr* late = late_loop(loop, body, from, to, vectors, var(m_, b));
    if (!on_lanes && !pays_behind(late) && !(late = behind_lanes(late->as<For>(), inner))) return nullptr;
    const Expr* f = lambda(m_, {b, k, part}, block(m_, inner, late), loop.body().node->loc);
    const Expr* parts = scalar_op(m_, Op::Add, {n, i64(rows - 1)});
    parts = scalar_op(m_, Op::Div, {parts, i64(rows)});
    const Expr* data[] = {range_iter(m_, IterKind::Scalar, i64(0), parts, i64(1))};
    const Expr* all = weld::loop(m_, data, for_blocks(m_, facts_, loop, builder, rows), f, loop.node->loc);
    return block(m_, lets, annotate(m_, all, AttrKey::Blocks, "true"), loop.node->loc);
}

}  // namespace

bool can_distribute(Module& m, Facts& facts, const Expr* loop) {
    const Expr* plain = flatten(m, lambda(m, {}, loop));
    plain = simplify(m, inline_lets(m, fuse_zip(m, plain)));
    const Expr* body = plain->as<Lambda>().body();
    if (const Block b = body->as<Block>()) body = b.result();
    const For f = body->as<For>();
    return f && Distributor(m, facts).in_parts(f, f.builder()) != nullptr;
}

const Expr* distribute(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    return in_normal_form(m, lambda, Distributor(m, facts).distributed(lambda));
}

}  // namespace weld
