// Vectors and dictionaries as values: literals, look-ups, slices, and what goes through the runtime.
#include "codegen/builders/tables.h"
#include "codegen/emit.h"
#include "codegen/lanes.h"
#include "codegen/slab.h"
#include "codegen/strided.h"
#include "weldir/ir/keys.h"
#include "weldir/support/round_up.h"

#include <llvm/IR/MDBuilder.h>

namespace weld::codegen {

static Leaves zeros(const Leaves& like) {
    Leaves z;
    for (llvm::Value* v : like) z.push_back(llvm::Constant::getNullValue(v->getType()));
    return z;
}

/// Where the elements of a literal lie: rows side by side that go before the round ends in the frame, mostly in registers.
static llvm::Value* room_for(Emitter& e, MakeVec v) {
    const Type* elem = v.node->type->elem();
    const auto n = std::int64_t(v.elems().size());
    const Slab* slab = slab_of(v.node);
    if (rows_in(v.node->type) && v.node->annotation(AttrKey::Scratch))
        if (llvm::Value* room = e.transposed_slot(n * size_of(elem))) return room;
    if (!slab) return e.alloc(e.c64(n), size_of(elem), v.node->loc);
    const Leaves none = {llvm::ConstantPointerNull::get(e.unit.ptr), e.c64(0), e.c64(0)};
    return grown_in_slab(e, *slab, elem, none, e.c64(n), v.node->loc)[0];
}

Leaves Emitter::emit_make_vec(MakeVec v) {
    if (unit.constants.holds(v.node)) return unit.constant(v.node);
    const Type* elem = v.node->type->elem();
    const auto n = std::int64_t(v.elems().size());
    if (llvm::Value* data = vector_in_segments(v)) return {data, c64(n)};
    std::vector<Leaves> values;
    for (const Expr* e : v.elems()) values.push_back(emit(e));
    llvm::Value* data = room_for(*this, v);
    for (std::int64_t i = 0; i < n; ++i)
        store(elem, values[std::size_t(i)], address(data, i * size_of(elem)));
    return {data, c64(n)};
}

/// Looks for the `key` of `node` in a dictionary and goes on with the address of its value, or without.
static Leaves find_value(Emitter& e, const Expr* node, const Expr* dict, const Expr* key,
                         const std::function<Leaves(llvm::Value* value)>& found,
                         const std::function<Leaves()>& absent) {
    const Type* type = dict->type;
    llvm::Value* table = e.emit1(dict);
    const Leaves k = canonical_key(e, type->key(), e.emit(key));
    if (e.loop_depth > 0 && is_sought_inline(type->key()))
        return find_entry(
            e, node, opened(e, type->key(), never_null(e, table)), type->key(), type->value(), k,
            [&](llvm::Value* entry) {
                return found(e.address(entry, entry_layout(type->key(), type->value()).value_at));
            },
            absent);
    llvm::Value* at = e.call("weld_rt_dict_find", {e.task, table, e.spill(type->key(), k)});
    return e.emit_if(e.ir.CreateIsNotNull(at), [&] { return found(at); }, absent);
}

Leaves Emitter::emit_lookup(Lookup l) {
    const Type* result = l.node->type;
    if (l.of()->type->is_vec()) {
        const Leaves of = emit(l.of());
        llvm::Value* k = emit1(l.key());
        fail_if(ir.CreateICmpUGE(k, of[1]), kWeldArrayOutOfBounds, l.node->loc, k, of[1]);
        return load(result, element(of[0], result, k));
    }
    Leaves loaded;
    return find_value(
        *this, l.node, l.of(), l.key(), [&](llvm::Value* value) { return loaded = load(result, value); },
        [&] {
            fail_if(ir.getTrue(), kWeldKeyNotFound, l.node->loc);
            return zeros(loaded);
        });
}

/// Lanes of `tail` that are no elements may have any index, and so may those that do not look up.
Leaves Emitter::emit_lookup_lanes(LookupLanes l) {
    const Scalar scalar = l.node->type->scalar;
    const unsigned n = l.lanes();
    auto* type = llvm::FixedVectorType::get(unit.memory(scalar), n);
    const auto lanes_of = [&](llvm::Value* v) -> Leaves {
        return {scalar == Scalar::Bool ? ir.CreateIsNotNull(v) : v};
    };
    if (auto row = tile_rows.find(l.node); row != tile_rows.end())
        return lanes_of(ir.CreateAlignedLoad(type, row->second, llvm::Align(std::uint64_t(size_of(scalar)))));
    const Leaves of = emit(l.of());
    llvm::Value* k = emit1(l.indices());
    llvm::Value* mask = l.mask() ? emit1(l.mask()) : tail.mask;
    if (l.mask() && tail.mask) mask = ir.CreateAnd(mask, tail.mask);
    const auto fail_outside = [&] {
        llvm::Value* outside = ir.CreateICmpUGE(k, ir.CreateVectorSplat(n, of[1]));
        if (mask) outside = ir.CreateAnd(outside, mask);
        llvm::Value* all = ir.CreateBitCast(outside, ir.getIntNTy(n));
        llvm::Value* first = ir.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, all, ir.getFalse());
        fail_if(ir.CreateIsNotNull(all), kWeldArrayOutOfBounds, l.node->loc,
                ir.CreateExtractElement(k, first), of[1]);
    };
    llvm::Constant* nothing = llvm::Constant::getNullValue(type);
    const auto gathered = [&]() -> Leaves {
        fail_outside();
        return {ir.CreateMaskedGather(type, ir.CreateGEP(unit.memory(scalar), of[0], k),
                                      llvm::Align(std::uint64_t(size_of(scalar))), mask, nothing)};
    };
    const Annotation* apart = l.node->annotation(AttrKey::Apart);
    const bool side_by_side = apart && std::abs(apart->number) == 1;
    if (apart && apart->number > 1 && !mask) return lanes_of(lookup_strided(*this, type, l, of, k));
    if (apart && (!tail.mask || side_by_side)) {
        llvm::Value* first = lane_of_sum(*this, k, 0);
        llvm::Value* last =
            tail.mask
                ? ir.CreateAdd(first, ir.CreateMul(ir.CreateSub(tail.count, c64(1)), c64(apart->number)))
                : lane_of_sum(*this, k, n - 1);
        llvm::Value* outside = ir.CreateOr(ir.CreateICmpUGE(first, of[1]), ir.CreateICmpUGE(last, of[1]));
        const auto read = [&]() -> Leaves {
            llvm::Value* lowest =
                ir.CreateGEP(type->getElementType(), of[0], apart->number > 0 ? first : last);
            const Annotation* ahead = l.node->annotation(AttrKey::Stream);
            if (ahead && !unit.target.follows_streams) prefetch(address(lowest, ahead->number));
            if (!tail.mask) return {load_strided(*this, type, lowest, apart->number)};
            return {apart->number > 0 ? load_rest(*this, type, lowest) : load_rest_down(*this, type, lowest)};
        };
        if (l.mask()) {
            const auto read_some = [&]() -> Leaves { return {ir.CreateSelect(mask, read()[0], nothing)}; };
            return lanes_of(emit_if(outside, gathered, read_some,
                                    llvm::MDBuilder(unit.ctx).createBranchWeights(1, 1 << 20))[0]);
        }
        unlikely(outside, fail_outside);
        return lanes_of(read()[0]);
    }
    const bool one_by_one = l.node->says(AttrKey::Walks, true) || !unit.target.gathers;
    if (!one_by_one || (mask && !l.mask())) return lanes_of(gathered()[0]);
    fail_outside();
    if (!mask) return lanes_of(load_one_by_one(*this, type, of[0], k));
    // Lanes that do not look up read the first element, or what is there if there is none.
    llvm::Value* first = ir.CreateSelect(ir.CreateIsNull(of[1]), slot(8, 8), of[0]);
    llvm::Value* inside = ir.CreateSelect(mask, k, llvm::Constant::getNullValue(k->getType()));
    return lanes_of(ir.CreateSelect(mask, load_one_by_one(*this, type, first, inside), nothing));
}

Leaves Emitter::emit_opt_lookup(OptLookup l) {
    const Type* value_type = l.node->type->args[1];
    Leaves loaded;
    return find_value(
        *this, l.node, l.of(), l.key(),
        [&](llvm::Value* value) {
            loaded = {ir.getTrue()};
            loaded.append(load(value_type, value));
            return loaded;
        },
        [&] { return zeros(loaded); });
}

llvm::Value* Emitter::transposed_slot(std::int64_t bytes) {
    constexpr std::int64_t most = 64 << 10;  // functions may recurse
    if (transposed_bytes_ + bytes > most) return nullptr;
    transposed_bytes_ += bytes;
    return slot(bytes, 64);
}

/// Whether `n` vectors that begin at `from`, which are two words each, are all of length `len`.
static llvm::Value* are_as_long(Emitter& e, llvm::Value* from, std::int64_t n, llvm::Value* len) {
    static_assert(sizeof(WeldVec) == 16 && offsetof(WeldVec, len) == 8);
    auto& ir = e.ir;
    const std::int64_t words =
        std::min(2 * n, std::max<std::int64_t>(2, std::int64_t(e.unit.target.register_bytes) / 8));
    auto* type = llvm::FixedVectorType::get(e.unit.i64, unsigned(words));
    llvm::Value* lengths = ir.CreateVectorSplat(unsigned(words), len);
    llvm::Value* other = llvm::Constant::getNullValue(type);
    for (std::int64_t k = 0; k < 2 * n; k += words) {
        llvm::Value* some = ir.CreateAlignedLoad(type, e.address(from, 8 * k), llvm::Align(8));
        other = ir.CreateOr(other, ir.CreateXor(some, lengths));
    }
    llvm::SmallVector<llvm::Constant*> is_length;
    for (std::int64_t k = 0; k < words; ++k) is_length.push_back(e.c64(k % 2 ? -1 : 0));
    other = ir.CreateAnd(other, llvm::ConstantVector::get(is_length));
    llvm::Value* differ = ir.CreateICmpNE(other, llvm::Constant::getNullValue(type));
    return ir.CreateNot(ir.CreateOrReduce(differ));
}

/// Asks for what lies behind a group of rows of so many `bytes`, which are read once, and mostly lie one behind the other:
/// then for its lines of the cache. If rows are longer than such a line, these are more than the first level can wait for: it
/// is asked for earlier, and into the second level.
static void ask_behind(Emitter& e, const Leaves& rows, llvm::Value* bytes) {
    constexpr std::int64_t line = 64, near = 3 << 10, far = 12 << 10, longest = 128, at_once = 4;
    auto& ir = e.ir;
    const auto n = std::int64_t(rows.size());
    const auto nothing = [] { return Leaves{}; };
    const auto ask = [&](llvm::Value* row, std::int64_t offset, Cache into) {
        e.prefetch(e.address(row, offset), into);
    };
    // As many lines as rows of `bytes` have, a few at a time.
    const std::function<void(std::int64_t, std::int64_t, Cache)> lines = [&](std::int64_t k,
                                                                             std::int64_t from, Cache into) {
        const std::int64_t all = n * (into == Cache::First ? line : longest) / line;
        for (std::int64_t i = k; i < k + at_once; ++i) ask(rows[0], from + i * line, into);
        if (k + at_once >= all) return;
        llvm::Value* more = ir.CreateICmpSGT(bytes, e.c64((k + at_once) * line / n));
        e.emit_if(more, [&] { return lines(k + at_once, from, into), Leaves{}; }, nothing);
    };
    llvm::Value* end = ir.CreateGEP(e.unit.i8, rows[0], ir.CreateMul(bytes, e.c64(n - 1)));
    llvm::Value* are_dense = ir.CreateICmpEQ(rows.back(), end);
    llvm::Value* are_short = ir.CreateICmpSLE(bytes, e.c64(line));
    const auto dense = [&] {
        return e.emit_if(
            are_short, [&] { return lines(0, near, Cache::First), Leaves{}; },
            [&] { return lines(0, far, Cache::Second), Leaves{}; });
    };
    const auto one_by_one = [&] {
        for (llvm::Value* row : rows) ask(row, near, Cache::First);
        return Leaves{};
    };
    e.emit_if(are_dense, dense, one_by_one);
}

/// Rows of a flat matrix, from element `first` of `of` on.
Leaves Emitter::emit_opt_rows(OptLanes l, const Leaves& of, llvm::Value* first, llvm::Value* length) {
    const std::int64_t n = l.lanes(), most = l.most()->as<Literal>().as_int();
    const Type* elem = l.of()->type->elem();
    const Leaves none = {ir.getFalse(), llvm::ConstantPointerNull::get(unit.ptr), c64(0)};
    llvm::Value* to = transposed_slot(size_of(l.found()->elem()) * round_up(most, kShortColumns));
    if (!to) return none;
    llvm::Value* are_short = ir.CreateICmpULE(length, c64(most));
    llvm::Value* room = ir.CreateSub(of[1], ir.CreateMul(length, c64(n)));
    llvm::Value* inside = ir.CreateAnd(ir.CreateICmpSGE(first, c64(0)), ir.CreateICmpSLE(first, room));
    const auto found = [&]() -> Leaves {
        Leaves rows;
        for (std::int64_t k = 0; k < n; ++k)
            rows.push_back(element(of[0], elem, ir.CreateAdd(first, ir.CreateMul(length, c64(k)))));
        ask_behind(*this, rows, ir.CreateMul(length, c64(size_of(elem))));
        transpose_short(*this, unit.memory(elem->scalar), rows, length, to);
        return {ir.getTrue(), to, length};
    };
    return emit_if(ir.CreateAnd(are_short, inside), found, [&] { return none; });
}

Leaves Emitter::emit_opt_lanes(OptLanes l) {
    constexpr std::int64_t most_bytes = 16 << 10;  // of vectors side by side
    const Leaves of = emit(l.of());
    llvm::Value* first = emit1(l.first());
    const std::int64_t n = l.lanes();
    llvm::Value* room = ir.CreateSub(of[1], c64(n));
    llvm::Value* inside = ir.CreateAnd(ir.CreateICmpSGE(first, c64(0)), ir.CreateICmpSLE(first, room));
    const Type* elem = l.of()->type->elem();
    if (l.length()) return emit_opt_rows(l, of, first, emit1(l.length()));
    if (elem->is_scalar()) {
        const auto found = [&]() -> Leaves {
            return {ir.getTrue(), load(l.found(), element(of[0], elem, first))[0]};
        };
        llvm::Value* none =
            llvm::Constant::getNullValue(llvm::FixedVectorType::get(unit.lower(elem->scalar), unsigned(n)));
        return emit_if(inside, found, [&]() -> Leaves { return {ir.getFalse(), none}; });
    }
    const Leaves none = {ir.getFalse(), llvm::ConstantPointerNull::get(unit.ptr), c64(0)};
    const auto look = [&]() -> Leaves {
        Leaves rows;
        llvm::Value* from = element(of[0], elem, first);
        for (std::int64_t k = 0; k < n; ++k) rows.push_back(load(elem, address(from, k * size_of(elem)))[0]);
        llvm::Value* len = load(elem, from)[1];
        llvm::Value* equal = are_as_long(*this, from, n, len);
        llvm::Type* scalar = unit.memory(elem->elem()->scalar);
        const std::int64_t lane_bytes = size_of(l.found()->elem());
        if (l.most()) {  // mostly one behind the other, and read once
            const std::int64_t most = l.most()->as<Literal>().as_int();
            llvm::Value* to = transposed_slot(lane_bytes * round_up(most, kShortColumns));
            if (!to) return none;
            const auto found = [&]() -> Leaves {
                ask_behind(*this, rows, ir.CreateMul(len, c64(size_of(elem->elem()))));
                transpose_short(*this, scalar, rows, len, to);
                return {ir.getTrue(), to, len};
            };
            return emit_if(ir.CreateAnd(equal, ir.CreateICmpSLE(len, c64(most))), found,
                           [&] { return none; });
        }
        // The rows of the group after the next one come from memory meanwhile, into the second level: the first one cannot wait
        // for that many lines.
        llvm::Value* last = ir.CreateSub(of[1], c64(1));
        for (std::int64_t k = 0; k < n; ++k) {
            llvm::Value* other = ir.CreateAdd(first, c64(2 * n + k));
            llvm::Value* at = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, other, last);
            prefetch_row(load(elem, element(of[0], elem, at))[0], Cache::Second);
        }
        const auto found = [&]() -> Leaves {
            llvm::Value* to = alloc(len, lane_bytes, l.node->loc);
            transpose(*this, scalar, rows, len, to);
            return {ir.getTrue(), to, len};
        };
        llvm::Value* fits = ir.CreateICmpSLE(len, c64(most_bytes / lane_bytes));
        return emit_if(ir.CreateAnd(equal, fits), found, [&] { return none; });
    };
    return emit_if(inside, look, [&] { return none; });
}

Leaves Emitter::emit_key_exists(KeyExists k) {
    const Type* key_type = k.key()->type;
    if (k.bits())
        return {has_bit(*this, key_type, canonical_key(*this, key_type, emit(k.key())), emit(k.bits()))};
    return find_value(
        *this, k.node, k.of(), k.key(), [&](llvm::Value*) -> Leaves { return {ir.getTrue()}; },
        [&]() -> Leaves { return {ir.getFalse()}; });
}

Leaves Emitter::emit_slice(Slice s) {
    const Leaves v = emit(s.of());
    llvm::Value* start = emit1(s.start());
    llvm::Value* size = emit1(s.size());
    if (s.node->says(AttrKey::Inside, true)) return {element(v[0], s.node->type->elem(), start), size};
    llvm::Value* negative = ir.CreateICmpSLT(size, c64(0));
    fail_if(ir.CreateOr(ir.CreateICmpUGT(start, v[1]), negative), kWeldArrayOutOfBounds, s.node->loc, start,
            ir.CreateSelect(negative, size, v[1]));
    llvm::Value* rest = ir.CreateSub(v[1], start);
    return {element(v[0], s.node->type->elem(), start),
            ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, size, rest)};
}

Leaves Emitter::emit_len(Len l) {
    const Leaves of = emit(l.of());
    if (l.of()->type->is_dict()) return {call("weld_rt_dict_len", {of[0]})};
    return {of[1]};
}

Leaves Emitter::emit_through_memory(const Expr* e) {
    const Type* in = e->arg(0)->type;
    const Leaves v = emit(e->arg(0));
    llvm::Value* out = slot(size_of(e->type), align_of(e->type));
    switch (e->op) {
        case Op::ToVec:
            call_checked("weld_rt_dict_entries",
                         {task, v[0], unit.describe(e->type->elem()), out, at(e->loc)});
            break;
        case Op::Serialize:
            call_checked("weld_rt_serialize", {task, unit.describe(in), spill(in, v), out, at(e->loc)});
            break;
        default:
            call_checked("weld_rt_deserialize",
                         {task, unit.describe(e->type), spill(in, v), out, at(e->loc)});
            break;
    }
    return load(e->type, out);
}

}  // namespace weld::codegen
