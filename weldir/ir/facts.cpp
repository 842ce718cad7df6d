// Facts: derived from the leaves up and remembered.
#include "weldir/ir/facts.h"

#include <algorithm>

#include "weldir/ir/build.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/walk.h"

namespace weld {

// ---- counts

static constexpr std::size_t kMostProducts = 8, kMostNames = 6;
static constexpr int kDeepestCount = 200;  // names that stand for sums of names, and so on

Count::Count(std::int64_t n) {
    if (n != 0) sum_.push_back({n, {}});
}

std::optional<std::int64_t> Count::known() const {
    if (sum_.empty()) return 0;
    return sum_.size() == 1 && sum_[0].of.empty() ? std::optional(sum_[0].factor) : std::nullopt;
}

const Expr* Count::name() const {
    return sum_.size() == 1 && sum_[0].factor == 1 && sum_[0].of.size() == 1 ? sum_[0].of[0] : nullptr;
}

static bool are_before(const std::vector<const Expr*>& a, const std::vector<const Expr*>& b) {
    return std::ranges::lexicographical_compare(a, b, {}, &Expr::id, &Expr::id);
}

static std::int64_t wrapped(std::uint64_t n) { return std::int64_t(n); }

Count operator+(const Count& a, const Count& b) {
    Count sum = a;
    for (const Count::Product& p : b.sum_) {
        const auto at = std::ranges::lower_bound(sum.sum_, p.of, are_before, &Count::Product::of);
        if (at == sum.sum_.end() || at->of != p.of) sum.sum_.insert(at, p);
        else if (!(at->factor = wrapped(std::uint64_t(at->factor) + std::uint64_t(p.factor))))
            sum.sum_.erase(at);
    }
    return sum;
}

Count operator*(const Count& a, const Count& b) {
    Count sum;
    for (const Count::Product& p : a.sum_)
        for (const Count::Product& q : b.sum_) {
            Count one;
            one.sum_ = {{wrapped(std::uint64_t(p.factor) * std::uint64_t(q.factor)), p.of}};
            std::vector<const Expr*>& of = one.sum_[0].of;
            of.insert(of.end(), q.of.begin(), q.of.end());
            std::ranges::sort(of, {}, &Expr::id);
            if (one.sum_[0].factor) sum = sum + one;
        }
    return sum;
}

/// What is worth reckoning with.
static bool is_small(const Count& n) {
    return n.sum().size() <= kMostProducts &&
           std::ranges::all_of(n.sum(), [](const Count::Product& p) { return p.of.size() <= kMostNames; });
}

Facts::Facts(Module& m, const Expr* root) : m_(m) {
    visit_binding(root, [&](const Expr* e) {
        if (Block block = e->as<Block>())
            for (std::size_t i = 0; i < block.size(); ++i) definitions_[block.symbol(i)] = block.value(i);
        if (For loop = e->as<For>())
            for (const Symbol* s : loop.body().params()) loops_[s] = e;
    });
    if (Lambda f = root->as<Lambda>())
        if (Block main = f.body()->as<Block>()) learn_from_asserts(main);
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
        case Op::For: t.fails |= !lengths_agree(e->as<For>().data(), e->as<For>().index_param()); break;
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

/// Not negative for sure: a few times the number of things that are in memory.
static bool not_negative(const Count& c) {
    return std::ranges::all_of(c.sum(), [](const Count::Product& p) {
        if (p.of.empty()) return p.factor >= 0 && p.factor <= INT64_MAX / 2;
        return p.factor >= 0 && p.factor < 1 << 10 && p.of.size() == 1 && p.of[0]->op == Op::Len;
    });
}

bool Facts::bounds_hold(const Expr* e) {
    const Iter iter{{e}};
    if (!iter.shape().bounded) return true;
    if (iter.shape().nd || !is_int(iter.start(), 0) || !is_int(iter.stride(), 1)) return false;
    const std::optional<Count> end = count(iter.end());
    if (!end) return false;
    if (iter.shape().range) return not_negative(*end);
    const std::optional<Count> n = length(iter.data());
    if (!n) return false;
    return *n == *end || (n->known() && end->known() && 0 <= *end->known() && *end->known() <= *n->known());
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
    if (Literal l = key->as<Literal>()) return n->known() && 0 <= l.as_int() && l.as_int() < *n->known();
    const Expr* loop = counting_loop(*this, key);
    const std::optional<Count> times = loop ? iterations(loop) : std::nullopt;
    return times && agree(*times, *n, For{{loop}}.index_param());
}

// ---- lengths

static std::optional<Count> times(const std::optional<Count>& a, const std::optional<Count>& b) {
    if (!a || !b) return {};
    const Count product = *a * *b;
    return is_small(product) ? std::optional(product) : std::nullopt;
}

static std::optional<Count> plus(const std::optional<Count>& a, const std::optional<Count>& b) {
    if (!a || !b) return {};
    const Count sum = *a + *b;
    return is_small(sum) ? std::optional(sum) : std::nullopt;
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

std::optional<Count> Facts::count_of(const Expr* e) {
    if (e->op == Op::Literal) return Count(e->as<Literal>().as_int());
    if (e->op == Op::Len) return length(e->as<Len>().of());
    if (is_path(e)) return count(e);
    if ((e->op != Op::Add && e->op != Op::Sub && e->op != Op::Mul) || depth_ > kDeepestCount) return {};
    ++depth_;
    const std::optional<Count> a = count(e->arg(0)), b = a ? count(e->arg(1)) : std::nullopt;
    --depth_;
    if (e->op == Op::Mul) return times(a, b);
    return plus(a, e->op == Op::Add ? b : times(Count(-1), b));
}

/// The product of the elements of a shape.
std::optional<Count> Facts::product(const Expr* shape) {
    const MakeVec sizes = resolve(shape)->as<MakeVec>();
    if (!sizes) return {};
    std::optional<Count> all = Count(1);
    for (const Expr* size : sizes.elems()) all = times(all, count(size));
    return all;
}

// ---- what asserts say

void Facts::learn_from_asserts(Block main) {
    for (std::size_t i = 0; i < main.size(); ++i) {
        if (!learned_.empty()) {
            learned_before_[main.symbol(i)] = learned_.size();
            visit_binding(main.value(i), [&](const Expr* e) {
                for (const Symbol* s : e->symbols()) learned_before_[s] = learned_.size();
            });
        }
        if (Assert a = main.value(i)->as<Assert>()) learn(a.of());
    }
    if (learned_.empty()) return;
    visit_binding(main.result(), [&](const Expr* e) {
        for (const Symbol* s : e->symbols()) learned_before_[s] = learned_.size();
    });
}

/// From `a == b`, some name that is a summand of a - b.
void Facts::learn(const Expr* e) {
    constexpr std::size_t most = 32;
    if (e->op == Op::And || e->op == Op::BitAnd) return learn(e->arg(0)), learn(e->arg(1));
    if (e->op != Op::Eq || e->arg(0)->type != m_.types.i64() || learned_.size() == most) return;
    const std::optional<Count> a = count(e->arg(0)), b = count(e->arg(1));
    if (!a || !b) return;
    const Count zero = as_learned(*a - *b, learned_.size());
    const Expr* name = nullptr;
    std::int64_t factor = 0;
    for (const Count::Product& p : zero.sum()) {
        if (p.of.size() != 1 || (p.factor != 1 && p.factor != -1)) continue;
        const auto holds = std::ranges::count_if(
            zero.sum(), [&](const Count::Product& q) { return std::ranges::count(q.of, p.of[0]) > 0; });
        if (holds != 1 || (name && (name->op == Op::Len || p.of[0]->op != Op::Len))) continue;
        name = p.of[0];
        factor = p.factor;
    }
    if (name) learned_.push_back({name, Count(name) - Count(factor) * zero});
}

/// With what the first asserts say put in.
Count Facts::as_learned(Count n, std::size_t from_first) const {
    for (const Learned& fact : std::span(learned_).first(from_first)) {
        Count now;
        for (const Count::Product& p : n.sum()) {
            Count product = p.factor;
            for (const Expr* name : p.of) product = product * (name == fact.name ? fact.is : Count(name));
            now = now + product;
        }
        if (!is_small(now)) return n;
        n = now;
    }
    return n;
}

bool Facts::agree(const Count& a, const Count& b, const Symbol* at) {
    if (a == b) return true;
    const std::size_t* known = at ? learned_before_.find(at) : nullptr;
    return known && as_learned(a - b, *known).known() == 0;
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

bool Facts::lengths_agree(std::span<const Expr* const> data, const Symbol* at) {
    if (data.size() < 2) return true;
    const std::optional<Count> first = iterations_of(data[0]);
    return first && std::all_of(data.begin() + 1, data.end(), [&](const Expr* datum) {
               const std::optional<Count> n = iterations_of(datum);
               return n && agree(*n, *first, at);
           });
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
