// Loops that count: with a test at the end, and in strips where they have to look whether to stop.
#include "codegen/phis.h"

#include <utility>

namespace weld::codegen {

LoopPhis::LoopPhis(Emitter& e, const Leaves& begin, llvm::BasicBlock* before, std::vector<bool> fixed)
    : state_(begin), fixed_(std::move(fixed)) {
    for (std::size_t k = 0; k < begin.size(); ++k) {
        if (is_fixed(k)) continue;
        llvm::PHINode* phi = e.ir.CreatePHI(begin[k]->getType(), 2);
        phi->addIncoming(begin[k], before);
        state_[k] = phi;
    }
}

void LoopPhis::go_on_with(const Leaves& next, llvm::BasicBlock* latch) {
    for (std::size_t k = 0; k < state_.size(); ++k)
        if (!is_fixed(k)) llvm::cast<llvm::PHINode>(state_[k])->addIncoming(next[k], latch);
}

void LoopPhis::drop_unchanged(Leaves& others) {
    for (llvm::Value*& v : state_) {
        auto* phi = llvm::dyn_cast<llvm::PHINode>(v);
        llvm::Value* same = phi && phi->getNumIncomingValues() > 1 ? phi->hasConstantValue() : nullptr;
        if (!same || llvm::isa<llvm::UndefValue>(same)) continue;
        for (llvm::Value*& other : others)
            if (other == phi) other = same;
        phi->replaceAllUsesWith(same);
        phi->eraseFromParent();
        v = same;
    }
}

// Without strips:  for (i = lo; i < hi; i += step) body;
// With them:       for (i = lo; i < hi;) { end = min(hi, i + strip); for (; i < end; i += step) body; look; }
Leaves Emitter::counted_loop(llvm::Value* lo, llvm::Value* hi, std::int64_t step, const Leaves& state,
                             const std::vector<bool>& fixed_state,
                             const std::function<Leaves(llvm::Value*, const Leaves&)>& body,
                             const std::optional<Strip>& strip,
                             const std::function<llvm::Value*(const Leaves&)>& leave) {
    std::vector<bool> fixed = fixed_state;
    fixed.push_back(false);  // the number
    Leaves begin = state;
    begin.push_back(lo);
    auto *before = ir.GetInsertBlock(), *loop = block("loop"), *done = block("done");
    auto *outer = strip ? block("strip") : nullptr, *look = strip ? block("look") : done;
    ir.CreateCondBr(ir.CreateICmpSLT(lo, hi), strip ? outer : loop, done);
    std::optional<LoopPhis> outer_phis;
    llvm::Value* end = hi;
    if (strip) {
        ir.SetInsertPoint(outer);
        outer_phis.emplace(*this, begin, before, fixed);
        llvm::Value *i = outer_phis->state().back(), *most = c64(strip->iterations * step);
        llvm::Value* ends = ir.CreateICmpSLE(ir.CreateSub(hi, i), most);
        end = ir.CreateSelect(ends, hi, ir.CreateAdd(i, most));
        ir.CreateBr(loop);
    }
    ir.SetInsertPoint(loop);
    LoopPhis inner_phis(*this, strip ? outer_phis->state() : begin, strip ? outer : before, fixed);
    const Leaves& inside = inner_phis.state();
    const std::size_t reads = strided_reads.size();
    Leaves next = body(inside.back(), Leaves(inside.begin(), inside.end() - 1));
    strided_reads.resize(reads);
    llvm::Value* i_next = ir.CreateAdd(inside.back(), c64(step), "", true, true);
    next.push_back(i_next);
    llvm::Value* left = leave ? leave(next) : nullptr;
    const auto and_stays = [&](llvm::Value* more) {
        return left ? ir.CreateAnd(more, ir.CreateNot(left)) : more;
    };
    llvm::Value* again = and_stays(ir.CreateICmpSLT(i_next, end));
    auto* latch = ir.GetInsertBlock();
    inner_phis.go_on_with(next, latch);
    ir.CreateCondBr(again, loop, look);
    if (strip) {
        auto* more = block("more");
        ir.SetInsertPoint(look);
        ir.CreateCondBr(and_stays(ir.CreateICmpSLT(i_next, hi)), more, done);
        ir.SetInsertPoint(more);
        stop_check(strip->loc);
        outer_phis->go_on_with(next, ir.GetInsertBlock());
        ir.CreateBr(outer);
    }
    inner_phis.drop_unchanged(next);
    if (strip) outer_phis->drop_unchanged(next);
    ir.SetInsertPoint(done);
    LoopPhis after(*this, begin, before, fixed);
    after.go_on_with(next, strip ? look : latch);
    after.drop_unchanged(next);
    return Leaves(after.state().begin(), after.state().end() - 1);
}

}  // namespace weld::codegen
