// A sort of which only the first elements are read is told how many.
//
//     let s = sort(v, by);
//     slice(s, 0L, n)
// becomes, if nobody else reads `s` and `n` is known before it,
//     let s = sort(v, by, n);
//     slice(s, 0L, n)
//
// so that the others need not be sorted. The same where all that is read of `s` are elements, and slices from the beginning,
// that are known: `lookup(s, 0L)` needs one.
#include <algorithm>

#include "weldir/ir/build.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/pass.h"

namespace weld {

namespace {

class LimitFinder {
  public:
    LimitFinder(Module& m, const Expr* lambda) : m_(m), uses_(lambda) { look(lambda); }

    /// How many of the first elements of `sorted` are read, or null.
    const Expr* limit(const Symbol* sorted) const {
        if (const Expr* const* found = limits_.find(sorted)) return *found;
        const Firsts* firsts = firsts_.find(sorted);
        const bool are_all = firsts && is_sort_.contains(sorted) && uses_.count(sorted) == firsts->reads;
        return are_all ? i64_literal(m_, firsts->most) : nullptr;
    }

  private:
    void look(const Expr* e) {
        if (e->op == Op::Lambda)
            for (const Symbol* s : e->as<Lambda>().params()) note(s);
        if (const Block block = e->as<Block>()) {
            for (std::size_t i = 0; i < block.size(); ++i) {
                look(block.value(i));
                note(block.symbol(i));
                if (block.value(i)->op == Op::Sort && !block.value(i)->as<Sort>().limit())
                    is_sort_[block.symbol(i)] = true;
            }
            return look(block.result());
        }
        for (const Expr* a : e->args()) look(a);
        if (const Slice s = e->as<Slice>()) consider(s);
        if (const Lookup l = e->as<Lookup>()) {
            const Literal at =
                l.of()->op == Op::Var && l.of()->type->is_vec() ? l.key()->as<Literal>() : Literal{};
            if (at && at.as_int() >= 0 && at.as_int() < kMostFirst)
                note_first(l.of()->attr.symbol, at.as_int() + 1);
        }
    }

    /// No more than the first `most` elements are read there.
    void note_first(const Symbol* s, std::int64_t most) {
        if (most < 0) return;
        Firsts& firsts = firsts_[s];
        firsts.most = std::max(firsts.most, most);
        ++firsts.reads;
    }

    void note(const Symbol* s) { place_[s] = next_++; }

    void consider(Slice s) {
        const Var of = s.of()->as<Var>();
        const Literal few = s.size()->as<Literal>();
        if (of && is_int(s.start(), 0) && few) note_first(of.symbol(), few.as_int());
        if (!of || !is_sort_.contains(of.symbol()) || uses_.count(of.symbol()) != 1) return;
        if (!is_int(s.start(), 0)) return;
        const Var size = s.size()->as<Var>();
        const bool known =
            s.size()->op == Op::Literal || (size && *place_.find(size.symbol()) < *place_.find(of.symbol()));
        if (known) limits_[of.symbol()] = s.size();
    }

    static constexpr std::int64_t kMostFirst = std::int64_t(1) << 40;
    /// What is read of a vector: how often, and of which first elements.
    struct Firsts {
        std::int64_t most = 0;
        int reads = 0;
    };

    Module& m_;
    Uses uses_;
    Table<Symbol, Firsts> firsts_;
    Table<Symbol, std::size_t> place_;  // in the order of binding
    std::size_t next_ = 0;
    Table<Symbol, bool> is_sort_;
    Table<Symbol, const Expr*> limits_;
};

}  // namespace

const Expr* limit_sorts(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    const LimitFinder finder(m, lambda);
    return rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
        const Block block = e->as<Block>();
        if (!block) return nullptr;
        return map_args(m, e, [&](const Expr* a, std::size_t i) {
            const Expr* limit = i < block.size() ? finder.limit(block.symbol(i)) : nullptr;
            const Sort s = limit ? a->as<Sort>() : Sort{};
            return s ? sort(m, s.of(), s.by().node, a->loc, limit) : a;
        });
    });
}

}  // namespace weld
