// The first step of `reuse`: which memory each value may point at, from the first value of a function to the
// last. Only `reuse` and `collect` ask; nothing is changed here.
//
//     |v|                                                v: {0}              0: outside, nobody's here
//       let a = result(for(v, appender[f64], f));        a: {1}              1: what this appender builds
//       let p = {a, result(for(a, appender[f64], g))};   p: fields {1}, {2}
//       let s = slice(a, 0L, 5L);                        s: {0}, inner {1}   no block, but lies in one
//       if(c, a, v)                                      {0, 1}              one of them
//
// So 1 ends when the last of `a`, `p.$0` and `s` does; the name that it ends with, `a`, is its owner. What a
// round of a loop makes has a higher level, and ends in the round. The vectors in the state of an `iterate`
// are objects of the round, too: it owns what it gets if it owns what it gives to the next.
//
// A kind of node that is not in `look` gives `unknown`: nothing of its own, and all that its arguments reach.
// That is right for every node, but nothing that goes through it can be freed or changed in place.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "weldir/ir/module.h"
#include "weldir/passes/reach.h"

namespace weld::ownership {

/// A vector in the state of an `iterate`.
struct StateVector {
    const Expr* iterate;
    Path path;
    Object in, out;        ///< what a round gets there, and what is left in the end
    Objects next;          ///< what a round gives to the next
    bool owned = true;     ///< by the round, if the first one owns it
    bool wanted = false;   ///< so it must
    bool settled = false;  ///< no longer to be wanted
    bool copied = false;   ///< before the first round
};

struct ObjectInfo {
    int level = 0;  ///< of the loops around what makes it
    bool lost = false;
    bool consumed = false;          ///< something starts in place on it
    bool escapes = false;           ///< to who reads the block of its owner
    const Symbol* owner = nullptr;  ///< whose end is its end
    std::size_t owned_since = 0;    ///< counts lets
    StateVector* state = nullptr;   ///< that it is `in` or `out` of
    bool is_param = false;          ///< what a function gets there
};

/// What functions give, in terms of the objects of their parameters, which come first and in order, and of
/// those that they make. Until it is known of a function that is being looked at, it gives nothing.
using Results = std::unordered_map<const Function*, Reach>;

/// A vector of what a vecsetter takes.
bool is_plain_vector(const Type* t);

class Origins {
  public:
    Origins(const Expr* lambda, bool is_main, const Results& results);
    /// What the function gives; objects that stand in the same places are one.
    Reach result(const Type* t) const;
    /// Sets became too large to know who is in them.
    bool gave_up() const { return gave_up_; }
    /// Of a node that was looked at and whose type holds pointers.
    const Reach& reach(const Expr* e) const { return reaches_.at(e); }
    bool has_start(const Expr* e) const { return starts_.contains(e); }
    bool is_owned(Object o) const;
    /// A round may give what it got to the next.
    bool passes_on(const StateVector& s) const;
    /// A vector in the state of the `iterate` through whose last state alone `r`, of type `t`, leads to `o`; or null.
    const StateVector* left_by(Object o, const Type* t, const Reach& r) const;

    std::vector<ObjectInfo> objects;
    std::unordered_map<const Symbol*, Reach> names;
    std::unordered_map<const Expr*, std::vector<std::unique_ptr<StateVector>>> states;  ///< by iterate

  private:
    Reach of(const Expr* e);
    /// Sets stay small: what is in too many of them is given up.
    void limit(Reach& r);
    Object make();
    Reach param(const Symbol* p, const Type* t);
    Objects all_params() const;
    Reach made(Objects inner = {});
    /// Nothing comes of it: a call of a function that was not looked at yet.
    static bool is_nothing(const Reach& r) { return r.tops.empty() && r.inner.empty() && r.fields.empty(); }
    static Reach joined(const Reach& a, const Reach& b);
    /// Nothing is known of what `e` makes of its arguments.
    Reach unknown(const Expr* e);
    static Objects pointees(const Type* holder, const Reach& r);
    Reach look(const Expr* e);
    /// What the function says that it gives, with the arguments in the place of parameters.
    Reach of_call(Call c);
    /// As many as `param` makes of the type.
    static void leaves_of(const Type* t, const Reach& r, std::vector<Reach>& all);
    Reach of_block(Block b);
    /// What `r` is itself ends with `s`, unless it has another name in the same block or outside, or was made before
    /// the block, whose first object is `first`.
    void own(const Symbol* s, const Type* t, const Reach& r, std::size_t since, Object first);
    Reach body(Lambda l, const Reach& first);
    Reach of_loop(For f);
    Reach of_iterate(Iterate it);
    /// The state that a round gets.
    Reach state_of(Iterate it, const Type* t, const Reach& r, Path& path);
    static bool can_copy(const Expr* init, const Path& path);
    /// A round owns what it gives to the next at `s.path` if it made that, and gives it to nobody else.
    void judge(StateVector& s, const Reach& next);
    Reach after(Iterate it, const Type* t, const Reach& init, const Reach& next, Path& path);

    std::unordered_map<const Expr*, Reach> reaches_;
    std::unordered_set<const Expr*> starts_;  // nodes that hold a NewBuilder
    const Results& results_;
    Reach result_;
    std::size_t num_params_ = 1;
    bool gave_up_ = false;
    std::size_t num_starts_ = 0, num_bound_ = 0;
    int level_ = 0;
};

}  // namespace weld::ownership
