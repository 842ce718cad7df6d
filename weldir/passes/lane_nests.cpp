// Bodies on lanes that hold loops: rows as vectors of lanes, mergers of lanes, and `iterate`s whose lanes end
// apart.
//
//     |b, i, row: vec[f64]|
//       merge(b, result(for(zip(row, w), merger[f64,+], |c, j, e| merge(c, e.$0 * e.$1))))
// is for eight rows, which `optlookup[8]` has transposed, so that their elements lie side by side,
//     |b, i, rows: vec[simd[f64,8]]|
//       merge(b, result(for(zip(rows, w), merger[simd[f64,8],+], |c, j, e|
//         merge(c, e.$0 * broadcast(e.$1)))))
//
// A loop that makes a row makes a vector of lanes, which is merged as rows side by side (Merge::rows).
//
// All lanes go through such a loop together, so its data are equally long on all of them: rows of which one
// is longer are not transposed, and go on one by one (vectorize_outer.cpp). The rounds of an `iterate` may
// be as many as each lane wants.
#include <algorithm>
#include <string>
#include <utility>

#include "weldir/ir/builder.h"
#include "weldir/passes/lane_body.h"
#include "weldir/passes/lengths.h"

namespace weld {

// Where at most an eighth of the lanes is left for some rounds, a round of all costs more than what it
// brings.
constexpr std::uint32_t kFew = 8;
constexpr std::string_view kPatience = "8";

// ---- what depends on the element

bool LaneBody::mark_loop(For f) {
    std::vector<bool> data;
    for (const Expr* d : f.data()) data.push_back(mark(d));
    mark_fields(f.elem_param(), data);
    const bool builder = mark(f.builder());
    if (builder) varying_.insert(f.builder_param());
    const bool body = mark(f.body().body());
    return body || builder || std::find(data.begin(), data.end(), true) != data.end();
}

/// A field varies if it begins or goes on with what varies.
bool LaneBody::mark_iterate(Iterate it) {
    const bool begins = mark(it.init());
    const Step& step = step_of(it);
    if (step.fields.empty()) return begins | mark_args(it.body().node);
    std::vector<bool> fields;
    for (std::size_t i = 0; i < step.fields.size(); ++i)
        fields.push_back(it.init()->op == Op::MakeStruct ? varies(it.init()->arg(i)) : begins);
    bool any = false;
    for (bool changed = true; changed && ok_;) {
        mark_fields(it.body().param(0), fields);
        any = mark(it.body().body());
        changed = false;
        for (std::size_t i = 0; i < fields.size(); ++i) {
            const bool goes_on = mark(step.fields[i]);
            changed |= goes_on && !fields[i];
            fields[i] = fields[i] || goes_on;
        }
        if (ends_apart(step) && std::ranges::find(fields, false) != fields.end()) {
            fields.assign(fields.size(), true);  // they end with different rounds
            changed = true;
        }
    }
    return any || std::find(fields.begin(), fields.end(), true) != fields.end();
}

/// Field `i` of `e`, of a selection between structs without what is equal on both sides.
const Expr* LaneBody::part(const Expr* e, std::size_t i) {
    if (e->op == Op::MakeStruct) return e->arg(i);
    if (e->op == Op::Select || e->op == Op::If) {
        const Expr *a = part(e->arg(1), i), *b = part(e->arg(2), i);
        if (same(a, b) && !facts_.traits(e->arg(0)).fails) return a;
        return e->op == Op::If ? if_(m_, e->arg(0), a, b, e->loc) : select(m_, e->arg(0), a, b, e->loc);
    }
    return get_field(m_, e, i, e->loc);
}

bool LaneBody::ends_apart(const Step& step) {
    const bool holds_apart = step.holds && mark(step.holds);
    return mark(step.again) || holds_apart;
}

/// A struct whose fields are written, or a choice between such.
static bool has_parts(const Expr* e) {
    if (e->op == Op::If || e->op == Op::Select) return has_parts(e->arg(1)) && has_parts(e->arg(2));
    return e->op == Op::MakeStruct;
}

/// `{state, false}`.
bool LaneBody::is_end(const Expr* side, const Symbol* state) {
    if (side->op != Op::MakeStruct || !is_var(side->arg(0), state)) return false;
    const Literal again = side->arg(1)->as<Literal>();
    return again && !again.bits();
}

const LaneBody::Step& LaneBody::step_of(Iterate it) {
    const auto [at, is_new] = steps_.try_emplace(it.node);
    Step& step = at->second;
    if (!is_new || !(it.node->type->is_struct() || it.node->type->is_scalar())) return step;
    const auto result_of = [&](const Expr* e) {
        const Block b = e->as<Block>();
        if (b) step.lets.push_back(b);
        return b ? b.result() : e;
    };
    const Expr* end = result_of(it.body().body());
    if (end->op == Op::If || end->op == Op::Select) {
        const Symbol* state = it.body().param(0);
        step.wanted = is_end(end->arg(2), state);
        if (!step.wanted && !is_end(end->arg(1), state)) return step;
        step.holds = end->arg(0);
        end = result_of(end->arg(step.wanted ? 1 : 2));
    }
    if (!has_parts(end)) return step;
    step.again = part(end, 1);
    const Expr* next = part(end, 0);
    if (it.node->type->is_scalar()) step.fields.push_back(next);
    for (std::size_t i = 0; i < it.node->type->args.size(); ++i) step.fields.push_back(part(next, i));
    return step;
}

// ---- what nests hold

void LaneBody::scan_nested(const Expr* e, bool certain) {
    if (e->op == Op::Iterate) return scan_iterate(e->as<Iterate>(), certain);
    if (e->op == Op::Lookup) {
        ok_ &= e->type->is_scalar() && !varies(e->arg(1)) && (certain || !facts_.traits(e).fails);
        ok_ &= !window(e->arg(0)) || !facts_.traits(e).fails;  // behind a window there may be elements
        count_width(e->type);
        reads_rows_ = true;
        scan_row(e->arg(0), certain);
        return scan(e->arg(1), certain);
    }
    ok_ &= e->type->is_scalar() || is_row(e->type);
    if (is_path(e->arg(0))) return;  // of a loop before
    scan_made(e->arg(0), certain);
}

/// A loop, perhaps one of two that all lanes choose together.
void LaneBody::scan_made(const Expr* e, bool certain) {
    if (const For f = e->as<For>()) return scan_loop(f, certain);
    if (const Block b = e->as<Block>()) {
        for (const Expr* v : b.values()) ok_ &= !has_loop(v), scan(v, certain);
        return scan_made(b.result(), certain);
    }
    const If choice = e->as<If>();
    ok_ &= choice && !varies(choice.cond());
    if (!ok_) return;
    scan(choice.cond(), certain);
    scan_made(choice.then(), certain);
    scan_made(choice.otherwise(), certain);
}

/// An appender of elements of rows that may be side by side.
static bool appends_to_row(const Type* t) {
    return t->is_builder(BuilderKind::Appender) && t->elem()->is_scalar() &&
           size_of(t->elem()->scalar) >= kLeastInRow;
}

/// New mergers of scalars, or appenders of what rows hold, or a struct of these; or another loop that starts with such.
static bool start_on_lanes(const Expr* start) {
    if (const For before = start->as<For>()) return start_on_lanes(before.builder());
    if (start->op == Op::MakeStruct) return std::ranges::all_of(start->args(), start_on_lanes);
    const NewBuilder made = start->as<NewBuilder>();
    const bool is_merger = made && made.kind() == BuilderKind::Merger && made.node->type->elem()->is_scalar();
    return is_merger || (made && appends_to_row(made.node->type));
}

/// It goes on with a merger or appender of the loop around, over rows alone: its result can be merged there at once. That of a
/// merger can be as well where all lanes share what the loop goes over, rows among it, which are no lanes for itself.
bool LaneBody::adds_rows(For f) const {
    const Type* t = f.node->type;
    const bool is_merger = t->is_builder(BuilderKind::Merger) && t->elem()->is_scalar();
    return (is_merger || appends_to_row(t)) && is_path(f.builder()) && !has_loop(f.body().body()) &&
           (std::ranges::all_of(f.data(), [&](const Expr* d) { return varies(d) && is_path(d); }) ||
            (is_merger && std::ranges::none_of(f.data(), [&](const Expr* d) { return varies(d); }) &&
             std::ranges::any_of(f.data(), [&](const Expr* d) { return is_row(d->type->elem()); })));
}

void LaneBody::scan_start(const Expr* start, bool certain) {
    if (start->op == Op::MakeStruct)
        for (const Expr* field : start->args()) scan_start(field, certain);
    if (const For before = start->as<For>()) return scan_loop(before, certain);
    if (!start->type->is_builder(BuilderKind::Merger)) return;
    reduces_ = true;
    if (const NewBuilder made = start->as<NewBuilder>(); made && made.arg()) scan(made.arg(), certain);
}

/// Every round of `f` makes one element of each row, so these are as long as its data on all lanes.
void LaneBody::scan_rows_made(For f) {
    bool any = false;
    const std::function<void(const Type*, Facts::Path)> look = [&](const Type* t, Facts::Path path) {
        path.push_back(0);
        for (std::size_t i = 0; t->is_struct() && i < t->args.size(); ++i) {
            path.back() = i;
            look(t->args[i], path);
        }
        path.pop_back();
        if (!appends_to_row(t)) return;
        const std::optional<Count> each = facts_.merges_per_iteration(f.node, path);
        ok_ &= each && each->known() == 1;
        any = true;
    };
    look(f.node->type, {});
    if (!any) return;
    makes_rows_ = true;
    const auto is_read = [&](const Expr* d) { return varies(d) && !window(d); };
    if (std::ranges::any_of(f.data(), is_read)) return;
    const Expr* along = f.data()[0];
    const auto is_known = [&](const Expr* e) { return is_known_outside(e); };
    ok_ &= is_range(along) ? std::ranges::all_of(along->args(), is_known) : is_known(along);
    made_along_.push_back(along);
}

/// Elements one by one.
void LaneBody::scan_row_literal(const Expr* e, bool certain) {
    ok_ &= nests_ == Nests::Yes && size_of(e->type->elem()->scalar) >= kLeastInRow;
    makes_rows_ = true;
    for (const Expr* a : e->args()) {
        count_width(a->type);
        scan(a, certain);
    }
}

/// A row that the body has made is merged: a copy of what is side by side.
void LaneBody::scan_merged_row(const Expr* merge, bool certain) {
    const Expr* row = merge->arg(1);
    const bool is_made = row->op == Op::Result || row->op == Op::MakeVec ||
                         (row->op == Op::Var && rows_made_.contains(row->attr.symbol));
    ok_ &= certain && nests_ == Nests::Yes && merge->type->is_builder(BuilderKind::Appender) && is_made &&
           varies(row);
    if (!ok_) return;
    merges_rows_ = true;
    scan(merge->arg(0), certain);
    scan(row, certain);
}

/// A vector of lanes: the element, a field of it, a slice of these, a window, or a flat row.
void LaneBody::scan_row(const Expr* e, bool certain) {
    ok_ &= is_row(e->type);
    if (const std::optional<Window> w = window(e)) return windows_.push_back(*w);
    if (const std::optional<FlatRow> row = flat_row(e)) {
        ok_ &= certain && nests_ == Nests::Yes;
        if (!number_of(*row)) flat_rows_.push_back(*row);
        return;
    }
    if (e->op != Op::Slice) {
        ok_ &= is_path(e);
        return;
    }
    ok_ &= certain && !varies(e->arg(1)) && !varies(e->arg(2)) && !window(e->arg(0));
    scan_row(e->arg(0), certain);
    scan(e->arg(1), certain);
    scan(e->arg(2), certain);
}

void LaneBody::scan_datum(const Expr* datum, bool certain) {
    if (!varies(datum)) return scan(datum, certain);
    const Iter it = datum->as<Iter>();
    if (!it || window(datum) || flat_row(datum))
        return count_width(datum->type->elem()), scan_row(datum, certain);
    ok_ &= it.shape().kind == IterKind::Scalar && !it.shape().nd && !it.shape().range;
    if (!ok_) return;
    ok_ &= !window(it.data());
    ok_ &= certain || !facts_.traits(datum).fails;
    for (const Expr* bound : datum->args().subspan(1)) {
        ok_ &= !varies(bound);
        scan(bound, certain);
    }
    if (ok_) scan_datum(it.data(), certain);
}

void LaneBody::scan_loop(For f, bool certain) {
    ok_ &= nests_ == Nests::Yes && (start_on_lanes(f.builder()) || adds_rows(f));
    loops_ = true;
    ok_ &= certain || facts_.lengths_agree(f.data());
    const bool is_rest = f.builder()->op == Op::For;  // of a loop that lookups-to-iters has taken apart
    ok_ &= is_rest || !f.node->says(AttrKey::Vectorize, false);
    if (!ok_) return;
    scan_start(f.builder(), certain);
    for (const Expr* d : f.data()) scan_datum(d, certain);
    scan_rows_made(f);
    note_shared(f);
    deepest_ = std::max(deepest_, ++depth_);
    rounds_.push_back(f);
    scan(f.body().body(), certain);
    rounds_.pop_back();
    --depth_;
}

/// Notes a loop of which all lanes read the same elements. Those that are rows would not be lanes of its own.
void LaneBody::note_shared(For f) {
    const auto is_shared = [&](const Expr* d) {
        return !varies(d) && (d->type->elem()->is_scalar() || is_row(d->type->elem()));
    };
    if (!std::ranges::all_of(f.data(), is_shared)) return;
    const bool has_rows =
        std::ranges::any_of(f.data(), [](const Expr* d) { return is_row(d->type->elem()); });
    const bool is_short = std::ranges::find(made_along_, f.data()[0]) != made_along_.end();
    if (!is_short && !has_rows && is_known_outside(f.data()[0])) shared_.push_back(f.data()[0]);
    for (const Expr* d : f.data()) {
        const Type* elem = d->type->elem();
        const auto bytes = is_row(elem) ? kLaneBytes : std::uint32_t(size_of(elem->scalar));
        narrowest_shared_ = std::min(narrowest_shared_.value_or(bytes), bytes);
    }
}

static std::uint32_t scalars_in(const Type* t) {
    if (!t->is_struct()) return 1;
    std::uint32_t n = 0;
    for (const Type* f : t->args) n += scalars_in(f);
    return n;
}

static bool holds_float(const Type* t) {
    return t->is_struct() ? std::ranges::any_of(t->args, holds_float) : t->is_scalar() && is_float(t->scalar);
}

/// Lanes may take different numbers of rounds. Those that have ended go on in vain, and must not fail: what may is done under
/// a mask of those that have not. All of their state is lanes, which vectors cannot be.
void LaneBody::scan_iterate(Iterate it, bool certain) {
    const Step& step = step_of(it);
    ok_ &= certain && !step.fields.empty();
    if (!ok_) return;
    const bool apart = ends_apart(step);
    const Type* state = it.node->type;
    ok_ &= !(apart && (state->holds_builder || state->holds_pointer));
    if (!ok_) return;
    iterates_ = true;
    waits_ |= holds_float(state);
    std::uint32_t held = scalars_in(state);
    for (const Symbol* s : free_symbols(it.body().node))
        if (varying_.contains(s)) held += scalars_in(s->type);
    held_ = std::max(held_, held);
    if (it.init()->op != Op::MakeStruct) scan(it.init(), certain);
    else
        for (const Expr* field : it.init()->args()) scan(field, certain);  // what lanes share has no width
    certain = !apart;
    const bool before = std::exchange(some_have_ended_, some_have_ended_ || apart);
    deepest_ = std::max(deepest_, ++depth_);
    for (const Block b : step.lets)
        for (const Expr* v : b.values()) scan(v, certain);
    if (step.holds) scan(step.holds, certain);
    scan(step.again, certain);
    for (const Expr* field : step.fields) {
        scan(field, certain);
        if (varies(field)) count_width(field->type);
    }
    some_have_ended_ = before;
    --depth_;
}

// ---- nests

/// The builders that a loop inside starts with, of lanes.
const Expr* LaneBody::start_of_lanes(const Expr* start, Lets& lets) {
    if (start->op == Op::MakeStruct)
        return map_args(m_, start,
                        [&](const Expr* field, std::size_t) { return start_of_lanes(field, lets); });
    if (const For before = start->as<For>()) return nested_loop(before, lets);
    const NewBuilder made = start->as<NewBuilder>();
    const Type* value_type[] = {m_.types.simd(made.node->type->elem()->scalar, lanes_)};
    const Type* type = m_.types.builder(made.kind(), value_type, made.node->type->op);
    const bool begins = made.arg() && made.kind() == BuilderKind::Merger;
    return new_builder(m_, type, begins ? wide(made.arg(), lets) : nullptr, made.node->loc);
}

/// What scan_made has found.
const Expr* LaneBody::made(const Expr* e, Lets& lets) {
    if (const For f = e->as<For>()) return nested_loop(f, lets);
    if (const Block b = e->as<Block>()) {
        for (std::size_t i = 0; i < b.size(); ++i) bind(b, i, lets);
        return made(b.result(), lets);
    }
    const If choice = e->as<If>();
    if (!choice) return value(e, lets);
    const auto side = [&](const Expr* of) {
        Lets own;
        const Expr* loop = made(of, own);
        return block(m_, own, loop);
    };
    const Expr* cond = value(choice.cond(), lets);
    const Expr* then = side(choice.then());
    return if_(m_, cond, then, side(choice.otherwise()), e->loc);
}

const Expr* LaneBody::nested_loop(For f, Lets& lets) {
    const Expr *zero = i64_literal(m_, 0), *one = i64_literal(m_, 1);
    std::vector<const Expr*> data;
    std::vector<const Type*> elems;
    std::vector<std::optional<Window>> windows;
    for (const Expr* d : f.data()) {
        windows.push_back(window(d));
        const auto& w = windows.back();
        if (const std::optional<FlatRow> row = w ? std::nullopt : flat_row(d)) {
            data.push_back(flat_rows_on_lanes_[*number_of(*row)]);
            elems.push_back(data.back()->type->elem());
            continue;
        }
        data.push_back(w ? range_iter(m_, IterKind::Scalar, zero, fresh(m_, w->size), one) : value(d, lets));
        elems.push_back(data.back()->type->elem());
    }
    const Expr* begin = start_of_lanes(f.builder(), lets);
    const Symbol* b = m_.symbol(f.builder_param()->name, begin->type);
    const Symbol* i = m_.symbol(f.index_param()->name, f.index_param()->type);
    const Symbol* x =
        m_.symbol(f.elem_param()->name, elems.size() == 1 ? elems[0] : m_.types.structure(elems));
    int mergers = 0;
    builders_[f.builder_param()] = whole(f.builder()->type, mergers);
    values_[f.index_param()] = var(m_, i);
    Lets inside;
    std::vector<const Expr*> fields;
    for (std::size_t k = 0; k < windows.size(); ++k) {
        const Expr* at = elems.size() == 1 ? var(m_, x) : get_field(m_, var(m_, x), k);
        fields.push_back(windows[k] ? window_lanes(*windows[k], at, inside) : at);
    }
    const bool any = std::ranges::any_of(windows, [](const auto& w) { return w.has_value(); });
    values_[f.elem_param()] = !any ? var(m_, x) : fields.size() == 1 ? fields[0] : make_struct(m_, fields);
    Merges merges{std::size_t(mergers)};
    const Builders held = run(f.body().body(), nullptr, inside, merges);
    const Expr* body = block(m_, inside, merged(held, var(m_, b), merges), f.body().body()->loc);
    const Expr* loop =
        weld::loop(m_, data, begin, lambda(m_, {b, i, x}, body, f.body().node->loc), f.node->loc);
    return with_annotations(m_, loop, f.node->annotations);
}

/// On lanes the state is a struct in any case.
const Expr* LaneBody::nested_iterate(Iterate it, Lets& lets) {
    const Step& step = step_of(it);
    const bool is_one = it.node->type->is_scalar();
    const std::vector<bool> varying = is_one ? std::vector<bool>{varying_.contains(it.body().param(0))}
                                             : varying_fields_[it.body().param(0)];
    const auto state = [&](const std::vector<const Expr*>& fields, Lets& into) {
        std::vector<const Expr*> all;
        for (std::size_t k = 0; k < fields.size(); ++k)
            all.push_back(varying[k] ? wide(fields[k], into) : value(fields[k], into));
        return make_struct(m_, all);
    };
    std::vector<const Expr*> begins;
    for (std::size_t k = 0; k < step.fields.size(); ++k) {
        begins.push_back(is_one ? it.init() : part(it.init(), k));
        mark(begins.back());
    }
    const bool apart = ends_apart(step);
    std::vector<const Symbol*> carried;
    const bool may_part = apart && carry(it, &carried);
    const bool asks_who_goes_on = apart && facts_.traits(it.body().node).fails;
    const std::size_t more = carried.size() + asks_who_goes_on;
    const Expr* init = with_fields(state(begins, lets), more, [&](std::size_t k) {
        return k < carried.size() ? wide(var(m_, carried[k]), lets)
                                  : broadcast(m_, bool_literal(m_, true), lanes_);
    });
    const Symbol* s = m_.symbol(it.body().param(0)->name, init->type);
    const Expr* const outer_mask = mask_;
    values_[it.body().param(0)] = is_one ? get_field(m_, var(m_, s), 0) : var(m_, s);
    const auto bind_all = [&](Block b, Lets& into) {
        for (std::size_t k = 0; k < b.size(); ++k) bind(b, k, into);
    };
    const Expr* stop = bool_literal(m_, false);
    Lets before, behind;
    if (asks_who_goes_on) mask_ = named(get_field(m_, var(m_, s), begins.size() + carried.size()), before);
    const bool has_lets_before = it.body().body()->op == Op::Block;
    if (has_lets_before) bind_all(step.lets[0], before);
    const Expr* holds = !step.holds ? nullptr
                        : apart     ? named(wide(step.holds, before), before)
                                    : value(step.holds, before);
    if (holds && asks_who_goes_on) {
        const Expr* goes_on = step.wanted ? holds : scalar_op(m_, Op::Not, {holds});
        mask_ = named(scalar_op(m_, Op::BitAnd, {mask_, goes_on}), before);
    }
    for (std::size_t k = has_lets_before; k < step.lets.size(); ++k) bind_all(step.lets[k], behind);
    const Expr* next = state(step.fields, behind);
    const Expr* again = apart ? wide(step.again, behind) : value(step.again, behind);
    mask_ = outer_mask;
    const auto choose = [&](const Expr* goes_on, const Expr* ends) {
        return select(m_, holds, step.wanted ? goes_on : ends, step.wanted ? ends : goes_on);
    };
    if (holds && apart) {  // rounds of lanes that have ended change nothing
        std::vector<const Expr*> fields;
        for (std::size_t k = 0; k < begins.size(); ++k)
            fields.push_back(choose(field(next, k), get_field(m_, var(m_, s), k)));
        next = make_struct(m_, fields);
        const Literal always = step.again->as<Literal>();
        if (!always || !always.bits()) again = choose(again, broadcast(m_, stop, lanes_));
        else again = step.wanted ? holds : scalar_op(m_, Op::Not, {holds});
    }
    if (asks_who_goes_on) again = named(again, behind);
    const auto stays = [&](std::size_t k) {
        return k < carried.size() ? get_field(m_, var(m_, s), begins.size() + k) : again;
    };
    const Expr* end = make_struct(m_, {with_fields(next, more, stays), again});
    if (holds && !apart) {
        const Expr *goes_on = block(m_, behind, end), *ends = make_struct(m_, {var(m_, s), stop});
        end = if_(m_, holds, step.wanted ? goes_on : ends, step.wanted ? ends : goes_on);
        behind.clear();
    }
    before.insert(before.end(), behind.begin(), behind.end());
    const Expr* body = lambda(m_, {s}, block(m_, before, end), it.body().node->loc);
    if (!apart) {
        const Expr* last = named(iterate(m_, init, body, it.node->loc), lets);
        return is_one ? get_field(m_, last, 0) : last;
    }
    const Expr* one = may_part ? one_lane(it, carried, asks_who_goes_on) : nullptr;
    const Expr* rounds = iterate(m_, init, body, it.node->loc, one);
    if (one) {
        rounds = annotate(m_, rounds, AttrKey::Few, std::to_string(std::max(1u, lanes_ / kFew)));
        rounds = annotate(m_, rounds, AttrKey::Patience, kPatience);
    }
    const Expr* last = named(rounds, lets);
    if (is_one) return get_field(m_, last, 0);
    if (more == 0) return last;
    std::vector<const Expr*> fields;
    for (std::size_t k = 0; k < begins.size(); ++k) fields.push_back(get_field(m_, last, k));
    return make_struct(m_, fields);
}

const Expr* LaneBody::with_fields(const Expr* e, std::size_t more,
                                  const std::function<const Expr*(std::size_t)>& field_of) {
    std::vector<const Expr*> fields(e->args().begin(), e->args().end());
    for (std::size_t k = 0; k < more; ++k) fields.push_back(field_of(k));
    return more ? make_struct(m_, fields) : e;
}

/// What the body of an `iterate` reads that varies from lane to lane, but its state; no if vectors are among
/// it.
bool LaneBody::carry(Iterate it, std::vector<const Symbol*>* all) const {
    for (const Symbol* s : free_symbols(it.body().node)) {
        if (!varying_.contains(s)) continue;
        if (s->type->holds_pointer) return all->clear(), false;
        all->push_back(s);
    }
    return true;
}

/// The function of `it` for one lane of a state that carries what it reads of lanes around it, and whether it goes on.
const Expr* LaneBody::one_lane(Iterate it, const std::vector<const Symbol*>& carried, bool asks_who_goes_on) {
    const Step& step = step_of(it);
    const Type* own = it.node->type;
    const bool is_one = own->is_scalar();
    std::vector<const Type*> types(own->args.begin(), own->args.end());
    if (is_one) types.push_back(own);
    const std::size_t num_own = types.size();
    for (const Symbol* s : carried) types.push_back(s->type);
    if (asks_who_goes_on) types.push_back(m_.types.scalar(Scalar::Bool));
    const Symbol* state = m_.symbol(it.body().param(0)->name, m_.types.structure(types));
    const auto field_at = [&](std::size_t k) { return get_field(m_, var(m_, state), k); };

    SymbolMap names;
    for (const Symbol* s : free_symbols(it.body().node))
        if (const auto at = values_.find(s); at != values_.end()) names[s] = at->second;
    std::vector<const Expr*> now;
    for (std::size_t k = 0; k < num_own; ++k) now.push_back(field_at(k));
    names[it.body().param(0)] = is_one ? now[0] : make_struct(m_, now);
    for (std::size_t k = 0; k < carried.size(); ++k) names[carried[k]] = field_at(num_own + k);

    std::vector<const Expr*> next = step.fields, same = now;
    for (const Symbol* s : carried) next.push_back(var(m_, s)), same.push_back(var(m_, s));
    if (asks_who_goes_on) next.push_back(bool_literal(m_, true)), same.push_back(bool_literal(m_, true));
    const auto behind = [&](std::size_t k, const Expr* end) {
        Lets lets;
        for (std::size_t i = 0; k < step.lets.size() && i < step.lets[k].size(); ++i)
            lets.emplace_back(step.lets[k].symbol(i), step.lets[k].value(i));
        return block(m_, lets, end);
    };
    const std::size_t before = it.body().body()->op == Op::Block;
    const Expr* end = make_struct(m_, {make_struct(m_, next), step.again});
    if (step.holds) {
        const Expr* ends = make_struct(m_, {make_struct(m_, same), bool_literal(m_, false)});
        end = behind(before, end);
        end = if_(m_, step.holds, step.wanted ? end : ends, step.wanted ? ends : end);
    }
    const Expr* body = substitute(m_, before ? behind(0, end) : end, names);
    body = rewrite(m_, body, [](const Expr* e) -> const Expr* {
        const bool is_known = e->op == Op::GetField && e->arg(0)->op == Op::MakeStruct;
        return is_known ? e->arg(0)->arg(e->attr.index) : nullptr;
    });
    return lambda(m_, {state}, fresh(m_, body), it.body().node->loc);
}

}  // namespace weld
