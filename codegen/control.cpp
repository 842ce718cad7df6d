// Blocks, branches, iterate, and calls of kernels.
#include "codegen/emit.h"
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
    const std::size_t reads = strided_reads.size();
    ir.SetInsertPoint(yes);
    const Leaves a = then();
    yes = ir.GetInsertBlock();
    ir.CreateBr(join);
    strided_reads.resize(reads);
    ir.SetInsertPoint(no);
    const Leaves b = otherwise();
    no = ir.GetInsertBlock();
    ir.CreateBr(join);
    strided_reads.resize(reads);
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
    if (s.node->says(AttrKey::Branch, true)) {
        const Leaves other = emit(s.otherwise());
        const auto both = [&] {
            Leaves all = emit(s.then());
            for (std::size_t k = 0; k < all.size(); ++k) all[k] = ir.CreateSelect(cond, all[k], other[k]);
            return all;
        };
        return emit_if(is_needed(s.node, cond), both, [&] { return other; });
    }
    Leaves a = emit(s.then());
    const Leaves b = emit(s.otherwise());
    for (std::size_t k = 0; k < a.size(); ++k) {
        a[k] = ir.CreateSelect(cond, a[k], b[k]);
        // Otherwise LLVM makes branches of some in loops, which the passes have decided against.
        if (auto* select = llvm::dyn_cast<llvm::SelectInst>(a[k]))
            select->setMetadata(llvm::LLVMContext::MD_unpredictable, llvm::MDNode::get(unit.ctx, {}));
    }
    return a;
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
        store(fields::Call::args, pointers, call);
        store(fields::Call::types, unit.describe_all(types_of_variables(*row, k.args(), k.node->type)), call);
        store(fields::Call::num_args, ir.getInt32(n), call);
        store(fields::Call::loc, at(k.node->loc), call);
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
