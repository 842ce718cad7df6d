// `topk[T](n)`: a pointer to a WeldTopK. What cannot be among the least is seen here, at the bound; the rest
// is the runtime's.
#include <cstddef>
#include <vector>

#include "codegen/builders/code.h"
#include "codegen/spilled_lanes.h"
#include "runtime/abi/weld_abi.h"
#include "weldir/ir/builder.h"

namespace weld::codegen {

static int leaves(const Emitter&, const Type*, Lanes) { return 1; }

static Leaves begin(Emitter& e, NewBuilder b, const Leaves& arg) {
    return {e.call_pointer("weld_rt_topk_new", {e.task, arg[0], e.at(b.node->loc)})};
}

/// A scalar of those that elements begin with, and where it lies.
struct First {
    const Type* type;
    std::int64_t offset;
};

/// Adds those scalars of `t` to `all` that stand in the bound; false if something else follows.
static bool add_first(const Type* t, std::int64_t offset, std::vector<First>* all) {
    if (t->is_struct()) {
        const auto offsets = offsets_of(t->args);
        for (std::size_t i = 0; i < t->args.size(); ++i)
            if (!add_first(t->args[i], offset + offsets[i], all)) return false;
        return true;
    }
    if (!t->is_scalar() || t->is_bool() || offset + size_of(t) > kWeldBoundBytes) return false;
    all->push_back({t, offset});
    return true;
}

/// Calls `add` unless an element that begins with the scalars `x` comes after all that stay, as equal ones do if
/// nothing follows. The first scalar nearly always tells.
static void unless_behind(Emitter& e, const std::vector<First>& first, bool is_all, llvm::Value* k,
                          const Leaves& x, const std::function<void()>& add) {
    llvm::Value* bound = e.address(k, offsetof(WeldTopK, bound));
    llvm::Value* full = e.ir.CreateIsNotNull(e.load(fields::TopK::is_full, k));
    const auto is = [&](Op op, std::size_t i) {
        const Type* t = first[i].type;
        return e.scalar_op(op, t->scalar, x[i], e.load(t, e.address(bound, first[i].offset))[0], {});
    };
    const auto nothing = [] { return Leaves{}; };
    e.emit_if(e.ir.CreateAnd(full, is(Op::Gt, 0)), nothing, [&] {
        llvm::Value* behind = e.ir.getInt1(is_all);
        for (std::size_t i = first.size(); i-- > 1;)
            behind = e.ir.CreateOr(is(Op::Gt, i), e.ir.CreateAnd(is(Op::Eq, i), behind));
        llvm::Value* is_behind = e.ir.CreateAnd(full, e.ir.CreateAnd(is(Op::Eq, 0), behind));
        return e.emit_if(is_behind, nothing, [&] {
            add();
            return Leaves{};
        });
    });
}

/// Behind the others, which the runtime makes fewer when there is no room.
static void append(Emitter& e, Merge g, llvm::Value* k, const Leaves& v) {
    const Type* elem = g.node->type->elem();
    llvm::Value* array = e.address(k, offsetof(WeldTopK, elements));
    llvm::Value* size = e.load(fields::Appender::size, array);
    const auto in_place = [&]() -> Leaves {
        e.store(elem, v, e.element(e.load(fields::Appender::data, array), elem, size));
        e.store(fields::Appender::size, e.ir.CreateAdd(size, e.c64(1)), array);
        return {};
    };
    const auto by_runtime = [&]() -> Leaves {
        e.call_checked("weld_rt_topk_merge",
                       {e.task, k, e.unit.describe(elem), e.spill(elem, v), e.at(g.node->loc)});
        return {};
    };
    e.emit_if(e.ir.CreateICmpSLT(size, e.load(fields::Appender::capacity, array)), in_place, by_runtime);
}

static Leaves merge(Emitter& e, Merge g, const Leaves& s, const Leaves& v) {
    const Type* elem = g.node->type->elem();
    const auto add = [&] { append(e, g, s[0], v); };
    std::vector<First> first;
    const bool is_all = add_first(elem, 0, &first);
    if (first.empty()) add();
    else unless_behind(e, first, is_all, s[0], v, add);
    return s;
}

/// Lanes are merged one by one, in order, if any of them may be among the least.
static std::optional<Leaves> merge_lanes(Emitter& e, Merge g, const Leaves& s, const Leaves& v,
                                         std::uint32_t n, llvm::Value* mask) {
    auto& ir = e.ir;
    const Type* elem = g.node->type->elem();
    if (!info(g.node->type).takes_lanes(g.node->type)) return {};
    std::vector<First> first;
    add_first(elem, 0, &first);
    const Type* t = first[0].type;
    llvm::Value* bound = e.load(t, e.address(s[0], offsetof(WeldTopK, bound)))[0];
    llvm::Value* full = ir.CreateIsNotNull(e.load(fields::TopK::is_full, s[0]));
    llvm::Value* behind = e.scalar_op(Op::Gt, t->scalar, v[0], ir.CreateVectorSplat(n, bound), {});
    llvm::Value* open = ir.CreateNot(ir.CreateAnd(behind, ir.CreateVectorSplat(n, full)));
    if (mask) open = ir.CreateAnd(open, mask);
    const auto nothing = [] { return Leaves{}; };
    const auto one_by_one = [&] {
        const SpilledLanes spilled(e, g.value()->type, elem, v);
        llvm::Value* bits = ir.CreateBitCast(open, ir.getIntNTy(n));
        e.counted_loop(e.c64(0), e.c64(n), 1, {}, {}, [&](llvm::Value* i, const Leaves&) {
            llvm::Value* bit = ir.CreateLShr(bits, ir.CreateTrunc(i, bits->getType()));
            return e.emit_if(
                ir.CreateTrunc(bit, ir.getInt1Ty()),
                [&] {
                    merge(e, g, s, spilled.lane(i));
                    return Leaves{};
                },
                nothing);
        });
        return Leaves{};
    };
    e.emit_if(ir.CreateOrReduce(open), one_by_one, nothing);
    return s;
}

static Leaves result(Emitter& e, Result r, const Leaves& s) {
    const Type* elem = r.builder()->type->elem();
    llvm::Value* out = e.slot_of_vec();
    e.call_checked("weld_rt_topk_result", {e.task, s[0], e.unit.describe(elem), out, e.at(r.node->loc)});
    return e.load(r.node->type, out);
}

const BuilderCode kTopKCode = {leaves, begin, same_form, merge, merge_lanes, result};

}  // namespace weld::codegen
