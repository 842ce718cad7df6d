// Vectors and dictionaries as values: literals, look-ups, slices, and what goes through the runtime.
#include "codegen/builders/tables.h"
#include "codegen/emit.h"
#include "weldir/ir/keys.h"

namespace weld::codegen {

static Leaves zeros(const Leaves& like) {
    Leaves z;
    for (llvm::Value* v : like) z.push_back(llvm::Constant::getNullValue(v->getType()));
    return z;
}

Leaves Emitter::emit_make_vec(MakeVec v) {
    if (unit.constants.holds(v.node)) return unit.constant(v.node);
    const Type* elem = v.node->type->elem();
    const auto n = std::int64_t(v.elems().size());
    if (llvm::Value* data = vector_in_segments(v)) return {data, c64(n)};
    std::vector<Leaves> values;
    for (const Expr* e : v.elems()) values.push_back(emit(e));
    llvm::Value* data = alloc(c64(n), size_of(elem), v.node->loc);
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
    const Leaves k = e.emit(key);
    if (e.loop_depth > 0 && is_sought_inline(type->key()))
        return find_entry(
            e, node, opened(e, never_null(e, table)), type->key(), type->value(), k,
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

/// Lanes of `tail` that are no elements may have any index.
Leaves Emitter::emit_lookup_lanes(LookupLanes l) {
    const Leaves of = emit(l.of());
    llvm::Value* k = emit1(l.indices());
    const Scalar scalar = l.node->type->scalar;
    const unsigned n = l.lanes();
    llvm::Value* outside = ir.CreateICmpUGE(k, ir.CreateVectorSplat(n, of[1]));
    if (tail.mask) outside = ir.CreateAnd(outside, tail.mask);
    auto* bits = ir.getIntNTy(n);
    llvm::Value* all = ir.CreateBitCast(outside, bits);
    llvm::Value* first = ir.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, all, ir.getFalse());
    fail_if(ir.CreateIsNotNull(all), kWeldArrayOutOfBounds, l.node->loc, ir.CreateExtractElement(k, first),
            of[1]);
    auto* type = llvm::FixedVectorType::get(unit.memory(scalar), n);
    llvm::Value* found = ir.CreateMaskedGather(type, ir.CreateGEP(unit.memory(scalar), of[0], k),
                                               llvm::Align(std::uint64_t(size_of(scalar))), tail.mask,
                                               llvm::Constant::getNullValue(type));
    return {scalar == Scalar::Bool ? ir.CreateIsNotNull(found) : found};
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

/// The transpose of the registers `rows`, of which there are as many as each has lanes: every step
/// interleaves the first half of them with the second.
static Leaves transposed(Emitter& e, Leaves rows) {
    const std::size_t n = rows.size();
    llvm::SmallVector<int, 64> low, high;
    for (std::size_t k = 0; k < n; ++k) {
        low.push_back(int(k / 2 + k % 2 * n));
        high.push_back(int(n / 2 + k / 2 + k % 2 * n));
    }
    for (std::size_t step = 1; step < n; step *= 2) {
        Leaves next;
        for (std::size_t i = 0; i < n / 2; ++i) {
            next.push_back(e.ir.CreateShuffleVector(rows[i], rows[i + n / 2], low));
            next.push_back(e.ir.CreateShuffleVector(rows[i], rows[i + n / 2], high));
        }
        rows = next;
    }
    return rows;
}

/// Writes the transpose of the vectors of `len` scalars at `rows` to `to`, by squares with a register a side.
static void transpose(Emitter& e, llvm::Type* scalar, const Leaves& rows, llvm::Value* len, llvm::Value* to) {
    auto& ir = e.ir;
    const std::int64_t bytes = scalar->getPrimitiveSizeInBits() / 8, n = std::int64_t(rows.size());
    const std::int64_t side =
        std::min(n, std::max<std::int64_t>(1, std::int64_t(e.unit.target.register_bytes) / bytes));
    auto* lanes = llvm::FixedVectorType::get(scalar, unsigned(side));
    const llvm::Align align{std::uint64_t(bytes)};
    const auto place = [&](llvm::Value* j, std::int64_t row) {
        return ir.CreateGEP(scalar, to, ir.CreateAdd(ir.CreateMul(j, e.c64(n)), e.c64(row)));
    };
    const auto square = [&](llvm::Value* j, std::int64_t row) {  // elements [j, j + side) of `side` rows
        Leaves loaded;
        for (std::int64_t k = row; k < row + side; ++k) {
            llvm::Value* from = ir.CreateGEP(scalar, rows[std::size_t(k)], j);
            loaded.push_back(ir.CreateAlignedLoad(lanes, from, align));
        }
        const Leaves columns = transposed(e, loaded);
        for (std::int64_t k = 0; k < side; ++k)
            ir.CreateAlignedStore(columns[std::size_t(k)], place(ir.CreateAdd(j, e.c64(k)), row), align);
    };
    const auto squares = [&]() -> Leaves {  // the last ones overlap what is done
        llvm::Value* last = ir.CreateSub(len, e.c64(side));
        llvm::Value* count = ir.CreateSDiv(ir.CreateAdd(last, e.c64(2 * side - 1)), e.c64(side));
        return e.counted_loop(e.c64(0), count, 1, {}, {}, [&](llvm::Value* k, const Leaves&) -> Leaves {
            llvm::Value* j =
                ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir.CreateMul(k, e.c64(side)), last);
            for (std::int64_t row = 0; row < n; row += side) square(j, row);
            return {};
        });
    };
    const auto one_by_one = [&]() -> Leaves {
        return e.counted_loop(e.c64(0), len, 1, {}, {}, [&](llvm::Value* j, const Leaves&) -> Leaves {
            for (std::int64_t k = 0; k < n; ++k) {
                llvm::Value* from = ir.CreateGEP(scalar, rows[std::size_t(k)], j);
                ir.CreateAlignedStore(ir.CreateAlignedLoad(scalar, from, align), place(j, k), align);
            }
            return {};
        });
    };
    e.emit_if(ir.CreateICmpSGE(len, e.c64(side)), squares, one_by_one);
}

Leaves Emitter::emit_opt_lanes(OptLanes l) {
    constexpr std::int64_t most_bytes = 16 << 10;   // of vectors side by side
    constexpr std::int64_t most_in_all = 64 << 10;  // of them in a frame: functions may recurse
    const Leaves of = emit(l.of());
    llvm::Value* first = emit1(l.first());
    const std::int64_t n = l.lanes();
    llvm::Value* room = ir.CreateSub(of[1], c64(n));
    llvm::Value* inside = ir.CreateAnd(ir.CreateICmpSGE(first, c64(0)), ir.CreateICmpSLE(first, room));
    const Type* elem = l.of()->type->elem();
    if (elem->is_scalar()) {
        const auto found = [&]() -> Leaves {
            return {ir.getTrue(), load(l.found(), element(of[0], elem, first))[0]};
        };
        llvm::Value* none =
            llvm::Constant::getNullValue(llvm::FixedVectorType::get(unit.lower(elem->scalar), unsigned(n)));
        return emit_if(inside, found, [&]() -> Leaves { return {ir.getFalse(), none}; });
    }
    if (transposed_bytes + most_bytes > most_in_all)
        return {ir.getFalse(), llvm::ConstantPointerNull::get(unit.ptr), c64(0)};
    transposed_bytes += most_bytes;
    llvm::Value* to = slot(most_bytes, 64);
    const Leaves none = {ir.getFalse(), to, c64(0)};
    const auto look = [&]() -> Leaves {
        Leaves rows;
        llvm::Value *len = nullptr, *equal = ir.getTrue();
        for (std::int64_t k = 0; k < n; ++k) {
            const Leaves row = load(elem, element(of[0], elem, ir.CreateAdd(first, c64(k))));
            rows.push_back(row[0]);
            if (len) equal = ir.CreateAnd(equal, ir.CreateICmpEQ(len, row[1]));
            else len = row[1];
        }
        // The next group's rows come from memory while this one's are worked on.
        llvm::Value* last = ir.CreateSub(of[1], c64(1));
        for (std::int64_t k = 0; k < n; ++k) {
            llvm::Value* next = ir.CreateAdd(first, c64(n + k));
            prefetch_row(load(
                elem, element(of[0], elem, ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next, last)))[0]);
        }
        llvm::Value* most = c64(most_bytes / size_of(l.found()->elem()));
        const auto found = [&]() -> Leaves {
            transpose(*this, unit.memory(elem->elem()->scalar), rows, len, to);
            return {ir.getTrue(), to, len};
        };
        return emit_if(ir.CreateAnd(equal, ir.CreateICmpSLE(len, most)), found, [&] { return none; });
    };
    return emit_if(inside, look, [&] { return none; });
}

Leaves Emitter::emit_key_exists(KeyExists k) {
    return find_value(
        *this, k.node, k.of(), k.key(), [&](llvm::Value*) -> Leaves { return {ir.getTrue()}; },
        [&]() -> Leaves { return {ir.getFalse()}; });
}

Leaves Emitter::emit_slice(Slice s) {
    const Leaves v = emit(s.of());
    llvm::Value* start = emit1(s.start());
    llvm::Value* size = emit1(s.size());
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
