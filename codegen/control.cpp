// Blocks, branches, iterate, and calls of kernels.
#include "codegen/emit.h"
#include "codegen/loops.h"
#include "weldir/ir/kernels.h"

namespace weld::codegen {

Leaves Emitter::emit_block(Block b) {
    Leaves result;
    if (emit_in_segments(b, &result)) return result;
    emit_lets(b, 0, b.size());
    return emit(b.result());
}

void Emitter::emit_lets_of(Block b) {
    if (!emit_in_segments(b)) emit_lets(b, 0, b.size());
}

void Emitter::emit_lets(Block b, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
        if (!unit.constants.value(b.symbol(i))) names[b.symbol(i)] = emit(b.value(i));
}

void Emitter::end_value(llvm::StringRef how, const Type* t, llvm::ArrayRef<llvm::Value*> leaves) {
    if (t->is_vec()) call(how, {task, leaves[0]});
    if (t->is_dict() && how == "weld_rt_free") call("weld_rt_dict_free", {task, leaves[0]});
    if (!t->is_struct()) return;
    for (std::size_t i = 0; i < t->args.size(); ++i)
        end_value(how, t->args[i], leaves.drop_front(std::size_t(field_offset(t, i))));
}

Leaves Emitter::emit_if(llvm::Value* cond, const std::function<Leaves()>& then,
                        const std::function<Leaves()>& otherwise, llvm::MDNode* weights) {
    auto *yes = block("then"), *no = block("else"), *join = block("join");
    ir.CreateCondBr(cond, yes, no, weights);
    ir.SetInsertPoint(yes);
    const Leaves a = then();
    yes = ir.GetInsertBlock();
    ir.CreateBr(join);
    ir.SetInsertPoint(no);
    const Leaves b = otherwise();
    no = ir.GetInsertBlock();
    ir.CreateBr(join);
    ir.SetInsertPoint(join);
    Leaves joined = a;
    for (std::size_t k = 0; k < a.size(); ++k) {
        if (a[k] == b[k]) continue;
        llvm::PHINode* phi = ir.CreatePHI(a[k]->getType(), 2);
        phi->addIncoming(a[k], yes);
        phi->addIncoming(b[k], no);
        joined[k] = phi;
    }
    return joined;
}

Leaves Emitter::emit_select(Select s) {
    llvm::Value* cond = emit1(s.cond());
    Leaves a = emit(s.then());
    const Leaves b = emit(s.otherwise());
    for (std::size_t k = 0; k < a.size(); ++k) a[k] = ir.CreateSelect(cond, a[k], b[k]);
    return a;
}

/// The lanes of an iterate that go on: all ones, as wide as the widest scalar of the state, so that no round
/// has to make masks of another width. (Where masks are bits, they have no width.)
class ActiveLanes {
  public:
    ActiveLanes(Emitter& e, std::uint32_t lanes, const Type* state) : e_(e) {
        if (!lanes) return;
        int bits = 1;
        if (!e.unit.target.packs)
            for_each_scalar(state, [&](Scalar s) { bits = std::max(bits, 8 * size_of(s)); });
        type_ = llvm::FixedVectorType::get(e.ir.getIntNTy(unsigned(bits)), lanes);
    }

    void begin(llvm::BasicBlock* before) {
        active_ = e_.ir.CreatePHI(type_, 2);
        active_->addIncoming(llvm::Constant::getAllOnesValue(type_), before);
    }

    /// Lanes that went on before have `next`, the others keep `state`. Gives whether any goes on.
    llvm::Value* go_on(const Leaves& state, Leaves& next, llvm::Value* again) {
        auto& ir = e_.ir;
        llvm::Value* mask = ir.CreateICmpSLT(active_, llvm::Constant::getNullValue(type_));
        for (std::size_t k = 0; k < next.size(); ++k) next[k] = ir.CreateSelect(mask, next[k], state[k]);
        still_ = ir.CreateAnd(active_, ir.CreateSExt(again, type_));
        llvm::Value* left = ir.CreateICmpSLT(still_, llvm::Constant::getNullValue(type_));
        llvm::Type* bits = ir.getIntNTy(type_->getNumElements());
        return ir.CreateIsNotNull(ir.CreateBitCast(left, bits));
    }

    void end_round(llvm::BasicBlock* latch) { active_->addIncoming(still_, latch); }

  private:
    Emitter& e_;
    llvm::FixedVectorType* type_ = nullptr;
    llvm::PHINode* active_ = nullptr;
    llvm::Value* still_ = nullptr;
};

// The rounds have a region of their own, so that what they leave behind can be collected (weld_abi.h,
// WeldTask::debt).
Leaves Emitter::emit_iterate(Iterate it) {
    const Leaves init = emit(it.init());
    const bool region = may_allocate(it.body().body());
    if (region) call("weld_rt_region_enter", {task});
    auto* before = ir.GetInsertBlock();
    auto *round = block("round"), *done = block("iterated");
    ir.CreateBr(round);
    ir.SetInsertPoint(round);
    Leaves state = init;
    for (llvm::Value*& v : state) {
        llvm::PHINode* phi = ir.CreatePHI(v->getType(), 2);
        phi->addIncoming(v, before);
        v = phi;
    }
    names[it.body().param(0)] = state;
    const std::uint32_t lanes = it.lanes();
    ActiveLanes active(*this, lanes, it.node->type);
    if (lanes) active.begin(before);
    stop_check(it.node->loc);
    ++loop_depth;
    Leaves next = emit(it.body().body());
    --loop_depth;
    llvm::Value* again = next.pop_back_val();
    if (lanes) again = active.go_on(state, next, again);
    if (region) collect_check(it.init()->type, [&] { return next; });
    auto* latch = ir.GetInsertBlock();
    for (std::size_t k = 0; k < state.size(); ++k)
        llvm::cast<llvm::PHINode>(state[k])->addIncoming(next[k], latch);
    if (lanes) active.end_round(latch);
    ir.CreateCondBr(again, round, done);
    ir.SetInsertPoint(done);
    if (region) call("weld_rt_region_exit", {task});
    return next;
}

Leaves Emitter::emit_kernel(Kernel k) {
    const unsigned n = unsigned(k.args().size());
    llvm::Value* pointers = slot(8 * (std::int64_t(n) + 1), 8);
    for (unsigned i = 0; i < n; ++i)
        ir.CreateStore(spill(k.args()[i]->type, emit(k.args()[i])), address(pointers, 8 * i));
    llvm::Value* result = slot(size_of(k.node->type), align_of(k.node->type));
    ir.CreateMemSet(result, ir.getInt8(0), std::uint64_t(size_of(k.node->type)), llvm::MaybeAlign(8));
    if (const BuiltinKernel* row = k.ref().builtin) {
        llvm::Value* call = slot(sizeof(WeldCall), alignof(WeldCall));
        ir.CreateStore(pointers, address(call, offsetof(WeldCall, args)));
        ir.CreateStore(unit.describe_all(types_of_variables(*row, k.args(), k.node->type)),
                       address(call, offsetof(WeldCall, types)));
        ir.CreateStore(ir.getInt32(n), address(call, offsetof(WeldCall, num_args)));
        ir.CreateStore(at(k.node->loc), address(call, offsetof(WeldCall, loc)));
        auto target =
            unit.external(std::string(row->symbol),
                          llvm::FunctionType::get(ir.getInt32Ty(), {unit.ptr, unit.ptr, unit.ptr}, false));
        leave_if(ir.CreateIsNotNull(ir.CreateCall(target, {task, call, result})));
        return load(k.node->type, result);
    }
    ir.CreateStore(result, address(pointers, 8 * n));
    // the prefix keeps the user's names apart from ours
    auto target = unit.external(std::string(kUserFunction) + std::string(k.ref().name),
                                llvm::FunctionType::get(llvm::Type::getVoidTy(unit.ctx), false));
    call_checked("weld_rt_call", {task, target.getCallee(), pointers, c64(n + 1), at(k.node->loc)});
    if (k.node->type->holds_pointer)
        call_checked("weld_rt_check_given", {task, unit.describe(k.node->type), result, at(k.node->loc)});
    return load(k.node->type, result);
}

}  // namespace weld::codegen
