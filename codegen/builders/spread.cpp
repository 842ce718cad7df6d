// The code of a merge at the place of a key.
#include "codegen/builders/spread.h"

#include "codegen/builders/code.h"
#include "codegen/builders/tables.h"
#include "codegen/min_max.h"

namespace weld::codegen {

constexpr std::size_t kTable = 0, kRoom = 1, kSlots = 2, kMask = 3, kShifts = 4;

static int num_fields(const Type* key) {
    int n = 0;
    for_each_scalar(key, [&](Scalar) { ++n; });
    return n;
}

int num_spread_leaves(const Type* t) { return int(kShifts) + num_fields(t->key()) - 1; }

llvm::Value* should_spread(Emitter& e, llvm::Value* table, std::int64_t bytes, llvm::Value* rows) {
    return e.ir.CreateIsNotNull(e.call("weld_rt_dict_should_spread", {e.task, table, e.c64(bytes), rows}));
}

static Leaves opened(Emitter& e, const Type* t, llvm::Value* table, llvm::Value* room) {
    namespace fields = fields::Spread;
    Leaves state = {table, room, e.load(fields::slots, room), e.load(fields::mask, room)};
    const Field shifts[] = {fields::shift1, fields::shift2, fields::shift3};
    static_assert(std::size(shifts) == kWeldMostKeyFields - 1);
    for (int k = 0; k + 1 < num_fields(t->key()); ++k) state.push_back(e.load(shifts[k], room));
    return state;
}

Leaves spread_groups(Emitter& e, const Type* t, llvm::Value* table, std::int64_t bytes, Loc loc) {
    llvm::Value* room = e.slot(sizeof(WeldSpread), alignof(WeldSpread));
    e.call_checked("weld_rt_dict_spread", {e.task, table, room, e.c64(bytes), e.at(loc)});
    return opened(e, t, table, room);
}

Leaves gather_groups(Emitter& e, const Leaves& state, llvm::Value* rows) {
    e.call("weld_rt_dict_gather", {e.task, state[kTable], state[kRoom], rows});
    return {state[kTable]};
}

/// Merges into the value at `at`. A least or greatest integer is seldom another one than before, since each group has many
/// rows: it is asked first, and rounds do not wait for what the last ones of their group have stored.
static void merge_at(Emitter& e, const Type* type, MergeOp op, llvm::Value* at, const Leaves& v) {
    auto& ir = e.ir;
    std::size_t k = 0;
    each_scalar(type, 0, [&](Scalar s, std::int64_t offset) {
        const MergeOp by = op_of_field(op, k);
        const bool min = by == MergeOp::Min;
        const Type* scalar = e.unit.new_types.scalar(s);
        llvm::Value *field = e.address(at, offset), *b = v[k++];
        llvm::Value* a = e.load(scalar, field)[0];
        const auto put = [&](llvm::Value* merged) { e.store(scalar, {merged}, field); };
        if (!min && by != MergeOp::Max) return put(e.merge_op(by, s, a, b));
        if (is_float(s)) return put(float_min_max_of_others(e, min, a, b));
        const auto before = is_signed(s) ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;
        const auto change = [&]() -> Leaves {
            put(b);
            return {};
        };
        llvm::Value* changes = ir.CreateICmp(before, min ? b : a, min ? a : b);
        e.emit_if(changes, change, []() -> Leaves { return {}; }, rarely(e.unit.ctx));
    });
}

Leaves merge_spread(Emitter& e, const Type* t, const Leaves& state, const Leaves& key, const Leaves& value,
                    Loc loc) {
    auto& ir = e.ir;
    const EntryLayout layout = entry_layout(t->key(), t->value());
    llvm::Value* place = place_of(e, t->key(), key, state[kMask], llvm::ArrayRef(state).drop_front(kShifts));
    llvm::Value* entry = ir.CreateGEP(e.unit.i8, state[kSlots], ir.CreateMul(place, e.c64(layout.size)));
    llvm::Value* other = ir.CreateNot(has_key(e, t->key(), entry, key));
    const auto miss = [&] {
        e.call_checked("weld_rt_dict_merge_spread",
                       {e.task, state[kTable], state[kRoom], e.spill(t->key(), key),
                        e.spill(t->value(), value), e.c32(int(t->op)), e.at(loc)});
        return opened(e, t, state[kTable], state[kRoom]);
    };
    const auto merge = [&] {
        merge_at(e, t->value(), t->op, e.address(entry, layout.value_at), value);
        return state;
    };
    return e.emit_if(other, miss, merge, rarely(e.unit.ctx));
}

}  // namespace weld::codegen
