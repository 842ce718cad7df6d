// The second step of `reuse`: which objects (origins.h) are read later, from the last value of a function to
// the first. What nobody reads later may be changed in place, or freed.
//
//                                                           read behind it
//     let a = result(for(v, appender[f64], f));             a
//     let h = result(for(a, vecmerger[f64,+](z), g));       h       the last to read `a`: it is freed here
//     let k = result(for(h, vecmerger[f64,+](h), g2));      k       nor is `h` read behind its start; but the
//     sum(k)                                                        loop reads it, so this starts on a copy
//
// When the walk comes to a node, `live_` says of each object how many nodes behind it read it. So arguments
// are looked at in the order opposite to that of evaluation, and a kind of node that evaluates them in
// another order than from the first to the last needs a case in `look`. To count a read too many costs
// memory; to miss one frees what is still read, which weld-test sees, since it overwrites what is freed.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>

#include "weldir/passes/origins.h"

namespace weld::ownership {

class Lives {
  public:
    /// `f`: null for the main program.
    Lives(Origins& origins, const Expr* lambda, const Function* f);
    bool is_in_place(const Expr* start) const;
    /// The datum that an appender goes over.
    std::optional<std::size_t> over(const Expr* start) const;
    /// What is freed after each let of `b`; the last is for its result.
    std::vector<std::vector<const Symbol*>> frees(Block b) const;
    /// What a loop goes along, if its datum is no range.
    static const Expr* vector_of(const Expr* datum);
    /// What a call gives to its callee.
    std::vector<const Symbol*> gives(const Expr* call) const;

  private:
    /// How often each object is read later.
    using Counts = std::map<Object, int>;
    /// Reads of an object through a name, and how many of these an iterate is known to have left.
    struct Through {
        int reads = 0, left = 0;
    };
    using Throughs = std::map<Object, Through>;
    /// `through`: of the reads later, those through the name of what `e` gives, if that is an `if`. Where a branch is
    /// taken, they read what that branch gives.
    void look(const Expr* e, const Throughs& through = {});
    /// While an operand is computed those before it are kept for the operation.
    void operand(const Expr* e, std::size_t i);
    void keep(const Expr* e, int times);
    void read(const Expr* path);
    void inside(const Expr* lambda);
    void block(Block b);

    // -- parameters
    /// What `b` did not bind, its value at `at` reads (as the log tells from `begin` on), and nothing later
    /// does, ends there: parameters, and in recursive functions what would else stay until calls return.
    void end_outer(Block b, std::size_t at, std::size_t begin);
    /// After a jump to the beginning of the function its parameters may have memory in common.
    void keep_jumps_apart(const Expr* e);
    void lose(const Symbol* p);
    /// Whether `callee` has a region for what it is given.
    bool takes(const Function& callee);
    /// What nobody reads later is given to the callee, if no other argument has a part of it.
    void call(Call c);
    bool jumps_here(Call c) const;
    bool is_param(const Symbol* s) const;
    bool may_give(const Symbol* s, const std::unordered_map<Object, int>& times) const;

    // -- branches
    void branches(const Expr* e, const Throughs& through);
    void branch(const Expr* e, const Throughs& through);
    /// Its value is what other names are, or one of those: reads through the name are counted.
    static bool passes_on(const Expr* value);
    /// The reads through the name of `value` are such through the names that it passes on, where it can only be these.
    void pass_on(const Expr* value, const Throughs& through);
    /// What is merged first into a vector that starts in place is computed before that changes.
    void merge(const Expr* e);
    void loop(For f);
    /// The vector that a loop that begins with `start` may put elements into while it reads it; or null.
    static const Expr* safe_to_change(const Expr* start);

    // -- loops that write over what they read
    /// Of a loop over the elements that do not fill all lanes, the one over lanes.
    static For lanes_of_fringe(For f);
    /// Round i reads element i of `datum`, or the lanes and the fringe that stand for it.
    static bool reads_in_step(const Expr* datum);
    /// The appenders in `start`, with which the first of `loops` starts, to which each round merges once, and
    /// a datum that nobody else reads: it would be freed after the loop, of which no round reads what another
    /// one has written.
    void lay_over(const std::array<For, 2>& loops, const Expr* start, std::size_t& number, Objects& taken);
    static std::uint32_t elements_per_round(For f);
    bool may_lay_over(const std::array<For, 2>& loops, const Expr* datum, const Type* elem,
                      const Objects& taken) const;
    /// Of the memory `of` each round reads from `datum` no more than its own element.
    bool is_apart_or_in_step(const Expr* datum, const Objects& of) const;

    // -- starts in place
    void start(const Expr* e);
    /// Nobody reads later what is there, but as what the `iterate` leaves that starts in its place.
    bool may_consume(const Reach& r, const Counts& left = {}) const;
    void consume(const Reach& r);
    /// Vectors in the state of an `iterate` are owned if those are that they are made of.
    bool can_own(Object o) const;
    bool can_own_next(Object o) const;
    void want(Object o);
    void iterate(Iterate it);
    /// `s` is to be freed: nobody else has what it consists of.
    bool is_own(const Symbol* s) const;
    bool is_own(const Symbol* s, const Type* t, const Reach& r, Objects& seen) const;

    Origins& o_;
    const Function* f_;
    std::span<const Symbol* const> params_;   // of a function with a region of its own
    std::unordered_set<const Symbol*> open_;  // bound before, by the blocks around
    std::set<const Symbol*> ended_;  // inside of a block that is not theirs: parameters, and what is given
    std::unordered_map<const Expr*, std::vector<std::pair<const Symbol*, std::size_t>>>
        outer_ends_;  // by block
    std::unordered_map<const Expr*, std::vector<const Symbol*>> gives_;
    std::unordered_map<const Function*, bool> takes_;
    std::vector<int> live_;  // by object: how many later nodes read it
    Objects log_;            // what was read, in the order of the walk
    std::unordered_map<const Symbol*, Throughs>
        through_;  // of names that lets pass on, while they are in scope
    std::unordered_map<const Expr*, Counts>
        left_;  // by `iterate`: reads of what it may leave as it was given
    std::unordered_map<const Expr*, bool> in_place_;
    std::unordered_map<const Expr*, std::optional<std::size_t>> over_;  // by appender: which datum
    std::unordered_map<const Symbol*, std::size_t> ends_;
    /// What the loops around change in place, if they do: they read it as if it stayed (`@(independent:true)`).
    std::vector<const Expr*> safe_to_read_;
    int level_ = 0;
};

}  // namespace weld::ownership
