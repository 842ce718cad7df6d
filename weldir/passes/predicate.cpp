// Predication: both sides are evaluated and one is taken.
//
//     let y = if(x > 0.0, x * 2.0, 0.0);
//     if(c, @(predicate:true) if(x > 10, merge(b, x), b))
// becomes
//     let y = select(x > 0.0, x * 2.0, 0.0);
//     merge(b, select(x > 10, x, 0))
//
// Values: where both sides are a few cheap operations that cannot fail; `@(predicate:true)` allows costly
// ones, `@(predicate:false)` keeps the branch. So does what ends an iterate on one side: the next round would
// wait for the condition, which a processor guesses well.
//
//     iterate(0L, |i| if(lookup(x, i) == v, {i, false}, {i + 1L, true}))     # stays
//
// Merges: only where asked for, into mergers of integers, whose neutral value leaves every state as it is (a
// float sum of -0.0 would become 0.0; vectorize uses masks, which need no neutral value).
#include "weldir/ir/builder.h"
#include "weldir/ir/scalar.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/cheap.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

constexpr std::uint32_t kMostNodes = 12;

class Predicator {
  public:
    Predicator(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {}

    /// `state`: `e` is what a round of an iterate gives, whose state that is.
    const Expr* all(const Expr* e, const Symbol* state = nullptr) {
        const Expr* now = map_args(m_, e, [&](const Expr* a, std::size_t i) {
            if (const Lambda round = a->as<Lambda>(); round && e->op == Op::Iterate)
                return all(a, round.param(0));
            return all(a, state && is_result(e, i) ? state : nullptr);
        });
        if (state && is_exit(now->as<If>(), state)) return now;
        const Expr* by = predicated(now);
        return by ? by : now;
    }

  private:
    /// What `e` gives is its argument `i`, if it comes there.
    static bool is_result(const Expr* e, std::size_t i) {
        switch (e->op) {
            case Op::Lambda: return true;
            case Op::Block: return i + 1 == e->num_args;
            case Op::If: return i > 0;
            default: return false;
        }
    }

    /// A round that gives `side` is the last one, or the last but one: its state stays, but for what is set to a
    /// constant.
    static bool is_last(const Expr* side, const Symbol* state) {
        if (const Block b = side->as<Block>()) side = b.result();
        if (const If choice = side->as<If>())
            return is_last(choice.then(), state) && is_last(choice.otherwise(), state);
        if (side->op != Op::MakeStruct) return false;
        const Literal again = side->arg(1)->as<Literal>();
        return again && (!again.bits() || stays(side->arg(0), state));
    }

    static bool stays(const Expr* next, const Symbol* state) {
        if (next->op != Op::MakeStruct) return is_var(next, state);
        for (std::size_t i = 0; i < next->num_args; ++i) {
            const GetField old = next->arg(i)->as<GetField>();
            const bool is_old = old && old.index() == i && is_var(old.of(), state);
            if (!is_old && next->arg(i)->op != Op::Literal) return false;
        }
        return true;
    }

    static bool is_exit(If choice, const Symbol* state) {
        return choice && is_last(choice.then(), state) != is_last(choice.otherwise(), state);
    }

    const Expr* predicated(const Expr* e) {
        const If choice = e->as<If>();
        if (!choice || e->says(AttrKey::Predicate, false)) return nullptr;
        if (e->type->holds_builder) return e->says(AttrKey::Predicate, true) ? merged(choice) : nullptr;
        if (e->type->holds_pointer || !is_fit(choice.then(), e) || !is_fit(choice.otherwise(), e))
            return nullptr;
        return select(m_, choice.cond(), choice.then(), choice.otherwise(), e->loc);
    }

    bool is_fit(const Expr* side, const Expr* branch) {
        if (branch->says(AttrKey::Predicate, true)) return facts_.traits(side).free_to_repeat();
        return facts_.traits(side).size <= kMostNodes && is_cheap(facts_, side);
    }

    /// `if(c, merge(b, v), b)` and the other way round.
    const Expr* merged(If choice) {
        const bool then = choice.then()->op == Op::Merge;
        const Merge one = (then ? choice.then() : choice.otherwise())->as<Merge>();
        const Expr* none = then ? choice.otherwise() : choice.then();
        if (!one || one.mask() || !is_path(none) || !same(one.builder(), none)) return nullptr;
        const Type *b = none->type, *v = one.value()->type;
        if (!is_value(info(b)) || !v->is_scalar() || !info(b->builder).exact(b) || is_float(v->scalar))
            return nullptr;
        if (!facts_.traits(one.value()).free_to_repeat()) return nullptr;
        const Expr* neutral = literal(m_, v, identity_bits(b->op, v->scalar));
        const Expr* value = then ? select(m_, choice.cond(), one.value(), neutral)
                                 : select(m_, choice.cond(), neutral, one.value());
        return merge(m_, none, value, nullptr, one.node->loc);
    }

    Module& m_;
    Facts facts_;
};

}  // namespace

const Expr* predicate(Module& m, const Expr* lambda) {
    Predicator predicator(m, lambda);
    return in_normal_form(m, lambda, predicator.all(lambda));
}

}  // namespace weld
