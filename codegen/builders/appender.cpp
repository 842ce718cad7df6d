// `appender[T]`: {data, size, capacity} in registers everywhere.
#include "codegen/builders/arrays.h"
#include "codegen/builders/code.h"
#include "codegen/slab.h"

namespace weld::codegen {

static int leaves(const Emitter&, const Type*, Lanes) { return 3; }

/// The size that a program gives is no promise: room is made as it is needed, or by the loop that knows.
static Leaves begin(Emitter& e, NewBuilder b, const Leaves& size) {
    const bool makes_room = b.node->says(AttrKey::Capacity, true);
    if (!b.node->says(AttrKey::InPlace, true)) {
        const Leaves empty = {llvm::ConstantPointerNull::get(e.unit.ptr), e.c64(0), e.c64(0)};
        return makes_room ? e.grow_array(b.node->type, empty, size[0], b.node->loc) : empty;
    }
    const Leaves& spare = e.names.at(b.node->annotation(AttrKey::Spare)->symbols[0]);
    const Leaves there = {spare[0], e.c64(0), spare[1]};
    if (!makes_room) return there;
    return e.emit_if(
        e.ir.CreateICmpSLT(spare[1], size[0]),
        [&] { return e.grow_array(b.node->type, there, size[0], b.node->loc); }, [&] { return there; });
}

static Leaves result(Emitter& e, Result r, const Leaves& s) {
    Leaves all = s;
    if (const Slab* slab = slab_of(r.node))
        all = shrunk_in_slab(e, *slab, kept_merges(r.builder()->type), all);
    all.pop_back();  // the capacity
    return all;
}

const BuilderCode kAppenderCode = {leaves, begin, same_form, append, append_lanes, result};

}  // namespace weld::codegen
