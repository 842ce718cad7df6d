// Module -> LLVM module -> machine code in this process, through ORC.
#include "codegen/engine.h"

#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "codegen/emit.h"
#include "codegen/optimize.h"

namespace weld {

namespace {

namespace orc = llvm::orc;

double now_ms() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

class JitCode final : public Code {
  public:
    std::unique_ptr<orc::LLJIT> jit;
};

/// Hands emitted code the addresses that it asks for by name.
class Symbols final : public orc::DefinitionGenerator {
  public:
    explicit Symbols(Resolve resolve) : resolve_(std::move(resolve)) {}

    llvm::Error tryToGenerate(orc::LookupState&, orc::LookupKind, orc::JITDylib& dylib,
                              orc::JITDylibLookupFlags, const orc::SymbolLookupSet& wanted) override {
        orc::SymbolMap found;
        for (const auto& [name, flags] : wanted) {
            void* address = find(*name);
            if (address)
                found[name] = {orc::ExecutorAddr::fromPtr(address),
                               llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
        }
        return found.empty() ? llvm::Error::success() : dylib.define(orc::absoluteSymbols(std::move(found)));
    }

  private:
    void* find(llvm::StringRef name) const {
        if (name.consume_front("udf.")) return resolve_(name);
        // what LLVM itself makes calls of
        if (name == "memcpy") return reinterpret_cast<void*>(&std::memcpy);
        if (name == "memmove") return reinterpret_cast<void*>(&std::memmove);
        if (name == "memset") return reinterpret_cast<void*>(&std::memset);
        if (name == "fmod")
            return reinterpret_cast<void*>(static_cast<double (*)(double, double)>(&std::fmod));
        if (name == "fmodf") return reinterpret_cast<void*>(static_cast<float (*)(float, float)>(&std::fmod));
        return resolve_(name);
    }
    Resolve resolve_;
};

std::string text_of(llvm::Error error) { return llvm::toString(std::move(error)); }

/// A JIT whose code comes from `machine`.
std::unique_ptr<orc::LLJIT> make_jit(llvm::TargetMachine& machine, const Resolve& resolve,
                                     std::string* error) {
    orc::JITTargetMachineBuilder target(machine.getTargetTriple());
    target.setCPU(machine.getTargetCPU().str());
    auto jit = orc::LLJITBuilder()
                   .setJITTargetMachineBuilder(std::move(target))
                   .setDataLayout(machine.createDataLayout())
                   .setLinkProcessSymbolsByDefault(false)
                   .setPlatformSetUp(orc::setUpInactivePlatform)
                   .create();
    if (!jit) {
        *error = text_of(jit.takeError());
        return nullptr;
    }
    (*jit)->getMainJITDylib().addGenerator(std::make_unique<Symbols>(resolve));
    return std::move(*jit);
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
#ifndef NDEBUG
        llvm::raw_string_ostream broken(*error);
        if (llvm::verifyModule(*module, &broken)) return false;
#else
        (void)error;
#endif
        print_to(options.llvm_input_text, *module);
        codegen::optimize(*module, *machine, level);
        print_to(options.llvm_text, *module);
        if (options.asm_text) *options.asm_text += assembly_of(*module, *machine);
        return true;
    }

    bool add_to(orc::LLJIT& jit, std::string* error) {
        orc::SimpleCompiler compiler(*machine);
        auto object = compiler(*module);
        llvm::Error failed = object ? jit.addObjectFile(std::move(*object)) : object.takeError();
        if (!failed) return true;
        *error = text_of(std::move(failed));
        return false;
    }
};

}  // namespace

std::shared_ptr<Code> generate(const Module& m, const CodeOptions& options, const Resolve& resolve,
                               CodeTimes* times, std::string* error) {
    const double begin = now_ms();
    llvm::LLVMContext context;
    Part once, loops;  // code that runs once is compiled the quick way
    if (!once.make("once", context, 0, error) || !loops.make("loops", context, options.level, error))
        return nullptr;
    codegen::Unit loop_unit(m, options, *loops.module);
    codegen::Unit(m, options, *once.module, loop_unit).emit_program();
    if (!once.optimize(0, options, error) || !loops.optimize(options.level, options, error)) return nullptr;
    const double optimized = now_ms();

    auto code = std::make_shared<JitCode>();
    code->jit = make_jit(*once.machine, resolve, error);
    if (!code->jit || !once.add_to(*code->jit, error)) return nullptr;
    if (!loops.empty() && !loops.add_to(*code->jit, error)) return nullptr;
    auto entry = code->jit->lookup("weld_main");
    if (!entry) {
        *error = text_of(entry.takeError());
        return nullptr;
    }
    code->entry = entry->toPtr<EntryFn>();
    if (times) *times = {optimized - begin, now_ms() - optimized};
    return code;
}

extern "C" decltype(&generate) const weld_codegen_generate = &generate;

}  // namespace weld
