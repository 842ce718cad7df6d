// Where memory that nobody can reach is given back, between the lets of the main program or of a function.
//
//     let rows = result(for(v, appender[vec[f64]], f));
//     let n = result(for(rows, merger[f64,+], g));        # nobody reads `rows` after this
//     let w = result(for(v, appender[f64], h));
//     {n, result(for(w, merger[f64,+], k))}
// becomes
//     ...
//     let w = @(keep:n) result(for(v, appender[f64], h));
//     ...
//
// `reuse` knows whose memory a vector is, and ends it. Vectors in vectors, parts of structs, and what calls
// and kernels give may share memory in ways that it does not follow. Where such a value was read last, and
// something that allocates comes after it, `@(keep:…)` lists what is read later: if enough was allocated
// since the last time to make it worth while, the runtime marks what these reach and frees the rest.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "weldir/ir/build.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/reads.h"
#include "weldir/ir/traits.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/pass.h"

namespace weld {

namespace {

constexpr std::size_t kMostKept = 32;  // names in an annotation

/// Its last reader takes what it has built.
bool is_builders(const Type* t) {
    return t->is_builder() ||
           (t->is_struct() && !t->args.empty() && std::ranges::all_of(t->args, is_builders));
}

/// All of it is one piece of memory, or none.
bool is_flat(const Type* t) {
    if (t->is_struct()) return std::ranges::all_of(t->args, is_flat);
    return !t->holds_pointer || (t->is_vec() && !t->elem()->holds_pointer);
}

class Collector {
  public:
    Collector(Module& m, Block b, std::span<const Symbol* const> params)
        : m_(m), b_(b), ending_(b.size() + 1), deep_frees_(b.size() + 1) {
        find_ends();
        for (const Symbol* p : params) bind(p, 0);
    }

    const Expr* run() {
        return map_args(m_, b_.node, [&](const Expr* e, std::size_t i) {
            if (i > 0) pass(i - 1);
            if (!is_due_ || !may_allocate(e) || kept_.size() > kMostKept || !dangling_.empty()) return e;
            const std::vector<const Symbol*> keep = kept(i);
            if (keep.empty() || keep.size() > kMostKept) return e;
            is_due_ = false;
            return annotate(m_, e, AttrKey::Keep, keep);
        });
    }

  private:
    void find_ends() {
        const auto last = last_reads(b_);
        for (std::size_t i = 0; i < b_.node->num_args; ++i)
            visit(b_.node->arg(i), [&](const Expr* e) {
                for (const Annotation& a : e->annotations) {
                    if (names_symbols(a.key))
                        for (const Symbol* s : a.symbols) freed_.try_emplace(s, i);
                    if (a.key == AttrKey::InPlace || a.key == AttrKey::Over) changing_.insert(i);
                }
            });
        for (const auto& [s, at] : last) ending_[at].push_back(s);
        for (std::size_t i = 0; i < b_.size(); ++i)
            if (!last.contains(b_.symbol(i))) ending_[i].push_back(b_.symbol(i));
        for (const auto& [s, at] : freed_)
            if (!is_flat(s->type)) deep_frees_[at].push_back(s);
    }

    /// `s` is there from the value `from` on.
    void bind(const Symbol* s, std::size_t from) {
        if (!s->type->holds_pointer) return;
        kept_[from].push_back(s);
        bound_[s] = from;
    }

    /// Let `i` is computed.
    void pass(std::size_t i) {
        bind(b_.symbol(i), i + 1);
        for (const Symbol* s : ending_[i]) {
            const auto at = bound_.find(s);
            if (at == bound_.end()) continue;
            std::vector<const Symbol*>& with_it = kept_[at->second];
            std::erase(with_it, s);
            if (with_it.empty()) kept_.erase(at->second);
            dangling_.erase(s);
            is_due_ |= leaves_memory(s, at->second, i);
        }
        for (const Symbol* freed : deep_frees_[i]) note_dangling(freed);
    }

    /// What is read later may hold memory of `freed`, though nobody will look there but the runtime: what was
    /// made after it, and builders side by side, as it may be what one of them has built.
    void note_dangling(const Symbol* freed) {
        const auto there = bound_.find(freed);
        if (there == bound_.end()) return;
        for (const auto& [from, symbols] : kept_)
            for (const Symbol* s : symbols)
                if (from > there->second ? !is_flat(s->type) : s->type->is_struct() && is_builders(s->type))
                    dangling_.insert(s);
    }

    /// `s` was read at `end` for the last time.
    bool leaves_memory(const Symbol* s, std::size_t from, std::size_t end) const {
        if (from == 0 || is_builders(s->type)) return false;  // of parameters and builders others decide
        const Expr* value = b_.value(from - 1);
        if (is_path(value) || value->op == Op::Slice || !may_allocate(value)) return false;
        return !is_flat(s->type) || !(freed_.contains(s) || changing_.contains(end));
    }

    /// What is read at `i` or later; something else at least, so that there is a name to write.
    std::vector<const Symbol*> kept(std::size_t i) const {
        std::vector<const Symbol*> all;
        for (const auto& [from, symbols] : kept_) all.insert(all.end(), symbols.begin(), symbols.end());
        for (std::size_t k = i; all.empty() && k-- > 0;)
            if (!b_.symbol(k)->type->holds_pointer) all.push_back(b_.symbol(k));
        return all;
    }

    Module& m_;
    Block b_;
    std::vector<std::vector<const Symbol*>> ending_;          // by value: what it reads last
    std::vector<std::vector<const Symbol*>> deep_frees_;      // by value: what it frees that is not flat
    std::unordered_map<const Symbol*, std::size_t> freed_;    // by which value, or given away
    std::unordered_set<std::size_t> changing_;                // values that change vectors in place
    std::unordered_map<const Symbol*, std::size_t> bound_;    // from which value on
    std::map<std::size_t, std::vector<const Symbol*>> kept_;  // read later, by where they were bound
    std::unordered_set<const Symbol*> dangling_;              // of these, what may hold freed memory
    bool is_due_ = false;
};

}  // namespace

bool collect(Module& m, const PassOptions&) {
    bool changed = false;
    const auto look = [&](const Expr** root) {
        const Lambda l = (*root)->as<Lambda>();
        const Block b = l.body()->as<Block>();
        if (!b || !may_allocate(b.node)) return;
        // The memory of the arguments of a run is not its own, that of a function's may be.
        const auto params = root == &m.main ? std::span<const Symbol* const>() : l.params();
        const Expr* now = with_args(m, *root, {{Collector(m, b, params).run()}});
        changed |= now != *root;
        *root = now;
    };
    if (m.main) look(&m.main);
    for (Function* f : m.functions)
        if (f->lambda) look(&f->lambda);
    return changed;
}

}  // namespace weld
