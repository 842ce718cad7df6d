// Bodies on lanes: first what varies from lane to lane, then whether all of it can be done, then the
// translation.
#include "weldir/passes/lane_body.h"

#include <algorithm>
#include <limits>
#include <string>

#include "weldir/ir/builder.h"
#include "weldir/ir/loop_forms.h"
#include "weldir/ir/traits.h"
#include "weldir/passes/cost.h"
#include "weldir/passes/lengths.h"

namespace weld {

constexpr std::uint32_t kMostOfSide = 1000;   // nodes of a side of an `if`
constexpr std::int64_t kMostAlways = 12'000;  // picoseconds: of a side, less than a wrong guess costs
constexpr int kMostTakenApart = 64;
constexpr int kMostMarked = 50'000;  // nodes, each as often as the rounds it takes to know what varies

LaneBody::LaneBody(Module& m, Facts& facts, For loop, Nests nests)
    : m_(m), facts_(facts), loop_(loop), nests_(nests) {
    ok_ = !loop.node->says(AttrKey::Vectorize, false);
    varying_.insert(loop.body().params().begin(), loop.body().params().end());
    find_leaves(loop.node->type);
    for (const Type* leaf : leaves_) ok_ &= nests == Nests::Yes || info(leaf->builder).takes_lanes(leaf);
    for (const Expr* d : loop.data()) {
        const Type* elem = d->type->elem();
        if (!is_range(d) && (nests == Nests::No || !is_row(elem))) count_width(elem);
    }
    if (ok_) mark(loop.body().body());
    if (ok_) scan(loop.body().body());
}

const Expr* LaneBody::translated(std::uint32_t lanes, const Symbol* builder, const Expr* first,
                                 const Expr* index, const Expr* elem) {
    lanes_ = lanes;
    first_ = first;
    int next = 0;
    builders_[loop_.builder_param()] = whole(loop_.node->type, next);
    if (index) values_[loop_.index_param()] = index;
    values_[loop_.elem_param()] = elem;
    Lets lets;
    Merges merges(leaves_.size());
    const Builders held = run(loop_.body().body(), nullptr, lets, merges);
    for (std::size_t i = 0; i < merges.size(); ++i)
        if (merges[i].size() > 1 && info(leaves_[i]->builder).ordered(leaves_[i])) ok_ = false;
    if (!ok_) return nullptr;
    return block(m_, lets, merged(held, var(m_, builder), merges), loop_.body().body()->loc);
}

// ---- what depends on the element

bool LaneBody::varies(const Expr* e) const {
    if (e->op == Op::Var) return varying_.count(e->attr.symbol) > 0;
    const auto at = varies_.find(e);
    return at != varies_.end() && at->second;
}

/// Notes for `e` and all below whether it depends on the element; in the order of evaluation.
bool LaneBody::mark(const Expr* e) {
    if (++marked_ > kMostMarked) ok_ = false;
    if (!ok_) return false;
    const auto known = [&](bool v) { return varies_[e] = v; };
    switch (e->op) {
        case Op::Var: return varies(e);
        case Op::Block: {
            const Block b = e->as<Block>();
            bool any = false;  // also of names that nobody reads: all of the block has to be translated
            for (std::size_t i = 0; i < b.size(); ++i)
                if (mark(b.value(i))) varying_.insert(b.symbol(i)), any = true;
            for (std::size_t i = 0; i < b.size(); ++i) {
                const Expr* v = b.value(i);
                if (is_index_name(v)) index_names_.insert(b.symbol(i));
                if (v->op == Op::Add || v->op == Op::Sub) sums_[b.symbol(i)] = v;
                if (v->op == Op::Slice) slices_[b.symbol(i)] = v;
            }
            return known(mark(b.result()) || any);
        }
        case Op::GetField:
            if (e->arg(0)->op == Op::Var) {
                const auto at = varying_fields_.find(e->arg(0)->attr.symbol);
                if (at != varying_fields_.end()) return known(at->second[e->attr.index]);
            }
            return known(mark_args(e));
        case Op::Len: return known(mark_args(e) && !(nests_ == Nests::Yes && is_path(e->arg(0))));
        case Op::For: return known(mark_loop(e->as<For>()));
        case Op::Iterate: return known(mark_iterate(e->as<Iterate>()));
        case Op::Lambda: return known(mark(e->as<Lambda>().body()));
        default: return known(mark_args(e));
    }
}

bool LaneBody::mark_args(const Expr* e) {
    bool any = false;
    for (const Expr* a : e->args()) any |= mark(a);
    return any;
}

void LaneBody::mark_fields(const Symbol* s, std::vector<bool> varying) {
    if (std::find(varying.begin(), varying.end(), true) != varying.end()) varying_.insert(s);
    if (s->type->is_struct() && varying.size() == s->type->args.size())
        varying_fields_[s] = std::move(varying);
}

// ---- what the body holds

void LaneBody::find_leaves(const Type* t) {
    if (t->is_builder()) return leaves_.push_back(t);
    ok_ &= t->is_struct() && t->holds_builder;
    if (t->is_struct())
        for (const Type* f : t->args) find_leaves(f);
}

LaneBody::Builders LaneBody::whole(const Type* t, int& next) {
    Builders p;
    if (t->is_builder()) p.leaf = next++;
    else
        for (const Type* f : t->args) p.fields.push_back(whole(f, next));
    return p;
}

void LaneBody::count_width(const Type* t) {
    if (t->is_struct())
        for (const Type* f : t->args) count_width(f);
    else if (t->is_scalar()) width_ = std::max(width_, std::uint32_t(size_of(t->scalar)));
    else if (!t->is_builder()) ok_ = false;
}

/// Counts along with the lanes: no register of them is needed where only the first one's is asked for.
bool LaneBody::is_place(const Expr* e) {
    return nests_ == Nests::No && e->type == m_.types.i64() && varies(e) && lane_stride(e).has_value();
}

/// Compares a place with what is the same on all lanes, as at the borders of a matrix: of a few such registers more lanes of
/// what is narrow are worth it.
bool LaneBody::asks_for_place(const Expr* e) {
    if (!is_comparison(e->op)) return false;
    return (is_place(e->arg(0)) && !varies(e->arg(1))) || (is_place(e->arg(1)) && !varies(e->arg(0)));
}

/// Of a merge of a constant under a condition: how many lanes it holds in decides, not what is merged.
bool LaneBody::is_count(const Expr* merge) const {
    const Type* t = merge->type;
    return t->builder == BuilderKind::Merger && t->op == MergeOp::Add && t->elem()->is_scalar() &&
           !is_float(t->elem()->scalar) && !varies(merge->arg(1));
}

/// It may fail, as lanes that need not divide must not: these divide by 1.
static bool divides_integers(const Expr* e) {
    return (e->op == Op::Div || e->op == Op::Rem) && e->type->is_scalar() && is_integer(e->type->scalar);
}

/// Something that lanes do one by one, or in many steps: LLVM takes a second for a hundred of these.
void LaneBody::count_taken_apart() { ok_ &= ++taken_apart_ <= kMostTakenApart; }

/// Looks at every node: how wide it is, whether it can be done at all. `certain`: all lanes evaluate it.
void LaneBody::scan(const Expr* e, bool certain) {
    if (!ok_) return;
    if (e->type->holds_builder) return scan_builder(e, certain);
    if (e->op == Op::Block) return scan_block(e->as<Block>(), certain);
    if (!varies(e)) {
        const Traits& t = facts_.traits(e);
        ok_ &= !t.calls && !t.ordered && (certain || !t.fails);
        return;
    }
    if (is_gather(e)) return scan_gather(e, certain);
    if (e->op == Op::MakeVec && is_row(e->type)) return scan_row_literal(e, certain);
    if (nests_ == Nests::Yes && is_row(e->type) && e->op != Op::Result) return scan_row(e, certain);
    if (nests_ == Nests::Yes && (e->op == Op::Result || e->op == Op::Iterate || e->op == Op::Lookup))
        return scan_nested(e, certain);
    ok_ &= may_be_lanes(e) || (divides_integers(e) && (certain || !some_have_ended_));
    if (divides_integers(e) && facts_.own_traits(e).fails) count_taken_apart();
    const bool place = is_place(e);
    if (!place) count_width(e->type);
    reads_index_ |= is_var(e, loop_.index_param());
    const bool meets = (is_scalar_op(e->op) || e->op == Op::Select) && !asks_for_place(e);
    for (std::size_t i = 0; i < e->num_args; ++i) {
        if (!place && (meets || (is_place(e->arg(i)) && !asks_for_place(e)))) count_width(e->arg(i)->type);
        if (e->op == Op::GetField && e->arg(i)->op == Op::Var) continue;  // of other fields nothing is asked
        scan(e->arg(i), certain && !(is_lazy_arg(e, i) && !is_shared_branch(e)));
    }
}

void LaneBody::scan_block(Block b, bool certain) {
    for (std::size_t i = 0; i < b.size(); ++i) {
        scan(b.value(i), certain);
        const Expr* v = b.value(i);
        const bool makes = v->op == Op::Result || v->op == Op::MakeVec;
        if (makes && varies(v) && is_row(v->type)) rows_made_.insert(b.symbol(i));
    }
    scan(b.result(), certain);
}

/// A struct without fields is in it, which would be one value for all lanes.
static bool holds_nothing(const Type* t) {
    return t->is_struct() && (t->args.empty() || std::ranges::any_of(t->args, holds_nothing));
}

void LaneBody::scan_builder(const Expr* e, bool certain) {
    switch (e->op) {
        case Op::Var: return;
        case Op::GetField:
        case Op::MakeStruct:
            for (const Expr* a : e->args()) ok_ &= a->type->holds_builder, scan(a, certain);
            return;
        case Op::Merge:
            if (is_row(e->arg(1)->type)) return scan_merged_row(e, certain);
            ok_ &= e->num_args == 2 && !e->arg(1)->type->holds_simd && !holds_nothing(e->arg(1)->type);
            if (info(e->type->builder).indexed && (nests_ == Nests::No || is_at_index(e)))
                return scan_indexed(e, certain);
            if (certain || nests_ == Nests::Yes || !is_count(e)) count_width(e->arg(1)->type);
            scan(e->arg(0), certain);
            scan(e->arg(1), certain);
            return;
        case Op::If:
            ok_ &= is_worth_it(e);
            scan(e->arg(0), certain);
            scan(e->arg(1), false);
            scan(e->arg(2), false);
            return;
        case Op::Block: scan_block(e->as<Block>(), certain); return;
        case Op::For: return scan_loop(e->as<For>(), certain);
        default: ok_ = false;
    }
}

/// A merge at the loop's index, plus what does not depend on the element: lanes at consecutive indices.
/// An index outside of the vector must fail, so it must be one that the scalar loop would reach.
void LaneBody::scan_indexed(const Expr* e, bool certain) {
    scan(e->arg(0), certain);
    const Expr* value = e->arg(1);
    ok_ &= certain && is_at_index(e);
    if (!ok_) return;
    merges_at_index_ = true;
    if (const Expr* offset = *offset_of(value->arg(0))) scan(offset, certain);
    count_width(value->arg(1)->type);
    scan(value->arg(1), certain);
}

/// The range that `e` is the element of, if it counts up one by one.
Iter LaneBody::range_of(const Expr* e) const {
    const Expr* datum = datum_of(loop_, e);
    return datum && counts_by_one(datum) ? datum->as<Iter>() : Iter{};
}

/// The loop's index, the element of a range that counts along with it, or a name for one of these.
bool LaneBody::is_index_name(const Expr* e) const {
    if (e->op == Op::Var && (e->attr.symbol == loop_.index_param() || index_names_.contains(e->attr.symbol)))
        return true;
    const Iter range = range_of(e);
    return range && counts_from_zero(range.node);
}

/// What `index` is more than the loop's index, the same on all lanes; null for what counts along with the loop.
std::optional<const Expr*> LaneBody::offset_of(const Expr* index) {
    if (is_index_name(index)) return nullptr;
    if (const Iter range = range_of(index)) return range.start();
    if (const auto sum = index->op == Op::Var ? sums_.find(index->attr.symbol) : sums_.end();
        sum != sums_.end())
        return offset_of(sum->second);
    if (index->op != Op::Add && index->op != Op::Sub) return {};
    const bool swapped = index->op == Op::Add && !varies(index->arg(0));
    const Expr *from = index->arg(swapped ? 1 : 0), *by = index->arg(swapped ? 0 : 1);
    const auto offset = varies(by) ? std::nullopt : offset_of(from);
    if (!offset) return {};
    if (index->op == Op::Add && (!*offset || is_int(*offset, 0))) return by;
    return scalar_op(m_, index->op, {*offset ? *offset : i64_literal(m_, 0), by}, index->loc);
}

/// A merge of `{i, v}` where `i` counts along with the loop.
bool LaneBody::is_at_index(const Expr* merge) {
    const Expr* value = merge->arg(1);
    return value->op == Op::MakeStruct && offset_of(value->arg(0)).has_value();
}

bool LaneBody::is_worth_it(const Expr* branch) {
    return !branch->says(AttrKey::Predicate, false) && facts_.traits(branch->arg(1)).size <= kMostOfSide &&
           facts_.traits(branch->arg(2)).size <= kMostOfSide;
}

/// All lanes take the same side of it.
bool LaneBody::is_shared_branch(const Expr* e) const { return e->op == Op::If && !varies(e->arg(0)); }

/// A node that depends on the element: a scalar operation or what goes with it, that cannot fail by itself.
bool LaneBody::may_be_lanes(const Expr* e) {
    switch (e->op) {
        case Op::Var: return e->type->is_scalar() || e->type->is_struct();
        case Op::Div:  // what is divided may fail, and is looked at by itself
            return e->type->is_scalar() && (is_float(e->type->scalar) || !facts_.own_traits(e).fails);
        case Op::Rem:
            return e->type->is_scalar() && !is_float(e->type->scalar) && !facts_.own_traits(e).fails;
        case Op::MakeStruct:
        case Op::GetField:
        case Op::Cast:
        case Op::Select: return true;
        case Op::If: return is_shared_branch(e) || is_worth_it(e);
        default: return is_scalar_op(e->op) && e->arg(0)->type->is_scalar();
    }
}

// ---- values

/// f(), which translates `e`, of which lanes need something where `c` is `wanted` alone.
template <class F>
auto LaneBody::under_mask(const Expr* e, const Expr* c, bool wanted, Lets& lets, const F& f) {
    const Expr* const before = mask_;
    if (facts_.traits(e).fails)
        mask_ = named(under(mask_, wanted ? c : scalar_op(m_, Op::Not, {c}, c->loc), lets), lets);
    auto made = f();
    mask_ = before;
    return made;
}

const Expr* LaneBody::in_every_lane(const Expr* e, Lets& lets) {
    if (e->type->is_scalar()) return broadcast(m_, e, lanes_, e->loc);
    if (!e->type->is_struct() || is_wide(e->type)) return e;
    if (e->op != Op::MakeStruct) e = named(e, lets);
    std::vector<const Expr*> fields;
    for (std::size_t i = 0; i < e->type->args.size(); ++i) fields.push_back(in_every_lane(field(e, i), lets));
    return make_struct(m_, fields, e->loc);
}

bool LaneBody::is_wide(const Type* t) {
    return t->is_simd() || (t->is_struct() && std::all_of(t->args.begin(), t->args.end(), is_wide));
}

const Expr* LaneBody::field(const Expr* e, std::size_t i) {
    return e->op == Op::MakeStruct ? e->arg(i) : get_field(m_, e, i, e->loc);
}

/// What does not depend on the element, with the names of this body.
const Expr* LaneBody::uniform(const Expr* e) { return fresh(m_, substitute(m_, e, values_)); }

const Expr* LaneBody::named(const Expr* e, Lets& lets) {
    if (is_atom(e)) return e;
    const Symbol* name = m_.symbol("t", e->type);
    lets.emplace_back(name, e);
    return var(m_, name);
}

/// `e` with arguments on lanes, or scalars where they are the same on all of them.
const Expr* LaneBody::mapped(const Expr* e, Lets& lets) {
    return map_args(m_, e, [&](const Expr* a, std::size_t) { return value(a, lets); });
}

/// `e` on lanes; a scalar if it is the same on all of them.
const Expr* LaneBody::value(const Expr* e, Lets& lets) {
    if (e->op == Op::Var) {
        auto at = values_.find(e->attr.symbol);
        return at == values_.end() ? e : at->second;
    }
    if (e->op == Op::Block) return block_value(e->as<Block>(), lets);
    if (!varies(e)) return uniform(e);
    if (const std::optional<Window> w = window(e)) return first_window(*w, e->loc);
    if (const std::optional<FlatRow> row = flat_row(e)) return flat_rows_on_lanes_[*number_of(*row)];
    switch (e->op) {
        case Op::GetField: return only_field(value(e->arg(0), lets), e->attr.index, lets);
        case Op::If: return branch(e, lets);
        case Op::Lookup:
            if (is_gather(e)) return gathered(e, lets);
            if (const std::optional<Window> w = window(e->arg(0)))
                return window_lanes(*w, value(e->arg(1), lets), lets);
            return mapped(e, lets);
        case Op::For: return nested_loop(e->as<For>(), lets);
        case Op::Result: return named(result(m_, made(e->arg(0), lets), e->loc), lets);
        case Op::Iterate: return nested_iterate(e->as<Iterate>(), lets);
        case Op::Slice:
        case Op::Iter:
        case Op::Cast: return mapped(e, lets);
        default: break;
    }
    if (e->op == Op::And || e->op == Op::Or) return both(e, lets);
    std::vector<const Expr*> args;
    for (const Expr* a : e->args()) args.push_back(wide(a, lets));
    if (e->op == Op::MakeVec) return named(make_vec(m_, args[0]->type, args, e->loc), lets);
    if (mask_ && divides_integers(e) && facts_.own_traits(e).fails)
        args[1] = select(m_, mask_, args[1], broadcast(m_, literal(m_, e->type, 1), lanes_), e->loc);
    return with_args(m_, e, args);
}

/// `&&` or `||`, on both sides.
const Expr* LaneBody::both(const Expr* e, Lets& lets) {
    const Expr* left = wide(e->arg(0), lets);
    if (facts_.traits(e->arg(1)).fails) left = named(left, lets);
    const Expr* right =
        under_mask(e->arg(1), left, e->op == Op::And, lets, [&] { return wide(e->arg(1), lets); });
    return scalar_op(m_, e->op == Op::And ? Op::BitAnd : Op::BitOr, {left, right}, e->loc);
}

/// Field `i` of `e`. What fails in other fields, which nobody reads, still does.
const Expr* LaneBody::only_field(const Expr* e, std::size_t i, Lets& lets) {
    for (std::size_t k = 0; e->op == Op::MakeStruct && k < e->num_args; ++k)
        if (k != i && facts_.traits(e->arg(k)).fails) named(e->arg(k), lets);
    return field(e, i);
}

const Expr* LaneBody::block_value(Block b, Lets& lets) {
    for (std::size_t i = 0; i < b.size(); ++i) bind(b, i, lets);
    return value(b.result(), lets);
}

void LaneBody::bind(Block b, std::size_t i, Lets& lets) {
    const Expr* v = value(b.value(i), lets);
    if (varies(b.value(i)) && !v->type->is_struct())
        v = in_every_lane(v, lets);  // of structs, field by field
    if (is_atom(v)) {
        values_[b.symbol(i)] = v;
        return;
    }
    const Symbol* name = m_.symbol(b.symbol(i)->name, v->type);
    lets.emplace_back(name, v);
    values_[b.symbol(i)] = var(m_, name);
}

/// Of a condition that is the same on all lanes one side is evaluated, else both; of these, what is costly only if a lane
/// needs it.
const Expr* LaneBody::branch(const Expr* e, Lets& lets) {
    const auto side = [&](const Expr* of) {
        Lets own;
        const Expr* v = wide(of, own);
        return block(m_, own, v);
    };
    if (!varies(e->arg(0))) {
        const Expr *c = value(e->arg(0), lets), *then = side(e->arg(1));
        return if_(m_, c, then, side(e->arg(2)), e->loc);
    }
    const Expr* c = named(wide(e->arg(0), lets), lets);
    const auto side_where = [&](const Expr* of, bool wanted) {
        return under_mask(of, c, wanted, lets, [&] { return side(of); });
    };
    const Expr *then = side_where(e->arg(1), true), *otherwise = side_where(e->arg(2), false);
    const auto asks_first = [](const Expr* v) { return picoseconds(v) > kMostAlways && is_straight_line(v); };
    const auto only_if = [&](const Expr* mask, const Expr* costly, const Expr* other) {
        return annotate(m_, select(m_, mask, costly, other, e->loc), AttrKey::Branch, "true");
    };
    if (asks_first(then)) return only_if(c, then, otherwise);
    if (asks_first(otherwise)) return only_if(scalar_op(m_, Op::Not, {c}, c->loc), otherwise, then);
    return select(m_, c, then, otherwise, e->loc);
}

// ---- builders

/// Follows a builder expression: what it merges under `mask` goes to `merges`.
LaneBody::Builders LaneBody::run(const Expr* e, const Expr* mask, Lets& lets, Merges& merges) {
    switch (e->op) {
        case Op::Var: return builders_[e->attr.symbol];
        case Op::GetField: {
            Builders of = run(e->arg(0), mask, lets, merges);
            return e->attr.index < of.fields.size() ? of.fields[e->attr.index] : Builders{};
        }
        case Op::MakeStruct: {
            Builders all;
            for (const Expr* f : e->args()) all.fields.push_back(run(f, mask, lets, merges));
            return all;
        }
        case Op::Block: {
            const Block b = e->as<Block>();
            for (std::size_t i = 0; i < b.size(); ++i) {
                const For nested = b.value(i)->as<For>();
                if (b.value(i)->type->holds_builder && !(nested && !is_path(nested.builder())))
                    builders_[b.symbol(i)] = run(b.value(i), mask, lets, merges);
                else bind(b, i, lets);
            }
            return run(b.result(), mask, lets, merges);
        }
        case Op::Merge: {
            const Builders held = run(e->arg(0), mask, lets, merges);
            const bool at_index = info(e->type->builder).indexed && is_at_index(e);
            const Expr* v = at_index ? row(e->arg(1), lets) : wide(e->arg(1), lets);
            if (held.leaf >= 0) merges[std::size_t(held.leaf)].push_back({v, mask, e->loc});
            else ok_ = false;
            return held;
        }
        case Op::If: return run_branch(e, mask, lets, merges);
        case Op::For: {  // adds_rows: a merger of lanes, or rows
            const For f = e->as<For>();
            const Builders held = run(f.builder(), mask, lets, merges);
            const Expr* begin = new_builder(m_, e->type, start_of_own(e->type), e->loc);
            const Expr* own = loop(m_, f.data(), begin, f.body().node, e->loc);
            const Expr* all = named(result(m_, nested_loop(own->as<For>(), lets), e->loc), lets);
            if (held.leaf >= 0) merges[std::size_t(held.leaf)].push_back({all, mask, e->loc});
            else ok_ = false;
            return held;
        }
        default: ok_ = false; return {};
    }
}

/// Where the merger of a loop inside begins so that it changes nothing by itself; null: where all begin. The least and the
/// greatest of floats begin at finite numbers, and the loop around may have begun at infinity.
const Expr* LaneBody::start_of_own(const Type* builder) {
    const bool is_min = builder->op == MergeOp::Min, is_max = builder->op == MergeOp::Max;
    if (!builder->is_builder(BuilderKind::Merger) || !(is_min || is_max) ||
        !is_float(builder->elem()->scalar))
        return nullptr;
    const double infinity = std::numeric_limits<double>::infinity();
    return float_literal(m_, builder->elem(), is_min ? infinity : -infinity);
}

/// `{i, v}` as the index of the first lane and lanes.
const Expr* LaneBody::row(const Expr* e, Lets& lets) {
    const Expr* first = first_;
    if (const Expr* offset = *offset_of(e->arg(0)))
        first = scalar_op(m_, Op::Add, {first, value(offset, lets)}, e->loc);
    return make_struct(m_, {first, wide(e->arg(1), lets)}, e->loc);
}

static bool merges_anything(const Expr* e) {
    bool any = false;
    visit(e, [&](const Expr* x) { any |= x->op == Op::Merge; });
    return any;
}

/// `c` under `mask`.
const Expr* LaneBody::under(const Expr* mask, const Expr* c, Lets& lets) {
    return mask ? named(scalar_op(m_, Op::BitAnd, {mask, c}, c->loc), lets) : c;
}

LaneBody::Builders LaneBody::run_branch(const Expr* e, const Expr* mask, Lets& lets, Merges& merges) {
    const Expr* c = named(wide(e->arg(0), lets), lets);
    Merges then(merges.size()), otherwise(merges.size());
    const Expr *yes = c, *no = c;  // masks of the sides, made only if they merge
    if (merges_anything(e->arg(1))) yes = under(mask, c, lets);
    const Builders held =
        under_mask(e->arg(1), c, true, lets, [&] { return run(e->arg(1), yes, lets, then); });
    if (merges_anything(e->arg(2))) no = named(under(mask, scalar_op(m_, Op::Not, {c}, c->loc), lets), lets);
    ok_ &= under_mask(e->arg(2), c, false, lets, [&] { return run(e->arg(2), no, lets, otherwise); }) == held;
    for (std::size_t i = 0; i < merges.size(); ++i) {
        const std::vector<LaneMerge>&a = then[i], &b = otherwise[i];
        if (a.size() == 1 && b.size() == 1 && a[0].mask == yes && b[0].mask == no) {
            merges[i].push_back({select(m_, c, a[0].value, b[0].value, e->loc), mask, e->loc});
            continue;
        }
        merges[i].insert(merges[i].end(), a.begin(), a.end());
        merges[i].insert(merges[i].end(), b.begin(), b.end());
    }
    return held;
}

/// The builders at `held` in `state` after their merges.
const Expr* LaneBody::merged(const Builders& held, const Expr* state, const Merges& merges) {
    if (held.leaf >= 0) {
        for (const LaneMerge& one : merges[std::size_t(held.leaf)])
            state = merge(m_, state, one.value, one.mask, one.loc);
        return state;
    }
    std::vector<const Expr*> fields;
    for (std::size_t i = 0; i < held.fields.size(); ++i)
        fields.push_back(merged(held.fields[i], get_field(m_, state, i), merges));
    return make_struct(m_, fields);
}

}  // namespace weld
