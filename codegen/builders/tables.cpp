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
    llvm::Value* num_bytes(const Type* vec, llvm::Value* len);
    llvm::Value* are_two_words(llvm::Value* bytes);
    std::pair<llvm::Value*, llvm::Value*> two_words(llvm::Value* data, llvm::Value* bytes);
    llvm::Value* hash_bytes(const Type* vec, llvm::Value* data, llvm::Value* len);
    llvm::Value* equal_bytes(const Type* vec, llvm::Value* a, llvm::Value* b, llvm::Value* len);
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

llvm::Value* KeyCode::num_bytes(const Type* vec, llvm::Value* len) {
    return ir.CreateMul(len, e.c64(size_of(vec->elem())));
}

llvm::Value* KeyCode::are_two_words(llvm::Value* bytes) {
    return ir.CreateICmpULE(ir.CreateSub(bytes, e.c64(kWeldFewestInWords)),
                            e.c64(kWeldMostInWords - kWeldFewestInWords));
}

/// As two_words does in runtime/keys.h.
std::pair<llvm::Value*, llvm::Value*> KeyCode::two_words(llvm::Value* data, llvm::Value* bytes) {
    llvm::Value* by = ir.CreateShl(ir.CreateLShr(bytes, 3), 2);
    llvm::Value* first = ir.CreateGEP(e.unit.i8, data, by);
    llvm::Value* last = ir.CreateGEP(e.unit.i8, data, ir.CreateSub(bytes, e.c64(4)));
    const auto half = [&](llvm::Value* at) {
        return ir.CreateZExt(ir.CreateAlignedLoad(e.unit.i32, at, llvm::Align(1)), e.unit.i64);
    };
    const auto word = [&](llvm::Value* high, llvm::Value* low) {
        return ir.CreateOr(ir.CreateShl(half(high), 32), half(low));
    };
    return {word(data, first), word(last, ir.CreateGEP(e.unit.i8, last, ir.CreateNeg(by)))};
}

llvm::Value* KeyCode::hash_bytes(const Type* vec, llvm::Value* data, llvm::Value* len) {
    llvm::Value* bytes = num_bytes(vec, len);
    const auto here = [&]() -> Leaves {
        const auto [a, b] = two_words(data, bytes);
        auto* wide = llvm::IntegerType::get(e.unit.ctx, 128);
        llvm::Value* x = ir.CreateXor(a, ir.CreateMul(bytes, c(kWeldMixCount)));
        llvm::Value* y = ir.CreateXor(b, c(kWeldMixBytes));
        llvm::Value* product = ir.CreateMul(ir.CreateZExt(x, wide), ir.CreateZExt(y, wide));
        llvm::Value* upper = ir.CreateTrunc(ir.CreateLShr(product, 64), e.unit.i64);
        return {ir.CreateXor(ir.CreateTrunc(product, e.unit.i64), upper)};
    };
    const auto there = [&]() -> Leaves { return {e.call("weld_rt_hash_bytes", {data, bytes})}; };
    return e.emit_if(are_two_words(bytes), here, there)[0];
}

llvm::Value* KeyCode::equal_bytes(const Type* vec, llvm::Value* a, llvm::Value* b, llvm::Value* len) {
    llvm::Value* bytes = num_bytes(vec, len);
    const auto here = [&]() -> Leaves {
        const auto [u, v] = two_words(a, bytes);
        const auto [w, x] = two_words(b, bytes);
        return {ir.CreateIsNull(ir.CreateOr(ir.CreateXor(u, w), ir.CreateXor(v, x)))};
    };
    const auto there = [&]() -> Leaves {
        return {ir.CreateIsNotNull(e.call("weld_rt_equal_bytes", {a, b, bytes}))};
    };
    return e.emit_if(are_two_words(bytes), here, there)[0];
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
    const auto compare = [&]() -> Leaves { return {equal_bytes(t, a[k], b[k], b[k + 1])}; };
    return e.emit_if(ir.CreateICmpEQ(a[k + 1], b[k + 1]), compare,
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

constexpr std::int64_t kTagMask = (std::int64_t(1) << kWeldTagBits) - 1;
constexpr int kTagBits = kWeldTagBits, kNumberBits = 64 - kTagBits;  ///< of a slot: tag, number of the entry

static llvm::Value* tag_of(Emitter& e, const Type* key_type, const Leaves& key) {
    return e.ir.CreateOr(e.ir.CreateLShr(KeyCode(e).hash(key_type, key), kNumberBits), 1);
}

static llvm::Value* entry_of(Emitter& e, llvm::Value* entries, std::int64_t stride, llvm::Value* slot) {
    llvm::Value* number =
        e.ir.CreateSub(e.ir.CreateAnd(slot, e.c64((std::int64_t(1) << kNumberBits) - 1)), e.c64(1));
    return e.ir.CreateGEP(e.unit.i8, entries, e.ir.CreateMul(number, e.c64(stride)));
}

// ---- tags that are known early -------------------------------------------------------------------------

llvm::Value* new_ring(Emitter& e) { return e.slot(kRingSlots * 8, 64); }

void clear_ring(Emitter& e, llvm::Value* ring) {
    e.ir.CreateMemSet(ring, llvm::ConstantInt::get(e.unit.i8, 0), std::uint64_t(kRingSlots * 8),
                      llvm::Align(64));
}

static llvm::Value* ring_slot(Emitter& e, const EarlyTag& tag) {
    return e.ir.CreateGEP(e.unit.i64, tag.ring, e.ir.CreateAnd(tag.iteration, e.c64(kRingSlots - 1)));
}

/// The tag in the ring, of whichever iteration.
static llvm::Value* tag_in_ring(Emitter& e, const EarlyTag& tag) {
    return e.ir.CreateAnd(e.ir.CreateLoad(e.unit.i64, ring_slot(e, tag)), e.c64(kTagMask));
}

/// The tag of `key`, which that of `node`, if it has one early, is.
static llvm::Value* tag_of(Emitter& e, const Expr* node, const Type* key_type, const Leaves& key) {
    const auto early = e.early_tags.find(node);
    if (early == e.early_tags.end()) return tag_of(e, key_type, key);
    auto& ir = e.ir;
    llvm::Value* there = ir.CreateLoad(e.unit.i64, ring_slot(e, early->second));
    llvm::Value* tag = ir.CreateAnd(there, e.c64(kTagMask));  // 0 if the slot has not been used
    llvm::Value* iteration = ir.CreateTrunc(early->second.iteration, e.unit.i32);
    llvm::Value* same =
        ir.CreateICmpEQ(ir.CreateTrunc(ir.CreateLShr(there, kTagBits), e.unit.i32), iteration);
    return e.emit_if(
        ir.CreateAnd(same, ir.CreateIsNotNull(tag)), [&]() -> Leaves { return {tag}; },
        [&]() -> Leaves { return {tag_of(e, key_type, key)}; })[0];
}

static llvm::Value* first_slot(Emitter& e, llvm::Value* table, llvm::Value* tag) {
    llvm::Value* number = e.ir.CreateLShr(tag, e.load(fields::Table::shift, table));
    return e.ir.CreateGEP(e.unit.i64, e.load(fields::Table::index, table), number);
}

static llvm::Value* entry_in(Emitter& e, llvm::Value* table, const Type* key_type, const Type* value_type,
                             llvm::Value* slot) {
    return entry_of(e, e.load(fields::Table::entries, table), entry_layout(key_type, value_type).size, slot);
}

void hash_early(Emitter& e, llvm::Value* table, const Type* key_type, const Leaves& key,
                const EarlyTag& tag) {
    llvm::Value* found = tag_of(e, key_type, key);
    e.ir.CreateStore(e.ir.CreateOr(e.ir.CreateShl(tag.iteration, kTagBits), found), ring_slot(e, tag));
    e.prefetch(first_slot(e, table, found));
}

void prefetch_tagged_entry(Emitter& e, llvm::Value* table, const Type* key_type, const Type* value_type,
                           const EarlyTag& tag) {
    llvm::Value* slot = e.ir.CreateLoad(e.unit.i64, first_slot(e, table, tag_in_ring(e, tag)));
    e.prefetch(entry_in(e, table, key_type, value_type, slot));
}

/// Calls f(offset) for every vector in a key.
static void each_string(const Type* t, std::int64_t offset, const std::function<void(std::int64_t)>& f) {
    if (t->is_vec()) return f(offset);
    if (!t->is_struct()) return;
    const std::vector<std::int64_t> offsets = offsets_of(t->args);
    for (std::size_t i = 0; i < t->args.size(); ++i) each_string(t->args[i], offset + offsets[i], f);
}

void prefetch_tagged_strings(Emitter& e, llvm::Value* table, const Type* key_type, const Type* value_type,
                             const EarlyTag& tag) {
    auto& ir = e.ir;
    llvm::Value* wanted = tag_in_ring(e, tag);
    llvm::Value* slot = ir.CreateLoad(e.unit.i64, first_slot(e, table, wanted));
    const auto fetch = [&]() -> Leaves {
        llvm::Value* entry = entry_in(e, table, key_type, value_type, slot);
        each_string(key_type, 0,
                    [&](std::int64_t at) { e.prefetch(ir.CreateLoad(e.unit.ptr, e.address(entry, at))); });
        return {};
    };
    // Only then the slot names an entry.
    llvm::Value* fits =
        ir.CreateAnd(ir.CreateICmpEQ(ir.CreateLShr(slot, kNumberBits), wanted), ir.CreateIsNotNull(slot));
    e.emit_if(fits, fetch, []() -> Leaves { return {}; });
}

llvm::Value* index_slots(Emitter& e, llvm::Value* table) {
    return e.ir.CreateAdd(e.load(fields::Table::mask, table), e.c64(1));
}

void prefetch_entry(Emitter& e, llvm::Value* table, const Type* key_type, const Type* value_type,
                    const Leaves& key, bool entry) {
    llvm::Value* at = first_slot(e, table, tag_of(e, key_type, key));
    if (entry)
        at = entry_in(e, table, key_type, value_type, e.ir.CreateAlignedLoad(e.unit.i64, at, llvm::Align(8)));
    e.prefetch(at);
}

Leaves opened(Emitter& e, llvm::Value* table) {
    return {table, e.load(fields::Table::index, table), e.load(fields::Table::entries, table),
            e.load(fields::Table::shift, table)};
}

Leaves find_entry(Emitter& e, const Expr* node, const Leaves& open, const Type* key_type,
                  const Type* value_type, const Leaves& key, const std::function<Leaves(llvm::Value*)>& found,
                  const std::function<Leaves()>& absent) {
    auto& ir = e.ir;
    KeyCode keys(e);
    const std::int64_t stride = entry_layout(key_type, value_type).size;
    llvm::Value* tag = tag_of(e, node, key_type, key);
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
