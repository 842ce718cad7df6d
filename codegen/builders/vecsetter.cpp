// `vecsetter[T]`: elements that are replaced.
#include "codegen/builders/indexed.h"

namespace weld::codegen {

static int leaves(const Emitter&, const Type*, Lanes) { return 2; }

static Leaves merge(Emitter& e, Merge g, const Leaves& s, const Leaves& v) {
    const Type* elem = g.node->type->elem();
    check_index(e, g, s, v);
    e.store(elem, Leaves(v.begin() + 1, v.end()), e.element(s[0], elem, v[0]));
    return s;
}

/// Lanes for the elements from index v[0] on.
static Leaves merge_row(Emitter& e, Merge g, const Leaves& s, const Leaves& v, std::uint32_t n) {
    check_row(e, g, s, v, n);
    const Type* row = g.value()->type->args[1];
    llvm::Value* at = e.element(s[0], g.node->type->elem(), v[0]);
    if (e.tail.mask) e.store_tail(row->scalar, v[1], at);
    else e.store(row, {v[1]}, at);
    return s;
}

static std::optional<Leaves> merge_lanes(Emitter& e, Merge g, const Leaves& s, const Leaves& v,
                                         std::uint32_t n, llvm::Value* mask) {
    const Type* elem = g.node->type->elem();
    if (!g.value()->type->args[0]->is_scalar()) return {};
    if (mask == e.tail.mask && elem->is_scalar() && !elem->is_bool()) return merge_row(e, g, s, v, n);
    merge_one_by_one(e, g, s, v, n, mask, merge);
    return s;
}

static Leaves result(Emitter&, Result, const Leaves& s) { return s; }

const BuilderCode kVecSetterCode = {leaves, begin_at_indices, same_form, merge, merge_lanes, result};

}  // namespace weld::codegen
