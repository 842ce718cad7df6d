// `vecmerger[T,op]`: {data, length} of its own copy of the vector, or of the vector itself.
#include "codegen/builders/code.h"
#include "codegen/builders/counters.h"
#include "codegen/lanes.h"

namespace weld::codegen {

static int leaves(const Emitter&, const Type*, Lanes) { return 2; }

static Leaves begin(Emitter& e, NewBuilder b, const Leaves& arg) {
    if (b.node->says(AttrKey::InPlace, true)) return arg;
    const std::int64_t size = size_of(b.node->type->elem());
    llvm::Value* copy = e.alloc(arg[1], size, b.node->loc);
    llvm::Value* bytes = e.ir.CreateMul(arg[1], e.c64(size));
    e.call_checked("weld_rt_copy", {e.task, copy, arg[0], bytes, e.at(b.node->loc)});
    return {copy, arg[1]};
}

static Leaves merge(Emitter& e, Merge g, const Leaves& s, const Leaves& v) {
    const Type* t = g.node->type;
    e.fail_if(e.ir.CreateICmpUGE(v[0], s[1]), kWeldArrayOutOfBounds, g.node->loc, v[0], s[1]);
    if (e.may_count_narrowly && is_count(g)) merge_count(e, s[0], v[0], v[1]);
    else
        merge_in_memory(e, t->elem(), t->op, e.element(s[0], t->elem(), v[0]),
                        llvm::ArrayRef<llvm::Value*>(v).drop_front(1));
    return s;
}

/// Lanes for the elements from index v[0] on.
static Leaves merge_row(Emitter& e, Merge g, const Leaves& s, const Leaves& v, std::uint32_t n) {
    auto& ir = e.ir;
    const Type* t = g.node->type;
    llvm::Value* starts_outside = ir.CreateICmpUGE(v[0], s[1]);
    llvm::Value* count = e.tail.mask ? e.tail.count : e.c64(n);
    llvm::Value* ends_outside = ir.CreateICmpSLT(ir.CreateSub(s[1], v[0]), count);
    e.fail_if(ir.CreateOr(starts_outside, ends_outside), kWeldArrayOutOfBounds, g.node->loc,
              ir.CreateSelect(starts_outside, v[0], s[1]), s[1]);
    const Type* row = g.value()->type->args[1];
    llvm::Value* at = e.element(s[0], t->elem(), v[0]);
    llvm::Value* before = e.tail.mask ? e.load_tail(row, at) : e.load(row, at)[0];
    llvm::Value* after = e.merge_op(t->op, row->scalar, before, v[1]);
    if (e.tail.mask) e.store_tail(row->scalar, after, at);
    else e.store(row, {after}, at);
    return s;
}

/// Lanes of which all, or the first ones, belong to elements that follow one another are a row.
static std::optional<Leaves> merge_lanes(Emitter& e, Merge g, const Leaves& s, const Leaves& v,
                                         std::uint32_t n, llvm::Value* mask) {
    const bool row = g.value()->type->args[0]->is_scalar();
    if (!row) return {};
    if (mask == e.tail.mask && g.node->type->elem()->is_scalar()) return merge_row(e, g, s, v, n);
    for (std::uint32_t k = 0; k < n; ++k) {
        const auto one = [&] {
            Leaves value = lane(e, v, k);
            value[0] = e.ir.CreateAdd(value[0], e.c64(k));
            return merge(e, g, s, value);
        };
        if (!mask) one();
        else e.emit_if(e.ir.CreateExtractElement(mask, std::uint64_t(k)), one, [&] { return s; });
    }
    return s;
}

static Leaves result(Emitter&, Result, const Leaves& s) { return s; }

const BuilderCode kVecMergerCode = {leaves, begin, same_form, merge, merge_lanes, result};

}  // namespace weld::codegen
