// What is the same in every round of a loop is computed before it.
//
//     for(rows, B, |b, i, row| let n = result(for(w, merger[f64,+], g)); merge(b, f(row) / sqrt(n * k)))
// becomes
//     let n = result(for(w, merger[f64,+], g));
//     let t = sqrt(n * k);
//     for(rows, B, |b, i, row| merge(b, f(row) / t))
//
// Out of the functions of `for`, `iterate` and `sort`, as many as do not bind what is read. Only what cannot
// fail moves (the loop may run zero times), and what stands on the side of an `if` only if it is cheap, or looks
// up in vectors: one row for all rounds.
// Names, fields, constants and lengths stay: they cost nothing where they are. Whole lets move with their
// names; parts of expressions get one.
#include <algorithm>

#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

/// Depths of functions, as a set: bit d stands for the function that has d functions around it.
using Depths = std::uint64_t;
constexpr int kDeepest = 62;  // code in deeper nests stays as it is

int highest(Depths set) {
    int d = -1;
    for (; set; set >>= 1) ++d;
    return d;
}

/// A stretch of code that is evaluated as a whole, within one function.
struct Scope {
    int depth;             ///< of the function
    bool is_side;          ///< of an `if` or `&&`: may be left out
    const Scope* around;   ///< null for the program
    Lets* lets = nullptr;  ///< receives what moves here
};

/// The outermost scope that code of `scope` can move to, if it reads names down to depth `reads`. What is
/// not cheap stays on the side of an `if`.
template <class Cheap>
const Scope* reach(const Scope* scope, int reads, Cheap&& is_cheap) {
    for (const Scope* to = scope;; scope = to) {
        if (scope->is_side && !is_cheap()) return to;
        while (scope->is_side) scope = scope->around;
        if (!scope->around || scope->around->depth < reads) return to;
        to = scope->around;
    }
}

class Hoister {
  public:
    Hoister(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda) {
        for (const Symbol* p : lambda->symbols()) depths_[p] = bit(0);
        measure(lambda->arg(0), {0, false, nullptr});
    }

    const Expr* rewrite_program(const Expr* body) { return apart(body, {0, false, nullptr}); }

  private:
    // ---- which functions' names an expression reads

    void measure(const Expr* e, const Scope& scope) {
        for (std::size_t i = 0; i < e->num_args; ++i) {
            if (e->op == Op::Lambda) {
                const int depth = scope.depth + 1;
                for (const Symbol* p : e->symbols()) depths_[p] = bit(depth);
                measure(e->arg(i), {depth, false, &scope});
            } else if (is_lazy_arg(e, i)) {
                measure(e->arg(i), {scope.depth, true, &scope});
            } else {
                measure(e->arg(i), scope);
            }
            if (e->op == Op::Block && i < e->num_symbols) {
                const Depths reads = read_by(e->arg(i));
                const int to = may_move(e->arg(i)) ? target(e->arg(i), &scope)->depth : scope.depth;
                depths_[e->attr.symbols[i]] = reads | bit(to);
            }
        }
    }

    static Depths bit(int depth) { return Depths(1) << std::min(depth, kDeepest + 1); }

    Depths read_by(const Expr* e) {
        if (e->op == Op::Var) return depths_[e->attr.symbol];
        if (const Depths* known = reads_.find(e)) return *known;
        Depths all = 0;
        for (const Expr* a : e->args()) all |= read_by(a);
        if (e->op == Op::Lambda)
            for (const Symbol* p : e->symbols()) all &= ~depths_[p];
        return reads_[e] = all;
    }

    bool may_move(const Expr* e) { return facts_.traits(e).free_to_repeat() && !e->type->holds_builder; }

    const Scope* target(const Expr* e, const Scope* scope) {
        if (scope->depth > kDeepest) return scope;
        return reach(scope, std::max(highest(read_by(e)), 0), [&] { return is_cheap_once(e); });
    }

    bool is_cheap_once(const Expr* e) {
        const Traits& t = facts_.traits(e);
        return t.free_to_repeat() && !t.heavy && (!t.costly || only_looks_up(e));
    }

    bool only_looks_up(const Expr* e) {
        const bool looks_up = e->op == Op::Lookup && e->arg(0)->type->is_vec();
        return (looks_up || !facts_.own_traits(e).costly) &&
               std::ranges::all_of(e->args(), [&](const Expr* a) { return only_looks_up(a); });
    }

    // ---- moving

    /// `e` in a scope of its own.
    const Expr* apart(const Expr* e, Scope scope) {
        Lets lets;
        scope.lets = &lets;
        const Expr* result = rewrite(e, &scope);
        return lets.empty() ? result : block(m_, lets, result, e->loc);
    }

    static bool costs_nothing(const Expr* e) {
        switch (e->op) {
            case Op::Var:
            case Op::Literal:
            case Op::PackedVec:
            case Op::Lambda:
            case Op::Iter:
            case Op::Block: return true;
            case Op::GetField:
            case Op::Len:
            case Op::Broadcast:
            case Op::MakeStruct: return std::all_of(e->args().begin(), e->args().end(), costs_nothing);
            case Op::MakeVec:
                return std::all_of(e->args().begin(), e->args().end(),
                                   [](const Expr* a) { return a->op == Op::Literal; });
            default: return false;
        }
    }

    const Expr* rewrite(const Expr* e, const Scope* scope) {
        if (e->num_args == 0) return e;
        if (!costs_nothing(e) && may_move(e)) {
            const Scope* to = target(e, scope);
            if (to->depth < scope->depth) {
                const Expr* moved = rewrite_args(e, to);
                const Symbol* name = m_.symbol("h", moved->type);
                to->lets->emplace_back(name, moved);
                return var(m_, name, e->loc);
            }
        }
        return rewrite_args(e, scope);
    }

    const Expr* rewrite_args(const Expr* e, const Scope* scope) {
        if (Block inner = e->as<Block>()) return rewrite_block(inner, scope);
        return map_args(m_, e, [&](const Expr* a, std::size_t i) {
            if (e->op == Op::Lambda) return apart(a, {depth_of(e), false, scope});
            if (is_lazy_arg(e, i)) return apart(a, {scope->depth, true, scope});
            return rewrite(a, scope);
        });
    }

    int depth_of(const Expr* lambda) { return highest(depths_[lambda->attr.symbols[0]]); }

    const Expr* rewrite_block(Block inner, const Scope* scope) {
        Lets own;
        Lets& moved_here = *scope->lets;
        const std::size_t before = moved_here.size();
        auto collect = [&] {
            own.insert(own.end(), moved_here.begin() + std::ptrdiff_t(before), moved_here.end());
            moved_here.resize(before);
        };
        bool changed = false;
        for (std::size_t i = 0; i < inner.size(); ++i) {
            const Symbol* s = inner.symbol(i);
            const Expr* value = inner.value(i);
            const Scope* to = may_move(value) ? target(value, scope) : scope;
            if (to->depth < scope->depth) {
                const Expr* moved = rewrite_args(value, to);
                to->lets->emplace_back(s, moved);
                changed = true;
                continue;
            }
            const Expr* kept = rewrite_args(value, scope);
            collect();
            own.emplace_back(s, kept);
            changed |= kept != value;
        }
        const Expr* result = rewrite(inner.result(), scope);
        collect();
        changed |= result != inner.result() || own.size() != inner.size();
        return changed ? block(m_, own, result, inner.node->loc) : inner.node;
    }

    Module& m_;
    Facts facts_;
    Table<Symbol, Depths> depths_;
    Table<Expr, Depths> reads_;
};

}  // namespace

const Expr* hoist(Module& m, const Expr* lambda) {
    if (!has_loop(lambda)) return lambda;
    const Expr* body = Hoister(m, lambda).rewrite_program(lambda->arg(0));
    return with_args(m, lambda, {&body, 1});
}

}  // namespace weld
