// Vectors of structs of scalars as a vector for each field: who reads them how, loops that make them field by field, and
// readers that read so.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weldir/ir/builder.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/bound_names.h"
#include "weldir/passes/normal_form.h"

namespace weld {

/// So many columns at most, since each takes registers of the loop that makes them.
constexpr std::size_t kMostColumns = 6;

/// A vector of structs of two or more scalars.
bool holds_structs(const Type* t);

/// Which numbers go along with the rounds of a loop.
class Counters {
  public:
    Counters(Facts& facts, const Expr* lambda);
    /// A sum of counters, and of numbers that are the same in all loops.
    bool walk(const Expr* key);

  private:
    bool counts_up(const Expr* path);

    Facts& facts_;
    std::unordered_map<const Symbol*, bool> counters_;
    std::unordered_map<const Symbol*, Iterate> states_;
    BoundNames inside_;
};

/// What is done with a vector of structs.
class StructReaders {
  public:
    StructReaders(Counters& counters, const Symbol* vec);
    /// Notes what `e` does with it.
    void find(const Expr* e);
    /// It may be split: its readers walk along it, look up in it where that goes along with a counter or one field is
    /// asked for, or ask how long it is.
    bool ok() const { return ok_ && scattered_ <= 1; }
    /// Which of them are read.
    const std::vector<bool>& fields() const { return fields_; }

  private:
    bool is_lookup(const Expr* e) const { return e->op == Op::Lookup && is_var(e->arg(0), vec_); }
    void note_all() { fields_.assign(fields_.size(), true); }
    template <class Fn>
    void note_lookup(const Expr* lookup, Fn&& note);
    void find_in_block(Block b);
    void find_in_loop(For f);
    void note_fields(const Expr* e, const Symbol* name, int part);

    Counters& counters_;
    const Symbol* vec_;
    std::vector<bool> fields_;
    std::size_t scattered_ = 0;  // so many fields are looked up anywhere
    bool ok_ = true;
};

/// The loop in `value`, `result(for(…, appender[{…}], …))`, or an empty view.
For appends_structs(const Expr* value);

/// Loops that append structs, with an appender for each of these fields.
class StructColumns {
  public:
    StructColumns(Module& m, const Type* vec, std::vector<std::size_t> fields);
    StructColumns(Module& m, const Type* vec);  ///< of all fields
    /// Binds each column that `value` (see above) makes to a name like `vec`, by field; nothing if its loop does more than
    /// merge.
    std::vector<const Expr*> make(const Expr* value, const Symbol* vec, Lets& lets);

  private:
    const Expr* begin(NewBuilder old);
    template <class Fn>
    const Expr* in_each(Fn&& fn);
    const Expr* merged(Merge g, const Expr* before);

    Module& m_;
    std::vector<std::size_t> fields_;
    const Type* columns_;  // the appenders
};

/// `e`, which reads `columns` (by field; null for those that nobody reads) where it read `vec`.
const Expr* reading_columns(Module& m, const Expr* e, const Symbol* vec,
                            const std::vector<const Expr*>& columns);

/// Lets `Splitter(m, lambda).split(block)` change one block after the other, until it finds none to change. Large programs
/// stay as they are: each change looks at all of them.
template <class Splitter>
const Expr* split_blocks(Module& m, const Expr* lambda) {
    constexpr std::size_t most_nodes = 5000;
    if (!has_loop(lambda) || size_of_tree(lambda) > most_nodes) return lambda;
    for (const Expr* before = nullptr; before != lambda;) {
        before = lambda;
        bool is_done = false;  // what is known of the program is of the one before
        Splitter splitter(m, lambda);
        lambda = rewrite_binding(m, lambda, [&](const Expr* e) -> const Expr* {
            const Block b = is_done ? Block{} : e->as<Block>();
            const Expr* now = b ? splitter.split(b) : nullptr;
            is_done |= now != nullptr;
            return now;
        });
        lambda = in_normal_form(m, before, lambda);
    }
    return lambda;
}

}  // namespace weld
