// Module -> LLVM modules -> machine code.
#include "codegen/engine.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <chrono>

#include <dlfcn.h>

#include "codegen/emit.h"
#include "codegen/optimize.h"

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

/// One of the two LLVM modules of a program, and the machine that it is compiled for.
struct Part {
    std::unique_ptr<llvm::TargetMachine> machine;
    std::unique_ptr<llvm::Module> module;

    bool make(const char* name, llvm::LLVMContext& context, int level, std::string* error) {
        machine = codegen::host_machine(level, error);
        if (!machine) return false;
        module = std::make_unique<llvm::Module>(name, context);
        module->setDataLayout(machine->createDataLayout());
        module->setTargetTriple(machine->getTargetTriple().str());
        return true;
    }

    bool empty() const {
        return std::all_of(module->begin(), module->end(),
                           [](const llvm::Function& f) { return f.isDeclaration(); });
    }

    /// Optimises; shows what came of it to who asked.
    bool optimize(int level, const CodeOptions& options, std::string* error) {
        llvm::raw_string_ostream broken(*error);
        if (options.verify && llvm::verifyModule(*module, &broken)) return false;
        print_to(options.llvm_input_text, *module);
        codegen::optimize(*module, *machine, level);
        print_to(options.llvm_text, *module);
        if (options.asm_text) *options.asm_text += assembly_of(*module, *machine);
        return true;
    }

    /// Its machine code, an ELF object.
    bool emit(std::string* object, std::string* error) {
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

}  // namespace

bool generate(const Module& m, const CodeOptions& options, MachineCode* code, CodeTimes* times,
              std::string* error) {
    const double begin = now_ms();
    llvm::LLVMContext context;
    Part once, loops;  // code that runs once is compiled the quick way
    if (!once.make("once", context, 0, error) || !loops.make("loops", context, options.level, error))
        return false;
    const codegen::Constants constants(m);
    codegen::Unit loop_unit(m, constants, options, *loops.module);
    codegen::Unit(m, constants, options, *once.module, loop_unit).emit_program();
    if (!once.optimize(0, options, error) || !loops.optimize(options.level, options, error)) return false;
    const double optimized = now_ms();
    for (Part* part : {&once, &loops})
        if (!part->empty() && !part->emit(&code->objects.emplace_back(), error)) return false;
    if (Dl_info info; ::dladdr(reinterpret_cast<void*>(&generate), &info)) code->generator = info.dli_fname;
    if (times) *times = {optimized - begin, now_ms() - optimized};
    return true;
}

extern "C" decltype(&generate) const weld_codegen_generate = &generate;

}  // namespace weld
