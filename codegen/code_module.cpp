// LLVM modules: made, read, optimised, emitted.
#include "codegen/code_module.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <utility>

#include "codegen/heap.h"
#include "codegen/optimize.h"

namespace weld::codegen {

void give_out(std::string* to, std::string_view text) {
    Heap::outside([&] { to->append(text); });
}

// ---- making code

bool CodeModule::make_machine(std::string* error) {
    machine = machine_for(cpu, level, error);
    return machine != nullptr;
}

bool CodeModule::make(const char* name, llvm::LLVMContext& context, std::string* error) {
    if (!make_machine(error)) return false;
    module = std::make_unique<llvm::Module>(name, context);
    module->setDataLayout(machine->createDataLayout());
    module->setTargetTriple(machine->getTargetTriple().str());
    return true;
}

static void print_to(std::string* to, const llvm::Module& module) {
    if (!to) return;
    std::string text;
    llvm::raw_string_ostream out(text);
    module.print(out, nullptr);
    give_out(to, text);
}

static std::string assembly_of(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream out(text);
    llvm::legacy::PassManager passes;
    auto copy = llvm::CloneModule(module);
    if (machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile)) return {};
    passes.run(*copy);
    return text.str().str();
}

bool CodeModule::optimize(const CodeOptions& options, std::string* error) {
    llvm::raw_string_ostream broken(*error);
    if (options.verify && llvm::verifyModule(*module, &broken)) return false;
    print_to(options.llvm_input_text, *module);
    codegen::optimize(*module, *machine, level);
    print_to(options.llvm_text, *module);
    if (options.asm_text) give_out(options.asm_text, assembly_of(*module, *machine));
    return true;
}

bool CodeModule::emit(std::string* object, std::string* error) {
    const auto defines = [](const llvm::GlobalValue& g) {
        return !g.isDeclaration() && !g.hasLocalLinkage();
    };
    if (std::ranges::none_of(*module, defines) && std::ranges::none_of(module->globals(), defines))
        return true;
    llvm::SmallString<0> bytes;
    llvm::raw_svector_ostream out(bytes);
    llvm::legacy::PassManager passes;
    if (machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile)) {
        *error = "LLVM has no machine code for this machine";
        return false;
    }
    passes.run(*module);
    Heap::outside([&] { object->assign(bytes.data(), bytes.size()); });
    return true;
}

// ---- bitcode

std::string bitcode_of(const llvm::Module& module) {
    std::string bitcode;
    llvm::raw_string_ostream out(bitcode);
    llvm::WriteBitcodeToFile(module, out);
    return bitcode;
}

static void drop_unread(llvm::Module& module) {
    for (bool found = true; std::exchange(found, false);)
        for (llvm::GlobalVariable& g : llvm::make_early_inc_range(module.globals()))
            if (g.use_empty() && (g.hasLocalLinkage() || g.isDeclaration()))
                g.eraseFromParent(), found = true;
}

void keep_only(llvm::Module& module, const FunctionSet& kept) {
    for (llvm::Function& f : module)
        if (!f.isDeclaration() && !kept.count(&f)) f.deleteBody();
    drop_unread(module);
}

bool CodeModule::parse(std::string_view bitcode, llvm::LLVMContext& context, std::string* error) {
    auto lazy = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, "loops"), context);
    if (!lazy) {
        *error = llvm::toString(lazy.takeError());
        return false;
    }
    module = std::move(*lazy);
    return make_machine(error);
}

static bool has_read(llvm::Function& f, std::string* error) {
    llvm::Error wrong = f.materialize();
    if (!wrong) return true;
    *error = llvm::toString(std::move(wrong));
    return false;
}

bool CodeModule::finish_reading(const FunctionSet& wanted, std::string* error) {
    for (llvm::GlobalVariable& g : module->globals())
        if (!g.hasLocalLinkage()) g.setInitializer(nullptr);
    keep_only(*module, wanted);
    if (llvm::Error wrong = module->materializeAll()) {
        *error = llvm::toString(std::move(wrong));
        return false;
    }
    return true;
}

bool CodeModule::read(std::string_view bitcode, std::span<const std::string> functions,
                      llvm::LLVMContext& context, std::string* error) {
    if (!parse(bitcode, context, error)) return false;
    FunctionSet wanted;
    for (const std::string& name : functions) {
        llvm::Function* f = module->getFunction(name);
        if (!has_read(*f, error)) return false;
        wanted.insert(f);
    }
    return finish_reading(wanted, error);
}

// ---- loops that are optimised later

static constexpr const char* kLoopMark = "weld-loop";

void mark_loop(llvm::Function* f, std::size_t number) { f->addFnAttr(kLoopMark, std::to_string(number)); }

std::int64_t loop_number(const llvm::Function& f) {
    return std::int64_t(f.getFnAttributeAsParsedInteger(kLoopMark, std::uint64_t(-1)));
}

/// Calls `found` with the functions that `user` refers to, by way of constants and data too.
template <class Found>
static void each_reference(llvm::User& user, std::unordered_set<const llvm::Value*>& seen,
                           const Found& found) {
    for (llvm::Value* v : user.operand_values()) {
        if (!llvm::isa<llvm::Constant>(v) || !seen.insert(v).second) continue;
        if (auto* f = llvm::dyn_cast<llvm::Function>(v)) found(*f);
        else each_reference(*llvm::cast<llvm::User>(v), seen, found);
    }
}

/// `begin`: gives false if a function cannot be looked into.
template <class Begin>
static bool reach(const Functions& roots, FunctionSet& all, const Begin& begin) {
    Functions open = roots;
    all.insert(roots.begin(), roots.end());
    std::unordered_set<const llvm::Value*> seen;
    while (!open.empty()) {
        llvm::Function* f = open.back();
        open.pop_back();
        if (!begin(*f)) return false;
        for (llvm::BasicBlock& block : *f)
            for (llvm::Instruction& i : block)
                each_reference(i, seen, [&](llvm::Function& g) {
                    if (!g.isDeclaration() && loop_number(g) < 0 && all.insert(&g).second) open.push_back(&g);
                });
    }
    return true;
}

FunctionSet reached(const Functions& roots) {
    FunctionSet all;
    reach(roots, all, [](llvm::Function&) { return true; });
    return all;
}

bool CodeModule::read_loops(std::string_view bitcode, std::span<const std::string> functions,
                            llvm::LLVMContext& context, std::string* error) {
    if (!parse(bitcode, context, error)) return false;
    Functions roots;
    for (const std::string& name : functions) roots.push_back(module->getFunction(name));
    FunctionSet wanted;
    if (!reach(roots, wanted, [&](llvm::Function& f) { return has_read(f, error); })) return false;
    if (!finish_reading(wanted, error)) return false;
    // What is declared may be anywhere: calls and addresses go by way of stubs and slots.
    const auto is_far = [](llvm::GlobalValue& g) {
        if (!g.isDeclaration()) return;
        g.setVisibility(llvm::GlobalValue::DefaultVisibility);
        g.setDSOLocal(false);
    };
    for (llvm::Function& f : *module) is_far(f);
    for (llvm::GlobalVariable& g : module->globals()) is_far(g);
    return true;
}

}  // namespace weld::codegen
