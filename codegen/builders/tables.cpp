// Hash, equality and probing in emitted code: the same as runtime/keys.cpp and runtime/hash_table.h do, for
// keys whose parts are in registers.
//
// The key 42 in a table of dict[i64,f64]:
//
//     hash = step(0, 42)         64 bits
//     tag  = hash >> 32 | 1      the upper kWeldTagBits of them, never 0
//     at   = tag >> shift        the slot where the search begins
//
//       index: {tag, entry + 1}            entries: {key, value}
//         ...
//     at: { tag of 17, 3 }  other tag          0: { 99, 0.5 }
//         { tag of 42, 2 }  same tag --------> 1: { 42, 1.5 }   same key: found
//         {         0, 0 }  free: absent       2: { 17, 2.5 }
//         ...
//
// A key is compared only where the tag fits. The blocks that find_entry emits:
//
//     probe ---- same tag ----> tag_fits ---- same key ----> found ---+
//     ^   |                        |                                  +--> looked_up
//     |   +-- other tag --> tag_differs ---- free ---------> absent --+
//     |                            |
//     +--------- next_slot <-------+  (from both)
#include "codegen/builders/tables.h"

#include <bit>

#include <llvm/IR/MDBuilder.h>

#include "weldir/ir/keys.h"

namespace weld::codegen {

EntryLayout entry_layout(const Type* key, const Type* value) {
    const Type* const fields[] = {key, value};
    return {offsets_of(fields)[1], size_of(fields)};
}

namespace {

class KeyCode {
  public:
    explicit KeyCode(Emitter& emitter) : e(emitter), ir(emitter.ir) {}

    llvm::Value* hash(const Type* t, const Leaves& key);
    /// i1: the key at `at` in memory is `key`.
    llvm::Value* equal(const Type* t, llvm::Value* at, const Leaves& key);

  private:
    llvm::Value* c(std::uint64_t v) { return llvm::ConstantInt::get(e.unit.i64, v); }
    llvm::Value* step(llvm::Value* h, llvm::Value* x);
    llvm::Value* scalar_bits(Scalar s, llvm::Value* x);
    llvm::Value* word(const Type* t, const Leaves& key, std::int64_t from, std::int64_t bytes);
    llvm::Value* hash_bytes(const Type* vec, llvm::Value* data, llvm::Value* len);
    llvm::Value* equal_parts(const Type* t, const Leaves& a, const Leaves& b, std::size_t& leaf);

    Emitter& e;
    llvm::IRBuilder<>& ir;
};

llvm::Value* KeyCode::step(llvm::Value* h, llvm::Value* x) {
    llvm::Value* rotated =
        ir.CreateOr(ir.CreateShl(h, kWeldHashRotation), ir.CreateLShr(h, 64 - kWeldHashRotation));
    return ir.CreateMul(ir.CreateAdd(rotated, x), c(kWeldHashFactor));
}

/// The bits by which scalars are the same key, as an i64: zeros of both signs have the same, and all NaNs.
llvm::Value* KeyCode::scalar_bits(Scalar s, llvm::Value* x) {
    if (is_float(s)) {
        llvm::Type* bits = llvm::IntegerType::get(e.unit.ctx, s == Scalar::F64 ? 64 : 32);
        llvm::Value* own = ir.CreateBitCast(x, bits);
        llvm::Constant* nan =
            llvm::ConstantInt::get(bits, s == Scalar::F64 ? 0x7ff8000000000000u : 0x7fc00000u);
        own = ir.CreateSelect(ir.CreateFCmpUNO(x, x), nan, own);
        x = ir.CreateSelect(ir.CreateFCmpOEQ(x, llvm::Constant::getNullValue(x->getType())),
                            llvm::Constant::getNullValue(bits), own);
    }
    return ir.CreateZExt(x, e.unit.i64);
}

/// `bytes` bytes of a key that consists of scalars without padding, from byte `from`.
llvm::Value* KeyCode::word(const Type* t, const Leaves& key, std::int64_t from, std::int64_t bytes) {
    llvm::Value* all = nullptr;
    std::size_t leaf = 0;
    std::int64_t at = 0;
    for_each_scalar(t, [&](Scalar s) {
        llvm::Value* part = key[leaf++];
        const std::int64_t shift = at - from;
        at += size_of(s);
        if (shift < 0 || shift >= bytes) return;
        part = scalar_bits(s, part);
        if (shift) part = ir.CreateShl(part, std::uint64_t(8 * shift));
        all = all ? ir.CreateOr(all, part) : part;
    });
    return all;
}

llvm::Value* KeyCode::hash_bytes(const Type* vec, llvm::Value* data, llvm::Value* len) {
    return e.call("weld_rt_hash_bytes", {data, ir.CreateMul(len, e.c64(size_of(vec->elem())))});
}

llvm::Value* KeyCode::hash(const Type* t, const Leaves& key) {
    llvm::Value* h = c(0);
    if (is_bytes_key(t)) return hash_bytes(t, key[0], key[1]);
    if (is_word_key(t)) return step(h, word(t, key, 0, 8));
    if (is_two_word_key(t)) return step(step(h, word(t, key, 0, 8)), word(t, key, 8, 8));
    std::size_t leaf = 0;
    const std::function<void(const Type*)> add = [&](const Type* part) {
        if (part->is_struct()) {
            for (const Type* f : part->args) add(f);
        } else if (part->is_vec()) {
            llvm::Value* data = key[leaf++];
            llvm::Value* len = key[leaf++];
            h = step(step(h, len), hash_bytes(part, data, len));
        } else {
            h = step(h, scalar_bits(part->scalar, key[leaf++]));
        }
    };
    add(t);
    return h;
}

llvm::Value* KeyCode::equal_parts(const Type* t, const Leaves& a, const Leaves& b, std::size_t& leaf) {
    if (t->is_struct()) {
        llvm::Value* all = ir.getTrue();
        for (const Type* f : t->args) all = ir.CreateAnd(all, equal_parts(f, a, b, leaf));
        return all;
    }
    const std::size_t k = leaf++;
    if (!t->is_vec()) return ir.CreateICmpEQ(scalar_bits(t->scalar, a[k]), scalar_bits(t->scalar, b[k]));
    ++leaf;
    const auto bytes = [&]() -> Leaves {
        llvm::Value* count = ir.CreateMul(a[k + 1], e.c64(size_of(t->elem())));
        return {ir.CreateIsNotNull(e.call("weld_rt_equal_bytes", {a[k], b[k], count}))};
    };
    return e.emit_if(ir.CreateICmpEQ(a[k + 1], b[k + 1]), bytes,
                     [&]() -> Leaves { return {ir.getFalse()}; })[0];
}

llvm::Value* KeyCode::equal(const Type* t, llvm::Value* at, const Leaves& key) {
    if ((is_word_key(t) || is_two_word_key(t)) && !(t->is_scalar() && is_float(t->scalar))) {
        const auto align = llvm::Align(std::uint64_t(align_of(t)));
        const std::int64_t size = std::min<std::int64_t>(8, size_of(t));
        llvm::Type* part = llvm::IntegerType::get(e.unit.ctx, unsigned(8 * size));
        llvm::Value* same = nullptr;
        for (std::int64_t from = 0; from < size_of(t); from += size) {
            llvm::Value* theirs = ir.CreateAlignedLoad(part, e.address(at, from), align);
            llvm::Value* mine = ir.CreateTrunc(word(t, key, from, size), part);
            llvm::Value* one = ir.CreateICmpEQ(theirs, mine);
            same = same ? ir.CreateAnd(same, one) : one;
        }
        return same;
    }
    std::size_t leaf = 0;
    return equal_parts(t, e.load(t, at), key, leaf);
}

}  // namespace

// ---- probing -------------------------------------------------------------------------------------------

constexpr int kTagBits = kWeldTagBits, kNumberBits = 64 - kTagBits;  ///< of a slot: tag, number of the entry

static llvm::Value* tag_of(Emitter& e, const Type* key_type, const Leaves& key) {
    return e.ir.CreateOr(e.ir.CreateLShr(KeyCode(e).hash(key_type, key), kNumberBits), 1);
}

static llvm::Value* entry_of(Emitter& e, llvm::Value* entries, std::int64_t stride, llvm::Value* slot) {
    llvm::Value* number =
        e.ir.CreateSub(e.ir.CreateAnd(slot, e.c64((std::int64_t(1) << kNumberBits) - 1)), e.c64(1));
    return e.ir.CreateGEP(e.unit.i8, entries, e.ir.CreateMul(number, e.c64(stride)));
}

llvm::Value* index_slots(Emitter& e, llvm::Value* table) {
    return e.ir.CreateAdd(e.load(fields::Table::mask, table), e.c64(1));
}

void prefetch_entry(Emitter& e, llvm::Value* table, const Type* key_type, const Type* value_type,
                    const Leaves& key, bool entry) {
    auto& ir = e.ir;
    llvm::Value* first = ir.CreateLShr(tag_of(e, key_type, key), e.load(fields::Table::shift, table));
    llvm::Value* at = ir.CreateGEP(e.unit.i64, e.load(fields::Table::index, table), first);
    if (entry)
        at = entry_of(e, e.load(fields::Table::entries, table), entry_layout(key_type, value_type).size,
                      ir.CreateAlignedLoad(e.unit.i64, at, llvm::Align(8)));
    e.prefetch(at);
}

Leaves opened(Emitter& e, llvm::Value* table) {
    return {table, e.load(fields::Table::index, table), e.load(fields::Table::entries, table),
            e.load(fields::Table::shift, table)};
}

Leaves find_entry(Emitter& e, const Leaves& open, const Type* key_type, const Type* value_type,
                  const Leaves& key, const std::function<Leaves(llvm::Value*)>& found,
                  const std::function<Leaves()>& absent) {
    auto& ir = e.ir;
    KeyCode keys(e);
    const std::int64_t stride = entry_layout(key_type, value_type).size;
    llvm::Value* tag = tag_of(e, key_type, key);
    llvm::Value *table = open[0], *index = open[1], *entries = open[2];
    llvm::Value* first = ir.CreateLShr(tag, open[3]);
    auto *before = ir.GetInsertBlock(), *probe = e.block("probe"), *fits = e.block("tag_fits"),
         *differs = e.block("tag_differs"), *go_on = e.block("next_slot"), *here = e.block("found"),
         *nowhere = e.block("absent"), *join = e.block("looked_up");
    ir.CreateBr(probe);

    ir.SetInsertPoint(probe);
    llvm::PHINode* at = ir.CreatePHI(e.unit.i64, 2);
    at->addIncoming(first, before);
    llvm::Value* slot = ir.CreateGEP(e.unit.i64, index, at);
    static_assert(kWeldTagBits == 32);
    llvm::Value* slot_tag =
        ir.CreateAlignedLoad(e.unit.i32, e.address(slot, kNumberBits / 8), llvm::Align(4));
    ir.CreateCondBr(ir.CreateICmpEQ(slot_tag, ir.CreateTrunc(tag, e.unit.i32)), fits, differs);

    ir.SetInsertPoint(fits);
    llvm::Value* number = ir.CreateAlignedLoad(e.unit.i32, slot, llvm::Align(8));
    llvm::Value* entry = entry_of(e, entries, stride, ir.CreateZExt(number, e.unit.i64));
    llvm::Value* same = keys.equal(key_type, entry, key);
    ir.CreateCondBr(same, here, go_on);

    ir.SetInsertPoint(differs);
    ir.CreateCondBr(ir.CreateIsNull(slot_tag), nowhere, go_on);  // no tag is 0

    ir.SetInsertPoint(go_on);
    llvm::Value* mask = e.load(fields::Table::mask, table);
    at->addIncoming(ir.CreateAnd(ir.CreateAdd(at, e.c64(1)), mask), go_on);
    ir.CreateBr(probe);

    ir.SetInsertPoint(here);
    Leaves result = found(entry);
    auto* after_found = ir.GetInsertBlock();
    ir.CreateBr(join);
    ir.SetInsertPoint(nowhere);
    const Leaves other = absent();
    auto* after_absent = ir.GetInsertBlock();
    ir.CreateBr(join);
    ir.SetInsertPoint(join);
    for (std::size_t k = 0; k < result.size(); ++k) {
        llvm::PHINode* phi = ir.CreatePHI(result[k]->getType(), 2);
        phi->addIncoming(result[k], after_found);
        phi->addIncoming(other[k], after_absent);
        result[k] = phi;
    }
    return result;
}

Leaves merge_or_wait(Emitter& e, const Leaves& open, const Type* key_type, const Type* value_type,
                     const Leaves& key, const Leaves& value, Loc loc, const std::function<Leaves()>& direct) {
    auto& ir = e.ir;
    llvm::Value* table = open[0];
    llvm::Value* buffers = e.load(fields::Table::partitions, table);
    const auto wait = [&] {
        constexpr auto buffer_shift = std::uint64_t(std::countr_zero(sizeof(WeldRowBuffer)));
        static_assert(1 << buffer_shift == sizeof(WeldRowBuffer));
        llvm::Value* number = ir.CreateLShr(tag_of(e, key_type, key), kTagBits - kWeldPartitionBits);
        llvm::Value* buffer = ir.CreateGEP(e.unit.i8, buffers, ir.CreateShl(number, buffer_shift));
        const EntryLayout layout = entry_layout(key_type, value_type);
        llvm::Value* row = e.load(fields::RowBuffer::next, buffer);
        e.store(key_type, key, row);
        e.store(value_type, value, e.address(row, layout.value_at));
        llvm::Value* next = e.address(row, layout.size);
        e.store(fields::RowBuffer::next, next, buffer);
        e.unlikely(ir.CreateICmpEQ(next, e.load(fields::RowBuffer::end, buffer)),
                   [&] { e.call_checked("weld_rt_dict_next_buffer", {e.task, table, buffer, e.at(loc)}); });
        return open;
    };
    // Registers are for small tables: those that are cut wait for memory anyway.
    return e.emit_if(ir.CreateIsNull(buffers), direct, wait,
                     llvm::MDBuilder(e.unit.ctx).createBranchWeights(1 << 10, 1));
}

llvm::Value* never_null(Emitter& e, llvm::Value* table) {
    llvm::Module& out = e.unit.out;
    llvm::Constant* empty = out.getNamedGlobal("empty_table");
    if (!empty) {
        const auto hidden = [&](llvm::Constant* init, const char* name) {
            return new llvm::GlobalVariable(out, init->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                            init, name);
        };
        llvm::Constant* nothing = llvm::ConstantPointerNull::get(e.unit.ptr);
        llvm::Constant* slot = hidden(e.c64(0), "empty_slot");
        namespace fields = fields::Table;
        empty = hidden(e.unit.record(fields::kAll, {{fields::index, slot},
                                                    {fields::entries, nothing},
                                                    {fields::mask, e.c64(0)},
                                                    {fields::shift, e.c64(kWeldTagBits)},
                                                    {fields::partitions, nothing}}),
                       "empty_table");
    }
    return e.ir.CreateSelect(e.ir.CreateIsNull(table), empty, table);
}

}  // namespace weld::codegen
