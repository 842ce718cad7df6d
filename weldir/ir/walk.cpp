// Walking and changing trees.
#include "weldir/ir/walk.h"

#include "weldir/ir/builder.h"

#include <algorithm>
#include <unordered_set>

namespace weld {

const Expr* rewrite(Module& m, const Expr* e, const std::function<const Expr*(const Expr*)>& fn) {
    e = map_args(m, e, [&](const Expr* a, std::size_t) { return rewrite(m, a, fn); });
    const Expr* replaced = fn(e);
    return replaced ? replaced : e;
}

const Expr* rewrite_binding(Module& m, const Expr* e, const std::function<const Expr*(const Expr*)>& fn) {
    if (!e->binds) return e;
    e = map_args(m, e, [&](const Expr* a, std::size_t) { return rewrite_binding(m, a, fn); });
    const Expr* replaced = fn(e);
    return replaced ? replaced : e;
}

const Expr* substitute(Module& m, const Expr* e, const SymbolMap& values) {
    if (values.empty()) return e;
    return rewrite(m, e, [&](const Expr* x) -> const Expr* {
        Var v = x->as<Var>();
        auto at = v ? values.find(v.symbol()) : values.end();
        return at == values.end() ? nullptr : at->second;
    });
}

// ---- fresh copies

namespace {
using Renaming = std::unordered_map<const Symbol*, const Symbol*>;
}

static const Expr* renamed(Module& m, const Expr* e, Renaming& names) {
    if (Var v = e->as<Var>()) {
        auto at = names.find(v.symbol());
        return at == names.end() ? e : var(m, at->second, e->loc);
    }
    if (e->num_args == 0) return e;
    std::vector<const Symbol*> symbols;
    std::vector<const Expr*> args;
    if (e->op == Op::Lambda)
        for (const Symbol* s : e->symbols()) symbols.push_back(names[s] = m.copy(s));
    for (std::size_t i = 0; i < e->num_args; ++i) {
        args.push_back(renamed(m, e->arg(i), names));
        if (e->op == Op::Block && i < e->num_symbols) {
            const Symbol* s = e->attr.symbols[i];
            symbols.push_back(names[s] = m.copy(s));
        }
    }
    return symbols.empty() ? with_args(m, e, args) : with_symbols(m, e, symbols, args);
}

const Expr* fresh(Module& m, const Expr* e) {
    Renaming names;
    return renamed(m, e, names);
}

// ---- questions

Uses::Uses(const Expr* e) {
    visit(e, [&](const Expr* x) {
        if (Var v = x->as<Var>()) ++counts_[v.symbol()];
    });
}

std::vector<const Symbol*> free_symbols(const Expr* e) {
    std::unordered_set<const Symbol*> bound, seen;
    std::vector<const Symbol*> read;
    visit(e, [&](const Expr* x) {  // symbols are bound once per module: bound anywhere inside means not free
        if (x->op == Op::Block || x->op == Op::Lambda) bound.insert(x->symbols().begin(), x->symbols().end());
        if (Var v = x->as<Var>(); v && seen.insert(v.symbol()).second) read.push_back(v.symbol());
        for (const Annotation& a : x->annotations)
            if (names_symbols(a.key))
                std::ranges::copy_if(a.symbols, std::back_inserter(read),
                                     [&](const Symbol* s) { return seen.insert(s).second; });
    });
    std::erase_if(read, [&](const Symbol* s) { return bound.count(s) != 0; });
    return read;
}

bool mentions(const Expr* e, const Symbol* s) {
    if (Var v = e->as<Var>()) return v.symbol() == s;
    return std::any_of(e->args().begin(), e->args().end(), [&](const Expr* a) { return mentions(a, s); });
}

bool has_rounds_in_place(const Expr* e) {
    if (!e->binds) return false;
    if (e->op == Op::Iterate || e->op == Op::Sort) return true;
    return std::ranges::any_of(e->args(),
                               [](const Expr* a) { return a->op != Op::Lambda && has_rounds_in_place(a); });
}

bool has_loop(const Expr* e) {
    if (!e->binds) return false;
    if (e->op == Op::For || e->op == Op::Iterate || e->op == Op::Sort) return true;
    return std::any_of(e->args().begin(), e->args().end(), has_loop);
}

namespace {
struct Comparison {
    std::unordered_map<const Symbol*, const Symbol*> names = {};

    bool same(const Expr* a, const Expr* b) {
        if (a->op != b->op || a->type != b->type || a->num_args != b->num_args ||
            a->num_symbols != b->num_symbols)
            return false;
        switch (a->op) {
            case Op::Var: {
                auto at = names.find(a->attr.symbol);
                return (at == names.end() ? a->attr.symbol : at->second) == b->attr.symbol;
            }
            case Op::Literal: return a->attr.bits == b->attr.bits;
            case Op::PackedVec: return *a->attr.bytes == *b->attr.bytes;
            case Op::GetField:
                if (a->attr.index != b->attr.index) return false;
                break;
            case Op::Iter: {
                const IterShape x = a->attr.iter, y = b->attr.iter;
                if (x.kind != y.kind || x.range != y.range || x.nd != y.nd || x.bounded != y.bounded)
                    return false;
                if (a->as<Iter>().lanes() != b->as<Iter>().lanes()) return false;
                break;
            }
            case Op::Kernel:
                if (a->attr.kernel->name != b->attr.kernel->name ||
                    a->attr.kernel->pure != b->attr.kernel->pure ||
                    a->attr.kernel->effect != b->attr.kernel->effect ||
                    a->attr.kernel->fails != b->attr.kernel->fails)
                    return false;
                break;
            case Op::Call:
                if (a->attr.function->name != b->attr.function->name) return false;
                break;
            default: break;
        }
        for (std::size_t i = 0; i < a->num_symbols; ++i) {
            if (a->attr.symbols[i]->type != b->attr.symbols[i]->type) return false;
            if (a->op == Op::Lambda) names[a->attr.symbols[i]] = b->attr.symbols[i];
        }
        for (std::size_t i = 0; i < a->num_args; ++i) {
            if (!same(a->arg(i), b->arg(i))) return false;
            if (a->op == Op::Block && i < a->num_symbols) names[a->attr.symbols[i]] = b->attr.symbols[i];
        }
        return true;
    }
};
}  // namespace

bool same(const Expr* a, const Expr* b) { return a == b || Comparison{}.same(a, b); }

bool is_int(const Expr* e, std::int64_t value) {
    const Literal l = e->as<Literal>();
    return l && is_integer(e->type->scalar) && l.as_int() == value;
}

std::size_t size_of_tree(const Expr* e) {
    std::size_t n = 1;
    for (const Expr* a : e->args()) n += size_of_tree(a);
    return n;
}

}  // namespace weld
