// An `iterate` that seeks an element goes over many elements at a time, on lanes, until one of them may be what it seeks.
//
//     iterate(from, |i| {i + 1L, lookup(x, i) < least && i + 1L < n})
// becomes
//     let few = iterate({from, 0L, true}, |s| (the same rounds, sixteen at most));
//     if(few.$2,
//       (let limit = min(n - 1L, len(x));
//        let at = iterate(few.$0, |j|
//          if(j >= 0L & j < limit,
//            (let end = min(j + 128L, limit);
//             let others = result(for(rangeiter(j, end, 1L), merger[i64,+], |b, n, i|
//               if(lookup(x, i) < least, b, merge(b, 1L))));
//             if(others == 0L, {end, true}, (the least such i, false))),
//            {j, false}));
//        iterate(at, |i| {i + 1L, lookup(x, i) < least && i + 1L < n})),
//       few.$0)
//
// Rounds that go on count by one, and what else they give the state is the same in all of them (`hit = false`, say), so which of
// many is the first that does not go on can be asked of all at once. What they look up lies a fixed distance from the count, and inside; nothing else can fail. Short searches end
// before. After exits, which brings ends to branches; before vectorize.
#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::int64_t kFirst = 16;  // rounds one by one, which most searches end in
constexpr std::int64_t kAtOnce = 128;
constexpr std::int64_t kNarrowAtOnce = 64;   // of less than four bytes: their places are no lanes as narrow
constexpr std::int64_t kFarthest = 1 << 20;  // behind the count, so that nothing wraps around
constexpr std::uint32_t kMostNodes = 64;     // of a round

/// Elements of `of` that a round reads, behind the count.
struct Reads {
    const Expr* of;
    std::int64_t least, most;
};

class Search {
  public:
    Search(Module& m, Facts& facts, Iterate it)
        : m_(m),
          facts_(facts),
          it_(it),
          state_(it.body().param(0)),
          type_(it.node->type),
          inside_(it.body().node) {}

    const Expr* by_lanes() {
        const Expr* body = it_.body().body();
        if (it_.lanes() || type_->holds_builder || counting_of(it_) || facts_.traits(body).heavy ||
            facts_.traits(body).size > kMostNodes || !find_end(body))
            return nullptr;
        if (!is_step(find_asked()) || !reads_nearby(body) || reads_.empty()) return nullptr;
        find_conditions();
        if (conditions_.empty() || needs_whole_state()) return nullptr;
        const Expr* few = few_rounds();
        const Symbol* s = m_.symbol("few", few->type);
        const auto after = [&] { return get_field(m_, var(m_, s), 0); };
        const Expr* at = far(counter(after()), after());
        const Symbol* j = m_.symbol("at", at->type);
        const Expr* rest =
            let(m_, j, at,
                iterate(m_, with_counter(after(), var(m_, j)), fresh(m_, it_.body().node), it_.node->loc));
        return let(m_, s, few, if_(m_, get_field(m_, var(m_, s), 2), rest, after(), it_.node->loc));
    }

  private:
    // ---- what rounds do

    static const Expr* end_of(const Expr* e) {
        const Block b = e->as<Block>();
        return b ? b.result() : e;
    }

    /// Finds the one end of rounds behind which others may follow (`choices_`).
    bool find_end(const Expr* body) {
        const Expr* end = end_of(body);
        if (end->op == Op::MakeStruct) return !is_last(end);
        const If choice = end->as<If>();
        if (!choice) return false;
        for (const bool wanted : {true, false}) {
            if (!is_last(side(choice, !wanted))) continue;
            choices_.push_back(wanted);
            if (find_end(side(choice, wanted))) return true;
            choices_.pop_back();
        }
        return false;
    }

    static const Expr* side(If choice, bool wanted) { return wanted ? choice.then() : choice.otherwise(); }

    static bool is_last(const Expr* side) {
        const Expr* end = end_of(side);
        if (const If choice = end->as<If>()) return is_last(choice.then()) && is_last(choice.otherwise());
        const Literal again = end->op == Op::MakeStruct ? end->arg(1)->as<Literal>() : Literal{};
        return again && !again.bits();
    }

    /// A count that is one more, and beside it what stays, or is the same after all rounds that go on.
    bool is_step(const Expr* next) {
        if (!type_->is_struct()) return type_ == m_.types.i64() && is_one_more(next, nullptr);
        if (next->op != Op::MakeStruct) return false;
        bool counts = false;
        for (std::size_t k = 0; k < next->num_args; ++k) {
            const GetField old = next->arg(k)->as<GetField>();
            if (old && old.index() == k && is_var(old.of(), state_)) continue;
            if (!counts && type_->args[k] == m_.types.i64() && is_one_more(next->arg(k), &k)) {
                counts = true;
                field_ = k;
            } else if (!is_settled(next->arg(k))) {
                return false;
            }
        }
        return counts;
    }

    /// What stays, or says that the round goes on, or does not.
    bool is_settled(const Expr* e) {
        const Expr* value = facts_.resolve(e);
        return stays(value) || std::ranges::any_of(asked_, [&](const auto& asked) {
                   return same(value, asked.first) || are_opposite(value, asked.first);
               });
    }

    static bool are_opposite(const Expr* a, const Expr* b) {
        if (a->op == Op::Not) return same(a->arg(0), b);
        const bool are_equalities =
            (a->op == Op::Eq && b->op == Op::Ne) || (a->op == Op::Ne && b->op == Op::Eq);
        return are_equalities && same(a->arg(0), b->arg(0)) && same(a->arg(1), b->arg(1));
    }

    bool is_one_more(const Expr* e, const std::size_t* field) {
        const Expr* sum = facts_.resolve(e);
        if (sum->op != Op::Add || !is_int(sum->arg(1), 1)) return false;
        const Expr* old = sum->arg(0);
        if (!field) return is_var(old, state_);
        return old->op == Op::GetField && std::size_t(old->attr.index) == *field &&
               is_var(old->arg(0), state_);
    }

    const Expr* counter(const Expr* state) {
        return type_->is_struct() ? get_field(m_, state, field_) : state;
    }

    const Expr* with_counter(const Expr* state, const Expr* count) {
        if (!type_->is_struct()) return count;
        std::vector<const Expr*> fields;
        for (std::size_t k = 0; k < type_->args.size(); ++k)
            fields.push_back(k == field_ ? count : get_field(m_, state, k));
        return make_struct(m_, fields);
    }

    /// Nothing but look-ups a fixed distance from the count can fail.
    bool reads_nearby(const Expr* e) {
        if (e->op == Op::Lookup && e->arg(0)->type->is_vec()) {
            const std::optional<std::int64_t> away = distance(e->arg(1));
            if (!away || !is_path(e->arg(0)) || inside_.hold(base_of(e->arg(0))) || !e->type->is_scalar())
                return false;
            note(e->arg(0), *away);
        } else if (e->op != Op::Block && e->op != Op::If && facts_.own_traits(e).fails) {
            return false;
        }
        return std::ranges::all_of(e->args(), [&](const Expr* a) { return reads_nearby(a); });
    }

    std::optional<std::int64_t> distance(const Expr* place) {
        const std::optional<Count> at = facts_.count(place), count = facts_.count(counter(var(m_, state_)));
        const std::optional<std::int64_t> away = at && count ? (*at - *count).known() : std::nullopt;
        return away && -kFarthest <= *away && *away <= kFarthest ? away : std::nullopt;
    }

    void note(const Expr* of, std::int64_t away) {
        for (Reads& r : reads_)
            if (same(r.of, of)) {
                r.least = std::min(r.least, away), r.most = std::max(r.most, away);
                return;
            }
        reads_.push_back({of, away, away});
    }

    // ---- rounds one by one, few of them

    const Expr* few_rounds() {
        const Expr* begin = make_struct(m_, {it_.init(), i64_literal(m_, 0), bool_literal(m_, true)});
        const Symbol* s = m_.symbol(state_->name, begin->type);
        const Expr* body =
            fresh(m_, substitute(m_, it_.body().body(), {{state_, get_field(m_, var(m_, s), 0)}}));
        return iterate(m_, begin, lambda(m_, {s}, counted(body, s)), it_.node->loc);
    }

    const Expr* counted(const Expr* e, const Symbol* s) {
        if (e->op != Op::MakeStruct)
            return map_args(m_, e, [&](const Expr* a, std::size_t i) {
                return (e->op == Op::Block ? i + 1 == e->num_args : i > 0) ? counted(a, s) : a;
            });
        const Expr *rounds = get_field(m_, var(m_, s), 1), *again = e->arg(1);
        const Expr* all =
            make_struct(m_, {e->arg(0), scalar_op(m_, Op::Add, {rounds, i64_literal(m_, 1)}), again});
        const Expr* more = scalar_op(m_, Op::Lt, {rounds, i64_literal(m_, kFirst - 1)});
        if (again->op == Op::Literal) return make_struct(m_, {all, again->attr.bits ? more : again});
        const Symbol* name = m_.symbol("again", again->type);
        all = make_struct(m_, {all->arg(0), all->arg(1), var(m_, name)});
        return let(m_, name, again, make_struct(m_, {all, scalar_op(m_, Op::BitAnd, {var(m_, name), more})}));
    }

    // ---- many at a time

    /// The count of the first round from `begin` on that does not go on, or before which one looks up what is not there;
    /// `state`: where its other fields are.
    const Expr* far(const Expr* begin, const Expr* state) {
        const Symbol *j = m_.symbol("j", m_.types.i64()), *limit = m_.symbol("limit", m_.types.i64());
        const Symbol *end = m_.symbol("end", m_.types.i64()), *others = m_.symbol("others", m_.types.i64());
        const Expr* here = var(m_, j);
        const auto goes = [&](const Expr* to, bool on) {
            return make_struct(m_, {to, bool_literal(m_, on)});
        };
        const bool are_narrow = std::ranges::any_of(
            reads_, [](const Reads& r) { return size_of(r.of->type->elem()->scalar) < 4; });
        const Expr* next =
            scalar_op(m_, Op::Add, {here, i64_literal(m_, are_narrow ? kNarrowAtOnce : kAtOnce)});
        const auto seek = [&](MergeOp op) { return others_in(here, var(m_, end), state, op); };
        const Expr* found =
            let(m_, others, seek(MergeOp::Add),
                if_(m_, scalar_op(m_, Op::Eq, {var(m_, others), i64_literal(m_, 0)}),
                    goes(var(m_, end), true), are_narrow ? goes(here, false) : first_of(seek(MergeOp::Min))));
        const Expr* asks = let(m_, end, scalar_op(m_, Op::Min, {next, var(m_, limit)}), found);
        const Expr* inside = scalar_op(m_, Op::BitAnd,
                                       {scalar_op(m_, Op::Ge, {here, i64_literal(m_, -least())}),
                                        scalar_op(m_, Op::Lt, {here, var(m_, limit)})});
        const Expr* round = if_(m_, inside, asks, goes(here, false));
        return let(m_, limit, end_of_reads(), iterate(m_, begin, lambda(m_, {j}, round), it_.node->loc));
    }

    const Expr* first_of(const Expr* found) {
        const Symbol* first = m_.symbol("first", found->type);
        return let(m_, first, found, make_struct(m_, {var(m_, first), bool_literal(m_, false)}));
    }

    std::int64_t least() const {
        return std::ranges::min(reads_, {}, [](const Reads& r) { return r.least; }).least;
    }

    /// Rounds of smaller counts look up nothing behind the end of a vector, and have not come to a limit.
    const Expr* end_of_reads() {
        std::vector<const Expr*> ends = limits_;
        for (const Reads& r : reads_) {
            const Expr* own = len(m_, r.of);
            ends.push_back(r.most ? scalar_op(m_, Op::Sub, {own, i64_literal(m_, r.most)}) : own);
        }
        const Expr* end = nullptr;
        for (const Expr* one : ends)
            if (!end || !same(end, one)) end = end ? scalar_op(m_, Op::Min, {end, one}) : one;
        return end;
    }

    /// Of the rounds with the counts [begin, end) that do not go on: how many they are (Add), or the first (Min).
    const Expr* others_in(const Expr* begin, const Expr* end, const Expr* state, MergeOp op) {
        const Type* number = m_.types.i64();
        const Type* sum = m_.types.builder(BuilderKind::Merger, {&number, 1}, op);
        const Symbol *b = m_.symbol("b", sum), *n = m_.symbol("n", number), *i = m_.symbol("i", number);
        const Expr* goes_on = fresh(m_, outside(condition(), var(m_, i), state));
        const Expr* value = op == MergeOp::Add ? i64_literal(m_, 1) : var(m_, i);
        const Expr* body = if_(m_, goes_on, var(m_, b), merge(m_, var(m_, b), value));
        const Expr* range = range_iter(m_, IterKind::Scalar, begin, end, i64_literal(m_, 1));
        return result(
            m_, loop(m_, std::vector<const Expr*>{range}, new_builder(m_, sum), lambda(m_, {b, n, i}, body)));
    }

    // ---- that a round goes on

    /// Finds what a round that goes on asks (`asked_`). The state behind it.
    const Expr* find_asked() {
        const Expr* end = end_of_lets(it_.body().body());
        for (const bool wanted : choices_) {
            const If choice = end->as<If>();
            ask(choice.cond(), wanted);
            end = end_of_lets(side(choice, wanted));
        }
        ask(end->arg(1), true);
        return end->arg(0);
    }

    const Expr* end_of_lets(const Expr* e) {
        const Block b = e->as<Block>();
        for (std::size_t i = 0; b && i < b.size(); ++i) lets_.emplace_back(b.symbol(i), b.value(i));
        return end_of(e);
    }

    /// All that has to hold so that `cond` comes out as wanted.
    void ask(const Expr* cond, bool wanted) {
        const Expr* e = facts_.resolve(cond);
        if (e->op == Op::Not) return ask(e->arg(0), !wanted);
        if (e->op == Op::Literal && bool(e->attr.bits) == wanted) return;
        const bool all =
            wanted ? e->op == Op::And || e->op == Op::BitAnd : e->op == Op::Or || e->op == Op::BitOr;
        if (all) return ask(e->arg(0), wanted), ask(e->arg(1), wanted);
        asked_.emplace_back(e, wanted);
    }

    /// How far the count has come, and what is asked beside that (`limits_`, `conditions_`).
    void find_conditions() {
        for (const auto& [cond, wanted] : asked_) {
            if (note_limit(cond, wanted)) continue;
            const Expr* safe = rewrite(m_, cond, [&](const Expr* part) -> const Expr* {  // nothing fails
                if (part->op != Op::And && part->op != Op::Or) return nullptr;
                return scalar_op(m_, part->op == Op::And ? Op::BitAnd : Op::BitOr,
                                 {part->arg(0), part->arg(1)}, part->loc);
            });
            conditions_.push_back(wanted ? safe : scalar_op(m_, Op::Not, {safe}));
        }
    }

    /// The count, or a little more, is less than what stays.
    bool note_limit(const Expr* e, bool wanted) {
        if (e->num_args != 2 || e->arg(0)->type != m_.types.i64()) return false;
        const bool less = e->op == Op::Lt || e->op == Op::Le, greater = e->op == Op::Gt || e->op == Op::Ge;
        if (!less && !greater) return false;
        const bool is_left = less == wanted;  // the count
        const Expr *count = e->arg(is_left ? 0 : 1), *limit = e->arg(is_left ? 1 : 0);
        const std::optional<std::int64_t> away = distance(count);
        if (!away || !stays(limit)) return false;
        const bool is_strict = (e->op == Op::Lt || e->op == Op::Gt) == wanted;
        constexpr std::int64_t least =
            -(std::int64_t(1) << 40);  // with a little less it does not wrap around
        const Expr* safe =
            limit->op == Op::Len ? limit : scalar_op(m_, Op::Max, {limit, i64_literal(m_, least)});
        const std::int64_t less_by = *away - !is_strict;
        limits_.push_back(less_by ? scalar_op(m_, Op::Sub, {safe, i64_literal(m_, less_by)}) : safe);
        return true;
    }

    bool stays(const Expr* e) { return facts_.traits(e).free_to_repeat() && !inside_.are_read_by(e); }

    /// Conditions read the state otherwise than field by field.
    bool needs_whole_state() {
        std::ptrdiff_t others = 0;
        visit(condition(), [&](const Expr* e) {
            others += is_var(e, state_);
            others -= e->op == Op::GetField && is_var(e->arg(0), state_);
        });
        return type_->is_struct() && others != 0;
    }

    /// That a round goes on, where nothing fails and the count has not come to a limit.
    const Expr* condition() {
        const Expr* all = nullptr;
        for (const Expr* cond : conditions_) all = all ? scalar_op(m_, Op::BitAnd, {all, cond}) : cond;
        for (const auto& [name, value] : lets_ | std::views::reverse)
            if (mentions(all, name)) all = let(m_, name, value, all);
        return all;
    }

    /// `e` of a round whose count is `count`, outside of the rounds.
    const Expr* outside(const Expr* e, const Expr* count, const Expr* state) {
        if (!type_->is_struct()) return substitute(m_, e, {{state_, count}});
        return rewrite(m_, e, [&](const Expr* part) -> const Expr* {
            const GetField field = part->as<GetField>();
            if (!field || !is_var(field.of(), state_)) return nullptr;
            return field.index() == field_ ? count : get_field(m_, state, field.index());
        });
    }

    Module& m_;
    Facts& facts_;
    Iterate it_;
    const Symbol* state_;
    const Type* type_;
    BoundNames inside_;          ///< what rounds bind
    std::size_t field_ = 0;      ///< of the state that counts
    std::vector<bool> choices_;  ///< what conditions, one behind the other, have to be for rounds to go on
    std::vector<std::pair<const Symbol*, const Expr*>> lets_;  ///< of rounds that go on
    std::vector<Reads> reads_;
    std::vector<std::pair<const Expr*, bool>> asked_;  ///< what comes out so in rounds that go on
    std::vector<const Expr*> conditions_;              ///< all hold where a round goes on
    std::vector<const Expr*> limits_;                  ///< that the count stays below, as well
};

}  // namespace

const Expr* search(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const Iterate it = e->as<Iterate>();
        return it ? Search(m, facts, it).by_lanes() : nullptr;
    });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
