// The body of a loop over scalars, translated to lanes: each name becomes what it is in several iterations at
// once. What does not depend on the element stays scalar and is broadcast where lanes meet it.
//
//     |b, i, x|               if(x > 0.0, merge(b, x * k), b)        `x` varies from lane to lane, `k` does not
// is
//     |b, i, x: simd[f64,8]|  merge(b, x * broadcast(k), x > broadcast(0.0))
//
// Three steps: `mark` notes what varies; `scan` finds whether all of that can be done on lanes (`ok`);
// `translated` makes the body. What each does with loops inside stands in lane_nests.cpp, with windows in
// lane_windows.cpp. Another kind of node needs a word in each: what of it varies, mostly if an argument does;
// when it may be on lanes (`may_be_lanes`); what it becomes (`value`, or `run` if it holds builders).
//
// An `if` that depends on the element is evaluated on both sides: values are selected, `@(branch:true)` where one side is
// so costly that it is asked first whether any lane needs it; merges get a mask. If
// both sides merge once into the same builder, the values are selected and one merge is left. Lanes merge in
// order, so a builder that keeps the order (an appender) may be merged into at one held only.
//
// Not possible:
//   - if anything in the body that depends on the element, or on a condition that does, may fail, but for look-ups in a
//     vector that does not, and divisions of integers: lanes that need them not look up nothing, `lookup[8](v, k, mask)`,
//     and divide by 1. (Which of several fails may not be the first that a scalar loop comes to.)
//   - for builders that don't take lanes, and merges at other places than the index; where an `if` asks to
//     stay a branch, or is large.
//   - for loops, collections and calls in the body that depend on the element; with `Nests::Yes` these are
//     possible: vectors of scalars as elements, which are then vectors of lanes and read at places that all
//     lanes share; loops that take equally many rounds in all lanes, or two of which all lanes choose one together, and
//     mergers of lanes in them; windows
//     that begin at the loop's index, `slice(x, i, w)`, whose elements are lanes side by side; loops over rows that go on
//     with a merger of this one, which get mergers of lanes of their own;
//     `iterate`s, whose lanes may end apart; any builder, which takes lanes one by one if need be.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "weldir/ir/facts.h"
#include "weldir/ir/walk.h"
#include "weldir/passes/normal_form.h"

namespace weld {

enum class Nests : bool { No, Yes };

/// Bytes of elements of short rows: parts of smaller ones have no masks.
constexpr std::int64_t kLeastInRow = 4;

class LaneBody {
  public:
    LaneBody(Module& m, Facts& facts, For loop, Nests nests);

    bool ok() const { return ok_; }
    /// Bytes of the widest scalar that is needed on all lanes.
    std::uint32_t width() const { return width_; }
    bool reads_index() const { return reads_index_; }
    /// It merges at indices that count along with the loop.
    bool merges_at_index() const { return merges_at_index_; }
    /// Loops inside of loops, an `iterate`, or windows, that depend on the element; or a loop whose rounds look up
    /// what lies side by side for lanes, but not from round to round; or one over what all lanes share, which on
    /// lanes of its own would not have more of them, if it looks up nothing else.
    bool is_nest() const {
        return needs_lanes() || (narrowest_shared_ && *narrowest_shared_ >= width_ && !looks_up_);
    }
    /// It holds loops.
    bool has_loops() const { return loops_; }
    /// Loops inside make rows, each round one element of them; or literals do.
    bool makes_rows() const { return makes_rows_; }
    /// Rows that are made are merged by this loop.
    bool merges_rows() const { return merges_rows_; }
    /// It looks up elements of rows at places that all lanes share.
    bool reads_rows() const { return reads_rows_; }
    /// Loops inside merge into mergers.
    bool reduces() const { return reduces_; }
    /// Loops inside hold others.
    bool holds_nests() const { return deepest_ > 1; }
    /// What decides how long these rows are, if no row that is read does.
    const std::vector<const Expr*>& made_along() const { return made_along_; }
    /// A loop inside looks up what lies side by side for lanes of this one, and does not go along it itself.
    bool reads_side_by_side() const { return side_by_side_; }
    /// What decides how many rounds loops over shared elements take, if these alone make it a nest: many of them are
    /// as well off on lanes of their own.
    std::vector<const Expr*> shared() const { return needs_lanes() ? std::vector<const Expr*>{} : shared_; }
    /// How many values the rounds of an `iterate` of floats hold on each lane, if there is one and nothing else
    /// that makes it a nest; else none. Rounds that hold few wait for each other.
    std::optional<std::uint32_t> held_in_rounds() const {
        if (!waits_ || deepest_ > 1 || !windows_.empty() || loops_ || looks_up_) return {};
        return held_;
    }
    /// `size` elements of `of` that begin at the loop's index, or `offset` behind it. What element k of it is
    /// on all lanes lies side by side. None of the three depends on the body.
    struct Window {
        const Expr* of;
        const Expr* offset;
        const Expr* size;
    };
    /// What loops in the body walk along. They must be equally long, and inside, on all lanes.
    const std::vector<Window>& windows() const { return windows_; }

    /// Row `index + offset` of a matrix: `size` elements of `of`, one row behind the other. Only offset and size may be
    /// computed, outside of the loop.
    struct FlatRow {
        const Expr* of;
        const Expr* offset;
        const Expr* size;
    };
    /// What loops in the body walk along. On lanes they are vectors of these.
    const std::vector<FlatRow>& flat_rows() const { return flat_rows_; }
    /// What stands for flat rows, one for each, in what is translated.
    void set_flat_rows(std::vector<const Expr*> on_lanes) { flat_rows_on_lanes_ = std::move(on_lanes); }

    /// The body on `lanes` lanes, or null. `elem` and `index` (null if it is not read) stand for the
    /// parameters, on lanes; `first` for the index of the first lane, where the body merges at indices.
    const Expr* translated(std::uint32_t lanes, const Symbol* builder, const Expr* first, const Expr* index,
                           const Expr* elem);

  private:
    /// The builders in a value: one of the loop's (numbered depth first), or a struct of such.
    struct Builders {
        int leaf = -1;
        std::vector<Builders> fields;
        friend bool operator==(const Builders&, const Builders&) = default;
    };
    /// One merge that the body makes; without a mask on all lanes.
    struct LaneMerge {
        const Expr* value;
        const Expr* mask;
        Loc loc;
    };
    using Merges = std::vector<std::vector<LaneMerge>>;  // by leaf
    /// The body of an `iterate`: how each field of the state goes on, and whether it does. With a condition,
    /// `if(holds, {fields, again}, {s, false})`, or the sides the other way.
    struct Step {
        std::vector<const Expr*> fields;
        const Expr* again = nullptr;
        const Expr* holds = nullptr;
        bool wanted = true;       ///< what `holds` is where the state goes on
        std::vector<Block> lets;  ///< before the condition, and behind it
    };

    bool needs_lanes() const { return deepest_ > 1 || iterates_ || !windows_.empty() || side_by_side_; }

    // what depends on the element
    bool mark(const Expr* e);
    bool mark_args(const Expr* e);
    bool mark_loop(For f);
    bool mark_iterate(Iterate it);
    bool ends_apart(const Step& step);
    void mark_fields(const Symbol* s, std::vector<bool> varying);
    bool varies(const Expr* e) const;

    // what the body holds
    static bool is_row(const Type* t) { return t->is_vec() && t->elem()->is_scalar(); }
    static bool is_range(const Expr* datum) {
        const Iter it = datum->as<Iter>();
        return it && it.shape().range;
    }
    void find_leaves(const Type* t);
    static Builders whole(const Type* t, int& next);
    void count_width(const Type* t);
    void count_taken_apart();
    bool is_place(const Expr* e);
    bool asks_for_place(const Expr* e);
    bool is_count(const Expr* merge) const;
    void scan(const Expr* e, bool certain = true);
    void scan_block(Block b, bool certain);
    void scan_builder(const Expr* e, bool certain);
    void scan_indexed(const Expr* e, bool certain);
    void scan_nested(const Expr* e, bool certain);
    void scan_made(const Expr* e, bool certain);
    void scan_loop(For f, bool certain);
    bool adds_rows(For f) const;
    void scan_start(const Expr* start, bool certain);
    void scan_rows_made(For f);
    void scan_row_literal(const Expr* e, bool certain);
    void scan_merged_row(const Expr* merge, bool certain);
    void scan_datum(const Expr* datum, bool certain);
    void note_shared(For f);
    void scan_iterate(Iterate it, bool certain);
    void scan_row(const Expr* e, bool certain);
    std::optional<Window> window(const Expr* datum);
    std::optional<FlatRow> flat_row(const Expr* datum);
    std::optional<std::size_t> number_of(const FlatRow& row) const;
    bool is_known_outside(const Expr* e);
    const Expr* behind_index(const Expr* e);
    const Expr* distance(const Expr* begin, const Expr* end);
    const Step& step_of(Iterate it);
    static bool is_end(const Expr* side, const Symbol* state);
    const Expr* part(const Expr* e, std::size_t i);
    Iter range_of(const Expr* e) const;
    bool is_index_name(const Expr* e) const;
    std::optional<const Expr*> offset_of(const Expr* index);
    bool is_at_index(const Expr* merge);
    bool is_gather(const Expr* e) const;
    const Expr* gathered(const Expr* e, Lets& lets);
    std::optional<std::int64_t> lane_stride(const Expr* place);
    std::optional<std::int64_t> step_of_counter(const Expr* name) const;
    bool lanes_walk(const Expr* place);
    bool goes_along_in_rounds(const Expr* place);
    bool lanes_jump(const Expr* place);
    const Expr* next_in_rounds(const Expr* name);
    std::optional<std::int64_t> step_in_rounds(const Expr* name);
    void scan_gather(const Expr* e, bool certain);
    bool is_worth_it(const Expr* branch);
    bool is_shared_branch(const Expr* e) const;
    bool may_be_lanes(const Expr* e);

    // values
    const Expr* in_every_lane(const Expr* e, Lets& lets);
    static bool is_wide(const Type* t);
    const Expr* field(const Expr* e, std::size_t i);
    const Expr* uniform(const Expr* e);
    const Expr* mapped(const Expr* e, Lets& lets);
    const Expr* value(const Expr* e, Lets& lets);
    const Expr* wide(const Expr* e, Lets& lets) { return in_every_lane(value(e, lets), lets); }
    const Expr* named(const Expr* e, Lets& lets);
    const Expr* only_field(const Expr* e, std::size_t i, Lets& lets);
    const Expr* block_value(Block b, Lets& lets);
    void bind(Block b, std::size_t i, Lets& lets);
    const Expr* branch(const Expr* e, Lets& lets);
    const Expr* both(const Expr* e, Lets& lets);
    template <class F>
    auto under_mask(const Expr* e, const Expr* c, bool wanted, Lets& lets, const F& f);
    const Expr* begin_of(const Window& w);
    const Expr* first_window(const Window& w, Loc loc);
    const Expr* window_lanes(const Window& w, const Expr* k, Lets& lets);
    const Expr* start_of_lanes(const Expr* start, Lets& lets);
    const Expr* made(const Expr* e, Lets& lets);
    const Expr* nested_loop(For f, Lets& lets);
    const Expr* nested_iterate(Iterate it, Lets& lets);
    const Expr* with_fields(const Expr* e, std::size_t more,
                            const std::function<const Expr*(std::size_t)>& field_of);
    bool carry(Iterate it, std::vector<const Symbol*>* all) const;
    const Expr* one_lane(Iterate it, const std::vector<const Symbol*>& carried, bool asks_who_goes_on);

    // builders
    Builders run(const Expr* e, const Expr* mask, Lets& lets, Merges& merges);
    const Expr* start_of_own(const Type* builder);
    const Expr* row(const Expr* e, Lets& lets);
    const Expr* under(const Expr* mask, const Expr* c, Lets& lets);
    Builders run_branch(const Expr* e, const Expr* mask, Lets& lets, Merges& merges);
    const Expr* merged(const Builders& held, const Expr* state, const Merges& merges);

    Module& m_;
    Facts& facts_;
    For loop_;
    Nests nests_;
    std::vector<const Type*> leaves_;
    std::unordered_set<const Symbol*> varying_;
    std::unordered_map<const Symbol*, std::vector<bool>>
        varying_fields_;  // of structs, some of whose fields vary
    std::unordered_map<const Expr*, bool> varies_;
    std::unordered_map<const Expr*, Step> steps_;
    std::unordered_set<const Symbol*> index_names_;
    std::unordered_map<const Symbol*, const Expr*> sums_;    // names of places, perhaps
    std::unordered_set<const Symbol*> outside_;              // bound there, and read by the loop
    std::unordered_map<const Symbol*, const Expr*> slices_;  // by their names in the body
    std::vector<Window> windows_;
    std::vector<FlatRow> flat_rows_;
    std::vector<const Expr*> flat_rows_on_lanes_;
    std::unordered_map<const Symbol*, Builders> builders_;  // of symbols that hold builders
    SymbolMap values_;                                      // what names of the scalar body are here
    std::uint32_t lanes_ = 0;
    std::uint32_t width_ = 1;
    std::uint32_t held_ = 0;
    const Expr* mask_ =
        nullptr;  ///< lanes that need what is being translated and may fail; null: all of them
    const Expr* first_ = nullptr;
    int depth_ = 0, deepest_ = 0, marked_ = 0, taken_apart_ = 0;
    std::vector<For> rounds_;  // the loops around what is scanned, inside of this one
    bool side_by_side_ = false;
    bool some_have_ended_ = false;  ///< lanes, in an `iterate` around what is scanned
    std::vector<const Expr*> shared_;
    std::optional<std::uint32_t> narrowest_shared_;  // element of loops over nothing that varies, in bytes
    bool iterates_ = false, waits_ = false, loops_ = false, looks_up_ = false, makes_rows_ = false,
         reduces_ = false, reads_rows_ = false, merges_rows_ = false;
    std::vector<const Expr*> made_along_;
    std::unordered_set<const Symbol*> rows_made_;  // by the body
    bool reads_index_ = false;
    bool merges_at_index_ = false;
    bool ok_ = true;
};

}  // namespace weld
