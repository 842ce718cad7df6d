// Facts: derived from the leaves up and remembered.
#include "weldir/ir/facts.h"

#include <algorithm>

#include "weldir/ir/build.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"

namespace weld {

bool operator==(const Count& a, const Count& b) {
    if (a.factor != b.factor || !a.of != !b.of) return false;
    return !a.of || same(a.of, b.of);
}

Facts::Facts(Module& m, const Expr* root) : m_(m) {
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
    return t;
}

static void add(Traits& to, const Traits& t) {
    constexpr std::uint32_t kMost = 1u << 30;
    to.fails |= t.fails;
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

Traits Facts::traits_of(const Expr* e) {
    Traits t = own_traits(e);
    for (const Expr* a : e->args()) add(t, traits(a));
    switch (e->op) {
        case Op::For: t.fails |= !lengths_agree(e->as<For>().data()); break;
        case Op::Iter: t.fails |= !bounds_hold(e); break;
        case Op::Lookup: t.fails |= !index_holds(e); break;
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
            t.calls |= body.calls;
            t.ordered |= body.ordered;
            t.builds |= std::ranges::any_of(e->args(), [](const Expr* a) { return a->type->holds_builder; });
            break;
        }
        default: break;
    }
    return t;
}

// ---- checks that hold

/// Not negative for sure.
static bool not_negative(const Count& c) { return c.factor >= 0 && (!c.of || c.of->op == Op::Len); }

bool Facts::bounds_hold(const Expr* e) {
    const Iter iter{{e}};
    if (!iter.shape().bounded) return true;
    if (iter.shape().nd || !is_int(iter.start(), 0) || !is_int(iter.stride(), 1)) return false;
    const std::optional<Count> end = count(iter.end());
    if (!end) return false;
    if (iter.shape().range) return not_negative(*end);
    const std::optional<Count> n = length(iter.data());
    return n && (*n == *end || (!n->of && !end->of && 0 <= end->factor && end->factor <= n->factor));
}

/// The loop over 0, 1, ... that `i` runs through: `i` is its index, or the element of a range from 0.
static const Expr* counting_loop(const Facts& facts, const Expr* i) {
    const Expr* loop = is_path(i) ? facts.loop_of(base_of(i)) : nullptr;
    if (!loop) return nullptr;
    const For view{{loop}};
    if (i->op == Op::Var && i->attr.symbol == view.index_param()) return loop;
    std::size_t datum = 0;
    if (i->op == Op::GetField && i->arg(0)->op == Op::Var && view.data().size() > 1) datum = i->attr.index;
    else if (i->op != Op::Var || view.data().size() > 1) return nullptr;
    if (base_of(i) != view.elem_param()) return nullptr;
    const Iter range = view.data()[datum]->as<Iter>();
    if (!range || !range.shape().range || range.shape().kind != IterKind::Scalar) return nullptr;
    return is_int(range.start(), 0) && is_int(range.stride(), 1) ? loop : nullptr;
}

bool Facts::index_holds(const Expr* e) {
    const Lookup at{{e}};
    if (!at.of()->type->is_vec()) return false;
    const std::optional<Count> n = length(at.of());
    if (!n) return false;
    const Expr* key = resolve(at.key());
    if (Literal l = key->as<Literal>()) return !n->of && 0 <= l.as_int() && l.as_int() < n->factor;
    const Expr* loop = counting_loop(*this, key);
    const std::optional<Count> times = loop ? iterations(loop) : std::nullopt;
    return times && *times == *n;
}

// ---- lengths

static std::optional<Count> times(std::optional<Count> a, std::optional<std::int64_t> k) {
    if (!a || !k) return {};
    Count product = *a;
    if (__builtin_mul_overflow(a->factor, *k, &product.factor)) return {};
    if (product.factor == 0) product.of = nullptr;
    return product;
}

static std::optional<Count> plus(std::optional<Count> a, std::optional<Count> b) {
    if (!a || !b) return {};
    if (a->is(0)) return b;
    if (b->is(0)) return a;
    if (!a->of != !b->of || (a->of && !same(a->of, b->of))) return {};
    if (__builtin_add_overflow(a->factor, b->factor, &a->factor)) return {};
    return a;
}

std::optional<Count> Facts::length(const Expr* e) {
    if (!is_path(e)) return length_of(e);
    const Expr* name = root(e);
    auto [at, added] = lengths_.try_emplace(name);
    if (!added) return at->second;
    const Expr* value = step(name);
    std::optional<Count> n = value ? length_of(value) : std::nullopt;
    if (!n) n = Count{1, len(m_, name)};
    return lengths_[name] = n;
}

std::optional<Count> Facts::length_of(const Expr* e) {
    switch (e->op) {
        case Op::Var:
        case Op::GetField: return is_path(e) ? length(e) : std::nullopt;
        case Op::MakeVec: return Count{std::int64_t(e->num_args), nullptr};
        case Op::PackedVec:
            return Count{std::int64_t(e->attr.bytes->size()) / size_of(e->type->elem()->scalar), nullptr};
        case Op::Sort: return e->as<Sort>().limit() ? std::nullopt : length(e->as<Sort>().of());
        case Op::ToVec: return length(e->as<ToVec>().of());
        case Op::Result: return built(e->as<Result>().builder(), {});
        case Op::If:
        case Op::Select: {
            std::optional<Count> then = length(e->arg(1)), otherwise = length(e->arg(2));
            return then && otherwise && *then == *otherwise ? then : std::nullopt;
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
            return e->type->is_builder(BuilderKind::VecMerger) ? length(e->arg(0)) : std::nullopt;
        case Op::Merge:
            if (!info(e->type->builder).lists_merges) return built(e->arg(0), path);
            if (e->num_args > 2 || e->arg(1)->type->holds_simd) return {};
            return plus(built(e->arg(0), path), Count{1, nullptr});
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
    if (Literal l = e->as<Literal>()) return Count{l.as_int(), nullptr};
    if (Len n = e->as<Len>()) return length(n.of());
    if (e->op == Op::Mul) {
        const Literal k = e->arg(1)->as<Literal>();
        return k ? times(count(e->arg(0)), k.as_int()) : std::nullopt;
    }
    if (!is_path(e)) return {};
    const Expr* name = root(e);
    const Expr* value = step(name);
    std::optional<Count> n = value ? count(value) : std::nullopt;
    return n ? n : Count{1, name};
}

/// The product of the elements of a shape.
std::optional<Count> Facts::product(const Expr* shape) {
    const MakeVec sizes = resolve(shape)->as<MakeVec>();
    if (!sizes) return {};
    std::optional<Count> all = Count{1, nullptr};
    for (const Expr* size : sizes.elems()) {
        const std::optional<Count> n = count(size);
        if (!n || !all || n->factor < 0 || (n->of && all->of)) return {};
        all = n->of ? times(n, all->factor) : times(all, n->factor);
    }
    return all;
}

std::optional<Count> Facts::iterations_of(const Expr* datum) {
    const Iter iter = datum->as<Iter>();
    if (!iter) return length(datum);
    if (iter.shape().kind != IterKind::Scalar) return {};
    if (!iter.shape().bounded) return length(iter.data());
    if (iter.shape().nd) return product(iter.nd_shape());
    const Literal start = iter.start()->as<Literal>(), stride = iter.stride()->as<Literal>();
    if (!start || !stride || stride.as_int() < 1) return {};
    const std::optional<Count> end = count(iter.end());
    if (!end) return {};
    if (!end->of) {
        const __int128 span = __int128(end->factor) - start.as_int(), n = span / stride.as_int();
        return 0 <= span && n <= INT64_MAX ? std::optional(Count{std::int64_t(n), nullptr}) : std::nullopt;
    }
    return start.as_int() == 0 && stride.as_int() == 1 ? end : std::nullopt;
}

std::optional<Count> Facts::iterations(const Expr* loop) {
    for (const Expr* datum : loop->as<For>().data())
        if (std::optional<Count> n = iterations_of(datum)) return n;
    return {};
}

bool Facts::lengths_agree(std::span<const Expr* const> data) {
    if (data.size() < 2) return true;
    const std::optional<Count> first = iterations_of(data[0]);
    return first && std::all_of(data.begin() + 1, data.end(), [&](const Expr* datum) {
               const std::optional<Count> n = iterations_of(datum);
               return n && *n == *first;
           });
}

bool does_nothing(For loop) {
    const Var end = loop.body().body()->as<Var>();
    return end && end.symbol() == loop.builder_param();
}

// ---- merges

std::optional<std::int64_t> Facts::merges_per_iteration(const Expr* loop, const Path& path) {
    const For view{{loop}};
    return merges(view.body().body(), view.builder_param(), path);
}

/// How many merges lead from `param` at `path` to what `e` has at `path`.
std::optional<std::int64_t> Facts::merges(const Expr* e, const Symbol* param, const Path& path) {
    switch (e->op) {
        case Op::Var: return merges_of_name(e->attr.symbol, param, path);
        case Op::GetField: return merges(e->arg(0), param, longer(e->attr.index, path));
        case Op::MakeStruct:
            return path.empty() ? std::nullopt : merges(e->arg(path[0]), param, without_first(path));
        case Op::Block: return merges(e->as<Block>().result(), param, path);
        case Op::Merge: {
            if (e->num_args > 2 || e->arg(1)->type->holds_simd) return {};
            const std::optional<std::int64_t> before = merges(e->arg(0), param, path);
            return before ? std::optional(*before + 1) : std::nullopt;
        }
        case Op::If: {
            const auto then = merges(e->arg(1), param, path), otherwise = merges(e->arg(2), param, path);
            return then && then == otherwise ? then : std::nullopt;
        }
        case Op::For: {
            const auto before = merges(e->as<For>().builder(), param, path);
            const auto each = merges_per_iteration(e, path);
            if (!before || !each) return {};
            if (*each == 0) return before;
            const std::optional<Count> n = times(iterations(e), each);
            std::int64_t sum;
            if (!n || n->of || __builtin_add_overflow(*before, n->factor, &sum)) return {};
            return sum;
        }
        default: return {};
    }
}

std::optional<std::int64_t> Facts::merges_of_name(const Symbol* s, const Symbol* param, const Path& path) {
    if (s == param) return 0;
    auto [at, added] = merges_.try_emplace({s, path});
    if (!added) return at->second;
    const Expr* value = definition(s);
    const std::optional<std::int64_t> n = value ? merges(value, param, path) : std::nullopt;
    return merges_[{s, path}] = n;
}

}  // namespace weld
