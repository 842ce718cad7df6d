// What is computed twice is computed once.
//
//     let a = exp(x * y);
//     if(c, exp(x * y) + log(z), a) + log(z)
// becomes
//     let a = exp(x * y);
//     if(c, a + log(z), a) + log(z)
//
// and `f(x) * f(x)` becomes `let t = f(x); t * t`. Every expression gets a number that equal computations
// share: names count as what they are bound to, parameters as their position, so two loops that differ in
// names only are one. A node is replaced where an equal one was evaluated for sure before: earlier on the
// same straight line or on one around it
// (`log(z)` above is not: the side of the `if` may not run). So nothing that can fail is evaluated where it
// was not.
//
// Names, constants, fields and whatever builds are left alone (a loop together with its `result` is a value
// like any other), and so are calls of kernels that are not pure.
#include <string>
#include <unordered_map>

#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

using Number = std::uint64_t;
using Key = std::vector<std::uint64_t>;
struct HashKey {
    std::size_t operator()(const Key& key) const {
        std::uint64_t h = 0x9E3779B97F4A7C15u;
        for (std::uint64_t k : key) h = (h ^ k) * 0xD1342543DE82EF95u, h ^= h >> 32;
        return h;
    }
};

/// Gives equal computations equal numbers.
class Numbering {
  public:
    explicit Numbering(Facts& facts) : facts_(facts) {}

    void enter(const Expr* lambda) {
        for (std::size_t i = 0; i < lambda->num_symbols; ++i) {
            const Symbol* p = lambda->attr.symbols[i];
            names_[p] = number({kParam, depth_, i, p->type->id});
        }
        ++depth_;
    }
    void leave() { --depth_; }
    void bind(const Symbol* s, const Expr* value) { names_[s] = of(value); }

    Number of(const Expr* e) {
        if (Var v = e->as<Var>()) {
            auto at = names_.find(v.symbol());
            return at != names_.end() ? at->second : names_[v.symbol()] = fresh();
        }
        auto at = known_.find(e);
        return at != known_.end() ? at->second : known_[e] = compute(e);
    }

  private:
    enum : std::uint64_t { kParam = 1u << 20, kLambdaEnd, kAnnotation };

    Number fresh() { return ++last_; }
    Number number(const Key& key) {
        auto [at, added] = numbers_.try_emplace(key, 0);
        if (added) at->second = fresh();
        return at->second;
    }

    Number compute(const Expr* e) {
        if (e->op == Op::Block) return number_of_block(e->as<Block>());
        Key key = {std::uint64_t(e->op), e->type->id};
        switch (e->op) {
            case Op::Literal: key.push_back(e->attr.bits); break;
            case Op::GetField: key.push_back(e->attr.index); break;
            case Op::Iter: {
                const IterShape s = e->attr.iter;
                key.push_back(std::uint64_t(s.kind) | s.range << 8 | s.nd << 9 | s.bounded << 10);
                key.push_back(e->as<Iter>().lanes());
                break;
            }
            case Op::Kernel:
                if (facts_.traits(e).calls) return children(e, key), fresh();
                key.push_back(name_of_kernel(e->as<Kernel>().ref().name));
                break;
            case Op::Call:
                if (facts_.traits(e).calls) return children(e, key), fresh();
                key.push_back(reinterpret_cast<std::uintptr_t>(e->attr.function));
                break;
            default: break;
        }
        children(e, key);
        return number(key);
    }

    void children(const Expr* e, Key& key) {
        if (e->op == Op::Lambda) enter(e);
        for (const Expr* a : e->args()) key.push_back(of(a));
        if (e->op == Op::Lambda) leave();
    }

    /// Names don't count: a block is its result, and what it evaluates besides that could be missed.
    Number number_of_block(Block block) {
        Key key = {std::uint64_t(Op::Block), block.node->type->id};
        for (std::size_t i = 0; i < block.size(); ++i) {
            bind(block.symbol(i), block.value(i));
            if (!facts_.traits(block.value(i)).free_to_repeat()) key.push_back(of(block.value(i)));
        }
        if (key.size() == 2) return of(block.result());
        key.push_back(of(block.result()));
        return number(key);
    }

    std::uint64_t name_of_kernel(std::string_view name) {
        return kernels_.try_emplace(std::string(name), kernels_.size()).first->second;
    }

    Facts& facts_;
    Number last_ = 0;
    std::uint64_t depth_ = 0;
    std::unordered_map<Key, Number, HashKey> numbers_;
    std::unordered_map<const Expr*, Number> known_;
    std::unordered_map<const Symbol*, Number> names_;
    std::unordered_map<std::string, std::uint64_t> kernels_;
};

/// Free to compute again: a name, a field, or one cheap step from there.
bool is_trivial(const Expr* e) {
    switch (e->op) {
        case Op::Literal:
        case Op::Var:
        case Op::Lambda:
        case Op::Block:
        case Op::Iter:
        case Op::MakeStruct: return true;
        case Op::GetField:
        case Op::Cast:
        case Op::Broadcast:
        case Op::Neg:
        case Op::Not:
        case Op::BitNot:
        case Op::Len: return is_trivial(e->arg(0));
        default: return e->type->holds_builder;
    }
}

/// An expression that stands for all later ones with its number.
struct First {
    const Symbol* name = nullptr;  ///< what holds it; null until somebody needs it
    bool needed = false;
};

/// Finds what is computed again (plan), then writes it down (rewrite). Both walk in the order of evaluation
/// and count the places that they pass, since one node may stand in several.
class Eliminator {
  public:
    Eliminator(Module& m, const Expr* lambda) : m_(m), facts_(m, lambda), numbering_(facts_) {}

    bool plan(const Expr* lambda) {
        numbering_.of(lambda);
        look_apart(lambda->arg(0));
        return any_;
    }

    const Expr* rewrite_apart(const Expr* e) {
        Lets lets;
        const Expr* result = rewrite(e, lets);
        return lets.empty() && result == e ? e : block(m_, lets, result, e->loc);
    }

  private:
    // ---- plan

    /// `e` may not be evaluated: what it computes is not known after it.
    void look_apart(const Expr* e) {
        const std::size_t mark = added_.size();
        look(e);
        forget(mark);
    }

    void forget(std::size_t mark) {
        for (; added_.size() > mark; added_.pop_back()) available_.erase(added_.back());
    }

    void look(const Expr* e) {
        const std::size_t place = next_place_++;
        const bool shared = !is_trivial(e) && !facts_.traits(e).builds;
        if (shared) {
            const Number n = numbering_.of(e);
            auto at = available_.find(n);
            if (at != available_.end()) {
                firsts_[at->second].needed = true;
                again_[place] = at->second;
                any_ = true;
                return;
            }
        }
        const std::size_t mark = added_.size();
        for (std::size_t i = 0; i < e->num_args; ++i) {
            if (is_lazy_arg(e, i)) look_apart(e->arg(i));
            else if (e->op == Op::Block && i < e->num_symbols) look_value(e->attr.symbols[i], e->arg(i));
            else look(e->arg(i));
        }
        if (e->op == Op::Block) forget(mark);  // its names end with it
        if (shared) add(e, place);
    }

    void look_value(const Symbol* s, const Expr* value) {
        const std::size_t place = next_place_;
        look(value);
        auto at = first_at_.find(place);
        if (at != first_at_.end()) firsts_[at->second].name = s;
    }

    void add(const Expr* e, std::size_t place) {
        const Number n = numbering_.of(e);
        if (!available_.try_emplace(n, firsts_.size()).second) return;
        added_.push_back(n);
        first_at_[place] = firsts_.size();
        firsts_.push_back({});
    }

    // ---- rewrite

    const Expr* rewrite(const Expr* e, Lets& lets) {
        const std::size_t place = place_++;
        if (auto at = again_.find(place); at != again_.end())
            return var(m_, firsts_[at->second].name, e->loc);
        const Expr* now = rewrite_args(e, lets);
        auto at = first_at_.find(place);
        if (at == first_at_.end()) return now;
        First& first = firsts_[at->second];
        if (!first.needed || first.name) return now;
        first.name = m_.symbol("t", now->type);
        lets.emplace_back(first.name, now);
        return var(m_, first.name, e->loc);
    }

    const Expr* rewrite_args(const Expr* e, Lets& lets) {
        if (Block inner = e->as<Block>()) {
            Lets own;
            bool changed = false;
            for (std::size_t i = 0; i < inner.size(); ++i) {
                const Expr* value = rewrite(inner.value(i), own);
                changed |= value != inner.value(i);
                own.emplace_back(inner.symbol(i), value);
            }
            const Expr* result = rewrite(inner.result(), own);
            changed |= result != inner.result();
            return changed ? block(m_, own, result, e->loc) : e;
        }
        std::vector<const Expr*> args(e->args().begin(), e->args().end());
        for (std::size_t i = 0; i < args.size(); ++i)
            args[i] = is_lazy_arg(e, i) ? rewrite_apart(args[i]) : rewrite(args[i], lets);
        return with_args(m_, e, args);
    }

    Module& m_;
    Facts facts_;
    Numbering numbering_;
    std::unordered_map<Number, std::size_t> available_;  // number -> first
    std::vector<Number> added_;
    std::vector<First> firsts_;
    std::unordered_map<std::size_t, std::size_t> first_at_;  // place -> first
    std::unordered_map<std::size_t, std::size_t> again_;     // place -> the first that stands for it
    std::size_t next_place_ = 0, place_ = 0;
    bool any_ = false;
};

}  // namespace

const Expr* cse(Module& m, const Expr* lambda) {
    Eliminator eliminator(m, lambda);
    if (!eliminator.plan(lambda)) return lambda;
    const Expr* body = eliminator.rewrite_apart(lambda->arg(0));
    return with_args(m, lambda, {&body, 1});
}

}  // namespace weld
