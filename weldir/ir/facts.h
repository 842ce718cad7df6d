// What is known about expressions without running them: what they may do, how long vectors are, how often
// builders are merged into. Facts stand beside the program, never in its types; a pass makes a Facts of the
// function that it works on and asks. Answers are remembered by node and by symbol, so asking about every
// node stays linear.
//
// Facts stay true for nodes and symbols that a pass makes while it runs; of new symbols nothing is known but
// what the pass says with `define`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "weldir/ir/module.h"
#include "weldir/ir/table.h"

namespace weld {

/// What evaluating an expression may do besides giving its value; holds for the whole tree below it.
struct Traits {
    bool fails = false;  ///< may fail (checks, asserts, division; not memory or cancellation), or may not end
    bool calls = false;  ///< calls a kernel that is not pure: exactly as often as the program says
    bool ordered =
        false;  ///< has an effect, or a call that keeps its order: nothing that fails or calls may pass it
    bool heavy = false;   ///< loops, allocates or calls: more than a few instructions
    bool costly = false;  ///< looks up, divides, computes a math function, or compares collections or structs
    bool builds = false;  ///< merges, or begins or ends a builder
    std::uint32_t size = 1;   ///< nodes, up to a large number
    std::uint32_t depth = 1;  ///< of the tree

    /// Whether it is evaluated, and how often, shows only in the time it takes.
    bool free_to_repeat() const { return !fails && !calls && !ordered && !builds; }
};

/// A number that is not known before the run: `factor * of`, or just `factor` if `of` is null. `of` is an i64
/// expression without computation: a name, `len` of a name, fields of names.
struct Count {
    std::int64_t factor = 0;
    const Expr* of = nullptr;
    bool is(std::int64_t n) const { return !of && factor == n; }
};
bool operator==(const Count& a, const Count& b);

class Facts {
  public:
    /// Looks at all of `root` once.
    Facts(Module& m, const Expr* root);

    /// From now on a Block binds `s` to `value`.
    void define(const Symbol* s, const Expr* value) { definitions_[s] = value; }

    const Traits& traits(const Expr* e);
    bool fails(const Expr* e) { return traits(e).fails; }

    /// The value that a Block binds `s` to; null for parameters and symbols made since.
    const Expr* definition(const Symbol* s) const;
    /// What `e` stands for: through names that blocks bind and fields of struct literals to a node that is
    /// neither, or to a name or field of which nothing more is known.
    const Expr* resolve(const Expr* e) const;
    /// The same, but stops at the last name (or field of a name): two paths with one root are the same value.
    const Expr* root(const Expr* path) const;
    /// The loop that has `s` as a parameter, or an empty view.
    const Expr* loop_of(const Symbol* s) const;

    /// How many elements a vector (or dictionary) has.
    std::optional<Count> length(const Expr* collection);
    /// The same for an i64 value.
    std::optional<Count> count(const Expr* i64);
    /// How often a loop runs its body, if it runs at all without failing.
    std::optional<Count> iterations(const Expr* loop);
    /// The data of a loop have the same length for sure.
    bool lengths_agree(std::span<const Expr* const> data);

    /// How often each run of a loop's body merges into the builder at `path` in its builder (indices of
    /// nested struct fields, outermost first); nothing if that varies.
    std::optional<std::int64_t> merges_per_iteration(const Expr* loop,
                                                     const std::vector<std::size_t>& path = {});

  private:
    using Path = std::vector<std::size_t>;
    Traits traits_of(const Expr* e);
    bool bounds_hold(const Expr* iter);
    bool index_holds(const Expr* lookup);
    const Expr* step(const Expr* e) const;
    std::optional<Count> length_of(const Expr* collection);
    std::optional<Count> built(const Expr* builder, const Path& path);
    std::optional<Count> product(const Expr* shape);
    std::optional<Count> iterations_of(const Expr* datum);
    std::optional<std::int64_t> merges(const Expr* builder, const Symbol* param, const Path& path);
    std::optional<std::int64_t> merges_of_name(const Symbol* s, const Symbol* param, const Path& path);

    Module& m_;
    Table<Symbol, const Expr*> definitions_;
    Table<Symbol, const Expr*> loops_;
    Table<Expr, Traits> traits_;
    std::unordered_map<const Expr*, std::optional<Count>> lengths_;
    std::map<std::pair<const Symbol*, Path>, std::optional<std::int64_t>> merges_;
};

/// Each iteration just hands the builder on: the loop fails before the first one, or not at all.
bool does_nothing(For loop);

/// A name, or a field of one.
inline bool is_path(const Expr* e) {
    while (e->op == Op::GetField) e = e->arg(0);
    return e->op == Op::Var;
}
/// What a path begins with.
inline const Symbol* base_of(const Expr* path) {
    while (path->op == Op::GetField) path = path->arg(0);
    return path->attr.symbol;
}

}  // namespace weld
