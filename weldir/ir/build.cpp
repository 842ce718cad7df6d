// Making nodes; the type of each follows from its arguments here and nowhere else.
#include "weldir/ir/build.h"

#include <algorithm>
#include <bit>

namespace weld {

static bool binds(Op op, Args args) {
    return op == Op::Block || op == Op::Lambda ||
           std::any_of(args.begin(), args.end(), [](const Expr* a) { return a->binds; });
}

static const Expr* make(Module& m, Op op, const Type* type, Args args, Loc loc, Attr attr = {}) {
    Expr* e = m.arena.make<Expr>();
    e->op = op;
    e->id = m.next_node_id();
    e->num_args = std::uint32_t(args.size());
    e->loc = loc;
    e->type = type;
    e->attr = attr;
    e->arg_data = m.arena.copy(args).data();
    e->binds = binds(op, args);
    return e;
}

static const Expr* make(Module& m, Op op, const Type* type, std::initializer_list<const Expr*> args, Loc loc,
                        Attr attr = {}) {
    return make(m, op, type, Args(args.begin(), args.size()), loc, attr);
}

// ---- constants and names

const Expr* literal(Module& m, const Type* scalar, std::uint64_t bits, Loc loc) {
    return make(m, Op::Literal, scalar, Args{}, loc, {.bits = bits});
}

const Expr* int_literal(Module& m, const Type* scalar, std::int64_t value, Loc loc) {
    const int width = 8 * size_of(scalar->scalar);
    std::uint64_t bits = std::uint64_t(value);
    if (scalar->is_bool()) bits = value != 0;
    else if (width < 64) bits &= (std::uint64_t(1) << width) - 1;
    return literal(m, scalar, bits, loc);
}

const Expr* float_literal(Module& m, const Type* scalar, double value, Loc loc) {
    return literal(m, scalar,
                   scalar->is_scalar(Scalar::F32) ? std::bit_cast<std::uint32_t>(float(value))
                                                  : std::bit_cast<std::uint64_t>(value),
                   loc);
}

const Expr* bool_literal(Module& m, bool value, Loc loc) { return literal(m, m.types.boolean(), value, loc); }

const Expr* var(Module& m, const Symbol* symbol, Loc loc) {
    return make(m, Op::Var, symbol->type, Args{}, loc, {.symbol = symbol});
}

// ---- scalars

static const Type* type_of_scalar_op(Module& m, Op op, Args args) {
    const Type* in = args[0]->type;
    if (info(op).rule != TypeRule::Compare) return in;
    return in->is_simd() ? m.types.simd(Scalar::Bool, in->lanes) : m.types.boolean();
}

const Expr* scalar_op(Module& m, Op op, Args args, Loc loc) {
    return make(m, op, type_of_scalar_op(m, op, args), args, loc);
}

const Expr* cast(Module& m, Scalar to, const Expr* of, Loc loc) {
    const Type* type = of->type->is_simd() ? m.types.simd(to, of->type->lanes) : m.types.scalar(to);
    return make(m, Op::Cast, type, {of}, loc);
}

const Expr* broadcast(Module& m, const Expr* of, std::uint32_t lanes, Loc loc) {
    return make(m, Op::Broadcast, m.types.simd(of->type->scalar, lanes), {of}, loc);
}

// ---- structure

static const Expr* make_bound(Module& m, Op op, const Type* type, std::span<const Symbol* const> symbols,
                              Args args, Loc loc) {
    Expr* e = const_cast<Expr*>(make(m, op, type, args, loc));
    e->num_symbols = std::uint32_t(symbols.size());
    e->attr.symbols = m.arena.copy(symbols).data();
    return e;
}

const Expr* block(Module& m, std::span<const std::pair<const Symbol*, const Expr*>> lets, const Expr* result,
                  Loc loc) {
    std::vector<const Symbol*> symbols;
    std::vector<const Expr*> args;
    auto splice = [&](Block inner) {
        symbols.insert(symbols.end(), inner.symbols().begin(), inner.symbols().end());
        args.insert(args.end(), inner.values().begin(), inner.values().end());
        return inner.result();
    };
    for (auto [symbol, value] : lets) {
        if (Block inner = value->as<Block>()) value = splice(inner);
        symbols.push_back(symbol);
        args.push_back(value);
    }
    if (Block inner = result->as<Block>()) result = splice(inner);
    if (symbols.empty()) return result;
    args.push_back(result);
    return make_bound(m, Op::Block, result->type, symbols, args, loc);
}

const Expr* let(Module& m, const Symbol* symbol, const Expr* value, const Expr* rest, Loc loc) {
    const std::pair<const Symbol*, const Expr*> one[] = {{symbol, value}};
    return block(m, one, rest, loc);
}

static const Type* type_of_lambda(Module& m, std::span<const Symbol* const> params, const Expr* body) {
    std::vector<const Type*> types;
    for (const Symbol* p : params) types.push_back(p->type);
    return m.types.function(types, body->type);
}

const Expr* lambda(Module& m, std::span<const Symbol* const> params, const Expr* body, Loc loc) {
    return make_bound(m, Op::Lambda, type_of_lambda(m, params, body), params, Args(&body, 1), loc);
}

static const Type* struct_of(Module& m, Args fields) {
    std::vector<const Type*> types;
    for (const Expr* f : fields) types.push_back(f->type);
    return m.types.structure(types);
}

const Expr* make_struct(Module& m, Args fields, Loc loc) {
    return make(m, Op::MakeStruct, struct_of(m, fields), fields, loc);
}
const Expr* get_field(Module& m, const Expr* of, std::size_t index, Loc loc) {
    return make(m, Op::GetField, of->type->args[index], {of}, loc, {.index = index});
}
const Expr* make_vec(Module& m, const Type* elem, Args elems, Loc loc) {
    return make(m, Op::MakeVec, m.types.vec(elem), elems, loc);
}
const Expr* packed_vec(Module& m, const Type* elem, std::string_view bytes, Loc loc) {
    return make(m, Op::PackedVec, m.types.vec(elem), Args{}, loc,
                {.bytes = m.arena.make<std::string_view>(bytes)});
}
const Expr* if_(Module& m, const Expr* cond, const Expr* then, const Expr* otherwise, Loc loc) {
    return make(m, Op::If, then->type, {cond, then, otherwise}, loc);
}
const Expr* select(Module& m, const Expr* cond, const Expr* then, const Expr* otherwise, Loc loc) {
    return make(m, Op::Select, then->type, {cond, then, otherwise}, loc);
}
const Expr* iterate(Module& m, const Expr* init, const Expr* body, Loc loc, const Expr* one_lane) {
    return one_lane ? make(m, Op::Iterate, init->type, {init, body, one_lane}, loc)
                    : make(m, Op::Iterate, init->type, {init, body}, loc);
}

// ---- loops and builders

const Expr* loop(Module& m, Args data, const Expr* builder, const Expr* body, Loc loc) {
    std::vector<const Expr*> args = {builder, body};
    args.insert(args.end(), data.begin(), data.end());
    return make(m, Op::For, builder->type, args, loc);
}

static const Type* yielded(Module& m, IterKind kind, const Type* elem, std::uint32_t lanes) {
    return m.types.vec(kind == IterKind::Simd ? m.types.simd(elem->scalar, lanes) : elem);
}

// A fringe yields plain elements; the lanes of the walk that it completes are not in its type, so they are
// kept as the `size` annotation of the node. Iter::lanes reads them.
static const Expr* with_lanes(Module& m, const Expr* e, std::uint32_t lanes) {
    if (e->attr.iter.kind != IterKind::Fringe) return e;
    return annotate(m, e, AttrKey::Size, std::to_string(lanes));
}

const Expr* iter(Module& m, IterKind kind, const Expr* data, Args bounds, std::uint32_t lanes, Loc loc) {
    std::vector<const Expr*> args = {data};
    args.insert(args.end(), bounds.begin(), bounds.end());
    const IterShape shape = {kind, false, bounds.size() == 5, !bounds.empty()};
    return with_lanes(
        m, make(m, Op::Iter, yielded(m, kind, data->type->elem(), lanes), args, loc, {.iter = shape}), lanes);
}

const Expr* range_iter(Module& m, IterKind kind, const Expr* start, const Expr* end, const Expr* stride,
                       std::uint32_t lanes, Loc loc) {
    const IterShape shape = {kind, true, false, true};
    return with_lanes(
        m,
        make(m, Op::Iter, yielded(m, kind, m.types.i64(), lanes), {start, end, stride}, loc, {.iter = shape}),
        lanes);
}

const Expr* new_builder(Module& m, const Type* type, const Expr* arg, Loc loc) {
    return make(m, Op::NewBuilder, type, Args(&arg, arg ? 1 : 0), loc);
}

const Expr* merge(Module& m, const Expr* builder, const Expr* value, const Expr* mask, Loc loc) {
    const Expr* args[] = {builder, value, mask};
    return make(m, Op::Merge, builder->type, Args(args, mask ? 3 : 2), loc);
}

const Expr* result(Module& m, const Expr* builder, Loc loc) {
    return make(m, Op::Result, builder->type->gives, {builder}, loc);
}

// ---- collections

const Expr* len(Module& m, const Expr* of, Loc loc) { return make(m, Op::Len, m.types.i64(), {of}, loc); }

static const Type* found_in(const Type* collection) {
    return collection->is_dict() ? collection->value() : collection->elem();
}

const Expr* lookup(Module& m, const Expr* of, const Expr* key, Loc loc) {
    return make(m, Op::Lookup, found_in(of->type), {of, key}, loc);
}
const Expr* lookup_lanes(Module& m, const Expr* of, const Expr* indices, const Expr* mask, Loc loc) {
    const Type* type = m.types.simd(of->type->elem()->scalar, indices->type->lanes);
    if (mask) return make(m, Op::LookupLanes, type, {of, indices, mask}, loc);
    return make(m, Op::LookupLanes, type, {of, indices}, loc);
}
const Expr* opt_lookup(Module& m, const Expr* of, const Expr* key, Loc loc) {
    const Type* fields[] = {m.types.boolean(), found_in(of->type)};
    return make(m, Op::OptLookup, m.types.structure(fields), {of, key}, loc);
}
const Expr* opt_lanes(Module& m, const Expr* of, const Expr* first, std::uint32_t lanes, Loc loc,
                      const Expr* most) {
    const Type* elem = of->type->elem();
    const Type* found = elem->is_vec() ? m.types.vec(m.types.simd(elem->elem()->scalar, lanes))
                                       : m.types.simd(elem->scalar, lanes);
    const Type* fields[] = {m.types.boolean(), found};
    if (most) return make(m, Op::OptLanes, m.types.structure(fields), {of, first, most}, loc);
    return make(m, Op::OptLanes, m.types.structure(fields), {of, first}, loc);
}
const Expr* opt_rows(Module& m, const Expr* of, const Expr* first, std::uint32_t lanes, const Expr* most,
                     const Expr* length, Loc loc) {
    const Type* fields[] = {m.types.boolean(), m.types.vec(m.types.simd(of->type->elem()->scalar, lanes))};
    return make(m, Op::OptLanes, m.types.structure(fields), {of, first, most, length}, loc);
}
const Expr* key_exists(Module& m, const Expr* of, const Expr* key, Loc loc, const Expr* bits) {
    const Type* t = m.types.boolean();
    return bits ? make(m, Op::KeyExists, t, {of, key, bits}, loc) : make(m, Op::KeyExists, t, {of, key}, loc);
}
const Expr* slice(Module& m, const Expr* of, const Expr* start, const Expr* size, Loc loc) {
    return make(m, Op::Slice, of->type, {of, start, size}, loc);
}
const Expr* sort(Module& m, const Expr* of, const Expr* by, Loc loc, const Expr* limit) {
    if (!limit) return make(m, Op::Sort, of->type, {of, by}, loc);
    return make(m, Op::Sort, of->type, {of, by, limit}, loc);
}
const Expr* to_vec(Module& m, const Expr* of, Loc loc) {
    return make(m, Op::ToVec, m.types.vec(m.types.structure(of->type->args)), {of}, loc);
}
const Expr* serialize(Module& m, const Expr* of, Loc loc) {
    return make(m, Op::Serialize, m.types.vec(m.types.scalar(Scalar::U8)), {of}, loc);
}
const Expr* deserialize(Module& m, const Type* type, const Expr* of, Loc loc) {
    return make(m, Op::Deserialize, type, {of}, loc);
}
const Expr* assert_(Module& m, const Expr* of, Loc loc, const Expr* text) {
    if (text) return make(m, Op::Assert, m.types.boolean(), {of, text}, loc);
    return make(m, Op::Assert, m.types.boolean(), {of}, loc);
}

const Expr* kernel(Module& m, const KernelRef& ref, const Type* type, Args args, Loc loc) {
    KernelRef* kept = m.arena.make<KernelRef>(ref);
    if (ref.pure && !ref.builtin)
        kept->fails = false;  // a user's function fails only in what it does besides
    kept->name = m.arena.copy(ref.name);
    return make(m, Op::Kernel, type, args, loc, {.kernel = kept});
}
const Expr* call(Module& m, const Function* function, Args args, Loc loc) {
    return make(m, Op::Call, function->type->result(), args, loc, {.function = function});
}

// ---- changed copies

/// The type that `e` would have with `args` (and `symbols`) in place of its own.
static const Type* retyped(Module& m, const Expr* e, std::span<const Symbol* const> symbols, Args args) {
    if (is_scalar_op(e->op)) return type_of_scalar_op(m, e->op, args);
    switch (e->op) {
        case Op::Block: return args.back()->type;
        case Op::Lambda: return type_of_lambda(m, symbols, args[0]);
        case Op::MakeStruct: return struct_of(m, args);
        case Op::GetField: return args[0]->type->args[e->attr.index];
        case Op::Cast:
            return args[0]->type->is_simd() ? m.types.simd(e->type->scalar, args[0]->type->lanes)
                                            : m.types.scalar(e->type->scalar);
        case Op::If:
        case Op::Select: return args[1]->type;
        case Op::Iterate:
        case Op::For:
        case Op::Merge:
        case Op::Slice:
        case Op::Sort: return args[0]->type;
        case Op::Result: return args[0]->type->gives;
        case Op::Iter: {
            const IterShape shape = e->as<Iter>().shape();
            return shape.kind == IterKind::Scalar && !shape.range ? args[0]->type : e->type;
        }
        case Op::Lookup: return found_in(args[0]->type);
        case Op::ToVec: return m.types.vec(m.types.structure(args[0]->type->args));
        default: return e->type;  // fixed by the node itself
    }
}

static Expr* copy_of(Module& m, const Expr* e) {
    Expr* copy = m.arena.make<Expr>(*e);
    copy->id = m.next_node_id();
    return copy;
}

const Expr* with_symbols(Module& m, const Expr* e, std::span<const Symbol* const> symbols, Args args) {
    Expr* copy = copy_of(m, e);
    copy->type = retyped(m, e, symbols, args);
    copy->num_args = std::uint32_t(args.size());
    copy->arg_data = m.arena.copy(args).data();
    copy->binds = binds(e->op, args);
    if (e->op == Op::Block || e->op == Op::Lambda) {
        copy->num_symbols = std::uint32_t(symbols.size());
        copy->attr.symbols = m.arena.copy(symbols).data();
    }
    return copy;
}

const Expr* with_args(Module& m, const Expr* e, Args args) {
    if (std::equal(args.begin(), args.end(), e->args().begin(), e->args().end())) return e;
    if (e->op == Op::Block &&
        std::any_of(args.begin(), args.end(), [](const Expr* a) { return a->op == Op::Block; })) {
        std::vector<std::pair<const Symbol*, const Expr*>> lets;
        for (std::size_t i = 0; i < e->num_symbols; ++i) lets.emplace_back(e->attr.symbols[i], args[i]);
        return block(m, lets, args.back(), e->loc);
    }
    return with_symbols(m, e, e->symbols(), args);
}

const Expr* with_annotations(Module& m, const Expr* e, Annotations annotations) {
    Expr* copy = copy_of(m, e);
    std::vector<Annotation> sorted(annotations.begin(), annotations.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Annotation& a, const Annotation& b) { return a.key < b.key; });
    for (Annotation& a : sorted) {
        a.text = m.arena.copy(a.text);
        a.symbols = m.arena.copy(a.symbols);
        a.numbers = m.arena.copy(a.numbers);
    }
    copy->annotations = m.arena.copy(std::span<const Annotation>(sorted));
    return copy;
}

static std::vector<Annotation> others(const Expr* e, AttrKey key) {
    std::vector<Annotation> all;
    for (const Annotation& a : e->annotations)
        if (a.key != key) all.push_back(a);
    return all;
}

const Expr* without(Module& m, const Expr* e, AttrKey key) {
    return e->annotation(key) ? with_annotations(m, e, others(e, key)) : e;
}

const Expr* annotate(Module& m, const Expr* e, AttrKey key, std::string_view text) {
    std::vector<Annotation> all = others(e, key);
    std::int64_t number = text == "true";
    if (!text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9')))
        number = std::strtoll(std::string(text).c_str(), nullptr, 10);
    all.push_back({key, text, number});
    return with_annotations(m, e, all);
}

const Expr* annotate(Module& m, const Expr* e, AttrKey key, std::span<const Symbol* const> symbols) {
    std::vector<Annotation> all = others(e, key);
    all.push_back({.key = key, .text = {}, .symbols = symbols});
    return with_annotations(m, e, all);
}

const Expr* annotate(Module& m, const Expr* e, AttrKey key, std::span<const std::int64_t> numbers) {
    std::vector<Annotation> all = others(e, key);
    all.push_back({.key = key, .text = {}, .numbers = numbers});
    return with_annotations(m, e, all);
}

}  // namespace weld
