// Lanes as single values: folded, taken out; lines transposed to lanes.
#pragma once

#include "codegen/emit.h"

namespace weld::codegen {

/// 0, 1, ... in `n` lanes of `bits` bits.
llvm::Constant* lane_numbers(Emitter& e, unsigned n, unsigned bits);
/// Marks lanes that are numbers of a range, its first operand in every lane and lane_numbers added: they do not wrap.
constexpr const char* kNumberedLanes = "weld.numbered";

/// All lanes of `v` combined: halves are folded onto each other, so the order is fixed by the lane count. `numbers`: none
/// is NaN.
llvm::Value* fold_lanes(Emitter& e, MergeOp op, Scalar s, llvm::Value* v, bool numbers = false);
/// Each of `all` folded in this order, and merged into its scalar of `into`; four and more of them go together.
Leaves fold_all_lanes(Emitter& e, MergeOp op, Scalar s, llvm::ArrayRef<llvm::Value*> all, Leaves into,
                      bool numbers = false);

/// One lane of a value whose scalars are simd: the value of `type` in lane `k`.
Leaves lane(Emitter& e, const Leaves& v, std::uint64_t k);

/// Lane `k` of sums and products on lanes, from the same lane of what these are made of.
llvm::Value* lane_of_sum(Emitter& e, llvm::Value* v, unsigned k);

/// Loads the elements of the last round (Emitter::tail), which lie side by side from `lowest` on, and nothing
/// else.
llvm::Value* load_rest(Emitter& e, llvm::FixedVectorType* type, llvm::Value* lowest);
/// The same where the last of them is the first in memory.
llvm::Value* load_rest_down(Emitter& e, llvm::FixedVectorType* type, llvm::Value* lowest);

/// Loads the elements of `data` at the places `k`, as lanes of `type`, one by one.
llvm::Value* load_one_by_one(Emitter& e, llvm::FixedVectorType* type, llvm::Value* data, llvm::Value* k);

/// Writes the transpose of the vectors of `len` scalars at `rows` to `to`, by squares with a register a side.
void transpose(Emitter& e, llvm::Type* scalar, const Leaves& rows, llvm::Value* len, llvm::Value* to);
/// The same where vectors are mostly shorter than a register, so many columns at a time, for which there is room.
constexpr std::int64_t kShortColumns = 4;
void transpose_short(Emitter& e, llvm::Type* scalar, const Leaves& rows, llvm::Value* len, llvm::Value* to);
/// Room for `n` rows of `len` scalars, one behind the other, and for what `write_rows` writes over behind the last one.
llvm::Value* room_for_rows(Emitter& e, std::uint32_t n, llvm::Value* len);
/// The opposite: writes `n` rows of `len` scalars, which lie side by side at `columns`, to `to`, one behind the other.
void write_rows(Emitter& e, llvm::Type* scalar, llvm::Value* columns, std::uint32_t n, llvm::Value* len,
                llvm::Value* to);

}  // namespace weld::codegen
