// Types with unknown parts, for inference. A term is a known type of the Module, or a type constructor over
// terms, or a variable that unification binds.
#pragma once

#include <string>
#include <vector>

#include "frontend/weld/syntax.h"

namespace weld::front {

/// The lane count of simd terms that have to agree.
struct Lanes {
    Lanes* bound = nullptr;    ///< agrees with these
    std::uint32_t count = 0;   ///< 0: not known yet
    std::uint32_t widest = 0;  ///< bytes of the largest element so far; the default follows from it
};

/// Nodes to look at again when a variable is bound.
struct Waiting {
    Node* node;
    Waiting* next;
};

struct Term {
    enum Kind : std::uint8_t { Variable, Error, Known, Vec, Dict, Struct, Builder, Simd, Function };
    Kind kind = Variable;
    BuilderKind builder = BuilderKind::Appender;  ///< Builder
    MergeOp op = MergeOp::Add;                    ///< Builder
    std::uint32_t leaves = 1;                     ///< as TypeNode::leaves, what is unknown counting one
    Loc origin;                                   ///< Variable: where to complain if it stays one
    Term* bound = nullptr;                        ///< Variable: what it turned out to be
    Lanes* lanes = nullptr;                       ///< Simd
    const Type* type = nullptr;                   ///< Known
    std::uint32_t walk = 0;                       ///< the last walk that came by: see `Terms::first_visit`
    std::span<Term*> args;                        ///< as Type::args; Simd: its element
    Waiting* waiting = nullptr;                   ///< Variable
};

/// Makes and unifies terms.
class Terms {
  public:
    Terms(Module& module, Arena& arena)
        : module_(module), arena_(arena), error_(make({.kind = Term::Error})) {}

    // ---- making
    Term* variable(Loc origin) { return make({.kind = Term::Variable, .origin = origin}); }
    Term* error() const { return error_; }
    Term* known(const Type* type);
    Term* scalar(Scalar s) { return known(module_.types.scalar(s)); }
    Term* boolean() { return scalar(Scalar::Bool); }
    Term* i64() { return scalar(Scalar::I64); }
    Term* vec(Term* elem) { return compound({.kind = Term::Vec}, {&elem, 1}); }
    Term* dict(Term* key, Term* value);
    Term* structure(std::span<Term* const> fields) { return compound({.kind = Term::Struct}, fields); }
    Term* builder(BuilderKind kind, std::span<Term* const> args, MergeOp op);
    Term* function(std::span<Term* const> params, Term* result);
    Term* simd(Term* elem, Lanes* lanes);
    Lanes* lanes(std::uint32_t count);
    /// What a written type means; new variables for its unknown parts. `use`: where to complain about these
    /// if the type is written in a standard macro.
    Term* of(const TypeNode* type, Loc use = {});

    // ---- looking
    /// The term that `t` stands for, so far.
    static Term* find(Term* t);
    static bool is_unknown(Term* t) { return find(t)->kind == Term::Variable; }
    static bool is_error(Term* t) { return find(t)->kind == Term::Error; }
    /// The kind of type, whether it is known or compound; not for variables and errors.
    static TypeKind type_kind(Term* t);
    static bool is(Term* t, TypeKind kind);
    static bool is_scalar(Term* t, Scalar s);
    static BuilderKind builder_kind(Term* t);
    static MergeOp merge_op(Term* t);
    static std::size_t num_args(Term* t);
    /// Element, key, field, ... of a type that has it. The element of a simd is a scalar.
    Term* arg(Term* t, std::size_t i);
    Lanes* lanes_of(Term* simd);
    static std::uint32_t count(Lanes* l) { return find(l)->count; }  ///< 0: not known yet
    std::uint32_t leaves(Term* t);

    // ---- walking: types share parts, so a walk has to know where it has been
    void begin_walk() { ++walk_; }
    /// Is this the first time that the walk comes to the term that `t` stands for?
    bool first_visit(Term* t) { return std::exchange(find(t)->walk, walk_) != walk_; }

    // ---- unifying
    /// Makes the two equal, binding variables. False if they cannot be; what was bound on the way stays
    /// bound.
    bool unify(Term* a, Term* b);
    bool unify(Lanes* a, Lanes* b);
    /// Nodes that waited for variables that have been bound since the last call.
    std::vector<Node*> take_ready() { return std::exchange(ready_, {}); }
    void wait(Term* variable, Node* node);

    // ---- settling
    /// Gives every simd a lane count: the default of the widest element among those that must agree.
    void settle_lanes();
    /// The type; null if something in it is unknown (`*unknown` is set to the variable) or was an error.
    const Type* resolve(Term* t, Term** unknown);
    std::string str(Term* t);

  private:
    Term* make(const Term& proto) { return arena_.make<Term>(proto); }
    Term* compound(Term proto, std::span<Term* const> args);
    bool bind(Term* variable, Term* to);
    bool occurs(Term* variable, Term* in);
    static Lanes* find(Lanes* l);
    const Type* type_of(const Term& proto, std::span<const Type* const> args);
    void append(std::string& out, Term* t);

    Module& module_;
    Arena& arena_;
    Term* error_;
    std::vector<Term*> known_;  // by Type::id
    std::vector<Term*> simds_;  // to settle
    std::vector<Node*> ready_;
    std::uint32_t walk_ = 0;
};

}  // namespace weld::front
