// Prefetching by keys that are known early: first the slot of the index, and some iterations later, when that
// has arrived, the entry. Strings take two more steps. With @(prefetch:16), before iteration i:
//
//     iteration of the key     numbers       strings
//     i + 48                                 the string, which is to be hashed
//     i + 32                   slot          its tag, which is kept; slot
//     i + 16                   entry         entry
//     i + 8                                  the string in the entry, if tags are equal
//     i                        search        search, by the tag that was kept
#include "codegen/prefetch.h"

#include <algorithm>

#include "codegen/builders/tables.h"
#include "weldir/ir/builder.h"

namespace weld::codegen {

Prefetches::Prefetches(For f) : loop_(f) { collect(f.body().body()); }

void Prefetches::collect(const Expr* e) {
    if (e->op == Op::Lambda) return;
    if (Block b = e->as<Block>())
        for (std::size_t i = 0; i < b.size(); ++i) bound_[b.symbol(i)] = b.value(i);
    for (const Expr* a : e->args()) collect(a);
    if (const Annotation* far = e->annotation(AttrKey::Scattered)) {
        Scattered places = {far->number, e->op == Op::Merge ? nullptr : e->arg(0), {}};
        if (const Merge g = e->as<Merge>()) find_builder(g.builder(), &places.way);
        scattered_.push_back(std::move(places));
    }
    const Annotation* early = e->annotation(AttrKey::Prefetch);
    if (!early || e->op == Op::For) return;
    Site site = {.node = e, .rounds = early->number, .far = e->annotation(AttrKey::Far)->number};
    if (const Merge g = e->as<Merge>()) {
        site.in_vector = info(e->type).indexed;
        site.key_type = g.value()->type->args[0];
        site.value_type = e->type->args.back();
        site.key = g.value()->op == Op::MakeStruct ? g.value()->arg(0) : g.value();
        find_builder(g.builder(), &site.way);
    } else if (e->op == Op::Iter || e->op == Op::Slice) {
        site.matrix = e->arg(0);
        site.key_type = e->arg(1)->type;
        site.value_type = site.matrix->type->elem();
        site.key = e->arg(1);
        const auto is_known = [&](const Site& s) {  // the loops over lanes and over the rest go over one row
            return s.matrix && same(s.matrix, site.matrix) && same(s.key, site.key);
        };
        if (std::ranges::any_of(sites_, is_known)) return;
    } else {
        site.dict = e->arg(0);
        site.key_type = site.dict->type->key();
        site.value_type = site.dict->type->value();
        site.key = e->arg(1);
    }
    note_reads(site.key, &site);
    sites_.push_back(std::move(site));
}

/// Notes the lets that `e` reads, inner ones first.
void Prefetches::note_reads(const Expr* e, Site* site) const {
    for (const Symbol* s : free_symbols(e)) {
        const auto at = bound_.find(s);
        const auto is_known = [&](const auto& let) { return let.first == s; };
        if (at == bound_.end() || std::ranges::any_of(site->lets, is_known)) continue;
        note_reads(at->second, site);
        site->lets.emplace_back(s, at->second);
    }
}

/// The fields that lead from the loop's builder to `e`.
void Prefetches::find_builder(const Expr* e, std::vector<std::size_t>* way) const {
    switch (e->op) {
        case Op::Var:
            if (e->attr.symbol != loop_.builder_param()) find_builder(bound_.at(e->attr.symbol), way);
            return;
        case Op::Merge: return find_builder(e->arg(0), way);
        case Op::If: return find_builder(e->as<If>().otherwise(), way);
        case Op::GetField:
            find_builder(e->arg(0), way);
            way->push_back(e->attr.index);
            return;
        default: llvm_unreachable("the builder of a merge that is asked for early comes from its loop");
    }
}

/// The leaves of the dictionary, or of the state of the builder.
Leaves Prefetches::table(Emitter& e, const Site& site, const Leaves& state) const {
    if (site.dict) return {never_null(e, e.emit1(site.dict))};
    if (site.matrix) return e.emit(site.matrix);
    return builder(e, site.way, state);
}

Leaves Prefetches::builder(const Emitter& e, const std::vector<std::size_t>& way, const Leaves& state) const {
    const Type* t = loop_.builder()->type;
    int leaf = 0;
    for (std::size_t field : way) {
        leaf += e.field_offset(t, field);
        t = t->args[field];
    }
    return Leaves(state.begin() + leaf, state.begin() + leaf + e.num_leaves(t));
}

llvm::Value* Prefetches::is_scattered(Emitter& e, const Leaves& state) const {
    llvm::Value* any = nullptr;
    for (const Scattered& s : scattered_) {
        llvm::Value* elements = s.looked_up ? e.emit(s.looked_up)[1] : builder(e, s.way, state)[1];
        llvm::Value* is_far = e.ir.CreateICmpSGE(elements, e.c64(s.far));
        any = any ? e.ir.CreateOr(any, is_far) : is_far;
    }
    return any;
}

std::int64_t Prefetches::lead() const {
    std::int64_t most = 0;
    for (const Site& s : sites_) {
        const std::int64_t steps = hashes_strings(s) ? 3 : s.in_vector || s.matrix ? 1 : 2;
        most = std::max(most, steps * s.rounds);
    }
    return most;
}

void Prefetches::start(Emitter& e) {
    for (Site& site : sites_) {
        if (!hashes_strings(site)) continue;
        if (!site.ring) site.ring = new_ring(e);
        clear_ring(e, site.ring);
    }
}

void Prefetches::end(Emitter& e) const {
    for (const Site& site : sites_) e.early_tags.erase(site.node);
}

void Prefetches::emit(Emitter& e, llvm::Value* i, llvm::Value* last, const Leaves& state,
                      const std::function<void(llvm::Value*)>& begin) const {
    for (const Site& site : sites_) {
        const Leaves from = table(e, site, state);
        const auto after = [&](std::int64_t iterations) {
            llvm::Value* there = e.ir.CreateAdd(i, e.c64(iterations), "", false, true);  // `i` may be below 0
            return e.ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, there, last);
        };
        const auto key_at = [&](llvm::Value* iteration) {
            begin(iteration);
            for (const auto& [symbol, value] : site.lets) e.names[symbol] = e.emit(value);
            Leaves key = e.emit(site.key);
            key.resize(std::size_t(e.num_leaves(site.key_type)));
            return site.in_vector || site.matrix ? key : canonical_key(e, site.key_type, key);
        };
        const auto fetch_element = [&] {
            llvm::Value* index = key_at(after(site.rounds))[0];
            e.prefetch(e.element(from[0], site.value_type, index));
        };
        const auto fetch_row = [&] {
            e.prefetch_row(e.element(from[0], site.value_type, key_at(after(site.rounds))[0]));
        };
        const auto fetch_entry = [&] {
            for (const bool entry : {false, true}) {
                const Leaves key = key_at(after(entry ? site.rounds : 2 * site.rounds));
                prefetch_entry(e, from[0], site.key_type, site.value_type, key, entry);
            }
        };
        const auto fetch_strings = [&] {
            for (llvm::Value* part : key_at(after(3 * site.rounds)))
                if (part->getType()->isPointerTy()) e.prefetch(part);
            const auto tag = [&](std::int64_t iterations) { return EarlyTag{site.ring, after(iterations)}; };
            const EarlyTag hashed = tag(2 * site.rounds);
            hash_early(e, from[0], site.key_type, key_at(hashed.iteration), hashed);
            prefetch_tagged_entry(e, from[0], site.key_type, site.value_type, tag(site.rounds));
            prefetch_tagged_strings(e, from[0], site.key_type, site.value_type, tag(site.rounds / 2));
        };
        llvm::Value* size = site.in_vector || site.matrix ? from[1] : index_slots(e, from[0]);
        llvm::Value* is_far = e.ir.CreateICmpSGE(size, e.c64(site.far));
        // then memory is what it waits for, not two jumps more
        if (site.in_vector) e.unlikely(is_far, fetch_element);
        else if (site.matrix) e.unlikely(is_far, fetch_row);
        else if (site.ring) e.unlikely(is_far, fetch_strings);
        else e.unlikely(is_far, fetch_entry);
        if (site.ring) e.early_tags[site.node] = {site.ring, i};
    }
}

}  // namespace weld::codegen
