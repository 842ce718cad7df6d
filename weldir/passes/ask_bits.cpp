// Loops that look for keys, and do nothing in rounds that find none, ask a filter of bits first.
//
//     for(ks, merger[f64,+], |b, i, k|
//       let o = optlookup(d, k);
//       if(o.$0, merge(b, o.$1), b))
// becomes
//     let bits = cudf[weld_key_bits,{vec[u64],i64}](d, len(ks));
//     for(ks, merger[f64,+], |b, i, k|
//       if(keyexists(d, k, bits),
//         let o = optlookup(d, k);
//         if(o.$0, merge(b, o.$1), b),
//         b))
//
// The bits, four for each slot of the index (a Bloom filter with one hash), say of most keys that are not in the
// dictionary that they are not, and stay in the cache where the dictionary does not. select-rounds makes of
// the condition that only rounds which may find something look them up. Conditions on the way to the look-up
// are asked along with it.
//
// For keys of integers and floats, in loops that are in no other one: making the bits takes a walk over the
// index. The kernel makes none where that would not pay.
#include "weldir/ir/kernels.h"
#include "weldir/ir/keys.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/lengths.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

/// A key that rounds do nothing without.
class Sought {
  public:
    explicit Sought(For f) : loop_(f) { find(f.body().body()); }

    explicit operator bool() const { return dict_ != nullptr; }
    const Expr* dict() const { return dict_; }

    /// `body`, if the key may be there by `bits` and all that is asked before holds.
    const Expr* asked(Module& m, const Expr* bits, const Expr* body) const {
        const Expr* holds = key_exists(m, dict_, key_, key_->loc, bits);
        for (std::size_t i = conditions_.size(); i-- > 0;)
            holds = scalar_op(m, Op::BitAnd, {conditions_[i], holds});
        Lets needed;
        std::vector<const Symbol*> read = free_symbols(holds);
        for (std::size_t i = lets_.size(); i-- > 0;) {
            if (std::ranges::find(read, lets_[i].first) == read.end()) continue;
            std::ranges::copy(free_symbols(lets_[i].second), std::back_inserter(read));
            needed.insert(needed.begin(), lets_[i]);
        }
        const Expr* condition = fresh(m, block(m, needed, holds));
        const Block own = condition->as<Block>();
        const Expr* choice = if_(m, own ? own.result() : condition, body, var(m, loop_.builder_param()));
        Lets lets;
        for (std::size_t i = 0; own && i < own.size(); ++i) lets.emplace_back(own.symbol(i), own.value(i));
        return block(m, lets, choice);
    }

  private:
    /// Follows the conditions without which a round leaves the builder alone.
    void find(const Expr* e) {
        if (const Block b = e->as<Block>()) {
            for (std::size_t i = 0; i < b.size(); ++i) {
                if (!is_movable(b.value(i))) return;
                lets_.emplace_back(b.symbol(i), b.value(i));
            }
            return find(b.result());
        }
        const If choice = e->as<If>();
        if (!choice || !is_var(choice.otherwise(), loop_.builder_param()) || !is_movable(choice.cond()))
            return;
        if (find_key(choice.cond())) return;
        if (!is_early(choice.cond())) return;
        conditions_.push_back(choice.cond());
        find(choice.then());
    }

    /// `cond` holds only where a key is found.
    bool find_key(const Expr* cond) {
        if (cond->op == Op::And || cond->op == Op::BitAnd)
            return find_key(cond->arg(0)) || find_key(cond->arg(1));
        if (const KeyExists k = cond->as<KeyExists>()) return !k.bits() && note(k.of(), k.key());
        if (cond->op != Op::GetField || cond->attr.index != 0) return false;
        const OptLookup found = value_of(cond->arg(0))->as<OptLookup>();
        return found && note(found.of(), found.key());
    }

    bool note(const Expr* dict, const Expr* key) {
        if (dict->op != Op::Var || BoundNames(loop_.node).are_read_by(dict)) return false;
        if (!dict->type->is_dict() || !is_partitioned(key->type) || !is_early(key)) return false;
        dict_ = dict;
        key_ = key;
        return true;
    }

    /// What `e` is, if it names a value of the body.
    const Expr* value_of(const Expr* e) const {
        for (const auto& [symbol, value] : lets_)
            if (is_var(e, symbol)) return value;
        return e;
    }

    /// A few operations on the element and on what is there before the loop.
    bool is_early(const Expr* e) const {
        return is_straight_line(e) && std::ranges::all_of(free_symbols(e), [&](const Symbol* s) {
                   const auto own = std::ranges::find(lets_, s, [](const auto& let) { return let.first; });
                   return s != loop_.builder_param() && (own == lets_.end() || is_early(own->second));
               });
    }

    For loop_;
    Lets lets_;
    std::vector<const Expr*> conditions_;
    const Expr *dict_ = nullptr, *key_ = nullptr;
};

/// Asks in the loops that are in no other one.
const Expr* asking(Module& m, const Expr* e) {
    if (e->op == Op::Iterate || !e->binds) return e;
    const For f = e->as<For>();
    if (!f) return map_args(m, e, [&](const Expr* a, std::size_t) { return asking(m, a); });
    std::vector<const Expr*> args(e->args().begin(), e->args().end());
    args[0] = asking(m, args[0]);  // what it begins with is not inside
    const Expr* now = with_args(m, e, args);
    const Sought sought(f);
    if (!sought || !goes_one_by_one(f)) return now;
    const Expr* rounds = trip_count(m, f.data()[0]);
    const Type* fields[] = {m.types.vec(m.types.scalar(Scalar::U64)), m.types.i64()};
    const Expr* of[] = {sought.dict(), rounds};
    const Expr* made = builtin_kernel(m, "weld_key_bits", m.types.structure(fields), of, e->loc);
    const Symbol* bits = m.symbol("bits", made->type);
    const Expr* body = sought.asked(m, var(m, bits), f.body().body());
    args[1] = lambda(m, f.body().params(), body, f.body().node->loc);
    return let(m, bits, made, with_args(m, e, args), e->loc);
}

}  // namespace

const Expr* ask_bits(Module& m, const Expr* lambda) { return in_normal_form(m, lambda, asking(m, lambda)); }

}  // namespace weld
