// What a block reads of a vector is read before the block changes it, so that it changes in place (`reuse`).
//
//     iterate({v, 0L}, |s|
//       let t = result(merge(vecsetter[i64](s.$0), {s.$1, 7L}));
//       {{t, s.$1 + 1L}, lookup(s.$0, s.$1) > 0L})
// becomes
//     iterate({v, 0L}, |s|
//       let x = lookup(s.$0, s.$1);
//       let t = result(merge(vecsetter[i64](s.$0), {s.$1, 7L}));
//       {{t, s.$1 + 1L}, x > 0L})
//
// So does what a change reads between its merges, as where two elements change places:
//
//     result(merge(merge(vecsetter[i64](v), {i, lookup(v, j)}), {j, lookup(v, i)}))
// becomes
//     let x = lookup(v, i);
//     result(merge(merge(vecsetter[i64](v), {i, lookup(v, j)}), {j, x}))
//
// So an iterate may ask its state about what the round has just changed, and need not copy it in each round.
// Look-ups move that the block makes in any case, with the scalars that they read, unless an effect stands
// between; those of an `if` or a `&&` move with that. Of two failures another one may be reported.
#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/moved_lets.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::size_t kMostLets = 256;  // behind a change that are looked at

/// The lets behind one that changes vectors, and what moves before that.
class Behind {
  public:
    Behind(Module& m, Facts& facts, const std::vector<const Expr*>& changed, const Symbol* name)
        : m_(m), facts_(facts), changed_(changed), late_{name} {}

    /// Takes the lets `all`, of which the first `end` may read, and the result behind them, if that may. They stay
    /// without what moves.
    void take(std::span<const std::pair<const Symbol*, const Expr*>> all, std::size_t end,
              const Expr** result) {
        std::size_t i = 0;
        for (; i < end && !facts_.traits(all[i].second).ordered; ++i) {
            const auto& [s, value] = all[i];
            if (!may_move(value)) {
                staying.emplace_back(s, without_reads(value));
                late_.insert(s);
                continue;
            }
            staying.emplace_back(s, value);
            moved.wait(s, value);
            if (reads(value)) moved.pull(s);
        }
        if (result && i == all.size()) *result = without_reads(*result);
        staying.insert(staying.end(), all.begin() + std::ptrdiff_t(i), all.end());
        std::erase_if(staying, [&](const auto& let) { return moved.pulled(let.first); });
    }

    /// `e`, a value that changes vectors by several merges: what the later ones read moves.
    const Expr* with_reads_before(const Expr* e) {
        if (e->op == Op::Result)
            return map_args(m_, e, [&](const Expr* a, std::size_t) { return with_reads_before(a); });
        if (e->op != Op::Merge || e->arg(0)->op == Op::NewBuilder) return e;
        return map_args(
            m_, e, [&](const Expr* a, std::size_t i) { return i ? without_reads(a) : with_reads_before(a); });
    }

    MovedLets moved;
    Lets staying;

  private:
    /// A scalar that follows from what is known before the change.
    bool may_move(const Expr* value) {
        const Traits& traits = facts_.traits(value);
        return value->type->is_scalar() && !traits.heavy && !traits.calls && !traits.builds &&
               is_early(value);
    }

    bool is_early(const Expr* e) const {
        return std::ranges::none_of(free_symbols(e), [&](const Symbol* s) { return late_.contains(s); });
    }

    /// `e` looks something up in a vector that changes.
    bool is_read(const Expr* e) const {
        return e->op == Op::Lookup &&
               std::ranges::any_of(changed_, [&](const Expr* v) { return same(v, e->arg(0)); });
    }
    bool reads(const Expr* e) const {
        return is_read(e) || std::ranges::any_of(e->args(), [&](const Expr* a) { return reads(a); });
    }

    /// `e` looks something up in one if a condition holds.
    bool may_read(const Expr* e) const {
        for (std::size_t i = 0; i < e->num_args; ++i)
            if (is_lazy_arg(e, i) && reads(e->arg(i))) return true;
        return false;
    }

    /// `e` with names for the look-ups that move, with their conditions.
    const Expr* without_reads(const Expr* e) {
        if ((is_read(e) || may_read(e)) && may_move(e)) {
            const Symbol* name = m_.symbol("x", e->type);
            moved.pull_for(e);
            moved.all.emplace_back(name, e);
            return var(m_, name);
        }
        return map_args(
            m_, e, [&](const Expr* a, std::size_t i) { return is_lazy_arg(e, i) ? a : without_reads(a); });
    }

    Module& m_;
    Facts& facts_;
    const std::vector<const Expr*>& changed_;
    std::unordered_set<const Symbol*> late_;
};

/// The vectors that `e` begins to change, but in loops inside.
void find_changed(const Expr* e, std::vector<const Expr*>& all) {
    if (e->op == Op::Lambda) return;
    if (e->op == Op::NewBuilder && info(e->type).indexed && is_path(e->arg(0))) all.push_back(e->arg(0));
    for (const Expr* a : e->args()) find_changed(a, all);
}

/// The lets of a block, those first that read what others change.
class Ordered {
  public:
    Ordered(Module& m, Facts& facts, Block b) : m_(m), facts_(facts), result_(b.result()) {
        for (std::size_t i = 0; i < b.size(); ++i) lets_.emplace_back(b.symbol(i), b.value(i));
    }

    /// Null if none moves.
    const Expr* block(Loc loc) {
        bool any = false;
        for (std::size_t k = 0; k < lets_.size(); ++k) {
            std::vector<const Expr*> changed;
            find_changed(lets_[k].second, changed);
            if (changed.empty() || facts_.traits(lets_[k].second).ordered) continue;
            any |= move_out(&k, changed);
            any |= move_before(&k, changed);
        }
        return any ? weld::block(m_, lets_, result_, loc) : nullptr;
    }

  private:
    /// What the change itself reads between its merges.
    bool move_out(std::size_t* k, const std::vector<const Expr*>& changed) {
        auto& [name, value] = lets_[*k];
        Behind behind(m_, facts_, changed, name);
        value = behind.with_reads_before(value);
        const Lets& moved = behind.moved.all;
        lets_.insert(lets_.begin() + std::ptrdiff_t(*k), moved.begin(), moved.end());
        *k += moved.size();
        return !moved.empty();
    }

    bool move_before(std::size_t* k, const std::vector<const Expr*>& changed) {
        const std::size_t rest = lets_.size() - *k - 1;
        const auto all = std::span(lets_).subspan(*k + 1, std::min(rest, kMostLets));
        std::size_t end = 0;
        bool in_result = false;
        for (const Expr* v : changed) {
            const std::optional<const Symbol*> found = last_reader(base_of(v));
            if (!found) continue;  // bound within the let
            const Symbol* last = *found;
            in_result |= !last && rest == all.size();
            const auto at = std::ranges::find(all, last, &Lets::value_type::first);
            if (last && at != all.end()) end = std::max(end, std::size_t(at - all.begin()) + 1);
        }
        if (in_result) end = all.size();
        const auto change = lets_[*k];
        Behind behind(m_, facts_, changed, change.first);
        const Expr* result = result_;
        behind.take(all, end, in_result ? &result : nullptr);
        Lets& moved = behind.moved.all;
        if (moved.empty()) return false;
        result_ = result;
        const auto at = lets_.begin() + std::ptrdiff_t(*k);
        moved.push_back(change);
        *k += moved.size() - 1;
        std::ranges::copy(behind.staying, std::back_inserter(moved));
        const auto after = lets_.erase(at, at + 1 + std::ptrdiff_t(all.size()));
        lets_.insert(after, moved.begin(), moved.end());
        return true;
    }

    /// The name of the last let that reads `s`, at the beginning; null if the result does.
    std::optional<const Symbol*> last_reader(const Symbol* s) {
        if (last_readers_.empty()) {
            const auto note = [&](const Expr* e, const Symbol* name) {
                for (const Symbol* read : free_symbols(e)) last_readers_[read] = name;
            };
            for (const auto& [name, value] : lets_) note(value, name);
            note(result_, nullptr);
        }
        const auto found = last_readers_.find(s);
        return found == last_readers_.end() ? std::nullopt : std::optional(found->second);
    }

    Module& m_;
    Facts& facts_;
    Lets lets_;
    const Expr* result_;
    std::unordered_map<const Symbol*, const Symbol*> last_readers_;
};

}  // namespace

const Expr* read_first(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const Block b = e->as<Block>();
        return b ? Ordered(m, facts, b).block(e->loc) : nullptr;
    });
}

}  // namespace weld
