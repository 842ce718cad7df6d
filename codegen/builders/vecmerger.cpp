// `vecmerger[T,op]`: elements that are merged into.
#include "codegen/builders/indexed.h"

namespace weld::codegen {

static int leaves(const Emitter&, const Type*, Lanes) { return 2; }

/// Of `inc [data + 8 * i]` for several iterations side by side, an AMD Zen 4 believes that each reads what the one before
/// has written, at some distances of these instructions (multiples of 16 bytes), and takes ten times as long. It does not
/// where the address is in a register, nor of floats.
static llvm::Value* place(Emitter& e, const Type* elem, llvm::Value* data, llvm::Value* index) {
    llvm::Value* at = e.element(data, elem, index);
    bool integers = false;
    for_each_scalar(elem, [&](Scalar s) { integers |= !is_float(s); });
    return integers && e.side_by_side ? e.opaque(at) : at;
}

static Leaves merge(Emitter& e, Merge g, const Leaves& s, const Leaves& v) {
    const Type* t = g.node->type;
    auto* evaluated = e.ir.GetInsertBlock();
    check_index(e, g, s, v);
    merge_in_memory(e, t->elem(), t->op, place(e, t->elem(), s[0], v[0]),
                    llvm::ArrayRef<llvm::Value*>(v).drop_front(1), evaluated);
    return s;
}

Leaves add_if(Emitter& e, Merge g, llvm::Value* counts, const Leaves& s, const Leaves& v) {
    constexpr std::int64_t spare = 8;  // elements, by turns: additions to one would wait for each other
    const Type* elem = g.node->type->elem();
    auto* evaluated = e.ir.GetInsertBlock();
    llvm::Value* outside = e.ir.CreateICmpUGE(v[0], s[1]);
    e.fail_if(e.ir.CreateAnd(counts, outside), kWeldArrayOutOfBounds, g.node->loc, v[0], s[1]);
    // One branch that is never taken: LLVM would make two of it, of which the first could not be predicted.
    e.ir.GetInsertBlock()->getSinglePredecessor()->getTerminator()->setMetadata(
        llvm::LLVMContext::MD_unpredictable, llvm::MDNode::get(e.unit.ctx, {}));
    llvm::Value* none = e.slot(spare * size_of(elem), 64);
    none = e.element(none, elem, e.ir.CreateAnd(v[0], e.c64(spare - 1)));
    llvm::Value* at = e.ir.CreateSelect(counts, e.element(s[0], elem, v[0]), none);
    merge_in_memory(e, elem, g.node->type->op, at, llvm::ArrayRef<llvm::Value*>(v).drop_front(1), evaluated);
    return s;
}

/// Lanes for the elements from index v[0] on.
static Leaves merge_row(Emitter& e, Merge g, const Leaves& s, const Leaves& v, std::uint32_t n) {
    const Type* t = g.node->type;
    auto* evaluated = e.ir.GetInsertBlock();
    check_row(e, g, s, v, n);
    const Type* row = g.value()->type->args[1];
    llvm::Value* at = e.element(s[0], t->elem(), v[0]);
    const auto merged = [&](llvm::Value* before, llvm::Value* lanes) {
        return e.merge_op(t->op, row->scalar, before, lanes, evaluated);
    };
    if (e.tail.mask) e.change_tail(row, v[1], at, merged);
    else e.store(row, {merged(e.load(row, at)[0], v[1])}, at);
    return s;
}

/// Lanes of which all, or the first ones, belong to elements that follow one another are a row.
static std::optional<Leaves> merge_lanes(Emitter& e, Merge g, const Leaves& s, const Leaves& v,
                                         std::uint32_t n, llvm::Value* mask) {
    const bool row = g.value()->type->args[0]->is_scalar();
    if (!row) return {};
    if (mask == e.tail.mask && g.node->type->elem()->is_scalar()) return merge_row(e, g, s, v, n);
    merge_one_by_one(e, g, s, v, n, mask, merge);
    return s;
}

static Leaves result(Emitter&, Result, const Leaves& s) { return s; }

const BuilderCode kVecMergerCode = {leaves, begin_at_indices, same_form, merge, merge_lanes, result};

}  // namespace weld::codegen
