// `topk[T](n)`: a pointer to a WeldTopK. What cannot be among the least is seen here, at the bound; the rest
// is the runtime's.
#include <cstddef>

#include "codegen/builders/code.h"
#include "runtime/abi/weld_abi.h"

namespace weld::codegen {

static int leaves(const Emitter&, const Type*, Lanes) { return 1; }

static Leaves begin(Emitter& e, NewBuilder b, const Leaves& arg) {
    return {e.call_pointer("weld_rt_topk_new", {e.task, arg[0], e.at(b.node->loc)})};
}

/// The scalar that elements begin with, which decides first; null if there is none.
static const Type* first_scalar(const Type* t) {
    while (t->is_struct() && !t->args.empty()) t = t->args[0];
    return t->is_scalar() ? t : nullptr;
}

/// i1: an element that begins with `x` comes after all that stay. Equal ones do if nothing follows `x`.
static llvm::Value* is_behind(Emitter& e, const Type* elem, llvm::Value* k, llvm::Value* x) {
    const Type* t = first_scalar(elem);
    llvm::Value* full = e.ir.CreateIsNotNull(e.load(fields::TopK::is_full, k));
    llvm::Value* bound = e.load(t, e.address(k, offsetof(WeldTopK, bound)))[0];
    return e.ir.CreateAnd(full, e.scalar_op(elem == t ? Op::Ge : Op::Gt, t->scalar, x, bound, {}));
}

static Leaves merge(Emitter& e, Merge g, const Leaves& s, const Leaves& v) {
    const Type* elem = g.node->type->elem();
    const auto add = [&]() -> Leaves {
        e.call_checked("weld_rt_topk_merge",
                       {e.task, s[0], e.unit.describe(elem), e.spill(elem, v), e.at(g.node->loc)});
        return {};
    };
    if (first_scalar(elem)) e.emit_if(is_behind(e, elem, s[0], v[0]), [] { return Leaves{}; }, add);
    else add();
    return s;
}

static std::optional<Leaves> merge_lanes(Emitter&, Merge, const Leaves&, const Leaves&, std::uint32_t,
                                         llvm::Value*) {
    return {};
}

static Leaves result(Emitter& e, Result r, const Leaves& s) {
    const Type* elem = r.builder()->type->elem();
    llvm::Value* out = e.slot_of_vec();
    e.call_checked("weld_rt_topk_result", {e.task, s[0], e.unit.describe(elem), out, e.at(r.node->loc)});
    return e.load(r.node->type, out);
}

const BuilderCode kTopKCode = {leaves, begin, same_form, merge, merge_lanes, result};

}  // namespace weld::codegen
