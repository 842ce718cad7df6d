// The code of a round: keys compared with those held, values merged under masks, new keys told to the
// runtime.
#include "codegen/builders/groups.h"

#include <algorithm>

#include <llvm/IR/MDBuilder.h>

namespace weld::codegen {

// ---- layout of the state -------------------------------------------------------------------------------

constexpr std::size_t kTable = 0, kKeys = 1, kAccumulators = 2;

static std::vector<Scalar> scalars_of(const Type* t) {
    std::vector<Scalar> all;
    for_each_scalar(t, [&](Scalar s) { all.push_back(s); });
    return all;
}

int num_group_leaves(const Type* t, std::uint32_t groups) {
    return int(kAccumulators + groups * scalars_of(t->value()).size());
}

static llvm::IntegerType* word_of(const Emitter& e, const Type* key) {
    return llvm::IntegerType::get(e.unit.ctx, unsigned(8 * size_of(key)));
}

Leaves hold_groups(Emitter& e, const Type* t, const Leaves& table, Lanes form) {
    const std::uint32_t groups = form.groups;
    llvm::Value* room = e.slot(std::int64_t(sizeof(WeldHeldKeys)) + groups * size_of(t->key()), 8);
    e.store(fields::HeldKeys::held, e.c64(0), room);
    e.store(fields::HeldKeys::most, e.c64(groups), room);
    Leaves state = {table[0], room};
    const std::vector<Scalar> scalars = scalars_of(t->value());
    for (std::uint32_t g = 0; g < groups; ++g)
        for (std::size_t k = 0; k < scalars.size(); ++k)
            state.push_back(e.ir.CreateVectorSplat(form.lanes, e.neutral(op_of_field(t->op, k), scalars[k])));
    return state;
}

static llvm::Value* keys_held(Emitter& e, llvm::ArrayRef<llvm::Value*> state) {
    return e.load(fields::HeldKeys::held, state[kKeys]);
}

llvm::Value* has_more_groups(Emitter& e, llvm::ArrayRef<llvm::Value*> state) {
    return e.ir.CreateICmpUGT(keys_held(e, state), e.c64(e.lanes.groups));
}

// ---- merging -------------------------------------------------------------------------------------------

/// The keys of all lanes as words.
static llvm::Value* words(Emitter& e, const Type* key, const Leaves& v, std::uint32_t n) {
    auto* type = llvm::FixedVectorType::get(word_of(e, key), n);
    llvm::Value* all = nullptr;
    std::size_t leaf = 0;
    std::uint64_t shift = 0;
    for_each_scalar(key, [&](Scalar s) {
        llvm::Value* part = e.ir.CreateZExt(v[leaf++], type);
        if (shift) part = e.ir.CreateShl(part, shift);
        shift += 8 * std::uint64_t(size_of(s));
        all = all ? e.ir.CreateOr(all, part) : part;
    });
    return all;
}

static std::int64_t bytes_of(const Emitter& e, llvm::Value* v) {
    return std::int64_t(e.unit.out.getDataLayout().getTypeStoreSize(v->getType()).getFixedValue());
}

static std::int64_t bytes_of(const Emitter& e, llvm::ArrayRef<llvm::Value*> values) {
    std::int64_t sum = 0;
    for (llvm::Value* v : values) sum += bytes_of(e, v);
    return sum;
}

/// Stores one value after the other, from `to` on.
static void store_all(Emitter& e, llvm::ArrayRef<llvm::Value*> values, llvm::Value* to) {
    std::int64_t at = 0;
    for (llvm::Value* v : values) {
        e.ir.CreateAlignedStore(v, e.address(to, at), llvm::Align(1));
        at += bytes_of(e, v);
    }
}

/// A block that the present place is reached from, and the state there.
using Way = std::pair<llvm::BasicBlock*, Leaves>;

/// The state where all ways meet; `changed` tells which leaves differ from way to way.
static Leaves joined(Emitter& e, llvm::ArrayRef<Way> ways, const std::function<bool(std::size_t)>& changed) {
    Leaves all = ways[0].second;
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (!changed(k)) continue;
        llvm::PHINode* phi = e.ir.CreatePHI(all[k]->getType(), unsigned(ways.size()));
        for (const auto& [block, leaves] : ways) phi->addIncoming(leaves[k], block);
        all[k] = phi;
    }
    return all;
}

Leaves merge_into_groups(Emitter& e, const Type* t, const Leaves& state, const Leaves& v, std::uint32_t n,
                         llvm::Value* mask, Loc loc) {
    auto& ir = e.ir;
    const auto rare = llvm::MDBuilder(e.unit.ctx).createBranchWeights(1, 1 << 20);
    Leaves lanes;
    for (llvm::Value* x : v) lanes.push_back(x->getType()->isVectorTy() ? x : ir.CreateVectorSplat(n, x));
    const std::vector<Scalar> scalars = scalars_of(t->value());
    const auto values = llvm::ArrayRef<llvm::Value*>(lanes).take_back(scalars.size());
    llvm::Value* keys = words(e, t->key(), lanes, n);
    llvm::Value* left =
        mask ? mask : llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(e.unit.i1, n));

    // Keys that are not there yet repeat the last one, which takes their lanes; without any, all is new.
    std::vector<Way> misses, ways_on;  // the lanes that are left are the last leaf of a miss
    const auto miss = [&](Leaves leaves) {
        leaves.push_back(left);
        misses.emplace_back(ir.GetInsertBlock(), leaves);
    };
    auto *held = e.block("held"), *fresh = e.block("new_group"), *on = e.block("merged");
    miss(state);
    ir.CreateCondBr(ir.CreateIsNull(keys_held(e, state)), fresh, held, rare);
    ir.SetInsertPoint(held);
    Leaves now = state;
    const std::uint32_t groups = e.lanes.groups;
    llvm::Type* word = word_of(e, t->key());
    for (std::uint32_t g = 0; g < groups; ++g) {
        llvm::Value* at = e.address(state[kKeys], std::int64_t(sizeof(WeldHeldKeys)) + g * size_of(t->key()));
        llvm::Value* key = ir.CreateVectorSplat(n, ir.CreateLoad(word, at));
        llvm::Value* hit = ir.CreateAnd(left, ir.CreateICmpEQ(keys, key));
        for (std::size_t k = 0; k < scalars.size(); ++k) {
            llvm::Value*& into = now[kAccumulators + g * scalars.size() + k];
            into = ir.CreateSelect(hit, e.merge_op(op_of_field(t->op, k), scalars[k], into, values[k]), into);
        }
        left = ir.CreateAnd(left, ir.CreateNot(hit));
        const bool last = g + 1 == groups;
        if (!last && (g + 1) % e.lanes.batch) continue;  // it is asked whether any lane is left
        ways_on.emplace_back(ir.GetInsertBlock(), now);
        auto* more = last ? fresh : e.block("more_groups");
        if (last) miss(now);
        ir.CreateCondBr(ir.CreateOrReduce(left), more, on, last ? rare : nullptr);
        if (!last) ir.SetInsertPoint(more);
    }

    const auto changed = [&](std::size_t k) { return k >= state.size() || now[k] != state[k]; };
    ir.SetInsertPoint(fresh);
    Leaves missed = joined(e, misses, changed);
    left = missed.pop_back_val();
    llvm::Value* bits =
        ir.CreateZExt(ir.CreateBitCast(left, llvm::IntegerType::get(e.unit.ctx, n)), e.unit.i64);
    llvm::Value* room = e.slot(bytes_of(e, keys) + bytes_of(e, values), 64);
    llvm::Value* room_of_values = e.address(room, bytes_of(e, keys));
    store_all(e, keys, room);
    store_all(e, values, room_of_values);
    e.call_checked("weld_rt_dict_hold", {e.task, state[kTable], state[kKeys], room, room_of_values, e.c64(n),
                                         bits, e.c32(int(t->op)), e.at(loc)});
    ways_on.emplace_back(ir.GetInsertBlock(), missed);
    ir.CreateBr(on);

    ir.SetInsertPoint(on);
    return joined(e, ways_on, changed);
}

Leaves release_groups(Emitter& e, const Type* t, const Leaves& state, Lanes form, Loc loc) {
    const auto accumulators = llvm::ArrayRef<llvm::Value*>(state).drop_front(kAccumulators);
    const std::int64_t bytes = bytes_of(e, accumulators), groups = form.groups;
    const unsigned n = llvm::cast<llvm::FixedVectorType>(accumulators[0]->getType())->getNumElements();
    llvm::Value* room = e.slot(bytes, 64);
    store_all(e, accumulators, room);
    e.call_checked("weld_rt_dict_release", {e.task, state[kTable], state[kKeys], room, e.c64(n),
                                            e.c64(bytes / groups), e.c32(int(t->op)), e.at(loc)});
    return {state[kTable]};
}

}  // namespace weld::codegen
