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
// same straight line or on one around it (`log(z)` above is not: the side of the `if` may not run). So
// nothing that can fail is evaluated where it was not.
//
// Names, constants, fields and whatever builds are left alone (a loop together with its `result` is a value
// like any other), and so are calls of kernels that are not pure.
#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

namespace {

using Number = std::uint32_t;  ///< from 1 on
using Key = std::span<const std::uint64_t>;

/// Numbers of keys. The keys lie one after the other in one vector, so that a new one costs no allocation.
class Keys {
  public:
    /// Where the number of `key` is kept: 0 if it is new.
    Number& operator[](Key key) {
        if (entries_.size() * 2 >= slots_.size()) grow();
        for (std::size_t at = hash(key);; ++at) {
            std::uint32_t& slot = slots_[at & (slots_.size() - 1)];
            if (slot == 0) {
                slot = std::uint32_t(entries_.size() + 1);
                entries_.push_back({words_.size(), key.size(), 0});
                words_.insert(words_.end(), key.begin(), key.end());
                return entries_.back().number;
            }
            if (std::ranges::equal(words_of(entries_[slot - 1]), key)) return entries_[slot - 1].number;
        }
    }

  private:
    struct Entry {
        std::size_t begin, size;  ///< in words_
        Number number;
    };

    static std::size_t hash(Key key) {
        std::uint64_t h = 0x9E3779B97F4A7C15u;
        for (std::uint64_t k : key) h = (h ^ k) * 0xD1342543DE82EF95u, h ^= h >> 32;
        return h;
    }
    Key words_of(const Entry& e) const { return {&words_[e.begin], e.size}; }

    void grow() {
        slots_.assign(std::max<std::size_t>(64, slots_.size() * 2), 0);
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            std::size_t at = hash(words_of(entries_[i]));
            while (slots_[at & (slots_.size() - 1)]) ++at;
            slots_[at & (slots_.size() - 1)] = std::uint32_t(i + 1);
        }
    }

    std::vector<std::uint64_t> words_;
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> slots_;  // entry + 1, or 0; as many as a power of two
};

/// Gives equal computations equal numbers.
class Numbering {
  public:
    explicit Numbering(Facts& facts) : facts_(facts) {}

    void enter(const Expr* lambda) {
        for (std::size_t i = 0; i < lambda->num_symbols; ++i) {
            const Symbol* p = lambda->attr.symbols[i];
            const std::uint64_t key[] = {kParam, depth_, i, p->type->id};
            names_[p] = number(key);
        }
        ++depth_;
    }
    void leave() { --depth_; }

    Number of(const Expr* e) {
        if (Var v = e->as<Var>()) {
            Number& known = names_[v.symbol()];
            return known ? known : known = fresh();
        }
        if (const Number* known = known_.find(e)) return *known;
        const std::size_t begin = words_.size();
        const Number computed = compute(e, begin);
        words_.resize(begin);
        // Unrolling puts one node into several places; where it calls a kernel, each of them is a call.
        return facts_.traits(e).calls ? computed : known_[e] = computed;
    }

  private:
    enum : std::uint64_t { kParam = 1u << 20, kLambdaEnd, kAnnotation };

    Number fresh() { return ++last_; }
    Number number(Key key) {
        Number& known = numbers_[key];
        return known ? known : known = fresh();
    }
    Number number_from(std::size_t begin) { return number(Key(words_).subspan(begin)); }

    /// The key of `e` is made at the end of `words_`, from `begin` on, above those of the nodes around it.
    Number compute(const Expr* e, std::size_t begin) {
        words_.push_back(std::uint64_t(e->op));
        words_.push_back(e->type->id);
        if (e->op == Op::Block) return number_of_block(e->as<Block>(), begin);
        switch (e->op) {
            case Op::Literal: words_.push_back(e->attr.bits); break;
            case Op::PackedVec: words_.push_back(reinterpret_cast<std::uintptr_t>(e->attr.bytes)); break;
            case Op::GetField: words_.push_back(e->attr.index); break;
            case Op::Iter: {
                const IterShape s = e->attr.iter;
                words_.push_back(std::uint64_t(s.kind) | s.range << 8 | s.nd << 9 | s.bounded << 10);
                words_.push_back(e->as<Iter>().lanes());
                break;
            }
            case Op::Kernel:
                if (facts_.traits(e).calls) return children(e), fresh();
                words_.push_back(name_of_kernel(e->as<Kernel>().ref().name));
                break;
            case Op::Call:
                if (facts_.traits(e).calls) return children(e), fresh();
                words_.push_back(reinterpret_cast<std::uintptr_t>(e->attr.function));
                break;
            default: break;
        }
        children(e);
        return number_from(begin);
    }

    void children(const Expr* e) {
        if (e->op == Op::Lambda) enter(e);
        for (const Expr* a : e->args()) {
            const Number n = of(a);
            words_.push_back(n);
        }
        if (e->op == Op::Lambda) leave();
    }

    /// Names don't count: a block is its result, and what it evaluates besides that could be missed.
    Number number_of_block(Block block, std::size_t begin) {
        for (std::size_t i = 0; i < block.size(); ++i) {
            const Number n = of(block.value(i));
            names_[block.symbol(i)] = n;
            if (!facts_.traits(block.value(i)).free_to_repeat()) words_.push_back(n);
        }
        const Number result = of(block.result());
        if (words_.size() == begin + 2) return result;
        words_.push_back(result);
        return number_from(begin);
    }

    std::uint64_t name_of_kernel(std::string_view name) {
        return kernels_.try_emplace(std::string(name), kernels_.size()).first->second;
    }

    Facts& facts_;
    Number last_ = 0;
    std::uint64_t depth_ = 0;
    Keys numbers_;
    std::vector<std::uint64_t> words_;  // of the keys under construction
    Table<Expr, Number> known_;
    Table<Symbol, Number> names_;
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

/// Where the walk met a node.
struct Occurrence {
    std::uint32_t first = 0;  ///< the First that it is, or
    std::uint32_t again = 0;  ///< the one that stands for it
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
        for (; added_.size() > mark; added_.pop_back()) available(added_.back()) = 0;
    }

    void look(const Expr* e) {
        const std::size_t place = occurrences_.size();
        occurrences_.emplace_back();
        const bool shared = !is_trivial(e) && !facts_.traits(e).builds;
        if (shared) {
            const Number n = numbering_.of(e);
            if (const std::uint32_t first = available(n)) {
                firsts_[first].needed = true;
                occurrences_[place].again = first;
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
        const std::size_t place = occurrences_.size();
        look(value);
        firsts_[occurrences_[place].first].name = s;
    }

    std::uint32_t& available(Number n) {
        if (n >= available_.size()) available_.resize(n + n / 2 + 64);
        return available_[n];
    }

    void add(const Expr* e, std::size_t place) {
        const Number n = numbering_.of(e);
        if (available(n)) return;
        available(n) = occurrences_[place].first = std::uint32_t(firsts_.size());
        added_.push_back(n);
        firsts_.emplace_back();
    }

    // ---- rewrite

    const Expr* rewrite(const Expr* e, Lets& lets) {
        const std::size_t place = place_++;
        if (const std::uint32_t first = occurrences_[place].again)
            return var(m_, firsts_[first].name, e->loc);
        const Expr* now = rewrite_args(e, lets);
        First& first = firsts_[occurrences_[place].first];
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
        return map_args(m_, e, [&](const Expr* a, std::size_t i) {
            return is_lazy_arg(e, i) ? rewrite_apart(a) : rewrite(a, lets);
        });
    }

    Module& m_;
    Facts facts_;
    Numbering numbering_;
    std::vector<std::uint32_t> available_;  // by number: the first, or 0
    std::vector<Number> added_;
    std::vector<First> firsts_{1};  // number 0 is none
    std::vector<Occurrence> occurrences_;
    std::size_t place_ = 0;
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
