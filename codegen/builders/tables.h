// Searching tables for keys in emitted code, where that pays; and whether strings are equal, which that asks.
#pragma once

#include <functional>

#include "codegen/emit.h"

namespace weld::codegen {

/// Entries of a table: {key, value}, and behind it the head of the first vector of integers in the key.
struct EntryLayout {
    std::int64_t value_at;
    std::int64_t head_at;
    std::int64_t size;
};
EntryLayout entry_layout(const Type* key, const Type* value);

/// A key as tables have it: 0.0 for both zeros and one NaN, except inside of vectors. All below want such.
Leaves canonical_key(Emitter& e, const Type* t, const Leaves& key);

/// Calls f(scalar, offset) for the scalars of a key or value that consists of them and lies at `offset`.
void each_scalar(const Type* t, std::int64_t offset, const std::function<void(Scalar, std::int64_t)>& f);

/// {table, index, entries, shift, places}: what looking for keys reads of a table (not null), and how places are made of
/// the numbers in keys: {mask, shifts}. They change when the runtime adds an entry.
int num_open_leaves(const Type* key_type);
Leaves opened(Emitter& e, const Type* key_type, llvm::Value* table);

/// Looks for the `key` of the look-up or merge `node` in a table (of `key_type` and `value_type`) and goes on in one of
/// two ways, whose results become one: with the address of the entry, or without.
Leaves find_entry(Emitter& e, const Expr* node, const Leaves& open, const Type* key_type,
                  const Type* value_type, const Leaves& key,
                  const std::function<Leaves(llvm::Value* entry)>& found,
                  const std::function<Leaves()>& absent);

/// The place of a key of a few integers or bools (runtime/places.h), an i64.
llvm::Value* place_of(Emitter& e, const Type* key_type, const Leaves& key, llvm::Value* mask,
                      llvm::ArrayRef<llvm::Value*> shifts);
/// i1: the entry at `entry` is that of such a key.
llvm::Value* has_key(Emitter& e, const Type* key_type, llvm::Value* entry, const Leaves& key);
/// Goes on with the address of the entry at the place of the key, if it has that key; or looks for the key
/// otherwise.
Leaves find_placed(Emitter& e, const Leaves& open, const Type* key_type, const Type* value_type,
                   const Leaves& key, const std::function<Leaves(llvm::Value* entry)>& found,
                   const std::function<Leaves()>& otherwise);

/// i1: the vectors of integers `a` and `b` are equal. `otherwise` says it of those that have as many bytes, more than
/// kWeldHeadBytes, of which the first are equal.
llvm::Value* equal_strings(Emitter& e, const Type* t, const Leaves& a, const Leaves& b,
                           const std::function<llvm::Value*()>& otherwise);

/// Merges by `direct`, which gives the open table after that, or appends {key, value} to the buffer of a
/// partition if the table is cut, or on trial. `again` opens a table that may have changed.
Leaves merge_or_wait(Emitter& e, const Leaves& open, const Type* key_type, const Type* value_type,
                     const Leaves& key, const Leaves& value, Loc loc, const std::function<Leaves()>& direct,
                     const std::function<Leaves()>& again);

/// i1: the bit of `key` is set in `bits`, {words, number of words, shift} (kernel weld_key_bits).
llvm::Value* has_bit(Emitter& e, const Type* key_type, const Leaves& key, const Leaves& bits);

/// The address of word `n` of two behind `bits` that the kernel leaves for a loop that asks.
llvm::Value* word_behind(Emitter& e, const Leaves& bits, std::int64_t n);

/// Prefetches the slot of the index at which a search for `key` begins, or the entry that it names.
void prefetch_entry(Emitter& e, llvm::Value* table, const Type* key_type, const Type* value_type,
                    const Leaves& key, bool entry);

/// Keys with strings are hashed once, some iterations before they are needed. Their tags wait in a ring in the frame.
///
///     slot k:   {iteration, tag}    of the last iteration with iteration % kRingSlots == k
///
/// An iteration whose number is not there has its key hashed when it is needed.
constexpr std::int64_t kRingSlots = 64;
llvm::Value* new_ring(Emitter& e);
void clear_ring(Emitter& e, llvm::Value* ring);
/// Hashes `key`, that of `tag.iteration`, keeps its tag and prefetches the slot of the index.
void hash_early(Emitter& e, llvm::Value* table, const Type* key_type, const Leaves& key, const EarlyTag& tag);
/// Prefetches the entry that the index has for the tag, or, if the tag is there, the strings in the entry's key.
void prefetch_tagged_entry(Emitter& e, llvm::Value* table, const Type* key_type, const Type* value_type,
                           const EarlyTag& tag);
void prefetch_tagged_strings(Emitter& e, llvm::Value* table, const Type* key_type, const Type* value_type,
                             const EarlyTag& tag);

llvm::Value* index_slots(Emitter& e, llvm::Value* table);

/// `table`, or an empty one instead of null.
llvm::Value* never_null(Emitter& e, llvm::Value* table);

}  // namespace weld::codegen
