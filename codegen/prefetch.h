// Prefetching by the keys of coming iterations.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// The look-ups of a loop body, its merges, and the rows that loops in it go over, that are annotated with
/// `prefetch`: the key of so many rounds later follows from the element. Memory of tables and vectors that
/// are as large as `far` says is asked for that early, so that many cache misses pass at the same time.
class Prefetches {
  public:
    explicit Prefetches(For f);

    /// How many iterations before it is needed the first thing is asked for.
    std::int64_t lead() const;
    /// Whether a vector that rounds look up in, or merge into, at places anywhere has as many elements as `scattered`
    /// says, before the first iteration; null if there is none.
    llvm::Value* is_scattered(Emitter& e, const Leaves& state) const;
    /// Emitted before the first iteration.
    void start(Emitter& e);
    /// Emitted where iteration `i` begins, on `state`. `begin(at)` binds the parameters of the body for
    /// iteration `at`, which is at most `last`.
    void emit(Emitter& e, llvm::Value* i, llvm::Value* last, const Leaves& state,
              const std::function<void(llvm::Value* at)>& begin) const;
    /// Emitted behind the last one: other iterations of the body are on their own.
    void end(Emitter& e) const;

  private:
    struct Site {
        const Expr* node;
        std::int64_t rounds;           ///< so early
        std::int64_t far;              ///< if there are so many slots of the table, elements of the vector
        const Expr* dict = nullptr;    ///< looked up in; null for a merge or a row
        const Expr* matrix = nullptr;  ///< whose row begins at the key; null otherwise
        std::vector<std::size_t> way;  ///< fields that lead from the state to the builder that is merged into
        const Expr* key;               ///< or a {key, value}
        const Type* key_type;
        const Type* value_type;
        bool in_vector =
            false;  ///< the key is an index of a vecmerger's vector, whose elements are the values
        std::vector<std::pair<const Symbol*, const Expr*>> lets;  ///< that the key reads
        llvm::Value* ring = nullptr;                              ///< of the tags of keys with strings
    };
    struct Scattered {
        std::int64_t far;              ///< if there are so many elements
        const Expr* looked_up;         ///< a vector; null for a merge
        std::vector<std::size_t> way;  ///< as in Site
    };
    void collect(const Expr* e);
    void note_reads(const Expr* e, Site* site) const;
    void find_builder(const Expr* e, std::vector<std::size_t>* way) const;
    Leaves table(Emitter& e, const Site& site, const Leaves& state) const;
    Leaves builder(const Emitter& e, const std::vector<std::size_t>& way, const Leaves& state) const;
    static bool hashes_strings(const Site& site) { return !site.in_vector && site.key_type->holds_pointer; }

    For loop_;
    std::unordered_map<const Symbol*, const Expr*> bound_;
    std::vector<Site> sites_;
    std::vector<Scattered> scattered_;
};

}  // namespace weld::codegen
