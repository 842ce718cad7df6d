// What is bound, and until when it may be read: its scope, and annotations that free, keep and reuse memory.
#include "weldir/ir/verifier.h"

#include <algorithm>

#include "weldir/ir/builder.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/layout.h"
#include "weldir/ir/reads.h"

namespace weld {

void Verifier::bind(const Symbol* s, Origins origins, const Expr* at) {
    if (s->id >= scope_.size()) return fail(at, "`{}` is a symbol of another module", s->name);
    if (scope_[s->id] != Scope::Unbound) return fail(at, "`{}` is bound twice", s->name);
    scope_[s->id] = Scope::Open;
    if (!fit(s->holds, {}, s->type)) return fail(at, "`{}` holds sizes that are not there", s->name);
    if (!s->type->holds_builder) return;
    if (origins.size() != leaves(s->type)) return fail(at, "a builder is dropped");
    std::vector<bool> used(origins.size(), false);
    states_[s] = {s, std::move(origins), std::move(used), depth_, next_order_++};
}

void Verifier::unbind(const Symbol* s, const Expr* at) {
    if (s->id >= scope_.size()) return;
    scope_[s->id] = Scope::Closed;
    if (!s->type->holds_builder || !error_.empty()) return;
    const State& state = states_[s];
    if (std::find(state.used.begin(), state.used.end(), false) != state.used.end())
        fail(at, "builder `{}` is not used", s->name);
}

void Verifier::read(const Symbol* s, const Expr* at) {
    if (is_freed(s)) return fail(at, "`{}` is read after its memory is freed or used again", s->name);
    if (s->id >= scope_.size() || scope_[s->id] != Scope::Open) fail(at, "`{}` is not bound", s->name);
}

void Verifier::lists(const Expr* dict, bool ordered) {
    may_list_ = dict;
    if (dict->op != Op::Var || !listed_.contains(dict->attr.symbol)) return void(walk(dict, ordered));
    check(dict);
    read(dict->attr.symbol, dict);
}

Origins Verifier::block(Block b, bool ordered) {
    const std::size_t reused = reused_.size();
    for (std::size_t i = 0; i < b.size() && error_.empty(); ++i) {
        keeps(b, i);
        may_list_ = b.value(i);
        if (b.value(i)->annotation(AttrKey::Listed)) listed_.insert(b.symbol(i));
        bind(b.symbol(i), walk(b.value(i), ordered), b.node);
        frees(b, i);
    }
    keeps(b, b.size());
    Origins out = walk(b.result(), ordered);
    frees(b, b.size());
    reused_.resize(std::min(reused, reused_.size()));
    for (const Symbol* s : b.symbols()) unbind(s, b.node);
    return out;
}

void Verifier::keeps(Block b, std::size_t i) {
    const Expr* e = b.node->arg(i);
    const Annotation* keep = e->annotation(AttrKey::Keep);
    if (!keep) return;
    if (b.node != root_.body()) return fail(e, "memory is collected outside of the outermost block");
    for (const Symbol* s : keep->symbols) read(s, e);
    if (outermost_ != b.node) last_ = last_reads(b), outermost_ = b.node;
    for (const auto& [s, at] : last_)
        if (at >= i && s->type->holds_pointer && s->id < scope_.size() && scope_[s->id] == Scope::Open &&
            !is_argument(s) && std::ranges::find(keep->symbols, s) == keep->symbols.end())
            return fail(e, "`{}` is read later and not kept", s->name);
}

bool Verifier::is_argument(const Symbol* s) const {
    return root_.node == m_.main && std::ranges::find(root_.params(), s) != root_.params().end();
}

void Verifier::frees(Block b, std::size_t i) {
    const Expr* e = b.node->arg(i);
    for (const Annotation& ends : e->annotations) {
        if (ends.key != AttrKey::Free && ends.key != AttrKey::Pop) continue;
        for (const Symbol* s : ends.symbols) {
            const auto bound = b.symbols().first(i);
            const bool here = std::ranges::find(bound, s) != bound.end();
            if (!here && depth_ != 1)
                return fail(e, "`{}`, which is freed, is not bound before, outside of loops", s->name);
            end(s, e);
            if (!here) freed_.push_back(s);
        }
    }
    for (const Symbol* s : reused_)
        if (scope_[s->id] == Scope::Open) {
            scope_[s->id] = Scope::Freed;
            freed_.push_back(s);
        }
}

void Verifier::set_scope(const std::vector<const Symbol*>& symbols, Scope from, Scope to) {
    for (const Symbol* s : symbols)
        if (scope_[s->id] == from) scope_[s->id] = to;
}

void Verifier::end(const Symbol* s, const Expr* at) {
    read(s, at);
    if (s->id < scope_.size()) scope_[s->id] = Scope::Freed;
}

void Verifier::start_in_place(const Expr* start) {
    if (const Annotation* spare = start->annotation(AttrKey::Spare)) {
        read(spare->symbols[0], start);
        reused_.push_back(spare->symbols[0]);
    } else if (start->num_args && start->arg(0)->op == Op::Var) {
        reused_.push_back(start->arg(0)->attr.symbol);
    }
}

void Verifier::lay_over(For f, const Expr* start) {
    if (start->op == Op::MakeStruct)
        for (const Expr* s : start->args()) lay_over(f, s);
    const Annotation* over = start->op == Op::NewBuilder ? start->annotation(AttrKey::Over) : nullptr;
    if (!over) return;
    const auto n = std::size_t(over->number);
    if (!info(start->type).lists_merges || n >= f.data().size())
        return fail(start, "what goes over datum {} of its loop is no appender, or there is none", n);
    const Expr* datum = f.data()[n];
    const Iter it = datum->as<Iter>();
    const Expr* vec = it ? it.data() : datum;
    if (!vec || (it && it.shape().bounded))
        return fail(f.node, "an appender goes over a datum that is not the whole vector");
    const Type *elem = start->type->elem(), *old = vec->type->elem();
    if (elem->holds_pointer || old->holds_pointer || size_of(elem) != size_of(old))
        return fail(f.node, "an appender goes over elements of another size");
    laid_over_.insert(start);
    if (vec->op == Op::Var) reused_.push_back(vec->attr.symbol);
}

}  // namespace weld
