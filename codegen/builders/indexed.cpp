// What the builders that merge at an index do alike: they begin with a vector, check the index, and take
// lanes one by one.
#include "codegen/builders/indexed.h"

#include <utility>

#include "codegen/lanes.h"
#include "codegen/slab.h"

namespace weld::codegen {

Leaves begin_at_indices(Emitter& e, NewBuilder b, const Leaves& arg) {
    if (b.node->says(AttrKey::InPlace, true)) return arg;
    const Type* elem = b.node->type->elem();
    llvm::Value* bytes = e.ir.CreateMul(arg[1], e.c64(size_of(elem)));
    const auto copied_to = [&](llvm::Value* copy) {
        e.call_checked("weld_rt_copy", {e.task, copy, arg[0], bytes, e.at(b.node->loc)});
    };
    const Slab* slab = slab_of(b.node);
    if (!slab) {
        llvm::Value* copy = e.alloc(arg[1], size_of(elem), b.node->loc);
        copied_to(copy);
        return {copy, arg[1]};
    }
    const Leaves none = {llvm::ConstantPointerNull::get(e.unit.ptr), e.c64(0), e.c64(0)};
    llvm::Value* copy = grown_in_slab(e, *slab, elem, none, arg[1], b.node->loc)[0];
    const auto little = [&]() -> Leaves {
        e.ir.CreateMemCpy(copy, llvm::Align(std::uint64_t(align_of(elem))), arg[0],
                          llvm::Align(std::uint64_t(align_of(elem))), bytes);
        return {};
    };
    const auto much = [&]() -> Leaves {
        copied_to(copy);
        return {};
    };
    e.emit_if(e.ir.CreateICmpULE(bytes, e.c64(kWeldMostInSlab)), little, much);
    return {copy, arg[1]};
}

void check_index(Emitter& e, Merge g, const Leaves& s, const Leaves& v) {
    e.fail_if(e.ir.CreateICmpUGE(v[0], s[1]), kWeldArrayOutOfBounds, g.node->loc, v[0], s[1]);
}

void check_row(Emitter& e, Merge g, const Leaves& s, const Leaves& v, std::uint32_t n) {
    auto& ir = e.ir;
    llvm::Value* starts_outside = ir.CreateICmpUGE(v[0], s[1]);
    llvm::Value* count = e.tail.mask ? e.tail.count : e.c64(n);
    llvm::Value* ends_outside = ir.CreateICmpSLT(ir.CreateSub(s[1], v[0]), count);
    e.fail_if(ir.CreateOr(starts_outside, ends_outside), kWeldArrayOutOfBounds, g.node->loc,
              ir.CreateSelect(starts_outside, v[0], s[1]), s[1]);
}

void merge_one_by_one(Emitter& e, Merge g, const Leaves& s, const Leaves& v, std::uint32_t n,
                      llvm::Value* mask, MergeOne merge) {
    const bool outer = std::exchange(e.side_by_side, true);
    for (std::uint32_t k = 0; k < n; ++k) {
        const auto one = [&] {
            Leaves value = lane(e, v, k);
            value[0] = e.ir.CreateAdd(value[0], e.c64(k));
            return merge(e, g, s, value);
        };
        if (!mask) one();
        else e.emit_if(e.ir.CreateExtractElement(mask, std::uint64_t(k)), one, [&] { return s; });
    }
    e.side_by_side = outer;
}

}  // namespace weld::codegen
