// What ends an `iterate` is asked once: a round that chooses its next state by the same condition is its last, or is none.
//
//     iterate(0L, |i| (let bad = lookup(x, i) < 0.0; {if(bad, i, i + 1L), !bad && i < n}))
// becomes
//     iterate(0L, |i| (let bad = lookup(x, i) < 0.0; if(bad, {i, false}, {i + 1L, i < n})))
//
// The next round would wait for the condition otherwise; a processor guesses the branch that ends the rounds. From the first
// let that chooses, all goes to both sides, if that is not much. After short-circuit, which changes conditions; before
// predicate, which selects what is left.
#include <algorithm>
#include <optional>

#include "weldir/ir/loop_forms.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::uint32_t kMostNodes = 48;  // that stand on both sides

/// Rounds go on only where `cond` comes out so.
struct Demanded {
    const Expr* cond;
    bool wanted;
};

/// The part of `cond`, all of which must hold, that is `demanded` is left out.
class Remainder {
  public:
    Remainder(Module& m, Demanded demanded) : m_(m), demanded_(demanded) {}

    const Expr* of(const Expr* cond) {
        if (is_demand(cond)) return bool_literal(m_, true, cond->loc);
        if (cond->op != Op::And && cond->op != Op::BitAnd) return cond;
        const Expr *left = of(cond->arg(0)), *right = of(cond->arg(1));
        if (is_true(left)) return right;
        if (is_true(right)) return left;
        return scalar_op(m_, cond->op, {left, right}, cond->loc);
    }

  private:
    static bool is_true(const Expr* e) { return e->op == Op::Literal && e->attr.bits; }

    bool is_demand(const Expr* cond) const {
        return demanded_.wanted ? same(cond, demanded_.cond)
                                : cond->op == Op::Not && same(cond->arg(0), demanded_.cond);
    }

    Module& m_;
    Demanded demanded_;
};

bool is_choice(const Expr* e, const Expr* cond) {
    return (e->op == Op::If || e->op == Op::Select) && same(e->arg(0), cond);
}

bool chooses(const Expr* e, const Expr* cond) {
    return is_choice(e, cond) ||
           std::ranges::any_of(e->args(), [&](const Expr* a) { return chooses(a, cond); });
}

class Round {
  public:
    Round(Module& m, Facts& facts, const Expr* body) : m_(m), facts_(facts), lets_(body->as<Block>()) {
        if (lets_)
            for (std::size_t i = 0; i < lets_.size(); ++i) steps_.push_back(lets_.value(i));
        steps_.push_back(lets_ ? lets_.result() : body);
    }

    /// The body with a branch that ends the rounds; null where nothing chooses by what does.
    const Expr* with_exit() {
        const Expr* end = steps_.back();
        if (end->op != Op::MakeStruct) return nullptr;
        find_exit(end->arg(1));
        if (!exit_) return nullptr;
        Lets before;
        for (std::size_t i = 0; i < first_; ++i) before.emplace_back(lets_.symbol(i), lets_.value(i));
        const Expr *last = side(false), *next = fresh(m_, side(true));
        const Expr* choice = exit_->wanted ? if_(m_, exit_->cond, next, last, end->loc)
                                           : if_(m_, exit_->cond, last, next, end->loc);
        return block(m_, before, choice, end->loc);
    }

  private:
    /// The first part of `again` that will do, if none before it can fail. Returns whether to look further.
    bool find_exit(const Expr* again) {
        if (again->op == Op::And || (again->op == Op::BitAnd && !facts_.traits(again).fails))
            return find_exit(again->arg(0)) && find_exit(again->arg(1));
        const bool wanted = again->op != Op::Not;
        note({wanted ? again : again->arg(0), wanted});
        return !exit_ && !facts_.traits(again).fails;
    }

    /// Takes `demanded` for the exit, if what is chosen by it may stand twice.
    void note(Demanded demanded) {
        const auto is_chosen = [&](const Expr* step) { return chooses(step, demanded.cond); };
        const auto first = std::ranges::find_if(steps_, is_chosen);
        if (first == steps_.end() || !facts_.traits(demanded.cond).free_to_repeat()) return;
        if (*first == steps_.back() && !is_chosen(steps_.back()->arg(0))) return;
        std::uint32_t nodes = 0;
        for (auto step = first; step != steps_.end(); ++step) {
            nodes += facts_.traits(*step).size;
            if (facts_.traits(*step).heavy) return;
        }
        if (nodes > kMostNodes) return;
        exit_ = demanded;
        first_ = std::size_t(first - steps_.begin());
    }

    /// All from the first choice on, of rounds after which another one may follow, or of the last.
    const Expr* side(bool goes_on) {
        const auto chosen = [&](const Expr* step) {
            return rewrite(m_, step, [&](const Expr* e) -> const Expr* {
                if (!is_choice(e, exit_->cond)) return nullptr;
                return e->arg(goes_on == exit_->wanted ? 1 : 2);
            });
        };
        Lets lets;
        for (std::size_t i = first_; i + 1 < steps_.size(); ++i)
            lets.emplace_back(lets_.symbol(i), chosen(lets_.value(i)));
        const Expr* end = steps_.back();
        const Expr* again =
            goes_on ? Remainder(m_, *exit_).of(chosen(end->arg(1))) : bool_literal(m_, false, end->loc);
        return block(m_, lets, make_struct(m_, {chosen(end->arg(0)), again}, end->loc), end->loc);
    }

    Module& m_;
    Facts& facts_;
    Block lets_;
    std::vector<const Expr*> steps_;  ///< values of the lets, and what the round gives
    std::optional<Demanded> exit_;
    std::size_t first_ = 0;  ///< of the steps that choose
};

}  // namespace

const Expr* exits(Module& m, const Expr* lambda) {
    Facts facts(m, lambda);
    const Expr* now = rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const Iterate it = e->as<Iterate>();
        if (!it || counting_of(it)) return nullptr;
        const Expr* body = Round(m, facts, it.body().body()).with_exit();
        return body ? with_body(m, e, body) : nullptr;
    });
    return in_normal_form(m, lambda, now);
}

}  // namespace weld
