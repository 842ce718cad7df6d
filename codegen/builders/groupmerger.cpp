// `groupmerger[K,V]`: a pointer to the array of all {key, value}; inside of loops the array in registers as
// well. The runtime makes groups of it in the end.
#include "codegen/builders/arrays.h"
#include "codegen/builders/code.h"

namespace weld::codegen {

static int leaves(const Emitter&, const Type*, Lanes form) { return form.arrays ? 4 : 1; }

static Leaves begin(Emitter& e, NewBuilder b, const Leaves&) {
    return {e.call_pointer("weld_rt_group_new", {e.task, e.at(b.node->loc)})};
}

static Leaves reform(Emitter& e, const Type*, const Leaves& s, Lanes from, Lanes to, Loc) {
    if (from.arrays == to.arrays) return s;
    return to.arrays ? opened_array(e, s[0]) : closed_array(e, s);
}

static Leaves result(Emitter& e, Result r, const Leaves& s) {
    const Type* t = r.builder()->type;
    llvm::Value* array = reform(e, t, s, e.lanes, {}, {})[0];
    return {e.call_pointer("weld_rt_group_result",
                           {e.task, array, e.unit.describe(kept_merges(t)), e.at(r.node->loc)})};
}

const BuilderCode kGroupMergerCode = {leaves, begin, reform, append, append_lanes, result};

}  // namespace weld::codegen
