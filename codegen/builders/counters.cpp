// Which vecmergers count, and counting in either width.
#include "codegen/builders/counters.h"

#include <limits>

#include "weldir/ir/builder.h"

namespace weld::codegen {

constexpr std::int64_t kMostAtOnce = std::numeric_limits<std::int32_t>::max();

/// What the absolute value of an integer `e` is at most, or more; above kMostAtOnce if that is unknown.
static std::int64_t bound(const Expr* e) {
    constexpr std::int64_t unknown = kMostAtOnce + 1;
    if (!e->type->is_scalar()) return unknown;
    switch (e->op) {
        case Op::Literal: {
            const auto v = std::int64_t(e->attr.bits);
            return v < -kMostAtOnce ? unknown : std::min(std::abs(v), unknown);
        }
        case Op::Select: return std::max(bound(e->arg(1)), bound(e->arg(2)));
        case Op::Cast: {
            const Type* from = e->arg(0)->type;
            if (from->is_bool()) return 1;
            return !is_float(from->scalar) && size_of(from) < 4 ? 1 << 8 * size_of(from) : unknown;
        }
        default: return unknown;
    }
}

/// A vecmerger whose counters may be narrow.
static bool sums_wide_integers(const Type* t) {
    return t->is_builder() && info(t).indexed && has_operator(t->builder) && t->op == MergeOp::Add &&
           t->elem()->is_scalar() && !is_float(t->elem()->scalar) && size_of(t->elem()) == 8;
}

static std::int64_t bound_of(Merge g) {
    const bool known = !g.mask() && g.value()->op == Op::MakeStruct;
    return known ? bound(g.value()->arg(1)) : kMostAtOnce + 1;
}

bool is_count(Merge g) { return sums_wide_integers(g.node->type) && bound_of(g) <= kMostAtOnce; }

/// Adds what `e` merges into builders of type `t` to `*sum`, which is above kMostAtOnce if that is unknown.
static void add_counts(const Expr* e, const Type* t, bool in_loop, std::int64_t* sum) {
    if (e->op == Op::Merge && e->type == t) *sum += in_loop ? kMostAtOnce + 1 : bound_of(e->as<Merge>());
    if (*sum > kMostAtOnce) return;
    if (e->op == Op::Call && e->type->holds_builder) *sum = kMostAtOnce + 1;
    const bool loops = in_loop || e->op == Op::For || e->op == Op::Iterate;
    for (const Expr* a : e->args()) add_counts(a, t, loops, sum);
}

std::int32_t counts_at_most(For f, const Type* t) {
    std::int64_t sum = 0;
    if (sums_wide_integers(t)) add_counts(f.body().body(), t, false, &sum);
    return sum > kMostAtOnce ? 0 : std::int32_t(sum);
}

static llvm::Value* is_narrow(Emitter& e, llvm::Value* data) {
    return e.ir.CreateTrunc(e.ir.CreatePtrToInt(data, e.unit.i64), e.unit.i1);
}

void merge_count(Emitter& e, llvm::Value* data, llvm::Value* index, llvm::Value* v) {
    auto& ir = e.ir;
    const auto add = [&](llvm::Value* base, llvm::IntegerType* type) -> Leaves {
        const llvm::Align align(type->getBitWidth() / 8);
        llvm::Value* at = ir.CreateGEP(type, base, index);
        llvm::Value* before = ir.CreateAlignedLoad(type, at, align);
        ir.CreateAlignedStore(ir.CreateAdd(before, ir.CreateTrunc(v, type)), at, align);
        return {};
    };
    e.emit_if(
        is_narrow(e, data), [&] { return add(e.address(data, -1), e.unit.i32); },
        [&] { return add(data, e.unit.i64); });
}

llvm::Value* counter(Emitter& e, llvm::Value* data, llvm::Value* index) {
    llvm::Value* shift = e.ir.CreateSelect(is_narrow(e, data), e.c64(2), e.c64(3));
    return e.ir.CreateGEP(e.unit.i8, data, e.ir.CreateShl(index, shift));
}

}  // namespace weld::codegen
