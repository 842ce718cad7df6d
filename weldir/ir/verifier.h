// The walk over a module that checks it, in three files: what is bound and may be read (verify_scopes.cpp), builders
// (verify_builders.cpp), and the nodes one by one (verify.cpp).
//
// Builders are followed leaf by leaf: a value of type {appender[i32],{merger[f64,+],i64}} has two leaves,
// numbered depth first. For each leaf of a value the walk knows its *origin*: which builder it is a later
// state of. A loop gives its parameter new origins and wants the same ones back:
//
//     |v: vec[i64]|
//       let a = merger[i64,+];                         # a: [0]
//       let b = for(v, a, |c, i, x| merge(c, x));      # c: [1], the body gives [1]: right; b: [0], and `a` is used
//       result(b)                                      # `b` is used
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weldir/ir/module.h"
#include "weldir/ir/print.h"

namespace weld {

using Origin = std::int32_t;
using Origins = std::vector<Origin>;
constexpr Origin kAny = -1;      // of a call that has not come back yet: agrees with everything
constexpr Origin kUnknown = -2;  // from no parameter (in the summary of a function)

/// What a function gives back: for each leaf of its result the leaf of its parameters (numbered through all
/// of them) that it derives from.
using BuilderSummary = std::vector<Origin>;

class Verifier {
  public:
    explicit Verifier(const Module& m) : m_(m), scope_(m.num_symbols(), Scope::Unbound) {}

    std::string run();

  private:
    enum class Scope : std::uint8_t { Unbound, Open, Freed, Closed };

    /// A symbol that holds builders.
    struct State {
        const Symbol* symbol;
        Origins origins;
        std::vector<bool> used;
        int depth;            // of functions around what binds it
        std::uint32_t order;  // of binding
    };
    struct Mark {
        State* state;
        std::size_t leaf;
        friend bool operator==(const Mark&, const Mark&) = default;
        friend bool operator<(const Mark& a, const Mark& b) {
            return a.state->order != b.state->order ? a.state->order < b.state->order : a.leaf < b.leaf;
        }
    };

    template <class... Args>
    void fail(const Expr* at, fmt::format_string<Args...> text, Args&&... args) {
        if (!error_.empty()) return;
        error_ = fmt::format(text, std::forward<Args>(args)...);
        std::string where = print(at);
        if (where.size() > 200) where = where.substr(0, 200) + " ...";
        error_ += "; in `" + where + "`";
    }

    // ---- functions of the module

    void check_functions();

    /// The functions that have an effect inside, also through calls.
    void find_effects();

    template <class Fn>
    static void visit_nodes(const Expr* e, Fn&& fn) {
        std::vector<const Expr*> work = {e};
        while (!work.empty()) {
            e = work.back();
            work.pop_back();
            fn(e);
            work.insert(work.end(), e->args().begin(), e->args().end());
        }
    }

    /// Functions that give builders back: assume at first that they may give anything, then look until
    /// nothing changes.
    void find_summaries();
    BuilderSummary summary(const Expr* lambda);
    Origins function(const Expr* lambda, Origin* first = nullptr, Origin* end = nullptr);

    // ---- symbols

    void bind(const Symbol* s, Origins origins, const Expr* at);
    void unbind(const Symbol* s, const Expr* at);

    /// Uses the leaves [from, to) of `s`.
    Origins use(const Symbol* s, std::size_t from, std::size_t to, const Expr* at);

    // ---- leaves

    /// How many builders a value of type `t` holds.
    std::size_t leaves(const Type* t);
    std::size_t leaves_before(const Type* t, std::size_t field);
    Origins new_origins(const Type* t);

    // ---- nodes

    void check(const Expr* e);

    /// Visits `e`; `ordered` if an effect may stand here. Gives the origins of the builders in its value.
    Origins walk(const Expr* e, bool ordered);

    /// All arguments, in order. Gives the origins of all of them.
    Origins arguments(const Expr* e, bool ordered);
    Origins make_struct(const Expr* e, bool ordered);
    bool is_freed(const Symbol* s) const { return s->id < scope_.size() && scope_[s->id] == Scope::Freed; }
    void read(const Symbol* s, const Expr* at);

    /// The argument of a `tovec` or a `len`.
    void lists(const Expr* dict, bool ordered);
    Origins variable(const Expr* e);

    /// `a.$0.$2`: of a name, uses only the builders in that field.
    Origins field(const Expr* e, bool ordered);
    Origins block(Block b, bool ordered);

    /// All that value `i` of `b` and later ones read is kept: what they reach only.
    void keeps(Block b, std::size_t i);

    /// Of the run: its memory is not the program's.
    bool is_argument(const Symbol* s) const;

    /// What ends with a value of `b` or with its result; nothing reads it later but for its length.
    void frees(Block b, std::size_t i);
    void set_scope(const std::vector<const Symbol*>& symbols, Scope from, Scope to);
    void end(const Symbol* s, const Expr* at);

    /// What was used since `begin`, of symbols that were bound before `order`.
    std::vector<Mark> marks_since(std::size_t begin, std::uint32_t order);
    Origins branches(const Expr* e, bool ordered);

    /// The body of a function under a node; its first parameter has `origins`.
    Origins inside(Lambda l, Origins origins, bool ordered);
    Origins iterate(Iterate it, bool ordered);
    Origins loop(For f, bool ordered);

    /// The appenders among what `f` starts with that go over one of its data.
    void lay_over(For f, const Expr* start);
    /// Nobody may read later the vector whose memory `start` has.
    void start_in_place(const Expr* start);
    Origins merge(const Expr* e);
    Origins call(const Expr* e, bool ordered);

    const Module& m_;
    std::string error_;
    std::vector<Scope> scope_;  // by Symbol::id
    std::unordered_map<const Symbol*, State> states_;
    std::unordered_map<const Type*, std::size_t> leaves_;
    std::unordered_map<const Function*, BuilderSummary> summaries_;
    std::unordered_set<const Expr*> laid_over_;   // starts, by the loops that were walked
    std::unordered_set<const Symbol*> listed_;    // dictionaries that `tovec` and `len` alone read
    const Expr* may_list_ = nullptr;              // a Result that may be one
    std::unordered_set<const Expr*> last_calls_;  // which a function ends with
    std::unordered_set<const Function*> effects_;
    std::vector<const Symbol*> reused_;                    // by starts in place, in the blocks that are open
    std::vector<const Symbol*> freed_;                     // by those, in the order of the walk
    const Expr* outermost_ = nullptr;                      // the block that last_ is of
    std::unordered_map<const Symbol*, std::size_t> last_;  // where its values are read last
    std::vector<Mark> trail_;                              // leaves in the order in which they were used
    int depth_ = 0;
    int loops_ = 0;  // around what is looked at
    Lambda root_;    // the main program or the function around what is looked at
    Origin next_origin_ = 0;
    std::uint32_t next_order_ = 0;
};

}  // namespace weld
