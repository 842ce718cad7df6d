// Facts: derived from the leaves up and remembered.
#include "weldir/ir/facts.h"

#include <algorithm>
#include <utility>

#include "weldir/ir/build.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"

namespace weld {

static constexpr int kDeepestCount = 200;  // names that stand for sums of names, and so on

Facts::Facts(Module& m, const Expr* root) : m_(m), root_(root) {
    visit_binding(root, [&](const Expr* e) {
        if (Block block = e->as<Block>())
            for (std::size_t i = 0; i < block.size(); ++i) definitions_[block.symbol(i)] = block.value(i);
        if (For loop = e->as<For>())
            for (const Symbol* s : loop.body().params()) loops_[s] = e;
    });
}

const Expr* Facts::definition(const Symbol* s) const {
    const Expr* const* value = definitions_.find(s);
    return value ? *value : nullptr;
}

const Expr* Facts::loop_of(const Symbol* s) const {
    const Expr* const* loop = loops_.find(s);
    return loop ? *loop : nullptr;
}

/// One step of `resolve`: what a name or a field of a struct literal stands for; null at the end.
const Expr* Facts::step(const Expr* e) const {
    if (Var v = e->as<Var>()) return definition(v.symbol());
    if (GetField get = e->as<GetField>())
        if (MakeStruct made = resolve(get.of())->as<MakeStruct>()) return made.fields()[get.index()];
    return nullptr;
}

const Expr* Facts::resolve(const Expr* e) const {
    while (const Expr* next = step(e)) e = next;
    return e;
}

const Expr* Facts::root(const Expr* path) const {
    for (const Expr* next; (next = step(path)) && is_path(next);) path = next;
    return path;
}

// ---- what evaluating may do

static bool divides_by_what_may_be_zero(const Expr* e) {
    if (is_float(e->type->scalar)) return false;
    const Expr* by = e->arg(1)->op == Op::Broadcast ? e->arg(1)->arg(0) : e->arg(1);
    return by->op != Op::Literal || by->attr.bits == 0;
}

static bool is_costly(const Expr* e) {
    switch (e->op) {
        case Op::Lookup:
        case Op::OptLookup:
        case Op::KeyExists:
        case Op::Lambda:
        case Op::Div:
        case Op::Rem: return true;
        default: break;
    }
    if (is_math(e->op) && e->op != Op::Sqrt) return true;
    return is_comparison(e->op) && !e->arg(0)->type->is_lanes();
}

/// What the node does by itself, its arguments aside.
static Traits own_traits(const Expr* e) {
    Traits t;
    switch (e->op) {
        case Op::Div:
        case Op::Rem: t.fails = divides_by_what_may_be_zero(e); break;
        case Op::Slice:
        case Op::Assert: t.fails = true; break;
        case Op::Deserialize:
        case Op::Iterate: t.fails = t.heavy = true; break;
        case Op::For: t.heavy = t.builds = true; break;
        case Op::NewBuilder:
        case Op::Result: t.builds = t.heavy = true; break;
        case Op::Merge:
            t.builds = true;
            t.fails = info(e->type->builder).merge_fails;
            break;
        case Op::MakeVec:
        case Op::PackedVec:
        case Op::Sort:
        case Op::ToVec:
        case Op::Serialize: t.heavy = true; break;
        case Op::Kernel: {
            const KernelRef& ref = e->as<Kernel>().ref();
            t.heavy = true;
            t.calls = !ref.pure;
            t.fails = ref.fails;
            t.ordered = ref.effect || e->says(AttrKey::Parallel, false);
            break;
        }
        default: break;
    }
    t.costly = is_costly(e);
    t.fails_here = t.fails;
    return t;
}

static void add(Traits& to, const Traits& t) {
    constexpr std::uint32_t kMost = 1u << 30;
    to.fails |= t.fails;
    to.fails_here |= t.fails_here;
    if (t.under) to.under = to.under ? std::min(to.under, t.under) : t.under;
    to.calls |= t.calls;
    to.ordered |= t.ordered;
    to.heavy |= t.heavy;
    to.costly |= t.costly;
    to.builds |= t.builds;
    to.size = std::min(kMost, to.size + t.size);
    to.depth = std::max(to.depth, t.depth + 1);
}

const Traits& Facts::traits(const Expr* e) {
    if (const Traits* known = traits_.find(e)) return *known;
    const Traits t = traits_of(e);
    return traits_[e] = t;
}

/// It can't fail under a condition of that depth.
static void fail_unless(Traits& t, Conditions::Depth under) {
    Traits own = {};
    own.size = 0;
    own.depth = 0;
    own.fails = under != 0;
    own.fails_here = under == Conditions::kNever;
    own.under = own.fails_here ? 0 : under;
    add(t, own);
}

Traits Facts::traits_of(const Expr* e) {
    Traits t = own_traits(e);
    for (std::size_t i = 0; i < e->num_args; ++i) {
        Traits of = traits(e->arg(i));
        // What a side relies on moves along with it, if it is a condition of `e` itself.
        const bool is_side = i > 0 && (e->op == Op::If || e->op == Op::And || e->op == Op::Or);
        const Depth* of_sides = is_side && of.under ? branch_depths_.find(e) : nullptr;
        if (of_sides && !of.fails_here && of.under >= *of_sides) of.fails = false, of.under = 0;
        add(t, of);
    }
    switch (e->op) {
        case Op::For:
            if (e->num_args > 3)
                fail_unless(t, agreement(e->as<For>().data(), place_of(e->as<For>().index_param())));
            break;
        case Op::Iter: fail_unless(t, bounds_hold_under(e)); break;
        case Op::Lookup: fail_unless(t, index_holds_under(e)); break;
        case Op::Result: {  // what begins and ends inside builds nothing that others see
            const std::vector<const Symbol*> free = free_symbols(e);
            t.builds =
                std::any_of(free.begin(), free.end(), [](const Symbol* s) { return s->type->holds_builder; });
            break;
        }
        case Op::Call: {
            const Summary& body = e->as<Call>().function().summary;
            t.heavy = true;
            t.fails |= body.fails;
            t.fails_here |= body.fails;
            t.calls |= body.calls;
            t.ordered |= body.ordered;
            t.builds |= std::ranges::any_of(e->args(), [](const Expr* a) { return a->type->holds_builder; });
            break;
        }
        default: break;
    }
    return t;
}

// ---- lengths

static std::optional<Count> times(const std::optional<Count>& a, const std::optional<Count>& b) {
    if (!a || !b) return {};
    const Count product = *a * *b;
    return product.is_small() ? std::optional(product) : std::nullopt;
}

static std::optional<Count> plus(const std::optional<Count>& a, const std::optional<Count>& b) {
    if (!a || !b) return {};
    const Count sum = *a + *b;
    return sum.is_small() ? std::optional(sum) : std::nullopt;
}

/// The number that a path names, or of the elements of the vector there.
Count Facts::named(const Expr* path, bool is_length) {
    std::vector<std::uint64_t> key = {is_length};
    for (const Expr* e = path; e->op == Op::GetField; e = e->arg(0)) key.push_back(e->attr.index);
    key.push_back(base_of(path)->id);
    const Expr*& name = names_[key];
    if (!name) name = is_length ? len(m_, path) : path;
    return Count(name);
}

std::optional<Count> Facts::length(const Expr* e) {
    if (!is_path(e)) return length_of(e);
    const Expr* name = root(e);
    auto [at, added] = lengths_.try_emplace(name);
    if (!added) return at->second;
    const Expr* value = step(name);
    std::optional<Count> n = value ? length_of(value) : std::nullopt;
    if (!n) n = named(name, true);
    return lengths_[name] = n;
}

std::optional<Count> Facts::length_of(const Expr* e) {
    switch (e->op) {
        case Op::Var:
        case Op::GetField: return is_path(e) ? length(e) : std::nullopt;
        case Op::MakeVec: return Count(std::int64_t(e->num_args));
        case Op::PackedVec:
            return Count(std::int64_t(e->attr.bytes->size()) / size_of(e->type->elem()->scalar));
        case Op::Sort: return e->as<Sort>().limit() ? std::nullopt : length(e->as<Sort>().of());
        case Op::ToVec: return length(e->as<ToVec>().of());
        case Op::Result: return built(e->as<Result>().builder(), {});
        case Op::If:
        case Op::Select: {
            std::optional<Count> then = length(e->arg(1)), otherwise = length(e->arg(2));
            if (!then || !otherwise || !(*then == *otherwise)) return {};
            return then->is_exact() ? otherwise : then;
        }
        default: return {};
    }
}

static std::vector<std::size_t> longer(std::size_t first, const std::vector<std::size_t>& path) {
    std::vector<std::size_t> all = {first};
    all.insert(all.end(), path.begin(), path.end());
    return all;
}
static std::vector<std::size_t> without_first(const std::vector<std::size_t>& path) {
    return {path.begin() + 1, path.end()};
}

/// The length of what the builder at `path` in `e` has built.
std::optional<Count> Facts::built(const Expr* e, const Path& path) {
    switch (e->op) {
        case Op::Var: {
            const Expr* value = definition(e->attr.symbol);
            return value ? built(value, path) : std::nullopt;
        }
        case Op::GetField: return built(e->arg(0), longer(e->attr.index, path));
        case Op::MakeStruct: return path.empty() ? std::nullopt : built(e->arg(path[0]), without_first(path));
        case Op::NewBuilder:
            if (info(e->type->builder).lists_merges) return Count{};
            return info(e->type->builder).indexed ? length(e->arg(0)) : std::nullopt;
        case Op::Merge:
            if (!info(e->type->builder).lists_merges) return built(e->arg(0), path);
            if (e->num_args > 2 || e->arg(1)->type->holds_simd) return {};
            return plus(built(e->arg(0), path), Count(1));
        case Op::For: {
            const std::optional<Count> before = built(e->as<For>().builder(), path);
            const Type* b = e->type;
            for (std::size_t i : path) b = b->args[i];
            if (!before || !b->is_builder() || !info(b->builder).lists_merges) return before;
            return plus(before, times(iterations(e), merges_per_iteration(e, path)));
        }
        default: return {};
    }
}

std::optional<Count> Facts::count(const Expr* e) {
    if (!is_path(e)) return count_of(e);
    const Expr* name = root(e);
    if (const auto known = counts_.find(name); known != counts_.end()) return known->second;
    const Expr* value = step(name);
    std::optional<Count> n = value ? count_of(value) : std::nullopt;
    if (!n) n = named(name, false);
    return counts_[name] = n;
}

/// A name and a small number. As a number of rounds it is exact, though it may wrap: then there are none, or
/// so many that no loop comes to its end.
static bool is_near(const Count& n) {
    constexpr std::int64_t kFar = std::int64_t(1) << 32;
    int names = 0;
    return std::ranges::all_of(n.sum(), [&](const Count::Product& p) {
        if (p.of.empty()) return -kFar <= p.factor && p.factor <= kFar;
        return p.factor == 1 && p.of.size() == 1 && !names++;
    });
}

std::optional<Count> Facts::count_of(const Expr* e) {
    if (e->op == Op::Literal) return Count(e->as<Literal>().as_int());
    if (e->op == Op::Len) return length(e->as<Len>().of());
    if (is_path(e)) return count(e);
    if ((e->op != Op::Add && e->op != Op::Sub && e->op != Op::Mul) || depth_ > kDeepestCount) return {};
    ++depth_;
    const std::optional<Count> a = count(e->arg(0)), b = a ? count(e->arg(1)) : std::nullopt;
    --depth_;
    std::optional<Count> n =
        e->op == Op::Mul ? times(a, b) : plus(a, e->op == Op::Add ? b : times(Count(-1), b));
    if (n && !is_near(*n)) n->set_exact(false);
    return n;
}

/// The product of the elements of a shape.
std::optional<Count> Facts::product(const Expr* shape) {
    const MakeVec sizes = resolve(shape)->as<MakeVec>();
    if (!sizes) return {};
    std::optional<Count> all = Count(1);
    for (const Expr* size : sizes.elems()) all = times(all, count(size));
    if (all) all->set_exact(false);
    return all;
}

// ---- conditions

void Facts::find_conditions(const Expr* e, Place place, Depth depth, bool outermost) {
    switch (e->op) {
        case Op::Block: {
            const Block b = e->as<Block>();
            for (const Expr* value : b.values()) {
                find_conditions(value, place, depth, false);
                const Assert a = value->as<Assert>();
                if (!a) continue;
                const Place now = behind(a.of(), true, place, outermost ? 0 : depth + 1);
                depth += now != place && !outermost;
                place = now;
            }
            return find_conditions(b.result(), place, depth, false);
        }
        case Op::If:
            find_conditions(e->arg(0), place, depth, false);
            find_in_branch(e, 1, true, place, depth);
            return find_in_branch(e, 2, false, place, depth);
        case Op::And:
        case Op::Or:
            find_conditions(e->arg(0), place, depth, false);
            return find_in_branch(e, 1, e->op == Op::And, place, depth);
        case Op::For: loop_places_[e->as<For>().index_param()] = place; break;
        case Op::Lookup:
        case Op::Iter: note_place(e, place); break;
        default: break;
    }
    for (const Expr* a : e->args()) find_conditions(a, place, depth, e == root_ && e->op == Op::Lambda);
}

void Facts::find_in_branch(const Expr* e, std::size_t arg, bool holds, Place place, Depth depth) {
    const Place there = behind(e->arg(0), holds, place, depth + 1);
    if (there != place) branch_depths_[e] = std::max(branch_depths_[e], depth + 1);
    find_conditions(e->arg(arg), there, depth + (there != place), false);
}

/// The place where `condition` holds, or doesn't.
Conditions::Place Facts::behind(const Expr* condition, bool holds, Place place, Depth depth) {
    const Expr* e = resolve(condition);
    switch (e->op) {
        case Op::Not: return behind(e->arg(0), !holds, place, depth);
        case Op::And:
        case Op::BitAnd:
        case Op::Or:
        case Op::BitOr:
            if ((e->op == Op::And || e->op == Op::BitAnd) != holds) return place;
            return behind(e->arg(1), holds, behind(e->arg(0), holds, place, depth), depth);
        default: break;
    }
    if (!is_comparison(e->op) || e->arg(0)->type != m_.types.i64()) return place;
    const std::optional<Count> a = count(e->arg(0)), b = count(e->arg(1));
    if (!a || !b) return place;
    switch (e->op) {
        case Op::Eq: return holds ? conditions_.add(place, depth, Op::Eq, *a, *b) : place;
        case Op::Ne: return holds ? place : conditions_.add(place, depth, Op::Eq, *a, *b);
        case Op::Lt:
        case Op::Ge: {
            const bool less = (e->op == Op::Lt) == holds;
            return less ? conditions_.add(place, depth, Op::Lt, *a, *b)
                        : conditions_.add(place, depth, Op::Le, *b, *a);
        }
        case Op::Gt:
        case Op::Le: {
            const bool greater = (e->op == Op::Gt) == holds;
            return greater ? conditions_.add(place, depth, Op::Lt, *b, *a)
                           : conditions_.add(place, depth, Op::Le, *a, *b);
        }
        default: return place;
    }
}

/// A node that stands in several places knows what all of them do.
void Facts::note_place(const Expr* e, Place place) {
    if (Place* known = places_.find(e)) *known = conditions_.common(*known, place);
    else places_[e] = place;
}

Conditions::Place Facts::place_of(const Expr* e) {
    if (!std::exchange(conditions_found_, true)) find_conditions(root_, 0, 0, false);
    const Place* place = places_.find(e);
    return place ? *place : 0;
}

Conditions::Place Facts::place_of(const Symbol* index) {
    if (!std::exchange(conditions_found_, true)) find_conditions(root_, 0, 0, false);
    const Place* place = index ? loop_places_.find(index) : nullptr;
    return place ? *place : 0;
}

bool Facts::agree(const Count& a, const Count& b, const Symbol* at) {
    return a == b || (at && conditions_.equal(a, b, place_of(at)) != Conditions::kNever);
}

std::optional<Count> Facts::iterations_of(const Expr* datum) {
    const Iter iter = datum->as<Iter>();
    if (!iter) return length(datum);
    if (iter.shape().kind != IterKind::Scalar) return {};
    if (!iter.shape().bounded) return length(iter.data());
    if (iter.shape().nd) return product(iter.nd_shape());
    const Literal stride = iter.stride()->as<Literal>();
    const std::optional<Count> start = count(iter.start()), end = count(iter.end());
    if (!start || !end || !stride || stride.as_int() < 1) return {};
    if (!start->known() || !end->known())
        return stride.as_int() == 1 ? plus(end, times(Count(-1), start)) : std::nullopt;
    const __int128 span = __int128(*end->known()) - *start->known(), n = span / stride.as_int();
    return 0 <= span && n <= INT64_MAX ? std::optional(Count(std::int64_t(n))) : std::nullopt;
}

std::optional<Count> Facts::iterations(const Expr* loop) {
    for (const Expr* datum : loop->as<For>().data())
        if (std::optional<Count> n = iterations_of(datum)) return n;
    return {};
}

/// Conditions of what depth make the data of a loop equally long.
Conditions::Depth Facts::agreement(std::span<const Expr* const> data, Place place) {
    if (data.size() < 2) return 0;
    const std::optional<Count> first = iterations_of(data[0]);
    Depth all = first ? 0 : Conditions::kNever;
    for (std::size_t i = 1; i < data.size() && all != Conditions::kNever; ++i) {
        const std::optional<Count> n = iterations_of(data[i]);
        all = Conditions::outer(all, n ? conditions_.equal(*n, *first, place) : Conditions::kNever);
    }
    return all;
}

bool Facts::lengths_agree(std::span<const Expr* const> data, const Symbol* at) {
    return agreement(data, 0) == 0 || (at && agreement(data, place_of(at)) != Conditions::kNever);
}

bool does_nothing(For loop) {
    const Var end = loop.body().body()->as<Var>();
    return end && end.symbol() == loop.builder_param();
}

// ---- merges

/// No name in `n` is bound in the loop.
bool Facts::is_fixed_in(const Count& n, const Expr* loop) {
    if (n.known()) return true;
    std::vector<const Symbol*> inside;
    visit_binding(
        loop, [&](const Expr* e) { inside.insert(inside.end(), e->symbols().begin(), e->symbols().end()); });
    return std::ranges::all_of(n.sum(), [&](const Count::Product& p) {
        return std::ranges::all_of(p.of, [&](const Expr* name) {
            const Symbol* base = base_of(name->op == Op::Len ? name->arg(0) : name);
            return std::ranges::find(inside, base) == inside.end();
        });
    });
}

std::optional<Count> Facts::merges_per_iteration(const Expr* loop, const Path& path) {
    const For view{{loop}};
    const std::optional<Count> n = merges(view.body().body(), view.builder_param(), path);
    return n && is_fixed_in(*n, loop) ? n : std::nullopt;
}

/// How many merges lead from `param` at `path` to what `e` has at `path`.
std::optional<Count> Facts::merges(const Expr* e, const Symbol* param, const Path& path) {
    switch (e->op) {
        case Op::Var: return merges_of_name(e->attr.symbol, param, path);
        case Op::GetField: return merges(e->arg(0), param, longer(e->attr.index, path));
        case Op::MakeStruct:
            return path.empty() ? std::nullopt : merges(e->arg(path[0]), param, without_first(path));
        case Op::Block: return merges(e->as<Block>().result(), param, path);
        case Op::Merge: {
            if (e->num_args > 2 || e->arg(1)->type->holds_simd) return {};
            return plus(merges(e->arg(0), param, path), Count(1));
        }
        case Op::If: {
            const auto then = merges(e->arg(1), param, path), otherwise = merges(e->arg(2), param, path);
            return then && then == otherwise ? then : std::nullopt;
        }
        case Op::For: {
            const auto before = merges(e->as<For>().builder(), param, path);
            const auto each = before ? merges_per_iteration(e, path) : std::nullopt;
            if (!each || each->known() == 0) return each ? before : std::nullopt;
            return plus(before, times(iterations(e), each));
        }
        default: return {};
    }
}

std::optional<Count> Facts::merges_of_name(const Symbol* s, const Symbol* param, const Path& path) {
    if (s == param) return Count();
    auto [at, added] = merges_.try_emplace({s, path});
    if (!added) return at->second;
    const Expr* value = definition(s);
    const std::optional<Count> n = value ? merges(value, param, path) : std::nullopt;
    return merges_[{s, path}] = n;
}

static void note_reads(const Expr* e, std::size_t at, std::unordered_map<const Symbol*, std::size_t>& last) {
    for (const Annotation& a : e->annotations)
        if (a.key == AttrKey::Free || a.key == AttrKey::Give)
            for (const Symbol* s : a.symbols) last[s] = at;
    if (is_path(e) && !e->type->holds_pointer) return;
    if (e->op == Op::Len && is_path(e->arg(0)) && e->arg(0)->type->is_vec()) return;
    if (Var v = e->as<Var>()) last[v.symbol()] = at;
    for (const Expr* a : e->args()) note_reads(a, at, last);
}

std::unordered_map<const Symbol*, std::size_t> last_reads(Block b) {
    std::unordered_map<const Symbol*, std::size_t> last;
    for (std::size_t i = 0; i < b.node->num_args; ++i) note_reads(b.node->arg(i), i, last);
    return last;
}

}  // namespace weld
