// Rewrites code that is compiled the quick way so that LLVM can select each instruction by itself.
//
// LLVM has two ways to select machine instructions: one by one (FastISel), or by graphs of whole blocks,
// which takes ten times as long. Where the first meets something that it doesn't know, all before it in the
// same block goes the second way. So what it doesn't know is replaced by what it does know, where that costs
// no more:
//
//     load atomic monotonic                       a plain load: there is no other instruction for it
//     phi [ <constant lanes>, %block ]            loaded at the end of the block
//     shufflevector (one value in all lanes)      stored so often, loaded as lanes
//     shufflevector (lanes that follow            stored as a whole, and loaded from there
//       one another), extractelement
//
// The same bits come out. Masks of lanes are left as they are.
//
// Loops that are there twice, in place and as a function (loops.cpp), are called only: that is less to compile.
#include "codegen/quick.h"

#include <llvm/CodeGen/TargetLowering.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/IR/ValueMap.h>
#include <llvm/Transforms/Utils/Local.h>

namespace weld::codegen {

/// A prefetch costs as much as twenty others. Little data needs none.
static void drop_prefetches(llvm::Module& module) {
    llvm::SmallVector<llvm::WeakTrackingVH, 16> addresses;
    for (llvm::Function& f : module) {
        if (f.getIntrinsicID() != llvm::Intrinsic::prefetch) continue;
        for (llvm::User* call : llvm::make_early_inc_range(f.users())) {
            addresses.push_back(call->getOperand(0));
            llvm::cast<llvm::CallInst>(call)->eraseFromParent();
        }
    }
    llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(addresses);
}

static constexpr const char* kLeftOut = "weld-left-out";

void mark_for_quick(llvm::Value* condition) {
    if (auto* i = llvm::dyn_cast<llvm::Instruction>(condition))
        i->setMetadata(kLeftOut, llvm::MDNode::get(i->getContext(), {}));
}

static void drop_marked(llvm::Function& f) {
    const unsigned kind = f.getContext().getMDKindID(kLeftOut);
    bool dropped = false;
    for (llvm::BasicBlock& block : f)
        for (llvm::Instruction& i : block)
            if (i.getMetadata(kind)) {
                i.replaceAllUsesWith(llvm::ConstantInt::getFalse(i.getType()));
                dropped = true;
            }
    if (!dropped) return;
    for (llvm::BasicBlock& block : f) llvm::ConstantFoldTerminator(&block, true);
    llvm::removeUnreachableBlocks(f);
}

namespace {

constexpr unsigned kMostStores = 16;

class Simplifier {
  public:
    Simplifier(llvm::Function& f, const llvm::TargetLowering& target,
               llvm::DenseMap<llvm::Constant*, llvm::GlobalVariable*>& constants)
        : f_(f), layout_(f.getParent()->getDataLayout()), target_(target), constants_(constants) {}

    void run() {
        for (llvm::BasicBlock& block : f_)
            for (llvm::Instruction& i : llvm::make_early_inc_range(block)) simplify(i);
    }

  private:
    void simplify(llvm::Instruction& i) {
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i); load && load->isAtomic()) {
            if (load->getOrdering() == llvm::AtomicOrdering::Monotonic)
                load->setAtomic(llvm::AtomicOrdering::NotAtomic);
        } else if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i)) {
            if (llvm::Value* by = shuffled(*shuffle)) return replace(i, by);
        } else if (auto* element = llvm::dyn_cast<llvm::ExtractElementInst>(&i)) {
            if (llvm::Value* by = extracted(*element)) return replace(i, by);
        }
        if (!i.use_empty() || i.mayHaveSideEffects() || i.isTerminator()) load_constants(i);
    }

    /// Afterwards `i` is gone.
    void replace(llvm::Instruction& i, llvm::Value* by) {
        i.replaceAllUsesWith(by);
        auto* from = llvm::dyn_cast<llvm::Instruction>(i.getOperand(0));
        i.eraseFromParent();
        if (from && llvm::isInstructionTriviallyDead(from)) from->eraseFromParent();
    }

    bool is_legal(llvm::Type* type) const { return target_.isTypeLegal(target_.getValueType(layout_, type)); }

    llvm::AllocaInst* room_for(llvm::Type* type) {
        auto* room = new llvm::AllocaInst(type, 0, "", f_.getEntryBlock().begin());
        room->setAlignment(layout_.getPrefTypeAlign(type));
        return room;
    }

    /// A place in the frame with `v` in it. Used for values that are defined once, wherever they are read.
    llvm::Value* in_memory(llvm::Value* v) {
        llvm::AllocaInst*& room = rooms_[v];
        if (room) return room;
        room = room_for(v->getType());
        llvm::BasicBlock::iterator after = f_.getEntryBlock().getTerminator()->getIterator();
        if (auto* i = llvm::dyn_cast<llvm::Instruction>(v))
            after = llvm::isa<llvm::PHINode>(i) ? i->getParent()->getFirstInsertionPt()
                                                : std::next(i->getIterator());
        llvm::IRBuilder<>(after->getParent(), after).CreateStore(v, room);
        return room;
    }

    llvm::Value* element_of(llvm::IRBuilder<>& ir, llvm::Type* type, llvm::Value* vector, std::uint64_t k) {
        llvm::Type* scalar = vector->getType()->getScalarType();
        return ir.CreateLoad(type, ir.CreateConstInBoundsGEP1_64(scalar, in_memory(vector), k));
    }

    llvm::Value* shuffled(llvm::ShuffleVectorInst& shuffle) {
        auto* type = llvm::cast<llvm::FixedVectorType>(shuffle.getType());
        llvm::Value* from = shuffle.getOperand(0);
        if (!is_legal(type) || !is_legal(from->getType()) || type->getElementType()->isIntegerTy(1))
            return nullptr;
        llvm::IRBuilder<> ir(&shuffle);
        using namespace llvm::PatternMatch;
        llvm::Value* one = nullptr;
        if (shuffle.isZeroEltSplat() && match(from, m_InsertElt(m_Undef(), m_Value(one), m_ZeroInt()))) {
            if (type->getNumElements() > kMostStores) return nullptr;
            llvm::AllocaInst* room = room_for(type);
            for (std::uint64_t k = 0; k < type->getNumElements(); ++k)
                ir.CreateStore(one, ir.CreateConstInBoundsGEP1_64(one->getType(), room, k));
            return ir.CreateLoad(type, room);
        }
        int first = 0;
        if (!shuffle.isExtractSubvectorMask(first) || llvm::isa<llvm::Constant>(from)) return nullptr;
        return element_of(ir, type, from, std::uint64_t(first));
    }

    llvm::Value* extracted(llvm::ExtractElementInst& element) {
        llvm::Value* from = element.getVectorOperand();
        auto* index = llvm::dyn_cast<llvm::ConstantInt>(element.getIndexOperand());
        if (!index || llvm::isa<llvm::Constant>(from) || !is_legal(from->getType()) ||
            element.getType()->isIntegerTy(1))
            return nullptr;
        llvm::IRBuilder<> ir(&element);
        return element_of(ir, element.getType(), from, index->getZExtValue());
    }

    /// Lanes that are constant and not all zero.
    bool is_costly(const llvm::Value* v) const {
        const auto* c = llvm::dyn_cast<llvm::Constant>(v);
        return c && llvm::isa<llvm::FixedVectorType>(c->getType()) && !llvm::isa<llvm::UndefValue>(c) &&
               !c->getType()->getScalarType()->isIntegerTy(1) && is_legal(c->getType());
    }

    void load_constants(llvm::Instruction& i) {
        if (llvm::isa<llvm::CallInst, llvm::ShuffleVectorInst, llvm::InsertElementInst>(i)) return;
        auto* phi = llvm::dyn_cast<llvm::PHINode>(&i);
        for (unsigned k = 0; k < i.getNumOperands(); ++k) {
            if (!is_costly(i.getOperand(k))) continue;
            llvm::Instruction* before = phi ? phi->getIncomingBlock(k)->getTerminator() : &i;
            auto* constant = llvm::cast<llvm::Constant>(i.getOperand(k));
            i.setOperand(k, llvm::IRBuilder<>(before).CreateLoad(constant->getType(), variable(constant)));
        }
    }

    llvm::GlobalVariable* variable(llvm::Constant* constant) {
        llvm::GlobalVariable*& known = constants_[constant];
        if (!known) {
            known = new llvm::GlobalVariable(*f_.getParent(), constant->getType(), true,
                                             llvm::GlobalValue::PrivateLinkage, constant);
            known->setAlignment(layout_.getPrefTypeAlign(constant->getType()));
        }
        return known;
    }

    llvm::Function& f_;
    const llvm::DataLayout& layout_;
    const llvm::TargetLowering& target_;
    llvm::DenseMap<llvm::Constant*, llvm::GlobalVariable*>& constants_;
    llvm::ValueMap<llvm::Value*, llvm::AllocaInst*> rooms_;  // follows values that are replaced
};

}  // namespace

void prepare_quick(llvm::Module& module, llvm::TargetMachine& machine) {
    drop_prefetches(module);
    llvm::DenseMap<llvm::Constant*, llvm::GlobalVariable*> constants;
    for (llvm::Function& f : module) {
        if (f.isDeclaration()) continue;
        drop_marked(f);
        const llvm::TargetLowering* target = machine.getSubtargetImpl(f)->getTargetLowering();
        Simplifier(f, *target, constants).run();
    }
}

}  // namespace weld::codegen
