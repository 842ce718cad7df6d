// Facts: how many elements vectors have, what numbers are, how often loops go on and merge.
//
//     let n = r * c;                                                    n: r * c
//     let m = result(for(rangeiter(0L, n, 1L), appender[f64],           m: r * c elements, as many as rounds,
//       |b, i, x| merge(b, f(x))));                                        since each merges once
//     let k = len(m) + 1L;                                              k: r * c + 1
//
// Four questions that ask each other: `length` of a vector, `count` of an i64, `iterations` of a loop,
// `merges` of a builder. Names are followed to what they are bound to; where that leads nowhere the name, or
// the length of its vector, stands for itself. No answer is always right. A kind of node that makes vectors
// is to be said in `length_of`, one that makes numbers in `count_of`.
#include <algorithm>

#include "weldir/ir/build.h"
#include "weldir/ir/builder.h"
#include "weldir/ir/facts.h"
#include "weldir/ir/walk.h"

namespace weld {

// ---- lengths and numbers

/// Paths that begin with the same symbol.
static bool are_same(const Expr* a, const Expr* b) {
    for (; a->op == Op::GetField && b->op == Op::GetField; a = a->arg(0), b = b->arg(0))
        if (a->attr.index != b->attr.index) return false;
    return a->op == b->op;
}

/// The number that a path names, or of the elements of the vector there.
Count Facts::named(const Expr* path, bool is_length) {
    std::vector<const Expr*>& all = names_[base_of(path)];
    for (const Expr* name : all)
        if ((name->op == Op::Len) == is_length && are_same(is_length ? name->arg(0) : name, path))
            return Count(name);
    all.push_back(is_length ? len(m_, path) : path);
    return Count(all.back());
}

std::optional<Count> Facts::length(const Expr* e) {
    if (!is_path(e)) return length_of(e);
    const Expr* name = root(e);
    auto [at, added] = lengths_.try_emplace(name);
    if (!added) return at->second;
    const Expr* value = step(name);
    std::optional<Count> n = value ? length_of(value) : std::nullopt;
    if (!n) n = part(name, true);
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
        case Op::Slice: return e->says(AttrKey::Inside, true) ? count(e->as<Slice>().size()) : std::nullopt;
        case Op::If:
        case Op::Select: {
            std::optional<Count> then = length(e->arg(1)), otherwise = length(e->arg(2));
            if (!then || !otherwise || !(*then == *otherwise)) return {};
            return then->is_exact() ? otherwise : then;
        }
        default: return {};
    }
}

Facts::Path Facts::longer(std::size_t first, const Path& path) {
    Path all = {first};
    all.insert(all.end(), path.begin(), path.end());
    return all;
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
            if (e->num_args > 2 || e->arg(1)->type != e->type->takes) return {};
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
    if (!n) n = part(name, false);
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
    if ((e->op != Op::Add && e->op != Op::Sub && e->op != Op::Mul) || depth_ > kDeepest) return {};
    ++depth_;
    const std::optional<Count> a = count(e->arg(0)), b = a ? count(e->arg(1)) : std::nullopt;
    --depth_;
    std::optional<Count> n =
        e->op == Op::Mul ? times(a, b) : plus(a, e->op == Op::Add ? b : times(Count(-1), b));
    if (n && !is_near(*n)) n->set_exact(false);
    return n;
}

bool Facts::is_row(Slice slice) {
    const std::optional<Count> size = count(slice.size()), start = count(slice.start());
    if (!size || !start || size->sum().size() != 1 || start->sum().size() != 1) return false;
    // What `start` has more than `size` is the number of the row.
    for (const Expr* row : start->sum()[0].of) {
        if (!is_path(row) || !(*size * Count(row) == *start)) continue;
        const Expr* e = loop_of(base_of(row));
        const For loop = e ? e->as<For>() : For{};
        const Iter range = loop && loop.data().size() == 1 ? loop.data()[0]->as<Iter>() : Iter{};
        if (!range || !range.shape().range || range.shape().kind != IterKind::Scalar) continue;
        const bool is_number = is_var(row, loop.index_param()) || is_var(row, loop.elem_param());
        const Literal from = range.start()->as<Literal>(), stride = range.stride()->as<Literal>();
        if (!is_number || !from || from.as_int() != 0 || !stride || stride.as_int() != 1) continue;
        const Expr* end = resolve(range.end());
        const std::optional<Count> all = length(slice.of());
        if (end->op != Op::Div || !all) continue;
        const std::optional<Count> of = count(end->arg(0)), by = count(end->arg(1));
        if (of && by && *of == *all && *by == *size) return true;
    }
    return false;
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

// ---- rounds

std::optional<Count> Facts::iterations_of(const Expr* datum) {
    const Iter iter = datum->as<Iter>();
    return iter && iter.shape().kind != IterKind::Scalar ? std::nullopt : elements_of(datum);
}

std::optional<Count> Facts::elements_of(const Expr* datum) {
    const Iter iter = datum->as<Iter>();
    if (!iter) return length(datum);
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

std::optional<Count> Facts::elements(const Expr* loop) {
    for (const Expr* datum : loop->as<For>().data())
        if (std::optional<Count> n = elements_of(datum)) return n;
    return {};
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
            if (e->num_args > 2 || e->arg(1)->type != e->type->takes) return {};
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

}  // namespace weld
