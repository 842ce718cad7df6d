// The walk of type inference (infer.cpp), by families of nodes.
#pragma once

#include <optional>
#include <unordered_set>

#include "frontend/weld/reader.h"
#include "weldir/ir/builder.h"

namespace weld::front {

class Inference {
  public:
    explicit Inference(Reader& reader) : r_(reader), t_(reader.terms) {}
    void run();

  private:
    // ---- messages
    static std::optional<Scalar> scalar_of(Term* term);
    /// What to write in the place of `at` to get the type, where that is easily said.
    static void suggest(Diagnostic& d, const Node* at, Term* want);
    /// The same where either of two can change.
    static void suggest_one_type(Diagnostic& d, const Node* a, const Node* b);
    /// Demands that `at` has type `want`; `what` says of what kind of thing that is demanded.
    bool demand(Node* at, Term* want, std::string_view what);

    // ---- waiting
    /// Applies the rule of a node, or lets it wait for the variable that keeps the rule from being applied.
    Term* attempt(Node* n);
    void retry(Node* n);
    void settle_result(Node* n, Term* known);
    void drain();
    /// The end: lanes of loops, defaults in program order, then what must have become a scalar.
    void settle();
    Term* default_of(Node* n);
    void check_scalar(Node* at, Term* term);

    // ---- functions and programs
    void declare(Definition& d);
    void define(Definition& d);
    /// A function that stands alone: the program, or one that is never called.
    Term* function(Node* n);
    /// The function under a `for`, `iterate` or `sort`: gives its parameters their types and infers its body.
    /// False if it is none, or has another number of parameters.
    bool enter(Node* f, std::string_view what, std::span<Term* const> params, const char* names);
    /// What a function gives, without the lets before it: for labels.
    static const Node* result_of(const Node* f);
    void demand_result(Node* f, Term* want, std::string_view what);

    // ---- the tree
    Term* infer(Node* n);
    Term* dispatch(Node* n);
    Term* ascribe(Node* n);
    Term* block(Node* n);

    // ---- scalars
    Term* infix(Node* top);
    Term* scalar_op(Node* n);
    /// Each side of `&&` and `||` can be wrong by itself; the right one is looked at first.
    bool bools(Node* n);
    /// After an error: a comparison is bool all the same.
    Term* error_or_bool(const Node* n);
    Term* broadcast(Node* n);

    // ---- structure
    Term* make_struct(Node* n);
    Term* structure(Node* n, std::span<Term* const> fields);
    Term* make_vec(Node* n);
    Term* choose(Node* n);
    Term* same_sides(Node* n);
    Term* plain_select(Node* n);
    /// With a simd condition the sides are simd of as many lanes, or structs of such.
    Term* select(Node* n, Term** blocker);
    /// Gives all simd in `t` these lanes. A variable in the way is returned.
    Term* match_lanes(Term* t, Lanes* lanes, Node* at, std::string_view what);
    Term* iterate(Node* n);
    /// How one lane of `state` goes on.
    void one_lane(Node* f, Term* state);
    Term* lane_of(Term* t);
    Term* sort(Node* n);

    // ---- loops
    Term* loop(Node* n);
    /// The element that a loop's data give: one, or a struct of them.
    Term* data(Node* n);
    /// The element of a vector, or of the vector that an iterator walks.
    Term* datum(Node* n);
    Term* element_of(Node* n, std::string_view what);
    static IterKind kind_of(const Node* n);
    /// Iterators that are zipped are of one kind; simd and fringe iterators of one lane count.
    void join_iterators(std::span<Node*> all, std::vector<Term*>& elems);
    /// What is written counts; else the default of the widest element, so that all fit a register. Only the
    /// loop's own elements decide, because the loop over the fringe must come to the same number.
    Lanes* shared_lanes(std::span<Node*> all, const std::vector<Term*>& elems);
    void set_lanes(Lanes* lanes, std::span<Term* const> elems);

    // ---- builders
    Term* new_builder(Node* n);
    static const BuilderInfo& info_of(Term* builder);
    /// What a pattern of a BuilderInfo means for `builder`.
    Term* typed(std::string_view pattern, Term* builder);
    Term* taken_by(Term* builder);
    Term* pair(Term* a, Term* b);
    enum class Shape { Plain, Wide, Unknown };
    /// Wide: simd, or a struct of nothing but simd, at any depth.
    Shape shape_of(Term* t, Term** unknown);
    Shape shape_below(Term* t, Term** unknown);
    Term* merge(Node* n, Term** blocker);
    Term* plain_merge(Node* n, Term* item);
    /// `{i, lanes}`: lanes at the indices from i on.
    bool is_row_merge(Term* builder, Term* value);
    Term* row_merge(Node* n, Term* item);
    bool is_merge_of_rows(Term* item, Term* value);
    Term* merge_of_rows(Node* n, Term* item);
    Term* merge_error(Node* n, Term* item);
    /// Makes `wide` a simd form of `item`, with these lanes.
    bool widen(Term* item, Term* wide, Lanes* lanes);
    Term* result(Node* n, Term** blocker);

    // ---- collections and calls
    /// Rules that look into the type of the first argument.
    Term* solve(Node* n, Term** blocker);
    bool is_printed(Node* n);
    bool collection(Node* n, bool vec, bool dict);
    bool key(Node* n);
    Term* found_in(Term* of);
    /// What `optlookup[8]` finds in a vector of `elem`.
    Term* found_lanes(Node* n, Term* elem);
    Term* field(Node* n, Term* of);
    Term* cast(Node* n, Term* of);
    Term* deserialize(Node* n);
    Term* kernel(Node* n);
    Term* call(Node* n);

    Reader& r_;
    Terms& t_;
    std::uint32_t widened_ = 0;           // parts of the merge at hand
    std::vector<Node*> waiting_;          // in the order in which they began to
    std::unordered_set<Node*> unsolved_;  // of these
    struct LateLanes {
        Lanes* lanes;
        std::vector<Term*> elems;
    };
    std::vector<LateLanes> late_lanes_;             // of loops over elements of unknown type
    std::vector<std::pair<Node*, Term*>> scalars_;  // what simd is made of
    std::vector<std::pair<Node*, Lanes*>> fringes_;
};

}  // namespace weld::front
