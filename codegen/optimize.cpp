// Which LLVM passes run, and why these.
#include "codegen/optimize.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/AggressiveInstCombine/AggressiveInstCombine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

#include "codegen/quick.h"

namespace weld::codegen {

/// Registers of 64 bytes where the machine has them: that lanes fill them was chosen already.
#if defined(__x86_64__)
static constexpr const char* kWideRegisters = "-prefer-256-bit";
#else
static constexpr const char* kWideRegisters = "";
#endif

/// The features that this machine has although its model's name does not imply them, or lacks although it
/// does. The whole list would say the same, but LLVM needs a millisecond to read it each time.
static std::string features_beyond(const llvm::Target& target, const std::string& triple,
                                   llvm::StringRef cpu) {
    const std::unique_ptr<llvm::MCSubtargetInfo> implied(target.createMCSubtargetInfo(triple, cpu, ""));
    const llvm::StringMap<bool> here = llvm::sys::getHostCPUFeatures();
    std::string features;
    for (const llvm::SubtargetFeatureKV& feature : implied->getAllProcessorFeatures()) {
        const auto at = here.find(feature.Key);
        if (at == here.end() || at->second == implied->getFeatureBits()[feature.Value]) continue;
        features += (at->second ? "+" : "-") + std::string(feature.Key) + ",";
    }
    return features + kWideRegisters;
}

/// The processor as LLVM calls it, and its features.
static std::pair<llvm::StringRef, llvm::StringRef> processor(Cpu cpu, const llvm::Target& target,
                                                             const std::string& triple) {
    switch (cpu) {
        case Cpu::Sse2: return {"x86-64", ""};
        case Cpu::Avx2: return {"x86-64-v3", ""};
        case Cpu::Avx512: return {"x86-64-v4", kWideRegisters};
        case Cpu::Native: break;
    }
    static const llvm::StringRef name = llvm::sys::getHostCPUName();
    static const std::string features = features_beyond(target, triple, name);
    return {name, features};
}

std::unique_ptr<llvm::TargetMachine> machine_for(Cpu cpu, int level, std::string* error) {
    static std::once_flag once;
    std::call_once(once, [] {
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
    });
    const std::string triple = llvm::sys::getProcessTriple();
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, *error);
    if (!target) return nullptr;
    const auto [name, features] = processor(cpu, *target, triple);
    llvm::TargetOptions options;
    auto machine = std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
        triple, name, features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
        level == 0 ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default, true));
    machine->setFastISel(level == 0);
    return machine;
}

/// Chooses between floats by their bits where a comparison of floats does not decide: without registers of masks, LLVM makes
/// branches of such choices, which the passes have decided against. Last, since LLVM would turn them back.
static void choose_by_bits(llvm::Module& module) {
    std::vector<llvm::SelectInst*> found;
    for (llvm::Function& f : module)
        for (llvm::Instruction& i : llvm::instructions(f))
            if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&i);
                select && (i.getType()->isFloatTy() || i.getType()->isDoubleTy()) &&
                i.hasMetadata(llvm::LLVMContext::MD_unpredictable) &&
                !llvm::isa<llvm::FCmpInst>(select->getCondition()))
                found.push_back(select);
    for (llvm::SelectInst* select : found) {
        llvm::IRBuilder<> ir(select);
        llvm::Type* bits = ir.getIntNTy(select->getType()->getScalarSizeInBits());
        llvm::Value* chosen =
            ir.CreateSelect(select->getCondition(), ir.CreateBitCast(select->getTrueValue(), bits),
                            ir.CreateBitCast(select->getFalseValue(), bits));
        if (auto* inst = llvm::dyn_cast<llvm::Instruction>(chosen)) inst->copyMetadata(*select);
        select->replaceAllUsesWith(ir.CreateBitCast(chosen, select->getType()));
        select->eraseFromParent();
    }
}

static bool has_masks(const llvm::TargetMachine& machine) {
    return !machine.getTargetTriple().isX86() || machine.getMCSubtargetInfo()->checkFeatures("+avx512f");
}

/// Whether registers of `bytes` will wait on the stack: around a call, or because a block makes many of them.
static bool needs_room_for(std::uint64_t bytes, const llvm::Function& f) {
    constexpr std::uint64_t many = 28;
    for (const llvm::BasicBlock& block : f) {
        std::uint64_t made = 0;
        for (const llvm::Instruction& i : block) {
            const std::uint64_t size =
                i.getType()->isVectorTy() ? i.getType()->getPrimitiveSizeInBits() / 8 : 0;
            const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
            if (size >= bytes && call && !llvm::isa<llvm::IntrinsicInst>(call)) return true;
            made += size / bytes;
        }
        if (made >= many) return true;
    }
    return false;
}

/// Lets such functions begin with a stack on which registers are aligned. LLVM would decide on that before it knows which have
/// to wait there, and against it; but one that crosses a line of the cache takes ten times as long.
static void align_stack(llvm::Module& module, const llvm::TargetMachine& machine) {
    if (!machine.getTargetTriple().isX86()) return;
    const llvm::MCSubtargetInfo& has = *machine.getMCSubtargetInfo();
    if (!has.checkFeatures("+avx")) return;
    const std::uint64_t bytes = has.checkFeatures("+avx512f") ? 64 : 32;
    for (llvm::Function& f : module)
        if (needs_room_for(bytes, f))
            f.addFnAttr(llvm::Attribute::getWithStackAlignment(module.getContext(), llvm::Align(bytes)));
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine, int level) {
    if (level == 0) return prepare_quick(module, machine);
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager sccs;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(&machine);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(sccs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, sccs, modules);

    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::AggressiveInstCombinePass());  // knows how bits are counted
    passes.addPass(llvm::SimplifyCFGPass());
    llvm::LoopPassManager loop_passes;
    loop_passes.addPass(llvm::LICMPass(llvm::LICMOptions()));
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loop_passes), true));
    llvm::ModulePassManager all;
    all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
    all.run(module, modules);
    if (!has_masks(machine)) choose_by_bits(module);
    align_stack(module, machine);
}

}  // namespace weld::codegen
