// Short vectors in slabs: room is a few additions, and a call for the next slab.
#include "codegen/slab.h"

#include "codegen/builders/arrays.h"

namespace weld::codegen {

static constexpr Slab kKept = {fields::Task::slab, fields::Task::slab_end, 0, "weld_rt_slab_grow"};
static constexpr Slab kScratch = {fields::Task::scratch, fields::Task::scratch_end, kWeldScratchAlign,
                                  "weld_rt_scratch_grow"};

const Slab& kept_slab() { return kKept; }

const Slab* slab_of(const Expr* e) {
    if (e->annotation(AttrKey::Slab)) return &kKept;
    return e->annotation(AttrKey::Scratch) ? &kScratch : nullptr;
}

static llvm::Value* as_number(Emitter& e, llvm::Value* pointer) {
    return e.ir.CreatePtrToInt(pointer, e.unit.i64);
}

/// The first address from `at` on at which a vector of `elem` may begin.
static llvm::Value* aligned_for(Emitter& e, const Slab& slab, const Type* elem, llvm::Value* at) {
    const std::int64_t align = slab.align ? slab.align : align_of(elem);
    return align == 1 ? at : e.ir.CreateAnd(e.ir.CreateAdd(at, e.c64(align - 1)), e.c64(-align));
}

Leaves grown_in_slab(Emitter& e, const Slab& slab, const Type* elem, const Leaves& array, llvm::Value* need,
                     Loc loc) {
    auto& ir = e.ir;
    const std::int64_t size = size_of(elem);
    if (!size) return array;
    llvm::Value* top = as_number(e, e.load(slab.top, e.task));
    llvm::Value* slab_end = as_number(e, e.load(slab.end, e.task));
    llvm::Value* is_new = ir.CreateICmpEQ(array[2], e.c64(0));
    llvm::Value* begin = ir.CreateSelect(is_new, aligned_for(e, slab, elem, top), as_number(e, array[0]));
    llvm::Value* end = ir.CreateAdd(begin, ir.CreateMul(array[2], e.c64(size)));
    llvm::Value* new_end = ir.CreateAdd(end, ir.CreateMul(need, e.c64(size)));
    llvm::Value* is_last = ir.CreateOr(is_new, ir.CreateICmpEQ(end, top));
    llvm::Value* is_short = ir.CreateICmpULE(need, e.c64(kWeldMostInSlab / size));
    llvm::Value* fits = ir.CreateAnd(ir.CreateAnd(is_last, is_short), ir.CreateICmpULE(new_end, slab_end));
    const auto in_this = [&]() -> Leaves {
        e.store(slab.top, ir.CreateIntToPtr(new_end, e.unit.ptr), e.task);
        return {ir.CreateIntToPtr(begin, e.unit.ptr), array[1], ir.CreateAdd(array[2], need)};
    };
    const auto in_next = [&]() -> Leaves {
        llvm::Value* room = e.slot(sizeof(WeldAppender), alignof(WeldAppender));
        Leaves open = array;
        open.push_back(room);
        closed_array(e, open);
        e.call_checked(slab.grow, {e.task, room, need, e.c64(size), e.at(loc)});
        open = opened_array(e, room);
        open.pop_back();
        return open;
    };
    return e.emit_if(fits, in_this, in_next);
}

Leaves shrunk_in_slab(Emitter& e, const Slab& slab, const Type* elem, const Leaves& array) {
    auto& ir = e.ir;
    llvm::Value* top = e.load(slab.top, e.task);
    llvm::Value* is_last = ir.CreateICmpEQ(e.element(array[0], elem, array[2]), top);
    e.store(slab.top, ir.CreateSelect(is_last, e.element(array[0], elem, array[1]), top), e.task);
    return {array[0], array[1], ir.CreateSelect(is_last, array[1], array[2])};
}

void end_in_scratch(Emitter& e, const Type* elem, const Leaves& vec) {
    if (llvm::isa<llvm::AllocaInst>(vec[0])) return;  // rows side by side, in the frame
    llvm::Value* end = e.element(vec[0], elem, vec[1]);
    llvm::Value* is_last = e.ir.CreateICmpEQ(end, e.load(kScratch.top, e.task));
    const auto pop = [&]() -> Leaves {
        e.store(kScratch.top, vec[0], e.task);
        return {};
    };
    const auto free = [&]() -> Leaves {
        e.call("weld_rt_free", {e.task, vec[0]});
        return {};
    };
    e.emit_if(is_last, pop, free);
}

}  // namespace weld::codegen
