// Hash, equality and probing in emitted code: the same as runtime/keys.cpp and runtime/hash_table.h do, for
// keys whose parts are in registers.
//
// The key 42 in a table of dict[i64,f64]:
//
//     hash = step(0, 42)          64 bits
//     tag  = hash >> 32 | 1       the upper kWeldTagBits of them, never 0
//     at   = tag >> shift & mask  the slot where the search begins
//
//       index: {tag, entry + 1}            entries: {key, value}
//         ...
//     at: { tag of 17, 3 }  other tag          0: { 99, 0.5 }
//         { tag of 42, 2 }  same tag --------> 1: { 42, 1.5 }   same key: found
//         {         0, 0 }  free: absent       2: { 17, 2.5 }
//         ...
//
// A key is compared only where the tag fits. Behind {key, value} an entry has the head of the first vector of
// integers in its key: its first bytes. Elements are looked at only where all else in the entry is equal, and
// there are more. The blocks that find_entry emits:
//
//     probe ---- same tag ----> tag_fits ---- same key ----> found ---+
//     ^   |                        |                                  +--> looked_up
//     |   +-- other tag --> tag_differs ---- free ---------> absent --+
//     |                            |
//     +--------- next_slot <-------+  (from both)
#include "codegen/builders/tables.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include <llvm/IR/MDBuilder.h>

#include "weldir/ir/keys.h"
#include "weldir/support/round_up.h"

namespace weld::codegen {

/// A part of a key that is a vector of integers.
struct StringPart {
    const Type* type;
    std::size_t leaf;
    std::int64_t at;
};

/// Calls f(part) for those of a key that consists of scalars and such vectors.
static void each_string(const Type* key, const std::function<void(const StringPart&)>& f) {
    std::size_t leaf = 0;
    const std::function<void(const Type*, std::int64_t)> visit = [&](const Type* t, std::int64_t at) {
        if (t->is_struct()) {
            const std::vector<std::int64_t> offsets = offsets_of(t->args);
            for (std::size_t i = 0; i < t->args.size(); ++i) visit(t->args[i], at + offsets[i]);
            return;
        }
        if (t->is_vec()) f({t, leaf, at});
        leaf += t->is_vec() ? 2 : 1;
    };
    visit(key, 0);
}

/// The part of a key whose head is in the entries.
static std::optional<StringPart> first_string(const Type* key) {
    std::optional<StringPart> first;
    if (is_sought_inline(key))
        each_string(key, [&](const StringPart& part) {
            if (!first) first = part;
        });
    return first;
}

EntryLayout entry_layout(const Type* key, const Type* value) {
    const Type* const fields[] = {key, value};
    const std::int64_t pair = size_of(fields), align = std::max(align_of(key), align_of(value));
    return {offsets_of(fields)[1], pair,
            pair + (first_string(key) ? round_up(std::int64_t(kWeldHeadBytes), align) : 0)};
}

Leaves canonical_key(Emitter& e, const Type* t, const Leaves& key) {
    auto& ir = e.ir;
    Leaves all = key;
    std::size_t leaf = 0;
    const std::function<void(const Type*)> visit = [&](const Type* part) {
        if (part->is_struct()) {
            for (const Type* f : part->args) visit(f);
            return;
        }
        if (part->is_scalar() && is_float(part->scalar)) {
            llvm::Value*& x = all[leaf];
            x = ir.CreateFAdd(x, llvm::ConstantFP::get(x->getType(), 0.0));  // -0.0 becomes 0.0
            x = ir.CreateSelect(ir.CreateFCmpUNO(x, x), llvm::ConstantFP::getQNaN(x->getType()), x);
        }
        leaf += std::size_t(e.num_leaves(part));
    };
    visit(t);
    return all;
}

void each_scalar(const Type* t, std::int64_t offset, const std::function<void(Scalar, std::int64_t)>& f) {
    if (!t->is_struct()) return f(t->scalar, offset);
    const std::vector<std::int64_t> offsets = offsets_of(t->args);
    for (std::size_t i = 0; i < t->args.size(); ++i) each_scalar(t->args[i], offset + offsets[i], f);
}

namespace {

class KeyCode {
  public:
    explicit KeyCode(Emitter& emitter) : e(emitter), ir(emitter.ir) {}

    /// Two words, of the first string of a key; nothing of keys without strings.
    Leaves head(const Type* t, const Leaves& key);
    llvm::Value* hash(const Type* t, const Leaves& key, const Leaves& head);
    /// i1: the key at `at` in memory, whose head is `head_at` bytes behind, is `key`.
    llvm::Value* equal(const Type* t, llvm::Value* at, std::int64_t head_at, const Leaves& key,
                       const Leaves& head);
    /// Writes all bytes of a key that consists of scalars.
    void store(const Type* t, const Leaves& key, llvm::Value* to);
    llvm::Value* num_bytes(const Type* vec, llvm::Value* len);
    /// i1: the head is all of so many bytes.
    llvm::Value* has_head_alone(llvm::Value* bytes);
    Leaves heads_of(const Leaves& strings, llvm::Value* bytes);
    llvm::Value* equal_words(const Leaves& a, const Leaves& b);
    llvm::Value* equal_rest(llvm::Value* a, llvm::Value* b, llvm::Value* bytes);

  private:
    llvm::Value* c(std::uint64_t v) { return llvm::ConstantInt::get(e.unit.i64, v); }
    llvm::Value* step(llvm::Value* h, llvm::Value* x);
    llvm::Value* scalar_bits(Scalar s, llvm::Value* x);
    llvm::Value* word(const Type* t, const Leaves& key, std::int64_t from, std::int64_t bytes);
    void each_word(const Type* t, const Leaves& key,
                   const std::function<void(std::int64_t, llvm::Value*)>& f);
    Leaves last_words(llvm::Value* data, llvm::Value* bytes);
    llvm::Value* has_few_words(llvm::Value* bytes);
    llvm::Value* mix(const Leaves& words, llvm::Value* before);
    llvm::Value* hash_bytes(llvm::Value* data, llvm::Value* bytes, const Leaves& head);
    llvm::Value* equal_bytes(llvm::Value* a, llvm::Value* b, llvm::Value* bytes);

    Emitter& e;
    llvm::IRBuilder<>& ir;
};

llvm::Value* KeyCode::step(llvm::Value* h, llvm::Value* x) {
    llvm::Value* rotated =
        ir.CreateOr(ir.CreateShl(h, kWeldHashRotation), ir.CreateLShr(h, 64 - kWeldHashRotation));
    return ir.CreateMul(ir.CreateAdd(rotated, x), c(kWeldHashFactor));
}

/// The bits of a scalar of a key, as an i64.
llvm::Value* KeyCode::scalar_bits(Scalar s, llvm::Value* x) {
    if (is_float(s)) x = ir.CreateBitCast(x, llvm::IntegerType::get(e.unit.ctx, unsigned(8 * size_of(s))));
    return ir.CreateZExt(x, e.unit.i64);
}

/// `bytes` bytes of a key that consists of scalars, from byte `from`; padding is zero.
llvm::Value* KeyCode::word(const Type* t, const Leaves& key, std::int64_t from, std::int64_t bytes) {
    llvm::Value* all = nullptr;
    std::size_t leaf = 0;
    each_scalar(t, 0, [&](Scalar s, std::int64_t at) {
        llvm::Value* part = key[leaf++];
        const std::int64_t shift = at - from;
        if (shift < 0 || shift >= bytes) return;
        part = scalar_bits(s, part);
        if (shift) part = ir.CreateShl(part, std::uint64_t(8 * shift));
        all = all ? ir.CreateOr(all, part) : part;
    });
    return all;
}

/// Calls f(offset, word) for the words of a key that consists of scalars.
void KeyCode::each_word(const Type* t, const Leaves& key,
                        const std::function<void(std::int64_t, llvm::Value*)>& f) {
    for (std::int64_t at = 0; at < size_of(t); at += 8) {
        const std::int64_t bytes = std::min<std::int64_t>(8, size_of(t) - at);
        auto* type = llvm::IntegerType::get(e.unit.ctx, unsigned(8 * bytes));
        f(at, ir.CreateTrunc(word(t, key, at, bytes), type));
    }
}

void KeyCode::store(const Type* t, const Leaves& key, llvm::Value* to) {
    const auto align = llvm::Align(std::uint64_t(align_of(t)));
    each_word(t, key, [&](std::int64_t at, llvm::Value* word) {
        ir.CreateAlignedStore(word, e.address(to, at), align);
    });
}

llvm::Value* KeyCode::num_bytes(const Type* vec, llvm::Value* len) {
    return ir.CreateMul(len, e.c64(size_of(vec->elem())));
}

llvm::Value* KeyCode::has_head_alone(llvm::Value* bytes) {
    return ir.CreateICmpSLE(bytes, e.c64(kWeldHeadBytes));
}

/// The heads of strings of `bytes` bytes each, as head_of in runtime/keys.h makes them.
Leaves KeyCode::heads_of(const Leaves& strings, llvm::Value* bytes) {
    const auto words = [&]() -> Leaves {
        const auto half = [&](llvm::Value* at) {
            return ir.CreateZExt(ir.CreateAlignedLoad(e.unit.i32, at, llvm::Align(1)), e.unit.i64);
        };
        const auto word = [&](llvm::Value* high, llvm::Value* low) {
            return ir.CreateOr(ir.CreateShl(half(high), 32), half(low));
        };
        llvm::Value* count = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, bytes, e.c64(kWeldHeadBytes));
        llvm::Value* by = ir.CreateShl(ir.CreateLShr(count, 3), 2);
        Leaves all;
        for (llvm::Value* data : strings) {
            llvm::Value* last = ir.CreateGEP(e.unit.i8, data, ir.CreateSub(count, e.c64(4)));
            all.push_back(word(data, ir.CreateGEP(e.unit.i8, data, by)));
            all.push_back(word(last, ir.CreateGEP(e.unit.i8, last, ir.CreateNeg(by))));
        }
        return all;
    };
    const auto one_by_one = [&]() -> Leaves {
        Leaves all;
        for (llvm::Value* data : strings) {
            llvm::Value* word = e.c64(0);
            for (llvm::Value* i : Leaves{e.c64(0), ir.CreateLShr(bytes, 1), ir.CreateSub(bytes, e.c64(1))}) {
                llvm::Value* at = ir.CreateGEP(e.unit.i8, data, i);
                llvm::Value* byte = ir.CreateAlignedLoad(e.unit.i8, at, llvm::Align(1));
                word = ir.CreateOr(word, ir.CreateShl(ir.CreateZExt(byte, e.unit.i64), ir.CreateShl(i, 3)));
            }
            all.append({word, e.c64(0)});
        }
        return all;
    };
    const auto none = [&] { return Leaves(2 * strings.size(), e.c64(0)); };
    const auto few = [&] { return e.emit_if(ir.CreateICmpSGT(bytes, e.c64(0)), one_by_one, none); };
    return e.emit_if(ir.CreateICmpSGE(bytes, e.c64(kWeldFewestInWords)), words, few);
}

Leaves KeyCode::head(const Type* t, const Leaves& key) {
    const std::optional<StringPart> s = first_string(t);
    return s ? heads_of({key[s->leaf]}, num_bytes(s->type, key[s->leaf + 1])) : Leaves{};
}

/// Two words of a string, and what comes before them, as a hash.
llvm::Value* KeyCode::mix(const Leaves& words, llvm::Value* before) {
    auto* wide = llvm::IntegerType::get(e.unit.ctx, 128);
    llvm::Value* x = ir.CreateXor(words[0], before);
    llvm::Value* y = ir.CreateXor(words[1], c(kWeldMixBytes));
    llvm::Value* product = ir.CreateMul(ir.CreateZExt(x, wide), ir.CreateZExt(y, wide));
    llvm::Value* upper = ir.CreateTrunc(ir.CreateLShr(product, 64), e.unit.i64);
    return ir.CreateXor(ir.CreateTrunc(product, e.unit.i64), upper);
}

/// The words that the last kWeldHeadBytes bytes of a string are.
Leaves KeyCode::last_words(llvm::Value* data, llvm::Value* bytes) {
    llvm::Value* at = ir.CreateGEP(e.unit.i8, data, ir.CreateSub(bytes, e.c64(kWeldHeadBytes)));
    llvm::Value* first = ir.CreateAlignedLoad(e.unit.i64, at, llvm::Align(1));
    return {first, ir.CreateAlignedLoad(e.unit.i64, e.address(at, 8), llvm::Align(1))};
}

/// i1: two strings differ in none of the words.
llvm::Value* KeyCode::equal_words(const Leaves& a, const Leaves& b) {
    return ir.CreateIsNull(ir.CreateOr(ir.CreateXor(a[0], b[0]), ir.CreateXor(a[1], b[1])));
}

/// i1: head and last words are all of so many bytes.
llvm::Value* KeyCode::has_few_words(llvm::Value* bytes) {
    return ir.CreateICmpSLE(bytes, e.c64(2 * kWeldHeadBytes));
}

llvm::Value* KeyCode::hash_bytes(llvm::Value* data, llvm::Value* bytes, const Leaves& head) {
    llvm::Value* h = mix(head, ir.CreateMul(bytes, c(kWeldMixCount)));
    const auto of_head = [&]() -> Leaves { return {h}; };
    const auto with_last = [&]() -> Leaves { return {mix(last_words(data, bytes), h)}; };
    const auto of_many = [&]() -> Leaves { return {e.call("weld_rt_hash_bytes", {data, bytes})}; };
    const auto of_more = [&] { return e.emit_if(has_few_words(bytes), with_last, of_many); };
    return e.emit_if(has_head_alone(bytes), of_head, of_more)[0];
}

llvm::Value* KeyCode::equal_bytes(llvm::Value* a, llvm::Value* b, llvm::Value* bytes) {
    const auto here = [&]() -> Leaves {
        const Leaves heads = heads_of({a, b}, bytes);
        return {equal_words({heads[0], heads[1]}, {heads[2], heads[3]})};
    };
    const auto there = [&]() -> Leaves {
        return {ir.CreateIsNotNull(e.call("weld_rt_equal_bytes", {a, b, bytes}))};
    };
    return e.emit_if(has_head_alone(bytes), here, there)[0];
}

/// i1: strings with the same head are equal. Reads neither of them if the head is all.
llvm::Value* KeyCode::equal_rest(llvm::Value* a, llvm::Value* b, llvm::Value* bytes) {
    const auto yes = [&]() -> Leaves { return {ir.getTrue()}; };
    const auto compare_last = [&]() -> Leaves {
        const Leaves last = last_words(a, bytes);
        return {equal_words(last, last_words(b, bytes))};
    };
    const auto compare_rest = [&]() -> Leaves {
        const auto rest = [&](llvm::Value* string) { return e.address(string, kWeldHeadBytes); };
        llvm::Value *x = rest(a), *y = rest(b);
        llvm::Value* left = ir.CreateSub(bytes, e.c64(kWeldHeadBytes));
        return {ir.CreateIsNotNull(e.call("weld_rt_equal_bytes", {x, y, left}))};
    };
    const auto compare = [&] { return e.emit_if(has_few_words(bytes), compare_last, compare_rest); };
    return e.emit_if(has_head_alone(bytes), yes, compare)[0];
}

llvm::Value* KeyCode::hash(const Type* t, const Leaves& key, const Leaves& head) {
    llvm::Value* h = c(0);
    if (is_bytes_key(t)) return hash_bytes(key[0], num_bytes(t, key[1]), head);
    if (is_word_key(t)) return step(h, word(t, key, 0, 8));
    if (is_two_word_key(t)) return step(step(h, word(t, key, 0, 8)), word(t, key, 8, 8));
    std::size_t leaf = 0;
    const std::function<void(const Type*)> add = [&](const Type* part) {
        if (part->is_struct()) {
            for (const Type* f : part->args) add(f);
        } else if (part->is_vec()) {
            llvm::Value* data = key[leaf++];
            llvm::Value* len = key[leaf++];
            llvm::Value* bytes = num_bytes(part, len);
            const bool is_first = leaf - 2 == first_string(t)->leaf;
            h = step(step(h, len), hash_bytes(data, bytes, is_first ? head : heads_of({data}, bytes)));
        } else {
            h = step(h, scalar_bits(part->scalar, key[leaf++]));
        }
    };
    add(t);
    return h;
}

llvm::Value* KeyCode::equal(const Type* t, llvm::Value* at, std::int64_t head_at, const Leaves& key,
                            const Leaves& head) {
    if (is_partitioned(t)) {
        const auto align = llvm::Align(std::uint64_t(align_of(t)));
        llvm::Value* same = ir.getTrue();
        each_word(t, key, [&](std::int64_t offset, llvm::Value* mine) {
            llvm::Value* theirs = ir.CreateAlignedLoad(mine->getType(), e.address(at, offset), align);
            same = ir.CreateAnd(same, ir.CreateICmpEQ(theirs, mine));
        });
        return same;
    }
    // What is in the entry first: strings are looked at only where it is equal.
    const Leaves theirs = e.load(t, at);
    llvm::Value* differ = c(0);
    const auto compare = [&](llvm::Value* a, llvm::Value* b) {
        differ = ir.CreateOr(differ, ir.CreateXor(a, b));
    };
    std::vector<StringPart> strings;
    each_string(t, [&](const StringPart& part) { strings.push_back(part); });
    std::size_t leaf = 0;
    const std::function<void(const Type*)> compare_parts = [&](const Type* part) {
        if (part->is_struct()) {
            for (const Type* f : part->args) compare_parts(f);
            return;
        }
        if (part->is_vec()) compare(theirs[leaf + 1], key[leaf + 1]);
        else compare(scalar_bits(part->scalar, theirs[leaf]), scalar_bits(part->scalar, key[leaf]));
        leaf += part->is_vec() ? 2 : 1;
    };
    compare_parts(t);
    for (std::size_t k = 0; k < head.size(); ++k) {
        llvm::Value* word = e.address(at, head_at + std::int64_t(8 * k));
        compare(ir.CreateAlignedLoad(e.unit.i64, word, llvm::Align(8)), head[k]);
    }
    llvm::Value* alike = ir.CreateIsNull(differ);
    for (const StringPart& s : strings) {
        const bool has_head = &s == strings.data();
        const auto look = [&]() -> Leaves {
            llvm::Value *a = theirs[s.leaf], *b = key[s.leaf], *bytes = num_bytes(s.type, key[s.leaf + 1]);
            return {has_head ? equal_rest(a, b, bytes) : equal_bytes(a, b, bytes)};
        };
        alike = e.emit_if(alike, look, [&]() -> Leaves { return {ir.getFalse()}; })[0];
    }
    return alike;
}

}  // namespace

// ---- probing -------------------------------------------------------------------------------------------

constexpr std::int64_t kTagMask = (std::int64_t(1) << kWeldTagBits) - 1;
constexpr int kTagBits = kWeldTagBits, kNumberBits = 64 - kTagBits;  ///< of a slot: tag, number of the entry

static llvm::Value* tag_of(Emitter& e, const Type* key_type, const Leaves& key, const Leaves& head) {
    return e.ir.CreateOr(e.ir.CreateLShr(KeyCode(e).hash(key_type, key, head), kNumberBits), 1);
}

static llvm::Value* tag_of(Emitter& e, const Type* key_type, const Leaves& key) {
    return tag_of(e, key_type, key, KeyCode(e).head(key_type, key));
}

constexpr std::int64_t kMostAtOnce = 1 << 16;  // bytes that are compared without asking whether to stop

llvm::Value* equal_strings(Emitter& e, const Type* t, const Leaves& a, const Leaves& b,
                           const std::function<llvm::Value*()>& otherwise) {
    auto& ir = e.ir;
    KeyCode keys(e);
    const auto no = [&]() -> Leaves { return {ir.getFalse()}; };
    const auto same_length = [&] {
        llvm::Value* bytes = keys.num_bytes(t, llvm::isa<llvm::Constant>(a[1]) ? a[1] : b[1]);
        const Leaves heads = keys.heads_of({a[0], b[0]}, bytes);
        llvm::Value* same = keys.equal_words({heads[0], heads[1]}, {heads[2], heads[3]});
        llvm::Value* says_all = ir.CreateOr(keys.has_head_alone(bytes), ir.CreateNot(same));
        const auto rest = [&]() -> Leaves { return {keys.equal_rest(a[0], b[0], bytes)}; };
        const auto by_strips = [&]() -> Leaves { return {otherwise()}; };
        const auto differ_later = [&] {
            return e.emit_if(ir.CreateICmpSLE(bytes, e.c64(kMostAtOnce)), rest, by_strips);
        };
        return e.emit_if(says_all, [&]() -> Leaves { return {same}; }, differ_later);
    };
    return e.emit_if(ir.CreateICmpEQ(a[1], b[1]), same_length, no)[0];
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
static llvm::Value* tag_of(Emitter& e, const Expr* node, const Type* key_type, const Leaves& key,
                           const Leaves& head) {
    const auto early = e.early_tags.find(node);
    if (early == e.early_tags.end()) return tag_of(e, key_type, key, head);
    auto& ir = e.ir;
    llvm::Value* there = ir.CreateLoad(e.unit.i64, ring_slot(e, early->second));
    llvm::Value* tag = ir.CreateAnd(there, e.c64(kTagMask));  // 0 if the slot has not been used
    llvm::Value* iteration = ir.CreateTrunc(early->second.iteration, e.unit.i32);
    llvm::Value* same =
        ir.CreateICmpEQ(ir.CreateTrunc(ir.CreateLShr(there, kTagBits), e.unit.i32), iteration);
    return e.emit_if(
        ir.CreateAnd(same, ir.CreateIsNotNull(tag)), [&]() -> Leaves { return {tag}; },
        [&]() -> Leaves { return {tag_of(e, key_type, key, head)}; })[0];
}

static llvm::Value* first_slot(Emitter& e, llvm::Value* table, llvm::Value* tag) {
    llvm::Value* number = e.ir.CreateLShr(tag, e.load(fields::Table::shift, table));
    number = e.ir.CreateAnd(number, e.load(fields::Table::mask, table));
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
    llvm::Value* entry = entry_in(e, table, key_type, value_type, slot);
    e.prefetch(entry);
    // The head may lie in the next line of the cache.
    if (first_string(key_type)) e.prefetch(e.address(entry, entry_layout(key_type, value_type).size - 1));
}

void prefetch_tagged_strings(Emitter& e, llvm::Value* table, const Type* key_type, const Type* value_type,
                             const EarlyTag& tag) {
    auto& ir = e.ir;
    llvm::Value* wanted = tag_in_ring(e, tag);
    llvm::Value* slot = ir.CreateLoad(e.unit.i64, first_slot(e, table, wanted));
    const auto fetch = [&]() -> Leaves {
        llvm::Value* entry = entry_in(e, table, key_type, value_type, slot);
        bool has_head = true;
        each_string(key_type, [&](const StringPart& part) {
            const Leaves string = e.load(part.type, e.address(entry, part.at));
            KeyCode keys(e);
            llvm::Value* bytes = keys.num_bytes(part.type, string[1]);
            const auto ask = [&](std::int64_t from) {
                e.prefetch(e.address(string[0], from));
                e.prefetch(ir.CreateGEP(e.unit.i8, string[0], ir.CreateSub(bytes, e.c64(1))));
            };
            if (!std::exchange(has_head, false)) return ask(0);
            const auto rest = [&]() -> Leaves {
                ask(kWeldHeadBytes);
                return {};
            };
            e.emit_if(keys.has_head_alone(bytes), []() -> Leaves { return {}; }, rest);
        });
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

llvm::Value* has_bit(Emitter& e, const Type* key_type, const Leaves& key, const Leaves& bits) {
    constexpr std::int64_t word_bits = 6;
    auto& ir = e.ir;
    llvm::Value* at = ir.CreateLShr(tag_of(e, key_type, key), bits[2]);
    llvm::Value* to = ir.CreateGEP(e.unit.i64, bits[0], ir.CreateLShr(at, word_bits));
    llvm::Value* word = ir.CreateAlignedLoad(e.unit.i64, to, llvm::Align(8));
    llvm::Value* in_word = ir.CreateAnd(at, e.c64((1 << word_bits) - 1));
    return ir.CreateTrunc(ir.CreateLShr(word, in_word), e.ir.getInt1Ty());
}

llvm::Value* word_behind(Emitter& e, const Leaves& bits, std::int64_t n) {
    return e.ir.CreateGEP(e.unit.i64, bits[0], e.ir.CreateAdd(bits[1], e.c64(n)));
}

/// Keys of a table are one byte: see WeldPlaces.
static bool are_bytes(const Type* key_type) { return has_places(key_type) && size_of(key_type) == 1; }

/// Instead of no places of bytes: none of them has one.
static llvm::Constant* free_places(Emitter& e) {
    llvm::Module& out = e.unit.out;
    if (llvm::GlobalVariable* known = out.getNamedGlobal("free_places")) return known;
    auto* type = llvm::ArrayType::get(e.unit.i64, (sizeof(WeldPlaces) + 256 * sizeof(std::uint32_t)) / 8);
    return new llvm::GlobalVariable(out, type, true, llvm::GlobalValue::PrivateLinkage,
                                    llvm::ConstantAggregateZero::get(type), "free_places");
}

/// Where a mask and shifts are in an open table.
constexpr std::size_t kPlaceMask = 5, kPlaceShifts = 6;

int num_open_leaves(const Type* key_type) {
    int fields = 0;
    if (has_places(key_type) && !are_bytes(key_type)) for_each_scalar(key_type, [&](Scalar) { ++fields; });
    return int(kPlaceMask) + fields;
}

Leaves opened(Emitter& e, const Type* key_type, llvm::Value* table) {
    auto& ir = e.ir;
    llvm::Value* places = e.load(fields::Table::places, table);
    Leaves open = {table, e.load(fields::Table::index, table), e.load(fields::Table::entries, table),
                   e.load(fields::Table::shift, table), places};
    if (!has_places(key_type)) return open;
    llvm::Value* some = ir.CreateSelect(ir.CreateIsNull(places), free_places(e), places);
    if (are_bytes(key_type)) {
        open.back() = some;
        return open;
    }
    const auto word_at = [&](std::size_t offset) -> llvm::Value* {
        return ir.CreateAlignedLoad(e.unit.i64, e.address(some, std::int64_t(offset)), llvm::Align(8));
    };
    open.push_back(word_at(offsetof(WeldPlaces, mask)));
    for (int k = 0; int(open.size()) < num_open_leaves(key_type); ++k)
        open.push_back(word_at(offsetof(WeldPlaces, shifts) + 8 * std::size_t(k)));
    return open;
}

Leaves find_entry(Emitter& e, const Expr* node, const Leaves& open, const Type* key_type,
                  const Type* value_type, const Leaves& key, const std::function<Leaves(llvm::Value*)>& found,
                  const std::function<Leaves()>& absent) {
    auto& ir = e.ir;
    KeyCode keys(e);
    const EntryLayout layout = entry_layout(key_type, value_type);
    const Leaves head = keys.head(key_type, key);
    llvm::Value* tag = tag_of(e, node, key_type, key, head);
    llvm::Value *table = open[0], *index = open[1], *entries = open[2];
    llvm::Value* mask = e.load(fields::Table::mask, table);
    llvm::Value* first = ir.CreateAnd(ir.CreateLShr(tag, open[3]), mask);
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
    llvm::Value* entry = entry_of(e, entries, layout.size, ir.CreateZExt(number, e.unit.i64));
    llvm::Value* same = keys.equal(key_type, entry, layout.head_at, key, head);
    ir.CreateCondBr(same, here, go_on);

    ir.SetInsertPoint(differs);
    ir.CreateCondBr(ir.CreateIsNull(slot_tag), nowhere, go_on);  // no tag is 0

    ir.SetInsertPoint(go_on);
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

// ---- places --------------------------------------------------------------------------------------------

static_assert(kMostPlacedFields == kWeldMostKeyFields);

llvm::Value* place_of(Emitter& e, const Type* key_type, const Leaves& key, llvm::Value* mask,
                      llvm::ArrayRef<llvm::Value*> shifts) {
    auto& ir = e.ir;
    llvm::Value* place = nullptr;
    std::size_t leaf = 0;
    for_each_scalar(key_type, [&](Scalar s) {
        llvm::Value* x = ir.CreateIntCast(key[leaf], e.unit.i64, is_signed(s));
        if (leaf) x = ir.CreateShl(x, shifts[leaf - 1]);
        place = place ? ir.CreateAdd(place, x) : x;
        ++leaf;
    });
    return ir.CreateAnd(place, mask);
}

llvm::Value* has_key(Emitter& e, const Type* key_type, llvm::Value* entry, const Leaves& key) {
    return KeyCode(e).equal(key_type, entry, 0, key, {});
}

Leaves find_placed(Emitter& e, const Leaves& open, const Type* key_type, const Type* value_type,
                   const Leaves& key, const std::function<Leaves(llvm::Value*)>& found,
                   const std::function<Leaves()>& otherwise) {
    auto& ir = e.ir;
    llvm::Value *entries = open[2], *places = open[4];
    auto *at_place = e.block("at_place"), *here = e.block("placed"), *search = e.block("not_placed"),
         *join = e.block("merged");
    const bool bytes = are_bytes(key_type);
    // Registers are for what finds places.
    auto* likely = llvm::MDBuilder(e.unit.ctx).createBranchWeights(1 << 6, 1);
    if (bytes) ir.CreateBr(at_place);
    else ir.CreateCondBr(ir.CreateIsNotNull(places), at_place, search, likely);

    ir.SetInsertPoint(at_place);
    llvm::Value* mask = bytes ? e.c64(255) : open[kPlaceMask];
    const auto shifts = llvm::ArrayRef(open).drop_front(bytes ? open.size() : kPlaceShifts);
    llvm::Value* place = place_of(e, key_type, key, mask, shifts);
    llvm::Value* slots = e.address(places, sizeof(WeldPlaces));
    llvm::Value* distance =
        ir.CreateAlignedLoad(e.unit.i32, ir.CreateGEP(e.unit.i32, slots, place), llvm::Align(4));
    llvm::Value* entry = ir.CreateGEP(e.unit.i8, entries, ir.CreateZExt(distance, e.unit.i64));
    const EntryLayout layout = entry_layout(key_type, value_type);
    if (bytes) entry = e.address(entry, -std::int64_t(layout.size));
    ir.CreateCondBr(bytes ? ir.CreateIsNotNull(distance) : has_key(e, key_type, entry, key), here, search,
                    likely);

    ir.SetInsertPoint(here);
    Leaves result = found(entry);
    here = ir.GetInsertBlock();
    ir.CreateBr(join);
    ir.SetInsertPoint(search);
    const Leaves other = otherwise();
    search = ir.GetInsertBlock();
    ir.CreateBr(join);
    ir.SetInsertPoint(join);
    for (std::size_t k = 0; k < result.size(); ++k) {
        if (result[k] == other[k]) continue;
        llvm::PHINode* phi = ir.CreatePHI(result[k]->getType(), 2);
        phi->addIncoming(result[k], here);
        phi->addIncoming(other[k], search);
        result[k] = phi;
    }
    return result;
}

Leaves merge_or_wait(Emitter& e, const Leaves& open, const Type* key_type, const Type* value_type,
                     const Leaves& key, const Leaves& value, Loc loc, const std::function<Leaves()>& direct,
                     const std::function<Leaves()>& again) {
    auto& ir = e.ir;
    llvm::Value* table = open[0];
    llvm::Value* buffers = e.load(fields::Table::partitions, table);
    const auto wait = [&] {
        constexpr auto buffer_shift = std::uint64_t(std::countr_zero(sizeof(WeldRowBuffer)));
        static_assert(1 << buffer_shift == sizeof(WeldRowBuffer));
        llvm::Value* number =
            ir.CreateLShr(tag_of(e, key_type, key), e.load(fields::Table::buffer_shift, table));
        llvm::Value* buffer = ir.CreateGEP(e.unit.i8, buffers, ir.CreateShl(number, buffer_shift));
        const EntryLayout layout = entry_layout(key_type, value_type);
        llvm::Value* row = e.load(fields::RowBuffer::next, buffer);
        KeyCode(e).store(key_type, key, row);
        e.store(value_type, value, e.address(row, layout.value_at));
        llvm::Value* next = e.address(row, layout.size);
        e.store(fields::RowBuffer::next, next, buffer);
        const auto next_buffer = [&] {
            e.call_checked("weld_rt_dict_next_buffer", {e.task, table, buffer, e.at(loc)});
            return again();  // the table may be another one than before
        };
        return e.emit_if(
            ir.CreateICmpEQ(next, e.load(fields::RowBuffer::end, buffer)), next_buffer, [&] { return open; },
            rarely(e.unit.ctx));
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
                                                    {fields::partitions, nothing},
                                                    {fields::buffer_shift, e.c64(kWeldTagBits)},
                                                    {fields::places, nothing},
                                                    {fields::crowded, e.c64(0)}}),
                       "empty_table");
    }
    return e.ir.CreateSelect(e.ir.CreateIsNull(table), empty, table);
}

}  // namespace weld::codegen
