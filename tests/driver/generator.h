// The generator of random programs: what its parts share. Programs and functions are made in generate.cpp,
// types and leaves in generate_types.cpp, expressions in generate_values.cpp, loops and builders in
// generate_loops.cpp, loops over matrices in generate_matrices.cpp.
//
// A program is grown from its result: `expr(t)` makes an expression of type `t` from the names in scope,
// choosing among the forms that give a `t`; `grow(b)` makes a later state of the builder `b`, using it once
// on each path. A budget of nodes is spent on the way; when it is gone, only leaves are made.
//
// Floats are mostly multiples of 1/8, so that sums are exact in any order and most results compare by bits.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "tests/driver/generate.h"
#include "weldir/ir/build.h"

namespace weld::driver {

/// A scalar as in Literal: small numbers mostly, now and then an extreme one.
std::uint64_t random_bits(Scalar s, Random& r);

class Generator {
  public:
    Generator(Module& m, Random& r, const GenerateOptions& o) : m_(m), r_(r), options_(o), fuel_(o.size) {}
    void program();

  private:
    using Make = std::function<const Expr*()>;
    struct Choice {
        int weight;
        Make make;
    };
    const Expr* choose(const std::vector<Choice>& choices);

    // ---- names
    const Symbol* symbol(const char* name, const Type* type) { return m_.symbol(name, type); }
    /// What `make` makes with `symbols` in scope.
    template <class Fn>
    const Expr* within(const std::vector<const Symbol*>& symbols, Fn&& make) {
        const std::size_t before = scope_.size();
        for (const Symbol* s : symbols)
            if (!s->type->holds_builder) scope_.push_back(s);
        const Expr* e = make();
        scope_.resize(before);
        return e;
    }
    /// Binds `value` and makes what follows from its name.
    template <class Fn>
    const Expr* named(const char* name, const Expr* value, Fn&& make) {
        if (Var v = value->as<Var>()) return make(v.symbol());
        const Symbol* s = symbol(name, value->type);
        return let(m_, s, value, within({s}, [&] { return make(s); }));
    }
    /// A name in scope, or a field of one, of type `t`; null if there is none.
    const Expr* known(const Type* t);

    // ---- types
    const Type* scalar(Scalar s) { return m_.types.scalar(s); }
    const Type* scalar_type();
    const Type* number_type();
    const Type* struct_of(std::size_t n, const std::function<const Type*()>& field);
    const Type* mergeable_type();
    const Type* key_type();
    const Type* data_type(int depth);
    /// Programs are called from outside with these: no dictionaries.
    const Type* param_type();

    // ---- leaves
    const Expr* i64(std::int64_t n) { return i64_literal(m_, n); }
    const Expr* constant(const Type* t) { return literal(m_, t, random_bits(t->scalar, r_)); }
    /// A constant as wide as `t`: a scalar or simd.
    const Expr* lanes_constant(const Type* t);
    const Expr* leaf(const Type* t);
    const Expr* text(const Type* t);
    const Expr* vector(const Type* t, std::size_t n, const Make& make);
    const Expr* structure(const Type* t, const std::function<const Expr*(const Type*)>& make);
    /// The builder whose result is dictionary `t`.
    const Type* dict_builder(const Type* t);
    const Expr* small_dict(const Type* t);
    MergeOp merge_op() { return r_.percent(50) ? MergeOp::Add : MergeOp(r_.below(4)); }

    // ---- whole programs
    /// As people write them: loop after loop, each over what came before, and some of it in the result.
    const Expr* pipeline();
    const Type* step_type();

    // ---- matrices
    struct Matrix;
    /// A program over a matrix that lies in a vector row by row.
    const Expr* matrices();
    const Expr* side();
    const Expr* op(Op op, const Expr* a, const Expr* b);
    const Expr* counting(const Expr* n, const Expr* builder,
                         const std::function<const Expr*(const Expr* b, const Symbol* i)>& body);
    const Expr* over(
        const std::vector<const Expr*>& data, const Expr* builder,
        const std::function<const Expr*(const Expr* b, const Symbol* index, const Symbol* element)>& body);
    const Expr* made_of_numbers(const Type* elem, const Expr* n);
    const Type* summing(BuilderKind kind, const Type* elem);
    const Expr* neighbour(const Expr* k, const Expr* n);
    const Expr* cell(const Matrix& m, const Expr* element, const Expr* i, const Expr* j);
    const Expr* cells(const Matrix& m, const Expr* builder, bool turned);
    const Expr* column_sums(const Matrix& m);

    // ---- expressions
    bool spend() { return --fuel_ > 0; }
    const Expr* expr(const Type* t);
    /// A condition; mostly one that can go either way.
    const Expr* boolean();
    const Expr* maybe_annotated(const Expr* e);
    /// Forms for every type.
    void add_general(std::vector<Choice>& choices, const Type* t);
    std::vector<Choice> forms_of(const Type* t);
    const Expr* from_struct(const Type* t);
    const Expr* iteration(const Type* t);
    /// Rounds that change elements of vectors, which may be one another, parts, or known elsewhere.
    const Expr* rounds_of_updates(const Type* t);
    const Expr* updated(const Expr* vec);
    bool risky() { return options_.failures && r_.percent(4); }
    const Expr* is_index(const Symbol* k, const Symbol* v);
    /// An element of a vector, if there is one.
    const Expr* element(const Type* t);
    const Expr* from_dict(const Type* t);

    // ---- scalars
    std::vector<Choice> scalar_forms(const Type* t);
    Op comparison_op();
    const Expr* compound_comparison();
    /// An operation that gives `t`, a scalar or simd.
    const Expr* lanes_op(const Type* t);
    const Expr* integer_op(const Type* t);
    const Expr* float_op(const Type* t);
    const Expr* division(const Type* t);

    // ---- structs and vectors
    std::vector<Choice> struct_forms(const Type* t);
    std::vector<Choice> vec_forms(const Type* t);
    const Expr* sliced(const Type* t);
    const Expr* sorted(const Type* t);
    const Expr* sorted_whole(const Type* t);
    /// -1, 0 or 1 as i32: how `a` and `b` compare.
    const Expr* compared(const Expr* a, const Expr* b);
    /// A comparator cannot order NaNs; sort vectors that may hold some by key.
    const Expr* floats_without_nan(const Expr* of);
    /// `tovec`, put in the order of the keys, which the interpreter and compiled programs agree on.
    const Expr* entries(const Type* t);

    // ---- loops
    /// Every `k`th element of `v`, as far as that goes evenly.
    const Expr* strided(const Symbol* v, std::int64_t k);
    /// The data of a loop over `v`: it alone, parts of it, or zipped with others of the same length.
    std::vector<const Expr*> data_over(const Symbol* v);
    /// `for` over something, from `builder`.
    const Expr* some_loop(const Expr* builder);
    const Expr* some_vector();
    const Expr* counted_loop(const Expr* builder);
    const Expr* nd_loop(const Expr* builder);
    const Expr* loop_over(const std::vector<const Expr*>& data, const Expr* builder);
    /// Two vectors zipped, as far as both go or if they are equally long.
    const Expr* zipped_loop(const Symbol* v, const Symbol* w, const Expr* builder);
    /// As a user would vectorise a loop over scalars by hand.
    const Expr* simd_loops(const Symbol* v, const Expr* builder);

    // ---- builders
    /// Of the simd loop whose body is being made; 0 if it is none.
    std::uint32_t lanes_in_scope() const;
    /// `t` with every scalar in it as simd; null if there is something else in it.
    const Type* widened(const Type* t, std::uint32_t lanes);
    const Expr* wide_expr(const Type* t);
    const Expr* merged(const Expr* b);
    /// A merge of simd; null if `b` takes none.
    const Expr* merged_lanes(const Expr* b, std::uint32_t lanes);
    /// Binds a builder, so that it can be used on both sides of an `if`, or field by field.
    template <class Fn>
    const Expr* builder_named(const Expr* b, Fn&& make) {
        if (b->op == Op::Var || (b->op == Op::GetField && b->arg(0)->op == Op::Var && !b->type->is_struct()))
            return make(b);
        const Symbol* s = symbol("b", b->type);
        return let(m_, s, b, make(var(m_, s)));
    }
    /// A later state of `b`, which is used once on each path.
    const Expr* grow(const Expr* b);
    const Expr* grow_fields(const Expr* s);
    /// One merge of a leaf.
    const Expr* merged_simply(const Expr* b);
    const Type* builder_of(BuilderKind kind, std::initializer_list<const Type*> args);
    /// A later state of `builder`, which is new: of a loop mostly.
    const Expr* filled(const Expr* builder);
    const Expr* filled_by_iterate(const Expr* builder);
    /// `b` after a call of a module function that takes and returns such builders; null if there is none.
    const Expr* filled_by_call(const Expr* b);
    const Expr* reduction(const Type* t);
    const Expr* collected(const Type* t);
    const Expr* dict_beside_others(const Type* t);
    const Expr* grow_by_one_key(const Expr* s);
    const Expr* dict_loop(const Type* t) { return result(m_, filled(new_builder(m_, dict_builder(t)))); }
    const Expr* vec_merged(const Type* t);
    /// A part of a vector, put into it at places that are others, some of them, or the same.
    const Expr* moved_within(const Type* setter);
    /// A struct built in one loop, each field by a builder of its own.
    const Expr* several_results(const Type* t);
    /// Builders, in structs as `t` has them, whose results are a `t`; null if there are none.
    const Type* builders_for(const Type* t);
    const Expr* new_builders(const Type* t);
    const Expr* results_of(const Expr* builders);

    // ---- functions
    void function();
    void cycle();
    template <class Body>
    const Expr* body_of(const Function* f, const Body& body);
    void builder_function();
    const Expr* recursion(const Function* f, const std::vector<const Symbol*>& params);
    const Expr* call_of(const Function* f);
    /// What `f` makes of something; if that is builders, their results.
    const Expr* use_of(const Function* f);

    Module& m_;
    Random& r_;
    const GenerateOptions& options_;
    int fuel_;
    int depth_ = 0;  // of loops
    std::vector<const Symbol*> scope_;
    std::map<const Type*, const Symbol*> initial_;  // the vectors that vecmergers started with
};

}  // namespace weld::driver
