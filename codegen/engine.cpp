// Module -> LLVM modules -> machine code.
#include "codegen/engine.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include <dlfcn.h>

#include "codegen/emit.h"
#include "codegen/optimize.h"
#include "weldir/support/deep_stack.h"

namespace weld {

namespace {

double now_ms() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

void print_to(std::string* text, const llvm::Module& module) {
    if (!text) return;
    llvm::raw_string_ostream out(*text);
    module.print(out, nullptr);
}

std::string assembly_of(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream out(text);
    llvm::legacy::PassManager passes;
    auto copy = llvm::CloneModule(module);
    if (machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile)) return {};
    passes.run(*copy);
    return text.str().str();
}

/// An LLVM module and the machine that it is compiled for.
struct Part {
    Cpu cpu = Cpu::Native;
    int level = 0;
    std::unique_ptr<llvm::TargetMachine> machine;
    std::unique_ptr<llvm::Module> module;

    bool make_machine(std::string* error) {
        machine = codegen::machine_for(cpu, level, error);
        return machine != nullptr;
    }

    bool make(const char* name, llvm::LLVMContext& context, std::string* error) {
        if (!make_machine(error)) return false;
        module = std::make_unique<llvm::Module>(name, context);
        module->setDataLayout(machine->createDataLayout());
        module->setTargetTriple(machine->getTargetTriple().str());
        return true;
    }

    /// Optimises; shows what came of it to who asked.
    bool optimize(const CodeOptions& options, std::string* error) {
        llvm::raw_string_ostream broken(*error);
        if (options.verify && llvm::verifyModule(*module, &broken)) return false;
        print_to(options.llvm_input_text, *module);
        codegen::optimize(*module, *machine, level);
        print_to(options.llvm_text, *module);
        if (options.asm_text) *options.asm_text += assembly_of(*module, *machine);
        return true;
    }

    /// Its machine code, an ELF object; empty if it has none.
    bool emit(std::string* object, std::string* error) {
        if (std::all_of(module->begin(), module->end(), [](auto& f) { return f.isDeclaration(); }))
            return true;
        llvm::SmallString<0> bytes;
        llvm::raw_svector_ostream out(bytes);
        llvm::legacy::PassManager passes;
        if (machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile)) {
            *error = "LLVM has no machine code for this machine";
            return false;
        }
        passes.run(*module);
        *object = bytes.str().str();
        return true;
    }
};

// ---- several threads
//
// An LLVM context belongs to one thread. Functions that another thread is to compile go there as bitcode; for
// code that isn't optimised that would take as long as compiling it.

/// Instructions that are worth a thread: they take some ten milliseconds.
constexpr std::size_t kWorthAThread = 500;

void drop_unread(llvm::Module& module) {
    for (bool found = true; std::exchange(found, false);)
        for (llvm::GlobalVariable& g : llvm::make_early_inc_range(module.globals()))
            if (g.use_empty()) g.eraseFromParent(), found = true;
}

/// Moves `functions` out of `module`. They stay declared.
std::string take_out(llvm::Module& module, const std::vector<llvm::Function*>& functions) {
    const std::unordered_set<const llvm::GlobalValue*> wanted(functions.begin(), functions.end());
    llvm::ValueToValueMapTy copies;
    const auto copy = llvm::CloneModule(module, copies, [&](const llvm::GlobalValue* g) {
        return llvm::isa<llvm::GlobalVariable>(g) || wanted.count(g);
    });
    drop_unread(*copy);
    std::string bitcode;
    llvm::raw_string_ostream out(bitcode);
    llvm::WriteBitcodeToFile(*copy, out);
    for (llvm::Function* f : functions) f->deleteBody();
    drop_unread(module);
    return bitcode;
}

/// The functions that one thread compiles.
struct Share {
    std::size_t work = 0;
    std::vector<llvm::Function*> functions;
    std::string bitcode, object, error;

    void compile(const CodeOptions& options) {
        llvm::LLVMContext context;
        Part part{.cpu = options.cpu, .level = options.level};
        auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "loops"), context);
        if (!module) {
            error = llvm::toString(module.takeError());
            return;
        }
        part.module = std::move(*module);
        if (part.make_machine(&error) && part.optimize(options, &error)) part.emit(&object, &error);
    }
};

/// Takes functions out of `module` until each thread has a like amount of work.
std::vector<Share> shares_for_others(llvm::Module& module, int threads) {
    std::vector<std::pair<std::size_t, llvm::Function*>> all;
    std::size_t total = 0;
    for (llvm::Function& f : module)
        if (!f.isDeclaration()) total += all.emplace_back(f.getInstructionCount(), &f).first;
    std::vector<Share> shares(std::clamp<std::size_t>(total / kWorthAThread, 1, std::size_t(threads)));
    std::ranges::stable_sort(all, std::greater(), [](const auto& one) { return one.first; });
    for (const auto& [work, f] : all) {
        Share& least = *std::ranges::min_element(shares, {}, &Share::work);
        least.work += work;
        least.functions.push_back(f);
    }
    shares.erase(shares.begin());  // that is this thread's
    std::erase_if(shares, [](const Share& share) { return share.functions.empty(); });
    for (Share& share : shares) share.bitcode = take_out(module, share.functions);
    return shares;
}

}  // namespace

bool generate(const Module& m, const CodeOptions& options, MachineCode* code, CodeTimes* times,
              std::string* error) {
    const double begin = now_ms();
    llvm::LLVMContext context;
    // Code that runs once is compiled the quick way.
    Part once{.cpu = options.cpu, .level = 0}, loops{.cpu = options.cpu, .level = options.level};
    if (!once.make("once", context, error) || !loops.make("loops", context, error)) return false;
    const codegen::Constants constants(m);
    const codegen::Listed listed(m);
    codegen::Unit loop_unit(m, constants, listed, options, *loops.module);
    codegen::Unit(m, constants, listed, options, *once.module, &loop_unit).emit_program();

    const bool shown = options.llvm_input_text || options.llvm_text || options.asm_text;
    std::vector<Share> others = shares_for_others(*loops.module, shown ? 1 : options.threads);
    std::vector<DeepThread> threads;
    for (Share& share : others) threads.emplace_back([&] { share.compile(options); });
    std::string object_of_once, object_of_loops;
    bool ok = once.optimize(options, error) && loops.optimize(options, error);
    const double optimized = now_ms();
    ok = ok && once.emit(&object_of_once, error) && loops.emit(&object_of_loops, error);
    threads.clear();  // all are done
    for (const Share& share : others) *error += share.error;
    if (!ok || !error->empty()) return false;
    code->objects = {std::move(object_of_once), std::move(object_of_loops)};
    for (Share& share : others) code->objects.push_back(std::move(share.object));
    for (const PackedVec v : constants.packed())
        code->data.push_back({codegen::name_of_packed(v), v.bytes()});
    std::erase_if(code->objects, [](const std::string& object) { return object.empty(); });
    if (Dl_info info; ::dladdr(reinterpret_cast<void*>(&generate), &info)) code->generator = info.dli_fname;
    if (times) *times = {optimized - begin, now_ms() - optimized};
    return true;
}

extern "C" decltype(&generate) const weld_codegen_generate = &generate;

}  // namespace weld
