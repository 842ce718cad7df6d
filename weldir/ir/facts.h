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
#include <span>
#include <unordered_map>
#include <vector>

#include "weldir/ir/build.h"
#include "weldir/ir/conditions.h"
#include "weldir/ir/count.h"
#include "weldir/ir/module.h"
#include "weldir/ir/table.h"
#include "weldir/ir/traits.h"

namespace weld {

class Facts {
  public:
    using Path = std::vector<std::size_t>;  ///< indices of nested struct fields, outermost first

    /// Looks at all of `root` once.
    Facts(Module& m, const Expr* root);
    friend class Bounds;

    /// From now on a Block binds `s` to `value`.
    void define(const Symbol* s, const Expr* value) { definitions_[s] = value; }

    /// What evaluating `e` may do, with all below it.
    const Traits& traits(const Expr* e);
    /// The same of the node by itself, its arguments aside.
    Traits own_traits(const Expr* e);
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
    /// A number in the value of `e`: the i64 at `path` in it, or the length of what is there.
    std::optional<Count> size(const Expr* e, const Path& path, bool is_length);
    /// What the conditions that hold when the whole has come to its end say that a name of counts is.
    std::optional<Count> asserted(const Expr* name);
    /// It is promised that the number that a name of counts stands for is not negative.
    bool is_promised_not_negative(const Expr* name) const;
    /// How often a loop runs its body, if it runs at all without failing.
    std::optional<Count> iterations(const Expr* loop);
    /// How many elements the data of a loop have, on lanes or one by one, if it runs at all without failing.
    std::optional<Count> elements(const Expr* loop);
    /// The data of a loop have the same length for sure. `at`: see `agree`.
    bool lengths_agree(std::span<const Expr* const> data, const Symbol* at = nullptr);
    /// Two numbers are the same for sure, as far as is known in the loop whose index is `at`, if it stays
    /// where it is: see conditions.h.
    bool agree(const Count& a, const Count& b, const Symbol* at);

    /// Each round of a loop finds `vec` at a number that begins with `from` and goes on by one: all of these
    /// lie inside for sure, if the loop stays where it is.
    /// If it takes numbers that are small, `small` gets them, for which the caller then sees to that.
    bool walks_inside(const Expr* vec, const Expr* from, const Expr* loop,
                      std::vector<SmallName>* small = nullptr);

    /// The slice is one of the `len(v) / size` rows of `size` elements that its vector `v` has, by its number: it is not cut.
    bool is_row(Slice slice);

    /// What a comparison of i64 says whenever it is asked, as long as it stays where it is; nothing if that varies.
    std::optional<bool> decided(const Expr* comparison);

    /// How often each run of a loop's body merges into the builder at `path` in its builder; nothing if that
    /// varies.
    std::optional<Count> merges_per_iteration(const Expr* loop, const Path& path = {});

  private:
    static Path longer(std::size_t first, const Path& path);
    static Path without_first(const Path& path) { return {path.begin() + 1, path.end()}; }
    const Expr* step(const Expr* e) const;
    std::optional<Count> length_of(const Expr* collection);
    std::optional<Count> built(const Expr* builder, const Path& path);
    std::optional<Count> product(const Expr* shape);
    std::optional<Count> iterations_of(const Expr* datum);
    std::optional<Count> elements_of(const Expr* datum);
    std::optional<Count> count_of(const Expr* i64);
    Count named(const Expr* path, bool is_length);
    const Expr* path_to(const Symbol* s, const Path& path);
    std::optional<Count> at(const Expr* path, bool is_length) {
        return is_length ? length(path) : count(path);
    }
    std::optional<Count> part(const Expr* path, bool is_length);
    std::optional<Count> promised(const Promise& p, Args args, const Symbol* self);

    /// What a round of an `iterate` ends with; null if that is not written there.
    struct RoundEnd {
        const Expr *next = nullptr, *again = nullptr;
    };
    RoundEnd end_of_round(Iterate it) const;
    bool stays(const Expr* iterate, const Path& path, bool is_length);
    bool is_fixed_in(const Count& n, const Expr* loop);

    using Place = Conditions::Place;
    using Depth = Conditions::Depth;
    void find_conditions();
    void find_conditions(const Expr* e, Place place, Depth depth, bool outermost);
    void find_in_rounds(Iterate it, Place place, Depth depth);
    void find_in_branch(const Expr* e, std::size_t arg, bool holds, Place place, Depth depth);
    /// `a op b`: Eq, Lt or Le.
    struct Comparison {
        Op op;
        Count a, b;
    };
    void list_comparisons(const Expr* condition, bool holds, std::vector<Comparison>& all);
    Place behind(const Expr* condition, bool holds, Place place, Depth depth);
    Place in_rounds(Iterate it, Place place, Depth depth);
    Depth is_less(const Count& a, const Count& b, bool or_equal, Place place);
    bool stays_below(const Expr* next, const Count& state, const Comparison& most, Place place,
                     const std::vector<Comparison>& known);
    bool never_falls(const Expr* next, const Count& state);
    const Expr* number_at(const Expr* e, const Path& path) const;
    void note_place(const Expr* e, Place place);
    Place place_of(const Symbol* index);
    Place place_of(const Expr* e);
    Traits traits_of(const Expr* e);
    Depth is_safe_under(const Expr* e);
    Depth agreement(std::span<const Expr* const> data, Place place);
    Depth bounds_hold_under(const Expr* iter);
    Depth index_holds_under(const Expr* lookup);
    bool counts_up(const Count& n);

    std::optional<Count> merges(const Expr* builder, const Symbol* param, const Path& path);
    std::optional<Count> merges_of_name(const Symbol* s, const Symbol* param, const Path& path);

    Module& m_;
    Table<Symbol, const Expr*> definitions_;
    Table<Symbol, const Expr*> loops_;
    Table<Expr, Traits> traits_;
    std::unordered_map<const Expr*, std::optional<Count>> lengths_, counts_;
    Table<Symbol, std::vector<const Expr*>> names_;  // of counts, by what their paths begin with
    std::map<std::pair<const Symbol*, Path>, std::optional<Count>> merges_;
    const Expr* root_;
    bool conditions_found_ = false;
    Conditions conditions_;
    Table<Symbol, Place> loop_places_;   // by index
    Place place_at_end_ = 0;             // of the outermost block
    Table<Symbol, const Expr*> states_;  // by parameter of its function: an `iterate`
    std::unordered_map<const Expr*, std::vector<SizeName>> staying_;  // sizes in the state of an `iterate`
    Table<Expr, Place> places_;           // of look-ups, of iterators with bounds, of comparisons of i64
    Table<Expr, Depth> branch_depths_;    // of an `if` (or `&&`, `||`) whose sides know more than it
    static constexpr int kDeepest = 200;  // names that stand for sums of names, and so on
    int depth_ = 0;                       // of the questions about counts that are being answered
};

/// A name, or a field of one.
inline bool is_path(const Expr* e) {
    while (e->op == Op::GetField) e = e->arg(0);
    return e->op == Op::Var;
}
/// `a.$1.$2` has the path {1, 2}.
std::vector<std::size_t> indices_of(const Expr* path);
/// What a path begins with.
inline const Symbol* base_of(const Expr* path) {
    while (path->op == Op::GetField) path = path->arg(0);
    return path->attr.symbol;
}

}  // namespace weld
