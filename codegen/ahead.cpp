// Which keys are known early, and asking for the memory that they lead to: first for the slot of the index,
// some iterations later, when that has come, for the entry.
#include "codegen/ahead.h"

#include <algorithm>

#include "codegen/counters.h"
#include "codegen/tables.h"
#include "weldir/ir/builder.h"

namespace weld::codegen {

static constexpr std::int64_t kAheadForEntry = 16, kAheadForSlot = 32;  // iterations
static constexpr std::size_t kLargestKey = 24;                          // nodes
static constexpr std::int64_t kFarSlots = 1 << 17;                      // smaller tables are in the cache
static constexpr std::int64_t kFarBytes = 1 << 19;                      // and smaller vectors

Ahead::Ahead(For f) : loop_(f) { collect(f.body().body()); }

void Ahead::collect(const Expr* e) {
    if (e->op == Op::For || e->op == Op::Lambda) return;
    if (Block b = e->as<Block>())
        for (std::size_t i = 0; i < b.size(); ++i) bound_[b.symbol(i)] = b.value(i);
    for (const Expr* a : e->args()) collect(a);
    switch (e->op) {
        case Op::Lookup:
        case Op::OptLookup:
        case Op::KeyExists: {
            const Expr* dict = e->arg(0);
            if (!dict->type->is_dict() || dict->op != Op::Var) return;
            if (bound_.count(dict->attr.symbol) || dict->attr.symbol == loop_.elem_param()) return;
            return add({dict, {}, e->arg(1), dict->type->key(), dict->type->value(), false, {}});
        }
        case Op::Merge: {
            Merge g = e->as<Merge>();
            const bool in_vector = info(e->type).indexed;
            if (!(in_vector || info(e->type).probes) || g.mask()) return;
            if (g.value()->type->holds_simd) return;  // several keys at once
            Site site{nullptr, {}, g.value(), e->type->args[0], e->type->args.back(), in_vector, {}};
            site.counts = is_count(g);
            if (in_vector) site.key_type = g.value()->type->args[0];
            if (g.value()->op == Op::MakeStruct) site.key = g.value()->arg(0);
            if (!in_vector && is_partitioned(site.key_type)) return;  // its tables stay in the cache
            if (find_builder(g.builder(), &site.way)) add(std::move(site));
            return;
        }
        default: return;
    }
}

void Ahead::add(Site site) {
    if (is_hashed_at_once(site.key_type) && reads(site.key, &site)) sites_.push_back(std::move(site));
}

/// Notes the lets that `e` reads, inner ones first. False if it is not cheap, or may not be evaluated early.
bool Ahead::reads(const Expr* e, Site* site) const {
    if (size_of_tree(e) + 4 * site->lets.size() > kLargestKey || !is_movable(e)) return false;
    bool simple = true;
    visit(e, [&](const Expr* part) {
        simple &= part->op != Op::For && part->op != Op::Iterate && part->op != Op::Call &&
                  part->op != Op::Sort && !part->type->holds_builder;
    });
    if (!simple) return false;
    for (const Symbol* s : free_symbols(e)) {
        const auto at = bound_.find(s);
        if (s == loop_.builder_param()) return false;
        if (at == bound_.end()) continue;
        const auto known = [&](const auto& let) { return let.first == s; };
        if (std::any_of(site->lets.begin(), site->lets.end(), known)) continue;
        if (!reads(at->second, site)) return false;
        site->lets.emplace_back(s, at->second);
    }
    return true;
}

/// Which of the loop's builders `e` is.
bool Ahead::find_builder(const Expr* e, std::vector<std::size_t>* way) const {
    switch (e->op) {
        case Op::Var: {
            if (e->attr.symbol == loop_.builder_param()) return true;
            const auto at = bound_.find(e->attr.symbol);
            return at != bound_.end() && find_builder(at->second, way);
        }
        case Op::Merge: return find_builder(e->arg(0), way);
        case Op::If: return find_builder(e->as<If>().otherwise(), way);
        case Op::GetField:
            if (!find_builder(e->arg(0), way)) return false;
            way->push_back(e->attr.index);
            return true;
        default: return false;
    }
}

/// The leaves of the dictionary, or of the state of the builder.
Leaves Ahead::table(Emitter& e, const Site& site, const Leaves& state) const {
    if (site.dict) return {never_null(e, e.emit1(site.dict))};
    const Type* t = loop_.builder()->type;
    int leaf = 0;
    for (std::size_t field : site.way) {
        leaf += e.field_offset(t, field);
        t = t->args[field];
    }
    return Leaves(state.begin() + leaf, state.begin() + leaf + e.num_leaves(t));
}

void Ahead::emit(Emitter& e, llvm::Value* i, llvm::Value* last, const Leaves& state,
                 const std::function<void(llvm::Value*)>& begin) const {
    for (const Site& site : sites_) {
        const Leaves from = table(e, site, state);
        const auto key_at = [&](std::int64_t iterations) {
            llvm::Value* there = e.ir.CreateAdd(i, e.c64(iterations), "", true, true);
            begin(e.ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, there, last));
            for (const auto& [symbol, value] : site.lets) e.names[symbol] = e.emit(value);
            Leaves key = e.emit(site.key);
            key.resize(std::size_t(e.num_leaves(site.key_type)));
            return key;
        };
        const auto fetch_element = [&]() -> Leaves {
            llvm::Value* index = key_at(kAheadForEntry)[0];
            e.prefetch(site.counts && e.may_count_narrowly ? counter(e, from[0], index)
                                                           : e.element(from[0], site.value_type, index));
            return {};
        };
        const auto fetch_entry = [&]() -> Leaves {
            for (const bool entry : {false, true}) {
                const Leaves key = key_at(entry ? kAheadForEntry : kAheadForSlot);
                fetch_early(e, from[0], site.key_type, site.value_type, key, entry);
            }
            return {};
        };
        const auto nothing = [&]() -> Leaves { return {}; };
        if (site.in_vector) {
            llvm::Value* far = e.c64(kFarBytes / std::max<std::int64_t>(1, size_of(site.value_type)));
            e.emit_if(e.ir.CreateICmpSGE(from[1], far), fetch_element, nothing);
        } else {
            llvm::Value* far = e.c64(kFarSlots);
            e.emit_if(e.ir.CreateICmpSGE(index_slots(e, from[0]), far), fetch_entry, nothing);
        }
    }
}

}  // namespace weld::codegen
